"""What the figures of a study share: panels side by side, one legend, and curves with their bands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, TypeVar

from linkedbandits.figures.style import SeriesStyle, logarithmic_axis, new_panels

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]
"""One row of a study's table."""

Item = TypeVar("Item")
Key = TypeVar("Key")

_PANEL_WIDTH = 5.0
_PANEL_HEIGHT = 2.7
_LEGEND_LINE = 0.21
_LETTER = 0.068
_LEGEND_KEY = 0.6
"""Inches: a line of the legend, a letter in it, and the sample of the curve before the letters."""
_MOST_IN_ONE_COLUMN = 3
_FEW_TICKS = 6


@contextmanager
def panel_figure(count: int) -> Iterator[tuple[Any, list[Any]]]:
    """A figure with ``count`` panels, below each other while they are few; one legend for all goes above them."""
    columns = 1 if count <= _MOST_IN_ONE_COLUMN else 2
    rows = ceil(count / columns)
    width, height = columns * _PANEL_WIDTH, rows * _PANEL_HEIGHT
    with new_panels(rows, columns, width, height) as (figure, axes):
        for unused in axes[count:]:
            unused.set_axis_off()
        yield figure, axes[:count]
        lines = _shared_legend(figure, axes[:count], width)
        figure.set_size_inches(width, height + lines * _LEGEND_LINE)


def _shared_legend(figure: Any, axes: Sequence[Any], width: float) -> int:
    """Put every label once above the panels, and return how many lines that takes."""
    entries: dict[str, Any] = {}
    for panel in axes:
        handles, labels = panel.get_legend_handles_labels()
        entries.update(zip(labels, handles, strict=True))
    columns = max(1, int(width / (_LEGEND_KEY + _LETTER * max(map(len, entries)))))
    figure.legend(
        entries.values(),
        entries.keys(),
        loc="outside upper left",
        ncols=columns,
        fontsize="small",
        handlelength=3,
        columnspacing=1,
    )
    return ceil(len(entries) / columns)


def grouped(rows: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """The rows by their key, keys in the order they first come up."""
    groups: dict[Key, list[Item]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def finished(row: Row) -> bool:
    """Did all runs of the cell stop by themselves? Runs without a delta stop after a given effort."""
    return row["delta"] is None or bool(row["confident"] == 1)


def panels_over_delta(table: pl.DataFrame) -> dict[tuple[str, str], list[Row]]:
    """The rows of every instance and linkage that has more than one delta."""
    panels = grouped(
        (row for row in table.to_dicts() if row["delta"] is not None), lambda row: (row["instance"], row["linkage"])
    )
    return {key: panel for key, panel in panels.items() if len({row["delta"] for row in panel}) > 1}


def without_delta(table: pl.DataFrame) -> dict[tuple[str, str], list[Row]]:
    """The rows of policies that have no delta, by instance and linkage: they are the same at every delta."""
    return grouped(
        (row for row in table.to_dicts() if row["delta"] is None), lambda row: (row["instance"], row["linkage"])
    )


def level(axes: Any, height: float, style: SeriesStyle, policy: str) -> None:
    """What a policy comes to that has no delta: the same at every delta."""
    axes.axhline(height, color=style.colour, linestyle=":", linewidth=1.6, label=f"{policy} (has no delta)")


def explain_absent(axes: Any, policy: str, why: str) -> None:
    """A legend entry for a policy that cannot be drawn."""
    axes.plot([], [], " ", label=f"{policy}: {why}")


def described(linkage: str, delta: float | None) -> str:
    """The linkage and delta of a panel in words.

    >>> described("ordered", 0.1)
    'ordered, delta 0.1'
    """
    return linkage if delta is None else f"{linkage}, delta {delta:g}"


def band(row: Row) -> tuple[float, float]:
    """The 95 % band of the mean plays; of a single trial there is none to draw."""
    low, high = row["plays_low"], row["plays_high"]
    return (row["plays_mean"], row["plays_mean"]) if low is None or high is None else (low, high)


@dataclass(frozen=True)
class Point:
    """A measured value with its 95 % band; ``open`` if runs of its cell ended before they had an answer."""

    x: float
    middle: float
    low: float
    high: float
    open: bool = False


def curve(axes: Any, points: Iterable[Point], style: SeriesStyle, label: str, *, beside: float = 1.0) -> None:
    """A line with marks over its 95 % band; open points are marks of their own, moved aside by a factor."""
    in_order = sorted(points, key=lambda point: point.x)
    closed = [point for point in in_order if not point.open]
    x = [point.x for point in closed]
    axes.fill_between(
        x, [point.low for point in closed], [point.high for point in closed], color=style.colour, alpha=0.2, linewidth=0
    )
    # Drawn even without a point, for the legend.
    axes.plot(
        x, [point.middle for point in closed], style.marker, linestyle=style.line, color=style.colour, label=label
    )
    for point in in_order:
        if point.open:
            axes.plot(
                point.x * beside, point.middle, style.marker, color=style.colour, markerfacecolor="white", zorder=3
            )


def explain_open(axes: Any, panel: Iterable[Row]) -> None:
    """A legend entry for open marks, where there are any."""
    if not all(map(finished, panel)):
        axes.plot([], [], "o", color="0.4", markerfacecolor="white", label="open: unfinished (set side by side)")


def arrows_up(axes: Any, points: Iterable[Point], style: SeriesStyle, *, beside: float = 1.0) -> None:
    """Say of open points that the truth lies above them."""
    for point in points:
        if point.open:
            axes.annotate(
                "",
                xy=(point.x * beside, point.middle),
                xytext=(0, 12),
                textcoords="offset points",
                arrowprops={"arrowstyle": "<-", "color": style.colour, "shrinkB": 2.5, "shrinkA": 0},
            )


def logarithmic(axes: Any, direction: str, numbers: Iterable[float]) -> None:
    """A logarithmic axis with plain numbers on it; these numbers, if they are few."""
    logarithmic_axis(axes, direction)
    few = sorted(set(numbers))
    if 1 < len(few) <= _FEW_TICKS:
        axis = getattr(axes, f"{direction}axis")
        axis.set_ticks(few, [f"{number:g}" for number in few])
        axis.set_ticks([], minor=True)
