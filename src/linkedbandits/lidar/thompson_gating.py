"""ThompsonGating: the published peer.

After Po, Pediredla and Gkioulekas, "Adaptive gating for single-photon 3D imaging", 2022.

Before a cycle, draw a depth from its posterior, and open the gate a little before it, to the end of the cycle. Where
there is no knowledge yet the gate opens anywhere; as the posterior sharpens, it opens just before the return, and
ambient light has little time to hide it.

The authors' gate is open for a whole period, past the end of the cycle into the next one, and has twenty positions:
:class:`WrappedThompsonGating`, on a sensor with ``gates=Suffixes(20)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linkedbandits.lidar.gate_policy import GatePolicy, GateState
from linkedbandits.lidar.gates import Suffixes
from linkedbandits.lidar.returns import few_at_a_time
from linkedbandits.linkage import Asks
from linkedbandits.model import FloatArray, IntArray, Repeats
from linkedbandits.policy import SeedArray, WithoutGuarantee

LEAD = 2.0
"""The gate opens this many standard deviations of the pulse before the depth that was drawn."""


@dataclass
class ThompsonState(GateState):
    """The counts, and what the draws are derived from."""

    seed: SeedArray
    step: IntArray


@dataclass(frozen=True, kw_only=True)
class ThompsonGating(WithoutGuarantee, GatePolicy[ThompsonState]):
    """Gates at depths drawn from the posterior. It does not stop by itself: give it a budget.

    The authors draw anew for every cycle. So does this for the first four hundred; then a draw serves 0.5 % of the
    cycles so far. Measured at ambient 20, a draw for every cycle gained nothing, and one for 2 % cost a sixth more.
    """

    name: ClassVar[str] = "thompson-gating"
    growth: ClassVar[float] = 0.005

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> ThompsonState:
        """Nothing is known: the gate opens anywhere."""
        state = ThompsonState(**self.nothing_known(lanes, arms), seed=seeds, step=np.zeros(lanes, dtype=np.int64))
        self._draw_gate(state, np.full((lanes, arms), 1.0 / arms))
        return state

    def choose(self, state: ThompsonState) -> None:
        """Update the posterior and draw the next gate."""
        state.step = state.step + 1
        lanes, bins = state.samples.shape
        posterior = np.empty((lanes, bins))
        for some in few_at_a_time(lanes, self.model.cells_per_bin * bins):
            level = state.level[some]
            likelihood = self.model.log_likelihood(state.samples[some], state.successes[some], level, rough=True)
            likelihood += state.log_prior[some].astype(np.float32)[:, np.newaxis, np.newaxis]
            likelihood -= likelihood.max(axis=(1, 2, 3), keepdims=True)
            posterior[some] = np.exp(likelihood, out=likelihood).sum(axis=(1, 2))
        state.arm = posterior.argmax(axis=1)
        self.find_level(state)
        self._draw_gate(state, posterior)

    def _draw_gate(self, state: ThompsonState, posterior: FloatArray) -> None:
        upto = np.cumsum(posterior, axis=1)
        drawn = (upto <= (uniform(state.seed, state.step) * upto[:, -1])[:, np.newaxis]).sum(axis=1)
        bins = posterior.shape[1]
        opens = self._before(np.minimum(drawn, bins - 1), bins)
        if self.sensor is not None and isinstance(self.sensor.gates, Suffixes):
            starts = self.sensor.gates.starts(bins)
            opens = starts[np.searchsorted(starts, opens, side="right") - 1]
        state.gate = np.arange(bins) >= opens[:, np.newaxis]

    def _before(self, drawn: IntArray, bins: int) -> IntArray:
        """Where a gate for this depth opens."""
        return np.asarray(np.maximum(drawn - self.lead, 0))

    @property
    def lead(self) -> int:
        """How many bins before the depth that was drawn the gate opens."""
        return round(LEAD * self.model.pulse.sigma)


@dataclass(frozen=True, kw_only=True)
class WrappedThompsonGating(ThompsonGating):
    """The same with windows that go on into the next period, up to the bin at which they began: every bin is seen.

    ``gate`` has the bins of a window up to the end of the period that it begins in. A window's bins follow their own
    order but for the wrap, so it takes the linkage ``free``.
    """

    name: ClassVar[str] = "wrapped-thompson-gating"
    asks: ClassVar[Asks] = "tuples"
    wraps: ClassVar[bool] = True

    def request(self, state: ThompsonState) -> Repeats:
        """The window that was drawn when the last counts came in."""
        bins = state.gate.shape[1]
        order = (state.gate.argmax(axis=1)[:, np.newaxis] + np.arange(bins)) % bins
        return Repeats(order, self.next_cycles(state))

    def _before(self, drawn: IntArray, bins: int) -> IntArray:
        return np.asarray((drawn - self.lead) % bins)


def uniform(seed: SeedArray, step: IntArray) -> FloatArray:
    """A number in [0, 1) for each pair of seed and step (Steele, Lea and Flood's SplitMix64, 2014).

    >>> uniform(np.array([1, 1, 2], dtype=np.uint64), np.array([0, 1, 0])).round(3)
    array([0.567, 0.746, 0.591])
    """
    mixed = seed + step.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return np.asarray((mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53)
