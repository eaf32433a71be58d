"""PulseGating: open the bins that tell most about where the pulse is; stop when no other depth is possible.

This project's own. The likelihood of a known pulse shares evidence between neighbouring bins; the next gate is the one
worth most to the time it takes (:mod:`linkedbandits.lidar.gating`, :mod:`linkedbandits.lidar.gates`); it ends with a
proof that no depth but those near its answer explains the counts (:mod:`linkedbandits.lidar.certificate`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, log
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from linkedbandits.checks import check_positive, check_probability
from linkedbandits.lidar.certificate import Certificate
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.gate_policy import GatePolicy, GateState
from linkedbandits.lidar.gates import best_gate
from linkedbandits.lidar.gating import outlook
from linkedbandits.lidar.returns import Floats, few_at_a_time, shares
from linkedbandits.lidar.two_returns import MORE, gain_of_two
from linkedbandits.model import BoolArray, FloatArray, IntArray, Status
from linkedbandits.policy import Goal, SeedArray, WithGuarantee

SOONEST, LATEST = 1.05, 1.5
"""A proof that failed is tried again when there are at least, and at most, this many times the cycles."""


@dataclass
class PulseState(GateState):
    """The counts, at how many cycles the proof is tried next, and where it succeeded."""

    next_try: IntArray
    certain: BoolArray


@dataclass(frozen=True, kw_only=True)
class PulseGating(WithGuarantee, GatePolicy[PulseState]):
    """Find the depth of a return to within ``tolerance`` bins; wrong with probability at most ``delta``.

    The answer is the depth that :meth:`depth` gives for the counts, and ``arm`` is the bin it lies in; where a budget
    ends the run, it is the bin of the likeliest depth of a grid, when the last gate had been used up. The guarantee
    holds for every depth, signal and background, if the pulse is as given and there is one return or none.
    ``signal_limit`` may say that no return is brighter: where a pulse makes its bins fire always, that helps to tell.
    Where there is no return at all, the run ends by itself with probability at most delta; give it a budget.

    ``likely`` ends a run where the depth is within the tolerance with that probability by the model's own reckoning:
    much sooner, and without a guarantee. It also ends where there most probably is no return; as dim ones look like
    none for long, the chance that there is one has to be below the square of what is allowed otherwise. Without
    ``delta`` and ``likely`` it never stops by itself, and uses the budget that it is given.

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
    likely: float | None = None
    signal_limit: float = inf

    name: ClassVar[str] = "pulse-gating"
    growth: ClassVar[float] = 0.12

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive("tolerance", self.tolerance)
        if self.delta is not None:
            check_probability("delta", self.delta)
        if self.likely is not None:
            check_probability("likely", self.likely)

    @property
    def goal(self) -> Goal:
        """The bin of the depth; wrong with probability at most ``delta``, if that is given."""
        return Goal(delta=self.delta)

    @property
    def status_at_stop(self) -> Status:
        """With ``likely`` a run may end without a proof, so none is called sure; :meth:`proved` tells them apart."""
        return "confident" if self.likely is None else "exhausted"

    @property
    def error_bound(self) -> float | None:
        """``delta``, proved; and none, if runs may end without a proof."""
        return self.delta if self.likely is None else None

    @property
    def certificate(self) -> Certificate:
        """The proof that ends a run."""
        return Certificate(self.pulse, self.tolerance, self.signal_limit, self.told)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> PulseState:
        """Nothing is known: every bin is open."""
        next_try = np.zeros(lanes, dtype=np.int64)
        return PulseState(**self.nothing_known(lanes, arms), next_try=next_try, certain=np.zeros(lanes, dtype=np.bool_))

    def choose(self, state: PulseState) -> None:
        """Find the likeliest depth, stop where it is certain, and choose the next gate elsewhere."""
        lanes, bins = state.samples.shape
        best = np.empty((lanes, self.model.phases.size, bins), dtype=np.float32)
        worth, chance = np.empty((2, lanes, bins))
        sure = np.zeros(lanes, dtype=np.bool_)
        for some in few_at_a_time(lanes, self.model.cells_per_bin * bins):
            level = state.level[some]
            likelihood = self.model.log_likelihood(state.samples[some], state.successes[some], level, rough=True)
            likelihood += state.log_prior[some].astype(np.float32)[:, np.newaxis, np.newaxis]
            likelihood.max(axis=1, out=best[some])
            if self.likely is not None:
                depth = state.arm[some].astype(np.float64) + 0.5  # what the level is from, too
                none = self.model.none_better(state.samples[some], state.successes[some], level, depth)
                sure[some] = self._ends(*shares(likelihood, none, self.tolerance))
            worth[some], chance[some] = outlook(self.model, likelihood, best[some], level)
        state.gate = self._best_gate(worth, chance)
        state.arm = best.max(axis=1).argmax(axis=1)
        self.find_level(state)
        if self.delta is not None:
            self._decide(state, best, log(1 / self.delta))
        if self.likely is not None:
            state.stopped |= sure & (state.cycles > 0)

    def proved(self, state: PulseState) -> BoolArray:
        """Where the certificate holds."""
        return state.certain

    def depth(self, state: PulseState) -> FloatArray:
        """The depth in every lane, in bins."""
        return self.model.estimate(state.samples, state.successes, state.level, state.log_prior)

    def belief(self, state: PulseState) -> FloatArray:
        """How probable every bin is to hold the depth, if there is a return: (lanes, bins)."""
        weight = self.model.log_likelihood(state.samples, state.successes, state.level)
        weight = logsumexp(weight, axis=(1, 2)) + state.log_prior
        return np.asarray(np.exp(weight - logsumexp(weight, axis=1, keepdims=True)))

    def expected(self, state: PulseState) -> Expected:
        """What was expected before the first photon."""
        return Expected(state.log_prior, state.expected_signal, state.expected_background)

    def _ends(self, near: FloatArray, none: FloatArray) -> BoolArray:
        """Where is it likely enough that the depth is known, or that there is none?"""
        assert self.likely is not None
        return np.asarray((near >= self.likely) | (none >= 1 - (1 - self.likely) ** 2))

    def _doubt_two_returns(
        self, certain: BoolArray, samples: IntArray, successes: IntArray, depth: FloatArray, expected: Expected
    ) -> None:
        """Take back what is certain where two returns that overlap explain the counts better."""
        some = np.flatnonzero(certain)
        if some.size:
            samples, successes, depth = samples[some], successes[some], depth[some]
            fit = self.certificate.fit_at(samples, successes, depth, expected.take(some))
            certain[some] = gain_of_two(self.pulse, samples, successes, depth, self.tolerance, *fit) <= MORE

    def _best_gate(self, worth: FloatArray, chance: FloatArray) -> BoolArray:
        if self.sensor is None:
            return best_gate(worth, chance)
        return self.sensor.gates.best(worth, chance, self.sensor)

    def _decide(self, state: PulseState, best: Floats, needed: float) -> None:
        """Stop where it can be proved; ``best`` is the largest log-weight of every phase and bin."""
        bins = best.shape[2]
        of_bin = best.max(axis=1)
        top = of_bin.max(axis=1)
        state.still_in = of_bin >= (top - needed)[:, np.newaxis]
        # The proof takes time, and hardly succeeds while another depth of this coarse grid comes near: first by bins.
        due = np.flatnonzero(state.cycles >= state.next_try)
        far = of_bin[due]
        around = ceil(self.tolerance) + 1
        near = np.clip(far.argmax(axis=1)[:, np.newaxis] + np.arange(-around, around + 1), 0, bins - 1)
        np.put_along_axis(far, near, -np.inf, axis=1)
        due = due[top[due] - far.max(axis=1) >= needed + PRICE]
        middle = np.arange(bins) + self.model.phases[:, np.newaxis]
        found = middle.reshape(-1)[best[due].reshape(due.size, middle.size).argmax(axis=1)]
        step = 1 / self.model.phases.size
        away = np.abs(middle - found[:, np.newaxis, np.newaxis]) > max(self.tolerance - step / 2, step)
        rival = np.where(away, best[due], -np.inf).max(axis=(1, 2))
        promising = due[top[due] - rival >= needed + PRICE]
        if promising.size:
            samples, successes = state.samples[promising], state.successes[promising]
            level, log_prior = state.level[promising], state.log_prior[promising]
            depth = self.model.estimate(samples, successes, level, log_prior)
            state.arm[promising] = np.clip(np.floor(depth), 0, bins - 1)
            expected = self.expected(state).take(promising)
            certain, times = self.certificate.attempt(samples, successes, depth, needed, expected)
            self._doubt_two_returns(certain, samples, successes, depth, expected)
            state.certain[promising] = certain
            state.stopped |= state.certain
            wait = np.clip(times, SOONEST, LATEST)
            state.next_try[promising] = np.ceil(wait * state.cycles[promising]).astype(np.int64)


PRICE = 5.0
"""What M, a mean, is below the best by, in nats, at least: less is not worth trying."""
