"""The policies, one a file, and how to find them by name."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.policies.cascade_bai import CascadeBAI
from linkedbandits.policies.deterministic_shifting import DeterministicShifting
from linkedbandits.policies.lil_ucb import LilUCB
from linkedbandits.policies.linked_duels import LinkedDuels
from linkedbandits.policies.linked_ege import LinkedEGE
from linkedbandits.policies.linked_elimination import LinkedElimination
from linkedbandits.policies.linked_halving import LinkedHalving
from linkedbandits.policies.linked_lead import LinkedLead
from linkedbandits.policies.linked_order import LinkedOrder
from linkedbandits.policies.linked_track_and_stop import LinkedTrackAndStop
from linkedbandits.policies.maximal_sampling import MaximalSampling
from linkedbandits.policies.median_elimination import MedianElimination
from linkedbandits.policies.suffix_ucb import SuffixUCB
from linkedbandits.policies.uniform_sampling import UniformSampling
from linkedbandits.policies.whole_sequence_ege import WholeSequenceEGE
from linkedbandits.policy import AnyPolicy, parameter_names, saved_parameters

__all__ = [
    "POLICIES",
    "CascadeBAI",
    "DeterministicShifting",
    "LilUCB",
    "LinkedDuels",
    "LinkedEGE",
    "LinkedElimination",
    "LinkedHalving",
    "LinkedLead",
    "LinkedOrder",
    "LinkedTrackAndStop",
    "MaximalSampling",
    "MedianElimination",
    "SuffixUCB",
    "UniformSampling",
    "WholeSequenceEGE",
    "describe_policy",
    "make_policy",
    "parameter_names",
    "policy_class",
]

POLICIES: dict[str, Any] = {
    policy.name: policy
    for policy in (
        LinkedElimination,
        LinkedTrackAndStop,
        LinkedHalving,
        LinkedDuels,
        LinkedOrder,
        LinkedLead,
        MaximalSampling,
        UniformSampling,
        LinkedEGE,
        MedianElimination,
        LilUCB,
        SuffixUCB,
        DeterministicShifting,
        WholeSequenceEGE,
        CascadeBAI,
    )
}

NOT_OFFERED: dict[tuple[str, str], str] = {
    (policy.name, "k"): policy.instead_of_k for policy in (LinkedDuels, LinkedLead)
}
"""Parameters that a policy could be thought to have, and what to use instead."""


def policy_class(name: str) -> Any:
    """The policy that the command line and saved experiments call ``name``."""
    try:
        return POLICIES[name]
    except KeyError:
        raise UnknownName(f"unknown policy {name!r}; choose one of {', '.join(POLICIES)}") from None


def make_policy(name: str, parameters: dict[str, Any]) -> AnyPolicy:
    """The policy of that name with these parameters.

    >>> make_policy("linked-ege", {"delta": 0.1, "gap": 0.05})
    LinkedEGE(delta=0.1, gap=0.05, median='reuse')
    """
    cls = policy_class(name)
    known = parameter_names(cls)
    for parameter in parameters:
        if parameter not in known:
            instead = NOT_OFFERED.get((name, parameter))
            remedy = f"it has {', '.join(known)}" + (f"; {instead}" if instead else "")
            raise InvalidParameter(f"{name} has no parameter {parameter!r}; {remedy}")
    for field in fields(cls):
        if field.name in known and field.name not in parameters and field.default is MISSING:
            raise InvalidParameter(f"{name} needs its parameter {field.name!r}; write {name}:{field.name}=0.1")
    policy: AnyPolicy = cls(**parameters)
    return policy


def describe_policy(policy: AnyPolicy) -> dict[str, Any]:
    """Name and parameters, so that :func:`make_policy` makes the same policy.

    >>> describe_policy(LinkedEGE(delta=0.1))
    {'name': 'linked-ege', 'parameters': {'delta': 0.1, 'gap': None, 'median': 'reuse'}}
    """
    return {"name": policy.name, "parameters": saved_parameters(policy)}
