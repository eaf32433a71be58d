"""``linkedbandits policies``."""

from __future__ import annotations

import sys
from dataclasses import fields

import pytest

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.cli.policies import PURPOSES
from linkedbandits.policies import POLICIES, parameter_names
from linkedbandits.policies.registry import _CUSTOM
from tests.support.command_line import ROOT, refusal, run, run_json


def test_every_policy_has_a_line_of_its_own():
    assert list(PURPOSES) == list(POLICIES)
    lines = [line.split() for line in run("policies").stdout.splitlines()]
    for name, purpose in PURPOSES.items():
        (line,) = [line for line in lines if line[:1] == [name]]
        assert purpose in " ".join(line)


def test_json_says_what_each_needs_and_may_be_told():
    listed = {each["name"]: each for each in run_json("policies")}
    assert list(listed) == list(POLICIES)
    assert listed["linked-elimination"]["needs"] == ["delta"]
    assert listed["linked-elimination"]["may_have"] == ["k", "epsilon", "neighbours", "costs"]
    assert listed["uniform-sampling"]["needs"] == ["delta or samples"]
    assert listed["linked-lead"]["needs"] == ["delta", "odds_ratio or lift or gap"]
    assert listed["median-elimination"]["needs"] == ["epsilon", "delta"]
    assert listed["linked-halving"]["needs"] == ["plays"]
    for name, each in listed.items():
        said = {word for text in each["needs"] for word in text.split(" or ")} | set(each["may_have"])
        assert said == set(parameter_names(POLICIES[name])) - {"parallel"}
        assert {field.name for field in fields(POLICIES[name])} >= said


def test_what_they_assume_is_what_they_say_themselves():
    listed = {each["name"]: each for each in run_json("policies")}
    assert listed["linked-duels"]["assumes"] == "nothing"
    assert listed["linked-elimination"]["assumes"] == INDEPENDENT_OPTIONS.name
    assert listed["linked-lead"]["assumes"] == "independent options, told difference"
    assert listed["maximal-sampling"]["linkages"] == ["ordered", "free", "suffix"]


@pytest.fixture
def in_examples(monkeypatch):
    monkeypatch.chdir(ROOT / "examples")
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = dict(_CUSTOM)
    yield
    _CUSTOM.clear()
    _CUSTOM.update(before)
    sys.modules.pop("plain_policy", None)


def test_one_of_your_own_is_listed_with_the_others(in_examples):
    *_, own = run_json("policies", "--policy", "plain_policy:LeadByFive")
    assert own == {
        "name": "lead-by-five",
        "for": "The first option that is so many successes ahead",
        "assumes": "independent options",
        "needs": [],
        "may_have": ["lead"],
        "linkages": ["ordered", "free"],
    }


def test_one_that_does_not_exist_is_refused(in_examples):
    assert refusal("policies", "--policy", "plain_policy:Nothing").startswith(
        "the module 'plain_policy' has no 'Nothing'; there is LeadByFive"
    )
