"""What policies take for granted, and that it is said where it matters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS, TOLD_DIFFERENCE, Assumption, ToldDifference
from linkedbandits.linkage import LINKAGES
from tests.support.every_policy import EVERY_POLICY, of_as_many_arms, policy_id

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


RIGHT_UNDER_DEPENDENCE = {"linked-duels"}
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


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_whatever_a_policy_was_told_is_declared_and_stands_in_its_verdicts(policy):
    """By the names that users type, whatever the policy itself says of them."""
    told = any(getattr(policy, name, None) is not None for name in ("gap", "odds_ratio", "lift"))
    verdict = lb.Experiment("abcd", policy).recommend()
    assert (TOLD_DIFFERENCE in verdict.assumes) == told


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_a_policy_without_a_bound_never_claims_a_guarantee(policy):
    means = of_as_many_arms([0.05, 0.95, 0.25, 0.02], policy)
    exp = lb.Experiment(range(len(means)), policy, max_plays=3_000)
    tosses = np.random.default_rng(1)
    while not exp.done:
        play = exp.ask()
        hit = next((arm for arm in play.arms if tosses.random() < means[arm]), None)
        exp.tell(play.id, hit)
    verdict, runs = exp.recommend(), lb.simulate(means, policy, trials=3)
    has_a_proof = policy.error_bound is not None and policy.status_at_stop == "confident"
    assert verdict.proved == (has_a_proof and verdict.status == "confident")
    assert ("not proved" in verdict._repr_html_()) != verdict.proved
    assert runs.proved.tolist() == [has_a_proof] * 3
    assert runs.summary().in_words()["with a proved guarantee"] == ("100 %" if has_a_proof else "0 %")


def test_duels_assume_nothing_but_what_they_are_told():
    told = lb.LinkedDuels(0.1, gap=0.05)
    assert lb.LinkedDuels(0.1).assumptions(LINKAGES["free"]) == ()
    assert told.assumptions(LINKAGES["free"]) == (ToldDifference(gap=0.05).assumption(),)
    assert lb.Experiment("ab", told, linkage="free").recommend().assumes == ("told difference",)


def test_a_linkage_of_ones_own_says_itself_that_plays_try_one_option():
    class Circular(type(LINKAGES["single"])):
        name = "circular"

    class Misnamed(type(LINKAGES["ordered"])):
        name = "single"

    policy = lb.LinkedElimination(delta=0.05)
    assert policy.assumptions(Circular()) == ()
    assert policy.assumptions(Misnamed()) == (INDEPENDENT_OPTIONS,)
