"""Policies by name, for the command line and for saved experiments."""

from __future__ import annotations

import json
import re

import pytest

import linkedbandits as lb
from linkedbandits.policies import POLICIES, describe_policy, make_policy, policy_class
from tests.support.every_policy import EVERY_POLICY, policy_id


def test_every_policy_has_a_name_in_kebab_case():
    assert {type(policy) for policy in EVERY_POLICY} == set(POLICIES.values())
    for name, cls in POLICIES.items():
        assert name == cls.name
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
        assert getattr(lb, cls.__name__) is cls


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_a_description_makes_the_same_policy_again_even_through_json(policy):
    description = json.loads(json.dumps(describe_policy(policy)))
    assert make_policy(description["name"], description["parameters"]) == policy


SAVED = [
    ("linked-elimination", {"delta": 0.1, "k": 1, "epsilon": 0.0, "parallel": 1}),
    ("linked-elimination", {"delta": 0.1, "k": 2, "epsilon": 0.0, "parallel": 1}),
    ("linked-elimination", {"delta": 0.1, "k": 1, "epsilon": 0.1, "parallel": 1}),
    ("linked-elimination", {"delta": 0.1, "k": 1, "epsilon": 0.0, "neighbours": 1, "parallel": 1}),
    ("linked-elimination", {"delta": 0.1, "k": 1, "epsilon": 0.0, "costs": [1.0, 3.0, 1.0, 0.5], "parallel": 1}),
    ("linked-track-and-stop", {"delta": 0.1, "parallel": 1}),
    ("linked-halving", {"plays": 60}),
    ("linked-halving", {"plays": 60, "neighbours": 1}),
    ("linked-lead", {"delta": 0.1, "odds_ratio": 2.0, "lift": None, "gap": None, "parallel": 1}),
    ("linked-lead", {"delta": 0.1, "odds_ratio": None, "lift": 0.5, "gap": None, "parallel": 1}),
    ("linked-lead", {"delta": 0.1, "odds_ratio": None, "lift": None, "gap": 0.2, "parallel": 1}),
    ("linked-duels", {"delta": 0.1, "gap": None, "parallel": 1}),
    ("linked-duels", {"delta": 0.1, "gap": 0.2, "parallel": 1}),
    ("maximal-sampling", {"delta": 0.1, "plays": None, "calibration": "proved", "parallel": 1}),
    ("maximal-sampling", {"delta": 0.1, "plays": None, "calibration": "plain", "parallel": 1}),
    ("maximal-sampling", {"delta": None, "plays": 60, "calibration": "proved", "parallel": 1}),
    ("uniform-sampling", {"delta": 0.1, "samples": None, "calibration": "proved", "parallel": 1}),
    ("uniform-sampling", {"delta": None, "samples": 40, "calibration": "proved", "parallel": 1}),
    ("median-elimination", {"epsilon": 0.5, "delta": 0.1}),
    ("linked-ege", {"delta": 0.1, "gap": 0.3, "median": "reuse"}),
    ("linked-ege", {"delta": 0.1, "gap": None, "median": "reuse"}),
    ("linked-ege", {"delta": 0.1, "gap": 0.3, "median": "fresh"}),
    ("lil-ucb", {"delta": 0.1, "parallel": 1}),
    ("suffix-ucb", {"delta": 0.1, "calibration": "proved", "parallel": 1}),
    ("deterministic-shifting", {"delta": 0.1, "plays": None, "calibration": "proved", "parallel": 1}),
    ("deterministic-shifting", {"delta": None, "plays": 60, "calibration": "proved", "parallel": 1}),
    ("whole-sequence-ege", {"delta": 0.1, "gap": 0.3, "parallel": 1}),
    ("whole-sequence-ege", {"delta": 0.1, "gap": None, "parallel": 1}),
]
"""As experiments and studies have them that were saved before policies had a base class; the order counts, too."""


def test_descriptions_are_what_they_were():
    described = [describe_policy(policy) for policy in EVERY_POLICY]
    assert json.dumps(described) == json.dumps([{"name": name, "parameters": given} for name, given in SAVED])


def test_a_parameter_that_came_later_is_described_only_where_it_is_set():
    """Experiments and studies that were saved without it have the same description as before."""
    assert describe_policy(lb.LinkedHalving(plays=5))["parameters"] == {"plays": 5}
    assert describe_policy(lb.LinkedHalving(plays=5, neighbours=2))["parameters"] == {"plays": 5, "neighbours": 2}


def test_an_unknown_name_is_answered_with_the_ones_there_are():
    with pytest.raises(lb.UnknownName, match="unknown policy 'magic'; choose one of linked-elimination, linked-"):
        policy_class("magic")


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("lil-ucb", {"delta": 0.1, "gap": 0.2}, "lil-ucb has no parameter 'gap'; it has delta"),
        ("linked-duels", {"delta": 0.1, "k": 2}, "'k'; it has .*; for .* use linked-elimination:k=2"),
        ("linked-ege", {"delta": 3}, "delta=3 is not between 0 and 1"),
        ("median-elimination", {"delta": 0.1}, "median-elimination needs its parameter 'epsilon'"),
    ],
)
def test_bad_parameters_are_named(name, parameters, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        make_policy(name, parameters)


@pytest.mark.parametrize(
    ("cut", "meant"),
    [("linked-elim", "linked-elimination"), ("linked-d", "linked-duels"), ("linked-elinimation", "linked-elimination")],
)
def test_who_cuts_a_name_short_means_one_that_begins_so(cut, meant):
    with pytest.raises(lb.UnknownName, match=f"unknown policy '{cut}'; did you mean '{meant}'"):
        policy_class(cut)


def test_a_letter_or_two_are_no_name_cut_short():
    with pytest.raises(lb.UnknownName, match="unknown policy 'li'; choose one of"):
        policy_class("li")
