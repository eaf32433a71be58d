"""What evidence makes of arms: the thresholds, the capital and the guarantee, by exact enumeration.

A lane for every outcome: the policy's own `observe` runs on all of them at once, each with its probability.
"""

from __future__ import annotations

import copy
from itertools import product
from math import log

import numpy as np
import pytest
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.model import Counts
from linkedbandits.policies.linked_elimination import EARLY_BLOCKS, RaceState, _are_leaders, at_odds_ratios, predict
from linkedbandits.stopping.evidence import place_bets

ROUNDING = 1e-9


class OneOfEach(lb.LinkedElimination):
    """One sample of every arm that is asked at all: blocks with the fewest outcomes."""

    def allocate(self, state, rivals, leading):
        return (rivals | leading).astype(np.float64)


def started(policy, arms: int) -> RaceState:
    return policy.start(1, arms, np.zeros(1, dtype=np.uint64))


def observe(policy, state, successes) -> None:
    policy.observe(state, Counts(state.needs, np.asarray(successes, dtype=np.int64)))


def in_reserve(state, slowness: float = 8.0) -> float:
    """8/(8 + t) after t bets, the first block has none; 30/(30 + t) where a change of leaders can make it worthless."""
    return slowness / (slowness + int(state.block[0]) - 1)


@pytest.fixture
def on_predictions(monkeypatch):
    """All capital is bet on the predictions, as it is where there are many arms."""
    monkeypatch.setattr("linkedbandits.policies.linked_elimination.shares_of_capital", lambda arms: np.ones(1))


def branch(policy, state, means):
    """Replace every lane by a lane for each outcome of its block, and observe. Returns (parent lane, probability)."""
    parents, outcomes, chances = [], [], []
    for needs in np.unique(state.needs, axis=0):
        lanes = np.flatnonzero((state.needs == needs).all(axis=1))
        every = np.array(list(product(*(range(need + 1) for need in needs))))
        chance = binom.pmf(every, needs, means).prod(axis=1)
        every, chance = every[chance > 0], chance[chance > 0]
        parents.append(lanes.repeat(chance.size))
        outcomes.append(np.tile(every, (lanes.size, 1)))
        chances.append(np.tile(chance, lanes.size))
    parent = np.concatenate(parents)
    state.keep(parent)
    observe(policy, state, np.concatenate(outcomes))
    return parent, np.concatenate(chances)


def chance_of(policy, means, blocks: int, bad, alike=None) -> float:
    """The probability that ``bad(state)`` is ever true within that many blocks, over all that may happen in them.

    Lanes with the same ``alike(state)`` have the same future, and go on as one.
    """
    state, chance, total = started(policy, len(means)), np.ones(1), 0.0
    for _ in range(blocks):
        parent, step = branch(policy, state, means)
        chance = chance[parent] * step
        happened = bad(state)
        total += float(chance[happened].sum())
        goes_on = ~(happened | state.stopped)
        state.keep(goes_on)
        chance = chance[goes_on]
        if alike is not None:
            _, first, which = np.unique(alike(state), axis=0, return_index=True, return_inverse=True)
            state.keep(first)
            chance = np.bincount(which.reshape(-1), weights=chance)
    return total


def predict_always(monkeypatch, *script) -> None:
    """Make the race predict by a script, one line a plan and the last for ever. No guarantee depends on predictions."""
    lines = [np.array(line, dtype=np.float64) for line in script]

    def scripted(state):
        line = lines.pop(0) if len(lines) > 1 else lines[0]
        state.prediction = np.tile(line, (state.samples.shape[0], 1))

    monkeypatch.setattr("linkedbandits.policies.linked_elimination._update_predictions", scripted)


def names_others_than(*right):
    """Stopped, sure, and with an answer that is not this set."""
    return lambda state: state.stopped & (np.sort(state.top, axis=1) != right).any(axis=1)


# Outcomes' probabilities are polynomials in the means, so a bound for unique best arms holds at exact ties, too, with
# any of the tied arms taken for the best. There it is nearest to being attained.
@pytest.mark.parametrize(
    ("policy", "means", "blocks", "wrong"),
    [
        (lb.LinkedElimination(0.8), [0.5, 0.5], 7, names_others_than(0)),
        (lb.LinkedTrackAndStop(0.8), [0.3, 0.3], 6, names_others_than(0)),
        (lb.LinkedElimination(0.9, epsilon=0.3), [0.65, 0.35], 7, names_others_than(0)),
    ],
)
def test_over_all_outcomes_of_the_first_blocks_a_sure_answer_is_wrong_with_at_most_delta(policy, means, blocks, wrong):
    assert 0 < chance_of(policy, np.array(means), blocks, wrong) <= policy.delta


def dropped(arm: int):
    return lambda state: ~state.still_in[:, arm]


def by_capital_against(arm: int):
    return lambda state: np.concatenate([state.capital[:, :, arm, 0].round(9), state.refuted[:, :, arm]], axis=1)


@pytest.mark.usefixtures("on_predictions")
@pytest.mark.parametrize(("k", "limit"), [(1, 0.5), (2, 0.5 / 2)])
def test_over_all_outcomes_a_best_arm_is_dropped_with_its_share_of_delta_and_not_much_less(monkeypatch, k, limit):
    """Of delta = 1/2, shared among the k best.

    The bets could not be worse chosen: arm 0 ties with arm k, and is taken for better. (Between them are arms that
    always succeed, behind them some that never do, so that all depends on this pair.) They begin when most of the
    reserve is in, with factors that hit a threshold nearly exactly. So much of the share is used, and a threshold of a
    fifth of the size would use too much.
    """
    alike = [[0.5] * (2 * k)] * (EARLY_BLOCKS - 1)
    predict_always(monkeypatch, *alike, [0.725] + [0.99] * (k - 1) + [0.275] + [0.01] * (k - 1))
    means = np.array([0.5] + [1.0] * (k - 1) + [0.5] + [0.0] * (k - 1))
    policy = OneOfEach(0.5, k=k)
    chance = chance_of(policy, means, 24, dropped(k), by_capital_against(k))
    assert 0.2 * limit < chance <= limit


@pytest.mark.usefixtures("on_predictions")
def test_over_all_outcomes_one_of_most_arms_is_dropped_with_at_most_delta(monkeypatch):
    """Two of three: at most one of the best is a rival at a time, and so delta is not shared between them."""
    predict_always(monkeypatch, *[[0.5] * 3] * (EARLY_BLOCKS - 1), [0.725, 0.99, 0.275])
    means = np.array([0.5, 1.0, 0.5])
    chance = chance_of(OneOfEach(0.5, k=2), means, 25, dropped(2), by_capital_against(2))
    assert 0.1 * 0.5 < chance <= 0.5


@pytest.mark.parametrize("delta", [0.5, 0.9])
def test_over_all_outcomes_a_leader_too_far_below_is_named_with_its_share_of_delta(monkeypatch, delta):
    """Nine tenths of delta are for finishing.

    Arm 1 is better by just the tolerance, and taken for equal, so that it is not dropped, but found near enough.
    """
    predict_always(monkeypatch, [0.5, 0.5])
    policy = OneOfEach(delta, epsilon=0.25)
    means, near = np.array([0.375, 0.625]), lambda state: state.near_capital.round(9)[:, 0]
    chance = chance_of(policy, means, 12, lambda state: state.stopped & (state.arm == 0), near)
    assert 0.01 * delta < chance <= 0.9 * delta


def followed(state, arm: int, means):
    """The least capital of the arm's pairs that the proof follows: with leaders that are not better.

    While there is none, the least of those with others than itself.
    """
    leaders_means = np.asarray(means)[state.leaders]
    itself = state.leaders == arm
    follows = (leaders_means <= means[arm]) & ~itself
    follows = np.where(follows.any(axis=1, keepdims=True), follows, ~itself | itself.all(axis=1, keepdims=True))
    capital = np.where(follows[:, :, np.newaxis], state.capital[:, :, arm], np.inf)
    return capital.min(axis=1).sum(axis=1)


LEADERS_CHANGE = [[0.7, 0.6, 0.3, 0.4], [0.7, 0.3, 0.6, 0.4], [0.3, 0.7, 0.4, 0.6], [0.8, 0.3, 0.2, 0.7]]


@pytest.mark.parametrize(
    ("policy", "means", "blocks", "script"),
    [
        (lb.LinkedElimination(1e-9), [0.4, 0.4, 0.4], 3, None),
        (lb.LinkedElimination(1e-9, k=2), [0.5, 0.5, 0.5], 5, None),
        (lb.LinkedElimination(1e-9, k=2), [0.5, 0.9, 0.5], 5, None),
        (OneOfEach(1e-9, k=2), [0.5, 0.5, 0.5, 0.5], 4, LEADERS_CHANGE),
        (OneOfEach(1e-9, k=2, epsilon=0.01), [0.5, 0.5, 0.5, 0.5], 4, LEADERS_CHANGE),
        (OneOfEach(1e-9, k=3), [0.5, 0.5, 0.5, 0.5], 4, LEADERS_CHANGE),
    ],
)
def test_whatever_has_happened_the_next_block_adds_nothing_on_average_against_a_best_arm(
    monkeypatch, policy, means, blocks, script
):
    """Over all outcomes of the next block, after every outcome of those before, changes of leaders included."""
    if script:
        predict_always(monkeypatch, *script)
    state = started(policy, len(means))
    best = [arm for arm, mean in enumerate(means) if mean >= sorted(means)[-policy.k]]
    changes = 0
    rivals = len(means) - policy.k

    def against_the_best():
        """Of each with its reserve; where most arms are best, of all together with as many reserves as rivals."""
        of_each = np.array([followed(state, arm, means) for arm in best])
        if policy.k <= rivals:
            return of_each + in_reserve(state)
        return of_each.sum(axis=0, keepdims=True) + rivals * in_reserve(state, 30.0)

    for _ in range(blocks):
        before, leaders = against_the_best(), state.leaders
        parent, chance = branch(policy, state, means)
        for capital, now in zip(before, against_the_best(), strict=True):
            mean = np.bincount(parent, weights=chance * now)
            assert (mean <= capital + ROUNDING).all()
        changes += int((leaders[parent] != state.leaders).any(axis=1).sum())
    assert changes > 0


def between_plans(policy, arms: int) -> RaceState:
    """After enough blocks that the next one is not followed by a plan: what it settles can be looked at.

    Arms have succeeded as often as their means say, to the nearest whole number below.
    """
    state = started(policy, arms)
    means = np.linspace(0.7, 0.3, arms)
    while state.block[0] < EARLY_BLOCKS:
        observe(policy, state, np.floor((state.samples + state.needs) * means) - state.successes)
    assert state.still_in.all()
    return state


def factor(p_i: float, p_c: float, n_i: int, n_c: int, x_i: int, x_c: int) -> float:
    """What a bet brings, as section 1 of docs/evidence.md has it."""
    q = (n_i * p_i + n_c * p_c) / (n_i + n_c)
    of_challenger = (p_c / q) ** x_c * ((1 - p_c) / (1 - q)) ** (n_c - x_c)
    return of_challenger * (p_i / q) ** x_i * ((1 - p_i) / (1 - q)) ** (n_i - x_i)


def pairs_with_bets(state):
    """(which of the leaders, the leader, the rival)"""
    for row, leader in enumerate(state.leaders[0].tolist()):
        for rival in np.flatnonzero(state.own[0, row, :, -1]).tolist():
            yield row, leader, rival


@pytest.mark.usefixtures("on_predictions")
@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_observe_makes_of_the_capital_is_the_formula_for_every_outcome(k):
    policy = lb.LinkedElimination(1e-6, k=k)
    state = between_plans(policy, k + 2)
    slowness = 8.0 if k < 3 else 30.0
    before, kept = copy.deepcopy(state), in_reserve(state, slowness)
    branch(policy, state, np.full(k + 2, 0.5))
    outcomes = (state.successes - before.successes).astype(np.int64)
    put_in = kept - in_reserve(state, slowness)
    pairs = list(pairs_with_bets(before))
    assert len(pairs) >= 2 * k - 1
    for row, leader, rival in pairs:
        expected = [
            (before.capital[0, row, rival, 0] + put_in)
            * factor(*before.prediction[0, [rival, leader]], *before.needs[0, [rival, leader]], x[rival], x[leader])
            for x in outcomes
        ]
        assert state.capital[:, row, rival, 0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.usefixtures("on_predictions")
@pytest.mark.parametrize("k", [1, 2])
def test_what_observe_makes_of_the_capital_has_mean_one_just_where_the_bet_says(k):
    """At the null point q, which is between the predictions, nothing is won or lost: the formula wastes nothing."""
    policy = lb.LinkedElimination(1e-6, k=k)
    start = between_plans(policy, k + 2)
    for row, leader, rival in pairs_with_bets(start):
        (p_i, p_c), (n_i, n_c) = start.prediction[0, [rival, leader]], start.needs[0, [rival, leader]]
        means = np.full(k + 2, (n_i * p_i + n_c * p_c) / (n_i + n_c))
        state = copy.deepcopy(start)
        _, chance = branch(policy, state, means)
        after = state.capital[:, row, rival, 0] + in_reserve(state)
        assert chance @ after == pytest.approx(start.capital[0, row, rival, 0] + in_reserve(start), rel=1e-9)


def test_what_observe_makes_of_the_finishing_capital_has_mean_at_most_one_and_one_at_its_null_point():
    """Along means that differ by just the tolerance; farther apart it is less."""
    policy = lb.LinkedElimination(1e-6, epsilon=0.2)
    start = between_plans(policy, 2)
    start.near_capital[:] = 1.0
    leader, rival = start.leaders[0, 0], 1 - start.leaders[0, 0]
    along = []
    for low in np.linspace(0, 0.8, 201):
        for more in (0.2, 0.2 + (0.8 - low) / 2):
            means = np.empty(2)
            means[[leader, rival]] = low, min(low + more, 1.0)
            state = copy.deepcopy(start)
            _, chance = branch(policy, state, means)
            put_in = in_reserve(start, 30.0) - in_reserve(state, 30.0)
            won = state.near_capital[:, 0, rival] / (1 + put_in)
            assert chance @ won <= 1 + ROUNDING
            if more == 0.2:
                along.append(chance @ won)
    assert max(along) > 0.999


def near_evidence(state, rival: int) -> list[float]:
    """That it is not better by more than the tolerance, with what is in reserve; none without a tolerance."""
    return (state.near_capital[..., rival : rival + 1] + in_reserve(state, 30.0)).reshape(-1).tolist()


def aim(state, row: int, rival: int, level: float, successes) -> None:
    """Set the capital of a pair so that the next block, with these successes, takes it and the reserve to the level.

    Where more than half of the arms are best, no reserve counts, and it enters slower.
    """
    k, arms = state.capital.shape[1:3]
    leader = state.leaders[0, row]
    brings = factor(
        *state.prediction[0, [rival, leader]],
        *state.needs[0, [rival, leader]],
        *np.asarray(successes)[0, [rival, leader]],
    )
    slowness = 8.0 if k <= arms - k else 30.0
    now = in_reserve(state, slowness)
    then = 1 / (1 / now + 1 / slowness)  # with one more block
    counts = then if k <= arms - k else 0.0
    state.capital[0, row, rival, 0] = (level - counts) / brings - (now - then)


@pytest.mark.usefixtures("on_predictions")
@pytest.mark.parametrize("delta", [0.2, 0.01])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize(("k", "arms", "share"), [(1, 3, 1), (2, 4, 2), (3, 6, 3), (3, 5, 2), (3, 4, 1)])
def test_an_arm_is_dropped_exactly_when_the_evidence_of_all_its_pairs_passes_the_threshold(
    k, arms, share, epsilon, delta
):
    """min(k, n-k)/delta, with a tolerance ten times that: not a billionth before, nor while one pair is short of it."""
    policy = lb.LinkedElimination(delta, k=k, epsilon=epsilon)
    threshold = share / delta if epsilon == 0 else 10 * share / delta
    start = between_plans(lb.LinkedElimination(1e-9, k=k, epsilon=epsilon), arms)
    start.capital[:] = 0.0  # nothing speaks against the others
    successes = start.needs // 2
    rival = next(arm for *_, arm in pairs_with_bets(start))
    assert (start.own[0, :, rival] != 0).all()
    for short in [None, *range(k)]:
        state = copy.deepcopy(start)
        for row in range(k):
            aim(state, row, rival, threshold * (1 - 1e-9 if row == short else 1 + 1e-9), successes)
        observe(policy, state, successes)
        others = np.arange(arms) != rival
        assert state.still_in[0, others].all()
        assert state.still_in[0, rival] == (short is not None)
        at_level = policy.log10_evidence(state)[0, rival] - log(1 / delta) / log(10)
        assert at_level == pytest.approx(0, abs=1e-9)
        assert (at_level > 0) == (short is None)


@pytest.mark.usefixtures("on_predictions")
@pytest.mark.parametrize("carried", [8.0, 0.25])
def test_capital_that_was_carried_over_counts_in_full(carried):
    """The threshold is 1/delta for what was carried over times what was made since: not a billionth before."""
    policy = lb.LinkedElimination(0.05)
    start = between_plans(lb.LinkedElimination(1e-9), 3)
    start.capital[:] = 0.0
    successes = start.needs // 2
    rival = next(arm for *_, arm in pairs_with_bets(start))
    for short in (False, True):
        state = copy.deepcopy(start)
        state.carried[0, 0, rival] = carried
        aim(state, 0, rival, 20 / carried * (1 - 1e-9 if short else 1 + 1e-9), successes)
        observe(policy, state, successes)
        assert state.still_in[0, rival] == short
        assert policy.log10_evidence(state)[0, rival] == pytest.approx(np.log10(20), abs=1e-8)


def test_what_was_carried_over_is_the_evidence_to_begin_with():
    policy = lb.LinkedElimination(0.05)
    state = policy.start(1, 3, np.zeros(1, dtype=np.uint64))
    policy.carry_over(state, np.array([[3.0, 0.5, 20.0]]))
    assert 10 ** policy.log10_evidence(state)[0] == pytest.approx([3.0, 0.5, 20.0])
    assert state.still_in.tolist() == [[True, True, False]]


@pytest.mark.parametrize("delta", [0.2, 0.01])
@pytest.mark.parametrize("k", [1, 2])
def test_a_run_with_a_tolerance_ends_exactly_when_every_pair_passes_its_threshold(k, delta):
    """k/(0.9 delta), for each pair of a leader and a rival."""
    policy = lb.LinkedElimination(delta, k=k, epsilon=0.1)
    threshold = k / (0.9 * delta)
    start = between_plans(lb.LinkedElimination(1e-9, k=k, epsilon=0.1), k + 2)
    start.capital[:] = 0.0  # nothing is dropped
    successes = start.needs // 2
    rivals = np.flatnonzero(~_are_leaders(start)[0])
    assert (start.near_own[0][:, rivals] != 0).all()
    of_leaders = successes[0, start.leaders[0]][:, np.newaxis]
    near = [array[..., 0] for array in (start.near_own, start.near_rival, start.near_sure)]
    brings = np.exp(near[0] * successes + near[1] * of_leaders + near[2])[0]
    now = in_reserve(start, 30.0)
    then = 1 / (1 / now + 1 / 30)
    for short in [None, *product(range(k), rivals)]:
        state = copy.deepcopy(start)
        state.near_capital[0] = (threshold * (1 + 1e-9) - then) / brings - (now - then)
        if short is not None:
            state.near_capital[0][short] *= 1 - 1e-6
        observe(policy, state, successes)
        assert state.still_in.all()
        assert state.stopped[0] == (short is None)
        if short is None:
            assert sorted(state.top[0]) == sorted(start.leaders[0])


@pytest.mark.usefixtures("on_predictions")
@pytest.mark.parametrize("epsilon", [0.0, 0.01])
def test_at_a_change_of_leaders_an_arm_has_no_more_than_against_the_leader_that_goes(monkeypatch, epsilon):
    """Arm 3 takes the lead from arm 1. That pair may have been followed, so that more would be too much."""
    predict_always(monkeypatch, [0.7, 0.6, 0.3, 0.4], [0.7, 0.4, 0.3, 0.6], [0.7, 0.4, 0.3, 0.6])
    policy = OneOfEach(1e-6, k=2, epsilon=epsilon)
    state = started(policy, 4)
    observe(policy, state, [[0, 0, 0, 0]])
    assert state.leaders.tolist() == [[0, 1]]
    state.capital[0, ..., 0] = [[5.0, 5.0, 3.0, 1.0], [6.0, 4.0, 2.0, 7.0]]
    state.refuted[0, 0, 2] = True
    if epsilon > 0:
        state.near_refuted[0, 0, 2] = True
    predictions = dict(enumerate([0.7, 0.6, 0.3, 0.4]))
    observe(policy, state, [[1, 0, 0, 1]])
    assert state.leaders.tolist() == [[0, 3]]
    put_in = 1 - 8 / 9
    brought = {
        (leader, rival): factor(predictions[rival], predictions[leader], 1, 1, rival == 3, leader == 0)
        for leader, rival in product((0, 1), (2, 3))
    }
    against_0 = {2: (3 + put_in) * brought[0, 2], 3: (1 + put_in) * brought[0, 3]}
    against_1 = {2: (2 + put_in) * brought[1, 2], 3: (7 + put_in) * brought[1, 3]}
    # Arm 1 was in the lead, and there was nothing against it beside itself; arms 0 and 3 lead now.
    beside_0 = [5 + put_in, min(against_0[2], against_1[2]), min(against_0[3], against_1[3])]
    assert state.capital[0, 0, 1:, 0] == pytest.approx(beside_0, rel=1e-12)
    beside_3 = [6 + put_in, 5 + put_in, against_1[2]]
    assert state.capital[0, 1, :3, 0] == pytest.approx(beside_3, rel=1e-12)
    assert not state.refuted.any()
    if epsilon > 0:
        assert not state.near_capital.any()
        assert not state.near_refuted.any()
    before = state.capital[0].copy()
    observe(policy, state, [[0, 0, 0, 0]])  # and where the leaders stay, each pair goes on by itself
    assert state.capital[0, 0, 1] != pytest.approx(state.capital[0, 1, 1], rel=1e-3)
    assert (state.capital[0] != before).all()


@pytest.mark.usefixtures("on_predictions")
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_no_bet_is_settled_on_an_arm_after_it_was_dropped(epsilon):
    """It is asked no more, and to count that as failures would go on making evidence of nothing."""
    policy = lb.LinkedElimination(0.2, epsilon=epsilon)
    state = between_plans(lb.LinkedElimination(1e-9, epsilon=epsilon), 3)
    successes = state.needs // 2
    _, _, rival = next(pairs_with_bets(state))
    aim(state, 0, rival, 100.0, successes)
    observe(policy, state, successes)
    assert not state.still_in[0, rival]
    assert state.needs[0, rival] == 0
    evidence, near = policy.log10_evidence(state)[0, rival], near_evidence(state, rival)
    observe(policy, state, state.needs // 2)
    assert policy.log10_evidence(state)[0, rival] == pytest.approx(evidence, rel=1e-12)
    assert near_evidence(state, rival) == pytest.approx(near, rel=1e-12)


def as_often_as(state, means):
    """Successes of the next block after which every arm has had as many as its mean says, as far as one can."""
    wanted = np.floor((state.samples + state.needs) * np.asarray(means)) - state.successes
    return np.clip(wanted, 0, state.needs)


def test_a_leader_that_no_rival_is_left_beside_is_asked_again_when_it_has_too_few_samples():
    """Arm 2 had luck: it leads, and of its only pair it is sure. The others tie, so nothing else would happen."""
    policy = lb.LinkedElimination(0.5, k=2)
    state = started(policy, 3)
    while not state.refuted.any():
        observe(policy, state, as_often_as(state, [0.31, 0.3, 0.8]))
    assert state.leaders.tolist() == [[0, 2]]
    assert state.still_in.all()
    assert state.refuted[0].tolist() == [[False] * 3, [False, True, False]]
    while state.block[0] % 3:  # to the next plan
        observe(policy, state, as_often_as(state, [0.31, 0.3, 0.8]))
    assert state.needs[0, 2] == 0
    lucky, had = state.leaders.tolist(), state.samples[0, 2]
    while state.needs[0, 2] == 0:
        assert state.leaders.tolist() == lucky
        assert state.level[0] < 50 * had
        observe(policy, state, as_often_as(state, [0.5, 0.49, 0.3]))
    while not state.stopped[0]:
        assert state.level[0] < 1e5
        observe(policy, state, as_often_as(state, [0.5, 0.49, 0.3]))
    assert sorted(state.top[0]) == [0, 1]


def test_a_leader_with_many_samples_is_not_asked_beside_nobody():
    policy = lb.LinkedElimination(0.5, k=2)
    state = started(policy, 4)
    while state.refuted[0, 0].sum() < 2:
        observe(policy, state, as_often_as(state, [0.9, 0.5, 0.45, 0.1]))
    while state.block[0] % 3:
        observe(policy, state, as_often_as(state, [0.9, 0.5, 0.45, 0.1]))
    assert state.leaders.tolist() == [[0, 1]]
    for _ in range(30):
        assert state.needs[0, 0] == 0
        observe(policy, state, as_often_as(state, [0.9, 0.5, 0.45, 0.1]))


def test_with_a_tolerance_a_pair_that_only_dropping_evidence_refutes_is_still_open():
    """The proof of finishing follows the leader of lowest mean, that of dropping another: one does not do for both."""
    policy = lb.LinkedElimination(0.2, k=2, epsilon=0.1)
    state = between_plans(lb.LinkedElimination(1e-9, k=2, epsilon=0.1), 4)
    rivals = np.flatnonzero(~_are_leaders(state)[0])
    state.capital[:], state.near_capital[:] = 0.0, 0.0
    state.near_refuted[0][:, rivals] = True
    state.near_refuted[0, 0, rivals[0]], state.refuted[0, 0, rivals[0]] = False, True
    observe(policy, state, state.needs // 2)
    observe(policy, state, state.needs // 2)
    assert not state.stopped[0]
    assert state.needs[0, rivals[0]] > 0
    assert state.needs[0, state.leaders[0, 0]] > 0
    assert state.needs[0, rivals[1]] == 0
    state.near_refuted[0, 0, rivals[0]] = True
    observe(policy, state, state.needs // 2)
    assert state.stopped[0]


@pytest.mark.parametrize(
    ("means", "policy"),
    [
        ([0.0, 0.0], lb.LinkedElimination(0.1, epsilon=1e-4)),
        ([1.0, 1.0, 1.0], lb.LinkedElimination(0.1, epsilon=1e-3)),
        ([1.0, 1.0, 1.0, 0.0], lb.LinkedElimination(0.1, k=2, epsilon=1e-3)),
        ([1e-9, 1e-9, 0.0], lb.LinkedElimination(0.1, epsilon=1e-8)),
        ([0.5, 0.5], lb.LinkedElimination(0.1, epsilon=1 - 1e-9)),
        ([0.0, 1.0, 0.5, 0.5], lb.LinkedElimination(0.1, k=2, epsilon=1 - 1e-12)),
        ([0.9, 0.1, 0.2], lb.LinkedElimination(0.1, epsilon=1e-12)),
        ([1.0, 0.0, 0.0], lb.LinkedLead(0.1, gap=1 - 1e-9)),
        ([0.5, 0.5, 0.0], lb.LinkedLead(0.1, gap=1 - 1e-12)),
        ([0.9, 0.1, 0.2], lb.LinkedLead(0.1, gap=1e-12)),
        ([0.5, 0.5], lb.LinkedElimination(0.1, costs=[1, 1e9])),
        ([0.36, 1.0], lb.LinkedElimination(0.1, costs=[1, 3])),
        ([1e-3, 1.0], lb.LinkedElimination(0.1, costs=[1e-3, 1e6])),
        ([0.3, 0.0], lb.LinkedElimination(0.1, costs=[3, 1])),
        ([1.0, 1.0, 0.0], lb.LinkedElimination(0.1, k=2)),
        ([1.0, 0.0, 0.0], lb.LinkedTrackAndStop(0.1)),
    ],
)
def test_runs_end_at_the_ends_of_all_ranges(means, policy):
    with np.errstate(all="raise", under="ignore"):
        runs = lb.simulate(means, policy, trials=8, seed=1, linkage="free", max_plays=10**11)
    assert (runs.plays < 10**11).all()


def test_bets_on_odds_ratios_are_around_the_means_of_the_two_of_a_pair():
    policy = lb.LinkedElimination(1e-6, k=2)
    state = between_plans(policy, 5)
    while state.block[0] % 3:  # to the next plan
        observe(policy, state, state.needs // 2)
    pairs = list(pairs_with_bets(state))
    assert len(pairs) == 6
    for row, leader, rival in pairs:
        of = [rival, leader]
        counts = [tuple(np.array([x]) for x in array[0, of].astype(float)) for array in (state.samples, state.needs)]
        means = tuple(np.array([x]) for x in state.plain[0, of])
        below, above = at_odds_ratios(means, *counts)
        expected = place_bets(below, above, counts[1][0], counts[1][1])
        for placed, part in ((state.own, "own"), (state.rival, "rival"), (state.sure, "sure")):
            assert placed[0, row, rival, 1:] == pytest.approx(getattr(expected, part)[0], rel=1e-12)


@pytest.mark.parametrize("arms", [5, 12])
def test_arms_are_drawn_to_those_that_do_not_lead_and_where_there_are_many_are_still_in(arms):
    policy = lb.LinkedElimination(1e-6)
    state = between_plans(policy, arms)
    state.still_in[0, -1] = False
    pooled = ~_are_leaders(state)
    pooled[0, -1] = arms == 5
    while state.block[0] % 3 != 2:  # the next block is followed by a plan
        observe(policy, state, state.needs // 2)
    samples, successes, mixture = state.samples + state.needs, state.successes + state.needs // 2, state.mixture
    observe(policy, state, state.needs // 2)
    plain, shrunken, _ = predict(samples, successes, mixture, pooled)
    assert state.plain == pytest.approx(plain, rel=1e-12)
    assert state.shrunken == pytest.approx(shrunken, rel=1e-12)


@pytest.mark.parametrize(("means", "favours_plain"), [([0.9, 0.1, 0.5, 0.7, 0.3], True), ([0.5] * 5, False)])
def test_predictions_become_those_that_made_likelier_what_came(means, favours_plain):
    policy = lb.LinkedElimination(1e-200)
    state = policy.start(40, 5, np.zeros(40, dtype=np.uint64))
    rng = np.random.default_rng(7)
    while state.block[0] < 150:
        observe(policy, state, rng.binomial(state.needs, means))
    to_plain, to_shrunken = (np.abs(state.prediction - other).mean(axis=1) for other in (state.plain, state.shrunken))
    nearer = to_plain <= to_shrunken if favours_plain else to_shrunken <= to_plain
    assert nearer.mean() > 0.9


@pytest.mark.usefixtures("on_predictions")
def test_when_an_arm_is_dropped_leaders_and_recalled_arms_are_asked_on_though_they_were_dropped_before():
    policy = lb.LinkedElimination(0.2)
    state = between_plans(lb.LinkedElimination(1e-9), 5)
    leader, rival, recalled = state.leaders[0, 0], *[arm for *_, arm in pairs_with_bets(state)][:2]
    state.capital[:] = 0.0
    state.still_in[0, [leader, recalled]] = False
    state.recalled[0, recalled] = True
    successes = state.needs // 2
    aim(state, 0, rival, 100.0, successes)
    asked = state.needs.copy()
    observe(policy, state, successes)
    assert not state.still_in[0, rival]
    others = np.arange(5) != rival
    assert state.needs[0, rival] == 0
    assert state.needs[0, others].tolist() == asked[0, others].tolist()
    assert state.own[0, 0, recalled, 0] != 0


def test_with_costs_bets_are_against_as_many_successes_per_cost():
    costs = [1.0, 2.0, 0.5, 1.0]
    policy = lb.LinkedElimination(1e-6, costs=costs)
    state = between_plans(policy, 4)
    pairs = list(pairs_with_bets(state))
    assert len(pairs) == 3
    for row, leader, rival in pairs:
        pair = (*state.prediction[0, [rival, leader]], *state.needs[0, [rival, leader]].astype(float))
        slope = np.array([costs[rival] / costs[leader]])
        expected = place_bets(*(np.array([number]) for number in pair), slope=slope)
        for placed, part in ((state.own, "own"), (state.rival, "rival"), (state.sure, "sure")):
            assert placed[0, row, rival] == pytest.approx(getattr(expected, part), rel=1e-12)


@pytest.mark.parametrize(("ahead", "leader"), [(0.019, 0), (0.021, 1)])
def test_with_a_tolerance_a_leader_stays_until_another_is_ahead_by_a_fifth_of_it(monkeypatch, ahead, leader):
    predict_always(monkeypatch, [0.6, 0.5], [0.5, 0.5 + ahead])
    policy = OneOfEach(1e-6, epsilon=0.1)
    state = started(policy, 2)
    observe(policy, state, [[0, 0]])
    assert state.leaders.tolist() == [[0]]
    observe(policy, state, [[0, 0]])
    assert state.leaders.tolist() == [[leader]]


def test_an_arm_between_those_left_is_named_only_if_it_is_still_in():
    policy = lb.LinkedElimination(0.1, neighbours=1)
    for middle in (False, True):
        state = started(policy, 5)
        state.still_in[0] = [False, True, middle, True, False]
        policy._answer(state)
        assert state.stopped[0] == middle
    assert state.arm[0] == 2
