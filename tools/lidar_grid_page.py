"""The measured grid as pages and a picture: every figure of it, and what it comes to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from linkedbandits.figures.style import SeriesStyle, new_panels, save, series_styles
from linkedbandits.lidar import ESTIMATORS
from tools.lidar_grid import METHODS, NON_ADAPTIVE, Cell, Measured

DOCS = Path(__file__).parent.parent / "docs"
PAGE = DOCS / "depth-grid.md"
PICTURE = DOCS / "figures" / "lidar-grid.png"
SIGNAL = 0.5
"""The picture is of this signal."""

HEAD = """# Cycles to 95 %: every sensor, acquisition and estimator

How many laser cycles each way to measure needs, in one large table: for those who look up one sensor. What the table
comes to is in [the whole grid](depth-measurements.md#the-whole-grid). The columns are
[acquisitions](depth-sensing.md#acquisitions-ways-to-spend-laser-cycles), and the rows of each sensor
[estimators](depth-sensing.md#estimators-from-counts-to-depth).

- **What is counted.** Laser cycles until 95 % of 500 pixels at random depths are within one bin of the truth; with the
  pulse of 10 bins, within half its width.
- **`-`**: not within ten times the cycles of the best estimator after the same acquisition, or 30,000.
- **`bins`, `FWHM`, `ambient`, `signal`**: time bins a cycle; width of the laser pulse in bins; ambient photons and
  signal photons a cycle.
- **`halving`** is of an earlier rule of that policy, which left bins out of a play more readily. The table
  [with everything told](depth-measurements.md#with-everything-told-and-any-gate-a-bound) has three cells of the
  present one.

Written by `python -m benchmarks lidar-grid`.

"""


def write(done: Measured) -> None:
    """The page and the picture; what the text needs is printed."""
    PAGE.write_text(page(done), encoding="utf-8")
    save(picture(done), PICTURE)
    print(summary(done) + "\n\n" + "\n".join(claims(done)))


def page(done: Measured) -> str:
    """The whole table."""
    return HEAD + heading() + "".join(rows(cell, done[cell]) for cell in done)


def heading() -> str:
    """The first lines of the table."""
    titles = ["bins", "FWHM", "ambient", "signal", "estimator", *METHODS]
    return f"| {' | '.join(titles)} |\n|--:|--:|--:|--:|---|" + "--:|" * len(METHODS) + "\n"


def rows(cell: Cell, measured: dict[str, dict[str, float]]) -> str:
    """A line an estimator."""
    settings = [f"{value:g}" for value in (cell.bins, cell.fwhm, cell.ambient, cell.signal)]
    lines = []
    for estimator in ESTIMATORS:
        figures = [cycles(measured[name][estimator]) if estimator in measured[name] else "" for name in METHODS]
        lines.append("| " + " | ".join([*settings, estimator, *figures]) + " |\n")
    return "".join(lines)


def cycles(value: float) -> str:
    """As the table shows them."""
    return f"{value:,.0f}" if np.isfinite(value) else "-"


def of_non_adaptive(measured: dict[str, dict[str, float]]) -> float:
    """The cycles of ``pulse`` over those of the best non-adaptive acquisition, both with ``map``."""
    return measured["pulse"]["map"] / min(measured[name]["map"] for name in NON_ADAPTIVE)


def of_thompson(measured: dict[str, dict[str, float]]) -> float:
    """The same over Thompson gating."""
    return measured["pulse"]["map"] / measured["thompson"]["map"]


def summary(done: Measured) -> str:
    """What ``pulse`` needs of the best non-adaptive acquisition's cycles, from the strongest to the weakest signal."""
    sizes = sorted({cell.bins for cell in done})
    lines = [
        "| FWHM | ambient | " + " | ".join(f"{bins} bins" for bins in sizes) + " |",
        "|--:|--:|" + "--:|" * len(sizes),
    ]
    for fwhm, ambient in sorted({(cell.fwhm, cell.ambient) for cell in done}):
        ranges = [
            span(
                of_non_adaptive(done[cell])
                for cell in done
                if (cell.bins, cell.fwhm, cell.ambient) == (bins, fwhm, ambient)
            )
            for bins in sizes
        ]
        lines.append(f"| {fwhm:g} | {ambient:g} | " + " | ".join(ranges) + " |")
    return "\n".join(lines)


def claims(done: Measured) -> list[str]:
    """The ranges that the text names."""

    def over(share: Callable[[dict[str, dict[str, float]]], float], *ambient: float) -> str:
        return span(share(done[cell]) for cell in done if cell.ambient in ambient)

    return [
        f"{over(of_non_adaptive, 10, 20)} of the cycles of the best non-adaptive acquisition at ambient 10 and 20",
        f"{over(of_non_adaptive, 5)} at ambient 5",
        f"{over(of_non_adaptive, 1)} at ambient 1",
        f"{over(of_thompson, 1, 5, 10, 20)} of Thompson gating's",
    ]


def span(shares: Iterable[float]) -> str:
    """From the least to the most."""
    values = list(shares)
    return f"{min(values):.2f} to {max(values):.2f}" if values else ""


def picture(done: Measured) -> object:
    """Cycles against ambient light with the estimator ``map``: a panel for each number of bins and pulse."""
    sizes, widths = sorted({cell.bins for cell in done}), sorted({cell.fwhm for cell in done})
    adaptive_or_gated = [name for name in METHODS if name != "synchronous"]
    style_of = {"synchronous": SeriesStyle("#999999", "o", "-"), **series_styles(adaptive_or_gated)}
    with new_panels(len(widths), len(sizes), 3.2 * len(sizes), 2.6 * len(widths)) as (figure, all_axes):
        for axes, (fwhm, bins) in zip(all_axes, [(fwhm, bins) for fwhm in widths for bins in sizes], strict=True):
            shown = [cell for cell in done if (cell.bins, cell.fwhm, cell.signal) == (bins, fwhm, SIGNAL)]
            for name, style in style_of.items():
                axes.plot(
                    [cell.ambient for cell in shown],
                    [done[cell][name]["map"] for cell in shown],  # what is infinite is not drawn
                    color=style.colour,
                    marker=style.marker,
                    linestyle="-" if name == "pulse" else style.line,
                    linewidth=2.4 if name == "pulse" else 1.2,
                    label=name,
                )
            axes.set(xscale="log", yscale="log", ylim=(8, 20_000), title=f"{bins} bins, pulse of {fwhm:g}")
            axes.set_xticks([1, 5, 10, 20], labels=["1", "5", "10", "20"], minor=False)
            axes.set_xticks([], minor=True)
        for axes in all_axes[-len(sizes) :]:
            axes.set_xlabel("ambient photons a cycle")
        for axes in all_axes[:: len(sizes)]:
            axes.set_ylabel("laser cycles to 95 %")
        figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(style_of) // 2)
    return figure
