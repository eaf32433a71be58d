"""How often answers are wrong against how often they may be: a panel for each instance and linkage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from linkedbandits.figures.style import SeriesStyle, series_styles
from linkedbandits.study.figures.panels import (
    Row,
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

__all__ = ["errors_by_delta"]

ALLOWED = "error = delta"


def errors_by_delta(table: pl.DataFrame, among: Iterable[str] = ()) -> Any:
    """Error rates with their 95 % intervals, and the line where the error is delta.

    The axes are logarithmic down to the foot of the panel, which stands for 0. Open marks are cells of which some
    runs ended with their budget, where delta promises nothing. A policy without a delta is a dotted line: how often
    all its answers are wrong, be it as it may.

    ``among`` are all policies of the study, so that each looks the same in all of its figures.
    """
    panels, without = panels_over_delta(table), without_delta(table)
    drawn = [row for key, panel in panels.items() for row in (*panel, *without.get(key, []))]
    style_of = series_styles((row["policy"] for row in drawn), among)
    with panel_figure(len(panels)) as (figure, all_axes):
        for axes, ((instance, linkage), panel) in zip(all_axes, panels.items(), strict=True):
            deltas = sorted({row["delta"] for row in panel})
            foot = min([row["sure_low"] for row in panel if row["sure_low"] > 0] + [deltas[0]]) / 3
            axes.plot(deltas, deltas, color="0.5", linewidth=2.4, label=ALLOWED, zorder=1)
            by_policy = grouped(panel, lambda row: row["policy"])
            step = (deltas[-1] / deltas[0]) ** 0.018
            for number, (policy, rows) in enumerate(by_policy.items()):
                # A little aside, so that all policies can be seen.
                beside = step ** (number - (len(by_policy) - 1) / 2)
                _intervals(axes, rows, style_of[policy], policy, beside, foot)
            for row in without.get((instance, linkage), []):
                level(axes, max(row["error_rate"], foot), style_of[row["policy"]], row["policy"])
            explain_open(axes, panel)
            axes.set_title(f"{instance} ({linkage})", loc="left", fontsize="medium")
            axes.set_ylabel("share of wrong answers")
            axes.set_xlabel("delta")
            logarithmic(axes, "x", deltas)
            logarithmic(axes, "y", [])
            axes.set_ylim(bottom=foot)
            axes.annotate(
                "0",
                xy=(0, foot),
                xycoords=("axes fraction", "data"),
                xytext=(-6, 0),
                textcoords="offset points",
                ha="right",
                va="center",
            )
    return figure


def _intervals(axes: Any, rows: list[Row], style: SeriesStyle, policy: str, beside: float, foot: float) -> None:
    for row in rows:
        x = row["delta"] * beside
        axes.plot([x, x], [max(row["sure_low"], foot), row["sure_high"]], color=style.colour, linewidth=1.1)
        axes.plot(x, row["sure_high"], "_", color=style.colour)
        axes.plot(
            x,
            max(row["sure_and_wrong"], foot),
            style.marker,
            color=style.colour,
            markerfacecolor=style.colour if finished(row) else "white",
            clip_on=False,
            zorder=3,
        )
    axes.plot([], [], style.marker, color=style.colour, label=policy)
