"""The rule of those told a gap: what is bet against the best arm is no winning game, on the lines that run."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.model import Counts
from linkedbandits.policies import linked_lead
from linkedbandits.policies.linked_lead import Bets, KnownGap

BEST = 1
"""Which arm is the best in all cases, ahead of all others by the gap, or more."""


def all_outcomes(step, arms):
    """The successes of every arm in a block of so many rounds: one row for each outcome."""
    return np.stack(np.meshgrid(*[np.arange(step + 1)] * arms, indexing="ij"), axis=-1).reshape(-1, arms)


def chances(outcomes, needs, means):
    """How likely each of these outcomes is, where so many samples of each arm are asked for."""
    return binom.pmf(outcomes, needs, means).prod(axis=1)


def what_is_bet_against_the_best(policy, means, blocks):
    """Its mean over all that so many blocks can bring, and the chance that the best arm is dropped.

    Every outcome is a lane. Where the best arm is dropped, 1/delta is counted: that is what it had reached, or less.
    """
    means = np.array(means)
    arms = means.size
    state = policy.start(1, arms, np.zeros(1, dtype=np.uint64))
    chance = np.ones(1)
    total = dropped = 0.0
    for _ in range(blocks):
        if not chance.size:
            break
        outcomes = all_outcomes(int(state.step.max()), arms)
        lane = np.repeat(np.arange(chance.size), len(outcomes))
        needs = policy.request(state).samples[lane]
        outcomes = np.tile(outcomes, (chance.size, 1))
        chance = chance[lane] * chances(outcomes, needs, means)
        can_be = np.flatnonzero(chance > 0)
        state, chance = state.take(lane[can_be]), chance[can_be]
        policy.observe(state, Counts(needs[can_be], outcomes[can_be]))
        over = state.stopped | ~state.still_in[:, BEST]
        total += float(chance[over] @ 10 ** policy.log10_evidence(state)[over, BEST])
        dropped += float(chance[over] @ ~state.still_in[over, BEST])
        going_on = np.flatnonzero(~over)
        state.keep(going_on)
        chance = chance[going_on]
    if chance.size:
        total += float(chance @ 10 ** policy.log10_evidence(state)[:, BEST])
    return total, dropped


HARDEST = [
    ((0.3, 0.5), 0.2, 7),
    ((0.05, 0.35, 0.05), 0.3, 5),
    ((0.6, 0.9, 0.6), 0.3, 5),
    ((0.8, 1.0, 0.8), 0.2, 5),
    ((0.0, 0.4, 0.0), 0.4, 5),
    ((0.1, 0.5, 0.4, 0.0), 0.1, 4),
]


@pytest.mark.parametrize("delta", [1e-9, 0.2, 0.6])
@pytest.mark.parametrize(("means", "gap", "blocks"), HARDEST, ids=str)
def test_the_mean_of_what_is_bet_against_the_best_arm_is_at_most_one(means, gap, blocks, delta):
    """By enumeration of all that can come; with a large delta arms are dropped, and what was on them moves on."""
    total, dropped = what_is_bet_against_the_best(KnownGap(delta, gap), means, blocks)
    assert total <= 1 + 1e-12
    assert dropped <= delta


def test_the_bets_are_not_smaller_than_need_be():
    """Where the best arm never fails, and the others are just as far behind as was told, the game is nearly fair."""
    total, _ = what_is_bet_against_the_best(KnownGap(1e-9, 0.2), (0.8, 1.0, 0.8), 5)
    assert total > 0.99


def test_bets_against_a_claim_that_was_not_told_would_win(monkeypatch):
    """The enumeration notices a mistake: here bets are made as if a larger gap had been told."""
    place = linked_lead.place_bets
    monkeypatch.setattr(linked_lead, "place_bets", lambda *given: place(*given[:-1], 1.5 * given[-1]))
    total, _ = what_is_bet_against_the_best(KnownGap(1e-9, 0.2), (0.8, 1.0, 0.8), 5)
    assert total > 1.05


def test_more_on_the_arms_left_than_was_on_those_dropped_would_win(monkeypatch):
    raised = Bets.log_raise
    monkeypatch.setattr(Bets, "log_raise", lambda bets, gone: 3 * raised(bets, gone) + 0.5)
    totals = [what_is_bet_against_the_best(KnownGap(0.6, gap), means, blocks)[0] for means, gap, blocks in HARDEST[1:]]
    assert max(totals) > 1.01


@given(st.lists(st.floats(-60, 60), min_size=2, max_size=8), st.data())
def test_what_moves_on_from_dropped_arms_is_no_more_than_was_there(worth, data):
    """Whichever arm of those left it is bet against; and nearly all of it, where one arm does not have it all."""
    arms = len(worth)
    gone = data.draw(st.sets(st.integers(0, arms - 1), min_size=1, max_size=arms - 1))
    kept = [arm for arm in range(arms) if arm not in gone]
    (factor,) = np.exp(Bets.of(np.array([worth]), np.zeros(1)).log_raise(np.array(sorted(gone))))
    on = np.exp(worth)
    assert factor >= 1
    assert on[kept].sum() * factor <= on.sum() * (1 + 1e-9)
    for arm in kept:
        others = [other for other in range(arms) if other != arm]
        assert sum(on[other] for other in kept if other != arm) * factor <= on[others].sum() * (1 + 1e-9)
    if on[kept].sum() > 1e-3 * on.sum():
        assert on[kept].sum() * factor > on.sum() * (1 - 1e-4)


@given(st.lists(st.floats(-15, 0), min_size=2, max_size=8), st.floats(-500, 500))
def test_what_is_bet_on_all_others_leaves_the_arm_itself_out(worth, raised):
    arms = len(worth)
    bets = Bets.of(np.array([worth]), np.array([raised]))
    found = bets.log_on_others(np.arange(arms))
    for arm in range(arms):
        others = sum(exp(each) for other, each in enumerate(worth) if other != arm)
        assert found[arm] == pytest.approx(log(others) + raised, abs=1e-9)
    assert bets.log_total[0] == pytest.approx(log(sum(map(exp, worth))) + raised, abs=1e-9)


@given(st.lists(st.floats(-2000, 0), min_size=2, max_size=6), st.floats(-500, 500))
def test_what_is_bet_on_all_others_is_never_taken_for_more(worth, raised):
    """However far apart they are: what is left out of a sum, or all of it, makes it smaller."""
    logs = np.array([worth])
    found = Bets.of(logs, np.array([raised])).log_on_others(np.arange(len(worth)))
    for arm, log_on_others in enumerate(found):
        assert log_on_others <= np.logaddexp.reduce(np.delete(logs[0], arm)) + raised + 1e-9


@pytest.mark.parametrize(("means", "gap", "parallel"), [((0.95, 0.15), 0.8, 1000), ((0.69, 0.99, 0.69), 0.3, 5000)])
def test_the_best_arm_stays_in_however_long_the_first_blocks_are(means, gap, parallel):
    policy = KnownGap(0.1, gap, parallel=parallel)
    state = policy.start(100, len(means), np.zeros(100, dtype=np.uint64))
    rng = np.random.default_rng(1)
    while not state.stopped.all():
        needs = policy.request(state).samples
        policy.observe(state, Counts(needs, rng.binomial(needs, means)))
    assert (~state.still_in[:, np.argmax(means)]).sum() <= 20  # at most delta; above 20 of 100 has a chance of 0.1 %


def test_more_successes_than_a_float_can_count_are_no_error():
    runs = lb.simulate([1.0, 1.0], lb.LinkedLead(0.1, gap=1e-9), trials=3, seed=1)
    assert not runs.confident.any()


def test_an_arm_on_which_next_to_nothing_is_bet_is_left_out_of_the_sum():
    bets = Bets.of(np.array([[0.0, -30.0, -1.0]]), np.zeros(1))
    assert bets.on.tolist() == [1.0, 0.0, exp(-1.0)]


def test_all_arms_that_are_in_are_asked_alike_and_blocks_grow():
    policy = KnownGap(1e-60, 0.1, parallel=7)
    state = policy.start(3, 4, np.zeros(3, dtype=np.uint64))
    rng, rounds = np.random.default_rng(1), 0
    for block in range(40):
        needs = policy.request(state).samples
        assert (needs == state.still_in * state.step[:, np.newaxis]).all()
        assert (state.step * state.left >= 7).all()
        if block > 12:
            assert (state.step >= linked_lead.GROWTH * rounds).all()
            assert (state.step <= linked_lead.MOST_GROWTH * rounds + 1).all()
        policy.observe(state, Counts(needs, rng.binomial(needs, [0.3, 0.3, 0.35, 0.3])))
        rounds = state.rounds
        assert not state.stopped.any()
    assert (state.samples == state.rounds[:, np.newaxis]).all()


@pytest.mark.parametrize(
    "means", [[0.0] * 3, [1.0] * 3, [0.3] * 12, [0.5, 0.5, 0.1], [1e-10, 0.0], [1.0, 1.0, 0.0]], ids=str
)
@pytest.mark.parametrize("gap", [0.02, 0.3, 1 - 1e-9], ids=str)
def test_every_run_ends_where_arms_tie(means, gap):
    with np.errstate(all="raise", under="ignore"):
        runs = lb.simulate(means, lb.LinkedLead(1e-3, gap=gap), trials=100, seed=1, max_plays=10**6)
    assert runs.confident.all()


def test_where_the_lead_is_larger_than_told_the_run_is_shorter():
    plays = [
        lb.simulate([0.3 + lead, 0.3, 0.3], lb.LinkedLead(0.01, gap=0.05), trials=200, seed=2).plays.mean()
        for lead in (0.05, 0.2, 0.5)
    ]
    assert plays[0] > 3 * plays[1] > 6 * plays[2]


def test_evidence_grows_to_one_over_delta_and_stays_there():
    policy = KnownGap(0.01, 0.2)
    state = policy.start(1, 3, np.zeros(1, dtype=np.uint64))
    assert policy.log10_evidence(state)[0].tolist() == pytest.approx([0, 0, 0], abs=1e-12)
    seen = []
    while not state.stopped[0]:
        needs = policy.request(state).samples
        policy.observe(state, Counts(needs, needs * [[0, 1, 0]]))
        seen.append(policy.log10_evidence(state)[0])
    assert state.arm.tolist() == [1]
    assert [row[0] for row in seen] == sorted(row[0] for row in seen)
    assert seen[-1][[0, 2]].tolist() == pytest.approx([2, 2])
    assert seen[-2][0] < 2
