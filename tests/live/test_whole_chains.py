"""Plays that go on with the rest of the arms: who is served, what is counted, and what is on record."""

import json
from bisect import insort
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.linkage import find_linkage
from linkedbandits.live.answers import NO_HIT
from linkedbandits.live.chain_record import (
    LEAST_BETWEEN,
    ChainRecord,
    arms_of,
    order_of,
    ranked,
    rest_of,
    with_rest,
)
from linkedbandits.live.run import Run
from linkedbandits.model import Needs
from linkedbandits.policy import LaneState, Policy, open_lanes

LABELS = ("north", "east", "south", "west")
MEANS = np.array([0.5, 0.7, 0.3, 0.2])
POLICIES = [
    (lb.LinkedElimination(0.1), "ordered"),
    (lb.LinkedElimination(0.1), "free"),
    (lb.LinkedElimination(0.1), "single"),
    (lb.LinkedElimination(0.1), "suffix"),
    (lb.LinkedLead(0.1, gap=0.1), "ordered"),
    (lb.LinkedDuels(0.1), "free"),
    (lb.UniformSampling(samples=50), "ordered"),
    (lb.MaximalSampling(plays=200), "ordered"),
    (lb.LinkedHalving(200), "free"),
]
INDEPENDENT = [(policy, linkage) for policy, linkage in POLICIES if policy.assumptions(find_linkage(linkage))]


def named(value) -> str:
    return value if isinstance(value, str) else value.name


def new(policy, linkage, **options) -> lb.Experiment:
    return lb.Experiment(LABELS, policy, linkage=linkage, whole_chains=True, **options)


def serve(exp, play, works) -> str | None:
    """Try all of a play, as a chain does."""
    hit = next((label for label in play.arms + play.rest if works[LABELS.index(label)]), None)
    exp.tell(play.id, hit)
    return hit


@given(st.permutations(range(6)), st.integers(min_value=1, max_value=6))
def test_a_play_is_its_arms_and_its_rest(order, split):
    arms, rest = np.array(order[:split]), np.array(order[split:], dtype=np.int64)
    play = with_rest(arms, rest)
    assert (arms_of(play).tolist(), rest_of(play).tolist()) == (order[:split], order[split:])
    assert order_of(play).tolist() == order


def test_without_whole_chains_there_is_no_rest_and_a_hit_in_it_is_refused():
    exp = lb.Experiment(LABELS, lb.LinkedDuels(0.1), linkage="free")
    play = exp.ask()
    assert (play.rest, exp.whole_chains, exp.learning) == ((), False, None)
    with pytest.raises(lb.InvalidParameter, match="whole_chains=True"):
        exp.tell(play.id, next(label for label in LABELS if label not in play.arms))
    assert exp.plays == 0


@pytest.mark.parametrize(("policy", "linkage"), POLICIES, ids=named)
def test_every_play_has_all_arms_and_a_customer_fails_only_if_all_do(policy, linkage):
    exp, rng = new(policy, linkage), np.random.default_rng(3)
    failed = all_failed = 0
    while not exp.done and exp.plays < 3_000:
        play, works = exp.ask(), rng.random(4) < MEANS
        assert sorted(play.arms + play.rest) == sorted(LABELS)
        failed += serve(exp, play, works) is None
        all_failed += not works.any()
    assert failed == all_failed == exp.learning.failed
    assert sorted(exp.order) == sorted(LABELS)
    assert exp.order[0] == exp.recommend().arm


@pytest.mark.parametrize(("policy", "linkage"), POLICIES, ids=named)
def test_saved_and_opened_at_every_moment_it_is_the_same(policy, linkage):
    """With plays out, given up, spare and late."""
    rng = np.random.default_rng(4)
    exp, out = new(policy, linkage), []
    for step in range(300):
        if exp.done or exp.plays + len(out) == 190:
            break
        out.append(exp.ask())
        if step % 3 == 2:
            for _ in range(2):
                serve(exp, out.pop(int(rng.integers(len(out)))), rng.random(4) < MEANS)
        if step % 20 == 19:
            exp.abandon(out[0].id)
            if step % 40 == 39:
                serve(exp, out.pop(0), rng.random(4) < MEANS)
        if step % 10 == 9:
            again = lb.Experiment.from_json(exp.to_json())
            assert again.to_json() == exp.to_json()
            assert (again.order, again.learning, again.whole_chains) == (exp.order, exp.learning, True)
            exp = again
    assert exp.plays > 30


@pytest.mark.parametrize(("policy", "linkage"), POLICIES, ids=named)
def test_what_may_fail_together_is_decided_as_if_there_were_no_rest(policy, linkage):
    """Where the policy does not take arms to be independent; where it does, the rest has samples to give."""
    means = np.array([0.5, 0.6, 0.3, 0.2])

    def play(whole: bool) -> lb.Experiment:
        exp = lb.Experiment(LABELS, policy, linkage=linkage, whole_chains=whole, seed=5)
        rng = np.random.default_rng(6)
        while not exp.done:
            asked, works = exp.ask(), rng.random(4) < means
            tried = asked.arms + asked.rest
            exp.tell(asked.id, next((label for label in tried if works[LABELS.index(label)]), None))
        return exp

    whole, parts = play(True), play(False)
    if (policy, linkage) in INDEPENDENT:
        assert sum(each.samples for each in whole.estimates()) == whole.learning.attempts
        return
    assert whole.recommend() == parts.recommend()
    if linkage == "single":  # every play has one arm, which is the first
        assert whole.estimates() == parts.estimates()
    assert sum(each.samples for each in whole.estimates()) == whole.plays


class Tapes:
    """The j-th sample of an arm is the same, in whichever play it is taken."""

    def __init__(self, seed: int) -> None:
        self._outcomes = np.random.default_rng(seed).random((5_000, 4)) < MEANS
        self.taken = np.zeros(4, dtype=np.int64)

    def hit(self, order) -> int:
        for arm in order.tolist():
            self.taken[arm] += 1
            if self._outcomes[self.taken[arm] - 1, arm]:
                return arm
        return NO_HIT


@pytest.mark.parametrize("seed", range(5))
def test_samples_of_the_rest_are_the_next_ones_of_independent_arms(seed):
    """One play at a time, a policy that asks for needs sees the same coins with and without whole chains.

    So it comes to the same answer with the same samples, in fewer plays or as many: the rest gives some for nothing.
    """
    runs = []
    for whole in (False, True):
        run, tapes = Run(lb.LinkedElimination(0.1), find_linkage("ordered"), 4, whole_chains=whole), Tapes(seed)
        while run.decision is None:
            number, play = run.hand_out()
            run.bring(number, tapes.hit(order_of(play)))
        assert np.array_equal(run.totals()[0], tapes.taken)
        runs.append(run)
    parts, whole = runs
    assert whole.decision.top == parts.decision.top
    assert whole.state_as_json()["still_in"] == parts.state_as_json()["still_in"]
    assert whole.decision.plays <= parts.decision.plays


@dataclass(frozen=True)
class FiveAtATime(Policy[LaneState]):
    """Asks for five samples of every arm, eight times, whatever comes: so the mean of what it sees has no bias."""

    name = "five-at-a-time"
    asks = "needs"
    status_at_stop = "exhausted"
    error_bound = None
    seen: list[np.ndarray] = field(default_factory=list)

    def start(self, lanes, arms, seeds):
        return LaneState(**open_lanes(lanes, arms))

    def request(self, state):
        return Needs(np.full(state.still_in.shape, 5))

    def observe(self, state, counts):
        self.seen.append(counts.successes[0])
        if len(self.seen) == 8:
            state.stopped[:] = True


def test_lateness_that_depends_on_the_outcome_does_not_bias_the_samples_of_the_rest():
    """Answers come back later by thirty plays for every arm that failed.

    The average of 170 experiments, 40 samples of every arm each, is within 4.5 standard errors, 0.0273, of the mean:
    false alarm 7e-6 an arm. If only those spare plays could be claimed that are back, it would be 0.034 and 0.043 off
    for the last two arms.
    """
    rng, total = np.random.default_rng(12), np.zeros(4)
    for _ in range(170):
        policy = FiveAtATime()
        run = Run(policy, find_linkage("ordered"), 4, whole_chains=True)
        out: list[tuple[int, int, int]] = []
        while run.decision is None:
            number, play = run.hand_out()
            works = rng.random(4) < MEANS
            tried = order_of(play).tolist()
            place = next((place for place, arm in enumerate(tried) if works[arm]), len(tried))
            insort(out, (number + 30 * place, number, tried[place] if place < len(tried) else NO_HIT))
            while out and out[0][0] <= number and run.decision is None:
                _, told, hit = out.pop(0)
                run.bring(told, hit)
        total += sum(policy.seen) / 40
    assert np.abs(total / 170 - MEANS).max() < 4.5 * 0.5 / np.sqrt(170 * 40)


def test_the_rest_is_in_the_best_order_known():
    """Behind a failed duel of two others, the one that works there comes first."""
    exp, rng = new(lb.LinkedDuels(1e-9), "free"), np.random.default_rng(7)
    works = {"north": 0.5, "east": 0.5, "south": 0.02, "west": 0.45}
    seen = []
    for _ in range(1_500):
        if exp.done:
            break
        play = exp.ask()
        hit = next((label for label in play.arms + play.rest if rng.random() < works[label]), None)
        exp.tell(play.id, hit)
        seen.append(play)
    behind = [play.rest for play in seen[100:] if "west" in play.rest]
    assert len(behind) > 10
    assert all(rest[0] == "west" for rest in behind)
    assert exp.order[-1] == "south"


def test_an_arm_is_not_put_last_for_having_been_last():
    """Requests are easy or hard; on hard ones only ``south`` works now and then. Tries further behind do not count."""
    record = ChainRecord(4, independent=False)
    play = with_rest(np.array([0]), np.array([1, 2, 3]))
    for _ in range(100):
        record.add(play, hit=NO_HIT)
    assert record.rates().tolist() == [0.5, 1 / 102, 0.5, 0.5]
    record.add(play, hit=2)
    assert record.rates()[2] == 0.5
    record.add(with_rest(np.array([0, 1]), np.array([2, 3])), hit=2)
    assert record.rates()[2] == 2 / 3


def test_for_independent_arms_every_try_counts():
    record = ChainRecord(3, independent=True)
    record.add(with_rest(np.array([0]), np.array([1, 2])), hit=2)
    assert record.rates().tolist() == [1 / 3, 1 / 3, 2 / 3]


def test_the_same_arms_are_the_same_play_until_the_order_changes():
    record = ChainRecord(3, independent=True)
    first = record.play(np.array([0]))
    assert record.play(np.array([0])) is first
    assert rest_of(first).tolist() == [1, 2]
    for _ in range(LEAST_BETWEEN):
        record.add(first, hit=2)
    assert rest_of(record.play(np.array([0]))).tolist() == [2, 1]


def test_the_price_of_learning_counts_attempts_and_costs_against_the_best_order():
    record = ChainRecord(2, independent=True, costs=(1.0, 3.0))
    for _ in range(8):
        record.add(with_rest(np.array([0]), np.array([1])), hit=1)
    record.add(with_rest(np.array([1]), np.array([0])), hit=NO_HIT)
    learning = record.learning(np.array([1, 0]), mean_of_first=0.75)
    assert (learning.plays, learning.attempts, learning.failed) == (9, 18, 1)
    assert learning.of_best_order == pytest.approx(9 * 1.25)
    assert learning.above == pytest.approx(18 - 9 * 1.25)
    assert (learning.cost, learning.cost_of_best_order) == (36.0, pytest.approx(9 * (3 + 0.25)))
    assert learning.cost_above == pytest.approx(36 - 9 * 3.25)
    without_costs = ChainRecord(2, record._independent)
    without_costs.fill(record.to_json())
    assert without_costs.learning(np.array([1, 0]), 0.75).cost_above is None


def test_the_rest_is_in_the_order_of_success_per_cost():
    record = ChainRecord(3, independent=False, costs=(1.0, 4.0, 1.5))
    assert rest_of(record.play(np.array([0]))).tolist() == [2, 1]  # of which nothing is known but what they cost
    for hit in (1, 1, 1, NO_HIT) * 8:
        record.add(with_rest(np.array([0]), np.array([1, 2])), hit)
    for hit in (2, NO_HIT) * 16:
        record.add(with_rest(np.array([0]), np.array([2, 1])), hit)
    assert rest_of(record.play(np.array([0]))).tolist() == [2, 1]
    assert record.rank([0]).tolist() == [0, 2, 1]
    again, without_costs = (ChainRecord(3, record._independent, costs) for costs in ((1.0, 4.0, 1.5), ()))
    for each in (again, without_costs):
        each.fill(record.to_json())
    assert again.rank([0]).tolist() == [0, 2, 1]
    assert without_costs.rank([0]).tolist() == [0, 1, 2]


def test_before_much_is_known_behind_failures_the_order_goes_by_means():
    """By a single failure there, arm 1 would come last; what was seen there outweighs the mean when it is much."""
    record, means = ChainRecord(3, independent=False), np.array([0.9, 0.8, 0.6])
    record.add(with_rest(np.array([0]), np.array([1, 2])), 2)
    assert record.rank([0]).tolist() == [0, 2, 1]
    assert record.rank([0], means).tolist() == [0, 1, 2]
    for _ in range(20):
        record.add(with_rest(np.array([0]), np.array([1, 2])), 2)
    assert record.rank([0], means).tolist() == [0, 2, 1]


def test_where_arms_are_independent_every_try_is_in_the_order_already():
    record = ChainRecord(3, independent=True)
    record.add(with_rest(np.array([0]), np.array([1, 2])), 2)
    assert record.rank([0], np.array([0.9, 0.8, 0.6])).tolist() == record.rank([0]).tolist() == [0, 2, 1]


def test_the_order_of_an_experiment_goes_by_means_too():
    exp = new(lb.LinkedDuels(0.1), "free")
    for _ in range(12):
        play = exp.ask()
        exp.tell(play.id, play.arms[0] if play.arms[0] != exp.arms[-1] else None)
    assert exp.order[-1] == exp.arms[-1]
    assert exp.chains.rates()[-1] == exp.chains.rates()[0] == 0.5  # nothing was seen in the rest


def test_ranked_by_cost():
    assert ranked([2], np.array([0.9, 0.5, 0.1]), (3.0, 1.0, 1.0)).tolist() == [2, 1, 0]


def test_attempts_have_the_rest_and_a_repeated_answer_is_known():
    exp = new(lb.LinkedDuels(0.1), "free")
    play = exp.ask()
    assert exp.tell(play.id, play.rest[1]) == "counted"
    assert exp.tell(play.id, play.rest[1]) == "repeated"
    with pytest.raises(lb.ConflictingTell):
        exp.tell(play.id, play.rest[0])
    attempts = exp.attempts()
    tried = [*play.arms, *play.rest]
    assert [attempts.options[option] for option in attempts.option.tolist()] == tried
    assert attempts.success.tolist() == [False, False, False, True]


def test_an_order_is_known_after_the_verdict():
    exp = new(lb.UniformSampling(samples=1), "ordered")
    while not exp.done:
        serve(exp, exp.ask(), np.array([False, True, False, False]))
    assert exp.order[0] == "east"
    with pytest.raises(lb.ExperimentFinished, match="order what to try from now on"):
        exp.ask()


def test_costs_of_the_policy_are_in_the_order_and_in_the_price():
    exp = new(lb.LinkedElimination(0.1, costs=(1.0, 1.0, 0.1, 5.0)), "ordered")
    rng = np.random.default_rng(2)
    while not exp.done:
        serve(exp, exp.ask(), rng.random(4) < 0.5)
    assert (exp.order[0], exp.order[-1]) == ("south", "west")
    assert exp.learning.cost is not None
    again = lb.Experiment.from_json(exp.to_json())
    assert (again.order, again.learning) == (exp.order, exp.learning)


@pytest.mark.parametrize(("policy", "linkage"), POLICIES, ids=named)
def test_what_was_played_is_a_log_for_a_policy_that_asks_otherwise(policy, linkage, monkeypatch):
    exp, rng = new(policy, linkage), np.random.default_rng(8)
    for _ in range(40):
        if not exp.done:
            serve(exp, exp.ask(), rng.random(4) < MEANS)
    if exp.done:
        return
    out = exp.ask()
    saved = exp.to_json()
    monkeypatch.setattr(Run, "_asks_as_in", lambda *_: False)
    again = lb.Experiment.from_json(saved)
    assert again.upgrade is not None
    assert [(each.samples, each.successes) for each in again.estimates()] == [
        (each.samples, each.successes) for each in exp.estimates()
    ]
    assert again.learning.attempts == exp.learning.attempts
    serve(again, out, rng.random(4) < MEANS)
    while not again.done:
        serve(again, again.ask(), rng.random(4) < MEANS)
    samples = sum(each.samples for each in again.estimates())
    assert samples == (again.learning.attempts if (policy, linkage) in INDEPENDENT else again.plays)


def test_a_save_says_that_chains_are_whole():
    content = json.loads(new(lb.LinkedDuels(0.1), "free").to_json())["content"]
    assert content["chains"] is not None
