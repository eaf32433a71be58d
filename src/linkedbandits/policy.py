"""What a policy is: it says what is needed next, who is out, and when to stop.

A policy is a frozen dataclass of its parameters. Everything that changes during a run is in a *state*, a
dataclass of arrays with the lane axis first, so that a run can be shown, saved, resumed, and thinned as lanes
finish. A policy is deterministic given what it saw; one that draws derives its draws from the lane's seed and the
step it is at.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidParameter, LinkageMismatch
from linkedbandits.linkage import Asks, Linkage, linkages_for
from linkedbandits.model import BoolArray, Counts, IntArray, Request, Status

SeedArray = npt.NDArray[np.uint64]


@dataclass
class LaneState:
    """The part of a policy's state that everybody may read.

    ``still_in[lane, arm]`` are the arms that can still be the answer, ``stopped[lane]`` says that the policy has
    finished by its own rule, and ``arm[lane]`` is then its answer.
    """

    still_in: BoolArray
    stopped: BoolArray
    arm: IntArray

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name)[lanes])

    def to_json(self) -> dict[str, Any]:
        """All arrays, by name, as plain data that survives JSON exactly."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: {"dtype": str(array.dtype), "shape": list(array.shape), "values": array.ravel().tolist()}
            for name, array in arrays.items()
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The state that :meth:`to_json` wrote."""
        return cls(
            **{
                field.name: np.array(data[field.name]["values"], dtype=data[field.name]["dtype"]).reshape(
                    data[field.name]["shape"]
                )
                for field in fields(cls)
            }
        )


StateT = TypeVar("StateT", bound=LaneState)


def open_lanes(lanes: int, arms: int) -> dict[str, Any]:
    """The shared fields of a state in which nothing has happened yet."""
    return {
        "still_in": np.ones((lanes, arms), dtype=np.bool_),
        "stopped": np.zeros(lanes, dtype=np.bool_),
        "arm": np.zeros(lanes, dtype=np.int64),
    }


class Policy(Protocol[StateT]):
    """The protocol of all policies; ``linkedbandits.testing.check_policy`` checks one against it.

    A policy that keeps ``state.arm`` up to date from its first counts on may say so with a class variable
    ``answers_at_any_time = True``: where a budget ends its run, that answer is named, not the best empirical mean.
    """

    name: ClassVar[str]
    """What the command line and saved experiments call it, in kebab case."""
    asks: ClassVar[Asks]
    """The kind of requests it makes."""

    @property
    def status_at_stop(self) -> Status:
        """``"confident"`` if it stops by a rule of confidence, ``"budget"`` if it just uses what it was given."""
        ...

    @property
    def error_bound(self) -> float | None:
        """The proved bound on the probability of a wrong answer at its stop, or None without a proof."""
        ...

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> StateT:
        """The state before anything was played. ``seeds`` has one number a lane, for policies that draw."""
        ...

    def request(self, state: StateT) -> Request:
        """What it wants next, in every lane; the state does not change."""
        ...

    def observe(self, state: StateT, counts: Counts) -> None:
        """Take in what the request brought, and decide."""
        ...


AnyPolicy = Policy[Any]
PolicyT = TypeVar("PolicyT", bound=AnyPolicy)


def check_linkage(policy: AnyPolicy, linkage: Linkage) -> None:
    """Refuse what is no policy, and a policy whose requests cannot be played under the linkage."""
    if not hasattr(policy, "asks") or isinstance(policy, type):
        raise InvalidParameter(f"{policy!r} is no policy; pass one such as UniformSampling(delta=0.05)")
    if not linkage.allows(policy.asks):
        raise LinkageMismatch(
            f"{type(policy).__name__} asks for {policy.asks}, which linkage {linkage.name!r} does not allow; use "
            f"linkage {linkages_for(policy.asks)}, or a policy that asks for needs, such as UniformSampling"
        )


def fitted(policy: PolicyT, linkage: Linkage, parallel: int | None) -> PolicyT:
    """The policy as it runs under a linkage with so many plays out at once.

    One that weighs what samples cost has a field ``price`` for the linkage's. One that asks little at a time has a
    field ``parallel``, the least that is worth asking; the others ask for plenty anyway.
    """
    given: dict[str, Any] = {"price": linkage.price}
    if parallel is not None:
        given["parallel"] = parallel
    wanted = {field.name for field in fields(policy)}  # type: ignore[arg-type]
    return replace(policy, **{name: value for name, value in given.items() if name in wanted})  # type: ignore[type-var]
