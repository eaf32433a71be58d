"""One of every policy, in every mode: what the contract suites run over."""

from typing import Any

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES

EVERY_POLICY = [
    lb.LinkedElimination(delta=0.1),
    lb.LinkedElimination(delta=0.1, k=2),
    lb.LinkedElimination(delta=0.1, epsilon=0.1),
    lb.LinkedElimination(delta=0.1, neighbours=1),
    lb.LinkedElimination(delta=0.1, costs=[1, 3, 1, 0.5]),
    lb.LinkedTrackAndStop(delta=0.1),
    lb.LinkedHalving(plays=60),
    lb.LinkedHalving(plays=60, neighbours=1),
    lb.LinkedLead(delta=0.1, odds_ratio=2.0),
    lb.LinkedLead(delta=0.1, lift=0.5),
    lb.LinkedLead(delta=0.1, gap=0.2),
    lb.LinkedDuels(delta=0.1),
    lb.LinkedDuels(delta=0.1, gap=0.2),
    lb.MaximalSampling(delta=0.1),
    lb.MaximalSampling(delta=0.1, calibration="plain"),
    lb.MaximalSampling(plays=60),
    lb.UniformSampling(delta=0.1),
    lb.UniformSampling(samples=40),
    lb.MedianElimination(epsilon=0.5, delta=0.1),
    lb.LinkedEGE(delta=0.1, gap=0.3),
    lb.LinkedEGE(delta=0.1),
    lb.LinkedEGE(delta=0.1, gap=0.3, median="fresh"),
    lb.LilUCB(delta=0.1),
    lb.SuffixUCB(delta=0.1),
    lb.DeterministicShifting(delta=0.1),
    lb.DeterministicShifting(plays=60),
    lb.WholeSequenceEGE(delta=0.1, gap=0.3),
    lb.WholeSequenceEGE(delta=0.1),
]


def of_as_many_arms(means: list[float], policy) -> list[float]:
    """The means, as many of them (the last repeated) as the policy has costs, which are for one number of arms."""
    costs = policy.goal.costs
    return (means + means[-1:] * len(costs))[: len(costs)] if costs else means


def some_linkage(policy) -> str:
    """A linkage that allows what the policy asks for: ordered wherever that is possible."""
    return next(name for name, linkage in LINKAGES.items() if linkage.allows(policy.asks))


def playable(policies: list[Any]) -> list[tuple[Any, str]]:
    """Each policy with each linkage that allows its plays."""
    return [(policy, name) for policy in policies for name, linkage in LINKAGES.items() if linkage.allows(policy.asks)]


def policy_id(policy: object) -> str:
    """A readable name for a parametrised test."""
    return repr(policy).replace("'", "")
