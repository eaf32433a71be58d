"""What the service answers: all that the library says, as it says it, and examples that are true."""

from __future__ import annotations

import dataclasses
import json
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

import linkedbandits as lb
from linkedbandits.attempts.alarms import watch
from linkedbandits.live import Estimate
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service.alarms import Found
from linkedbandits.service.expenses import Spendings, expenses_data
from linkedbandits.service.http import problems, sent
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.records import ExperimentRecord
from linkedbandits.service.view import read_standing, view_of
from linkedbandits.service.webhooks import verdict_data
from tests.support.service_parts import SETUP

MODELS = [model for model in BaseModel.__subclasses__() if model.__module__ == sent.__name__]
WITH_EXAMPLES = [model for model in MODELS if "examples" in model.model_json_schema()]


@pytest.mark.parametrize("model", WITH_EXAMPLES, ids=lambda model: model.__name__)
def test_examples_are_answers_that_the_model_knows(model):
    for example in model.model_json_schema()["examples"]:
        assert model.model_validate(example).model_dump(exclude_unset=True) == example


def test_the_problem_in_the_example_is_the_one_that_is_sent():
    (example,) = sent.Problem.model_json_schema()["examples"]
    error = lb.ConflictingTell(example["detail"])
    response = problems.document_response(problems.problem_of(error, example["instance"], play=3, on_record="east"))
    assert json.loads(response.body) | {"request_id": example["request_id"]} == example


def test_labels_are_sent_as_they_are():
    """1, 1.0, true and "1" are four labels."""
    labels = [1, 1.0, True, "1", 0, 0.0, False, "", "\x00"]
    assert json.loads(sent.PlayOut(id=0, arms=labels).model_dump_json())["arms"] == labels
    assert repr(json.loads(sent.PlayOut(id=0, arms=labels).model_dump_json())["arms"]) == repr(labels)


def fields_of(model) -> set[str]:
    return set(model.model_fields)


def a_view(pictures=()):
    """What the page is shown of an experiment that goes on with another version."""
    exp = lb.Experiment(SETUP.arms, lb.LinkedElimination(delta=0.05))
    exp.tell(exp.ask().id, None)
    record = ExperimentRecord("x", "x", SETUP, "running", 5.0, 42)
    standing = read_standing(SimpleNamespace(experiment=exp, record=record, abandoned=3, successor=None, tags=()))
    upgraded = dataclasses.replace(
        standing, upgrade=lb.live.Upgrade("0.2.0", None, 1, (0.5, 0.0)), from_log=lb.live.FromLog("first", 3, 2, 1)
    )
    drifts = lb.Attempts.from_plays([(("a",), "a")] * 90 + [(("a",), None)] * 90)
    firsts = {label: FirstAttempts() for label in SETUP.arms}
    firsts["north"].add(True, 0.5, 2.0)
    expenses = expenses_data(Spendings(firsts, 1, 5.0, None), 0.95)
    return view_of(upgraded, Outlook(1.0, 2.0), Found(watch(drifts), 1, pictures), expenses) | {
        "history": [(1, 0.5, 1)]
    }


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (sent.View, lambda view: view),
        (sent.VerdictOut, lambda view: view["leading"]),
        (sent.ArmsView, lambda view: view["arms"]),
        (sent.ExpensesOut, lambda view: view["expenses"]),
        (sent.OptionExpenses, lambda view: view["expenses"]["options"][0]),
        (sent.EstimatedOut, lambda view: view["expenses"]["options"][0]["cost"]),
        (sent.OutlookView, lambda view: view["outlook"]),
        (sent.UpgradeView, lambda view: view["upgrade"]),
        (sent.FromLogView, lambda view: view["from_log"]),
        (sent.AlarmView, lambda view: view["alarms"][0]),
        (sent.RateView, lambda view: view["alarms"][0]["before"]),
        (sent.GoalView, lambda view: view["goal"]),
        (sent.PolicyView, lambda view: view["policy"]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_view_is_documented_part_by_part_with_nothing_missing_and_nothing_made_up(model, part):
    """The page's view is sent as it is, and not through these models."""
    content = part(a_view())
    assert fields_of(model) == content.keys()
    model.model_validate(content)


def test_an_estimate_and_a_verdict_are_sent_whole():
    assert fields_of(sent.EstimateOut) == {field.name for field in dataclasses.fields(Estimate)}
    verdict = verdict_data(lb.Experiment(SETUP.arms, lb.LinkedElimination(delta=0.05)).recommend())
    assert fields_of(sent.VerdictOut) == verdict.keys()


def test_an_experiment_is_sent_with_all_of_its_set_up():
    record = {field.name for field in dataclasses.fields(ExperimentRecord)} - {"setup", "written_by"}
    set_up = {field.name for field in dataclasses.fields(SETUP)}
    assert fields_of(sent.ExperimentInfo) == record | set_up | {
        "tags",
        "assumptions",
    }  # the last follow from policy and linkage


def test_an_alarm_has_its_picture_where_one_was_drawn():
    assert a_view(("<svg/>",))["alarms"][0]["picture"] == "<svg/>"
    assert a_view()["alarms"][0]["picture"] is None
