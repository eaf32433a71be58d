"""What a simulation brings back: one row per trial, and the figures people ask of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.display import Columns, WithFrames, counted, facts, percent, plays, short_repr, table, text_table
from linkedbandits.errors import InvalidParameter
from linkedbandits.figures.policies import Delta, Needed, Share, draw_distribution, draw_needed, draw_shares
from linkedbandits.figures.style import new_panels, series_styles, with_rows
from linkedbandits.intervals import share_interval
from linkedbandits.model import BoolArray, FloatArray, IntArray, per_cost


@dataclass(frozen=True)
class Summary:
    """Plays and errors over a set of runs. Intervals are at 95 %."""

    trials: int
    plays_mean: float
    plays_standard_error: float
    plays_median: float
    plays_90: float
    samples_mean: float
    error_rate: float
    error_interval: tuple[float, float]
    confident: float
    """The share of runs that the policy stopped by its own rule."""
    proved: float
    """The share of runs that it stopped so with a proved bound on its error."""

    __repr__ = short_repr

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, ready for ``json.dumps``."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return facts(f"Summary of {counted(self.trials, 'trial')}", self.in_words())

    def in_words(self) -> dict[str, str]:
        """The figures as people read them, by what they are."""
        low, high = self.error_interval
        return {
            "plays on average": f"{plays(self.plays_mean)} ± {plays(self.plays_standard_error)}",
            "plays, median": plays(self.plays_median),
            "plays of nine trials in ten": plays(self.plays_90),
            "samples on average": plays(self.samples_mean),
            "wrong": f"{percent(self.error_rate)} (95 % interval: {percent(low)} to {percent(high)})",
            "stopped by the policy's own rule": percent(self.confident),
            "with a proved guarantee": percent(self.proved),
        }

    def _needed(self) -> Needed:
        wrong = Share(self.error_rate, *self.error_interval)
        return Needed(self.plays_mean, self.plays_standard_error, self.plays_90, wrong)


class Summaries(Mapping[str, Summary], WithFrames):
    """The summaries of several policies on one instance, by what they are called: a table, a picture and a frame.

    >>> import linkedbandits as lb
    >>> policies = [lb.UniformSampling(delta=0.1), lb.LinkedElimination(0.1)]
    >>> compared = lb.Summaries({p.name: lb.simulate([0.1, 0.6], p, trials=50).summary() for p in policies})
    >>> compared["linked-elimination"].trials
    50
    >>> print(repr(compared).splitlines()[0])
    policy               plays   median   90 %   wrong   (95 % interval)
    """

    def __init__(self, summaries: Mapping[str, Summary], delta: Delta = None) -> None:
        """Take the summaries by name; ``delta`` is how often they may be wrong, or by name each, for the picture."""
        if not summaries or not all(isinstance(one, Summary) for one in summaries.values()):
            raise InvalidParameter("give one summary or more by name, as {'linked-ege': runs.summary()}")
        self._by_name = dict(summaries)
        self.delta = delta

    def __getitem__(self, name: str) -> Summary:
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)

    def __repr__(self) -> str:
        return text_table(_HEADINGS, self._rows())

    def _repr_html_(self) -> str:
        trials = {one.trials for one in self.values()}
        of = counted(trials.pop(), "trial") if len(trials) == 1 else "trials"
        return table(f"{counted(len(self), 'policy', 'policies')}, {of} each", _HEADINGS, self._rows())

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                name,
                plays(one.plays_mean),
                plays(one.plays_median),
                plays(one.plays_90),
                percent(one.error_rate),
                f"({percent(one.error_interval[0])} to {percent(one.error_interval[1])})",
            )
            for name, one in self.items()
        ]

    def plot(self, ax: Any = None) -> Any:
        """Plays of every policy, and beside them how often it is wrong, against delta.

        Returns the matplotlib figure, on white ground: ``savefig`` writes it, a notebook shows it. With ``ax`` the
        plays alone are drawn there, and ``ax`` is returned.
        """
        needed = {name: one._needed() for name, one in self.items()}
        style_of = series_styles(needed)
        if ax is not None:
            draw_needed(ax, needed, style_of)
            return ax
        with new_panels(1, 2, with_rows(9.0, needed), 1.4 + 0.34 * max(len(needed), 3)) as (figure, (left, right)):
            draw_needed(left, needed, style_of)
            draw_shares(right, {name: one.wrong for name, one in needed.items()}, style_of, self.delta, named=False)
        return figure

    def _columns(self) -> Columns:
        rows = [one.to_dict() for one in self.values()]
        names = [name for name in rows[0] if name != "error_interval"]
        return {
            "policy": list(self),
            **{name: [row[name] for row in rows] for name in names},
            "error_low": [row["error_interval"][0] for row in rows],
            "error_high": [row["error_interval"][1] for row in rows],
        }


_HEADINGS = ("policy", "plays", "median", "90 %", "wrong", "(95 % interval)")


@dataclass(frozen=True)
class Runs(WithFrames):
    """The trials of one simulation: answer, plays, samples of every arm (spare ones among them), and how each ended.

    ``top`` has the answer's k arms, best first; ``arm`` is the first of them. ``tolerance`` is the policy's own: how
    far below the k-th best mean an arm may be and still count as right. So are ``neighbours``: how many places an arm
    may be away from such a one. With ``costs`` the best arm is the one with most successes per cost. ``delta`` is how
    often the policy may be wrong, None where it is not told, and ``policy`` its name. ``confident`` says which trials
    the policy stopped by its own rule; whether that comes with a proved bound on its error, ``error_bound`` says.
    """

    means: FloatArray
    top: IntArray
    plays: IntArray
    samples: IntArray
    confident: BoolArray
    tolerance: float = 0.0
    neighbours: int = 0
    costs: tuple[float, ...] = ()
    delta: float | None = None
    error_bound: float | None = None
    policy: str = ""

    def __repr__(self) -> str:
        if not self.plays.size:
            return f"Runs({self._of_what()})"
        summary = self.summary()
        return (
            f"Runs({self._of_what()}: {plays(summary.plays_mean)} plays on average (median "
            f"{plays(summary.plays_median)}, nine in ten within {plays(summary.plays_90)}), "
            f"{percent(summary.error_rate)} wrong, {percent(summary.confident)} confident)"
        )

    def _repr_html_(self) -> str:
        return facts(f"Runs: {self._of_what()}", self.summary().in_words() if self.plays.size else {})

    def _of_what(self) -> str:
        by = f" of {self.policy}" if self.policy else ""
        may = "" if self.delta is None else f", delta {self.delta:g}"
        return f"{counted(self.plays.size, 'trial')}{by} on {counted(self.means.size, 'arm')}{may}"

    def plot(self, ax: Any = None) -> Any:
        """How many trials needed how many plays, and below it the share of wrong answers, against delta.

        Returns the matplotlib figure, on white ground: ``savefig`` writes it, a notebook shows it. With ``ax`` the
        plays alone are drawn there, and ``ax`` is returned.
        """
        if not self.plays.size:
            raise InvalidParameter("there is no trial to draw; run simulate() with trials=1 or more")
        right = self.correct
        if ax is not None:
            draw_distribution(ax, self.plays, right)
            return ax
        wrong = {"": self.summary()._needed().wrong}
        with new_panels(2, 1, 6.4, 4.6, heights=(5, 1)) as (figure, (above, below)):
            draw_distribution(above, self.plays, right)
            above.set_title(self._of_what(), loc="left", fontsize="medium", pad=22)
            draw_shares(below, wrong, series_styles(wrong), self.delta, named=False)
        return figure

    def _columns(self) -> Columns:
        return {
            "trial": np.arange(self.plays.size),
            "arm": self.arm,
            "plays": self.plays,
            "samples": self.samples.sum(axis=1),
            "confident": self.confident,
            "correct": self.correct,
            **{f"samples_{arm}": self.samples[:, arm] for arm in range(self.means.size)},
        }

    @property
    def arm(self) -> IntArray:
        """The answer of each trial; the first of them where it has several arms."""
        return np.asarray(self.top[:, 0])

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """``"confident"`` or ``"exhausted"``, a trial each."""
        return np.where(self.confident, "confident", "exhausted")

    @property
    def proved(self) -> BoolArray:
        """Which trials stopped by the policy's own rule with a proved bound on its error."""
        return self.confident & (self.error_bound is not None)

    @property
    def correct(self) -> BoolArray:
        """Did the trial name the best arms? Any of several equal ones is right, and any within the tolerances."""
        worth = per_cost(self.means, self.costs)
        least = np.sort(worth)[-self.top.shape[1]] - self.tolerance
        rounding = 1e-12 if self.tolerance else 1e-12 * least if self.costs else 0.0
        right = np.flatnonzero(worth >= least - rounding)
        places = np.abs(np.arange(self.means.size)[:, np.newaxis] - right).min(axis=1)
        return np.asarray((places[self.top] <= self.neighbours).all(axis=1))

    def error_rate(self) -> float:
        """The share of trials with a wrong answer."""
        return float(1 - self.correct.mean())

    def summary(self) -> Summary:
        """Plays, errors and their intervals."""
        trials = self.plays.size
        return Summary(
            trials=trials,
            plays_mean=float(self.plays.mean(dtype=np.float64)),
            plays_standard_error=float(self.plays.std(dtype=np.float64) / np.sqrt(trials)),
            plays_median=float(np.median(self.plays)),
            plays_90=float(np.quantile(self.plays, 0.9)),
            samples_mean=float(self.samples.sum(axis=1, dtype=np.float64).mean()),
            error_rate=self.error_rate(),
            error_interval=share_interval(int(trials - self.correct.sum()), trials),
            confident=float(self.confident.mean()),
            proved=float(self.proved.mean()),
        )
