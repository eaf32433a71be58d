"""LinkedElimination: valid, economical, and ending, for the best arm, the k best, and with a tolerance."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.intervals import share_interval
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import Counts
from linkedbandits.policies.linked_elimination import RATIOS, _recalled, divergence, guarded_divergences
from tests.support.coin_flips import run_live


def upper_limit(runs: lb.Runs) -> float:
    """Above the true error rate with probability 99.9 %."""
    return share_interval(int((~runs.correct).sum()), runs.plays.size, confidence=0.998)[1]


HARD = {
    "near-equal, best first": [0.52, 0.5, 0.3],
    "near-equal, best last": [0.3, 0.5, 0.52],
    "means 0 and 1": [0.0, 1.0, 0.9],
    "decreasing": lb.scenarios.decreasing(5),
    "one-sparse": lb.scenarios.one_sparse(6, best=3),
}


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("make", [lb.LinkedElimination, lb.LinkedTrackAndStop])
@pytest.mark.parametrize("name", HARD)
def test_the_answer_is_wrong_at_most_delta_of_the_time(name, make):
    """500 trials, of which 29 may be wrong for the 99.9 % limit to lie below delta.

    At most 2 % of the runs were in 1,500 trials of each case; a policy as good as that is refused with a probability
    below 1e-6, and one that errs 15 % of the time passes with one below 1e-9.

    The full check, 20,000 trials on 43 instances, is `python -m benchmarks validity`.
    """
    runs = lb.simulate(HARD[name], make(delta=0.1), trials=500, seed=8)
    assert runs.confident.all()
    assert upper_limit(runs) <= 0.1


@pytest.mark.statistical
def test_it_is_not_too_careful_to_err_ever():
    """It errs in one run of a hundred: 600 without an error have a probability of 0.2 %."""
    runs = lb.simulate(lb.scenarios.decreasing(10), lb.LinkedElimination(delta=0.1), trials=600, seed=8)
    assert 0 < runs.error_rate() <= 0.1


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("means", "delta", "most"),
    [
        (lb.scenarios.one_sparse(10), 0.1, 5.0),
        (lb.scenarios.one_sparse(10), 1e-12, 1.5),
        (lb.scenarios.decreasing(10), 0.1, 8.0),
        (lb.scenarios.decreasing(10), 1e-12, 1.8),
        (lb.scenarios.one_sparse(50), 0.1, 7.0),
        (lb.scenarios.one_sparse(50), 1e-12, 1.8),
        (lb.scenarios.increasing(50), 0.1, 7.0),
        (lb.scenarios.increasing(50), 1e-12, 1.8),
    ],
)
def test_the_better_of_two_policies_is_within_a_small_factor_of_the_bound(means, delta, most):
    """Mean plays over what no policy can beat; the standard error of a ratio is below 4 % of it."""
    least = lb.bounds.lower(means, delta)
    ratios = [
        lb.simulate(means, make(delta=delta), trials=150, seed=4).plays.mean() / least
        for make in (lb.LinkedElimination, lb.LinkedTrackAndStop)
    ]
    assert 1 <= min(ratios) <= most


@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_it_needs_a_tenth_of_linked_ege_and_a_third_of_uniform_sampling(linkage):
    means = lb.scenarios.one_sparse(10)
    ours, ege, uniform = (
        lb.simulate(means, policy, linkage=linkage, trials=10, seed=4).plays.mean()
        for policy in (lb.LinkedElimination(0.1), lb.LinkedEGE(0.1, gap=0.05), lb.UniformSampling(0.1))
    )
    assert ours <= ege / 10
    assert ours <= uniform / 3


def dropped_by_bad_luck(lanes: int) -> tuple[lb.LinkedElimination, object]:
    """A run on 1-sparse arms whose best arm has just been dropped, with the other four tied exactly."""
    policy = lb.LinkedElimination(delta=0.1)
    state = policy.start(lanes, 5, np.zeros(lanes, dtype=np.uint64))
    rng = np.random.default_rng(1)
    for _ in range(20):
        unlucky = rng.binomial(state.needs, [0.0, 0.3, 0.05, 0.05, 0.05])
        policy.observe(state, Counts(state.needs, unlucky))
    return policy, state


def test_a_run_ends_even_after_the_best_arm_was_dropped():
    """The best arm returns as the challenger of the rest, so that they are dropped too, or it was right anyway."""
    policy, state = dropped_by_bad_luck(lanes=40)
    unlucky = ~state.still_in[:, 0]
    assert unlucky.any()
    rng = np.random.default_rng(2)
    for _ in range(600):
        if state.stopped.all():
            break
        running = ~state.stopped
        state.keep(running)
        policy.observe(state, Counts(state.needs, rng.binomial(state.needs, [0.1, 0.05, 0.05, 0.05, 0.05])))
    assert state.stopped.all()


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("means", "k"), [([0.1, 0.6, 0.3, 0.55], 2), ([0.5, 0.5, 0.5, 0.2, 0.1], 3), (lb.scenarios.increasing(8), 3)]
)
def test_the_k_best_are_found_as_a_set_and_ranked(means, k):
    """Not one of 1,000 trials was wrong, and 22 of 400 may be: a false alarm is below 1e-6."""
    runs = lb.simulate(means, lb.LinkedElimination(delta=0.1, k=k), trials=400, seed=2)
    assert runs.confident.all()
    assert upper_limit(runs) <= 0.1
    assert runs.top.shape == (400, k)
    ranked = np.diff(np.asarray(means)[runs.top], axis=1) <= 0
    assert ranked.mean() > 0.7  # by estimate, so near-equal arms may stand either way


def test_live_the_k_best_are_in_the_verdict():
    exp = run_live([0.6, 0.9, 0.05], lb.LinkedElimination(delta=0.01, k=2), "ordered", seed=1, max_plays=5000)
    verdict = exp.recommend()
    assert (verdict.status, verdict.arm, verdict.top) == ("confident", 1, (1, 0))
    assert lb.Experiment.from_json(exp.to_json()).recommend() == verdict


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("means", "epsilon"),
    [
        ([0.1] * 5, 0.05),
        ([0.5, 0.5, 0.3], 0.1),
        ([0.0, 0.0], 0.1),
        ([1.0, 1.0, 0.4], 0.1),
        ([0.5, 0.45, 0.2], 0.02),
        ([0.97, 0.97], 0.05),
        ([0.9, 0.9], 0.2),
        ([0.7, 0.7], 0.4),
    ],
)
def test_with_a_tolerance_exact_ties_end_and_the_answer_is_within_it(means, epsilon):
    """At most 2 of 1,000 trials were wrong, and 22 of 400 may be: a false alarm is below 1e-6."""
    runs = lb.simulate(means, lb.LinkedElimination(delta=0.1, epsilon=epsilon), trials=400, seed=2, max_plays=10**7)
    assert runs.confident.all()
    assert upper_limit(runs) <= 0.1


def test_a_tolerance_above_the_gap_ends_the_run_sooner():
    means = lb.scenarios.decreasing(10)
    exact, near = (
        lb.simulate(means, lb.LinkedElimination(0.1, epsilon=epsilon), trials=200, seed=3).plays.mean()
        for epsilon in (0.0, 0.01)
    )
    assert near < 0.7 * exact


ALIKE = {
    "best far from a near-equal": ([0.3, 0.05, 0.05, 0.29, 0.05, 0.05], 1),
    "a pulse": ([0.05, 0.05, 0.2, 0.45, 0.44, 0.2, 0.05, 0.05], 1),
    "a wide pulse": ([0.1, 0.2, 0.28, 0.3, 0.3, 0.28, 0.2, 0.1], 2),
    "an exact tie of neighbours": ([0.1, 0.1, 0.3, 0.3, 0.1], 1),
    "best at an end": ([0.1, 0.1, 0.1, 0.28, 0.3], 1),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", ALIKE)
def test_with_neighbours_the_answer_is_within_so_many_places_of_the_best(name):
    """1,000 trials; errors are below 0.03, so the 99.9 % limit is above 0.1 by chance with probability below 1e-6.

    Were runs to end with survivors one place farther apart, the first and the last of these would fail.
    """
    means, neighbours = ALIKE[name]
    policy = lb.LinkedElimination(delta=0.1, neighbours=neighbours)
    runs = lb.simulate(means, policy, trials=1000, seed=5, max_plays=10**6)
    assert runs.confident.all()
    assert upper_limit(runs) <= 0.1


def test_neighbours_that_nearly_tie_no_longer_keep_a_run_from_ending():
    means, neighbours = ALIKE["a pulse"]
    exact, near = (
        lb.simulate(means, lb.LinkedElimination(0.1, neighbours=places), trials=200, seed=3).plays.mean()
        for places in (0, neighbours)
    )
    assert near < 0.02 * exact


def test_live_a_verdict_with_neighbours_survives_saving():
    policy = lb.LinkedElimination(delta=0.05, neighbours=1)
    exp = run_live([0.05, 0.6, 0.6, 0.05, 0.05], policy, "ordered", seed=1, max_plays=5000)
    verdict = exp.recommend()
    assert (verdict.status, verdict.arm in (1, 2)) == ("confident", True)
    assert lb.Experiment.from_json(exp.to_json()).recommend() == verdict


def ratio_of(policy, predictions, samples, leaders: list[int]) -> float:
    """How many samples of a leader for one of a rival it asks, all others being rivals."""
    arms = len(predictions)
    state = policy.start(1, arms, np.zeros(1, dtype=np.uint64))
    state.block[:] = 1
    state.prediction, state.samples = np.array([predictions]), np.array([samples], dtype=np.float64)
    leading = np.isin(np.arange(arms), leaders)[np.newaxis]
    amounts = policy.allocate(state, ~leading, leading)
    assert (amounts[~leading] == 1).all()
    assert (amounts[leading] == state.ratio[0]).all()
    return float(state.ratio[0])


@pytest.mark.parametrize(
    ("leader", "rival", "rivals", "ratio"),
    [
        # Divergences alike: (m + r)(1/r + 1) is least at the root of m.
        (0.7, 0.3, 1, 1.0),
        (0.7, 0.3, 2, 1.5),
        (0.7, 0.3, 4, 2.3),
        (0.7, 0.3, 9, 3.5),
        (0.7, 0.3, 30, 5.5),
        # kl(0.99, 0.5) = 0.637 and kl(0.5, 0.99) = 1.614: the leader's samples are worth less, so more are asked.
        (0.99, 0.5, 1, 1.5),
        (0.99, 0.5, 3, 2.3),
        (0.99, 0.5, 7, 3.5),
        # Here they are worth more: the root of 16 * 0.637 / 1.614 is 2.5, where equal divergences would make it 4.
        (0.5, 0.01, 1, 1.0),
        (0.5, 0.01, 16, 2.3),
    ],
)
def test_the_leader_is_asked_by_the_root_of_what_its_samples_and_its_rivals_are_worth(leader, rival, rivals, ratio):
    """A play a sample. (m + r)(1/(r A) + 1/B) is least at r = sqrt(m B/A), A = kl(leader, rival), B the other way."""
    policy = lb.LinkedElimination(0.1, price=LINKAGES["single"].price)
    assert ratio_of(policy, [leader] + [rival] * rivals, [1e15] * (rivals + 1), [0]) == ratio


def kl(p: float, q: float) -> float:
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


@given(
    predictions=st.lists(st.floats(0.05, 0.95), min_size=3, max_size=7, unique=True),
    k=st.integers(1, 2),
    linkage=st.sampled_from(list(LINKAGES)),
)
def test_the_ratio_buys_evidence_on_the_closest_pair_most_cheaply(predictions, k, linkage):
    """Of the weakest leader and the strongest rival. Where all is known to many digits, by the formula alone."""
    leaders = sorted(np.argsort(predictions)[-k:].tolist())
    weakest = min(predictions[arm] for arm in leaders)
    strongest = max(mean for arm, mean in enumerate(predictions) if arm not in leaders)
    if weakest - strongest < 0.01:
        return
    price = LINKAGES[linkage].price

    def cost(ratio: float) -> float:
        """Plays for one unit of evidence."""
        needs = np.array([[ratio if arm in leaders else 1.0 for arm in range(len(predictions))]])
        evidence = 1 / (1 / (ratio * kl(weakest, strongest)) + 1 / kl(strongest, weakest))
        return float(price(needs, np.array([predictions]))[0]) / evidence

    policy = lb.LinkedElimination(0.1, k=k, price=price)
    chosen = ratio_of(policy, predictions, [1e15] * len(predictions), leaders)
    assert cost(chosen) == pytest.approx(min(map(cost, RATIOS)), rel=1e-6)


def test_a_block_asks_one_step_of_every_rival_and_the_ratio_of_the_leader():
    policy = lb.LinkedElimination(0.01, parallel=40, price=LINKAGES["single"].price)
    state = policy.start(1, 5, np.zeros(1, dtype=np.uint64))
    policy.observe(state, Counts(state.needs, np.array([[0, 0, 1, 0, 0]])))
    ratio = float(state.ratio[0])
    assert ratio in RATIOS[1:]
    assert state.needs.tolist() == [[40, 40, np.ceil(40 * ratio), 40, 40]]


def test_a_guarded_gap_is_the_gap_and_its_standard_error():
    """0.21/21 + 0.21/42 = 0.015 is the variance of the gap 0.4; it moves the rival down."""
    low = 0.7 - (0.16 + 0.015) ** 0.5
    towards, back = guarded_divergences(np.array([0.3]), np.array([20.0]), np.array([0.7]), np.array([41.0]))
    assert towards[0] == pytest.approx(kl(0.7, low))
    assert back[0] == pytest.approx(kl(low, 0.7))
    towards, back = guarded_divergences(np.array([0.3]), np.array([0.0]), np.array([0.4]), np.array([0.0]))
    assert towards[0] == pytest.approx(kl(0.4, 0.15))  # but not below half of the lower
    assert back[0] == pytest.approx(kl(0.15, 0.4))


def test_a_guarded_gap_is_never_small_without_samples():
    few, many = (
        guarded_divergences(np.array([0.1]), np.array([n]), np.array([0.1001]), np.array([n]))[0][0] for n in (5.0, 1e9)
    )
    assert few > 1000 * many


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"delta": 0}, "delta=0 is not between 0 and 1"),
        ({"delta": 1e-250}, "delta=1e-250 is below 1e-200"),
        ({"delta": 0.1, "k": 0}, "k=0 is not a whole number of at least 1"),
        ({"delta": 0.1, "epsilon": -0.1}, "epsilon=-0.1 is not at least 0 and below 1"),
        ({"delta": 0.1, "epsilon": 1}, "epsilon=1 is not"),
        ({"delta": 0.1, "neighbours": -1}, "neighbours=-1 is not a whole number of at least 0"),
        ({"delta": 0.1, "neighbours": 1, "k": 2}, "neighbours=1 goes with k=1 alone, not k=2; leave one out"),
    ],
)
def test_bad_parameters_are_named_with_the_remedy(parameters, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.LinkedElimination(**parameters)


def test_as_many_best_arms_as_there_are_leave_nothing_to_decide():
    with pytest.raises(lb.InvalidParameter, match="k=3 best of 3 arms leaves nothing to decide; choose k below 3"):
        lb.simulate([0.1, 0.2, 0.3], lb.LinkedElimination(0.1, k=3))


def test_neighbours_that_reach_everywhere_leave_nothing_to_decide():
    with pytest.raises(lb.InvalidParameter, match="between 5 arms; choose neighbours of at most 1"):
        lb.simulate([0.1, 0.2, 0.3, 0.2, 0.1], lb.LinkedElimination(0.1, neighbours=2))


@pytest.mark.statistical
def test_arms_that_nearly_tie_after_a_quintillion_plays_are_not_told_apart_by_rounding():
    """The first two of 650 decreasing means differ by 3e-10: 21 runs are sure and wrong where logarithms lose that.

    At most a tenth may be; of 32 runs, 10 or more are then with probability 8e-4.
    """
    means = lb.scenarios.decreasing(650)[:20]
    runs = lb.simulate(means, lb.LinkedElimination(delta=0.1), trials=32, seed=3)
    assert (runs.confident & ~runs.correct).sum() < 10


PER_COST = {
    "the best is not the likeliest": ([0.3, 0.5, 0.2], [1, 2, 1]),
    "nearly in proportion to cost": ([0.13, 0.2, 0.4, 0.8], [1, 2, 4, 8]),
    "some cannot be worth their cost": ([0.5, 0.9, 0.99], [1, 2, 5]),
    "the dearest is best": ([0.1, 0.2, 0.9], [1, 2, 5]),
    "means 0 and 1": ([0.0, 1.0, 0.9], [1, 2, 2]),
    "far apart": ([0.003, 0.9, 0.5], [0.001, 1, 1]),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", PER_COST)
def test_with_costs_another_arm_than_that_with_most_successes_per_cost_is_named_at_most_delta_of_the_time(name):
    """500 trials; the errors are 1 % or less, so the 99.9 % limit is passed with a probability below 1e-6."""
    means, costs = PER_COST[name]
    runs = lb.simulate(means, lb.LinkedElimination(delta=0.1, costs=costs), trials=500, seed=8)
    assert runs.confident.all()
    assert runs.costs == tuple(costs)
    assert upper_limit(runs) <= 0.1
    assert runs.plays.mean() < 6 * lb.bounds.lower(means, 0.1, costs=costs)


@pytest.mark.statistical
def test_of_arms_that_tie_per_cost_each_is_dropped_at_most_delta_of_the_time():
    """4,000 lanes; the limit allows five standard errors (false alarm below 1e-6)."""
    means, delta, lanes = np.array([0.1, 0.2, 0.4]), 0.2, 4000
    policy = lb.LinkedElimination(delta=delta, costs=[1, 2, 4])
    state = policy.start(lanes, 3, np.zeros(lanes, dtype=np.uint64))
    rng = np.random.default_rng(3)
    for _ in range(60):
        policy.observe(state, Counts(state.needs, rng.binomial(state.needs, means)))
    dropped = (~state.still_in).mean(axis=0)
    assert (dropped < delta + 5 * np.sqrt(delta * (1 - delta) / lanes)).all()
    assert (dropped > 0.001).all()


def test_equal_costs_change_nothing():
    means = [0.3, 0.5, 0.2]
    plain, priced = (
        lb.simulate(means, lb.LinkedElimination(0.1, costs=costs), trials=100, seed=3) for costs in ((), (7, 7, 7))
    )
    assert np.array_equal(plain.top, priced.top)
    assert np.array_equal(plain.plays, priced.plays)


def test_only_the_ratios_of_costs_count():
    means = [0.3, 0.5, 0.2]
    small, large = (
        lb.simulate(means, lb.LinkedElimination(0.1, costs=costs), trials=100, seed=3)
        for costs in ((0.25, 0.5, 0.125), (2, 4, 1))
    )
    assert np.array_equal(small.top, large.top)
    assert np.array_equal(small.plays, large.plays)


def test_with_costs_a_dropped_arm_is_measured_by_what_it_would_have_to_be_worth():
    """Dropped with the mean of the leader: at half the cost that would be best, at twice the cost it is nothing."""
    recalled = []
    for cost in (0.5, 2.0):
        policy = lb.LinkedElimination(delta=0.1, costs=[1, cost])
        state = policy.start(1, 2, np.zeros(1, dtype=np.uint64))
        policy.observe(state, Counts(state.needs, np.array([[1, 0]])))
        state.still_in[0, 1] = False
        state.samples, state.successes = np.array([[1e5, 1e3]]), np.array([[3e4, 3e2]])
        state.level = np.array([1e5])
        state.leaders = np.array([[0]])
        to_beat = policy._to_beat(state, np.array([[0.3]]))
        assert to_beat.tolist() == [[0.3, 0.3 * cost]]
        recalled.append(bool(_recalled(state, to_beat)[0, 1]))
    assert recalled == [True, False]


def test_live_with_costs_a_leader_and_a_verdict_are_by_successes_per_cost_and_survive_saving():
    policy = lb.LinkedElimination(delta=0.01, costs=[1, 4, 1])
    exp = lb.Experiment(["cheap", "dear", "bad"], policy, linkage="single")
    works = np.random.default_rng(1)
    means = {"cheap": 0.5, "dear": 0.9, "bad": 0.1}
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, play.arms[0] if works.random() < means[play.arms[0]] else None)
        if exp.plays == 60:
            assert {one.arm: one.mean for one in exp.estimates()}["dear"] > 0.5  # estimates stay means
            assert exp.recommend().arm == "cheap"
            exp = lb.Experiment.from_json(exp.to_json())
            assert exp.policy.costs == (1.0, 4.0, 1.0)
    assert (exp.recommend().arm, exp.recommend().status) == ("cheap", "confident")
    assert lb.Experiment.from_json(exp.to_json(), policy=policy).recommend() == exp.recommend()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"k": 2}, "leave out k=2, or the costs"),
        ({"epsilon": 0.1}, "leave out epsilon=0.1, or the costs"),
        ({"neighbours": 1, "epsilon": 0.1}, "leave out epsilon=0.1 and neighbours=1, or the costs"),
        ({"costs": [1, 0]}, "cost 0.0 of arm 1 is not positive and finite"),
    ],
    ids=str,
)
def test_what_does_not_go_with_costs_is_refused(other, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.LinkedElimination(**{"delta": 0.1, "costs": [1, 2]} | other)


def test_costs_for_another_number_of_arms_are_refused():
    with pytest.raises(lb.InvalidParameter, match="2 costs for 3 arms; give one for each arm"):
        lb.Experiment("abc", lb.LinkedElimination(0.1, costs=[1, 2]))


def test_with_costs_the_ratio_of_samples_is_the_cheapest_for_telling_what_arms_are_worth():
    """The rival is likelier, and worth less: by means alone the ratio would be another."""
    means = np.array([[0.05, 0.4]])
    ratios = []
    for costs in ((1, 20), ()):
        policy = lb.LinkedElimination(0.1, costs=costs)
        state = policy.start(1, 2, np.zeros(1, dtype=np.uint64))
        state.prediction, state.samples = means, np.full((1, 2), 1e6)
        ratios.append(float(policy._cheapest_ratio(state, np.array([[False, True]]), np.array([[True, False]]))[0]))
    towards, back = divergence(np.array(0.05), np.array(0.02)), divergence(np.array(0.4), np.array(1 - 1e-6))
    plays = {ratio: float(policy.price(np.array([[ratio, 1.0]]), means)[0]) for ratio in RATIOS}
    assert ratios[0] == min(RATIOS, key=lambda ratio: plays[ratio] * (1 / (ratio * towards) + 1 / back))
    assert ratios[0] != ratios[1]


def test_with_costs_the_arm_worth_most_is_named_where_all_were_dropped():
    named = []
    for costs in ((1, 4), ()):
        policy = lb.LinkedElimination(0.1, costs=costs)
        state = policy.start(1, 2, np.zeros(1, dtype=np.uint64))
        state.prediction, state.still_in = np.array([[0.3, 0.6]]), np.zeros((1, 2), dtype=bool)
        policy._answer(state)
        named.append(int(state.arm[0]))
    assert named == [0, 1]
