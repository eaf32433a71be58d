"""Where samples should go, and where policies put them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from linkedbandits.bounds.characteristic import CharacteristicTime
from linkedbandits.figures.style import SeriesStyle, new_figure, save, series_styles
from linkedbandits.linkage import find_linkage
from linkedbandits.model import FloatArray


def draw_proportions(path: Path, means: FloatArray, time: CharacteristicTime, measured: dict[str, FloatArray]) -> None:
    """Draw samples per play over the arms into a file: the optimal ones, and those of each policy."""
    with new_figure(max(6.0, min(0.35 * means.size + 3, 14.0)), 4.2) as (figure, axes):
        plot_proportions(axes, time, measured, series_styles(measured))
        axes.set_title(f"Where samples go, linkage {time.linkage}", loc="left")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        save(figure, path)


def plot_proportions(
    axes: Any, time: CharacteristicTime, measured: dict[str, FloatArray], style_of: dict[str, SeriesStyle]
) -> None:
    """Fill one panel: the optimal samples per play as bars, each policy's measured ones as marks."""
    arms = np.arange(time.proportions.size)
    many = arms.size > 60
    axes.bar(arms, time.proportions, width=1.0 if many else 0.8, color="0.82", label="optimal proportions", zorder=1)
    for number, (name, samples) in enumerate(measured.items()):
        style = style_of[name]
        # Beside each other, so that policies that sample alike can all be seen.
        beside = arms + (number - (len(measured) - 1) / 2) * min(0.8 / len(measured), 0.18)
        size = 2.5 if many else 5
        axes.plot(beside, samples, style.marker, color=style.colour, markersize=size, label=name, zorder=2)
    axes.set_xlabel("arm, in the order tried" if find_linkage(time.linkage).in_order else "arm")
    axes.set_ylabel("samples a play")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    if arms.size <= 30:
        axes.set_xticks(arms[:: 1 if arms.size <= 12 else 5])
