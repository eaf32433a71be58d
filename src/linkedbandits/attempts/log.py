"""A log of attempts: requests in the order they came, and for each the options that were tried until one worked.

A log *is* samples, because how an option does on a request does not depend on who chose to try it. What may be read
from it depends on what is known of the options:

- ``"first"``: the first attempt of each request. Always samples of an option's mean, whatever depends on what.
- ``"duels"``: the first two options of each request, as they were offered. Whatever depends on what, too, if the
  second option was tried on every request whose first one failed; other logs are refused.
- ``"all"``: every attempt. Samples only where options are independent, for which the user gives the word.

In each case the choice of what to try must have used the past alone, and nothing of the request itself.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Literal, Self, TypeGuard

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts.set_aside import SetAside
from linkedbandits.checks import check_positive
from linkedbandits.errors import InvalidAttempts, InvalidParameter, UnknownName
from linkedbandits.model import BoolArray, IntArray, Label

Which = Literal["first", "duels", "all"]
"""The attempts of a log that may serve as samples."""

BlankSeconds = Literal["late", "in-time"]
"""What a success is, under a deadline, that does not say how long it took."""
BLANK_SECONDS: tuple[BlankSeconds, ...] = ("late", "in-time")

Rule = tuple[object, ...]
"""All that a verdict depends on besides the log: two that are equal read the same log alike."""

Numbers = npt.NDArray[np.int32]
"""Of requests and options: half the memory, for logs are long."""

NOT_OFFERED = -1
FIRST_TIME = 1e8
"""Numbers from here on are seconds, in 1973, and no requests: a log of as many does not fit into memory."""
STRAY = 0.01
"""The share of requests that may differ from an order that is called fixed."""


@dataclass(frozen=True, eq=False)
class AttemptLog:
    """Attempts in the order of the log, those of a request one after the other.

    ``request[a]`` is the number of the request that attempt ``a`` belongs to: 0 for the first, never less than before,
    none left out. ``option[a]`` is the place of its option in ``options``, ``success[a]`` whether it worked; nothing
    follows a success, and no option is tried twice on a request. ``second[r]`` is the option that was offered second on
    request ``r``, also where the first one worked, or -1 where none was or it is not known. ``time[r]`` is when a
    request came, in seconds; ``cost[a]`` what an attempt has cost, ``seconds[a]`` how long it took, not a number where
    that is not known. ``set_aside`` is what of a file is not in it, ``columns`` what its columns were taken for,
    ``taken_for_success`` which outcomes were, "" if nothing was one, and ``noticed`` what a reader should know besides:
    rows that were put into order, options with nearly the same name. ``rows`` are all rows that it was read from: with
    a row for each attempt they are on record, set aside, or counted in ``noticed`` as not tried, as written again or as
    a header. With a ``deadline`` a success is one that took no more seconds than that.

    >>> log = AttemptLog.from_plays([(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None)])
    >>> log
    AttemptLog(5 attempts of 2 options on 3 requests)
    >>> log.request.tolist(), log.option.tolist(), log.success.tolist()
    ([0, 1, 1, 2, 2], [0, 1, 0, 0, 1], [True, False, True, False, False])
    """

    options: tuple[Label, ...]
    request: Numbers
    option: Numbers
    success: BoolArray
    second: Numbers | None = None
    time: npt.NDArray[np.float64] | None = None
    cost: npt.NDArray[np.float64] | None = None
    set_aside: tuple[SetAside, ...] = field(default=())
    seconds: npt.NDArray[np.float64] | None = None
    columns: tuple[tuple[str, str], ...] = ()
    noticed: tuple[str, ...] = ()
    taken_for_success: tuple[str, ...] = ()
    rows: int | None = None
    deadline: float | None = None
    part: Rule = ()
    """Which part of a log it is, and what counts as a success: what :meth:`since` and :meth:`within` were told."""
    looks: list[tuple[Rule, Rule, float]] = field(default_factory=list, repr=False)
    """Verdicts asked so far: of which part, by which rule, and their error bounds. All parts of a log share it."""

    def __post_init__(self) -> None:
        if len(set(self.options)) != len(self.options):
            raise InvalidAttempts(f"options {self.options!r} have a name twice; give each its own")
        sizes = {self.request.size, self.option.size, self.success.size}
        sizes |= {column.size for column in (self.cost, self.seconds) if column is not None}
        if len(sizes) > 1:
            raise InvalidAttempts(f"columns of attempts are of different lengths, {sorted(sizes)}; give one row each")
        if self.request.size:
            self._check_order()

    def _check_order(self) -> None:
        request, option = self.request, self.option
        step = np.diff(request)
        if request[0] != 0 or (step < 0).any() or (step > 1).any():
            raise InvalidAttempts("requests are not numbered 0, 1, 2 and so on in the order of their attempts")
        if option.min() < 0 or option.max() >= len(self.options):
            raise InvalidAttempts(f"an attempt is of an option that is not one of the {len(self.options)} given")
        after = np.flatnonzero((step == 0) & self.success[:-1])
        if after.size:
            raise InvalidAttempts(
                f"request {request[after[0]]} goes on after a success; leave out what was tried after it"
            )
        for name, column in (("second", self.second), ("time", self.time)):
            if column is not None and column.size != self.requests:
                raise InvalidAttempts(f"{name} has {column.size} entries for {self.requests} requests; give one each")

    @classmethod
    def from_plays(
        cls, plays: Iterable[tuple[Sequence[Label], Label | None]], options: Iterable[Label] | None = None
    ) -> Self:
        """From (order, hit) for each request: the options as they were offered, and the one that worked, or None.

        What came after the hit was not tried. ``options`` names them all; by default in the order they turn up in.
        """
        named = tuple(options or ())
        known: dict[Label, int] = {label: number for number, label in enumerate(named)}
        if len(known) != len(named):
            raise InvalidAttempts(f"options {named!r} have a name twice; give each its own")
        complete = options is not None
        request: list[int] = []
        option: list[int] = []
        success: list[bool] = []
        second: list[int] = []
        for number, (order, hit) in enumerate(_pairs_of(plays)):
            offered = _numbers_of(number, order, known, complete)
            won = NOT_OFFERED
            if hit is not None:
                if hit not in order:
                    raise InvalidAttempts(f"play {number} has the hit {hit!r}, which is not in its order {order!r}")
                won = known[hit]
            tried = offered if won == NOT_OFFERED else offered[: offered.index(won) + 1]
            request += [number] * len(tried)
            option += tried
            success += [arm == won for arm in tried]
            second.append(offered[1] if len(offered) > 1 else NOT_OFFERED)
        return cls(
            tuple(known),
            np.array(request, dtype=np.int32),
            np.array(option, dtype=np.int32),
            np.array(success, dtype=np.bool_),
            np.array(second, dtype=np.int32),
        )

    def plays(self) -> list[tuple[tuple[Label, ...], Label | None]]:
        """What :meth:`from_plays` takes: of each request the options tried, with that offered second, and the hit.

        >>> AttemptLog.from_plays([(("a", "b", "c"), "a"), (("b", "a"), None)]).plays()
        [(('a', 'b'), 'a'), (('b', 'a'), None)]
        """
        second = [NOT_OFFERED] * self.requests if self.second is None else self.second.tolist()
        option, success = self.option.tolist(), self.success.tolist()
        found: list[tuple[tuple[Label, ...], Label | None]] = []
        for (start, end), behind in zip(pairwise([*self.first.tolist(), len(self)]), second, strict=True):
            tried = option[start:end]
            hit = self.options[tried[-1]] if success[end - 1] else None
            # What was offered behind the first and not tried though that failed cannot be told in this form.
            unseen = hit is not None and len(tried) == 1 and behind != NOT_OFFERED
            found.append((tuple(self.options[number] for number in ([*tried, behind] if unseen else tried)), hit))
        return found

    def since(self, begin: int | float | str | datetime) -> Self:
        """The log from a request or a time on: a number of a request (0 is the first), or a time in ISO 8601.

        Numbers from 100,000,000 on are seconds since 1970. Whoever chooses the beginning by what happened chooses
        outcomes, and a verdict on the rest has no guarantee: choose it by what is known from elsewhere, or behind the
        request at which an alarm was noticed.

        >>> log = AttemptLog.from_plays([(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None)])
        >>> log.since(1)
        AttemptLog(4 attempts of 2 options on 2 requests)
        """
        first = self._request_at(begin)
        if first >= self.requests:
            raise InvalidAttempts(
                f"the log has no requests since {begin}; it has {self.requests:,}, give an earlier one"
            )
        if first == 0:
            return self
        start = int(self.first[first])
        noticed = f"Read from request {first:,} on, of {self.requests:,}; from there on they are numbered anew, from 0"
        return replace(
            self,
            request=self.request[start:] - np.int32(first),
            option=self.option[start:],
            success=self.success[start:],
            second=None if self.second is None else self.second[first:],
            time=None if self.time is None else self.time[first:],
            cost=None if self.cost is None else self.cost[start:],
            seconds=None if self.seconds is None else self.seconds[start:],
            noticed=(noticed, *self.noticed),
            part=(*self.part, "since", first),
        )

    def within(self, deadline: float, blank_seconds: BlankSeconds | None = None) -> Self:
        """The log with successes that took longer than ``deadline`` seconds as failures: too late is no success.

        Successes that do not say how long they took are refused, unless ``blank_seconds`` says what they are:
        ``"late"`` or ``"in-time"``. To leave them out is no choice, for that would take away successes alone. A verdict
        that is the same with either does not depend on them.

        What was offered second is not kept. Behind a success that came too late nothing was tried, and so a pair would
        be left out just where its first option was late: duels on such a log would be wrong, first attempts are not.

        >>> log = AttemptLog.from_plays([(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), "a")])
        >>> log = replace(log, seconds=np.array([0.5, 0.1, 0.2, 4.0]))
        >>> log.within(2.0).success.tolist()
        [True, False, True, False]
        """
        check_positive("deadline", deadline)
        if self.seconds is None:
            raise InvalidAttempts(
                "the log does not say how long attempts took, so no deadline can be kept; name the column that does, "
                "as in seconds='latency_ms'"
            )
        if blank_seconds not in (None, *BLANK_SECONDS):
            raise InvalidParameter(f"blank_seconds={blank_seconds!r} is unknown; choose {' or '.join(BLANK_SECONDS)}")
        untimed = self.success & ~np.isfinite(self.seconds)
        unknown = int(np.count_nonzero(untimed))
        if unknown and blank_seconds is None:
            raise InvalidAttempts(
                f"{unknown:,} of {np.count_nonzero(self.success):,} successes do not say how long they took, so it is "
                "not known whether they came in time; say what they are, with blank_seconds='late' or "
                "blank_seconds='in-time' (a verdict that is the same with both does not depend on them), write it into "
                "the log, or leave the deadline out"
            )
        late = self.success & (self.seconds > deadline)
        noticed = (
            f"A success that took longer than {seconds_in_words(deadline)} counts as a failure: "
            f"{np.count_nonzero(late):,} of {np.count_nonzero(self.success):,}"
        )
        if unknown:
            noticed += f"; {unknown:,} do not say how long they took, and count as {blank_seconds}"
        if blank_seconds == "late":
            late |= untimed
        return replace(
            self,
            success=self.success & ~late,
            second=None,
            deadline=deadline,
            noticed=(noticed, *self.noticed),
            part=(*self.part, "within", deadline, blank_seconds),
        )

    @property
    def seconds_in_time(self) -> npt.NDArray[np.float64] | None:
        """How long attempts took, or would have if they had been given up at the deadline."""
        if self.seconds is None or self.deadline is None:
            return self.seconds
        return np.minimum(self.seconds, self.deadline)

    def note_look(self, rule: Rule, bound: float) -> None:
        """Remember that a verdict with this error bound was asked for; the same one again is no new look."""
        if not any((part, known) == (self.part, rule) for part, known, _ in self.looks):
            self.looks.append((self.part, rule, bound))

    def judged(self, but: Rule | None = None) -> float:
        """The error bounds of all verdicts that were asked of the log or a part of it, except by one rule, in sum.

        >>> log = AttemptLog.from_plays([(("a", "b"), "a")])
        >>> log.note_look(("rule",), 0.05)
        >>> log.since(0).judged(), log.judged(but=("rule",))
        (0.05, 0.0)
        """
        others = (bound for part, rule, bound in self.looks if (part, rule) != (self.part, but))
        return min(1.0, sum(others, 0.0))

    @property
    def why_no_duels(self) -> str | None:
        """What the log lacks to be read as duels, and what else to do; None if it lacks nothing."""
        if self.deadline is not None:
            return (
                "duels cannot be read under a deadline, as nothing was tried behind a success that came too late; use "
                "first attempts, or leave the deadline out"
            )
        known = np.zeros(0, dtype=np.bool_) if self.second is None else self.second >= 0
        if not known.any() or not np.delete(known, self.cut_off).all():
            return (
                "duels need the option that was offered second on every request, also where the first one worked; give "
                "the log a row a request, with its options in order and the one that worked, blank only where all were "
                "tried and failed, or use first attempts"
            )
        if self.cut_off.size:
            return (
                f"{self.cut_off.size:,} of {self.requests:,} requests were cut off: their first option failed, and "
                "no second one was tried. The pairs that are left would be selected by their outcomes, so duels "
                "cannot be read; use first attempts, which are not touched by this"
            )
        return None

    def _request_at(self, begin: int | float | str | datetime) -> int:
        """The first request at a time or later, or with a number."""
        seconds = _seconds_of(begin)
        if seconds is None:
            raise InvalidAttempts(
                f"{begin!r} is neither a number of a request nor a time, such as 2024-05-01T13:30:00Z"
            )
        if seconds < FIRST_TIME and not isinstance(begin, datetime):
            if seconds < 0 or seconds != int(seconds):
                raise InvalidAttempts(f"{begin!r} is no number of a request; the first is 0")
            return int(seconds)
        if self.time is None:
            raise InvalidAttempts(
                f"the log has no times, so {begin!r} has no place in it; give the number of a request"
            )
        later = np.flatnonzero(self.time >= seconds)
        return int(later[0]) if later.size else self.requests

    @property
    def requests(self) -> int:
        """How many there are."""
        return int(self.request[-1]) + 1 if self.request.size else 0

    def __len__(self) -> int:
        """Attempts in all."""
        return int(self.request.size)

    def __repr__(self) -> str:
        holds = f"{len(self):,} attempts of {len(self.options)} options on {self.requests:,} requests"
        return f"{type(self).__name__}({holds})"

    @cached_property
    def first(self) -> IntArray:
        """Where the first attempt of each request is."""
        return np.flatnonzero(np.diff(self.request, prepend=-1))

    @cached_property
    def in_one_order(self) -> bool:
        """Are options tried in one order, but for a hundredth of the requests at most?

        Then what an option does as the first, and behind failures of others, is hardly seen of the same option, and
        whether options are independent cannot be checked.
        """
        options = len(self.options)
        followed = np.flatnonzero(np.diff(self.request) == 0)
        after = self.option[followed].astype(np.int64) * options + self.option[followed + 1]
        pairs, often = np.unique(after, return_counts=True)
        both_ways = dict(zip(pairs.tolist(), often.tolist(), strict=True))
        turned = [
            min(count, both_ways.get(pair % options * options + pair // options, 0))
            for pair, count in both_ways.items()
        ]
        begun = np.bincount(self.option[self.first], minlength=1)
        others = self.requests - int(begun.max(initial=0))
        return bool(max(others, sum(turned) / 2) <= STRAY * self.requests)

    @cached_property
    def cut_off(self) -> IntArray:
        """Requests whose first option failed and that have no second attempt, by number."""
        attempts = np.diff(self.first, append=len(self))
        return np.flatnonzero((attempts == 1) & ~self.success[self.first])

    def number_of(self, option: Label) -> int:
        """The place of an option among all."""
        try:
            return self.options.index(option)
        except ValueError:
            raise UnknownName(
                f"{option!r} is no option of this log; choose one of {', '.join(map(str, self.options))}"
            ) from None


def seconds_in_words(seconds: float) -> str:
    """As a deadline is said.

    >>> seconds_in_words(1.0), seconds_in_words(2.5)
    ('1 second', '2.5 seconds')
    """
    return f"{seconds:g} second{'' if seconds == 1 else 's'}"


def _seconds_of(begin: object) -> float | None:
    """A time in seconds since 1970, or a number as it is; None for what is neither."""
    if isinstance(begin, datetime):
        return (begin if begin.tzinfo else begin.replace(tzinfo=UTC)).timestamp()
    if isinstance(begin, bool) or not isinstance(begin, str | int | float):
        return None
    try:
        number = float(begin)
        return number if np.isfinite(number) else None
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(str(begin))
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _pairs_of(plays: Iterable[object]) -> Iterator[tuple[Sequence[Label], Label | None]]:
    """Plays, if that is what they are."""
    if isinstance(plays, str | bytes | Mapping) or not isinstance(plays, Iterable):
        raise InvalidAttempts(f"{_short(plays)} are no plays; give a list of (order, hit), as [(('a', 'b'), 'b')]")
    for number, play in enumerate(plays):
        if not _has_an_order(play) or len(play) != 2:
            raise InvalidAttempts(
                f"play {number} is {_short(play)}; give (order, hit): the options as they were offered, and the one "
                "that worked, or None"
            )
        order, hit = play

        if not _has_an_order(order) or not len(order):
            raise InvalidAttempts(
                f"play {number} has the order {_short(order)}; give a tuple of one option or more, also of one: ('a',)"
            )
        for label in (*order, *(() if hit is None else (hit,))):
            if not isinstance(label, Hashable) or label is None:
                raise InvalidAttempts(f"play {number} has the option {_short(label)}; name options by text or numbers")
        yield order, hit


def _has_an_order(value: object) -> TypeGuard[Sequence[Label]]:
    """A list or the like, arrays among them."""
    return isinstance(value, Collection) and not isinstance(value, str | bytes | Set | Mapping)


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."


def _numbers_of(play: int, order: Sequence[Label], known: dict[Label, int], complete: bool) -> list[int]:
    """The options of one play by number; new ones are added, unless all are known."""
    for label in order:
        if label not in known:
            if complete:
                raise InvalidAttempts(f"play {play} has {label!r}, which is not one of the options")
            known[label] = len(known)
    numbers = [known[label] for label in order]
    if len(set(numbers)) != len(numbers):
        raise InvalidAttempts(f"play {play} has an option twice, {order!r}; an option is tried once on a request")
    return numbers


def log_of_answers(
    labels: Sequence[Label], tuples: Sequence[IntArray], numbers: npt.NDArray[np.int_], hits: npt.NDArray[np.int_]
) -> AttemptLog:
    """A log of plays: the number of the tuple that each has tried, and its answer, the option that worked or -1.

    >>> log = log_of_answers("ab", [np.array([0, 1])], np.array([0, 0, 0]), np.array([1, -1, 0]))
    >>> log.request.tolist(), log.option.tolist(), log.success.tolist()
    ([0, 0, 1, 1, 2], [0, 1, 0, 1, 0], [False, True, False, False, True])
    """
    sizes = np.array([tried.size for tried in tuples], dtype=np.int64)
    begins = (np.cumsum(sizes) - sizes)[numbers]  # of each play's tuple in a row of all tuples
    in_a_row = np.concatenate([*tuples, np.full(1, NOT_OFFERED)]).astype(np.int64)
    reached = np.zeros(hits.size, dtype=np.int64)
    by_tuple = np.argsort(numbers, kind="stable")
    different, starts = np.unique(numbers[by_tuple], return_index=True)
    for number, plays in zip(different.tolist(), np.split(by_tuple, starts)[1:], strict=True):
        tried = tuples[number]
        place_of = np.full(len(labels) + 1, tried.size)  # the last is for no hit
        place_of[tried] = np.arange(1, tried.size + 1)
        reached[plays] = place_of[hits[plays]]
    request = np.repeat(np.arange(hits.size), reached)
    place = np.arange(request.size) - (np.cumsum(reached) - reached)[request]
    option = in_a_row[begins[request] + place]
    second = np.where(sizes[numbers] > 1, in_a_row[np.minimum(begins + 1, in_a_row.size - 1)], NOT_OFFERED)
    return AttemptLog(
        tuple(labels),
        request.astype(np.int32),
        option.astype(np.int32),
        option == hits[request],
        second.astype(np.int32),
    )


def joined(before: AttemptLog, after: AttemptLog) -> AttemptLog:
    """One log behind another of the same options; second options that one of them does not say are not known."""
    second = [
        np.full(log.requests, NOT_OFFERED, dtype=np.int32) if log.second is None else log.second
        for log in (before, after)
    ]
    return AttemptLog(
        after.options,
        np.concatenate([before.request, after.request + np.int32(before.requests)]),
        np.concatenate([before.option, after.option]),
        np.concatenate([before.success, after.success]),
        np.concatenate(second),
    )
