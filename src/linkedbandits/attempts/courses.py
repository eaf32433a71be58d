"""How evidence that a log is not what a verdict needs it to be grows with the log, for each option.

Four claims are watched. Each says that, given all that is known before an attempt, it works with a chance that does not
change:

- ``drift``: the first attempts of an option, at any time.
- ``dependence``: the attempts of an option, as the first of their request or behind failures of others.
- ``position``: the attempts of an option behind failures of the same others, in whichever order these were tried.
- ``memory``: the first attempts of an option, whether the one before it worked or not.

**Evidence.** Split the attempts of a claim into *groups*, so that the group of an attempt is known before its outcome.
With s successes and f failures in a group write KT(s, f) = B(s + 1/2, f + 1/2)/π, with S and F in all groups together

    E = product of KT over the groups / sup over m of m^S (1 - m)^F.

Let m* be the true chance. As attempts of a group come, KT is multiplied by (s + 1/2)/(s + f + 1) at a success and by
(f + 1/2)/(s + f + 1) at a failure, which add up to 1, and the likelihood of m* by m* or 1 - m*. So the mean of the
factor of their ratio is at most 1, given all that came before, and the ratio R is a nonnegative supermartingale from 1.
As E ≤ R, weighted sums of several E, with weights fixed beforehand that add up to at most 1, stay below a nonnegative
supermartingale from 1, and reach a level L at any time with probability at most 1/L (Ville). Nothing is asked of how
attempts are chosen, except that the choice knows only the past.

**Drift** has no groups known beforehand; for each of many cuts the stretches between them are groups. The sum over one,
two and three cuts, from a grid that is the same for all logs, with fixed weights, is one of those weighted sums.
Cuts that are still to come are left out of it, which only lowers it.

**Looks.** Evidence is computed when the number of the claim's attempts is on that grid, 2 % apart. A process that stays
below a martingale does so wherever one looks; so that costs nothing but the time to the next look. And since a look
knows nothing of what comes later, the evidence in a log is that of all its beginnings, and may be looked at every day.

``docs/log-proofs.md`` has what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts.log import AttemptLog
from linkedbandits.model import BoolArray, FloatArray, IntArray, Label

Kind = Literal["drift", "dependence", "position", "memory"]
"""What is watched."""
KINDS: tuple[Kind, ...] = get_args(Kind)

GROWTH = 0.02
MOST_ATTEMPTS = 2**31
"""Requests and options of a log are numbers of 32 bits."""
SHARE_OF_CHANGES = (0.5, 0.25, 0.25)
"""Weights of one, two and three changes of an option."""
LARGEST_SET = 3
"""Of failures before an attempt, for ``position``. Larger sets have 24 orders or more, and few attempts in each."""
FEWEST_OF_SET = 16
"""Fewer attempts behind a set of failures do not count: they could say little, and there can be very many such sets."""
MOST_CODE = 2**62
"""Orders are numbered, with the set in front. With more than a thousand options only sets of two have room for it."""
TABLE = 2_000_000
"""As many counts are looked at together at most."""
BLOCK = 2**20
"""As many attempts are counted together: it takes memory."""

_NO_EVIDENCE = -np.inf


@dataclass(frozen=True, eq=False)
class Course:
    """Evidence that something of a ``kind`` is wrong with an option, at the ``request`` numbers where it is looked at.

    It may rise and fall; where there is nothing to compare yet, it is 0, and its logarithm minus infinity. Evidence of
    10^x or more has a chance of at most 10^-x, at all times together, if nothing of the kind is wrong.
    """

    kind: Kind
    option: Label
    request: IntArray
    log10_evidence: FloatArray

    @property
    def highest(self) -> FloatArray:
        """The most evidence so far, which is what alarms are made of; never falls."""
        return np.asarray(np.maximum.accumulate(self.log10_evidence))


def courses(log: AttemptLog) -> tuple[Course, ...]:
    """The course of evidence of every kind, for every option: kinds first, options in their order.

    >>> log = AttemptLog.from_plays([(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None)])
    >>> [(course.kind, course.option, course.request.tolist()) for course in courses(log)][:3]
    [('drift', 'a', [0, 2]), ('drift', 'b', [1]), ('dependence', 'a', [0, 1, 2])]
    """
    found = {
        (kind, option.number): _course(kind, option, log) for option in every_option(log) for kind in KINDS
    }  # all kinds of an option together, since its attempts are found once
    return tuple(found[kind, number] for kind in KINDS for number in range(len(log.options)))


def _course(kind: Kind, option: OfOption, log: AttemptLog) -> Course:
    request, evidence = _EVIDENCE[kind](option)
    return Course(kind, log.options[option.number], request.astype(np.int64), evidence / np.log(10))


# ---------------------------------------------------------------------------------------------------- what is compared


@dataclass(frozen=True, eq=False)
class OfOption:
    """The attempts of one option, in the order of the log.

    ``place`` is how many others failed before it on its request, and ``begun_by`` the option that was tried first
    there, the option itself where ``place`` is 0. ``at`` is where in the log an attempt is.
    """

    log: AttemptLog
    number: int
    at: npt.NDArray[Any]
    request: npt.NDArray[Any]
    success: BoolArray
    place: npt.NDArray[Any]
    begun_by: npt.NDArray[Any]

    def first_attempts(self) -> tuple[npt.NDArray[Any], BoolArray]:
        """Request numbers and outcomes where the option was tried first."""
        first = self.place == 0
        return self.request[first], self.success[first]

    def behind(self, failures: int) -> tuple[IntArray, IntArray]:
        """Which of its attempts came behind so many failures, and the options that had failed, a row for each."""
        which = np.flatnonzero(self.place == failures)
        return which, self.log.option[self.at[which, np.newaxis] - np.arange(failures, 0, -1)].astype(np.int64)


def every_option(log: AttemptLog) -> Iterator[OfOption]:
    """The attempts of each option."""
    options = len(log.options)
    small = np.uint8 if options <= 256 else np.uint16 if options <= 65536 else np.int32
    by_option = np.argsort(log.option.astype(small), kind="stable")  # small numbers are sorted in linear time
    ends = np.cumsum(np.bincount(log.option, minlength=options))
    for number, end in enumerate(ends.tolist()):
        start = int(ends[number - 1]) if number else 0
        yield _of_option(log, number, by_option[start:end])


def one_option(log: AttemptLog, number: int) -> OfOption:
    """The attempts of one option."""
    return _of_option(log, number, np.flatnonzero(log.option == number))


def _of_option(log: AttemptLog, number: int, at: npt.NDArray[Any]) -> OfOption:
    request = log.request[at]
    begin = log.first[request]
    place = (at - begin).astype(np.int32)
    return OfOption(log, number, at, request, log.success[at], place, log.option[begin])


@dataclass(frozen=True, eq=False)
class Groups:
    """Attempts of a claim in log order: the request and outcome of each, and its group, known before its outcome."""

    request: npt.NDArray[Any]
    success: BoolArray
    group: npt.NDArray[np.integer]
    groups: int

    def totals(self) -> tuple[IntArray, IntArray]:
        """Attempts and successes of each group in the whole log."""
        tried = np.bincount(self.group, minlength=self.groups)
        return tried, np.bincount(self.group[self.success], minlength=self.groups)

    def at_looks(self) -> tuple[IntArray, IntArray, IntArray]:
        """The looks, and the attempts and successes of each group up to each of them."""
        looks = looks_within(self.group.size)
        size = looks.size * self.groups
        tried, worked = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        seen = int(looks[-1]) if looks.size else 0
        for start in range(0, seen, BLOCK):
            end = min(start + BLOCK, seen)
            within: IntArray = np.clip(looks, start, end)
            look = np.repeat(np.arange(looks.size), np.diff(within, prepend=start))
            cell = look * self.groups + self.group[start:end]
            tried += np.bincount(cell, minlength=size)
            worked += np.bincount(cell[self.success[start:end]], minlength=size)
        shape = looks.size, self.groups
        return looks, np.cumsum(tried.reshape(shape), axis=0), np.cumsum(worked.reshape(shape), axis=0)


def dependence_groups(option: OfOption) -> Groups:
    """Group 0 are its first attempts, group 1 + j those on requests that option j began and failed on."""
    group = np.where(option.place == 0, 0, option.begun_by + 1)
    return Groups(option.request, option.success, group, 1 + len(option.log.options))


def memory_groups(option: OfOption) -> Groups:
    """Group 0 are first attempts after a failure of the one before, group 1 those after a success."""
    request, success = option.first_attempts()
    return Groups(request[1:], success[1:], success[:-1].astype(np.uint8), 2)


@dataclass(frozen=True, eq=False)
class Positions:
    """Attempts behind two or three failures, a group for each order in which options failed.

    The groups of a set of options stand together: ``set_of`` numbers the set of each group. ``weights`` are those of
    the sets. ``example`` is one attempt of each group, by its place among those of the option.
    """

    groups: Groups
    set_of: IntArray
    weights: FloatArray
    example: IntArray


def position_groups(option: OfOption) -> Positions:
    """A group for each order in which options failed before it, two of them or three."""
    options = len(option.log.options)
    group = np.full(option.place.size, -1, dtype=np.int64)
    set_of, weights, example = [np.zeros(0, dtype=np.int64)], [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
    groups = sets = 0
    for size in range(2, LARGEST_SET + 1):
        which, failed = option.behind(size)
        if not which.size or options ** (2 * size) > MOST_CODE:
            continue
        # One number for each order with its set in front, so that the orders of a set stand together.
        powers = options ** np.arange(size)[::-1]
        codes = (np.sort(failed, axis=1) @ powers) * options**size + failed @ powers
        code, one, kind = np.unique(codes, return_index=True, return_inverse=True)
        begins = np.diff(code // options**size, prepend=-1) > 0
        group[which] = kind + groups
        example.append(which[one])
        set_of.append(sets - 1 + np.cumsum(begins))
        # Half of the weight to sets of two, a quarter to sets of three, all sets of one size alike.
        weights.append(np.full(int(begins.sum()), 0.5 ** (size - 1) / comb(options - 1, size)))
        groups, sets = groups + code.size, sets + int(begins.sum())
    counted = group >= 0
    claim = Groups(option.request[counted], option.success[counted], group[counted], groups)
    return Positions(claim, np.concatenate(set_of), np.concatenate(weights), np.concatenate(example))


# ------------------------------------------------------------------------------------------------------------- evidence


@cache
def grid() -> IntArray:
    """Numbers of attempts at which evidence is looked at, for all logs the same; every second one may be a change.

    >>> grid()[:3], grid()[48:53], grid().size
    (array([1, 2, 3]), array([49, 50, 51, 53, 55]), 916)
    """
    numbers = [1]
    while numbers[-1] < MOST_ATTEMPTS:
        numbers.append(max(numbers[-1] + 1, int(np.ceil(numbers[-1] * (1 + GROWTH)))))
    return np.array(numbers[:-1], dtype=np.int64)


def looks_within(attempts: int) -> IntArray:
    """The looks at a claim with so many attempts."""
    return grid()[: int(np.searchsorted(grid(), attempts, side="right"))]


def log_marginal(worked: npt.ArrayLike, failed: npt.ArrayLike) -> FloatArray:
    """The logarithm of KT: how likely outcomes are in a given order, averaged over all means as Jeffreys did.

    >>> np.exp(log_marginal([1, 2, 1], [0, 0, 1])).round(6)
    array([0.5  , 0.375, 0.125])
    """
    from scipy.special import gammaln  # takes long to load

    worked, failed = np.asarray(worked, dtype=np.float64), np.asarray(failed, dtype=np.float64)
    marginal = gammaln(worked + 0.5)
    marginal += gammaln(failed + 0.5)
    marginal -= gammaln(worked + failed + 1)
    marginal -= np.log(np.pi)
    return np.asarray(marginal)


def log_best_mean(worked: npt.ArrayLike, failed: npt.ArrayLike) -> FloatArray:
    """The logarithm of the likelihood of the one mean that fits best.

    >>> np.exp(log_best_mean([1, 2, 1], [0, 0, 1]))
    array([1.  , 1.  , 0.25])
    """
    from scipy.special import xlogy  # takes long to load

    worked, failed = np.asarray(worked, dtype=np.float64), np.asarray(failed, dtype=np.float64)
    tried = np.maximum(worked + failed, 1)
    return np.asarray(xlogy(worked, worked / tried) + xlogy(failed, failed / tried))


def log_evidence_of_two(tried: IntArray, worked: IntArray, tried_b: IntArray, worked_b: IntArray) -> FloatArray:
    """That two groups differ in their means."""
    best = log_best_mean(worked + worked_b, tried + tried_b - worked - worked_b)
    return np.asarray(log_marginal(worked, tried - worked) + log_marginal(worked_b, tried_b - worked_b) - best)


def log_sum(terms: FloatArray, axis: int) -> FloatArray:
    """The logarithm of a sum, from those of its terms; of none it is that of 0."""
    if not terms.shape[axis]:
        return np.full(np.delete(terms.shape, axis), _NO_EVIDENCE)
    top = terms.max(axis=axis, keepdims=True)
    top[~np.isfinite(top)] = 0.0
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - top).sum(axis=axis)) + top.squeeze(axis))


Evidence = tuple[npt.NDArray[Any], FloatArray]
"""The request numbers of the looks, and the natural logarithm of the evidence there."""


def dependence_evidence(option: OfOption) -> Evidence:
    """Its first attempts against those behind failures: of any others, and of each other one that began.

    Half of the weight is on any others. The rest is for options that help each other where others get into each
    other's way, so that nothing is seen of them all together.
    """
    claim = dependence_groups(option)
    looks, tried, worked = claim.at_looks()
    others = np.delete(np.arange(1, claim.groups), option.number)
    behind = [np.column_stack([count[:, 1:].sum(axis=1), count[:, others]]) for count in (tried, worked)]
    weights = dependence_weights(others.size)
    terms = log_evidence_of_two(tried[:, :1], worked[:, :1], *behind) + np.log(weights)
    return claim.request[looks - 1], log_sum(terms, axis=1)


def dependence_weights(others: int) -> FloatArray:
    """Of the comparisons with attempts behind any others, and behind each of the others."""
    return np.array([0.5, *[0.5 / others] * others]) if others else np.ones(1)


def memory_evidence(option: OfOption) -> Evidence:
    """First attempts after a failure of the one before against those after a success."""
    claim = memory_groups(option)
    looks, tried, worked = claim.at_looks()
    return claim.request[looks - 1], log_evidence_of_two(tried[:, 0], worked[:, 0], tried[:, 1], worked[:, 1])


def position_evidence(option: OfOption) -> Evidence:
    """Attempts behind the same failures in different orders, averaged over the sets of options that failed."""
    positions = position_groups(option)
    claim = positions.groups
    looks = looks_within(claim.group.size)
    total = np.full(looks.size, _NO_EVIDENCE)
    for part, set_of, weights in _several_sets_at_a_time(positions, looks):
        _, tried, worked = part
        starts = np.flatnonzero(np.diff(set_of, prepend=-1))
        marginal = np.add.reduceat(log_marginal(worked, tried - worked), starts, axis=1)
        tried_of_set, worked_of_set = np.add.reduceat(tried, starts, axis=1), np.add.reduceat(worked, starts, axis=1)
        orders_seen = np.add.reduceat((tried > 0).astype(np.int64), starts, axis=1)
        terms = marginal - log_best_mean(worked_of_set, tried_of_set - worked_of_set) + np.log(weights)
        terms[(orders_seen < 2) | (tried_of_set < FEWEST_OF_SET)] = _NO_EVIDENCE
        total = np.logaddexp(total, log_sum(terms, axis=1))
    return claim.request[looks - 1], total


def _several_sets_at_a_time(
    positions: Positions, looks: IntArray
) -> Iterator[tuple[tuple[IntArray, IntArray, IntArray], IntArray, FloatArray]]:
    """Counts at the looks of the groups of some sets, as many as fit into a table; without sets that never count."""
    claim, set_of = positions.groups, positions.set_of
    tried, _ = claim.totals()
    sets = positions.weights.size
    count = np.bincount(set_of, weights=tried, minlength=sets) >= FEWEST_OF_SET
    count &= np.bincount(set_of, minlength=sets) > 1
    wanted = np.flatnonzero(count[set_of])
    most = max(TABLE // max(looks.size, 1), 1)
    renumbered = np.full(claim.groups, -1, dtype=np.int64)
    start = 0
    while start < wanted.size:
        end = min(start + most, wanted.size)
        while end < wanted.size and set_of[wanted[end]] == set_of[wanted[end - 1]]:
            end += 1  # a set is kept together
        part = wanted[start:end]
        renumbered[:] = part.size  # all others, in a last column that is not looked at
        renumbered[part] = np.arange(part.size)
        of_part = Groups(claim.request, claim.success, renumbered[claim.group], part.size + 1)
        _, tried_then, worked_then = of_part.at_looks()
        yield (looks, tried_then[:, :-1], worked_then[:, :-1]), set_of[part], positions.weights[np.unique(set_of[part])]
        start = end


def drift_evidence(option: OfOption) -> Evidence:
    """Its first attempts in two to four stretches, each with a mean of its own, against one mean."""
    request, success = option.first_attempts()
    looks = looks_within(success.size)
    return request[looks - 1], log_evidence_of_drift(success, looks)


def log_evidence_of_drift(success: BoolArray, looks: IntArray) -> FloatArray:
    """That a coin has changed, at each of the looks, which are the beginning of the grid."""
    worked = _successes_before(success, looks)
    best = log_best_mean(worked, looks - worked)
    if not looks.size:
        return best
    cuts = looks[1::2]
    stretch = _marginals_of_stretches(cuts, worked[1::2], looks, worked)
    # so_far: the marginal of the outcomes before each look, with so many changes before it.
    so_far, terms = log_marginal(worked, looks - worked), []
    for changes in range(1, len(SHARE_OF_CHANGES) + 1):
        so_far = log_sum(so_far[1::2, np.newaxis] + stretch, axis=0)
        terms.append(so_far + _log_weight(changes))
    return log_sum(np.array(terms), axis=0) - best


def _log_weight(changes: int) -> float:
    """Of each choice of so many cuts; all together they have the share of that number of changes."""
    return float(np.log(SHARE_OF_CHANGES[changes - 1]) - np.log(float(comb(grid()[1::2].size, changes))))


def _successes_before(success: BoolArray, ends: IntArray) -> IntArray:
    """The number of successes before each of the ends, which rise."""
    if not ends.size:
        return np.zeros(0, dtype=np.int64)
    starts = np.concatenate([[0], ends[:-1]])
    return np.cumsum(np.add.reduceat(success[: ends[-1]], starts, dtype=np.int64))


def _marginals_of_stretches(start: IntArray, worked_before: IntArray, end: IntArray, worked: IntArray) -> FloatArray:
    """From each of the starts (a row) to each later end; no evidence elsewhere."""
    later = end > start[:, np.newaxis]
    row, column = np.nonzero(later)
    successes = worked[column] - worked_before[row]
    table = np.full(later.shape, _NO_EVIDENCE)
    table[later] = log_marginal(successes, end[column] - start[row] - successes)
    return table


def likeliest_changes(success: BoolArray) -> tuple[int, ...]:
    """After how many attempts a coin has changed, if it has: the one, two or three changes that have most weight.

    They are looked for on the grid, then moved to the likeliest place between their neighbours there, and then it is
    chosen how many there are: on the grid a sharp change may seem to be two.

    >>> likeliest_changes(np.repeat([True, False], [1234, 1000]))
    (1234,)
    """
    cuts = looks_within(success.size - 1)[1::2]
    if not cuts.size:
        return ()
    ends = np.append(cuts, success.size)
    worked = _successes_before(success, ends)
    stretch = _marginals_of_stretches(cuts, worked[:-1], ends, worked)
    so_far, paths = log_marginal(worked, ends - worked), list[IntArray]()
    best, chosen = _NO_EVIDENCE, tuple[int, ...]()
    for changes in range(1, min(len(SHARE_OF_CHANGES), cuts.size) + 1):
        joined = so_far[:-1, np.newaxis] + stretch
        paths.append(np.argmax(joined, axis=0))
        so_far = joined.max(axis=0)
        found = _sharper(success, ends, _traced(paths))
        parts = np.diff(_successes_before(success, np.array([*found, success.size])), prepend=0)
        lengths = np.diff([*found, success.size], prepend=0)
        weight = _log_weight(changes) + float(log_marginal(parts, lengths - parts).sum())
        if weight > best:
            best, chosen = weight, found
    return chosen


def _traced(paths: list[IntArray]) -> list[int]:
    """The places of the cuts, first to last, that lead to the last end."""
    cuts, end = list[int](), -1
    for path in reversed(paths):
        end = int(path[end])
        cuts.append(end)
    return cuts[::-1]


def _sharper(success: BoolArray, ends: IntArray, cuts: list[int]) -> tuple[int, ...]:
    """The cuts, each moved to the likeliest place between its neighbours on the grid and the other cuts."""
    places = [0, *(int(ends[cut]) for cut in cuts), success.size]
    for number, cut in enumerate(cuts, start=1):
        start, end = places[number - 1], places[number + 1]
        low = max(start, int(ends[cut - 1]) if cut else 0) + 1
        high = min(end, int(ends[cut + 1]))
        candidates = np.arange(low, high)
        worked = int(success[start:low].sum()) + np.concatenate([[0], np.cumsum(success[low : high - 1])])
        worked_after = int(success[start:end].sum()) - worked
        likelihood = log_best_mean(worked, candidates - start - worked)
        likelihood += log_best_mean(worked_after, end - candidates - worked_after)
        places[number] = int(candidates[np.argmax(likelihood)])
    return tuple(places[1:-1])


_EVIDENCE = {
    "drift": drift_evidence,
    "dependence": dependence_evidence,
    "position": position_evidence,
    "memory": memory_evidence,
}
