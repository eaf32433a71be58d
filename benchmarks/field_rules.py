"""The field's rules for the best of several Bernoulli arms, from their papers, as policies of this library.

*When is a rival refuted?* Three answers, each a function of the counts (``Refutes``): the likelihood ratio against the
usual threshold, against Kaufmann and Koolen's, and the mixture of Krichevsky and Trofimov. *Who is sampled next?*
``TopTwo`` (the EB-TCI of Jourdan, Degenne, Baudry, de Heide and Kaufmann 2022) or ``Equal`` (all that are still in).
``KLLUCB`` and ``LevinRobbins`` decide both by themselves.

A rule looks after every sample, or every round, until it has seen twice ``ONE_BY_ONE`` of them. From then on it asks
for one in ``ONE_BY_ONE`` of what it has seen before it looks again. What is proved holds for any looks, and plays grow
by about a thousandth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import ceil, e, exp, log, pi
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from linkedbandits.lidar.thompson_gating import uniform
from linkedbandits.linkage import Asks
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Needs, Status, best_arm, empirical_means
from linkedbandits.policy import Goal, LaneState, Policy, SeedArray, open_lanes

ONE_BY_ONE = 500

Refutes = Callable[[IntArray, IntArray, IntArray, float], BoolArray]
"""From samples, successes and the leader of every lane, and delta: is "as good as the leader" refuted of each arm?"""


def few(count: IntArray) -> IntArray:
    """How much to ask for before the next look."""
    return np.maximum(count // ONE_BY_ONE, 1)


# --- when a rival is refuted ---------------------------------------------------------------------------------------


def log_likelihood(samples: IntArray, successes: IntArray) -> FloatArray:
    """Of such counts, at the mean at which they are likeliest."""
    return entropy(successes) + entropy(samples - successes) - entropy(samples)


def entropy(count: IntArray) -> FloatArray:
    """k log k, which is 0 at 0."""
    return count * np.log(np.maximum(count, 1))


def of_pairs(counts: IntArray, leader: IntArray) -> IntArray:
    """What an arm and the leader of its lane have together."""
    return counts + np.take_along_axis(counts, leader[:, np.newaxis], axis=1)


def with_leader(values: FloatArray, leader: IntArray) -> FloatArray:
    """The value of an arm and that of the leader of its lane, added."""
    return values + np.take_along_axis(values, leader[:, np.newaxis], axis=1)


def transport(samples: IntArray, successes: IntArray, leader: IntArray) -> FloatArray:
    """The log likelihood ratio against "this arm is as good as the leader", which has the highest empirical mean."""
    apart = with_leader(log_likelihood(samples, successes), leader)
    return apart - log_likelihood(of_pairs(samples, leader), of_pairs(successes, leader))


def usual(samples: IntArray, successes: IntArray, leader: IntArray, delta: float) -> BoolArray:
    """The threshold log((1 + log t)/delta) of Garivier and Kaufmann's experiments (2016), without a proof."""
    threshold = np.log((1 + np.log(samples.sum(axis=1))) / delta)
    return transport(samples, successes, leader) > threshold[:, np.newaxis]


def kaufmann_koolen(samples: IntArray, successes: IntArray, leader: IntArray, delta: float) -> BoolArray:
    """Theorem 7 of Kaufmann and Koolen (2021), for each pair of the best arm and another.

    With x = log((n - 1)/delta), N d(empirical, true mean) - 3 log(1 + log N), summed over the two, ever exceeds
    2 T(x/2) with probability at most delta/(n - 1); and there are n - 1 arms that could be named in place of the best.
    """
    slow = 3 * np.log1p(np.log(samples))
    level = 2 * calibration(log((samples.shape[1] - 1) / delta) / 2)
    return transport(samples, successes, leader) > with_leader(slow, leader) + level


@cache
def calibration(x: float) -> float:
    """T(x) of Kaufmann and Koolen: 2 h~((h^-1(1 + x) + log(2 zeta(2)))/2) with z = 3/2."""
    y = (inverse_h(1 + x) + log(pi**2 / 3)) / 2
    z = 1.5
    if y < 1 / log(z) + log(log(z)):  # h(1/log z)
        return 2 * z * (y - log(log(z)))
    return 2 * exp(1 / inverse_h(y)) * inverse_h(y)


def inverse_h(y: float) -> float:
    """The u >= 1 with u - log u = y."""
    return 1.0 if y <= 1 else float(brentq(lambda u: u - log(u) - y, 1.0, 2 * y + 2, xtol=1e-13))


def krichevsky_trofimov(samples: IntArray, successes: IntArray, leader: IntArray, delta: float) -> BoolArray:
    """A mixture over means in place of the likeliest ones; at (n - 1)/delta an arm is refuted.

    Proof: if the arm is at least as good as the leader, the likeliest such pair of means is no less likely than the
    true one. So the ratio is at most that of the mixture to the truth, a martingale from 1 however arms are sampled,
    which ever reaches (n - 1)/delta with probability at most delta/(n - 1). The best arm has n - 1 rivals.
    """
    mixture = with_leader(log_mixture(samples, successes), leader)
    together = log_likelihood(of_pairs(samples, leader), of_pairs(successes, leader))
    return mixture - together >= log((samples.shape[1] - 1) / delta)


def log_mixture(samples: IntArray, successes: IntArray) -> FloatArray:
    """Log probability of such a row of coins, if their mean is drawn from Beta(1/2, 1/2)."""
    failures = samples - successes
    return gammaln(successes + 0.5) + gammaln(failures + 0.5) - gammaln(samples + 1) - log(pi)


# --- who is sampled next --------------------------------------------------------------------------------------------


@dataclass
class FieldState(LaneState):
    """Counts of every arm, what is asked for next, and the seeds of those rules that draw."""

    samples: IntArray
    successes: IntArray
    needs: IntArray
    seed: SeedArray


class FieldRule(Policy[FieldState]):
    """What the rules share: every arm once, then what ``decide`` writes into ``needs``."""

    delta: float

    asks: ClassVar[Asks] = "needs"

    @property
    def status_at_stop(self) -> Status:
        return "confident"

    @property
    def error_bound(self) -> float | None:
        return None

    @property
    def goal(self) -> Goal:
        return Goal(delta=self.delta)

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> FieldState:
        counts = np.zeros((lanes, arms), dtype=np.int64)
        return FieldState(**open_lanes(lanes, arms), samples=counts, successes=counts, needs=counts + 1, seed=seeds)

    def request(self, state: FieldState) -> Needs:
        return Needs(state.needs)

    def observe(self, state: FieldState, counts: Counts) -> None:
        state.samples = state.samples + counts.samples
        state.successes = state.successes + counts.successes
        state.arm = best_arm(empirical_means(state.samples, state.successes), state.still_in)
        self.decide(state)

    def decide(self, state: FieldState) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class TopTwo(FieldRule):
    """EB-TCI: by a fair coin the leader, or the rival that is cheapest to confuse with it.

    Of a batch each of the two gets half, and the coin decides on one that is left over.
    """

    delta: float
    refutes: Refutes

    name: ClassVar[str] = "top-two"

    def decide(self, state: FieldState) -> None:
        lanes = np.arange(state.arm.size)
        refuted = self.refutes(state.samples, state.successes, state.arm, self.delta)
        refuted[lanes, state.arm] = True
        state.stopped = refuted.all(axis=1)
        index = transport(state.samples, state.successes, state.arm) + np.log(state.samples)
        index[lanes, state.arm] = np.inf
        seen = state.samples.sum(axis=1)
        batch = few(seen)
        coin = uniform(state.seed, seen) < 0.5
        state.needs = np.zeros_like(state.samples)
        state.needs[lanes, state.arm] = (batch + coin) // 2
        state.needs[lanes, index.argmin(axis=1)] = (batch + ~coin) // 2


@dataclass(frozen=True)
class Equal(FieldRule):
    """All that are still in equally often; what the leader refutes is out."""

    delta: float
    refutes: Refutes

    name: ClassVar[str] = "equal"

    def decide(self, state: FieldState) -> None:
        refuted = self.refutes(state.samples, state.successes, state.arm, self.delta)
        refuted[np.arange(state.arm.size), state.arm] = False
        state.still_in = state.still_in & ~refuted
        state.stopped = state.still_in.sum(axis=1) == 1
        state.needs = state.still_in * few(state.samples.max(axis=1))[:, np.newaxis]


@dataclass(frozen=True)
class LevinRobbins(FieldRule):
    """Levin and Robbins (1981): all that are still in equally often; what is ``lead`` successes behind is out.

    Told that the odds of the best are at least ``odds_ratio`` times those of any other. The lead is the least with
    which it is right with probability 1 - delta, by the formula that Leu and Levin (1999) proved.
    """

    delta: float
    odds_ratio: float

    name: ClassVar[str] = "levin-robbins"

    def lead(self, arms: int) -> int:
        """The least r with theta^r/(theta^r + arms - 1) >= 1 - delta."""
        return ceil(log((arms - 1) * (1 - self.delta) / self.delta) / log(self.odds_ratio))

    def decide(self, state: FieldState) -> None:
        lead = self.lead(state.samples.shape[1])
        behind = np.where(state.still_in, state.successes, -1).max(axis=1, keepdims=True) - state.successes
        state.still_in = state.still_in & (behind < lead)
        state.stopped = state.still_in.sum(axis=1) == 1
        # Nothing can be out before this many rounds; so to look only then is to look after every round.
        sure = lead - np.where(state.still_in, behind, 0).max(axis=1)
        state.needs = state.still_in * sure[:, np.newaxis]


@dataclass(frozen=True)
class KLLUCB(FieldRule):
    """Kaufmann and Kalyanakrishnan (2013): the leader, and the rival of the highest upper confidence bound.

    It stops when the leader's lower bound is above that. The exploration rate is the one for which they prove delta.
    """

    delta: float

    name: ClassVar[str] = "kl-lucb"

    def decide(self, state: FieldState) -> None:
        lanes = np.arange(state.arm.size)
        # Every arm once, then two samples a round.
        rounds = 1 + (state.samples.sum(axis=1) - state.samples.shape[1]) // 2
        rate = self.rate(rounds, state.samples.shape[1])
        means = empirical_means(state.samples, state.successes)
        upper = upper_bound(means, rate[:, np.newaxis] / state.samples)
        upper[lanes, state.arm] = -1
        rival = upper.argmax(axis=1)
        lower = 1 - upper_bound(1 - means[lanes, state.arm], rate / state.samples[lanes, state.arm])
        state.stopped = lower > upper[lanes, rival]
        state.needs = np.zeros_like(state.samples)
        state.needs[lanes, state.arm] = state.needs[lanes, rival] = few(rounds)

    def rate(self, rounds: IntArray, arms: int) -> FloatArray:
        """log c + log log c with c = k n t^a/delta: delta is proved for k > 2e + 1 + e/(a-1) + (e+1)/(a-1)^2."""
        power = 1.1
        factor = 2 * e + 1 + e / (power - 1) + (e + 1) / (power - 1) ** 2  # 405.4
        logarithm = log(factor * (1 + 1e-9) * arms / self.delta) + power * np.log(rounds)
        return logarithm + np.log(logarithm)


def upper_bound(means: FloatArray, most: FloatArray) -> FloatArray:
    """The largest q with kl(mean, q) <= most, or a little more.

    kl is convex in q, so Newton's steps come down to it from above: however many are made, the bound is valid. They
    begin at the lowest of three bounds, from kl(p, q) >= (q - p)^2/(2 v), where v is the largest x (1 - x) of all x
    above p; kl(p, q) >= (q - p)^2/(2 q); and kl(p, q) >= p log p + (1 - p) log((1 - p)/(1 - q)), for q near 1.
    """
    sure = means >= 1 - 1e-12  # nothing is above 1
    p = np.where(sure, 0.5, means)
    own = log_likelihood_at(p, p)
    q = np.minimum(
        p + np.sqrt(2 * most * np.where(p < 0.5, 0.25, p * (1 - p))), p + most + np.sqrt(most * (most + 2 * p))
    )
    q = np.minimum(np.minimum(q, -np.expm1((own - most) / (1 - p))), 1 - 1e-12)
    for _ in range(NEWTON_STEPS):
        slope = (q - p) / (q * (1 - q))
        q = np.maximum(q - np.maximum(own - log_likelihood_at(p, q) - most, 0) / slope, p)
    return np.where(sure, 1.0, q)


NEWTON_STEPS = 6


def log_likelihood_at(p: FloatArray, q: FloatArray) -> FloatArray:
    """Of a coin of mean p, on average, where its mean is taken to be q."""
    return p * np.log(np.maximum(q, 1e-300)) + (1 - p) * np.log1p(-q)
