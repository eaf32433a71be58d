"""LinkedLead: the lead is just large enough, the line that runs keeps the guarantee, and what is told is checked."""

from __future__ import annotations

import itertools
from collections import defaultdict
from math import comb, inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import Counts
from linkedbandits.policies import make_policy
from linkedbandits.policies.linked_lead import LeadInSuccesses, LeadState

TRIALS = 1500
FALSE_ALARM = 1e-6


def not_above(wrong, trials, share):
    """Would so many wrong answers, or more, be unbelievable if the chance of one were ``share``?"""
    return binom.sf(wrong - 1, trials, share) > FALSE_ALARM


@given(st.floats(1e-12, 0.6), st.floats(1.001, 50.0), st.integers(2, 500))
def test_the_lead_is_the_least_that_will_do(delta, theta, arms):
    lead = LeadInSuccesses(delta, theta).lead(arms)

    def wrong(lead):
        return -np.expm1((arms - 1) * np.log1p(-(theta**-lead)))

    assert lead >= 1
    assert wrong(float(lead)) <= delta
    if lead > 1:
        assert wrong(lead - 1.0) > delta * (1 - 1e-6)


def after_a_block(rule, means, behind, still_in):
    """All that one block can bring, with its chance, as the state that ``observe`` leaves."""
    arms = len(means)
    step = rule.lead(arms) - max(b for b, kept in zip(behind, still_in, strict=True) if kept)
    for won in itertools.product(*(range(step + 1) if kept else (0,) for kept in still_in)):
        chance = 1.0
        for x, mean, kept in zip(won, means, still_in, strict=True):
            chance *= comb(step, x) * mean**x * (1 - mean) ** (step - x) if kept else 1.0
        state = LeadState(
            still_in=np.array([still_in]),
            stopped=np.array([False]),
            arm=np.array([0]),
            samples=np.zeros((1, arms), dtype=np.int64),
            successes=-np.array([behind]),
            step=np.array([step]),
        )
        rule.observe(state, Counts(np.array([still_in]) * step, np.array([won])))
        yield chance, state


def ends_of_all_runs(rule, means):
    """The exact chance of each answer, from the chain of all states that ``observe`` can come to."""
    arms = len(means)
    states = [((0,) * arms, (True,) * arms)]
    numbers = {states[0]: 0}
    moves, answers = [], []
    for behind, still_in in states:  # grows as it is read
        onward, ends = defaultdict(float), np.zeros(arms)
        for chance, state in after_a_block(rule, means, behind, still_in):
            if state.stopped[0]:
                ends[state.arm[0]] += chance
                continue
            now = (state.successes.max() - state.successes[0]) * state.still_in[0]
            key = tuple(now.tolist()), tuple(state.still_in[0].tolist())
            if key not in numbers:
                numbers[key] = len(states)
                states.append(key)
            onward[numbers[key]] += chance
        moves.append(onward)
        answers.append(ends)
    stays = np.eye(len(states))
    for number, onward in enumerate(moves):
        for to, chance in onward.items():
            stays[number, to] -= chance
    return np.linalg.solve(stays, np.array(answers))[0]


@pytest.mark.parametrize(
    ("means", "theta", "delta"),
    [
        ((0.5, 1 / 3), 2.0, 0.2),
        ((0.75, 0.5, 0.5), 3.0, 0.15),
        ((0.5, 0.2, 0.25), 3.0, 0.1),
        ((0.02, 0.01, 0.01), 0.02 * 0.99 / (0.98 * 0.01), 0.3),
        ((0.9, 0.75, 0.75, 0.75), 3.0, 0.25),
    ],
)
def test_the_chance_to_be_wrong_is_exactly_what_was_proved_or_less(means, theta, delta):
    """By enumeration, in the hardest case: all others just as far behind as was told."""
    rule = LeadInSuccesses(delta, theta)
    answers = ends_of_all_runs(rule, means)
    proved = 1 - (1 - theta ** -rule.lead(len(means))) ** (len(means) - 1)
    assert answers.sum() == pytest.approx(1, abs=1e-8)
    assert 1 - answers[0] <= proved <= delta
    assert 1 - answers[0] > proved / 4  # the proof gives little away
    shorter = ends_of_all_runs(_OneLess(delta, theta), means)
    assert 1 - shorter[0] > 1 - answers[0]


class _OneLess(LeadInSuccesses):
    def lead(self, arms):
        return max(1, super().lead(arms) - 1)


HARDEST = {
    "a rare success": ([0.002, 0.001, 0.001], {"odds_ratio": 2.0}),
    "near one": ([0.995, 0.99, 0.99, 0.99], {"odds_ratio": 2.0}),
    "a lift": ([0.3, 0.25, 0.25, 0.25], {"lift": 0.2}),
    "a gap": ([0.4, 0.3, 0.3, 0.3], {"gap": 0.1}),
    "a gap of rare successes": ([0.06, 0.01, 0.01, 0.01, 0.01], {"gap": 0.05}),
    "a gap below one": ([1.0, 0.9, 0.9], {"gap": 0.1}),
    "one in ten thousand million": ([2e-10, 1e-10], {"odds_ratio": 2.0}),
}


@pytest.mark.parametrize("case", HARDEST)
def test_it_is_wrong_at_most_as_often_as_it_says(case):
    means, told = HARDEST[case]
    runs = lb.simulate(means, lb.LinkedLead(0.1, **told), trials=TRIALS, seed=3)
    assert runs.confident.all()
    assert not_above(int((~runs.correct).sum()), TRIALS, 0.1)


@pytest.mark.parametrize("linkage", LINKAGES)
@pytest.mark.parametrize("told", [{"odds_ratio": 2.0}, {"gap": 0.17}], ids=str)
def test_it_runs_under_every_linkage(told, linkage):
    runs = lb.simulate([0.5, 1 / 3, 1 / 3], lb.LinkedLead(0.1, **told), linkage=linkage, trials=500, seed=3)
    assert runs.confident.all()
    assert not_above(int((~runs.correct).sum()), 500, 0.1)


@pytest.mark.parametrize("told", [{"odds_ratio": 3.0}, {"lift": 1.0}, {"gap": 0.2}], ids=str)
@pytest.mark.parametrize("means", [[0.3, 0.3, 0.3], [0.3, 0.29], [0.6, 0.55, 0.5, 0.5]], ids=str)
def test_runs_end_where_the_difference_is_smaller_than_told(means, told):
    runs = lb.simulate(means, lb.LinkedLead(0.1, **told), trials=500, seed=1)
    assert runs.confident.all()
    assert runs.plays.max() < 5000


@pytest.mark.parametrize("means", [[0.0, 0.0], [1.0, 1.0]], ids=str)
def test_where_nothing_tells_arms_apart_the_plays_run_out(means):
    for limit in (1000, 10**7):
        runs = lb.simulate(means, lb.LinkedLead(0.1, odds_ratio=2.0), trials=2, max_plays=limit)
        assert not runs.confident.any()
        assert (runs.plays == limit).all()


def play_all(exp, means, rng, limit=20_000):
    while not exp.done and exp.plays < limit:
        play = exp.ask()
        exp.tell(play.id, next((arm for arm in play.arms if rng.random() < means[arm]), None))
    return exp.recommend()


@pytest.mark.parametrize("told", [{"odds_ratio": 4.0}, {"lift": 2.0}, {"gap": 0.4}], ids=str)
def test_a_verdict_says_when_what_was_seen_contradicts_what_was_told(told):
    rng = np.random.default_rng(5)
    said = [
        play_all(lb.Experiment(range(4), lb.LinkedLead(1e-6, **told)), [0.5, 0.5, 0.5, 0.5], rng).contradicted
        for _ in range(12)
    ]
    assert said.count(("told difference",)) > 8
    true = [
        play_all(lb.Experiment(range(4), lb.LinkedLead(1e-6, **told)), [0.9, 0.3, 0.3, 0.3], rng) for _ in range(12)
    ]
    assert all(verdict.contradicted == () for verdict in true)
    assert {verdict.arm for verdict in true} == {0}
    assert "contradicted" not in repr(true[0])


def test_what_is_contradicted_is_seen_in_the_verdict():
    verdict = lb.Verdict(0, "confident", 10, 0.1, assumes=("told difference",), contradicted=("told difference",))
    assert repr(verdict) == (
        "Verdict(arm=0, status='confident', plays=10, error_bound=0.1, assumes=('told difference',), "
        "contradicted=('told difference',))"
    )


@pytest.mark.parametrize("told", [{"odds_ratio": 4.0}, {"gap": 0.4}], ids=str)
def test_what_leads_before_the_end_is_not_contradicted_either_whichever_arm_it_is(told):
    rng, exp = np.random.default_rng(7), lb.Experiment(range(4), lb.LinkedLead(1e-120, **told))
    for _ in range(400):
        play = exp.ask()
        exp.tell(play.id, next((arm for arm in play.arms if rng.random() < [0.3, 0.3, 0.9, 0.3][arm]), None))
    verdict = exp.recommend()
    assert (exp.done, verdict.arm, verdict.contradicted) == (False, 2, ())
    assert lb.Experiment(range(3), lb.LinkedLead(0.1, odds_ratio=1e6)).recommend().contradicted == ()


def test_a_contradiction_is_rarely_seen_where_there_is_none():
    """At the hardest instance, told just what is so; 3 standard errors would be wrong 0.13 % of the time."""
    for means, told in (([0.5, 1 / 3, 1 / 3], {"odds_ratio": 2.0}), ([0.4, 0.3, 0.3], {"gap": 0.1})):
        policy = lb.LinkedLead(0.1, **told)
        state = policy.start(2000, 3, np.zeros(2000, dtype=np.uint64))
        rng = np.random.default_rng(1)
        wrongly = np.zeros(2000, dtype=bool)
        for _ in range(400):
            needs = policy.request(state).samples
            policy.observe(state, Counts(needs, rng.binomial(needs, means)))
            wrongly |= state.stopped & policy.contradicted(state, state.arm)
            if state.stopped.all():
                break
            state.stopped[:] = False
        assert wrongly.mean() < 0.02


def test_what_is_told_is_assumed_and_said():
    exp = lb.Experiment("ab", lb.LinkedLead(0.1, lift=0.25))
    assert exp.recommend().assumes == ("independent options", "told difference")
    assert exp.assumptions[1].condition == "the odds of the best option are at least 1.25 times those of every other"
    assert "linked-elimination" in exp.assumptions[1].remedy
    alone = lb.Experiment("ab", lb.LinkedLead(0.1, gap=0.25), linkage="single")
    assert [each.condition for each in alone.assumptions] == [
        "the best option is ahead of every other by at least 0.25"
    ]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, "told no difference; say exactly one of odds_ratio"),
        ({"gap": 0.1, "lift": 0.2}, "told lift=0.2 and gap=0.1; say exactly one"),
        ({"odds_ratio": 1.0}, "odds_ratio=1.0 is no ratio above 1; give one such as 2.0"),
        ({"odds_ratio": 0.5}, "odds_ratio=0.5 is no ratio above 1"),
        ({"odds_ratio": inf}, "odds_ratio=inf is no ratio"),
        ({"odds_ratio": nan}, "odds_ratio=nan is not positive"),
        ({"odds_ratio": -2.0}, "odds_ratio=-2.0 is not positive"),
        ({"lift": 0.0}, "lift=0.0 is not positive"),
        ({"lift": 1e-17}, "lift=1e-17 is no difference"),
        ({"lift": inf}, "lift=inf is no difference"),
        ({"gap": 0.0}, "gap=0.0 is not positive"),
        ({"gap": 1.0}, "gap=1.0 is not below 1"),
        ({"gap": True}, "gap=True is not positive"),
        ({"gap": 0.1, "k": 2}, "k=2: LinkedLead finds the one best option; for the k best use linked-elimination"),
    ],
    ids=str,
)
def test_a_difference_that_is_none_is_refused(told, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.LinkedLead(0.1, **told)


def test_the_k_best_are_refused_by_name_too():
    with pytest.raises(lb.InvalidParameter, match=r"linked-lead has no parameter 'k'.* linked-elimination:k=2"):
        make_policy("linked-lead", {"delta": 0.1, "gap": 0.1, "k": 2})


def test_a_told_difference_saves_plays():
    means = lb.scenarios.one_sparse(10)
    plays = {
        name: lb.simulate(means, policy, trials=400, seed=2).plays.mean()
        for name, policy in {
            "odds": lb.LinkedLead(0.1, odds_ratio=2.11),
            "gap": lb.LinkedLead(0.1, gap=0.05),
            "nothing": lb.LinkedElimination(0.1),
        }.items()
    }
    assert plays["odds"] < 0.3 * plays["nothing"]
    assert plays["gap"] < 0.4 * plays["nothing"]


def test_evidence_is_one_over_delta_where_an_arm_is_dropped():
    rule = LeadInSuccesses(0.1, 2.0)
    state = rule.start(1, 2, np.zeros(1, dtype=np.uint64))
    assert state.step.tolist() == [rule.lead(2)] == [4]
    rule.observe(state, Counts(np.array([[4, 4]]), np.array([[4, 1]])))
    assert state.still_in.tolist() == [[True, True]]
    assert state.step.tolist() == [1]
    assert rule.log10_evidence(state)[0].tolist() == pytest.approx([1 - 4 * np.log10(2), 1 - np.log10(2)])
    rule.observe(state, Counts(np.array([[1, 1]]), np.array([[1, 0]])))
    assert state.stopped.tolist() == [True]
    assert state.arm.tolist() == [0]
    assert rule.log10_evidence(state)[0, 1] == pytest.approx(1)
    state.successes[0, 0] += 50
    assert rule.log10_evidence(state)[0, 1] == pytest.approx(1)
