"""What a simulation brings back: one row per trial, and the figures people ask of them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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

    def to_dict(self) -> dict[str, Any]:
        """The fields by name, ready for ``json.dumps``."""
        return asdict(self)


@dataclass(frozen=True)
class Runs:
    """The trials of one simulation: answer, plays, samples of every arm (spare ones among them), and how each ended.

    ``top`` has the answer's k arms, best first; ``arm`` is the first of them. ``tolerance`` is the policy's own: how
    far below the k-th best mean an arm may be and still count as right. So are ``neighbours``: how many places an arm
    may be away from such a one. With ``in_order`` the arms are an order, each the best where all before it fail; means
    tell only whether the first of them is right, so that alone is judged. With ``costs`` the best arm is the one with
    most successes per cost.
    """

    means: FloatArray
    top: IntArray
    plays: IntArray
    samples: IntArray
    confident: BoolArray
    tolerance: float = 0.0
    neighbours: int = 0
    in_order: bool = False
    costs: tuple[float, ...] = ()

    @property
    def arm(self) -> IntArray:
        """The answer of each trial; the first of them where it has several arms."""
        return np.asarray(self.top[:, 0])

    @property
    def status(self) -> npt.NDArray[np.str_]:
        """``"confident"`` or ``"budget"``, a trial each."""
        return np.where(self.confident, "confident", "budget")

    @property
    def correct(self) -> BoolArray:
        """Did the trial name the best arms? Any of several equal ones is right, and any within the tolerances.

        Of an order, only the first arm is judged: ``OutcomeTable.gains`` has what it takes to judge the others.
        """
        judged = self.top[:, :1] if self.in_order else self.top
        worth = per_cost(self.means, self.costs)
        least = np.sort(worth)[-judged.shape[1]] - self.tolerance
        rounding = 1e-12 if self.tolerance else 1e-12 * least if self.costs else 0.0
        right = np.flatnonzero(worth >= least - rounding)
        places = np.abs(np.arange(self.means.size)[:, np.newaxis] - right).min(axis=1)
        return np.asarray((places[judged] <= self.neighbours).all(axis=1))

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
        )
