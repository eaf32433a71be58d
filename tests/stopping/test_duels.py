"""The factor of a block of duels, by exact enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from linkedbandits.stopping.duels import place_duel_bets

RNG = np.random.default_rng(20)
REQUESTS = list(itertools.product((0, 1), repeat=2))  # what the leader and the option would do


def some_bets(shift=0.0):
    """Predictions and numbers of plays at random, the predictions of no law in particular."""
    own, leader = np.sort(RNG.uniform(0.02, 0.98, 2))
    own_rescue, leader_rescue = np.sort(RNG.uniform(0.02, 0.98, 2))
    ahead, behind = RNG.integers(1, 4), RNG.integers(0, 4)
    leading = max(behind + RNG.integers(0, 5), 1)
    plays = (leading, ahead, behind)
    given = [tuple(np.array([float(x)]) for x in pair) for pair in ((leader, own), (leader_rescue, own_rescue), plays)]
    return plays, place_duel_bets(*given, shift=shift)


def means_of_tuples(bets, law):
    """The mean factor of one play, but for what is sure: leader first, option first, leader first and option second."""
    of = {field: float(getattr(bets, field)[0]) for field in bets.__dataclass_fields__}
    # One play each: leader first with another second; option first, leader second; leader first, option second.
    free, challenged, before = 0.0, 0.0, 0.0
    for (leader, own), weight in zip(REQUESTS, law, strict=True):
        free += weight * np.exp(of["leader_first"] * leader)
        challenged += weight * np.exp(of["own_first"] if own else of["leader_rescue"] * leader)
        hit = of["leader_first"] + of["before"]
        before += weight * np.exp(hit if leader else of["own_rescue"] * own)
    return free, challenged, before


def block_mean(bets, plays, law):
    """The mean of the factor of a whole block, for independent requests of this law."""
    leading, ahead, behind = plays
    free, challenged, before = means_of_tuples(bets, law)
    return np.exp(float(bets.sure[0])) * free ** (leading - behind) * challenged**ahead * before**behind


def laws(least_lead=0.0):
    """Joint laws under which the option is ahead of the leader by at least so much: corners, and others at random."""
    corners = [np.eye(4)[1]]  # the option alone succeeds, always
    if least_lead == 0:
        corners += [np.eye(4)[0], np.eye(4)[3], np.array([0, 0.5, 0.5, 0])]
    for neither, own, leader, both in RNG.dirichlet([0.4] * 4, 300):
        short = max(least_lead - (own - leader), 0.0)  # then weight moves to where the option alone succeeds
        take = min(short / 2, leader)
        rest = short - 2 * take
        if rest <= neither + both:
            kept = 1 - rest / max(neither + both, 1e-300)
            corners.append(np.array([neither * kept, own + take + rest, leader - take, both * kept]))
    return corners


@pytest.mark.parametrize("shift", [0.0, 0.05, 0.3])
def test_the_mean_of_a_block_is_at_most_one_whatever_depends_on_what(shift):
    highest = 0.0
    for _ in range(40):
        plays, bets = some_bets(shift)
        highest = max(highest, *(block_mean(bets, plays, law) for law in laws(shift)))
    assert 0.9 < highest <= 1 + 1e-12


def test_without_the_shift_the_same_bets_would_not_do_if_the_leader_were_ahead():
    """The enumeration has the power to fail: where the leader is better, there are means above one."""
    plays, bets = some_bets()
    assert block_mean(bets, plays, np.array([0.2, 0.0, 0.8, 0.0])) > 1.01


def test_the_orders_have_to_be_balanced_against_what_is_expected_of_them():
    """Half of the duels alone, the option never first, would refute a true claim."""
    one, half = np.array([1.0]), np.array([0.5])
    bets = place_duel_bets((half + 0.1, half - 0.1), (half + 0.2, half - 0.2), (one, one, one))
    law = np.array([0.0, 0.5, 0.5, 0.0])
    _, challenged, before = means_of_tuples(bets, law)
    sure = np.exp(float(bets.sure[0]))
    assert challenged * before * sure <= 1 + 1e-12
    assert max(challenged, before) / min(challenged, before) > 1.5


def test_near_ties_lose_nothing_to_rounding():
    plays = tuple(np.array([x]) for x in (4e12, 1e12, 1e12))
    half = np.array([0.5])
    bets = place_duel_bets((half + 1e-9, half - 1e-9), (half + 1e-9, half - 1e-9), plays)
    hits = (2e12, 0.5e12, 0.5e12, 0.25e12, 0.25e12)
    assert -1 < float(bets.log_factor(*(np.array([x]) for x in hits))[0]) < 1e-6
