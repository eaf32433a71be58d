"""Plays over the lower bound against delta, or plays where there is none: a panel for each instance and linkage."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any

from linkedbandits.figures.style import series_styles
from linkedbandits.study.figures.panels import (
    Point,
    Row,
    arrows_up,
    band,
    curve,
    explain_absent,
    explain_open,
    finished,
    grouped,
    level,
    logarithmic,
    panel_figure,
    panels_over_delta,
    without_delta,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["plays_by_delta"]

LOWER_BOUND = "lower bound"
AS_TOLD = "lower bound for those told as much"
NOT_DRAWN = "has no delta, so no bound to draw it over"


def plays_by_delta(table: pl.DataFrame, among: Iterable[str] = ()) -> Any:
    """Mean plays over the least that any policy needs which is told as much, with their 95 % band.

    Where no such bound is known, as for arms that depend on each other, the plays themselves are drawn. Where runs
    ended with their budget what is drawn is too low, and an open mark with an arrow says so. A policy without a delta
    has no bound; its plays are a dotted line where plays are drawn, and elsewhere the legend says that it is not there.

    ``among`` are all policies of the study, so that each looks the same in all of its figures.
    """
    panels, without = panels_over_delta(table), without_delta(table)
    drawn = [row for key, panel in panels.items() for row in (*panel, *without.get(key, []))]
    style_of = series_styles((row["policy"] for row in drawn), among)
    with panel_figure(len(panels)) as (figure, all_axes):
        for axes, ((instance, linkage), panel) in zip(all_axes, panels.items(), strict=True):
            bounded = any(row["bound_as_told"] for row in panel)
            if bounded:
                label = AS_TOLD if any(row["told"] for row in panel) else LOWER_BOUND
                axes.axhline(1, color="0.5", linewidth=2.4, label=label, zorder=1)
            for policy, rows in grouped(panel, lambda row: row["policy"]).items():
                points = [
                    _over(row, row["bound_as_told"] if bounded else 1.0)
                    for row in rows
                    if not bounded or (row["bound_as_told"] and isfinite(row["bound_as_told"]))
                ]
                curve(axes, points, style_of[policy], policy)
                arrows_up(axes, points, style_of[policy])
            for row in without.get((instance, linkage), []):
                if bounded:
                    explain_absent(axes, row["policy"], NOT_DRAWN)
                else:
                    level(axes, row["plays_mean"], style_of[row["policy"]], row["policy"])
            explain_open(axes, panel)
            axes.set_title(f"{instance} ({linkage})", loc="left", fontsize="medium")
            axes.set_ylabel("plays / lower bound" if bounded else "plays")
            axes.set_xlabel("delta")
            logarithmic(axes, "x", [row["delta"] for row in panel])
            logarithmic(axes, "y", [])
    return figure


def _over(row: Row, least: float) -> Point:
    low, high = band(row)
    return Point(row["delta"], row["plays_mean"] / least, low / least, high / least, open=not finished(row))
