"""What a policy is: it says what is needed next, which arms are out, and when to stop.

A policy is a frozen dataclass of its parameters. Everything that changes during a run is in a *state*, a
dataclass of arrays with the lane axis first, so that a run can be shown, saved, resumed, and thinned as lanes
finish. A policy is deterministic given its observations; a policy that draws derives its draws from the lane's seed and
the step it is at.

A policy inherits from :class:`Policy`, which declares all that the rest of the library asks of a policy: what it has to
write itself, and what has a default. Behind it stand the parts that many policies share.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption, ToldDifference
from linkedbandits.checks import check_costs, check_not_negative, check_probability, check_whole
from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import LINKAGES, Asks, Linkage, find_linkage, linkages_for
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Request, Status, leading_arms
from linkedbandits.stopping.lil import Calibration, LilRule

SeedArray = npt.NDArray[np.uint64]


@dataclass
class LaneState:
    """The fields that the state of every policy has.

    ``still_in[lane, arm]`` are the arms that can still be the answer, ``stopped[lane]`` says that the policy has
    finished by its own rule, and ``arm[lane]`` is then its answer.
    """

    still_in: BoolArray
    stopped: BoolArray
    arm: IntArray

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        for name, array in self._of_lanes(lanes).items():
            setattr(self, name, array)

    def take(self, lanes: npt.NDArray[Any]) -> Self:
        """These lanes as a state of their own."""
        return type(self)(**self._of_lanes(lanes))

    def put(self, lanes: npt.NDArray[Any], part: Self) -> None:
        """Have these lanes be as in ``part``, in place."""
        for field in fields(self):
            getattr(self, field.name)[lanes] = getattr(part, field.name)

    def _of_lanes(self, lanes: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
        """These lanes of all arrays, by name."""
        positions = np.flatnonzero(lanes) if lanes.dtype == np.bool_ else lanes
        return {field.name: _rows(getattr(self, field.name), positions) for field in fields(self)}

    def to_json(self) -> dict[str, Any]:
        """All arrays by name, as lists and numbers that JSON keeps exactly."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: {"dtype": _written(array.dtype), "shape": list(array.shape), "values": array.ravel().tolist()}
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


@lru_cache
def _written(dtype: np.dtype[Any]) -> str:
    """The name of a type of numbers; kept, because numpy builds the text anew at every call."""
    return str(dtype)


def _rows(array: npt.NDArray[Any], positions: IntArray) -> npt.NDArray[Any]:
    """Rows of an array, which stays laid out in memory as it is: a policy may have put another axis outermost."""
    if array.flags.c_contiguous:
        return array.take(positions, axis=0)
    outermost_first = sorted(range(array.ndim), key=array.strides.__getitem__, reverse=True)
    rows = array.transpose(outermost_first).take(positions, axis=outermost_first.index(0))
    return rows.transpose([outermost_first.index(axis) for axis in range(array.ndim)])


StateT = TypeVar("StateT", bound=LaneState)


def open_lanes(lanes: int, arms: int) -> dict[str, Any]:
    """The shared fields of a state in which nothing has happened yet."""
    return {
        "still_in": np.ones((lanes, arms), dtype=np.bool_),
        "stopped": np.zeros(lanes, dtype=np.bool_),
        "arm": np.zeros(lanes, dtype=np.int64),
    }


@dataclass(frozen=True, slots=True)
class Goal:
    """What a policy looks for: which answers are right, how often it may be wrong, and what it may spend.

    >>> Goal(delta=0.05, k=3)
    Goal(delta=0.05, k=3, tolerance=0.0, neighbours=0, budget=None, costs=())
    """

    delta: float | None = None
    """How often the answer may be wrong; None where the policy is not told."""
    k: int = 1
    """How many arms the answer has: the k best are looked for."""
    tolerance: float = 0.0
    """How far below the k-th best mean an arm may be and still be a right answer."""
    neighbours: int = 0
    """How many places an arm may be away from a right answer and still be one itself."""
    budget: int | None = None
    """The plays that the policy takes at most; None where it has no limit of its own."""
    costs: tuple[float, ...] = ()
    """What a try of each arm costs, where the best arm is the one with most successes per cost; empty elsewhere."""

    def __post_init__(self) -> None:
        if self.delta is not None:
            check_probability("delta", self.delta)
        check_whole("k", self.k)
        check_not_negative("tolerance", self.tolerance)
        check_whole("neighbours", self.neighbours, least=0)
        if self.budget is not None:
            check_whole("budget", self.budget)
        check_costs(self.costs)


class Policy(Protocol[StateT]):
    """What all policies inherit from; ``linkedbandits.testing.check_policy`` checks one against it.

    A policy has to have a ``name``, to say what it ``asks``, and to write the methods and properties without a default:
    ``status_at_stop``, ``error_bound``, ``start``, ``request`` and ``observe``. The others have defaults that suit a
    policy which looks for the single best arm. Write your own where yours can do more.
    """

    name: ClassVar[str]
    """What the command line and saved experiments call it, in kebab case."""
    asks: ClassVar[Asks]
    """The kind of requests it makes; a policy that asks for needs may ask for tuples where its linkage allows them."""
    asks_play_by_play: ClassVar[bool] = False
    """Is each play looked at when it is asked for? Then its tuples may be of one arm, also under linkage single."""
    answers_at_any_time: ClassVar[bool] = False
    """Is its answer up to date from the first counts on?

    Then that answer is named where a budget ends a run, otherwise the arms with the highest empirical means.
    """

    @property
    @abstractmethod
    def status_at_stop(self) -> Status:
        """``"confident"`` if it stops by a rule of confidence, ``"exhausted"`` if it just uses what it was given."""
        ...

    @property
    @abstractmethod
    def error_bound(self) -> float | None:
        """The proved bound on the probability of a wrong answer at its stop, or None without a proof."""
        ...

    @abstractmethod
    def start(self, lanes: int, arms: int, seeds: SeedArray) -> StateT:
        """The state before anything was played. ``seeds`` has one number per lane, for policies that draw."""
        ...

    @abstractmethod
    def request(self, state: StateT) -> Request:
        """What it wants next, in every lane; the state does not change."""
        ...

    @abstractmethod
    def observe(self, state: StateT, counts: Counts) -> None:
        """Take in what the request brought, and decide."""
        ...

    @property
    def goal(self) -> Goal:
        """What it looks for. By default: the best arm, without being told how often it may be wrong."""
        return Goal()

    @property
    def told_difference(self) -> ToldDifference | None:
        """How far ahead it was told that the best arm is; None, the default, where it is told nothing.

        A policy that is told so may need fewer plays than any that is not: it is measured by a bound of its own.
        """
        return None

    def answer(self, state: StateT) -> IntArray:
        """The arms it names, (lanes, k), best first. By default the one of ``state.arm``."""
        return state.arm[:, np.newaxis]

    def log10_evidence(self, state: StateT) -> FloatArray | None:
        """Evidence against every arm as a power of ten, (lanes, arms); an arm is dropped at 1/delta.

        None, the default, where the policy keeps none.
        """
        return None

    def carry_over(self, state: StateT, capital: FloatArray) -> bool:
        """Begin, in a state from :meth:`start`, with the capital against every arm that an earlier rule has made.

        ``capital`` (lanes, arms) is what ``10 ** log10_evidence`` was then. Returns False, the default, where the
        policy cannot use it and begins from 1. A policy whose evidence against the best arm is a supermartingale may
        go on from it: the product is one as well.
        """
        return False

    def contradicted(self, state: StateT, arm: IntArray) -> BoolArray | None:
        """In which lanes what was seen speaks against what the policy was told, if this arm is named there: (lanes,).

        None, the default, where it is told nothing, or does not look.
        """
        return None

    def fitted_to(self, linkage: Linkage, parallel: int | None) -> Self:
        """The policy as it runs under ``linkage``, with ``parallel`` plays out at once, or None if that is not said.

        Everything that runs a policy calls this first, and runs what it returns. By default the policy itself. One that
        weighs what samples cost takes the linkage's price here; one that asks little at a time asks for ``parallel``.
        """
        return self

    def assumptions(self, linkage: Linkage) -> tuple[Assumption, ...]:
        """What has to hold of the arms under ``linkage``, or its answer is wrong more often than it says.

        By default that the arms of a play are independent of each other, unless every play tries one arm only, and the
        ``told_difference`` if there is one. Leave the first out where the answer is right whatever depends on what.
        """
        independent = () if linkage.tries_one else (INDEPENDENT_OPTIONS,)
        told = self.told_difference
        return independent if told is None else (*independent, told.assumption())


AnyPolicy = Policy[Any]


class StopsWhenConfident:
    """A policy that stops by a rule of confidence at level ``delta``, and looks for the best arm."""

    delta: float | None

    @property
    def status_at_stop(self) -> Status:
        """``"confident"``: it stops by its own rule only."""
        return "confident"

    @property
    def goal(self) -> Goal:
        """The best arm, wrong with probability at most ``delta``."""
        return Goal(delta=self.delta)


class WithGuarantee(StopsWhenConfident):
    """A policy whose answer is wrong with probability at most ``delta``, by a proof."""

    @property
    def error_bound(self) -> float | None:
        """``delta``, if the assumptions hold and any told difference is true."""
        return self.delta


class WithoutGuarantee:
    """A policy that uses up a budget, its own or the one it runs under, and proves nothing."""

    @property
    def status_at_stop(self) -> Status:
        """``"exhausted"``: it stops, if ever, when nothing is left to spend."""
        return "exhausted"

    @property
    def error_bound(self) -> float | None:
        """None: the error depends on the means, which are unknown."""
        return None


class EffortOrConfidence:
    """A policy that takes either an amount of effort, or ``delta`` to go on until the LIL rule stops it."""

    delta: float | None
    calibration: Calibration

    def check_stopping(self, effort: str, amount: int | None) -> None:
        """Refuse neither or both of ``delta`` and the ``amount`` of effort, and invalid values."""
        if (self.delta is None) == (amount is None):
            had = "neither" if amount is None else f"delta and {effort}"
            raise InvalidParameter(f"{type(self).__name__} takes either delta or {effort}; got {had}")
        if amount is not None:
            check_whole(effort, amount)
        LilRule(0.5 if self.delta is None else self.delta, self.calibration)

    @property
    def status_at_stop(self) -> Status:
        """``"confident"`` only if the LIL rule stops it."""
        return "exhausted" if self.delta is None else "confident"

    @property
    def error_bound(self) -> float | None:
        """``delta`` with the proved calibration."""
        return None if self.delta is None else LilRule(self.delta, self.calibration).error_bound


class InBatches(Policy[StateT]):
    """A policy that asks for at least ``parallel`` plays or samples at a time, so that as many can be out at once."""

    parallel: int

    def fitted_to(self, linkage: Linkage, parallel: int | None) -> Self:
        """The policy with this ``parallel``; unchanged where it is None."""
        return self if parallel is None else replace(self, parallel=parallel)  # type: ignore[type-var]


def within_reach_of_all(still_in: BoolArray, places: int) -> BoolArray:
    """The arms at most ``places`` places from every arm that is still in; unspecified in lanes where none is.

    >>> within_reach_of_all(np.array([[False, True, False, True, False]]), places=1)
    array([[False, False,  True, False, False]])
    """
    arm = np.arange(still_in.shape[1])
    first = still_in.argmax(axis=1)[:, np.newaxis]
    last = arm[-1] - still_in[:, ::-1].argmax(axis=1)[:, np.newaxis]
    return np.asarray((arm - first <= places) & (last - arm <= places))


def check_neighbours(neighbours: int, arms: int) -> None:
    """Refuse a tolerance in places with which an arm in the middle would be right whatever the means."""
    if neighbours > 0 and 2 * neighbours + 1 >= arms:
        raise InvalidParameter(
            f"neighbours={neighbours} leaves nothing to decide between {arms} arms; "
            f"choose neighbours of at most {(arms - 2) // 2}"
        )


def best_guess(policy: AnyPolicy, state: LaneState, samples: IntArray, successes: IntArray) -> IntArray:
    """The arms to name where a policy has not stopped, (lanes, k): its own if it always has some, else the leading."""
    if policy.answers_at_any_time:
        return policy.answer(state)
    return leading_arms(samples, successes, state.still_in, policy.goal.k, policy.goal.costs)


WRITTEN = ("name", "asks", "status_at_stop", "error_bound", "start", "request", "observe")
"""What every policy writes itself."""
INHERITED = (
    "answers_at_any_time",
    "goal",
    "told_difference",
    "answer",
    "log10_evidence",
    "carry_over",
    "contradicted",
    "fitted_to",
    "assumptions",
)
"""What has a default in :class:`Policy`."""


def check_is_policy(policy: AnyPolicy, instead: str = "UniformSampling(delta=0.05)") -> None:
    """Refuse what is no policy, and a policy that lacks a part; ``instead`` is one to pass in that place."""
    if isinstance(policy, type) or not _has(policy, "observe"):
        raise InvalidParameter(f"{policy!r} is no policy; pass one such as {instead}")
    lacking = [name for name in WRITTEN if not _has(policy, name)]
    not_inherited = [name for name in INHERITED if not _has(policy, name)]
    if lacking or not_inherited:
        kind = type(policy).__name__
        remedies = [f"write {', '.join(lacking)}"] if lacking else []
        if not_inherited:
            remedies.append(f"inherit from linkedbandits.policy.Policy, as class {kind}(Policy[...])")
        raise InvalidParameter(
            f"{kind} is not a whole policy: it lacks {', '.join(lacking + not_inherited)}; {', and '.join(remedies)}"
        )
    if not is_dataclass(policy):
        raise InvalidParameter(
            f"{type(policy).__name__} is no dataclass, so its parameters could not be saved; "
            "write @dataclass(frozen=True) above it"
        )


def may_be_played(kind: type[AnyPolicy], linkage: Linkage) -> bool:
    """Can the requests of such policies be played under the linkage?

    Tuples of one arm can be played where every play tries one; a longer tuple is refused when it is asked for.
    """
    return linkage.allows(kind.asks) or (linkage.tries_one and getattr(kind, "asks_play_by_play", False))


def linkage_of(policies: Iterable[AnyPolicy | type[AnyPolicy]], given: str | Linkage | None) -> Linkage:
    """The linkage that is given; where none is, the first one that allows what all of these policies ask for.

    That is ``ordered`` wherever it can be, and ``free`` for policies that ask for any tuple. Where no linkage suits all
    of them it is ``ordered``, and :func:`check_linkage` says which policy needs another.

    >>> from linkedbandits import LinkedDuels, LinkedElimination
    >>> linkage_of([LinkedElimination(0.05)], None).name, linkage_of([LinkedDuels(0.05)], None).name
    ('ordered', 'free')
    """
    if given is not None:
        return find_linkage(given)
    asked = {kind.asks for kind in policies if hasattr(kind, "asks")}
    suited = (link for link in LINKAGES.values() if all(link.allows(asks) for asks in asked))
    return next(suited, find_linkage("ordered"))


def check_linkage(policy: AnyPolicy, linkage: Linkage) -> None:
    """Refuse what is no policy, and a policy whose requests cannot be played under the linkage."""
    check_is_policy(policy)
    if not may_be_played(type(policy), linkage):
        otherwise = "a policy that asks for needs, such as UniformSampling"
        if INDEPENDENT_OPTIONS not in policy.assumptions(linkage):  # as most others do, and so are no remedy
            otherwise = "LinkedElimination under linkage 'single', which does not assume independent options either"
        raise InvalidParameter(
            f"{type(policy).__name__} asks for {policy.asks}, which linkage {linkage.name!r} does not allow; use "
            f"linkage {linkages_for(policy.asks)}, or {otherwise}",
            parameter="linkage",
            reason="linkage_mismatch",
        )


def assumed_when_seen(policy: AnyPolicy, linkage: Linkage, *, one_a_play: bool) -> tuple[Assumption, ...]:
    """What a policy takes for granted, judged by its plays: ``one_a_play`` if none of them tried a second arm.

    Then nothing was read behind a failure, and it does not matter which arms fail together.
    """
    declared = policy.assumptions(linkage)
    return tuple(each for each in declared if not (one_a_play and each == INDEPENDENT_OPTIONS))


def parameter_names(cls: type) -> list[str]:
    """The parameters that make a policy what it is; not what it is given by the linkage it runs under."""
    return [field.name for field in fields(cls) if field.metadata.get("saved", True)]


def saved_parameters(policy: AnyPolicy) -> dict[str, Any]:
    """The parameters with which the same policy can be made again.

    A parameter that came later is left out while it has its default: so what was saved before still describes the same.
    """
    cls: Any = type(policy)
    values = {name: getattr(policy, name) for name in parameter_names(cls)}
    for field in fields(cls):
        if field.metadata.get("saved") == "if set" and values[field.name] == field.default:
            del values[field.name]
    return {name: _as_json(value) for name, value in values.items()}


def _as_json(value: object) -> object:
    """As JSON has it, so that what was read back is the same; what it does not have, such as a sensor, in words."""
    if isinstance(value, tuple):
        return list(value)
    return repr(value) if is_dataclass(value) else value


DECLARED_AS = {
    "delta": "delta",
    "k": "k",
    "epsilon": "tolerance",
    "neighbours": "neighbours",
    "plays": "budget",
    "costs": "costs",
}
"""Parameters that mean the same in every policy, and the part of the goal that has to say so."""


def undeclared_parameters(policy: AnyPolicy) -> dict[str, str]:
    """The parameters that mean something to the rest of the library, and differ from what the goal says of them.

    By name, with the part of the goal that they belong to. ``check_policy`` refuses them: nothing else would read them.
    """
    goal = policy.goal
    names = [name for name in parameter_names(type(policy)) if name in DECLARED_AS]
    return {name: DECLARED_AS[name] for name in names if getattr(policy, name) != getattr(goal, DECLARED_AS[name])}


def untold_parameters(policy: AnyPolicy) -> list[str]:
    """The parameters that tell the policy how far ahead the best arm is, where its ``told_difference`` is silent."""
    told = [name for name in ("gap", "odds_ratio", "lift") if getattr(policy, name, None) is not None]
    return told if policy.told_difference is None else []


def unfitted_parameters(policy: AnyPolicy, linkage: Linkage, parallel: int) -> list[str]:
    """The parameters ``price`` and ``parallel`` that the policy has, and does not take in when it is fitted."""
    fitted: Any = policy.fitted_to(linkage, parallel)
    given = {"price": linkage.price, "parallel": parallel}
    names = [field.name for field in fields(fitted) if field.name in given]
    return [name for name in names if getattr(fitted, name) != given[name]]


def undeclared_top(policy: AnyPolicy, state: LaneState) -> bool:
    """Has the state an array ``top`` of arms that the policy does not answer with?"""
    return _has(state, "top") and not np.array_equal(getattr(state, "top"), policy.answer(state))  # noqa: B009


def _has(thing: object, name: str) -> bool:
    """Is there such an attribute? A property is not asked for its value, which it may fail to give."""
    return hasattr(type(thing), name) or name in getattr(thing, "__dict__", ())
