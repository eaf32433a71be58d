"""Plays against the number of arms, on logarithmic axes: a panel for each family of instances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import hypot
from typing import TYPE_CHECKING, Any

from linkedbandits.figures.style import series_styles
from linkedbandits.model import COUNT_LIMIT
from linkedbandits.study.figures.panels import (
    Point,
    Row,
    arrows_up,
    band,
    curve,
    described,
    explain_open,
    finished,
    grouped,
    logarithmic,
    panel_figure,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["panels_over_arms", "plays_by_arms"]

LOWER_BOUND = "lower bound for any policy"
TOLD_NOTHING = "lower bound for any policy that is told nothing"
_BESIDE = 1.06
"""Open marks of several policies often lie at the same limit; each is moved aside by a power of this factor."""


def plays_by_arms(table: pl.DataFrame, among: Iterable[str] = ()) -> Any:
    """Mean plays with their 95 % band over the arms of each family, and the least that any policy needs.

    Several instances of a family with as many arms, as a random family has them, are averaged. Where runs ended
    with their budget the mean is too low, and an open mark with an arrow says so.

    ``among`` are all policies of the study, so that each looks the same in all of its figures.
    """
    panels = panels_over_arms(table)
    style_of = series_styles((row["policy"] for panel in panels.values() for row in panel), among)
    with panel_figure(len(panels)) as (figure, all_axes):
        for axes, ((family, linkage, delta), panel) in zip(all_axes, panels.items(), strict=True):
            by_policy = grouped(panel, lambda row: row["policy"])
            _lower_bound(axes, panel)
            for number, (policy, rows) in enumerate(by_policy.items()):
                beside = _BESIDE ** (number - (len(by_policy) - 1) / 2)
                points = [_point(part) for part in grouped(rows, lambda row: row["arms"]).values()]
                curve(axes, points, style_of[policy], policy, beside=beside)
                arrows_up(axes, points, style_of[policy], beside=beside)
            axes.set_title(f"{family} ({described(linkage, delta)})", loc="left", fontsize="medium")
            axes.set_ylabel("plays")
            axes.set_xlabel("number of arms")
            logarithmic(axes, "y", [])
            logarithmic(axes, "x", [row["arms"] for row in panel])
            _frame(axes, panel)
    return figure


def panels_over_arms(table: pl.DataFrame) -> dict[tuple[str, str, float | None], list[Row]]:
    """The rows of every family, linkage and delta that has more than one number of arms."""
    rows = [row for row in table.to_dicts() if row["family"] is not None]
    panels = grouped(rows, lambda row: (row["family"], row["linkage"], row["delta"]))
    return {key: panel for key, panel in panels.items() if len({row["arms"] for row in panel}) > 1}


def _point(rows: Sequence[Row]) -> Point:
    """The mean over instances with its band: the errors of independent instances add up as squares."""
    count = len(rows)
    mean = sum(row["plays_mean"] for row in rows) / count
    below = hypot(*(row["plays_mean"] - band(row)[0] for row in rows)) / count
    above = hypot(*(band(row)[1] - row["plays_mean"] for row in rows)) / count
    return Point(rows[0]["arms"], mean, mean - below, mean + above, open=not all(map(finished, rows)))


def _lower_bound(axes: Any, panel: list[Row]) -> None:
    """The mean over instances; where policies look for different numbers of best arms, the least of their bounds."""
    by_arms: dict[int, list[float]] = {}
    for (arms, _), rows in grouped(panel, lambda row: (row["arms"], row["instance"])).items():
        bounds = [row["lower_bound"] for row in rows if row["lower_bound"]]
        if bounds:
            by_arms.setdefault(arms, []).append(min(bounds))
    if by_arms:
        label = TOLD_NOTHING if any(row["told"] for row in panel) else LOWER_BOUND
        arms_in_order = sorted(by_arms)
        means = [sum(by_arms[arms]) / len(by_arms[arms]) for arms in arms_in_order]
        axes.plot(arms_in_order, means, color="0.5", linewidth=2.4, label=label, zorder=1)


def _frame(axes: Any, panel: list[Row]) -> None:
    """Limits by the plays alone: the lower bound of a hopeless instance may leave the picture."""
    arms = [row["arms"] for row in panel]
    axes.set_xlim(min(arms) / 1.3, max(arms) * 1.3)
    plays = [row["plays_mean"] for row in panel]
    least, most = min(plays + [row["lower_bound"] for row in panel if row["lower_bound"]]), max(plays)
    axes.set_ylim(least / 2, most * 2)
    if all(map(finished, panel)):
        return
    explain_open(axes, panel)
    axes.set_ylim(least / 2, most * (most / least) ** 0.14)  # room for the arrows
    if most > 0.9 * COUNT_LIMIT:
        axes.axhline(COUNT_LIMIT, color="0.6", linewidth=0.8, zorder=0)
        axes.annotate(
            "largest count, $2^{62}$",
            xy=(0.01, COUNT_LIMIT),
            xycoords=("axes fraction", "data"),
            xytext=(0, 2),
            textcoords="offset points",
            fontsize="x-small",
            color="0.35",
        )
