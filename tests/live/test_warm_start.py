"""A live experiment that goes on from a log: what the log decides is not played, and what is decided is as without."""

from __future__ import annotations

import json
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.attempts.alarms import watch
from linkedbandits.linkage import LINKAGES
from linkedbandits.live import WarmStart
from linkedbandits.model import Needs
from tests.attempts.test_log import plays as made_plays
from tests.support.every_policy import EVERY_POLICY, of_as_many_arms, playable, policy_id
from tools.waiting import SECONDS

MEANS = (0.1, 0.2, 0.4, 0.8)
EXACT = [name for name in LINKAGES if name != "suffix"]
"""Under suffix a play tries more than is needed, so that with and without a log other coins are seen."""


class Tapes:
    """The j-th sample of an arm is the same, whoever takes it and when."""

    def __init__(self, seed: int, means=MEANS) -> None:
        self.outcomes = np.random.default_rng(seed).random((20_000, len(means))) < means
        self.taken = [0] * len(means)

    def toss(self, arm: int) -> bool:
        self.taken[arm] += 1
        return bool(self.outcomes[self.taken[arm] - 1, arm])

    def answer(self, arms) -> int | None:
        return next((arm for arm in arms if self.toss(arm)), None)

    def log(self, requests: int, seed: int, width: int = 1, stay: bool = False) -> lb.Attempts:
        """Of a logger who chooses at random, or stays with what worked; ``width`` options a request."""
        rng = np.random.default_rng(seed)
        arms, made, first = len(self.taken), [], 0
        for _ in range(requests):
            order = rng.permutation(arms)[:width].tolist()
            if stay:
                order = [first, *[arm for arm in order if arm != first]][:width]
            hit = self.answer(order)
            first = first if hit == first else int(rng.integers(arms))
            made.append((tuple(order), hit))
        return lb.Attempts.from_plays(made, options=range(arms))


def play(exp: lb.Experiment, tapes: Tapes, most: int = 10**9) -> lb.Experiment:
    for _ in range(most):
        if exp.done:
            break
        asked = exp.ask()
        exp.tell(asked.id, tapes.answer(asked.arms))
    return exp


def what_it_came_to(exp: lb.Experiment) -> tuple[object, ...]:
    verdict = exp.recommend()
    return verdict.arm, verdict.top, verdict.status, verdict.error_bound


NEEDS = [
    (policy, linkage)
    for policy, linkage in playable([policy for policy in EVERY_POLICY if policy.asks == "needs"])
    if linkage in EXACT and not isinstance(policy, lb.LinkedHalving)  # which repeats a tuple wherever it may
]


@pytest.mark.parametrize("attempts", ["first", "all"])
@pytest.mark.parametrize(("policy", "linkage"), NEEDS, ids=policy_id)
def test_every_policy_that_asks_for_needs_decides_with_a_log_what_it_decides_without(policy, linkage, attempts):
    """On the same coins: so what it sees has the law that its guarantee is about, whatever chose what is in the log."""
    means = of_as_many_arms(list(MEANS), policy)
    most = 2000
    alone = play(lb.Experiment(range(len(means)), policy, linkage=linkage), Tapes(5, means), most)
    for requests in (7, 300):
        tapes = Tapes(5, means)
        log = tapes.log(requests, seed=requests, width=1 if attempts == "first" else 3, stay=requests == 300)
        exp = lb.Experiment(range(len(means)), policy, linkage=linkage, log=log, log_attempts=attempts)
        assert exp.plays == 0
        before = exp.estimates()
        assert sum(each.samples for each in before) == exp.from_log.samples == len(log)
        play(exp, tapes, most)
        if alone.done and exp.done and policy.goal.budget is None:
            assert what_it_came_to(exp) == what_it_came_to(alone)
            assert exp.state_as_json() == alone.state_as_json()
        independent = attempts == "all" or linkage != "single"
        assert ("independent options" in exp.recommend().assumes) == independent


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_every_policy_ends_with_a_log_or_refuses_it_and_says_what_to_use(policy):
    means = of_as_many_arms(list(MEANS), policy)
    for linkage in [name for name, linkage in LINKAGES.items() if linkage.allows(policy.asks)]:
        tapes = Tapes(3, means)
        log = tapes.log(60, seed=1)
        played = lb.Experiment(range(len(means)), policy, linkage=linkage).policy
        first = played.request(played.start(1, len(means), np.zeros(1, dtype=np.uint64)))
        if not isinstance(first, Needs):
            with pytest.raises(lb.InvalidParameter, match="LinkedElimination"):
                lb.Experiment(range(len(means)), policy, linkage=linkage, log=log)
            continue
        exp = lb.Experiment(range(len(means)), policy, linkage=linkage, log=log, max_plays=400)
        play(exp, tapes, 100)
        again = lb.Experiment.from_json(exp.to_json())
        assert again.from_log == exp.from_log
        assert again.upgrade is None
        play(exp, tapes)
        assert exp.done
        assert exp.from_log.read <= 60


def test_a_budget_of_the_policys_own_counts_what_it_read():
    tapes, policy = Tapes(2), lb.LinkedHalving(plays=60)
    exp = play(lb.Experiment(range(4), policy, linkage="single", log=tapes.log(2000, seed=1)), tapes)
    assert exp.done
    assert exp.plays < 60
    assert exp.recommend().arm == 3
    tapes = Tapes(2)
    part = play(lb.Experiment(range(4), policy, linkage="single", log=tapes.log(20, seed=1)), tapes)
    assert 0 < part.plays <= 60


@pytest.mark.parametrize(
    "policy", [lb.LinkedElimination(0.1), lb.LinkedElimination(0.1, k=2), lb.UniformSampling(samples=50)], ids=str
)
@pytest.mark.parametrize("cut", [0, 1, 40, 300])
def test_the_verdict_is_that_of_one_long_log(policy, cut):
    """Live plays that go on with the rows of the log: as if all had been in the log."""
    whole = Tapes(9).log(4000, seed=4)
    expected = whole.verdict(policy).verdict
    tapes = Tapes(9)
    exp = lb.Experiment(range(4), policy, linkage="single", log=tapes.log(cut, seed=4))
    play(exp, tapes)
    found = exp.recommend()
    assert (found.arm, found.top, found.status) == (expected.arm, expected.top, expected.status)
    assert exp.from_log.read + exp.plays >= 8


def test_a_log_that_decides_everything_gives_a_verdict_without_a_play():
    log = lb.Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), None)] * 50)
    exp = lb.Experiment("ab", lb.LinkedElimination(0.05), linkage="single", log=log)
    assert exp.done
    assert exp.recommend() == lb.Verdict("a", "confident", 0, 0.05)
    assert 0 < exp.from_log.read < exp.from_log.samples == 100
    assert [(each.samples, each.successes) for each in exp.estimates()] == [(50, 50), (50, 0)]
    with pytest.raises(lb.ExperimentFinished):
        exp.ask()
    assert lb.Experiment.from_json(exp.to_json()).recommend() == exp.recommend()


def test_what_is_assumed_is_said():
    log = lb.Attempts.from_plays([(("a", "b"), "b"), (("b", "a"), None)] * 3)
    one_each = lb.Attempts.from_plays([(("a",), "a"), (("b",), None)] * 3)
    policy = lb.LinkedElimination(0.05)

    def assumed(linkage, log, attempts):
        exp = lb.Experiment("ab", policy, linkage=linkage, log=log, log_attempts=attempts)
        assert exp.recommend().assumes == tuple(each.name for each in exp.assumptions)
        return exp.recommend().assumes

    assert assumed("single", log, "first") == ()
    assert assumed("single", log, "all") == ("independent options",)
    assert assumed("single", one_each, "all") == ()  # nothing in it stands behind a failure
    assert assumed("ordered", log, "first") == assumed("ordered", log, "all") == ("independent options",)


# ---------------------------------------------------------------------------------------------------------- duels


class PairTapes:
    """Requests that are hard for all or easy for all; the j-th of a pair is the same, whoever plays it."""

    def __init__(self, seed: int, arms: int = 3) -> None:
        rng = np.random.default_rng(seed)
        hard = rng.random((arms, arms, 6000)) < 0.5
        chance = np.where(hard[..., np.newaxis], [0.05, 0.3, 0.05], [0.4, 0.9, 0.5])
        self._works = rng.random((arms, arms, 6000, arms)) < chance
        self._taken = np.zeros((arms, arms), dtype=int)

    def answer(self, arms) -> int | None:
        first, second = arms
        works = self._works[first, second, self._taken[first, second]]
        self._taken[first, second] += 1
        return next((arm for arm in arms if works[arm]), None)


@pytest.mark.parametrize("requests", [0, 5, 60, 400])
def test_duels_go_on_from_pairs_as_if_they_had_been_played(requests):
    alone = play(lb.Experiment(range(3), lb.LinkedDuels(0.1), linkage="free"), PairTapes(1))
    tapes, rng = PairTapes(1), np.random.default_rng(8)
    made = []
    for _ in range(requests):
        order = tuple(rng.permutation(3)[:2].tolist())
        made.append((order, tapes.answer(order)))
    log = lb.Attempts.from_plays(made, options=range(3))
    arguments = {"linkage": "free", "log": log, "log_attempts": "duels"}
    if not requests:
        with pytest.raises(lb.InvalidAttempts, match="offered second"):
            lb.Experiment(range(3), lb.LinkedDuels(0.1), **arguments)
        return
    exp = lb.Experiment(range(3), lb.LinkedDuels(0.1), **arguments)
    while not exp.done:
        asked = exp.ask()
        exp.tell(asked.id, tapes.answer(asked.arms))
        exp = lb.Experiment.from_json(exp.to_json()) if exp.plays % 37 == 0 else exp
    assert what_it_came_to(exp) == what_it_came_to(alone)
    assert exp.state_as_json() == alone.state_as_json()
    assert exp.plays + exp.from_log.read == alone.plays
    assert exp.recommend().assumes == ()
    firsts = [sum(order[0] == arm for order, _ in made) for arm in range(3)]
    assert all(each.samples >= first for each, first in zip(exp.estimates(), firsts, strict=True))
    assert sum(each.samples for each in exp.estimates()) == exp.plays + requests


# ------------------------------------------------------------------------------------------------------ refusals


def test_what_cannot_be_used_is_refused_with_the_remedy():
    log = lb.Attempts.from_plays([(("a", "x"), "x"), (("b", "a"), "a"), (("x", "b"), "b")])
    with pytest.raises(lb.InvalidAttempts, match=r"no arms: 'x'; the arms are 'a', 'b'\..*log_others='ignore'"):
        lb.Experiment("ab", lb.LinkedElimination(0.1), log=log)
    with pytest.raises(lb.InvalidParameter, match="log_others='drop' is neither"):
        lb.Experiment("ab", lb.LinkedElimination(0.1), log=log, log_others="drop")
    with pytest.raises(lb.InvalidParameter, match="none of 'first', 'duels' and 'all'"):
        lb.Experiment("ab", lb.LinkedElimination(0.1), log_attempts="some")
    with pytest.raises(lb.InvalidParameter, match=r"no log of attempts; make one with Attempts\.from_plays"):
        lb.Experiment("ab", lb.LinkedElimination(0.1), log=[(("a", "b"), None)])
    with pytest.raises(lb.InvalidParameter, match="'duels' answers pairs, and LinkedElimination asks for none"):
        lb.Experiment("abx", lb.LinkedElimination(0.1), log=log, log_attempts="duels")


def test_options_that_are_no_arms_can_be_left_out():
    log = lb.Attempts.from_plays(
        [(("a", "x", "b"), "b"), (("b", "a"), "a"), (("x", "b"), "b"), (("b", "x"), None)], options="axb"
    )
    policy = lb.UniformSampling(samples=50)
    first = lb.Experiment("ab", policy, log=log, log_others="ignore")
    assert first.from_log == ("first", 4, 3, 3)
    assert [(each.samples, each.successes) for each in first.estimates()] == [(1, 0), (2, 0)]
    every = lb.Experiment("ab", policy, log=log, log_attempts="all", log_others="ignore")
    assert [(each.samples, each.successes) for each in every.estimates()] == [(2, 1), (4, 2)]
    # For alarms a request ends where an option was tried that is no arm: what stood behind it has lost its place.
    assert first.attempts().request.tolist() == [0, 1, 1, 2]
    assert first.attempts().option.tolist() == [0, 1, 0, 1]
    pairs = WarmStart.of(log, "ab", "duels", "ignore").pairs()
    assert pairs.left.sum() == 1


# ------------------------------------------------------------------------------------------ saving, upgrades, threads


@settings(max_examples=30)
@given(made_plays("abc", most=20), st.sampled_from(["first", "all"]), st.integers(0, 2**30))
def test_saved_at_any_time_it_goes_on_exactly(made, attempts, seed):
    log = lb.Attempts.from_plays(made, options="abc")
    policy = lb.UniformSampling(samples=9)
    one = lb.Experiment("abc", policy, linkage="free", parallel=3, log=log, log_attempts=attempts)
    other = lb.Experiment("abc", policy, linkage="free", parallel=3, log=log, log_attempts=attempts)
    rng = np.random.default_rng(seed)
    out: list[lb.Play] = []
    while not one.done:
        other = (
            lb.Experiment.from_json(other.to_json())
            if rng.random() < 0.5
            else lb.Experiment.restore(json.loads(json.dumps(other.snapshot())), other.answers)
        )
        if len(out) < 3 and rng.random() < 0.6:
            try:
                out.append(one.ask())
            except lb.TooManyInFlight:
                continue
            assert other.ask() == out[-1]
        elif out:
            done = out.pop(int(rng.integers(len(out))))
            hit = None if rng.random() < 0.5 else done.arms[0]
            assert one.tell(done.id, hit) == other.tell(done.id, hit)
        assert one.estimates() == other.estimates()
        assert one.from_log == other.from_log
    assert other.recommend() == one.recommend()
    assert other.from_log == one.from_log
    assert pickle.loads(pickle.dumps(one)).from_log == one.from_log


def test_many_threads_share_an_experiment_with_a_log():
    tapes = Tapes(1)
    exp = lb.Experiment(range(4), lb.UniformSampling(samples=200), parallel=4, log=tapes.log(300, seed=3))
    lock = threading.Lock()

    def work() -> None:
        while not exp.done:
            try:
                asked = exp.ask()
            except (lb.TooManyInFlight, lb.ExperimentFinished):
                continue
            with lock:
                hit = tapes.answer(asked.arms)
            exp.tell(asked.id, hit)
            exp.alarms()
            _ = exp.from_log

    with ThreadPoolExecutor(3) as pool:
        for working in [pool.submit(work) for _ in range(3)]:
            working.result(timeout=SECONDS)
    assert exp.done
    assert exp.from_log.read == 300
    assert exp.recommend().arm == 3


@pytest.mark.statistical
@pytest.mark.parametrize("attempts", ["first", "all"])
def test_a_logger_that_stays_with_what_works_and_a_live_part_err_at_most_delta(attempts):
    """80 logs of 40 requests, then live to the end, with two arms that are not far apart, at delta = 0.2.

    The limit allows five standard errors, so a false alarm has a probability below 1e-6. Read as one heap, with the
    rate of each arm, a log of this kind shows an arm that was left after a failure as worse than it is.
    """
    wrong = 0
    for seed in range(80):
        tapes = Tapes(seed, (0.5, 0.68))
        log = tapes.log(40, seed=seed, width=1 if attempts == "first" else 2, stay=True)
        exp = lb.Experiment(range(2), lb.LinkedElimination(0.2), log=log, log_attempts=attempts)
        wrong += play(exp, tapes).recommend().arm != 1
    assert wrong / 80 <= 0.2 + 5 * np.sqrt(0.16 / 80)


# --------------------------------------------------------------------------------------------------------- alarms


def test_what_is_on_record_is_a_log():
    log = lb.Attempts.from_plays([(("b", "a"), "a"), (("a",), None)], options="ab")
    exp = lb.Experiment("ab", lb.UniformSampling(samples=60), log=log)
    asked = [exp.ask() for _ in range(6)]
    exp.tell(0, "b")
    exp.tell(1, None)
    exp.abandon(2)
    exp.tell(2, "a")  # late
    exp.tell(3, "a")
    exp.tell(5, "a")  # waits for the one before it
    assert {play.arms for play in asked} == {("a", "b")}
    found = exp.attempts()
    assert found.options == ("a", "b")
    assert found.request.tolist() == [0, 0, 1, 2, 2, 3, 3, 4]
    assert found.option.tolist() == [1, 0, 0, 0, 1, 0, 1, 0]
    assert found.success.tolist() == [False, True, False, False, True, False, False, True]
    assert found.second.tolist() == [-1, -1, 1, 1, 1]  # of a log with requests that were cut off it is not kept
    exp.abandon(4)
    assert exp.attempts().requests == 6


def test_drift_from_the_log_to_the_live_part_raises_an_alarm():
    log = lb.Attempts.from_plays([(("a",), "a"), (("b",), None)] * 60, options="ab")
    exp = lb.Experiment("ab", lb.UniformSampling(samples=300), linkage="single", log=log)
    assert exp.alarms() == ()
    while not exp.done:
        exp.tell(exp.ask().id, None)
    alarm, *_ = exp.alarms()
    assert (alarm.kind, alarm.option, alarm.since) == ("drift", "a", 120)
    assert exp.alarms() == watch(exp.attempts())
    with pytest.raises(lb.InvalidParameter, match="alpha"):
        exp.alarms(alpha=0)


def test_without_plays_there_are_no_alarms():
    exp = lb.Experiment("ab", lb.UniformSampling(samples=3))
    assert exp.alarms() == ()
    assert exp.attempts().requests == 0
    exp.ask()
    assert exp.alarms() == ()


@given(made_plays())
def test_a_log_can_be_sent_as_plays(made):
    log = lb.Attempts.from_plays(made, options="abcd")
    again = lb.Attempts.from_plays(log.plays(), options="abcd")
    for column in ("request", "option", "success", "second"):
        assert getattr(again, column).tolist() == getattr(log, column).tolist()


def test_what_was_offered_and_not_tried_behind_a_failure_is_not_made_up():
    one, zero = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.bool_)
    log = lb.Attempts(("a", "b"), one, one, zero, np.ones(1, dtype=np.int32))
    assert log.plays() == [(("a",), None)]


def test_all_attempts_of_a_log_in_one_order_need_the_users_word():
    log = lb.Attempts.from_plays([(("a", "b"), "b")] * 100)
    with pytest.raises(lb.InvalidAttempts, match="log_independent=True"):
        lb.Experiment("ab", lb.LinkedElimination(0.05), log=log, log_attempts="all")
    exp = lb.Experiment("ab", lb.LinkedElimination(0.05), log=log, log_attempts="all", log_independent=True)
    assert exp.recommend().arm == "b"
