"""What no policy can beat where options may depend on each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import linkedbandits as lb
from linkedbandits.bounds.divergence import kl_of_error

TABLE = lb.OutcomeTable([[1, 0]] * 30 + [[0, 1]] * 18 + [[1, 1]] * 25 + [[0, 0]] * 27)


def divergence(p, q):
    return sum(a * np.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def two_options(share, table):
    """The divergence of a play from the nearest law without a lead: pooled rates of successes first, and of rescues."""
    (one, saved, _), (two, saves, _) = table.ends([0, 1]), table.ends([1, 0])
    pooled = share * one + (1 - share) * two
    reached, turned = share * (1 - one), (1 - share) * (1 - two)
    rescued = (share * saved + (1 - share) * saves) / (reached + turned)
    first = share * divergence(one, pooled) + (1 - share) * divergence(two, pooled)
    return first + reached * divergence(saved / (1 - one), rescued) + turned * divergence(saves / (1 - two), rescued)


def test_two_options_have_a_formula():
    best = -minimize_scalar(lambda share: -two_options(share, TABLE), bounds=(0.01, 0.99), method="bounded").fun
    assert lb.bounds.lower_joint(TABLE, 0.05).plays == pytest.approx(kl_of_error(0.05) / best, rel=0.01)


def test_longer_plays_ask_for_fewer():
    kinds = lb.SharedDifficulty([0.7, 0.6, 0.5], 0.5)
    plays = [lb.bounds.lower_joint(kinds, 0.05, longest).plays for longest in (1, 2, 3)]
    assert plays[0] > plays[1] >= plays[2] * 0.995


def test_one_option_a_play_is_the_standard_bandit():
    means = [0.6, 0.5, 0.3]
    kinds = lb.SharedDifficulty(means, 0.7)
    single = lb.bounds.lower(means, 0.05, linkage="single")
    assert lb.bounds.lower_joint(kinds, 0.05, longest=1).plays == pytest.approx(single, rel=0.01)


def test_a_run_takes_more():
    bound = lb.bounds.lower_joint(TABLE, 0.05).plays
    runs = lb.simulate(
        TABLE.means, lb.LinkedDuels(0.05), linkage="free", world=TABLE.world(200, seed=1), trials=200, seed=1
    )
    assert bound < runs.plays.mean() < 4 * bound


def test_a_tie_and_a_guess():
    assert lb.bounds.lower_joint(lb.OutcomeTable([[1, 0], [0, 1]]), 0.05).plays == np.inf
    assert lb.bounds.lower_joint(TABLE, 0.5).plays == 0.0


def test_many_options_are_refused():
    with pytest.raises(lb.InvalidParameter, match="give at most 6"):
        lb.bounds.lower_joint(lb.SharedDifficulty(np.linspace(0.1, 0.8, 7), 0.2), 0.05)
