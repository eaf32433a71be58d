"""PulseGating: open the bins that tell most about where the pulse is; stop when no other depth is possible.

This project's own. The likelihood of a known pulse shares evidence between neighbouring bins; the next gate is the one
worth most to a cycle (:mod:`linkedbandits.lidar.gating`); it ends with a proof that no depth but those near its answer
explains the counts (:mod:`linkedbandits.lidar.certificate`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar

import numpy as np

from linkedbandits.checks import check_positive, check_probability
from linkedbandits.lidar.certificate import Certificate, certificate
from linkedbandits.lidar.gate_policy import GatePolicy, GateState
from linkedbandits.lidar.gating import best_gate, outlook
from linkedbandits.lidar.returns import Floats, few_at_a_time
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.model import Counts
from linkedbandits.policies.with_guarantee import WithGuarantee
from linkedbandits.policy import Goal, SeedArray, open_lanes


@dataclass(frozen=True, kw_only=True)
class PulseGating(WithGuarantee, GatePolicy[GateState]):
    """Find the depth of a return to within ``tolerance`` bins; wrong with probability at most ``delta``.

    The answer is the depth that :meth:`ReturnModel.estimate` gives for the counts, and ``arm`` is the bin it lies in;
    where a budget ends the run, it is the bin of the likeliest depth of a grid, when the last gate had been used up.
    The guarantee holds for every depth and every signal up to ``strongest``, if pulse and background are as given.
    Where there is no return at all, the run ends by itself with probability at most delta; give it a budget.

    Without ``delta`` it never stops by itself, and uses the budget that it is given.

    >>> import linkedbandits as lb
    >>> from linkedbandits.lidar import Sensor
    >>> sensor = Sensor(bins=50, ambient=5.0)
    >>> means = sensor.chances(np.array([32.3]), np.array([0.5]))[0]
    >>> policy = PulseGating(delta=0.05, fwhm=sensor.fwhm, background=sensor.background)
    >>> runs = lb.simulate(means, policy, trials=50, seed=1)
    >>> bool((abs(runs.arm - 32) <= 1).all())
    True
    """

    delta: float | None = None
    tolerance: float = 1.0

    name: ClassVar[str] = "pulse-gating"
    growth: ClassVar[float] = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("tolerance", self.tolerance)
        if self.delta is not None:
            check_probability("delta", self.delta)

    @property
    def goal(self) -> Goal:
        """The bin of the depth; wrong with probability at most ``delta``, if that is given."""
        return Goal(delta=self.delta)

    @property
    def certificate(self) -> Certificate:
        """The proof that ends a run."""
        background = max(self.background, LEAST_BACKGROUND)
        return certificate(self.fwhm, background, self.weakest, self.strongest, self.tolerance)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> GateState:
        """Nothing is known: every bin is open."""
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return GateState(
            **open_lanes(lanes, arms),
            cycles=np.zeros(lanes, dtype=np.int64),
            samples=counts,
            successes=counts.copy(),
            gate=np.ones((lanes, arms), dtype=np.bool_),
        )

    def observe(self, state: GateState, counts: Counts) -> None:
        """Find the likeliest depth, stop where it is certain, and choose the next gate elsewhere."""
        state.add(counts)
        lanes, bins = state.samples.shape
        best = np.empty((lanes, self.model.phases.size, bins), dtype=np.float32)
        worth, chance = np.empty((2, lanes, bins))
        for some in few_at_a_time(lanes, self.model.fire.shape[0] * bins):
            likelihood = self.model.log_likelihood(state.samples[some], state.successes[some], np.float32)
            likelihood.max(axis=1, out=best[some])
            worth[some], chance[some] = outlook(self.model, likelihood, best[some])
        state.gate = best_gate(worth, chance)
        state.arm = best.max(axis=1).argmax(axis=1)
        if self.delta is not None:
            self._decide(state, best, log(1 / self.delta))

    def _decide(self, state: GateState, best: Floats, needed: float) -> None:
        """Stop where it can be proved; ``best`` is the largest log-likelihood of every phase and bin."""
        lanes, _, bins = best.shape
        top = best.max(axis=(1, 2))
        state.still_in = best.max(axis=1) >= (top - needed)[:, np.newaxis]
        # The proof takes time, and hardly succeeds while another depth of this coarse grid comes near: the mean
        # likelihood, over all bins, is about the best divided by their number.
        middle = np.arange(bins) + self.model.phases[:, np.newaxis]
        found = middle.reshape(-1)[best.reshape(lanes, -1).argmax(axis=1)]
        step = 1 / self.model.phases.size
        away = np.abs(middle - found[:, np.newaxis, np.newaxis]) > max(self.tolerance - step / 2, step)
        rival = np.where(away, best, 0.0).max(axis=(1, 2))
        promising = np.flatnonzero(top - rival >= needed + log(bins) + 1)
        if promising.size:
            samples, successes = state.samples[promising], state.successes[promising]
            depth = self.model.estimate(samples, successes)
            state.arm[promising] = np.clip(np.floor(depth), 0, bins - 1)
            state.stopped[promising] = self.certificate.holds(samples, successes, depth, needed)
