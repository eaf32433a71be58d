"""Live and simulated are the same experiment: equal in distribution, for every policy and linkage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import fisher_exact, ks_2samp

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.testing import ReplayedRequests, ReplayedRewards
from tests.support.brute_force import play
from tests.support.coin_flips import run_live

ALARM = 1e-4
"""False-alarm probability of each comparison; at most 1 % for all of them together."""

MEANS = [0.1, 0.75, 0.15]
MOST_PLAYS = 3000
"""Ends the rare very long run, live and simulated alike."""

CASES = [
    lb.MaximalSampling(plays=12),
    lb.UniformSampling(samples=10),
    lb.MaximalSampling(delta=0.2, calibration="plain"),
    lb.UniformSampling(delta=0.2, calibration="plain"),
    lb.LilUCB(delta=0.2),
    lb.SuffixUCB(delta=0.2, calibration="plain"),
    lb.DeterministicShifting(plays=30),
    lb.WholeSequenceEGE(delta=0.5, gap=0.5),
    lb.LinkedEGE(delta=0.5, gap=0.5),
    lb.LinkedEGE(delta=0.5),
    lb.LinkedElimination(delta=0.2),
    lb.LinkedElimination(delta=0.2, k=2),
    lb.LinkedElimination(delta=0.2, epsilon=0.1),
    lb.LinkedTrackAndStop(delta=0.2),
    lb.LinkedHalving(plays=40),
    lb.MedianElimination(epsilon=1.0, delta=0.5),
]

IN_DISTRIBUTION = [
    (lb.MaximalSampling(plays=12), 300),
    (lb.UniformSampling(samples=10), 300),
    (lb.LinkedHalving(plays=40), 120),
]
"""One of each kind: on the same rewards every policy is compared play by play, so what is left to compare are the coins
that a simulation and a live experiment throw."""


def cases():
    for policy, trials in IN_DISTRIBUTION:
        for linkage in LINKAGES.values():
            if linkage.allows(policy.asks):
                yield pytest.param(policy, linkage.name, trials, id=f"{policy!r}-{linkage.name}")


def replayed_live(policy, linkage, tapes, max_plays) -> lb.Experiment:
    """One whole experiment, one play at a time, on given rewards."""
    exp = lb.Experiment(range(len(tapes)), policy, linkage=linkage, max_plays=max_plays)
    used = [0] * len(tapes)
    while not exp.done:
        asked = exp.ask()
        exp.tell(asked.id, play(asked.arms, tapes, used))
    return exp


every_policy_and_linkage = pytest.mark.parametrize(
    ("policy", "linkage"),
    [
        pytest.param(policy, linkage.name, id=f"{policy!r}-{linkage.name}")
        for policy in CASES
        for linkage in LINKAGES.values()
        if linkage.allows(policy.asks)
    ],
)


@every_policy_and_linkage
def test_on_the_same_rewards_they_are_the_same(policy, linkage):
    """Play by play or in counts: the same plays, the same samples of every arm, the same answer, at any budget."""
    for seed, most_plays in enumerate([7, 160]):
        rewards = (np.random.default_rng(seed).random((3, 4 * most_plays)).T < [0.2, 0.6, 0.4]).T.astype(int)
        exp = replayed_live(policy, linkage, rewards.tolist(), most_plays)
        world = ReplayedRewards(rewards)
        runs = lb.simulate(MEANS, policy, linkage=linkage, world=world, trials=1, max_plays=most_plays)
        verdict = exp.recommend()
        assert (verdict.plays, verdict.status == "confident") == (runs.plays[0], runs.confident[0])
        assert exp.totals()[0].tolist() == runs.samples[0].tolist()
        assert list(verdict.top or (verdict.arm,)) == runs.top[0].tolist()


@every_policy_and_linkage
def test_on_the_same_requests_they_are_the_same(policy, linkage):
    """Arms that fail together: a simulation makes the very plays of a live experiment, several at once."""
    for seed, most_plays in enumerate([7, 160]):
        hard = np.random.default_rng(seed).random((most_plays, 1))
        outcomes = (0.7 * hard + 0.3 * np.random.default_rng(seed + 9).random((most_plays, 3)) < [0.3, 0.6, 0.4]) + 0
        exp = lb.Experiment(range(3), policy, linkage=linkage, max_plays=most_plays)
        for outcome in outcomes:
            asked = exp.ask()
            exp.tell(asked.id, next((arm for arm in asked.arms if outcome[arm]), None))
            if exp.done:
                break
        world = ReplayedRequests(outcomes)
        runs = lb.simulate(MEANS, policy, linkage=linkage, world=world, trials=1, max_plays=most_plays)
        verdict = exp.recommend()
        assert (verdict.plays, verdict.status == "confident") == (runs.plays[0], runs.confident[0])
        assert exp.totals()[0].tolist() == runs.samples[0].tolist()
        assert list(verdict.top or (verdict.arm,)) == runs.top[0].tolist()


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize(("policy", "linkage", "trials"), list(cases()))
def test_plays_and_verdicts_agree(policy, linkage, trials):
    live = [run_live(MEANS, policy, linkage, seed, MOST_PLAYS).recommend() for seed in range(trials)]
    runs = lb.simulate(MEANS, policy, linkage=linkage, trials=20 * trials, seed=1, max_plays=MOST_PLAYS)
    plays = ks_2samp([verdict.plays for verdict in live], runs.plays)
    right = sum(verdict.arm == 1 for verdict in live)
    verdicts = fisher_exact([[right, trials - right], [int((runs.arm == 1).sum()), int((runs.arm != 1).sum())]])
    assert plays.pvalue > ALARM
    assert verdicts.pvalue > ALARM
    ended = sum(verdict.status == "confident" for verdict in live)
    statuses = fisher_exact([[ended, trials - ended], [int(runs.confident.sum()), int((~runs.confident).sum())]])
    assert statuses.pvalue > ALARM


@pytest.mark.statistical
@pytest.mark.slow
def test_they_agree_for_the_proved_linked_ege_whose_runs_are_long():
    """A live run of some 100,000 plays, inside the simulated range widened by its own width.

    Already without the widening, a run falls outside the range of 2,000 others with probability 2/2001, 0.1 %.
    """
    policy = lb.LinkedEGE(delta=0.9, gap=0.6, median="fresh")
    means = [0.1, 0.75]
    live = run_live(means, policy, "ordered", seed=0).recommend()
    runs = lb.simulate(means, policy, trials=2000, seed=1)
    low, high = int(runs.plays.min()), int(runs.plays.max())
    assert 2 * low - high <= live.plays <= 2 * high - low
    assert (live.arm, live.status) == (1, "confident")


@pytest.mark.statistical
@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_they_agree_where_the_budget_ends_them(linkage):
    """Cut off in the middle of a request: the same samples, the same leader."""
    policy = lb.UniformSampling(samples=30)
    means, budget, trials = [0.3, 0.6, 0.5], 40, 400
    live = [run_live(means, policy, linkage, seed, max_plays=budget) for seed in range(trials)]
    runs = lb.simulate(means, policy, linkage=linkage, trials=8000, seed=2, max_plays=budget)
    assert all(exp.recommend().plays <= budget for exp in live)
    for arm in range(3):
        samples = [exp.estimates()[arm].samples for exp in live]
        assert ks_2samp(samples, runs.samples[:, arm]).pvalue > ALARM
    named = [[sum(exp.recommend().arm == arm for exp in live), int((runs.arm == arm).sum())] for arm in (0, 1)]
    assert fisher_exact(named).pvalue > ALARM


@pytest.mark.statistical
def test_the_comparison_notices_a_different_law():
    """The power of the test above: means that differ by a tenth are told apart."""
    policy = lb.UniformSampling(samples=10)
    live = [run_live(MEANS, policy, "ordered", seed).recommend().plays for seed in range(300)]
    runs = lb.simulate([0.1, 0.65, 0.15], policy, trials=6000, seed=1)
    assert ks_2samp(live, runs.plays).pvalue < ALARM
