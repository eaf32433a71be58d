"""Who decides where nobody was named."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.live.defaults import policy_and_linkage


def chosen(policy, linkage, *delta):
    found, link = policy_and_linkage(policy, linkage, *delta)
    return found, link.name


def test_without_a_policy_nothing_is_assumed_of_how_options_depend_on_each_other():
    assert chosen(None, None) == (lb.LinkedDuels(0.05), "free")
    assert chosen(None, "free", 0.2) == (lb.LinkedDuels(0.2), "free")
    assert chosen(None, "single", 0.2) == (lb.LinkedElimination(0.2), "single")
    for linkage in (None, "free", "single"):
        policy, link = policy_and_linkage(None, linkage)
        assert policy.assumptions(link) == ()


@pytest.mark.parametrize("linkage", sorted(set(LINKAGES) - {"free", "single"}))
def test_where_that_cannot_be_the_user_has_to_say_so(linkage):
    with pytest.raises(lb.InvalidParameter, match=rf"linkage '{linkage}' without a policy.*LinkedElimination\(0\.05\)"):
        policy_and_linkage(None, linkage)


def test_a_policy_has_the_linkage_that_it_asks_for_unless_told_otherwise():
    policy, duels = lb.LinkedElimination(0.1), lb.LinkedDuels(0.1)
    assert chosen(policy, None) == (policy, "ordered")
    assert chosen(duels, None) == (duels, "free")
    assert chosen(policy, "suffix") == (policy, "suffix")


def test_a_chain_has_the_same_default():
    with lb.Chain({"a": int, "b": int}) as chain:
        policy, linkage = chain.experiment.policy, chain.experiment.linkage
    exp = lb.Experiment("ab")
    assert (exp.policy, exp.linkage) == (policy, linkage)
