"""How many arms are still in as plays go on: a panel for each instance, linkage and delta."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linkedbandits.figures.style import series_styles
from linkedbandits.model import COUNT_LIMIT, IntArray
from linkedbandits.study.figures.panels import explain_absent, logarithmic, panel_figure

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TracePanel", "arms_still_in"]

_MANY_ARMS = 20
_FAINT_LINES = 20


@dataclass(frozen=True)
class TracePanel:
    """The traces of some policies' first trials: columns trial, plays and arms_in. Some arm has to go out.

    ``others`` are policies of the same setting that are not drawn, because none of their arms ever goes out.
    """

    title: str
    arms: int
    traces: dict[str, pl.DataFrame]
    others: tuple[str, ...] = ()


def arms_still_in(panels: Sequence[TracePanel], among: Iterable[str] = ()) -> Any:
    """A faint descending line for each of the first trials, and a strong one for the median of all of them.

    ``among`` are all policies of the study, so that each looks the same in all of its figures.
    """
    style_of = series_styles((policy for panel in panels for policy in panel.traces), among)
    with panel_figure(len(panels)) as (figure, all_axes):
        for axes, panel in zip(all_axes, panels, strict=True):
            runs = {policy: _runs(trace, panel.arms) for policy, trace in panel.traces.items()}
            for policy, trials in runs.items():
                style = style_of[policy]
                for plays, arms_in in trials[:_FAINT_LINES]:
                    axes.plot(plays, arms_in, drawstyle="steps-post", color=style.colour, linewidth=0.6, alpha=0.35)
                plays, arms_in = _median(trials)
                axes.plot(plays, arms_in, drawstyle="steps-post", color=style.colour, linestyle=style.line)
                axes.plot(plays[-1], arms_in[-1], style.marker, color=style.colour)
                axes.plot([], [], style.marker, linestyle=style.line, color=style.colour, label=policy)
            axes.set_title(panel.title, loc="left", fontsize="medium")
            axes.set_xlabel("plays")
            axes.set_ylabel("arms still in")
            logarithmic(axes, "x", [])
            axes.set_xlim(left=min(_first_out(trials) for trials in runs.values()) / 2)
            if panel.arms > _MANY_ARMS:
                logarithmic(axes, "y", [])
            else:
                axes.set_ylim(0, panel.arms + 0.5)
                axes.yaxis.get_major_locator().set_params(integer=True)  # there are no half arms
            axes.plot([], [], color="0.4", linewidth=0.6, alpha=0.6, label="single trials")
            axes.plot([], [], color="0.4", label="their median")
            for policy in panel.others:
                explain_absent(axes, policy, "takes no arm out")
    return figure


def _runs(trace: pl.DataFrame, arms: int) -> list[tuple[IntArray, IntArray]]:
    """Plays and arms still in, by trial; all of them are in at the first play."""
    return [
        (np.insert(trial["plays"].to_numpy(), 0, 1), np.insert(trial["arms_in"].to_numpy(), 0, arms))
        for trial in trace.partition_by("trial")
    ]


def _median(trials: list[tuple[IntArray, IntArray]]) -> tuple[IntArray, IntArray]:
    """The median over the trials at every number of plays at which one of them changed; an ended trial stays."""
    plays = np.unique(np.concatenate([plays for plays, _ in trials]))
    at_plays = [arms_in[np.searchsorted(own, plays, side="right") - 1] for own, arms_in in trials]
    # The lower of two middle ones: there are no half arms.
    return plays, np.quantile(at_plays, 0.5, axis=0, method="lower").astype(np.int64)


def _first_out(trials: list[tuple[IntArray, IntArray]]) -> int:
    """The plays after which an arm went out for the first time; the largest count where none ever did."""
    return min(int(plays[arms_in < arms_in[0]].min(initial=COUNT_LIMIT)) for plays, arms_in in trials)
