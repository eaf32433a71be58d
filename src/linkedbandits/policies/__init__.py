"""The policies, one a file, and how to find them by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkedbandits.errors import InvalidParameter, LinkedBanditError, UnknownName
from linkedbandits.policies.registry import _CUSTOM, converted, in_parts, load_own, names_code, own_form
from linkedbandits.policy import AnyPolicy, parameter_names, saved_parameters

if TYPE_CHECKING:
    from linkedbandits.policies.deterministic_shifting import DeterministicShifting
    from linkedbandits.policies.lil_ucb import LilUCB
    from linkedbandits.policies.linked_duels import LinkedDuels
    from linkedbandits.policies.linked_ege import LinkedEGE
    from linkedbandits.policies.linked_elimination import LinkedElimination
    from linkedbandits.policies.linked_halving import LinkedHalving
    from linkedbandits.policies.linked_lead import LinkedLead
    from linkedbandits.policies.linked_track_and_stop import LinkedTrackAndStop
    from linkedbandits.policies.maximal_sampling import MaximalSampling
    from linkedbandits.policies.median_elimination import MedianElimination
    from linkedbandits.policies.suffix_ucb import SuffixUCB
    from linkedbandits.policies.uniform_sampling import UniformSampling
    from linkedbandits.policies.whole_sequence_ege import WholeSequenceEGE

__all__ = [
    "POLICIES",
    "DeterministicShifting",
    "LilUCB",
    "LinkedDuels",
    "LinkedEGE",
    "LinkedElimination",
    "LinkedHalving",
    "LinkedLead",
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
    "policy_named",
]

_HOMES = {
    "LinkedElimination": "linked_elimination",
    "LinkedTrackAndStop": "linked_track_and_stop",
    "LinkedHalving": "linked_halving",
    "LinkedDuels": "linked_duels",
    "LinkedLead": "linked_lead",
    "MaximalSampling": "maximal_sampling",
    "UniformSampling": "uniform_sampling",
    "LinkedEGE": "linked_ege",
    "MedianElimination": "median_elimination",
    "LilUCB": "lil_ucb",
    "SuffixUCB": "suffix_ucb",
    "DeterministicShifting": "deterministic_shifting",
    "WholeSequenceEGE": "whole_sequence_ege",
}
"""Which module has which policy, in the order in which people are shown them. A policy's name is that of its module."""


class _ByName(Mapping[str, Any]):
    """The classes by the names of the policies, each imported when it is asked for: an experiment needs one."""

    def __getitem__(self, name: str) -> Any:
        return _load(_CLASSES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(_CLASSES)

    def __len__(self) -> int:
        return len(_CLASSES)

    def __contains__(self, name: object) -> bool:
        return name in _CLASSES


_CLASSES = {module.replace("_", "-"): cls for cls, module in _HOMES.items()}
POLICIES: Mapping[str, Any] = _ByName()


def _load(cls: str) -> Any:
    return getattr(import_module(f"{__name__}.{_HOMES[cls]}"), cls)


if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _HOMES:
            found = _load(name)
        elif name in _HOMES.values():
            found = import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found


def policy_class(name: str) -> Any:
    """The policy that the command line and saved experiments call ``name``. Nothing is imported for it."""
    found = POLICIES.get(name) or _CUSTOM.get(name)
    if found is not None:
        return found
    if isinstance(name, str) and names_code(name):
        raise UnknownName(
            f"{name!r} says where a policy's code is, and none is loaded for a name; whoever runs the program loads "
            f"it, as linkedbandits serve --policy {name} does, and then it goes by its own name"
        )
    raise UnknownName(f"unknown policy {name!r}; {_known(name)}")


SHORTEST_BEGINNING = 3
"""Letters of a name that are enough to guess it from."""


def _known(name: object) -> str:
    """Which policies there are, the one that was meant first."""
    known = [*POLICIES, *_CUSTOM]
    begin_so = [each for each in known if len(str(name)) >= SHORTEST_BEGINNING and each.startswith(str(name))]
    # Who has cut a name short means one that begins so, however far it goes on.
    near = get_close_matches(str(name), begin_so, n=1, cutoff=0.0) or get_close_matches(str(name), known, n=1)
    meant = f"did you mean {near[0]!r}? If not, choose" if near else "choose"
    return f"{meant} one of {', '.join(known)}"


def make_policy(name: str, parameters: dict[str, Any]) -> AnyPolicy:
    """The policy of that name with these parameters.

    >>> make_policy("linked-ege", {"delta": 0.1, "gap": 0.05})
    LinkedEGE(delta=0.1, gap=0.05, median='reuse')
    """
    cls = policy_class(name)
    known = parameter_names(cls)
    for parameter in parameters:
        if parameter not in known:
            instead = getattr(cls, "instead_of_k", None) if parameter == "k" else None
            remedy = f"it has {', '.join(known)}" + (f"; {instead}" if instead else "")
            raise InvalidParameter(f"{name} has no parameter {parameter!r}; {remedy}")
    for field in fields(cls):
        if field.name in known and field.name not in parameters and field.default is field.default_factory is MISSING:
            raise InvalidParameter(f"{name} needs its parameter {field.name!r}; write {name}:{field.name}=0.1")
    if name not in _CUSTOM:
        policy: AnyPolicy = cls(**parameters)
        return policy
    try:
        own: AnyPolicy = cls(**converted(cls, name, parameters))
    except LinkedBanditError:
        raise
    except Exception as error:  # code of the user's, which may fail in any way
        raise InvalidParameter(f"{name} does not take {parameters}: {type(error).__name__}: {error}") from error
    return own


def policy_named(text: str) -> tuple[str, str]:
    """The name of a policy and the parameters behind it, as the command line and study files write them.

    One that says where its code is, as ``package.module:Class:key=value``, is imported: this is for what the person
    who runs the program has written, and for nothing that came from elsewhere.

    >>> policy_named("linked-ege:median=fresh")
    ('linked-ege', 'median=fresh')
    """
    name, _, parameters = text.partition(":")
    if name in POLICIES or name in _CUSTOM:
        return name, parameters
    if not names_code(text):
        raise UnknownName(f"unknown policy {name!r}; {_known(name)}; one of your own is {own_form(name)}")
    written = in_parts(text)
    return load_own(written, POLICIES).name, written.parameters


def describe_policy(policy: AnyPolicy) -> dict[str, Any]:
    """Name and parameters, so that :func:`make_policy` makes the same policy.

    >>> describe_policy(make_policy("linked-ege", {"delta": 0.1}))
    {'name': 'linked-ege', 'parameters': {'delta': 0.1, 'gap': None, 'median': 'reuse'}}
    """
    return {"name": policy.name, "parameters": saved_parameters(policy)}
