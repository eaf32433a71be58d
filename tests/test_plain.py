"""Policies for one run: they keep the contract of all policies, and a mistake in them is said in words."""

from __future__ import annotations

import copy
import json
import pickle
import random
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import Counts, Needs, Repeats
from linkedbandits.plain import PlainState
from linkedbandits.testing import PolicyCheckFailed, check_policy
from tests.support.every_policy import policy_id, some_linkage
from tests.support.plain_policies import PLAIN, ForSoManyPlays, InAnyOrder, OneArm, RandomTuples, SamplesAlone, TwoBest

MEANS = [0.15, 0.6, 0.3]


@pytest.mark.parametrize("policy", PLAIN, ids=policy_id)
def test_it_keeps_the_contract(policy):
    found = check_policy(policy, max_plays=2_000)
    assert any("played by hand, runs that take turns ask the same" in check for check in found.checks)


@pytest.mark.parametrize("policy", PLAIN, ids=policy_id)
def test_a_simulated_run_is_the_run_that_is_played_by_hand(policy):
    """One lane against the class itself: the same plays, told the same, end with the same answer."""
    seeds = np.array([7], dtype=np.uint64)
    state = policy.start(1, 3, seeds)
    alone = copy.deepcopy(policy)
    alone.begin(3, 7)
    flips = random.Random(3)
    while not state.stopped[0]:
        request = policy.request(state)
        asked = tuple(alone.ask())
        samples, successes = np.zeros((1, 3), dtype=np.int64), np.zeros((1, 3), dtype=np.int64)
        if isinstance(request, Needs):
            assert request.samples[0].tolist() == [asked.count(arm) for arm in range(3)]
            worked = {arm: flips.random() < MEANS[arm] for arm in set(asked)}
            for arm in asked:
                samples[0, arm] += 1
                successes[0, arm] += worked[arm]
                alone.tell((arm,), arm if worked[arm] else None)
        else:
            assert isinstance(request, Repeats)
            assert [arm for arm in request.order[0].tolist() if arm >= 0] == list(asked)
            assert request.times.tolist() == [1]
            hit = next((arm for arm in asked if flips.random() < MEANS[arm]), None)
            for arm in asked:
                samples[0, arm] += 1
                if arm == hit:
                    successes[0, arm] += 1
                    break
            alone.tell(asked, hit)
        policy.observe(state, Counts(samples, successes))
    best = alone.best()
    assert policy.answer(state)[0].tolist() == (list(best) if isinstance(best, list) else [best])
    assert state.arm[0] == policy.answer(state)[0, 0]


def test_it_is_called_by_its_class_in_kebab_case_unless_it_has_a_name():
    class UCB1Like(lb.PlainPolicy):
        pass

    class Named(lb.PlainPolicy):
        name = "something-else"

    class Heir(Named):
        pass

    assert (RandomTuples.name, UCB1Like.name, Named.name, Heir.name) == (
        *("random-tuples", "ucb1-like"),
        *("something-else", "heir"),
    )


def test_its_fields_say_what_it_looks_for():
    assert RandomTuples(delta=0.2).goal.delta == 0.2
    assert TwoBest().goal.k == 2
    assert (ForSoManyPlays(plays=9).goal.budget, ForSoManyPlays().status_at_stop) == (9, "exhausted")
    assert (RandomTuples().status_at_stop, RandomTuples().error_bound) == ("confident", None)


@pytest.mark.statistical
def test_simulated_runs_are_right_as_often_as_the_law_says():
    """Fixed seed. 200 of 0.9 and of 0.1 each are told apart but for a probability of 1e-50."""
    runs = lb.simulate([0.1, 0.9], RandomTuples(rounds=200), trials=20, seed=1)
    assert runs.error_rate() == 0
    means = runs.samples[:, 1] / runs.plays
    assert (means <= 1).all()


def test_lanes_do_not_share_a_policy():
    policy = RandomTuples()
    state = policy.start(3, 2, np.arange(3, dtype=np.uint64))
    assert len({id(run.policy) for run in state.runs}) == 3
    assert not hasattr(policy, "tried")


def test_a_part_that_was_taken_goes_its_own_way():
    policy = SamplesAlone()
    state = policy.start(2, 2, np.arange(2, dtype=np.uint64))
    before = state.to_json()
    taken = state.take(np.array([0, 0, 1]))
    one = np.array([[2, 2]] * 3)
    policy.observe(taken, Counts(one, np.array([[2, 2], [0, 0], [0, 0]])))
    assert state.to_json() == before
    worked = [run.policy.worked for run in taken.runs]
    assert sum(worked[0]) == 2
    assert sum(worked[1]) == sum(worked[2]) == 0
    state.put(np.array([1]), taken.take(np.array([0])))
    policy.observe(state, Counts(one[:2], np.zeros((2, 2), dtype=np.int64)))
    assert sum(taken.runs[0].policy.tried) == 2
    assert sum(state.runs[1].policy.tried) == 4


def test_a_state_is_its_history_and_is_led_through_it_again():
    policy = RandomTuples()
    state = policy.start(1, 3, np.array([5], dtype=np.uint64))
    for _ in range(4):
        order = policy.request(state).order[0]
        samples = np.zeros((1, 3), dtype=np.int64)
        samples[0, order[order >= 0]] = 1
        policy.observe(state, Counts(samples, np.zeros_like(samples)))
    read = PlainState.from_json(json.loads(json.dumps(state.to_json())))
    assert read.runs[0].policy is None
    assert policy.request(read).order.tolist() == policy.request(state).order.tolist()
    assert read.runs[0].policy.tried == state.runs[0].policy.tried


@dataclass
class DrawsFromElsewhere(RandomTuples):
    def begin(self, arms, seed):
        super().begin(arms, seed)
        self.random = random.Random()


def test_who_draws_from_elsewhere_is_found_out():
    with pytest.raises(PolicyCheckFailed):
        check_policy(DrawsFromElsewhere())


@dataclass
class KeepsInTheClass(RandomTuples):
    asks = "needs"
    turn = [0]  # noqa: RUF012 - the mistake

    def ask(self):
        self.turn[0] += 1
        return (self.turn[0] % len(self.tried),)


def test_who_keeps_something_in_the_class_is_found_out():
    with pytest.raises(PolicyCheckFailed):
        check_policy(KeepsInTheClass())


def changed(**methods):
    return dataclass(type("Wrong", (RandomTuples,), {"__annotations__": {}, "__module__": __name__, **methods}))()


@pytest.mark.parametrize(
    ("methods", "said"),
    [
        ({"ask": lambda self: ()}, r"ask\(\) of Wrong returned \(\); return one or several of the arms 0 to 2"),
        ({"ask": lambda self: (3,)}, r"returned \(3,\); return one or several of the arms 0 to 2"),
        ({"ask": lambda self: (-1,)}, "return one or several of the arms 0 to 2"),
        ({"ask": lambda self: 1}, r"ask\(\) of Wrong returned 1; return arms, as \(0, 2\)"),
        ({"ask": lambda self: ("a",)}, r"return arms, as \(0, 2\)"),
        ({"ask": lambda self: (0, 0)}, "return different arms"),
        ({"ask": lambda self: (1, 0)}, 'arms in increasing order; or write asks = "tuples", for linkage free'),
        ({"best": lambda self: 3}, r"best\(\) of Wrong returned 3; return one of the arms 0 to 2"),
        ({"best": lambda self: (0, 1)}, "return one of the arms 0 to 2"),
        ({"k": 2, "best": lambda self: (0, 0)}, "return 2 different ones of the arms 0 to 2"),
    ],
)
def test_what_cannot_be_played_or_is_no_answer_is_refused_in_words(methods, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        lb.simulate(MEANS, changed(**methods), trials=2)


def test_a_class_with_an_init_of_its_own_is_told_to_be_a_dataclass():
    class Own(RandomTuples):
        def __init__(self, rate):
            self.rate = rate

    with pytest.raises(lb.InvalidParameter, match=r"Own has an __init__ of its own.*write @dataclass above the class"):
        lb.simulate(MEANS, Own(1), trials=1)


def test_a_history_that_it_would_not_have_come_to_is_refused():
    policy = InAnyOrder()
    saved = policy.start(1, 3, np.array([5], dtype=np.uint64)).to_json()
    saved["runs"][0]["history"] = [[[9], []]]
    with pytest.raises(lb.InvalidParameter, match="was led through what it had seen before, and asked for"):
        policy.request(PlainState.from_json(saved))


@pytest.mark.parametrize("policy", PLAIN, ids=policy_id)
def test_live_with_many_plays_out_at_once_it_goes_on_where_it_was_saved(policy):
    flips = random.Random(2)
    exp = lb.Experiment(["a", "b", "c"], policy, linkage=some_linkage(policy), seed=3, parallel=4)
    waiting = []
    for number in range(400):
        if exp.done:
            break
        with suppress(lb.TooManyInFlight):
            waiting.append(exp.ask())
        if number % 7 == 0:
            exp = lb.Experiment.from_json(exp.to_json(), policy=policy)
        if len(waiting) >= 4 or flips.random() < 0.3:
            play = waiting.pop(flips.randrange(len(waiting)))
            exp.tell(play.id, next((arm for arm in play.arms if flips.random() < 0.4), None))
    assert exp.done
    assert exp.recommend().arm in {"a", "b", "c"}


def test_it_can_be_pickled_as_workers_need_it():
    again = pickle.loads(pickle.dumps(RandomTuples(rounds=3)))
    assert again == RandomTuples(rounds=3)


def test_a_policy_that_asks_for_one_arm_a_play_runs_under_single():
    runs = lb.simulate([0.1, 0.9], OneArm(), linkage="single", trials=20, seed=1)
    assert runs.samples.tolist() == [[6, 6]] * 20
    assert runs.plays.tolist() == [12] * 20
    exp = lb.Experiment(["a", "b"], OneArm(), linkage="single")
    assert exp.ask().arms == ("a",)
    assert lb.Experiment.from_json(exp.to_json(), policy=OneArm()).ask().arms


def test_who_asks_for_more_under_single_is_refused_when_it_does():
    more = OneArm(two=True)
    with pytest.raises(lb.InvalidParameter, match=r"ask\(\) of OneArm returned \(0, 1\).*one arm.*linkage single"):
        lb.simulate([0.1, 0.9], more, linkage="single", trials=2, seed=1)
    assert lb.simulate([0.1, 0.9], more, linkage="ordered", trials=2, seed=1).plays.tolist() == [12, 12]
    assert more.fitted_to(LINKAGES["single"], None).fitted_to(LINKAGES["free"], None)._tries_one is False
    with pytest.raises(lb.InvalidParameter, match="'suffix' does not allow"):
        lb.simulate([0.1, 0.9], more, linkage="suffix", trials=2)
