"""What policies needed: the plays of one, and several of them side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkedbandits.display import percent, plays
from linkedbandits.figures.style import COLOURS, LETTERS_OF_A_ROW, SeriesStyle, beside_axes, logarithmic_axis

Delta = float | Mapping[str, float | None] | None
"""How often answers may be wrong: one figure for all, one for each by name, or none that was given."""
RIGHT, WRONG = COLOURS[0], COLOURS[4]
_BARS = 40
_WIDE = 30.0
"""An axis that goes further than from 1 to this is logarithmic."""
_TWO_SIDED_95 = 1.959964


@dataclass(frozen=True)
class Share:
    """The share of wrong answers, and its 95 % interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Needed:
    """What a policy needed: mean plays with their standard error, those of nine trials in ten, and how often wrong."""

    mean: float
    standard_error: float
    of_nine_in_ten: float
    wrong: Share


def draw_distribution(axes: Any, needed: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> None:
    """How many trials needed how many plays, those with a wrong answer on top."""
    amounts = needed.astype(np.float64)
    low, high = max(float(amounts.min()), 1.0), max(float(amounts.max()), 1.0)
    logarithmic = high > _WIDE * low
    if high == low:
        low, high = low * 0.9, high * 1.1
    edges = np.geomspace(low, high, _BARS + 1) if logarithmic else np.linspace(low, high, _BARS + 1)
    parts, colours, names = [amounts[right]], [RIGHT], ["right"]
    if not right.all():
        parts, colours, names = [*parts, amounts[~right]], [*colours, WRONG], [*names, "wrong"]
    axes.hist([np.clip(part, low, high) for part in parts], bins=edges, stacked=True, color=colours, label=names)
    mean, most = float(amounts.mean()), float(np.quantile(amounts, 0.9))
    axes.axvline(mean, color="black", linewidth=1.4, label=f"mean, {plays(mean)}")
    axes.axvline(most, color="black", linewidth=1.4, linestyle="--", label=f"nine in ten, {plays(most)}")
    if logarithmic:
        logarithmic_axis(axes, "x")
    else:
        _with_separators(axes)
    axes.set_xlabel("plays")
    axes.set_ylabel("trials")
    axes.yaxis.get_major_locator().set_params(integer=True)  # there are no half trials
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=4, fontsize="small")


def draw_shares(
    axes: Any, wrong: Mapping[str, Share], style_of: Mapping[str, SeriesStyle], delta: Delta, *, named: bool
) -> None:
    """Shares of wrong answers with their 95 % intervals, and the line of delta; of each row, where they differ."""
    for at, (name, share) in enumerate(wrong.items()):
        style = style_of[name]
        axes.plot([share.low, share.high], [at, at], color=style.colour, linewidth=1.4)
        axes.plot(share.share, at, style.marker, color=style.colour, markersize=6, clip_on=False, zorder=3)
    of_row = {name: delta.get(name) if isinstance(delta, Mapping) else delta for name in wrong}
    given = [one for one in of_row.values() if one is not None]
    if given and set(of_row.values()) == set(given[:1]):
        axes.axvline(given[0], color="black", linewidth=1.0, linestyle="--", label=f"delta, {percent(given[0])}")
    else:
        marked = [(at, own) for at, own in enumerate(of_row.values()) if own is not None]
        for at, own in marked:
            axes.plot([own, own], [at - 0.4, at + 0.4], color="black", linewidth=1.0, linestyle="--")
        if marked:
            axes.plot([], [], color="black", linewidth=1.0, linestyle="--", label="delta, where given")
    if given:
        axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, fontsize="small")
    axes.set_xlim(left=0.0)
    axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    axes.xaxis.get_major_locator().set_params(nbins=5)
    axes.set_xlabel("wrong answers, with their 95 % interval")
    _rows(axes, wrong if named else [""] * len(wrong))
    if not named:
        axes.tick_params(axis="y", length=0)


def draw_needed(axes: Any, needed: Mapping[str, Needed], style_of: Mapping[str, SeriesStyle]) -> None:
    """Mean plays of every policy with their 95 % interval, and how far nine trials in ten go."""
    for at, (name, one) in enumerate(needed.items()):
        style = style_of[name]
        half = _TWO_SIDED_95 * one.standard_error
        last = max(one.of_nine_in_ten, one.mean)
        axes.plot([min(one.mean, one.of_nine_in_ten), last], [at, at], color=style.colour, linewidth=1.0, alpha=0.6)
        axes.plot(one.of_nine_in_ten, at, "|", color=style.colour, markersize=9)
        axes.plot([max(one.mean - half, 0.0), one.mean + half], [at, at], color=style.colour, linewidth=4, alpha=0.5)
        axes.plot(one.mean, at, style.marker, color=style.colour, markersize=6)
    least = min(one.mean for one in needed.values())
    if max(one.of_nine_in_ten for one in needed.values()) > _WIDE / 3 * max(least, 1.0):
        logarithmic_axis(axes, "x")
    else:
        axes.set_xlim(left=0.0)
        _with_separators(axes)
    axes.plot([], [], "o", color="0.4", label="mean")
    axes.plot([], [], color="0.4", linewidth=4, alpha=0.5, label="its 95 % interval")
    axes.plot([], [], "|", color="0.4", markersize=9, label="nine in ten trials need no more")
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.2, ncols=2, fontsize="small", columnspacing=1.0
    )
    axes.set_xlabel("plays")
    _rows(axes, needed)


def _with_separators(axes: Any) -> None:
    axes.xaxis.set_major_formatter(lambda amount, _: f"{amount:,.0f}" if amount < 1e7 else f"{amount:g}")


def _rows(axes: Any, names: Iterable[str]) -> None:
    """A row for each name, the first at the top."""
    listed = list(names)
    axes.set_yticks(range(len(listed)), [beside_axes(name, LETTERS_OF_A_ROW) for name in listed])
    axes.set_ylim(len(listed) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
