"""A policy written for one run, in ask and tell, without lanes and without numpy; and how many of it run side by side.

Every lane has a copy of the policy of its own. What is saved of a run is its history alone: what was asked for, and
what came back. A copy that has to be made anew is led through that again, so it has to ask the same when it sees the
same; one that draws, draws from the seed that it begins with.
"""

from __future__ import annotations

import copy
import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidParameter
from linkedbandits.linkage import Asks, Linkage
from linkedbandits.model import Counts, IntArray, Needs, Repeats, Request, Status
from linkedbandits.policy import Goal, LaneState, Policy, SeedArray

Told = tuple[tuple[int, ...], tuple[int, ...]]
"""What was asked for, and the arms of it that succeeded."""


@dataclass
class PlainState(LaneState):
    """The runs of all lanes, each with a policy of its own."""

    runs: npt.NDArray[np.object_]

    def take(self, lanes: npt.NDArray[Any]) -> Self:
        """These lanes as a state of their own."""
        taken = super().take(lanes)
        for run in taken.runs:
            run.shared = True
        return taken

    def put(self, lanes: npt.NDArray[Any], part: Self) -> None:
        """Have these lanes be as in ``part``, in place."""
        super().put(lanes, part)
        for run in part.runs:
            run.shared = True

    def to_json(self) -> dict[str, Any]:
        """The history of every lane, beside what all states have."""
        shared = LaneState(self.still_in, self.stopped, self.arm).to_json()
        return {**shared, "runs": [run.to_json() for run in self.runs]}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The state that :meth:`to_json` wrote; its policies are led through their histories when they are needed."""
        shared = LaneState.from_json(data)
        return cls(shared.still_in, shared.stopped, shared.arm, _in_an_array([_Run(**run) for run in data["runs"]]))


class _Run:
    """One lane: where it began, what it was told, and the policy, unless that is still to be led there.

    ``shared`` says that several states have it: who changes it makes a copy first.
    """

    def __init__(self, seed: int, history: Sequence[Any] = ()) -> None:
        self.seed = seed
        self.history: list[Told] = [(tuple(asked), tuple(hits)) for asked, hits in history]
        self.policy: Any = None
        self.asked: tuple[int, ...] = ()
        self.shared = False

    def to_json(self) -> dict[str, Any]:
        return {"seed": self.seed, "history": [[list(asked), list(hits)] for asked, hits in self.history]}

    def forked(self) -> _Run:
        run = copy.copy(self)
        run.history, run.policy, run.shared = list(self.history), copy.deepcopy(self.policy), False
        return run


@dataclass
class PlainPolicy(Policy[PlainState]):
    """Write a policy for one run: what to try next, what to make of the answer, and when it is over.

    Inherit from it with ``@dataclass`` above the class and the parameters as its fields, and write ``begin``, ``ask``,
    ``tell``, ``done`` and ``best``. Then it can be used wherever the library takes a policy. Arms are numbers from
    0 on.

    ``asks`` says what ``ask`` returns. ``"ordered tuples"``, unless you say otherwise: arms in increasing order, which
    are tried one after the other until the first success; ``tell`` gets them with the arm that succeeded, or None.
    ``"tuples"`` may be in any order, for linkage free. With ``"needs"`` each of the arms is sampled once, in whatever
    plays there are, under any linkage; ``tell`` is then called once for each of them. A policy whose tuples have one
    arm each also runs under linkage single, whatever it ``asks``.

    Fields named ``delta``, ``k``, ``epsilon``, ``neighbours``, ``plays`` and ``costs`` mean what they mean in the
    library's own policies.

    >>> @dataclass
    ... class SevenEach(PlainPolicy):
    ...     plays: int = 14
    ...     def begin(self, arms, seed):
    ...         self.tried, self.worked = [0] * arms, [0] * arms
    ...     def ask(self):
    ...         return (min(range(len(self.tried)), key=self.tried.__getitem__),)
    ...     def tell(self, arms, hit):
    ...         self.tried[arms[0]] += 1
    ...         self.worked[arms[0]] += hit is not None
    ...     @property
    ...     def done(self):
    ...         return sum(self.tried) >= self.plays
    ...     def best(self):
    ...         return max(range(len(self.worked)), key=self.worked.__getitem__)
    >>> from linkedbandits import simulate
    >>> simulate([0.1, 0.9], SevenEach(), trials=100, seed=1).error_rate()
    0.0
    """

    name: ClassVar[str] = "plain-policy"
    asks: ClassVar[Asks] = "ordered tuples"
    asks_play_by_play: ClassVar[bool] = True
    _tries_one: ClassVar[bool] = False

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "name" not in vars(cls):
            cls.name = _kebab_case(cls.__name__)

    @abstractmethod
    def begin(self, arms: int, seed: int) -> None:
        """Get ready for a run with so many arms; who draws, draws from ``seed``."""

    @abstractmethod
    def ask(self) -> Sequence[int]:
        """The arms to try next, in this order. It is called once before each ``tell``."""

    @abstractmethod
    def tell(self, arms: tuple[int, ...], hit: int | None) -> None:
        """Take in how that went: the arm that succeeded, or None; those behind it were not tried."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """Is the run over? It is asked after each ``tell``."""

    @abstractmethod
    def best(self) -> int | Sequence[int]:
        """The answer when it is over: an arm, or the k best ones, best first."""

    @property
    def status_at_stop(self) -> Status:
        """``"exhausted"`` if it has a field ``plays``, else ``"confident"``."""
        return "exhausted" if getattr(self, "plays", None) is not None else "confident"

    @property
    def error_bound(self) -> float | None:
        """None: nothing is proved, unless you say so."""
        return None

    @property
    def goal(self) -> Goal:
        """What its fields say that it looks for."""
        return Goal(
            delta=getattr(self, "delta", None),
            k=getattr(self, "k", 1),
            tolerance=getattr(self, "epsilon", 0.0),
            neighbours=getattr(self, "neighbours", 0),
            budget=getattr(self, "plays", None),
            costs=tuple(getattr(self, "costs", ())),
        )

    def fitted_to(self, linkage: Linkage, parallel: int | None) -> Self:
        """The policy itself, if its parameters are fields; held to one arm a play where the linkage tries no more."""
        kind = type(self)
        if "__init__" in vars(kind) and "__dataclass_fields__" not in vars(kind):
            raise InvalidParameter(
                f"{kind.__name__} has an __init__ of its own, so its parameters are not known and could not be saved; "
                "write @dataclass above the class, and the parameters as its fields"
            )
        if linkage.tries_one == self._tries_one:
            return self
        fitted = copy.copy(self)
        vars(fitted)["_tries_one"] = linkage.tries_one
        return fitted

    def start(self, lanes: int, arms: int, seeds: SeedArray) -> PlainState:
        """A run for every lane."""
        state = PlainState(
            np.ones((lanes, arms), dtype=np.bool_),
            np.zeros(lanes, dtype=np.bool_),
            np.zeros(lanes, dtype=np.int64),
            _in_an_array([_Run(int(seed)) for seed in seeds]),
        )
        for run in state.runs:
            self._lead(run, arms)
        return state

    def request(self, state: PlainState) -> Request:
        """What each of the runs has asked for."""
        lanes, arms = state.still_in.shape
        asked = [self._led(run, arms).asked for run in state.runs]
        if self.asks == "needs":
            samples = np.zeros((lanes, arms), dtype=np.int64)
            for lane, wanted in enumerate(asked):
                for arm in wanted:
                    samples[lane, arm] += 1
            return Needs(samples)
        order = np.full((lanes, arms), -1, dtype=np.int64)  # as wide beside others as alone
        for lane, wanted in enumerate(asked):
            order[lane, : len(wanted)] = wanted
        return Repeats(order, np.ones(lanes, dtype=np.int64))

    def observe(self, state: PlainState, counts: Counts) -> None:
        """Tell each of the runs how it went, and have it ask again."""
        arms = state.still_in.shape[1]
        for lane, row in enumerate(counts.successes.tolist()):
            run = self._led(state.runs[lane], arms)
            if run.shared:
                run = state.runs[lane] = run.forked()
            left = list(row)  # an arm may have been asked for twice
            hits = []
            for arm in run.asked:
                if left[arm] > 0:
                    left[arm] -= 1
                    hits.append(arm)
            self._go_on(run, tuple(hits), arms)
            state.stopped[lane] = is_over(run.policy)
            if state.stopped[lane] or self.answers_at_any_time:
                state.arm[lane] = self._named(run, arms)[0]

    def answer(self, state: PlainState) -> IntArray:
        """The arms that the runs name, (lanes, k)."""
        arms = state.still_in.shape[1]
        always = self.answers_at_any_time
        named = [
            self._named(self._led(run, arms), arms)
            if stopped or (always and run.history)
            else tuple(range(self.goal.k))
            for run, stopped in zip(state.runs, state.stopped.tolist(), strict=True)
        ]
        return np.array(named, dtype=np.int64).reshape(len(named), self.goal.k)

    def _led(self, run: _Run, arms: int) -> _Run:
        if run.policy is None:
            self._lead(run, arms)
        return run

    def _lead(self, run: _Run, arms: int) -> None:
        """A policy where the history of a run leads to."""
        policy = copy.deepcopy(self)
        policy.begin(arms, run.seed)
        history, run.policy, run.history = run.history, policy, []
        run.asked = self._arms(policy.ask(), arms)
        for asked, hits in history:
            if asked != run.asked:
                raise InvalidParameter(
                    f"{type(self).__name__} was led through what it had seen before, and asked for {run.asked} where "
                    f"it had asked for {asked}; have it draw from the seed of begin() alone",
                    parameter="needs",
                )
            self._go_on(run, hits, arms)

    def _go_on(self, run: _Run, hits: tuple[int, ...], arms: int) -> None:
        policy, asked = run.policy, run.asked
        if self.asks == "needs":
            left = list(hits)
            for arm in asked:
                if arm in left:
                    left.remove(arm)
                    policy.tell((arm,), arm)
                else:
                    policy.tell((arm,), None)
        else:
            policy.tell(asked, hits[0] if hits else None)
        run.history.append((asked, hits))
        run.asked = () if is_over(policy) else self._arms(policy.ask(), arms)

    def _arms(self, asked: Any, arms: int) -> tuple[int, ...]:
        """What was asked for, if it can be played."""
        try:
            wanted = tuple(int(arm) for arm in asked)
        except (TypeError, ValueError):
            raise self._refused("ask", asked, "arms, as (0, 2)") from None
        if not wanted or not all(0 <= arm < arms for arm in wanted):
            raise self._refused("ask", asked, f"one or several of the arms 0 to {arms - 1}")
        if self.asks != "needs" and self._tries_one and len(wanted) > 1:
            raise self._refused("ask", asked, "one arm: under linkage single a play tries no more")
        if self.asks != "needs" and len(set(wanted)) < len(wanted):
            raise self._refused("ask", asked, "different arms")
        if self.asks == "ordered tuples" and list(wanted) != sorted(wanted):
            raise self._refused("ask", asked, 'arms in increasing order; or write asks = "tuples", for linkage free')
        return wanted

    def _named(self, run: _Run, arms: int) -> tuple[int, ...]:
        """The answer, if it is one."""
        best = run.policy.best()
        named = tuple(best) if isinstance(best, Sequence) else (best,)
        k = self.goal.k
        if len(set(named)) != k or len(named) != k or not all(arm in range(arms) for arm in named):
            wanted = "one of the arms" if k == 1 else f"{k} different ones of the arms"
            raise self._refused("best", best, f"{wanted} 0 to {arms - 1}")
        return named

    def _refused(self, method: str, given: object, wanted: str) -> InvalidParameter:
        return InvalidParameter(
            f"{method}() of {type(self).__name__} returned {given!r}; return {wanted}", parameter="needs"
        )


def is_over(policy: Any) -> bool:
    """Also of one that has a method where a property is meant, which would always be true."""
    said = policy.done
    return bool(said() if callable(said) else said)


def _in_an_array(runs: list[_Run]) -> npt.NDArray[np.object_]:
    array = np.empty(len(runs), dtype=np.object_)
    array[:] = runs
    return array


def _kebab_case(name: str) -> str:
    """What a class is called on the command line.

    >>> _kebab_case("TakeTheBest"), _kebab_case("UCB1")
    ('take-the-best', 'ucb1')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name.strip("_")).replace("_", "-").lower()
