"""Results read back: every trial, and one row of figures a cell."""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkedbandits.bounds import BoundAsTold, lower, lower_as_told
from linkedbandits.display import MOST_SHOWN, Columns, WithFrames, counted, facts
from linkedbandits.errors import DamagedSave, InvalidParameter, UnknownName
from linkedbandits.extras import need_polars
from linkedbandits.figures.policies import Needed, Share, draw_needed, draw_shares
from linkedbandits.figures.style import LETTERS_OF_A_ROW, beside_axes, new_panels, series_styles, with_rows
from linkedbandits.intervals import share_interval
from linkedbandits.model import FloatArray
from linkedbandits.policies import make_policy
from linkedbandits.study.chunks import missing_ranges
from linkedbandits.study.folder import ResultsFolder

if TYPE_CHECKING:
    import polars as pl

_TWO_SIDED_95 = 1.959964
MOST_DRAWN = 40
"""Cells in one picture."""


def open_results(path: str | Path) -> Results:
    """The results in a folder, finished or not."""
    need_polars("a study")
    return Results(ResultsFolder(Path(path)))


class Results(WithFrames):
    """A study's finished trials; as a frame and a picture they have a row for each cell."""

    def __init__(self, folder: ResultsFolder) -> None:
        self._folder = folder
        self._resolved = folder.resolved()
        self._cells: dict[str, dict[str, Any]] = {cell["key"]: cell for cell in self._resolved["cells"]}

    def __repr__(self) -> str:
        return f"Results({self.name!r} in {str(self.path)!r}: {self._finished()})"

    def _repr_html_(self) -> str:
        policies = dict.fromkeys(cell["label"] for cell in self._cells.values())
        instances = dict.fromkeys(cell["instance"] for cell in self._cells.values())
        entries = {"folder": self.path, "policies": _listed(policies), "instances": _listed(instances)}
        return facts(f"Study {self.name}: {self._finished()}", entries)

    def _finished(self) -> str:
        trials = sum(cell["trials"] for cell in self._cells.values())
        return f"{counted(len(self._cells), 'cell')}, {trials - self.missing_trials():,} of {trials:,} trials finished"

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    @property
    def name(self) -> str:
        """What the study is called."""
        return str(self._resolved["name"])

    @property
    def cells(self) -> dict[str, dict[str, Any]]:
        """Every cell by its key: instance, means, policy with its parameters, linkage, delta, trials.

        ``requests`` is there where arms depend on each other: the digest of a table with its options, or a correlation.
        """
        return self._cells

    def missing_trials(self) -> int:
        """How many trials were never finished."""
        return sum(
            len(lanes)
            for key, cell in self._cells.items()
            for lanes in missing_ranges(len(cell["means"]), cell["trials"], self._ranges(key))
        )

    def trials(self, cell: str) -> pl.DataFrame:
        """One row per finished trial: its number, plays, answer, how it ended, and the samples of every arm."""
        return self._read(cell).drop("trace_plays", "trace_arms")

    def trace(self, cell: str) -> pl.DataFrame:
        """How many arms were still in as plays went on, in the first trials of the cell: trial, plays, arms_in."""
        import polars as pl

        columns = self._read(cell).select("trial", plays="trace_plays", arms_in="trace_arms")
        return columns.filter(pl.col("plays").is_not_null()).explode("plays", "arms_in")

    def table(self) -> pl.DataFrame:
        """One row per cell that has finished trials: mean plays with their 95 % band, errors with their interval.

        ``error_rate`` counts every wrong answer; ``sure_and_wrong`` those of trials that the policy stopped by its own
        rule, which is what delta bounds where a bound is proved. ``confident`` is the share of trials that did stop so.
        ``lower_bound`` is what no policy that is told nothing can beat, ``bound_as_told`` what none can beat that is
        ``told`` as much as the cell's.
        """
        import polars as pl

        kinds = {str: pl.String, int: pl.Int64, float: pl.Float64}
        rows = [self._row(key) for key in self._cells if self._ranges(key)]
        return pl.DataFrame(rows, schema={name: kinds[kind] for name, kind in _TABLE.items()}, orient="row")

    def _columns(self) -> Columns:
        return self.table().to_dict(as_series=False)

    def plot(self, ax: Any = None) -> Any:
        """Mean plays of every cell, and beside them how often it is wrong; a policy has one colour in all cells.

        Returns the matplotlib figure, on white ground: ``savefig`` writes it, a notebook shows it. With ``ax`` the
        plays alone are drawn there, and ``ax`` is returned. ``linkedbandits study --show FOLDER`` draws more.
        """
        table = self.table()
        if table.is_empty():
            raise InvalidParameter("there is no trial to draw; run the study first")
        telling = [column for column in ("instance", "linkage", "delta") if table[column].n_unique() > 1]
        policy_of, needed, labels = {}, {}, []
        for row in table.head(MOST_DRAWN).to_dicts():
            setting = ", ".join(
                f"delta {row[column]:g}" if column == "delta" else row[column]
                for column in telling
                if row[column] is not None
            )
            name = row["cell"]
            labels.append("\n".join(beside_axes(line, LETTERS_OF_A_ROW) for line in (row["policy"], setting) if line))
            error = (row["plays_high"] - row["plays_mean"]) / _TWO_SIDED_95
            wrong = Share(row["error_rate"], row["error_low"], row["error_high"])
            needed[name] = Needed(row["plays_mean"], error, row["plays_90"], wrong)
            policy_of[name] = row["policy"]
        by_policy = series_styles(policy_of.values(), among=(cell["label"] for cell in self._cells.values()))
        style_of = {name: by_policy[policy] for name, policy in policy_of.items()}

        def draw_plays(axes: Any) -> None:
            draw_needed(axes, needed, style_of)
            axes.set_yticks(range(len(labels)), labels, fontsize="small")

        if ax is not None:
            draw_plays(ax)
            return ax
        deltas = {row["cell"]: row["delta"] for row in table.head(MOST_DRAWN).to_dicts()}
        with new_panels(1, 2, with_rows(9.0, labels), 1.4 + 0.42 * max(len(needed), 3)) as (figure, (left, right)):
            draw_plays(left)
            shares = {name: one.wrong for name, one in needed.items()}
            draw_shares(right, shares, style_of, deltas, named=False)
            if table.height > MOST_DRAWN:
                figure.supxlabel(f"the first {MOST_DRAWN} of {table.height} cells are drawn", fontsize="small")
        return figure

    def _row(self, key: str) -> tuple[Any, ...]:
        cell = self._cells[key]
        bound = bound_as_told(cell)
        trials = self._read(key)
        count = trials.height
        plays = trials["plays"].to_numpy().astype(np.float64)
        mean = float(plays.mean())
        low, high = _band(plays)
        wrong = count - int(trials["correct"].sum())
        sure_and_wrong = int((trials["confident"] & ~trials["correct"]).sum())
        return (
            key,
            cell["instance"],
            cell["family"],
            len(cell["means"]),
            cell["label"],
            cell["linkage"],
            cell["delta"],
            count,
            mean,
            low,
            high,
            float(np.median(plays)),
            float(np.quantile(plays, 0.9)),
            wrong / count,
            *share_interval(wrong, count),
            sure_and_wrong / count,
            *share_interval(sure_and_wrong, count),
            float(trials["confident"].to_numpy().mean()),
            lower_bound(cell),
            bound.plays,
            None if bound.told is None else str(bound.told),
        )

    def _ranges(self, key: str) -> list[range]:
        cell = self._cell(key)
        return self._folder.ranges(key, cell["trials"], len(cell["means"]))

    def _cell(self, key: str) -> dict[str, Any]:
        """The cell of that name; if there is none, those that were probably meant are named."""
        if key in self._cells:
            return self._cells[key]
        meant = [known for known, cell in self._cells.items() if key in (cell["instance"], cell["label"])]
        near = meant or [known for known in self._cells if str(key) in known]
        which = "those of it are" if near else "the cells are"
        raise UnknownName(
            f"there is no cell {key!r} in {self.path}; {which} {_listed(near or self._cells)} "
            "(the column cell of table() has them all)"
        )

    def _read(self, key: str) -> pl.DataFrame:
        import polars as pl

        wanted = self._ranges(key)
        chunks = [chunk for chunk in self._folder.chunks(key) if chunk.lanes in wanted]
        if not chunks:
            raise DamagedSave(
                f"{key} has no finished trials in {self.path}; run the study to have them", reason="damaged_results"
            )
        rows = pl.concat([pl.read_parquet(io.BytesIO(chunk.content())) for chunk in chunks])
        # A trial may be there twice, the same each time, where folders were copied together.
        return rows.unique("trial", keep="first").sort("trial")


def _band(plays: FloatArray) -> tuple[float | None, float | None]:
    """The 95 % band of the mean; one trial alone does not say how wide it is."""
    if plays.size < 2:
        return None, None
    mean, half = float(plays.mean()), _TWO_SIDED_95 * float(plays.std(ddof=1) / np.sqrt(plays.size))
    return max(mean - half, 0.0), mean + half


def lower_bound(cell: dict[str, Any]) -> float | None:
    """Plays that any policy that is told nothing needs on the cell's instance; None without a delta or with a tie.

    It is for policies that have to name the best arm: one with a tolerance may need fewer. And it is for independent
    arms: there is none where they depend on each other.
    """
    if cell["delta"] is None or depends(cell):
        return None
    looked_for = cell["policy"]["parameters"]
    bound = lower(
        cell["means"], cell["delta"], cell["linkage"], looked_for.get("k", 1), costs=looked_for.get("costs", ())
    )
    return bound if np.isfinite(bound) else None


def bound_as_told(cell: dict[str, Any]) -> BoundAsTold:
    """What the plays of the cell are measured by: the bound for policies that are told as much as its own."""
    described = cell["policy"]
    try:
        policy = make_policy(described["name"], described["parameters"])
    except (InvalidParameter, UnknownName):  # one of the user's own, of which no more is kept than its parameters
        return BoundAsTold(lower_bound(cell))
    told, goal = policy.told_difference, policy.goal
    if depends(cell):
        return BoundAsTold(None, told, "it is for independent options")
    if told is None and not goal.tolerance and not goal.neighbours:
        return BoundAsTold(lower_bound(cell))
    return lower_as_told(policy, cell["means"], cell["linkage"])


def depends(cell: dict[str, Any]) -> bool:
    """Do the arms of the cell depend on each other within a request?"""
    requests = cell.get("requests")
    return requests is not None and requests.get("correlation") != 0


_TABLE: dict[str, type] = {
    **dict.fromkeys(["cell", "instance", "family"], str),
    "arms": int,
    **dict.fromkeys(["policy", "linkage"], str),
    "delta": float,
    "trials": int,
    **dict.fromkeys(["plays_mean", "plays_low", "plays_high", "plays_median", "plays_90"], float),
    **dict.fromkeys(["error_rate", "error_low", "error_high"], float),
    **dict.fromkeys(["sure_and_wrong", "sure_low", "sure_high"], float),
    **dict.fromkeys(["confident", "lower_bound", "bound_as_told"], float),
    "told": str,
}


def _listed(names: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    every = list(names)
    more = [f"and {len(every) - MOST_SHOWN:,} more"] if len(every) > MOST_SHOWN else []
    return ", ".join([*every[:MOST_SHOWN], *more])
