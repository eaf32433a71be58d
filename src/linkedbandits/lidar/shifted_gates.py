"""ShiftedGates: the field's asynchronous acquisition.

After Gupta, Ingle and Gupta, "Asynchronous single-photon 3D imaging", 2019.

The detector's window is as long as a laser period but does not begin with it: it is shifted further with every
exposure, and wraps around into the next period. So each bin is, in turn, among the first that a window tries. Ambient
light hides every bin alike, if windows are shifted by less than the way that a cycle gets before the next ambient
photon: with 100 shifts, 200 bins and 20 ambient photons a cycle the best and the worst seen bin differ by a tenth; with
20 shifts, by a factor of 2.5.

A window that wraps sees the end of one period and the beginning of the next. The shifts of a whole round add up to one
more period, so a round takes one laser cycle more than it has windows: :attr:`ShiftedGates.cost`.
That is how the authors shift. To take all windows of a shift together, which the counts would not tell, would cost
one cycle more in all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkedbandits.checks import check_whole
from linkedbandits.linkage import Asks
from linkedbandits.model import Counts, IntArray, Repeats, best_arm, empirical_means
from linkedbandits.policy import Goal, LaneState, Policy, SeedArray, WithoutGuarantee, open_lanes


@dataclass
class ShiftedGatesState(LaneState):
    """The windows so far, and the counts of every bin."""

    windows: IntArray
    samples: IntArray
    successes: IntArray


@dataclass(frozen=True)
class ShiftedGates(WithoutGuarantee, Policy[ShiftedGatesState]):
    """Open ``plays`` windows, in rounds of ``shifts``, and name the bin that fired most often when it was tried.

    With fewer windows than that, they are one round, and shifted farther. A window's bins follow their own order but
    for the wrap, so it takes the linkage ``free``.
    """

    plays: int
    shifts: int = 100

    name: ClassVar[str] = "shifted-gates"
    asks: ClassVar[Asks] = "tuples"

    def __post_init__(self) -> None:
        check_whole("plays", self.plays)
        check_whole("shifts", self.shifts)

    @property
    def round(self) -> int:
        """How many windows it takes until their shifts have added up to a period."""
        return min(self.shifts, self.plays)

    @property
    def cost(self) -> float:
        """Laser cycles that a window takes, on average over a round."""
        return 1 + 1 / self.round

    @property
    def goal(self) -> Goal:
        """The best bin, with ``plays`` windows."""
        return Goal(budget=self.plays)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> ShiftedGatesState:
        """No window so far."""
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return ShiftedGatesState(
            **open_lanes(lanes, arms),
            windows=np.zeros(lanes, dtype=np.int64),
            samples=counts,
            successes=counts.copy(),
        )

    def request(self, state: ShiftedGatesState) -> Repeats:
        """All windows of one shift at once: their order in time changes nothing that is seen."""
        lanes, bins = state.samples.shape
        shift = int(_shifts_done(state.windows[0], self.plays, self.shifts))
        order = (np.arange(bins) + shift * bins // self.shifts) % bins
        times = (shift + 1) * self.plays // self.shifts - shift * self.plays // self.shifts
        return Repeats(np.broadcast_to(order, (lanes, bins)), np.full(lanes, times, dtype=np.int64))

    def observe(self, state: ShiftedGatesState, counts: Counts) -> None:
        """Add up."""
        state.windows = state.windows + counts.most_plays()
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        state.arm = best_arm(empirical_means(state.samples, state.successes), state.samples > 0)
        state.stopped = state.windows >= self.plays


def _shifts_done(windows: np.int64, plays: int, shifts: int) -> int:
    """How many shifts have had their share of the windows."""
    return next(shift for shift in range(shifts) if (shift + 1) * plays // shifts > windows)
