"""What attempts cost and take, with limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.prices import prices_of
from linkedbandits.intervals import LATE_ENOUGH, RunningMean, anytime_interval, asymptotic_mean_interval


def log_with(requests: int = 600, seed: int = 1) -> Attempts:
    """Two options in both orders; b works more often, costs four times as much and takes half as long."""
    rng = np.random.default_rng(seed)
    works = rng.random((requests, 2)) < [0.5, 0.8]
    plays = []
    for row, order in zip(works.tolist(), rng.permuted(np.tile([0, 1], (requests, 1)), axis=1).tolist(), strict=True):
        plays.append((["ab"[place] for place in order], next(("ab"[place] for place in order if row[place]), None)))
    log = Attempts.from_plays(plays, options="ab")
    cost = np.where(log.option == 0, 1.0, 4.0) * (0.5 + rng.random(len(log)))
    return replace(log, cost=cost, seconds=np.where(log.option == 0, 1.0, 0.5) * rng.exponential(1.0, len(log)))


def test_means_are_of_the_samples_with_the_limits_of_the_sequence():
    log = log_with()
    for number, found in enumerate(prices_of(log, log.first, (), 0.95)):
        chosen = log.first[log.option[log.first] == number]
        numbers = log.cost[chosen]
        assert found.cost.mean == pytest.approx(numbers.mean())
        assert not found.cost.proved
        spread = float(((numbers - numbers.mean()) ** 2).sum())
        limits = asymptotic_mean_interval(numbers.size, float(numbers.sum()), spread, 0.95)
        assert (found.cost.low, found.cost.high) == pytest.approx(limits)
        low, high = anytime_interval(int(log.success[chosen].sum()), chosen.size, 0.975)
        of_cost = asymptotic_mean_interval(numbers.size, float(numbers.sum()), spread, 0.975)
        assert found.success_per_cost.mean == pytest.approx(log.success[chosen].mean() / numbers.mean())
        assert found.success_per_cost[1:3] == pytest.approx((low / of_cost[1], high / of_cost[0]))
    every = prices_of(log, np.arange(len(log)), (), 0.95)
    assert every[0].cost.mean == pytest.approx(log.cost[log.option == 0].mean())


def test_given_costs_are_exact():
    log = log_with()
    found = prices_of(log, log.first, (2.0, 3.0), 0.95)
    assert found[1].cost == (3.0, 3.0, 3.0, True)
    chosen = log.first[log.option[log.first] == 1]
    low, high = anytime_interval(int(log.success[chosen].sum()), chosen.size)
    assert found[1].success_per_cost[1:] == (low / 3, high / 3, True)


def test_seconds_can_be_the_cost_and_under_a_deadline_their_limits_are_proved():
    log = log_with()
    found = prices_of(log, log.first, "seconds", 0.95)
    assert [each.cost for each in found] == [each.seconds for each in found]
    late = log.within(1.5)
    for number, each in enumerate(prices_of(late, late.first, "seconds", 0.95)):
        kept = RunningMean(most=1.5)
        for seconds in log.seconds[log.first][log.option[log.first] == number].tolist():
            kept.add(seconds)
        assert each.seconds.proved
        assert each.seconds[:3] == pytest.approx((kept.mean, *kept.interval()))
        assert each.cost == each.seconds


def test_what_is_not_known_is_none_and_few_have_no_limits():
    log = log_with(LATE_ENOUGH // 2)
    found = prices_of(log, log.first, (), 0.95)
    assert (found[0].cost.low, found[0].cost.high) == (None, None)
    assert found[0].success_per_cost.low is None
    bare = replace(log, cost=None, seconds=None)
    assert prices_of(bare, log.first, (), 0.95) == [(None, None, None)] * 2
    blank = replace(log, cost=np.where(log.option == 0, np.nan, log.cost))
    assert prices_of(blank, log.first, (), 0.95)[0].cost is None
    assert prices_of(blank, log.first, (), 0.95)[1].cost is not None


@pytest.mark.statistical
def test_limits_of_success_per_cost_hold():
    """60 logs, each with two options: outside in at most 5 %. More than 16 of 120 have probability below 0.001."""
    outside = 0
    for seed in range(60):
        log = log_with(300, seed)
        a, b = prices_of(log, log.first, (), 0.95)
        outside += not a.success_per_cost.low <= 0.5 <= a.success_per_cost.high
        outside += not b.success_per_cost.low <= 0.2 <= b.success_per_cost.high
    assert outside <= 16
