"""All figures that the results of a study have data for, on pages of a few panels each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from linkedbandits.bounds import characteristic_time
from linkedbandits.errors import CannotWrite, why_not
from linkedbandits.figures.style import save
from linkedbandits.model import FloatArray
from linkedbandits.study.figures.arms_still_in import TracePanel, arms_still_in
from linkedbandits.study.figures.errors_by_delta import errors_by_delta
from linkedbandits.study.figures.panels import described, grouped
from linkedbandits.study.figures.plays_by_arms import plays_by_arms
from linkedbandits.study.figures.plays_by_delta import plays_by_delta
from linkedbandits.study.figures.samples_by_arm import SamplesPanel, samples_by_arm
from linkedbandits.study.results import depends

if TYPE_CHECKING:
    import polars as pl

    from linkedbandits.study import Results

__all__ = ["draw_all"]

PANELS_A_PAGE = 6
MOST_PAGES = 4
ENDINGS = ("png", "svg", "pdf")

Panel = TypeVar("Panel")
CellData = dict[str, Any]
"""A cell as the results have it, read from JSON."""


def draw_all(results: Results, folder: Path) -> list[Path]:
    """Draw into the folder, as PNG, SVG and PDF, and return the files.

    Plays over arms need a family with several numbers of arms; plays and errors over delta an instance with several
    deltas. A kind of figure with very many panels shows the first of them and says so.
    """
    table = results.table()
    several_arms = _parts(table.filter(table["family"].is_not_null()), ["family", "linkage", "delta"], "arms")
    several_deltas = _parts(table, ["instance", "linkage"], "delta")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"the folder {folder} cannot be made: {why_not(error)}; name another") from error
    # Whichever of them a figure shows, a policy has one colour in all figures, finished or not.
    among = list(dict.fromkeys(cell["label"] for cell in results.cells.values()))
    return [
        *_pages(folder, "plays-by-arms", several_arms, lambda parts: plays_by_arms(_together(parts), among)),
        *_pages(folder, "plays-by-delta", several_deltas, lambda parts: plays_by_delta(_together(parts), among)),
        *_pages(folder, "errors-by-delta", several_deltas, lambda parts: errors_by_delta(_together(parts), among)),
        *_pages(folder, "samples-by-arm", list(_samples(results, table["cell"])), partial(samples_by_arm, among=among)),
        *_pages(folder, "arms-still-in", list(_traces(results, table["cell"])), partial(arms_still_in, among=among)),
    ]


def _pages(folder: Path, name: str, panels: Sequence[Panel], draw: Callable[[Sequence[Panel]], Any]) -> list[Path]:
    """The pages of one kind of figure; those of an earlier drawing that are no longer needed go."""
    shown = panels[: PANELS_A_PAGE * MOST_PAGES]
    files = []
    for number in range(MOST_PAGES):
        page = shown[number * PANELS_A_PAGE : (number + 1) * PANELS_A_PAGE]
        paths = [folder / f"{name}{f'-{number + 1}' if number else ''}.{ending}" for ending in ENDINGS]
        if not page:
            for path in paths:
                path.unlink(missing_ok=True)
            continue
        figure = draw(page)
        if len(panels) > len(shown):
            figure.supxlabel(f"the first {len(shown)} of {len(panels)} panels are drawn", fontsize="small")
        for path in paths:
            save(figure, path)
        files += paths
    return files


def _parts(table: pl.DataFrame, panel: list[str], over: str) -> list[pl.DataFrame]:
    """The rows of each panel that has more than one value of the column to be drawn over, and those that have none."""
    parts = table.partition_by(panel, maintain_order=True)
    return [part for part in parts if part[over].drop_nulls().n_unique() > 1]


def _together(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    import polars as pl  # takes a third of a second to import; who has results has it already

    return pl.concat(parts)


def _samples(results: Results, finished: Iterable[str]) -> Iterator[SamplesPanel]:
    for title, cells in _settings(results, finished).items():
        if depends(cells[0]):
            continue  # what would be best is known for independent arms alone
        time = characteristic_time(cells[0]["means"], cells[0]["linkage"], _wanted(cells[0]), costs=_costs(cells[0]))
        if time.reason is None:
            yield SamplesPanel(title, time, {cell["label"]: _samples_a_play(results, cell) for cell in cells})


def _samples_a_play(results: Results, cell: CellData) -> FloatArray:
    trials = results.trials(cell["key"])
    samples: FloatArray = np.array(trials["samples"].to_list(), dtype=np.float64).mean(axis=0)
    return samples / float(trials["plays"].to_numpy().mean(dtype=np.float64))


def _traces(results: Results, finished: Iterable[str]) -> Iterator[TracePanel]:
    """Where no arm ever goes out there is nothing to see."""
    for title, cells in _settings(results, finished).items():
        traces = {cell["label"]: results.trace(cell["key"]) for cell in cells}
        arms = len(cells[0]["means"])
        dropping = {label: trace for label, trace in traces.items() if (trace["arms_in"] < arms).any()}
        if dropping:
            yield TracePanel(title, arms, dropping, tuple(label for label in traces if label not in dropping))


def _settings(results: Results, finished: Iterable[str]) -> dict[str, list[CellData]]:
    """The cells that belong into one panel, by its title: all policies that look for the same arms of an instance."""

    def title(cell: CellData) -> str:
        wanted = "" if _wanted(cell) == 1 else f", {_wanted(cell)} best"
        if _costs(cell):
            wanted = f", most successes per cost {'/'.join(f'{cost:g}' for cost in _costs(cell))}"
        return f"{cell['instance']}{wanted} ({described(cell['linkage'], cell['delta'])})"

    return grouped((results.cells[key] for key in finished), title)


def _wanted(cell: CellData) -> int:
    """How many best arms the cell's policy looks for."""
    return int(cell["policy"]["parameters"].get("k", 1))


def _costs(cell: CellData) -> Sequence[float]:
    """What a try of each arm costs, if the policy looks for most successes per cost."""
    costs: Sequence[float] = cell["policy"]["parameters"].get("costs", ())
    return costs
