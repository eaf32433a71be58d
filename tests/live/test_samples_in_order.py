"""Estimates are of plays before the first that is out: quick answers come first, and slow ones are mostly failures."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.intervals import anytime_interval
from linkedbandits.linkage import LINKAGES
from tests.support.every_policy import EVERY_POLICY, of_as_many_arms, policy_id, some_linkage

MEANS = [0.3, 0.5, 0.4, 0.2]


def expected(
    exp: lb.Experiment, told: dict[int, tuple[tuple[int, ...], int | None]], late: set[int]
) -> list[list[int]]:
    """By hand: plays by id up to the first that is neither told nor given up, and those told late."""
    counts = [[0, 0] for _ in exp.arms]
    out = [play for play in range(len(exp.answers)) if play not in told]
    for play, (tried, hit) in told.items():
        if play < min(out, default=len(exp.answers)) or play in late:
            for arm in tried[:1] if exp.only_first_tries else tried:
                counts[arm][0] += 1
                counts[arm][1] += arm == hit
                if arm == hit:
                    break
    return counts


@pytest.mark.parametrize("whole_chains", [False, True])
@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_estimates_are_a_count_by_hand(policy, whole_chains):
    """With answers in any order, a play that stays out, and one that is told late; also after a restore."""
    means = of_as_many_arms(MEANS, policy)
    for linkage in [some_linkage(policy), *(["single"] if LINKAGES["single"].allows(policy.asks) else [])]:
        exp = lb.Experiment(range(len(means)), policy, linkage=linkage, parallel=12, whole_chains=whole_chains)
        rng, out, told, late = np.random.default_rng(4), [], {}, set()
        for step in range(150):
            while not exp.done and len(out) < 10 and exp.plays + exp.in_flight < (policy.goal.budget or 10**9):
                out.append(exp.ask())
            if not out:
                break
            play = out.pop(int(rng.integers(1 if step < 60 else 0, len(out)))) if len(out) > 1 else out.pop()
            order = play.arms + play.rest
            hit = next((arm for arm in order if rng.random() < means[arm]), None)
            counts = order if exp._rest_counts else play.arms
            if step % 25 == 7:
                exp.abandon(play.id)
                late.add(play.id)
            exp.tell(play.id, hit)
            told[play.id] = (counts, hit)
            if step % 10 == 0:
                seen = [[each.samples, each.successes] for each in exp.estimates()]
                assert seen == expected(exp, told, late)
                again = lb.Experiment.restore(json.loads(json.dumps(exp.snapshot())), exp.answers)
                assert again.estimates() == exp.estimates()


def test_slow_failures_spoil_no_estimate_and_no_limit():
    """A thousand plays are out, and the failures among them are slow: nothing is told of what is behind the first."""
    exp = lb.Experiment("ab", lb.LinkedElimination(1e-9), linkage="single", parallel=4000)
    rng = np.random.default_rng(1)
    plays = [exp.ask() for _ in range(1000)]
    works = (rng.random(1000) < 0.8).tolist()
    for play, worked in zip(plays, works, strict=True):
        if worked:
            exp.tell(play.id, play.arms[0])
    for each in exp.estimates():
        low, high = anytime_interval(each.successes, each.samples, 0.05)
        assert each.samples < 20
        assert low < 0.8 < high
    for play, worked in zip(plays, works, strict=True):
        if not worked:
            exp.tell(play.id, None)
    assert sum(each.samples for each in exp.estimates()) == 1000
