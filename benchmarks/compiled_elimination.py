"""A prototype: LinkedElimination for one best of ten arms or more, lane by lane in machine code.

It draws with numpy from the same streams, so its runs are those of the policy. It is here to show what machine code
would gain (``compiled_simulation``), and is no part of the library.
"""

from __future__ import annotations

from math import ceil, exp, inf, log, log1p, sqrt
from time import process_time
from typing import NamedTuple

import numpy as np
from numba import njit

from linkedbandits.policies.linked_elimination import _LEAST_BELOW_1 as LEAST_BELOW_1
from linkedbandits.policies.linked_elimination import _MARGIN as MARGIN
from linkedbandits.policies.linked_elimination import _MOST_EVIDENCE as MOST_EVIDENCE
from linkedbandits.policies.linked_elimination import _MOST_FAVOUR as MOST_FAVOUR
from linkedbandits.policies.linked_elimination import (
    EARLY_BLOCKS,
    FIRST_SUCCESSES,
    GROWTH,
    LOOKS,
    MANY_ARMS,
    NEAR,
    PRIOR,
    PRIOR_ARMS,
    RATIO_ROUNDS,
    RATIOS,
    RECALL,
    WIDE,
)
from linkedbandits.simulation import _ARRAYS_PER_CELL, WORKING_MEMORY
from linkedbandits.stopping.evidence import _MOST_CAPITAL as MOST_CAPITAL
from linkedbandits.stopping.evidence import _MOST_LOG_FACTOR as MOST_LOG_FACTOR
from linkedbandits.stopping.evidence import _ROUNDING as ROUNDING
from linkedbandits.stopping.evidence import RESERVE
from linkedbandits.streams import LaneStreams, block_lanes

NEAR_SHRINK, NEAR_SCALE = NEAR / (1 + NEAR), sqrt(1 + NEAR)


class Lanes(NamedTuple):
    """The state of all lanes that still run, as in ``RaceState``."""

    needs: np.ndarray
    plays: np.ndarray
    samples: np.ndarray
    successes: np.ndarray
    seen_samples: np.ndarray
    seen_successes: np.ndarray
    prediction: np.ndarray
    plain: np.ndarray
    shrunken: np.ndarray
    mixture: np.ndarray
    favour: np.ndarray
    still_in: np.ndarray
    recalled: np.ndarray
    leader: np.ndarray
    level: np.ndarray
    step: np.ndarray
    ratio: np.ndarray
    own: np.ndarray
    rival: np.ndarray
    sure: np.ndarray
    capital: np.ndarray
    stopped: np.ndarray
    arm: np.ndarray

    @classmethod
    def open(cls, lanes: int, arms: int) -> Lanes:
        def cells(value=0.0):
            return np.full((lanes, arms), value)

        whole = np.zeros(lanes, dtype=np.int64)
        return cls(
            needs=np.ones((lanes, arms), dtype=np.int64),
            plays=whole.copy(),
            samples=cells(),
            successes=cells(),
            seen_samples=cells(),
            seen_successes=cells(),
            prediction=cells(0.5),
            plain=cells(0.5),
            shrunken=cells(0.5),
            mixture=np.tile(PRIOR, (lanes, 1)),
            favour=np.zeros(lanes),
            still_in=np.ones((lanes, arms), dtype=np.bool_),
            recalled=np.zeros((lanes, arms), dtype=np.bool_),
            leader=whole.copy(),
            level=np.zeros(lanes),
            step=np.ones(lanes),
            ratio=np.ones(lanes),
            own=cells(),
            rival=cells(),
            sure=cells(),
            capital=cells(),
            stopped=np.zeros(lanes, dtype=np.bool_),
            arm=whole.copy(),
        )

    def keep(self, positions: np.ndarray) -> Lanes:
        return Lanes(*(array.take(positions, axis=0) for array in self))


@njit
def divergence(p, q):
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


@njit
def guarded_divergences(rival, rival_samples, leader, leader_samples):
    noise = max(rival * (1 - rival), 1e-4) / (rival_samples + 1)
    noise += max(leader * (1 - leader), 1e-4) / (leader_samples + 1)
    gap = sqrt((leader - rival) ** 2 + noise)
    low = min(max(leader - gap, 0.5 * min(rival, leader), 1e-6), 1 - 2e-6)
    high = min(max(leader, low + 1e-6), 1 - 1e-6)
    return divergence(high, low), divergence(low, high)


@njit
def settle(lane, block, won, of, enough):
    """Pay out the bets of the block, and drop what they refute. Was anything?"""
    all_capital = of.capital[lane]
    all_own = of.own[lane]
    all_rival = of.rival[lane]
    all_sure = of.sure[lane]
    all_still_in = of.still_in[lane]
    leader = of.leader[lane]
    leader_won = float(won[lane, leader])
    kept = RESERVE / (RESERVE + block)
    entering = RESERVE / (RESERVE + block - 1) - kept
    dropped = False
    for arm in range(won.shape[1]):
        capital = all_capital[arm] + entering
        if all_own[arm] != 0.0:
            log_factor = all_own[arm] * won[lane, arm]
            log_factor += all_rival[arm] * leader_won
            log_factor += all_sure[arm]
            capital = min(capital, MOST_CAPITAL) * exp(min(log_factor, MOST_LOG_FACTOR))
            if capital + kept >= enough:
                all_still_in[arm] = False
                dropped = True
        all_capital[arm] = capital
    return dropped


@njit
def predict(lane, of):
    """Weigh the shrunken means against the plain ones, by how likely each has made what came since."""
    all_successes = of.successes[lane]
    all_seen_successes = of.seen_successes[lane]
    all_samples = of.samples[lane]
    all_seen_samples = of.seen_samples[lane]
    all_plain = of.plain[lane]
    all_shrunken = of.shrunken[lane]
    all_still_in = of.still_in[lane]
    all_prediction = of.prediction[lane]
    all_mixture = of.mixture[lane]
    arms = of.samples.shape[1]
    leader = of.leader[lane]
    of_hits = of_misses = hits = tries = pooled = 0.0
    for arm in range(arms):
        came = all_successes[arm] - all_seen_successes[arm]
        missed = all_samples[arm] - all_seen_samples[arm] - came
        if came != 0.0:
            of_hits += came * log(all_plain[arm] / all_shrunken[arm])
        if missed != 0.0:
            of_misses += missed * log((1 - all_plain[arm]) / (1 - all_shrunken[arm]))
        all_seen_samples[arm] = all_samples[arm]
        all_seen_successes[arm] = all_successes[arm]
        if all_still_in[arm] and arm != leader:
            hits += all_successes[arm]
            tries += all_samples[arm]
            pooled += 1.0
    of.favour[lane] += of_hits
    of.favour[lane] += of_misses
    trust = 1 / (1 + exp(-min(max(of.favour[lane], -MOST_FAVOUR), MOST_FAVOUR)))
    centre = (hits + 0.5) / (tries + 1.0)
    spread = centre * (1 - centre)
    per_spread = 0.5 / spread
    spike, of_near, of_wide = all_mixture
    of_near /= NEAR_SCALE
    spike_share = near_share = wide_share = 0.0
    for arm in range(arms):
        seen = all_samples[arm] + 1.0
        plain = (all_successes[arm] + centre) / seen
        offset = plain - centre
        evidence = min(offset * offset * seen * per_spread, MOST_EVIDENCE)
        near = exp(evidence * NEAR_SHRINK) * of_near
        keep = 1.0 / (all_samples[arm] * (WIDE * spread) + 1.0)
        wide = sqrt(keep)
        keep = 1.0 - keep
        wide = wide * exp(evidence * keep) * of_wide
        total = 1.0 / (near + wide + spike)
        if all_still_in[arm] and arm != leader:
            spike_share += total
            near_share += near * total
            wide_share += wide * total
        shrunken = offset * ((keep * wide + near * NEAR_SHRINK) * total) + centre
        lowest = MARGIN / seen
        highest = 1 - max(lowest, LEAST_BELOW_1)
        plain = min(max(plain, lowest), highest)
        shrunken = min(max(shrunken, lowest), highest)
        all_plain[arm] = plain
        all_shrunken[arm] = shrunken
        all_prediction[arm] = shrunken + trust * (plain - shrunken)
    shares = (spike * spike_share, near_share, wide_share)
    for part in range(3):
        all_mixture[part] = (shares[part] + PRIOR_ARMS * PRIOR[part]) / (pooled + PRIOR_ARMS)


@njit
def price(lane, of, of_leader):
    """The plays of one sample of every rival and so many of the leader, in the ordered linkage."""
    all_still_in = of.still_in[lane]
    all_recalled = of.recalled[lane]
    all_prediction = of.prediction[lane]
    ended = most = 0.0
    for arm in range(of.samples.shape[1]):
        of_rival = 1.0 if all_still_in[arm] or all_recalled[arm] else 0.0
        asked = of_leader if arm == of.leader[lane] else of_rival
        most = max(most, asked + ended)
        ended += all_prediction[arm] * asked
    return most


@njit
def place_bet(lane, arm, of, samples, leader_samples):
    all_prediction = of.prediction[lane]
    all_own = of.own[lane]
    all_rival = of.rival[lane]
    all_sure = of.sure[lane]
    leader_prediction = of.prediction[lane, of.leader[lane]]
    prediction = all_prediction[arm]
    up = (leader_prediction - prediction) / (samples + leader_samples)
    down = up * leader_samples
    up *= samples
    null = prediction + down
    fail = log1p(down / (1 - null))
    leader_fail = log1p(-up / (1 - null))
    own = log1p(down / -null) - fail
    rival = log1p(up / null) - leader_fail
    all_own[arm] = own
    all_rival[arm] = rival
    rounding = ((fail - own) * samples + (rival - leader_fail) * leader_samples) * ROUNDING
    all_sure[arm] = samples * fail + leader_samples * leader_fail - rounding


@njit
def plan(lane, block, of):
    """Predict, find the leader, and fix needs and bets from what is known now."""
    all_prediction = of.prediction[lane]
    all_recalled = of.recalled[lane]
    all_still_in = of.still_in[lane]
    all_samples = of.samples[lane]
    all_successes = of.successes[lane]
    all_own = of.own[lane]
    all_needs = of.needs[lane]
    predict(lane, of)
    arms = of.samples.shape[1]
    leader = int(all_prediction.argmax())
    of.leader[lane] = leader
    bar = all_prediction[leader]
    level = of.level[lane]
    leading = False  # is a rival still in? then the leader is asked, too
    hardest = -1
    for arm in range(arms):
        all_recalled[arm] = False
        if not all_still_in[arm]:
            samples = all_samples[arm]
            mean = min((all_successes[arm] + 0.5) / (samples + 1.0), bar)
            patience = RECALL * log(max(level / samples, 1.0))
            all_recalled[arm] = samples * divergence(mean, bar) < patience
        if arm != leader:
            leading |= all_still_in[arm]
            if all_still_in[arm] or all_recalled[arm]:
                higher = hardest < 0 or all_prediction[arm] > all_prediction[hardest]
                hardest = arm if higher else hardest
    step = max(1.0, GROWTH * level, min(FIRST_SUCCESSES / bar, level / 4))
    of.step[lane] = step
    if block < EARLY_BLOCKS or block % (RATIO_ROUNDS * LOOKS) == 0:
        rival, ahead = max(hardest, 0), leader if leading else 0
        towards, back = guarded_divergences(
            all_prediction[rival], all_samples[rival], all_prediction[ahead], all_samples[ahead]
        )
        least = inf
        for candidate in RATIOS:
            cost = price(lane, of, candidate if leading else 0.0) * (1 / (candidate * towards) + 1 / back)
            if cost < least:
                least = cost
                of.ratio[lane] = candidate
    of_leader = ceil(of.ratio[lane] * step) if leading else 0
    of_rival = ceil(step)
    for arm in range(arms):
        all_own[arm] = 0.0
        if arm == leader:
            all_needs[arm] = of_leader
        elif all_still_in[arm] or all_recalled[arm]:
            all_needs[arm] = of_rival
            if of_leader > 0 and all_prediction[arm] < bar:
                place_bet(lane, arm, of, float(of_rival), float(of_leader))
        else:
            all_needs[arm] = 0


@njit
def answer(lane, of):
    """Ask no more for what was just dropped; stop where one arm is left."""
    all_still_in = of.still_in[lane]
    all_recalled = of.recalled[lane]
    all_needs = of.needs[lane]
    all_own = of.own[lane]
    left = 0
    for arm in range(of.samples.shape[1]):
        left += all_still_in[arm]
        if not (all_still_in[arm] or all_recalled[arm] or arm == of.leader[lane]):
            all_needs[arm] = 0
            all_own[arm] = 0.0
    if left <= 1:
        of.stopped[lane] = True
        of.arm[lane] = (of.prediction[lane] + 2.0 * all_still_in).argmax()


@njit
def observe(block, won, of, enough):
    """Take in the block's successes in every lane."""
    for lane in range(won.shape[0]):
        dropped = block > 1 and settle(lane, block - 1, won, of, enough)
        ended = most = 0
        for arm in range(won.shape[1]):
            most = max(most, ended + of.needs[lane, arm])
            ended += won[lane, arm]
            of.samples[lane, arm] += of.needs[lane, arm]
            of.successes[lane, arm] += won[lane, arm]
        of.plays[lane] += most
        of.level[lane] += of.step[lane]
        if dropped:
            answer(lane, of)
        if not of.stopped[lane] and (block < EARLY_BLOCKS or block % LOOKS == 0):
            plan(lane, block, of)


class Simulated(NamedTuple):
    """How every trial ended, and the seconds that the draws took."""

    arm: np.ndarray
    plays: np.ndarray
    samples: np.ndarray
    draws: float


def simulate(means: np.ndarray, delta: float, trials: int, seed: int) -> Simulated:
    """``lb.simulate(means, lb.LinkedElimination(delta), trials=trials, seed=seed)``, for ten arms or more."""
    arms = means.size
    assert arms >= MANY_ARMS
    block_size = block_lanes(arms)
    side_by_side = max(1, WORKING_MEMORY // (8 * _ARRAYS_PER_CELL * arms * block_size)) * block_size
    arm, plays = np.zeros((2, trials), dtype=np.int64)
    samples = np.zeros((trials, arms), dtype=np.int64)
    draws = 0.0
    for start in range(0, trials, side_by_side):
        lane = np.arange(start, min(start + side_by_side, trials))
        streams = LaneStreams(seed, arms, range(start, start + lane.size))
        of = Lanes.open(lane.size, arms)
        block = 0
        while lane.size:
            block += 1
            began = process_time()
            won = streams.binomial(of.needs, np.broadcast_to(means, of.needs.shape))
            draws += process_time() - began
            observe(block, won, of, 1 / delta)
            if of.stopped.any():
                done, going_on = np.flatnonzero(of.stopped), np.flatnonzero(~of.stopped)
                rows = lane[done]
                arm[rows], plays[rows], samples[rows] = of.arm[done], of.plays[done], of.samples[done]
                of, lane = of.keep(going_on), lane[going_on]
                streams.keep(going_on)
    return Simulated(arm, plays, samples, draws)
