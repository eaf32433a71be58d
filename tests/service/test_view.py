"""What people look at is what the experiment knows."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.intervals import anytime_interval
from linkedbandits.linkage import LINKAGES
from linkedbandits.policy import Goal
from linkedbandits.service.http.sent import GoalView
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.records import DamagedExperiment, ExperimentRecord, HistoryPoint, ListedExperiment, Setup
from linkedbandits.service.view import (
    history_rows,
    read_standing,
    read_summary,
    summary_data,
    upgrade_sentence,
    view_of,
)

ARMS = ("north", "east", "south")


def host(experiment, **setup):
    policy = {"name": experiment.policy.name, "parameters": {}}
    record = ExperimentRecord("x1", "directions", Setup(ARMS, policy, **setup), "running", 5.0, 42)
    return SimpleNamespace(experiment=experiment, record=record, abandoned=3, successor=None, tags=("eu",), head=42)


LISTED = ListedExperiment("x1", "directions", "running", 5.0, 42, 30, "", ("eu",))


def summary_of(experiment):
    return summary_data(LISTED, read_summary(host(experiment)))


def play(experiment, count):
    for _ in range(count):
        ticket = experiment.ask()
        experiment.tell(ticket.id, "east" if "east" in ticket.arms and ticket.id % 7 == 0 else None)


def test_a_view_shows_the_experiment():
    exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05))
    play(exp, 30)
    view = view_of(read_standing(host(exp)), Outlook(100.0, 250.0))
    assert (view["id"], view["name"], view["head"], view["abandoned"]) == ("x1", "directions", 42, 3)
    assert (view["plays"], view["in_flight"], view["late"], view["done"]) == (exp.plays, exp.in_flight, 0, exp.done)
    assert view["verdict"] is None
    assert view["leading"]["arm"] == exp.recommend().arm
    assert (view["linkage"], view["linkage_words"]) == ("ordered", "in order")
    assert view["arms"]["label"] == list(ARMS)
    assert view["arms"]["mean"] == [estimate.mean for estimate in exp.estimates()]
    assert view["arms"]["log10_evidence"] == exp.evidence()
    assert view["outlook"] == {"lower_bound": 100.0, "estimate_total": 250.0, "estimate_left": 220.0}
    assert view["tags"] == ["eu"]
    assert summary_of(exp)["arms"] == 3


def test_before_it_is_opened_a_row_of_the_list_has_what_the_store_has():
    row = summary_data(LISTED._replace(verdict="confident"), None)
    assert (row["plays"], row["done"], row["verdict"], row["leading"], row["tags"]) == (
        30,
        True,
        "confident",
        None,
        ["eu"],
    )
    damaged = summary_data(LISTED, DamagedExperiment(LISTED.id, LISTED.name, LISTED.created_at, arms=7))
    assert (damaged["status"], damaged["plays"], damaged["arms"]) == ("damaged", None, 7)
    assert "restore the store from a backup" in damaged["detail"]


def test_a_leader_is_named_when_all_arms_have_ten_samples():
    exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=1e-9))
    seen = set()
    for _ in range(40):
        play(exp, 1)
        leads = min(estimate.samples for estimate in exp.estimates()) >= 10
        assert view_of(read_standing(host(exp)), Outlook())["leads"] == summary_of(exp)["leads"] == leads
        seen.add(leads)
    assert seen == {True, False}


def test_where_arms_may_fail_together_a_view_has_first_tries_with_their_limits():
    exp = lb.Experiment(ARMS, lb.LinkedDuels(delta=0.05), linkage="free")
    firsts = dict.fromkeys(ARMS, 0)
    for _ in range(60):
        ticket = exp.ask()
        firsts[ticket.arms[0]] += 1
        exp.tell(ticket.id, ticket.arms[0] if ticket.id % 3 == 0 else None)
    view = view_of(read_standing(host(exp, linkage="free")), Outlook(None, None))
    arms = view["arms"]
    assert view["only_first_tries"]
    assert arms["samples"] == list(firsts.values())
    assert sum(arms["successes"]) == 20
    for samples, successes, low, high in zip(
        arms["samples"], arms["successes"], arms["low"], arms["high"], strict=True
    ):
        assert (low, high) == pytest.approx(anytime_interval(successes, samples), abs=1e-12)
    independent = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05), linkage="free")
    assert not view_of(read_standing(host(independent, linkage="free")), Outlook(None, None))["only_first_tries"]


@pytest.mark.parametrize("linkage", LINKAGES.values(), ids=LINKAGES)
def test_a_view_has_the_words_of_its_linkage(linkage):
    exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05), linkage=linkage)
    view = view_of(read_standing(host(exp, linkage=linkage.name)), Outlook(None, None))
    assert (view["linkage"], view["linkage_words"]) == (linkage.name, linkage.words)


def test_a_view_has_the_goal_that_the_policy_declares_and_not_one_of_its_parameters():
    class Renamed(lb.LinkedElimination):
        name = "renamed"

        @property
        def goal(self):
            return Goal(delta=0.3, k=2, tolerance=0.1, neighbours=1, budget=900)

    policy = Renamed(delta=0.05, k=1, epsilon=0.0)
    exp = lb.Experiment(ARMS, policy)
    view = view_of(read_standing(host(exp)), Outlook(None, None))
    declared = {"delta": 0.3, "k": 2, "tolerance": 0.1, "neighbours": 1, "budget": 900, "costs": ()}
    assert view["goal"] == declared
    assert set(view["goal"]) == set(GoalView.model_fields)


@pytest.mark.parametrize(
    ("plays", "evidence", "said"),
    [
        (300, True, ", with the evidence of 300 plays before that"),
        (1, True, ", with the evidence of 1 play before that"),
        (300, False, "; its decision begins anew, and 300 plays before that count in the estimates alone"),
        (0, True, "; nothing was told before that"),
        (0, False, "; nothing was told before that"),
    ],
)
def test_an_upgrade_is_told_in_a_sentence(plays, evidence, said):
    assert upgrade_sentence("0.2.0", plays, evidence) == f"goes on with version 0.2.0{said}"


def test_a_finished_experiment_has_its_verdict_and_nothing_left():
    exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.2))
    while not exp.done:
        play(exp, 1)
    view = view_of(read_standing(host(exp)), Outlook(10.0, 20.0))
    verdict = exp.recommend()
    assert view["verdict"] == view["leading"]
    assert (view["verdict"]["arm"], view["verdict"]["status"], view["verdict"]["error_bound"]) == (
        "east",
        "confident",
        0.2,
    )
    assert view["verdict"]["top"] == list(verdict.top)
    assert (view["outlook"]["estimate_total"], view["outlook"]["estimate_left"]) == (None, None)


def test_an_estimate_that_is_behind_is_not_shown():
    exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05))
    play(exp, 20)
    outlook = view_of(read_standing(host(exp)), Outlook(100.0, 20.0))["outlook"]
    assert outlook == {"lower_bound": 100.0, "estimate_total": None, "estimate_left": None}


def test_policies_without_evidence_have_none():
    exp = lb.Experiment(ARMS, lb.UniformSampling(samples=5))
    view = view_of(read_standing(host(exp)), Outlook())
    assert view["arms"]["log10_evidence"] is None
    assert view["arms"]["mean"] == [None, None, None]
    assert view["goal"]["delta"] is None


def test_limits_are_those_that_hold_at_all_times_together():
    exp = lb.Experiment(ARMS, lb.UniformSampling(samples=50))
    for number, play in enumerate(exp.ask() for _ in range(40)):
        exp.tell(play.id, None if number % 3 else play.arms[0])
    arms = view_of(read_standing(host(exp)), Outlook())["arms"]
    for index in range(len(ARMS)):
        expected = anytime_interval(arms["successes"][index], arms["samples"][index])
        assert (arms["low"][index], arms["high"][index]) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 300), st.integers(2, 50))
def test_a_thinned_history_keeps_its_ends_and_its_order(length, most):
    points = [HistoryPoint(number, number / 2, 3 * number) for number in range(length)]
    rows = history_rows(points, length, most)
    assert len(rows) == min(length, most)
    assert rows == sorted(set(rows))
    if points:
        assert rows[0] == dataclasses.astuple(points[0])
        assert rows[-1] == dataclasses.astuple(points[-1])


def test_history_ends_with_the_view_it_belongs_to():
    points = [HistoryPoint(number, 0.5, 3) for number in (2, 4, 6)]
    assert [row[0] for row in history_rows(points, 5)] == [2, 4]


def test_evidence_that_is_no_number_is_left_out():
    exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05))
    standing = dataclasses.replace(read_standing(host(exp)), evidence=[1.0, math.inf, math.nan])
    assert view_of(standing, Outlook())["arms"]["log10_evidence"] == [1.0, None, None]


def test_a_view_says_what_the_policy_takes_for_granted():
    for linkage, assumed in (("ordered", [dataclasses.asdict(INDEPENDENT_OPTIONS)]), ("single", [])):
        exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05), linkage=linkage)
        standing = read_standing(host(exp, linkage=linkage))
        view = view_of(standing, Outlook())
        assert view["assumptions"] == assumed
        assert view["leading"]["assumes"] == [each["name"] for each in assumed]
        assert summary_of(exp)["leading"]["assumes"] == view["leading"]["assumes"]


def test_a_view_and_a_summary_say_that_most_successes_per_cost_are_looked_for():
    for costs in ((), (1.0, 2.0, 5.0)):
        exp = lb.Experiment(ARMS, lb.LinkedElimination(delta=0.05, costs=costs))
        assert view_of(read_standing(host(exp)), Outlook())["goal"]["costs"] == costs
        assert summary_of(exp)["per_cost"] == bool(costs)
