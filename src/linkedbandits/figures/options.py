"""What is known of options: their means between limits, who is still in, and evidence against each over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkedbandits.figures.style import COLOURS, beside_axes, series_styles

_MOST_NAMED = 40
"""Rows that have room for a label each."""
_BELOW = 0.8
"""How far below 1 evidence is shown, as a share of what is enough above it; what is lower is at the foot."""


@dataclass(frozen=True)
class Known:
    """One option: its label, its mean (None before the first sample) between limits, and whether it is still in."""

    label: str
    mean: float | None
    low: float
    high: float
    still_in: bool


def height_for(rows: int) -> float:
    """Inches for so many rows."""
    return 1.3 + 0.28 * min(max(rows, 3), _MOST_NAMED)


def draw_known(axes: Any, options: Sequence[Known]) -> None:
    """A row for each option: its mean and limits, filled where it can still be the best, hollow where it is out."""
    for at, one in enumerate(options):
        colour = COLOURS[0] if one.still_in else "0.55"
        axes.plot([one.low, one.high], [at, at], color=colour, linewidth=1.4)
        if one.mean is not None:
            face = colour if one.still_in else "none"
            axes.plot(one.mean, at, "o", color=colour, markerfacecolor=face, markersize=5.5)
    axes.plot([], [], "o", color=COLOURS[0], label="still in")
    axes.plot([], [], "o", color="0.55", markerfacecolor="none", label="out")
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=2, fontsize="small")
    every = max(1, -(-len(options) // _MOST_NAMED))
    axes.set_yticks(range(0, len(options), every), [beside_axes(one.label) for one in options[::every]])
    axes.set_ylim(len(options) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("success rate, with limits of 95 %")
    axes.grid(visible=False, axis="y")


def draw_course(
    axes: Any, labels: Sequence[str], course: Sequence[tuple[int, np.ndarray[Any, Any]]], level: float
) -> None:
    """The evidence against each option as requests come in, as a power of ten, and the line at which one is out."""
    requests = [at for at, _ in course]
    enough = float(np.log10(level))
    evidence = np.maximum(np.array([values for _, values in course]), -_BELOW * enough)
    last = np.argsort(evidence[-1], kind="stable")
    shown = sorted(last[: len(COLOURS)].tolist())  # those that could be the best
    style_of = series_styles(labels)
    for option in shown:
        style = style_of[labels[option]]
        axes.plot(
            requests, evidence[:, option], color=style.colour, linestyle=style.line, label=beside_axes(labels[option])
        )
    axes.axhline(enough, color="black", linewidth=1.0, linestyle="--", label="enough to be out")
    axes.set_ylim(-1.05 * _BELOW * enough, 1.6 * enough)
    axes.set_xlabel("requests read")
    axes.set_ylabel("evidence against it,\npower of ten")
    left_out = len(labels) - len(shown)
    title = f"{left_out} that fell behind are left out" if left_out else None
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small", title=title, title_fontsize="small")
