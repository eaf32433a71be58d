"""What is still to come."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.live import Estimate
from linkedbandits.service import outlook
from linkedbandits.service.outlook import NOTHING_KNOWN, Outlook, Outlooks, look_ahead
from linkedbandits.service.records import Setup
from tools.waiting import SECONDS, until

DELTA = 0.05


def estimates(*means, samples=10_000):
    return [Estimate(f"arm {arm}", samples, round(mean * samples), mean, True) for arm, mean in enumerate(means)]


def setup_for(arms, **changes):
    return Setup(
        tuple(f"arm {arm}" for arm in range(arms)), {"name": "linked-elimination", "parameters": {}}, **changes
    )


def test_the_bound_and_the_estimate_are_those_of_the_present_means():
    found = look_ahead(estimates(0.1, 0.3, 0.2), lb.LinkedElimination(delta=DELTA), setup_for(3), plays=0)
    means = [(1000.5) / 10001, 3000.5 / 10001, 2000.5 / 10001]
    assert found.lower_bound == pytest.approx(lb.bounds.lower(means, DELTA))
    runs = lb.simulate(means, lb.LinkedElimination(delta=DELTA), trials=outlook.TRIALS)
    assert found.estimate_total == np.median(runs.plays)


def test_the_estimate_is_of_runs_that_go_on_as_long():
    policy = lb.LinkedElimination(delta=DELTA)
    start = look_ahead(estimates(0.1, 0.3, 0.2), policy, setup_for(3), plays=0)
    later = look_ahead(estimates(0.1, 0.3, 0.2), policy, setup_for(3), plays=int(start.estimate_total))
    never = look_ahead(estimates(0.1, 0.3, 0.2), policy, setup_for(3), plays=10**9)
    assert later.estimate_total > start.estimate_total
    assert never == Outlook(start.lower_bound, None)


def test_a_budget_ends_it_sooner():
    found = look_ahead(estimates(0.1, 0.101), lb.LinkedElimination(delta=DELTA), setup_for(2, max_plays=500), plays=10)
    assert found.estimate_total == 500


@pytest.mark.parametrize("policy", [lb.UniformSampling(samples=5), lb.LinkedHalving(plays=100)], ids=str)
def test_policies_that_use_what_they_were_given_have_no_outlook(policy):
    assert look_ahead(estimates(0.1, 0.3), policy, setup_for(2), plays=0) == NOTHING_KNOWN


@pytest.mark.parametrize("tolerance", [{"epsilon": 0.15}, {"neighbours": 1}], ids=str)
def test_a_policy_with_a_tolerance_has_an_estimate_and_no_bound(tolerance):
    """The bound is for those that name the best arm: one content with less may need fewer plays, even between ties."""
    policy = lb.LinkedElimination(delta=DELTA, **tolerance)
    found = look_ahead(estimates(0.3, 0.3, 0.1, 0.05), policy, setup_for(4), plays=0)
    assert found.lower_bound is None
    assert 10 < found.estimate_total < 5000


def test_a_policy_that_is_told_a_difference_has_an_estimate_and_no_bound():
    """The bound is for those that are told nothing, and it needs fewer plays than any of them, even between ties."""
    for means in ((0.3, 0.1), (0.3, 0.3)):
        found = look_ahead(estimates(*means), lb.LinkedLead(DELTA, gap=0.2), setup_for(2), plays=0)
        assert found.lower_bound is None
        assert 5 < found.estimate_total < 1000


def test_a_tie_has_no_outlook():
    assert look_ahead(estimates(0.3, 0.3), lb.LinkedElimination(delta=DELTA), setup_for(2), plays=0) == NOTHING_KNOWN


@pytest.mark.parametrize("policy", [lb.LinkedElimination(delta=DELTA), lb.LilUCB(delta=DELTA)], ids=str)
def test_a_simulation_that_takes_too_long_is_given_up(policy, monkeypatch):
    looks = itertools.count()
    monkeypatch.setattr(outlook, "monotonic", lambda: next(looks))
    found = look_ahead(estimates(0.1, 0.1002), policy, setup_for(2), plays=0, deadline=3)
    assert next(looks) == 5  # at every step of the simulation it was looked at once
    assert found.estimate_total is None
    assert found.lower_bound > 1000


def wait_for(outlooks, wanted, *arguments):
    until(lambda: outlooks.latest(*arguments) == wanted, f"{wanted}")


def test_outlooks_are_computed_in_the_background_and_not_all_the_time(monkeypatch):
    computed = []
    release = threading.Event()

    def look(found, policy, setup, plays, deadline):
        assert release.wait(SECONDS)
        computed.append(plays)
        return Outlook(float(plays), None)

    monkeypatch.setattr(outlook, "look_ahead", look)
    now = [0.0]
    outlooks = Outlooks(lambda: now[0])
    given = ("x1", estimates(0.1, 0.3), lb.LinkedElimination(delta=DELTA), setup_for(2))
    assert outlooks.latest(*given, 5) == NOTHING_KNOWN
    release.set()
    wait_for(outlooks, Outlook(5.0), *given, 5)
    assert outlooks.latest(*given, 6) == Outlook(5.0)  # too soon
    now[0] += 4.0
    wait_for(outlooks, Outlook(6.0), *given, 6)
    now[0] += 4.0
    outlooks.latest(*given, 6)  # nothing has changed
    outlooks.close()
    assert computed == [5, 6]


def test_with_costs_the_bound_is_that_of_most_successes_per_cost():
    costs = [1, 3, 1]
    policy = lb.LinkedElimination(delta=DELTA, costs=costs)
    found = look_ahead(estimates(0.1, 0.3, 0.2), policy, setup_for(3), plays=0)
    means = [(1000.5) / 10001, 3000.5 / 10001, 2000.5 / 10001]
    assert found.lower_bound == pytest.approx(lb.bounds.lower(means, DELTA, costs=costs))
