"""Linkages: the plays a need costs, by formula, by counts and play by play; and prices, against enumeration."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.stats import chi2

import linkedbandits as lb
from linkedbandits.linkage import (
    LINKAGES,
    Free,
    Ordered,
    Quote,
    Single,
    Suffix,
    find_linkage,
    linkages_for,
    ordered_plays,
    play_in_turn,
)
from linkedbandits.live.requests import SampleQueue
from linkedbandits.model import IntArray, Needs
from linkedbandits.streams import LaneStreams
from linkedbandits.testing import ReplayedRewards
from linkedbandits.world import CoinFlips
from tests.support.brute_force import (
    fewest_plays,
    opened_at_the_first_unmet,
    play,
    plays_for_needs,
    subsequences,
    suffix_sample,
    suffixes,
)
from tests.support.instances import one_mean


@st.composite
def needs_and_tapes(draw, most_arms=6, most_need=8, spare=0):
    """Needs of a few arms, and for each arm the outcomes its samples will have."""
    needs = draw(st.lists(st.integers(0, most_need), min_size=2, max_size=most_arms).filter(any))
    tapes = [draw(st.lists(st.integers(0, 1), min_size=need + spare, max_size=need + spare)) for need in needs]
    return needs, tapes


@st.composite
def needs_and_long_tapes(draw, most_arms=6, most_need=8):
    """Needs of a few arms, and more outcomes of each than plays for them could ever use up."""
    needs = draw(st.lists(st.integers(0, most_need), min_size=2, max_size=most_arms).filter(any))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    means = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]), min_size=len(needs), max_size=len(needs)))
    return needs, [(rng.random(sum(needs)) < mean).astype(int).tolist() for mean in means]


def replay(tapes) -> ReplayedRewards:
    """A world of one lane; what a tape lacks in length cannot be asked for."""
    longest = max(len(tape) for tape in tapes)
    return ReplayedRewards([tape + [0] * (longest - len(tape)) for tape in tapes])


@given(needs_and_tapes())
def test_ordered_plays_are_counted_exactly_by_the_formula(problem):
    needs, tapes = problem
    plays, samples = plays_for_needs(needs, tapes)
    successes = np.array([[sum(tape) for tape in tapes]])
    assert samples == needs
    assert ordered_plays(np.array([needs]), successes)[0] == plays


@given(needs_and_tapes(most_arms=3, most_need=3, spare=2))
def test_no_ordered_rule_takes_the_samples_in_fewer_plays(problem):
    needs, tapes = problem
    plays, _ = plays_for_needs(needs, tapes)
    assert fewest_plays(needs, tapes, subsequences(len(needs))) == plays


@given(st.integers(2, 6), st.integers(1, 8), st.data())
def test_equal_needs_are_suffix_sample(arms, samples, data):
    """Each arm exactly t samples, and T = t + X_1 + ... + X_{n-1}."""
    tapes = [data.draw(st.lists(st.integers(0, 1), min_size=samples, max_size=samples)) for _ in range(arms)]
    plays, used = suffix_sample(arms, samples, tapes)
    assert used == [samples] * arms
    assert plays == samples + sum(sum(tape) for tape in tapes[:-1])
    assert plays == plays_for_needs([samples] * arms, tapes)[0]


@given(needs_and_long_tapes(), st.sampled_from(list(LINKAGES)), st.integers(1, 30))
def test_counts_and_play_by_play_agree_under_any_limit(problem, name, limit):
    """The same tapes give the same samples, successes, plays and 'met', whether played or counted."""
    needs, tapes = problem
    linkage = find_linkage(name)
    counted = linkage.fulfil(np.array([needs]), np.array([limit]), replay(tapes))
    live = SampleQueue(len(needs), linkage)
    live.begin(Needs(np.array([needs])), None, None)
    used = [0] * len(needs)
    plays = 0
    while not live.fulfilled and plays < limit:
        arms = live.hand_out()
        before = list(used)
        hit = play(tuple(arms), tapes, used)
        reached = sum(used) - sum(before)
        live.put(plays, arms)
        live.come_back(plays, arms, reached, -1 if hit is None else hit)
        plays += 1
    brought = live.counts()
    spare = 0 if counted.spare is None else counted.spare.samples[0]
    assert counted.plays[0] == plays
    assert counted.met[0] == live.fulfilled
    assert (counted.counts.samples[0] + spare).tolist() == used
    assert counted.counts.samples.tolist() == brought.samples.tolist()
    assert counted.counts.successes.tolist() == brought.successes.tolist()


@given(needs_and_tapes())
def test_single_takes_a_play_for_every_sample(problem):
    needs, tapes = problem
    result = Single().fulfil(np.array([needs]), np.array([10**9]), replay(tapes))
    assert result.plays[0] == sum(needs)


@given(needs_and_long_tapes())
def test_suffix_plays_follow_the_recursion_and_open_at_the_first_unmet_arm(problem):
    """t_0 = m_0, t_i = max(m_i, t_{i-1} - X_{i-1}(t_{i-1})), T = t_last + the X before it; by hand the same."""
    needs, tapes = problem
    result = Suffix().fulfil(np.array([needs]), np.array([10**9]), replay(tapes))
    reached = [needs[0]]
    for need, tape in zip(needs[1:], tapes, strict=False):
        reached.append(max(need, reached[-1] - sum(tape[: reached[-1]])))
    plays = reached[-1] + sum(sum(tape[:count]) for tape, count in zip(tapes[:-1], reached, strict=False))
    assert (plays, reached) == opened_at_the_first_unmet(needs, tapes)
    assert result.plays[0] == plays
    assert (result.counts.samples + result.spare.samples)[0].tolist() == reached
    assert result.met[0]


@given(needs_and_long_tapes())
def test_what_a_policy_sees_of_suffix_plays_are_the_first_rewards_it_asked_for_and_no_others(problem):
    needs, tapes = problem
    result = Suffix().fulfil(np.array([needs]), np.array([10**9]), replay(tapes))
    assert result.counts.samples[0].tolist() == needs
    seen = [sum(tape[:need]) for tape, need in zip(tapes, needs, strict=True)]
    assert result.counts.successes[0].tolist() == seen
    reached = result.spare.samples[0] + needs
    spare = [sum(tape[need:count]) for tape, need, count in zip(tapes, needs, reached.tolist(), strict=True)]
    assert result.spare.successes[0].tolist() == spare


@given(needs_and_long_tapes(most_arms=3, most_need=3))
def test_no_rule_takes_the_samples_in_fewer_suffix_plays(problem):
    needs, tapes = problem
    plays, _ = opened_at_the_first_unmet(needs, tapes)
    assert fewest_plays(needs, tapes, suffixes(len(needs))) == plays


@pytest.mark.statistical
def test_suffix_plays_are_drawn_by_their_exact_law():
    """The law of the plays by enumerating all rewards of needs 3, 1, 2; chi-square at 1e-6 over 40,000 lanes.

    Drawing the spare samples of the second arm twice, or not at all, moves the statistic beyond 1,000.
    """
    needs, means, lanes = [3, 1, 2], [0.3, 0.6, 0.5], 40_000
    law: dict[int, float] = {}
    for bits in product([0, 1], repeat=6):  # three rewards of each of the first two arms decide
        first, second = list(bits[:3]), list(bits[3:])
        plays, _ = opened_at_the_first_unmet(needs, [first, second, [0] * 6])
        chance = np.prod([mean if bit else 1 - mean for bit, mean in zip(bits, np.repeat(means[:2], 3), strict=True)])
        law[plays] = law.get(plays, 0.0) + float(chance)
    world = CoinFlips(np.broadcast_to(np.array(means), (lanes, 3)), LaneStreams(5, 3, range(lanes)))
    drawn = Suffix().fulfil(np.tile(needs, (lanes, 1)), np.full(lanes, 2**60), world).plays
    seen = np.array([(drawn == plays).sum() for plays in law])
    expected = lanes * np.array(list(law.values()))
    assert seen.sum() == lanes
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-6, df=len(law) - 1)


def test_plays_from_some_arm_on_speak_for_the_arms_that_are_needed_alone():
    """Of needs 2, 1, 0 the second play speaks for arm 0 only; arm 1, not reached by the first, is then opened at."""
    live = SampleQueue(3, Suffix())
    live.begin(Needs(np.array([[2, 1, 0]])), None, None)
    for number, speaks_for in enumerate(([0, 1], [0])):
        arms = live.hand_out()
        live.put(number, arms)
        assert (arms.tolist(), live._plan.speaks_for.tolist()) == ([0, 1, 2], speaks_for)
    assert live.hand_out() is None
    live.come_back(0, arms, 1, 0)
    assert (live.hand_out().tolist(), live._plan.speaks_for.tolist()) == ([1, 2], [1])


def test_suffix_plans_fill_up_the_rows_of_lanes_that_open_late():
    plan = Suffix().plan(np.array([[0, 0, 4], [0, 7, 0]]))
    assert plan.order.tolist() == [[2, -1], [1, 2]]
    assert plan.plays.tolist() == [4, 7]
    assert plan.whole


def test_no_linkage_words_are_missing_and_remedies_name_those_that_allow():
    assert [linkage.words for linkage in LINKAGES.values() if not linkage.words.strip()] == []
    assert linkages_for("suffixes") == "'ordered', 'free' or 'suffix'"


def free_plays(needs: IntArray, means: np.ndarray, share: float, trials: int, seed: int) -> float:
    linkage = Free()
    linkage.share_between_sorts = share
    world = CoinFlips(np.broadcast_to(means, (trials, means.size)), LaneStreams(seed, means.size, range(trials)))
    result = linkage.fulfil(np.tile(needs, (trials, 1)), np.full(trials, 2**60), world)
    return float(result.plays.mean())


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("needs", "means"),
    [
        (np.full(10, 400), lb.scenarios.one_sparse(10)),
        (np.full(8, 400), lb.scenarios.increasing(8)),
        (np.array([900, 20, 300, 300, 5]), np.array([0.1, 0.9, 0.3, 0.2, 0.7])),
    ],
)
def test_free_is_near_the_first_order_optimum_and_sorting_seldom_costs_nothing(needs, means):
    """The optimum is the largest, over prefixes by decreasing need, of sum(mu m) / (1 - prod(1 - mu)).

    The mean of 400 trials has a standard error below 0.2 %; a limit of 1 % is five of them (false alarm < 1e-6).
    Playing in the fixed order instead costs 14 %, 1 % and 10 % more.
    """
    order = np.argsort(-needs, kind="stable")
    reached = 1 - np.cumprod(1 - means[order])
    optimum = max((np.cumsum(means[order] * needs[order]) / reached).max(), needs.max())
    assert free_plays(needs, means, Free.share_between_sorts, 400, seed=1) == pytest.approx(optimum, rel=0.01)


def test_a_limit_ends_the_plays_in_the_lanes_that_reach_it():
    needs = np.array([[5, 5], [100, 100]])
    world = CoinFlips(np.broadcast_to(np.array([0.5, 0.5]), (2, 2)), LaneStreams(1, 2, range(2)))
    result = Ordered().fulfil(needs, np.array([50, 50]), world)
    assert result.met.tolist() == [True, False]
    assert result.plays[1] == 50
    assert result.counts.samples[0].tolist() == [5, 5]
    assert result.counts.samples[1, 0] == 50


wide_needs = st.lists(
    st.one_of(
        st.integers(0, 3), st.sampled_from([2**15 - 1, 2**15, 2**15 + 1, 2**16 - 1, 2**16]), st.integers(0, 70_000)
    ),
    min_size=4,
    max_size=4,
).filter(any)


@given(st.lists(wide_needs, min_size=1, max_size=3))
def test_free_goes_by_decreasing_need_whatever_the_size_of_the_numbers(lanes):
    """Small needs are sorted as 16-bit integers; those beyond, from 32,768 on, would wrap around."""
    plan = Free().plan(np.array(lanes))
    for needs, order, plays in zip(lanes, plan.order.tolist(), plan.plays.tolist(), strict=True):
        expected = [arm for _, arm in sorted((-need, arm) for arm, need in enumerate(needs))]
        alone = sum(need > 0 for need in needs) == 1
        assert order == (expected[:1] if alone and len(lanes) == 1 else expected)
        assert plays == (max(needs) if alone else max(max(needs) // 4, 1))


@pytest.mark.parametrize("longest", [32_767, 32_768, 32_769, 40_000, 65_535, 65_536])
def test_free_plays_the_longest_need_first_at_the_limits_of_small_integers(longest):
    """Without successes every play tries all needed arms, so that the longest need is what it takes."""
    needs = [5, longest, 0, longest - 1]
    assert lb.next_play(needs, "free") == (1, 3, 0)
    silent = replay([[0] * need for need in needs])
    result = Free().fulfil(np.array([needs]), np.array([10**9]), silent)
    assert result.plays.tolist() == [longest]
    assert result.counts.samples.tolist() == [needs]


def test_needs_too_large_for_a_counter_use_up_the_limit_without_overflow():
    needs = np.full((1, 3), lb.model.COUNT_LIMIT)
    limit = np.array([lb.model.COUNT_LIMIT])
    for linkage in (Ordered(), Single(), Suffix()):
        world = CoinFlips(np.full((1, 3), 0.5), LaneStreams(1, 3, range(1)))
        result = linkage.fulfil(needs, limit, world)
        assert not result.met[0]
        assert result.plays[0] == lb.model.COUNT_LIMIT
        assert (result.counts.samples >= 0).all()


def test_plays_of_nothing_are_none():
    world = replay([[], []])
    result = play_in_turn(np.array([[0, 1]]), np.array([[0, 0]]), np.array([7]), world)
    assert result.plays[0] == 0
    assert result.met[0]


@pytest.mark.parametrize(
    ("linkage", "expected"), [("ordered", (0, 2, 3)), ("free", (3, 0, 2)), ("single", (0,)), ("suffix", (0, 1, 2, 3))]
)
def test_next_play_tries_what_is_still_needed(linkage, expected):
    assert lb.next_play([2, 0, 2, 5], linkage) == expected


@pytest.mark.parametrize(
    ("needs", "said"),
    [
        ([1, -2], "need -2 of arm 1 is negative"),
        ([1, 0.5], "need 0.5 of arm 1 is not a whole number"),
        ([1, float("nan")], "need nan of arm 1"),
        ([1, float("inf")], "need inf of arm 1 is too large"),
        ([[1, 2]], "shape"),
        (["many"], "not numbers"),
        ([0, 0], "every need is met"),
    ],
)
def test_bad_needs_are_named(needs, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.next_play(needs)


def test_an_unknown_linkage_is_named_with_the_ones_there_are():
    with pytest.raises(lb.UnknownName, match="unknown linkage 'sideways'; choose one of ordered, free, single, suffix"):
        lb.simulate([0.1, 0.2], lb.UniformSampling(samples=1), linkage="sideways")
    with pytest.raises(KeyError):
        find_linkage("sideways")


number_of_samples = st.just(0.0) | st.floats(1e-200, 100)
"""None, or so many that a part of it is not rounded more coarsely than other numbers."""
arms_and_samples = st.lists(st.tuples(one_mean, number_of_samples), min_size=2, max_size=7).map(
    lambda rows: (np.array([mean for mean, _ in rows]), np.array([samples for _, samples in rows]))
)


def quote(samples: np.ndarray, means: np.ndarray, linkage: str) -> Quote:
    return find_linkage(linkage).quote(samples, means)


def dearest_set(samples: np.ndarray, means: np.ndarray) -> float:
    """The largest over all sets B of sum_B mu t / (1 - prod_B (1 - mu)): the price of free plays, by enumeration."""
    largest = 0.0
    for size in range(1, means.size + 1):
        for chosen in combinations(range(means.size), size):
            arms = list(chosen)
            ends = -np.expm1(np.log1p(-np.minimum(means[arms], 1 - 1e-16)).sum())
            value = (means[arms] @ samples[arms]) / ends if ends > 0 else samples[arms].max()
            largest = max(largest, float(value))
    return largest


@given(arms_and_samples)
def test_free_plays_cost_what_the_dearest_set_does(given_arms):
    means, samples = given_arms
    assert quote(samples, means, "free").plays == pytest.approx(dearest_set(samples, means), rel=1e-9)


@given(arms_and_samples)
def test_ordered_plays_cost_what_the_dearest_arm_does(given_arms):
    means, samples = given_arms
    reached = [samples[i] + means[:i] @ samples[:i] for i in range(means.size)]
    assert quote(samples, means, "ordered").plays == pytest.approx(max(reached))


@given(arms_and_samples, st.sampled_from(list(LINKAGES)))
def test_prices_add_up_to_the_plays(given_arms, linkage):
    means, samples = given_arms
    quoted = quote(samples, means, linkage)
    assert quoted.prices @ samples == pytest.approx(quoted.plays)
    assert (quoted.prices >= 0).all()


@given(arms_and_samples, st.integers(0, 2**32), st.sampled_from(list(LINKAGES)))
def test_prices_never_overstate_the_plays_of_other_samples(given_arms, seed, linkage):
    """Plays are convex in the samples, and the prices a subgradient."""
    means, samples = given_arms
    others = samples * np.random.default_rng(seed).exponential(size=samples.size)
    assert quote(samples, means, linkage).prices @ others <= quote(others, means, linkage).plays * (1 + 1e-9)


@given(arms_and_samples)
def test_more_freedom_costs_no_more_plays(given_arms):
    means, samples = given_arms
    free, ordered, single = (quote(samples, means, linkage).plays for linkage in ("free", "ordered", "single"))
    assert samples.max() <= free * (1 + 1e-12) <= ordered * (1 + 1e-9) <= single * (1 + 1e-8)
    assert ordered <= 2 * free * (1 + 1e-9)


def test_arms_that_never_succeed_cost_only_the_most_needed_of_them():
    assert quote(np.array([3.0, 5.0, 4.0]), np.zeros(3), "free").plays == 5
    assert quote(np.array([3.0, 5.0, 4.0]), np.zeros(3), "ordered").plays == 5


def test_a_million_sure_arms_do_not_overflow():
    assert quote(np.ones(10**5), np.ones(10**5), "free").plays == pytest.approx(10**5)


@given(arms_and_samples, st.sampled_from(list(LINKAGES)))
def test_the_price_of_many_lanes_is_the_quote_of_each(given_arms, linkage):
    means, samples = given_arms
    lanes = np.array([samples, samples[::-1], np.zeros_like(samples)])
    prices = find_linkage(linkage).price(lanes, np.array([means, means[::-1], means]))
    assert prices[0] == pytest.approx(quote(samples, means, linkage).plays, rel=1e-12)
    assert prices[1] == pytest.approx(quote(samples[::-1], means[::-1], linkage).plays, rel=1e-12)
    assert prices[2] == 0


@given(arms_and_samples, st.sampled_from(list(LINKAGES)))
def test_a_linear_programme_that_is_told_the_rows_and_the_missing_prices_finds_the_plays(given_arms, linkage):
    """With the samples fixed and the quoted prices as one more row, the fewest plays are those of the quote."""
    means, samples = given_arms
    rows, quoted = find_linkage(linkage).cost_rows(means), quote(samples, means, linkage)
    matrix = np.zeros((rows.shape[0] + 1, rows.shape[1]))
    np.add.at(matrix, (rows.row, rows.column), rows.value)
    matrix[-1, : means.size], matrix[-1, means.size] = quoted.prices, -1
    goal = np.zeros(rows.shape[1])
    goal[means.size] = 1
    fixed = [(amount, amount) for amount in samples] + [(0, None)] * (rows.shape[1] - samples.size)
    solved = linprog(goal, A_ub=matrix, b_ub=np.zeros(matrix.shape[0]), bounds=fixed)
    assert solved.fun == pytest.approx(quoted.plays, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("mean", [1e-9, 1e-15, 1e-16, 1e-100, 1e-300])
def test_rare_successes_cost_freely_what_the_longest_need_does(mean):
    """Two arms alike cost 96/(1 - mean/2): to sixteen digits the 96 samples, whatever is left of 1 - mean."""
    means, samples = np.full(2, mean), np.full(2, 96.0)
    free = find_linkage("free")
    assert free.price(samples[np.newaxis], means[np.newaxis]) == pytest.approx([96 / (1 - mean / 2)], rel=1e-15)
    assert free.quote(samples, means).plays == pytest.approx(96 / (1 - mean / 2), rel=1e-15)


def test_a_linkage_is_known_by_its_name_or_stands_for_itself():
    own = Single()
    assert find_linkage("free") is LINKAGES["free"]
    assert find_linkage(own) is own


def test_a_linkage_of_ones_own_has_bounds_like_any_other():
    class Circular(Single):
        name = "circular"

    time = lb.bounds.characteristic_time([0.2, 0.6], Circular())
    assert time.linkage == "circular"
    assert time.value == lb.bounds.characteristic_time([0.2, 0.6], "single").value


def test_a_linkage_with_parts_missing_is_told_which():
    class Unpriced:
        name = "unpriced"
        fulfil = plan = allows = price = None

    with pytest.raises(lb.InvalidParameter, match="has no words, in_order, tries_one, quote, cost_rows, "):
        lb.bounds.lower([0.2, 0.6], 0.1, Unpriced())
