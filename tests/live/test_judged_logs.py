"""A log that was asked for a verdict before an experiment begins with it: the error bound covers both looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import linkedbandits as lb
from tests.support.logs import log_of

RULE = lb.LinkedElimination(0.01)


def decided(log: lb.Attempts, policy=RULE, **given) -> lb.Verdict:
    """The verdict of an experiment that the log decides at once."""
    exp = lb.Experiment(log.options, policy, **{"linkage": "single", "log": log, **given})
    assert exp.done
    return exp.recommend()


@pytest.fixture
def log() -> lb.Attempts:
    return log_of([0.9, 0.4], 400)


def test_without_a_look_the_bound_is_that_of_the_policy(log):
    assert decided(log).error_bound == 0.01


def test_the_bounds_of_all_looks_are_added_and_the_same_look_counts_once(log):
    log.verdict(delta=0.05)
    log.verdict(delta=0.05)
    assert decided(log).error_bound == pytest.approx(0.06)
    log.verdict(delta=0.02, attempts="duels")
    assert decided(log).error_bound == pytest.approx(0.08)
    log.verdict(lb.LilUCB(0.3))  # which proves nothing, and so spends nothing
    assert decided(log).error_bound == pytest.approx(0.08)
    log.verdict(delta=0.99)
    assert decided(log).error_bound == 1.0


def test_a_part_of_a_log_and_the_whole_know_of_each_others_looks(log):
    log.since(10).verdict(delta=0.05)
    assert decided(log).error_bound == pytest.approx(0.06)
    log.verdict(RULE)
    assert decided(log.since(20)).error_bound == pytest.approx(0.07)


def test_what_was_asked_of_a_file_elsewhere_can_be_said(log):
    assert decided(log, log_judged=0.05).error_bound == pytest.approx(0.06)
    log.verdict()
    assert decided(log, log_judged=0.0).error_bound == 0.01
    with pytest.raises(lb.InvalidParameter, match=r"log_judged=1\.5 is no error bound"):
        decided(log, log_judged=1.5)


def test_it_stays_with_the_experiment_when_it_is_saved_and_goes_on(log):
    log.verdict(delta=0.05)
    exp = lb.Experiment("ab", lb.LinkedElimination(1e-30), linkage="single", log=log)
    assert not exp.done
    exp = lb.Experiment.from_json(exp.to_json())
    assert exp.recommend().error_bound is None
    after = exp.successor(policy=RULE)
    assert after.done
    assert after.recommend().error_bound == pytest.approx(0.06)
    assert lb.Experiment.from_json(after.to_json()).recommend().error_bound == pytest.approx(0.06)


@dataclass(frozen=True)
class Drawing(lb.LinkedDuels):
    """A policy that says which seeds it was given."""

    name: ClassVar[str] = "drawing"
    given: ClassVar[list[int]] = []

    def start(self, lanes, arms, seeds):
        self.given.append(int(seeds[0]))
        return super().start(lanes, arms, seeds)


@pytest.mark.parametrize(
    ("policy", "linkage", "attempts"),
    [(lb.LinkedDuels(0.2), "free", "duels"), (lb.LinkedElimination(0.2), "single", "first")],
    ids=["duels", "first"],
)
def test_the_same_rule_goes_on_with_the_same_look(policy, linkage, attempts):
    """Whatever the log, the experiment has decided what the verdict did, or neither has: one test, with one delta."""
    ended = set()
    for seed in range(40):
        log = log_of([0.5, 0.6, 0.4], int(np.random.default_rng(seed).integers(5, 900)), seed=seed)
        verdict = log.verdict(policy, attempts=attempts).verdict
        exp = lb.Experiment(log.options, policy, linkage=linkage, log=log, log_attempts=attempts)
        assert (exp.recommend().arm if exp.done else None) == (None if verdict is None else verdict.arm)
        if exp.done:
            assert exp.recommend().error_bound == 0.2
        ended.add(exp.done)
    assert ended == {True, False}


def test_another_rule_is_another_look(log):
    given = {"linkage": "free", "log_attempts": "duels"}
    log.verdict(Drawing(0.01), attempts="duels")
    assert decided(log, Drawing(0.01), **given).error_bound == 0.01
    assert len(set(Drawing.given)) == 1  # nor is another coin drawn
    for changed in ({"seed": 1}, {"parallel": 2}):
        assert decided(log, Drawing(0.01), **given, **changed).error_bound == pytest.approx(0.02)
    assert decided(log, lb.LinkedDuels(0.01), **given).error_bound == pytest.approx(0.02)
    assert decided(log).error_bound == pytest.approx(0.02)


def test_the_same_verdict_of_the_same_part_of_a_log_is_one_look():
    log = lb.Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "b")] * 50)
    for _ in range(3):
        log.since(10).verdict(delta=0.05)
    assert log.judged() == 0.05
    log.since(20).verdict(delta=0.05)
    log.verdict(delta=0.05)
    assert log.judged() == pytest.approx(0.15)


def test_the_plays_of_an_experiment_are_a_log_that_its_policy_has_read():
    log = lb.Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "b")] * 50)
    log.verdict(delta=0.05)
    exp = lb.Experiment("ab", lb.LinkedElimination(0.02), linkage="single", log=log)
    assert exp.attempts().judged() == pytest.approx(0.07)
    same = lb.Experiment("ab", lb.LinkedElimination(0.02), linkage="single", log=exp.attempts())
    other = lb.Experiment("ab", lb.LinkedTrackAndStop(0.01), linkage="single", log=exp.attempts())
    assert (same.warm.judged, other.warm.judged) == (pytest.approx(0.05), pytest.approx(0.07))


@pytest.mark.parametrize(("policy", "judged"), [(None, 0.0), (lb.LinkedTrackAndStop(0.1), 0.05)])
def test_a_successor_with_another_policy_is_a_second_look(policy, judged):
    exp = lb.Experiment("ab", lb.LinkedElimination(0.05), linkage="single")
    exp.tell(exp.ask().id, None)
    assert exp.successor("abc", policy=policy).warm.judged == judged
