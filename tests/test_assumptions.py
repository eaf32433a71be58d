"""What policies take for granted, and that it is said where it matters."""

from __future__ import annotations

import dataclasses

import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption, told_difference
from linkedbandits.linkage import LINKAGES
from tests.support.every_policy import EVERY_POLICY, policy_id

WHOLE = {
    "name": "told difference",
    "condition": "the best is ahead of every other by at least 0.05",
    "sentence": "The best is taken to be ahead by at least 0.05.",
    "remedy": "If you do not know, leave the gap out.",
}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": ""}, "name='' says nothing"),
        ({"remedy": "  "}, "remedy='  ' says nothing"),
        ({"sentence": None}, "sentence=None says nothing"),
        ({"sentence": "it is so"}, "sentence='it is so' is no whole sentence; end it with a full stop"),
        ({"remedy": "use another"}, "remedy='use another' is no whole sentence"),
        ({"condition": "it is so."}, "condition='it is so.' goes on in a sentence; leave out the full stop"),
    ],
)
def test_an_assumption_that_could_not_be_said_is_refused(changed, said):
    Assumption(**WHOLE)
    with pytest.raises(lb.InvalidParameter, match=said):
        Assumption(**WHOLE | changed)


def test_an_assumption_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        INDEPENDENT_OPTIONS.remedy = "None."


def test_the_sentence_says_for_whom_it_holds_and_the_remedy_what_to_use():
    assert "Photons are" in INDEPENDENT_OPTIONS.sentence
    assert "providers, solvers, agents and readers mostly are not" in INDEPENDENT_OPTIONS.sentence
    assert "linked-duels under linkage free" in INDEPENDENT_OPTIONS.remedy
    assert "linkage single" in INDEPENDENT_OPTIONS.remedy


RIGHT_UNDER_DEPENDENCE = {"linked-duels", "linked-order"}
"""Policies whose plays try several options, and which compare them fairly whatever depends on what."""
CASES = [(policy, linkage) for policy in EVERY_POLICY for linkage in LINKAGES.values() if linkage.allows(policy.asks)]


@pytest.mark.parametrize(
    ("policy", "linkage"), CASES, ids=[f"{policy_id(policy)}, {linkage.name}" for policy, linkage in CASES]
)
def test_a_policy_whose_plays_try_several_options_assumes_that_they_are_independent(policy, linkage):
    """So the remedy that is named, one option a play, is one."""
    exp = lb.Experiment("abcd", policy, linkage=linkage)
    longest = max(len(exp.ask().arms) for _ in range(8))
    needs_it = longest > 1 and policy.name not in RIGHT_UNDER_DEPENDENCE
    assert (INDEPENDENT_OPTIONS in exp.assumptions) == needs_it


def test_duels_assume_nothing_but_what_they_are_told():
    told = lb.LinkedDuels(0.1, gap=0.05)
    assert lb.LinkedDuels(0.1).assumptions(LINKAGES["free"]) == ()
    assert told.assumptions(LINKAGES["free"]) == (told_difference(0.05),)
    assert lb.Experiment("ab", told, linkage="free").recommend().assumes == ("told difference",)


def test_a_linkage_of_ones_own_says_itself_that_plays_try_one_option():
    class Circular(type(LINKAGES["single"])):
        name = "circular"

    class Misnamed(type(LINKAGES["ordered"])):
        name = "single"

    policy = lb.LinkedElimination(delta=0.05)
    assert policy.assumptions(Circular()) == ()
    assert policy.assumptions(Misnamed()) == (INDEPENDENT_OPTIONS,)
