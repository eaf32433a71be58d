"""Where policies put their samples, beside the optimal proportions: a panel for each instance, linkage and delta."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from linkedbandits.bounds import CharacteristicTime
from linkedbandits.bounds.proportions import plot_proportions
from linkedbandits.figures.style import series_styles
from linkedbandits.model import FloatArray
from linkedbandits.study.figures.panels import panel_figure

__all__ = ["SamplesPanel", "samples_by_arm"]


@dataclass(frozen=True)
class SamplesPanel:
    """The optimal proportions of an instance, and each policy's mean samples over its mean plays."""

    title: str
    time: CharacteristicTime
    samples_a_play: dict[str, FloatArray]


def samples_by_arm(panels: Sequence[SamplesPanel], among: Iterable[str] = ()) -> Any:
    """Samples per play over the arms: the optimal ones as bars, each policy's as marks.

    ``among`` are all policies of the study, so that each looks the same in all of its figures.
    """
    style_of = series_styles((policy for panel in panels for policy in panel.samples_a_play), among)
    with panel_figure(len(panels)) as (figure, all_axes):
        for axes, panel in zip(all_axes, panels, strict=True):
            plot_proportions(axes, panel.time, panel.samples_a_play, style_of)
            axes.set_title(panel.title, loc="left", fontsize="medium")
    return figure
