"""The words of the problem as data: what a policy asks for, what comes back, and the verdict.

Everything that a policy and the outside world exchange has the *lane* axis first: one row for each of many
independent problems that run side by side (a Monte-Carlo trial, a pixel). A live experiment is one lane.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidParameter

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

Label = Hashable
Status = Literal["confident", "exhausted", "running"]
"""How a run stands: its policy stopped by its own rule, its plays ran out first, or it still goes on."""

COUNT_LIMIT = 2**62
"""No run uses more plays than this; a need that saturates here can never be met."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Ask for exactly ``samples[lane, arm]`` samples of every arm, in whatever plays the linkage allows."""

    samples: IntArray

    def take(self, lanes: npt.NDArray[Any]) -> Needs:
        """Keep only the given lanes (an index array or a mask)."""
        return Needs(self.samples[lanes])


@dataclass(frozen=True, slots=True)
class Repeats:
    """Ask for one tuple of arms, ``order[lane]``, to be played exactly ``times[lane]`` times.

    Tuples may differ in length between lanes; ``-1`` after the last arm fills up the row.
    """

    order: IntArray
    times: IntArray

    def take(self, lanes: npt.NDArray[Any]) -> Repeats:
        """Keep only the given lanes (an index array or a mask)."""
        return Repeats(self.order[lanes], self.times[lanes])


@dataclass(frozen=True, slots=True)
class Tuples:
    """Ask for several tuples of arms: ``order[lane, choice]`` to be played exactly ``times[lane, choice]`` times.

    ``-1`` after the last arm fills up a tuple. What comes back says of each tuple where its plays ended
    (:attr:`Counts.hits`). Played one by one, the plays of a lane come in an order drawn at random from
    ``shuffle[lane]``: so nothing about a request, nor the time it comes at, goes with the tuple that it gets.
    """

    order: IntArray
    times: IntArray
    shuffle: npt.NDArray[np.uint64]

    def take(self, lanes: npt.NDArray[Any]) -> Tuples:
        """Keep only the given lanes (an index array or a mask)."""
        return Tuples(self.order[lanes], self.times[lanes], self.shuffle[lanes])


Request = Needs | Repeats | Tuples


@dataclass(frozen=True, slots=True)
class Counts:
    """What a request brought in: samples and successes of every arm, and the plays made since the one before.

    ``plays`` (one number per lane) is for policies with a budget of plays; it is None where plays were not counted.
    ``hits[lane, choice, place]`` are the plays of each of several :class:`Tuples` that ended at each place of it.
    """

    samples: IntArray
    successes: IntArray
    plays: IntArray | None = None
    hits: IntArray | None = None

    def most_plays(self) -> IntArray:
        """The plays; where they were not counted, the most that they can have been: one a sample."""
        return self.samples.sum(axis=1) if self.plays is None else self.plays

    def take(self, lanes: npt.NDArray[Any]) -> Counts:
        """Keep only the given lanes (an index array or a mask)."""
        plays = None if self.plays is None else self.plays[lanes]
        hits = None if self.hits is None else self.hits[lanes]
        return Counts(self.samples[lanes], self.successes[lanes], plays, hits)


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """The answer to "which arm is best?".

    ``status`` is ``"confident"`` if the policy stopped by its own rule, ``"exhausted"`` if a budget of plays ran out
    first, and ``"running"`` before either: then ``arm`` is what leads so far. ``error_bound`` is the proved bound on
    the probability that the answer is wrong by the policy's own claim (not the best arm; with an epsilon or neighbours,
    not within these of it; with costs, not the arm with most successes per cost), or None where there is no proof.
    ``top`` has the k best arms, best first, where a policy was asked for more than one. ``assumes`` names everything
    that the policy was told or takes for granted: only where that holds is the answer worth what it says.
    ``Experiment.assumptions`` has the sentences, with what to use instead. ``contradicted`` names those of them that
    what was seen speaks against.
    """

    arm: Label
    status: Status
    plays: int
    error_bound: float | None
    top: tuple[Label, ...] = field(default=(), repr=False)
    assumes: tuple[str, ...] = ()
    contradicted: tuple[str, ...] = field(default=(), repr=False, kw_only=True)

    @property
    def proved(self) -> bool:
        """True if the policy stopped by its own rule and a bound on its error, below 1, is proved."""
        return self.status == "confident" and self.error_bound is not None and self.error_bound < 1

    @property
    def guarantee(self) -> str:
        """How sure it is in a few words, with what that rests on.

        >>> Verdict("a", "confident", 90, 0.05, assumes=("told difference",)).guarantee
        'error at most 0.05, assuming told difference'
        >>> Verdict("a", "confident", 90, None).guarantee
        'not proved'
        """
        if not self.proved:
            return "not proved"
        return f"error at most {self.error_bound:g}" + (f", assuming {', '.join(self.assumes)}" if self.assumes else "")

    def __repr__(self) -> str:
        """Without what is only of interest for some verdicts; but what is contradicted has to be seen."""
        shown = [part.name for part in fields(self) if part.repr or (part.name == "contradicted" and self.contradicted)]
        return f"Verdict({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def _repr_html_(self) -> str:
        display = import_module("linkedbandits.display")  # notebooks alone need it, and it imports this module
        return str(display.verdict_table(self))


def check_means(means: npt.ArrayLike) -> FloatArray:
    """Return the means as a float vector, or say what is wrong with them.

    >>> check_means([0.1, 0.05])
    array([0.1 , 0.05])
    >>> check_means([0.1, 1.5])
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidParameter: mean 1.5 of arm 1 is outside [0, 1]; means are success probabilities
    """
    try:
        vector = np.array(means, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"means {means!r} are not numbers; pass a list of success probabilities", parameter="means"
        ) from error
    if vector.ndim != 1:
        raise InvalidParameter(
            f"means have shape {vector.shape}; pass one flat list, a number for each arm", parameter="means"
        )
    if vector.size < 2:
        raise InvalidParameter(f"{vector.size} mean(s) given; a choice needs at least two arms", parameter="means")
    wrong = np.flatnonzero(~((vector >= 0) & (vector <= 1)))
    if wrong.size:
        first = int(wrong[0])
        raise InvalidParameter(
            f"mean {float(vector[first])!r} of arm {first} is outside [0, 1]; means are success probabilities",
            parameter="means",
        )
    return vector


def check_needs(needs: npt.ArrayLike, arms: int | None = None) -> IntArray:
    """Return a vector of needs as whole numbers, or say what is wrong with it.

    >>> check_needs([3, 0, 2.0])
    array([3, 0, 2])
    >>> check_needs([3, -1])
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidParameter: need -1 of arm 1 is negative; ask for 0 samples to leave an arm out
    """
    try:
        vector = np.array(needs, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"needs {needs!r} are not numbers; pass a list of sample counts", parameter="needs"
        ) from error
    if vector.ndim != 1:
        raise InvalidParameter(
            f"needs have shape {vector.shape}; pass one flat list, a count for each arm", parameter="needs"
        )
    if arms is not None and vector.size != arms:
        raise InvalidParameter(
            f"{vector.size} needs for {arms} arms; give one for each arm (0 leaves it out)", parameter="needs"
        )
    for arm in np.flatnonzero(~((vector >= 0) & (vector == np.floor(vector)) & (vector < COUNT_LIMIT))):
        value = float(vector[arm])
        if value < 0:
            reason = "is negative; ask for 0 samples to leave an arm out"
        elif value >= COUNT_LIMIT:
            reason = f"is too large; a count stays below 2**62 ({COUNT_LIMIT})"
        else:
            reason = "is not a whole number; round it up to ask for enough"
        raise InvalidParameter(f"need {value:.12g} of arm {arm} {reason}", parameter="needs")
    return np.array(needs).astype(np.int64)


def check_request(request: Request) -> None:
    """Refuse a policy's request that cannot be fulfilled, or that asks for nothing, so that the run would never end."""
    match request:
        case Needs(samples=samples):
            amounts = samples
        case Repeats(times=times):
            amounts = times[:, np.newaxis]
        case Tuples(times=times):
            amounts = times
    if amounts.dtype != np.int64:
        raise InvalidParameter(
            f"a policy asked for amounts of type {amounts.dtype}; whole numbers have to be int64", parameter="needs"
        )
    if amounts.size and int(amounts.min()) < 0:
        raise InvalidParameter(
            f"a policy asked for {int(amounts.min())} samples; ask for 0 to leave an arm out", parameter="needs"
        )
    # Along the axis of lanes numpy takes a fraction of the time, if they are many; a live experiment has one.
    something = (amounts if amounts.shape[0] == 1 else np.asfortranarray(amounts != 0)).any(axis=1)
    if not something.all():
        raise InvalidParameter(
            f"a policy asked for nothing in lane {int(something.argmin())}; it has to ask or to stop", parameter="needs"
        )


def as_count(amount: npt.ArrayLike) -> IntArray:
    """Round sample sizes up to whole numbers, saturating where no counter could hold them."""
    return np.minimum(np.ceil(amount), float(COUNT_LIMIT)).astype(np.int64)


def empirical_means(samples: IntArray, successes: IntArray) -> FloatArray:
    """Successes over samples, and 0 where there are no samples yet.

    >>> empirical_means(np.array([4, 0]), np.array([3, 0]))
    array([0.75, 0.  ])
    """
    return successes / np.maximum(samples, 1)


def best_arm(scores: FloatArray, among: BoolArray) -> IntArray:
    """The arm with the highest score of each lane, among those marked; the first of equals."""
    return np.asarray(np.where(among, scores, -np.inf).argmax(axis=1), dtype=np.int64)


def per_cost(means: FloatArray, costs: Sequence[float]) -> FloatArray:
    """Successes per cost, in units of the least cost, so that they are at most 1; the means themselves without costs.

    >>> per_cost(np.array([0.5, 0.6]), costs=(2.0, 3.0))
    array([0.5, 0.4])
    """
    return means / (np.array(costs) / min(costs)) if costs else means


def leading_arms(
    samples: IntArray, successes: IntArray, still_in: BoolArray, k: int, costs: Sequence[float] = ()
) -> IntArray:
    """The k arms with the highest means of each lane, best first: the best guess before anything is decided.

    Arms that are still in come before those that are not, and arms with samples before those without. With costs, means
    per cost.
    """
    standing = 2.0 * still_in + (samples > 0) + per_cost(empirical_means(samples, successes), costs) / 2
    return np.asarray(np.argsort(-standing, axis=1, kind="stable")[:, :k])
