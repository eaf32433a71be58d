"""Logs with a row for each attempt: collected by request, in order, and without what contradicts itself.

What is set aside, and what that does to samples:

- A row without a request cannot be placed. Harmless if whether it is missing has nothing to do with the outcome, as for
  torn rows; if it was the first attempt of a request, the second will be taken for the first, unless positions tell.
- A row without an option, with a position or a time that cannot be read, or with an outcome that is not known (or
  missing while later ones are not) is set aside with all later attempts of its request: whether these came behind a
  failure is not known. The attempts before stay, whatever they did. Harmless if it is by accident; not if, say, an
  unknown word is what one option calls its failures: then write a word for it that is known. Nor if an option that
  times out has no status: so many are refused, unless the user says what they are.
- Where positions count from 0 or 1, a request is used up to the first gap: what was there is not known. The choice is
  by what is missing, not by what happened.
- A dash is what web servers write where an attempt has no status. It is an outcome that is missing, also behind all
  other attempts, for something was tried; behind a success it is as good as a blank.
- What follows a success of its request was not needed, and is not a sample that the rules of trying allow for. The
  request stays.
- A second try of an option on a request is not a new sample of it: what the first did would be counted twice. The
  choice goes by the option alone.

A row that is equal to another of its request in all columns that are read, with a position, a time or seconds among
them, is the same attempt written twice, as by a collector that sends again. It is dropped, which takes no sample away:
were it a second try, it would not be one either. Where nothing tells attempts apart nobody knows, and it stays.

Rows with a blank outcome behind all attempts of a request, or behind a success, are options that were offered and not
tried. They are counted, but not set aside, and say which option would have been second where the first one worked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linkedbandits.attempts.arrays import Floats, Gathered, LineNumbers, Numbers, Parts, ranges
from linkedbandits.attempts.cells import MISSING, NOT_GIVEN, Labels, Outcomes, costs, durations, figures, times, trimmed
from linkedbandits.attempts.columns import Layout, seconds_in_one
from linkedbandits.attempts.outcomes import BLANK, DASH, FRACTION, SUCCESS, UNKNOWN
from linkedbandits.attempts.set_aside import OUT_OF_TIME, WITHOUT_OUTCOME, Tally
from linkedbandits.attempts.sources import Batch
from linkedbandits.errors import InvalidAttempts
from linkedbandits.model import BoolArray, IntArray

NO_REQUEST = ("no request", "a row without a request cannot be placed")
AFTER_SUCCESS = ("after a success", "an attempt after a success of its request is not used; what came before is")
TWICE = ("an option tried twice", "only the first try of an option on a request is used")
LATER = "it and later attempts of its request are not used, for they cannot be placed"

NOTHING, NO_OPTION, OTHER_OPTION, NO_POSITION, NO_TIME, GAP, NO_OUTCOME, UNKNOWN_OUTCOME = range(8)
"""Why a request cannot be used from some attempt on. Unknown words go on from the last one."""
CAUSES = {
    NO_OPTION: ("no option", LATER),
    OTHER_OPTION: ("an option that is not one of those given", LATER),
    NO_POSITION: ("a position that cannot be read", "its request is not used, for its order is not known"),
    NO_TIME: ("a time that cannot be read", LATER),
    GAP: (
        "attempts missing before it",
        "its position says that earlier attempts are missing, so it and later ones are not used "
        '(position="" if the column counts something else)',
    ),
    NO_OUTCOME: (WITHOUT_OUTCOME, LATER),
}
NOT_TRIED = (
    "rows without an outcome behind the attempts of their request",
    "they are taken for options that were offered and not tried",
)
BAD_COST = (
    "costs that cannot be read, or are below 0",
    "they count as what attempts of their option, or else all, cost on average, or as 1 if no cost is known",
)
BAD_SECONDS = (
    "seconds that cannot be read",
    "write numbers, with a unit such as ms or without; it is not known how long these attempts took",
)
NO_COST = ("attempts without a cost", BAD_COST[1])
INTERLEAVED = ("rows behind the beginning of a later request", "they were put with the others of their request")
OUT_OF_PLACE = ("rows in another order than their {}s", "the {}s say in which order options were tried")
WRITTEN_AGAIN = (
    "rows equal to another of their request in all columns that are read",
    "each is taken for one attempt that was written more than once, and counted once",
)
FEW = ("option", "outcome")
WORDS_SHOWN = 5
FRACTIONS_ALLOWED = 0.01
MISLEADING = 0.01
FEW_ROWS = 20
"""Above both, the share of a log and the rows, what is set aside for one reason gives a wrong picture of the rest."""
LAGS = 6
"""Up to so many attempts of a request are compared with each other one by one."""


@dataclass
class _Rows:
    """All rows with a request, in the order of the file or, later, of the log."""

    request: Numbers
    option: npt.NDArray[np.int16]
    outcome: npt.NDArray[np.int16]
    position: Floats | None
    time: Floats | None
    cost: Floats | None
    seconds: Floats | None

    @property
    def within(self) -> Floats | None:
        """What says in which order the attempts of a request came; lines do where there is nothing, and in a tie."""
        return self.time if self.position is None else self.position

    def in_order(self, order: IntArray) -> None:
        for name, column in vars(self).items():
            if column is not None:
                setattr(self, name, column[order])


def gather_attempts(
    batches: Iterator[Batch],
    layout: Layout,
    labels: Labels,
    outcomes: Outcomes,
    tally: Tally,
    noticed: Tally,
    progress: Callable[[int], None],
) -> Gathered:
    """Read all batches, and bring them into the order of the log."""
    parts, lines = Parts(), LineNumbers()
    seen = 0
    for batch in batches:
        _add(batch, layout, labels, outcomes, parts, lines, tally, noticed)
        seen += len(batch.lines)
        progress(seen)
    if not lines.rows:
        nothing = np.empty(0, dtype=np.int32)
        return Gathered(nothing, nothing, np.empty(0, dtype=np.bool_), nothing)
    rows = _Rows(
        _numbered(parts.take("request")),
        *(parts.take(name) for name in ("option", "outcome", "position", "time", "cost", "seconds")),
    )
    _refuse_scores(rows.outcome, layout["outcome"])
    if rows.cost is not None:
        rows.cost = _checked_costs(rows.cost, layout, noticed)
    order = _order_of(rows, noticed, lines)
    again = _written_again(rows)
    if again.any():
        places = np.flatnonzero(~again)
        lines.notice(noticed, WRITTEN_AGAIN, np.flatnonzero(again) if order is None else order[again])
        rows.in_order(places)
        order = places if order is None else order[places]
    starts = np.flatnonzero(np.diff(rows.request, prepend=-1))
    if outcomes.blank is not None:
        _fill_blanks(rows, outcomes.blank, starts.size)
    kept, not_tried = _kept(
        rows, starts, tally, outcomes.words, lambda wanted: lines.of(wanted if order is None else order[wanted])
    )
    lines.notice(noticed, NOT_TRIED, not_tried if order is None else order[not_tried])
    labels.put_on_record(np.unique(rows.option[kept]).tolist())
    labels.put_on_record(np.unique(rows.option[not_tried]).tolist())
    return _gathered(rows, starts, kept)


def _written_again(rows: _Rows) -> BoolArray:
    """Rows that are equal to an earlier one of their request, of those that say when they were or how long it took."""
    telling = [column for column in (rows.position, rows.time, rows.seconds) if column is not None]
    if not telling:
        return np.zeros(rows.request.size, dtype=np.bool_)
    again = _equal_to_an_earlier_one(rows)
    places = np.flatnonzero(again)
    again[places] = np.any([~np.isnan(column[places]) for column in telling], axis=0)
    return again


def _equal_to_an_earlier_one(rows: _Rows) -> BoolArray:
    """Rows that are equal to an earlier one of their request in all columns."""
    import polars as pl

    equal = np.zeros(rows.request.size, dtype=np.bool_)
    candidates = np.flatnonzero(_option_seen_before(rows.request, rows.option))
    if not candidates.size:
        return equal  # nearly all logs: to compare all columns of all rows takes its time
    doubtful = np.zeros(int(rows.request.max()) + 1, dtype=np.bool_)
    doubtful[rows.request[candidates]] = True
    looked_at = np.flatnonzero(doubtful[rows.request])
    columns = {name: column[looked_at] for name, column in vars(rows).items() if column is not None}
    is_first = pl.DataFrame(columns).select(pl.struct(pl.all()).is_first_distinct()).to_series().to_numpy()
    equal[looked_at] = ~is_first
    return equal


def _refuse_what_is_not_in_order(rows: _Rows, late: IntArray, worked: IntArray) -> None:
    """Rows behind a success by their line alone, as others of the request are at the same place or time, are the sign
    of rows in another order than that of attempts: in one with the newest first a success comes before what failed."""
    within = rows.within
    if within is not None:
        late = late[within[late] == within[worked[rows.request[late]]]]
    if late.size <= max(FEW_ROWS, MISLEADING * worked.size):
        return
    by = None if within is None else "time" if rows.position is None else "position"
    said = f"{late.size:,} rows come after a success of their request"
    equal = np.count_nonzero(_equal_to_an_earlier_one(rows)[late])
    if 2 * equal > late.size:
        raise InvalidAttempts(
            f"{said}, and {equal:,} of them are equal to an earlier row of it; nothing in the log tells whether these "
            "are attempts of their own or lines that were written twice: say which column tells attempts of a request "
            "apart with position=..., time=... or seconds=..., or leave out what was written twice: awk '!seen[$0]++'"
        )
    which = {
        None: "say which column has the order with position=... or time=..., or bring the rows into it",
        "time": "say which column has their order with position=..., or bring the rows into it",
        "position": 'bring the rows into it, or leave the positions out with position=""',
    }[by]
    raise InvalidAttempts(
        f"{said}{'' if by is None else f' and have the same {by}'}, so rows are not in the order of attempts; {which}: "
        "if the newest come first, turn them round"
    )


def _add(
    batch: Batch,
    layout: Layout,
    labels: Labels,
    outcomes: Outcomes,
    parts: Parts,
    lines: LineNumbers,
    tally: Tally,
    noticed: Tally,
) -> None:
    # Options and outcomes are trimmed where they are told apart, for there are few of them.
    cells = trimmed(batch.cells, {name: column for name, column in layout.names.items() if name not in FEW})
    cells |= {name: batch.cells[layout[name]] for name in FEW}
    has_request = cells["request"].is_not_null()
    numbers = batch.lines
    if not has_request.all():
        tally.add(*NO_REQUEST, numbers[~has_request.to_numpy()])
        numbers = numbers[has_request.to_numpy()]
        cells = {meaning: column.filter(has_request) for meaning, column in cells.items()}
    lines.add(numbers)
    cost = costs(cells["cost"]) if "cost" in cells else None
    if cost is not None:
        is_blank = cells["cost"].is_null().to_numpy()
        noticed.add(*BAD_COST, numbers[np.isnan(cost) & ~is_blank])
        noticed.add(*NO_COST, numbers[is_blank])
    seconds = durations(cells["seconds"], seconds_in_one(layout["seconds"])) if "seconds" in cells else None
    if seconds is not None:
        noticed.add(*BAD_SECONDS, numbers[np.isnan(seconds) & cells["seconds"].is_not_null().to_numpy()])
    parts.add(
        # 64 bits of each: that two of a hundred million requests share theirs has a chance of one in four thousand
        request=cells["request"].hash(0).to_numpy(),
        option=labels.numbers(cells["option"]),
        outcome=outcomes.numbers(cells["outcome"]),
        position=figures(cells["position"]) if "position" in cells else None,
        time=times(cells["time"]) if "time" in cells else None,
        cost=cost,
        seconds=seconds,
    )


def _refuse_scores(outcome: npt.NDArray[np.int16], column: str) -> None:
    scores = np.count_nonzero(outcome == FRACTION)
    if scores > FRACTIONS_ALLOWED * outcome.size:
        raise InvalidAttempts(
            f"{scores:,} of {outcome.size:,} outcomes in {column!r} are numbers between others, such as scores; say "
            "from which score on an attempt has worked, and write a column of zeros and ones"
        )


def _checked_costs(cost: Floats, layout: Layout, noticed: Tally) -> Floats | None:
    """Refuse costs that the user has named and that are none, and use none if there are none."""
    bad = sum(found.rows for found in noticed.all() if found.what == BAD_COST[0])
    without = np.count_nonzero(np.isnan(cost))
    unknown = without == cost.size
    if "cost" in layout.given and (unknown or bad > max(FEW_ROWS, MISLEADING * cost.size)):
        raise InvalidAttempts(
            f"{layout['cost']!r} was given as cost, and {without:,} of {cost.size:,} rows have no number of at least 0 "
            'in it; write numbers alone, without a currency, or leave it out with cost=""'
        )
    return None if unknown else cost


def _order_of(rows: _Rows, noticed: Tally, lines: LineNumbers) -> IntArray | None:
    """Bring rows into the order of the log, with requests numbered in it; gives the order, or None if they were in it.

    Requests come by the time of their first attempt, or else by their first line. Within a request it is by position,
    or else by time, or else by line, which also settles ties. A row that has no place comes first, so that all others
    of its request are behind it. What is moved is counted.
    """
    order = None
    if (np.diff(rows.request) < 0).any():
        lines.notice(noticed, INTERLEAVED, np.flatnonzero(rows.request < np.maximum.accumulate(rows.request)))
        order = _stable_order(rows.request)
        rows.in_order(order)
    within = rows.within
    if within is not None:
        within = np.where(np.isnan(within), -np.inf, within)
        behind = np.flatnonzero((within[1:] < within[:-1]) & (rows.request[1:] == rows.request[:-1])) + 1
        if behind.size:
            by = "time" if rows.position is None else "position"
            what, rule = (text.format(by) for text in OUT_OF_PLACE)
            lines.notice(noticed, (what, rule), behind if order is None else order[behind])
            again = np.lexsort((within, rows.request))
            rows.in_order(again)
            order = again if order is None else order[again]
    if rows.time is not None:
        starts = np.flatnonzero(np.diff(rows.request, prepend=-1))
        came = np.nan_to_num(rows.time[starts], nan=-np.inf)
        if (came[1:] < came[:-1]).any():
            late = starts[came < np.maximum.accumulate(came)]
            lines.notice(noticed, OUT_OF_TIME, late if order is None else order[late])
            by_time = np.argsort(came, kind="stable")
            again = ranges(starts[by_time], np.append(starts[1:], rows.request.size)[by_time])
            rows.in_order(again)
            order = again if order is None else order[again]
            rows.request = (np.cumsum(np.diff(rows.request, prepend=rows.request[:1]) != 0)).astype(np.int32)
    return order


def _numbered(marks: npt.NDArray[np.uint64]) -> Numbers:
    """Requests by number, in the order of their first lines."""
    is_new = np.concatenate([[True], marks[1:] != marks[:-1]])
    stretch = np.cumsum(is_new, dtype=np.int32) - np.int32(1)
    marks = marks[is_new]
    by_mark, begins = _order_by_mark(marks)
    if begins.size == marks.size:
        return stretch  # the attempts of each request are in one place
    first = by_mark[begins]
    is_first = np.zeros(marks.size, dtype=np.bool_)
    is_first[first] = True
    number = (np.cumsum(is_first, dtype=np.int32) - np.int32(1))[first]
    of_stretch = np.empty(marks.size, dtype=np.int32)
    of_stretch[by_mark] = np.repeat(number, np.diff(begins, append=marks.size))
    return np.asarray(of_stretch[stretch])


def _order_by_mark(marks: npt.NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Places in the order of their marks, and of equal marks in their own; and where in it each mark begins.

    To sort values takes much less time than to sort places. So the last bits of each mark give way to its place; the
    few marks that differ in those bits alone are put right afterwards.
    """
    bits = np.uint64(max(marks.size - 1, 1).bit_length())
    packed = marks >> bits
    packed <<= bits
    packed |= np.arange(marks.size, dtype=np.uint64)
    packed.sort()
    apart = packed[1:] ^ packed[:-1]
    is_close = np.concatenate([[False], apart < np.uint64(1) << bits])
    del apart  # arrays here are as long as the log
    packed &= (np.uint64(1) << bits) - np.uint64(1)
    order = packed.view(np.int64)
    in_order = marks[order]
    is_new = np.concatenate([[True], in_order[1:] != in_order[:-1]])
    if (is_new & is_close).any():
        group = np.cumsum(~is_close, dtype=np.int32)
        is_mixed = np.zeros(int(group[-1]) + 1, dtype=np.bool_)
        is_mixed[group[is_new & is_close]] = True
        wrong = np.flatnonzero(is_mixed[group])
        again = np.lexsort((order[wrong], in_order[wrong]))
        order[wrong], in_order[wrong] = order[wrong[again]], in_order[wrong[again]]
        is_new = np.concatenate([[True], in_order[1:] != in_order[:-1]])
    return order, np.flatnonzero(is_new)


def _stable_order(numbers: Numbers) -> IntArray:
    """Where each row comes from when they are sorted by number, and within a number by place; see above."""
    packed = numbers.astype(np.int64) << 32
    packed |= np.arange(numbers.size)
    packed.sort()
    packed &= (1 << 32) - 1
    return packed


def _kept(
    rows: _Rows, starts: IntArray, tally: Tally, words: tuple[str, ...], lines_of: Callable[[IntArray], IntArray]
) -> tuple[BoolArray, IntArray]:
    """Which rows are attempts that are used, and which were not tried. All others are in the tally."""
    size = rows.request.size
    ends = np.append(starts[1:], size)
    kept = np.ones(size, dtype=np.bool_)
    worked = _first_of_each(rows, np.flatnonzero(rows.outcome == SUCCESS), starts.size, size)
    blank = np.flatnonzero(rows.outcome == BLANK)
    offered = blank[_behind_all_attempts(rows, blank, starts)]
    cause = _causes(rows, starts, blank, offered)
    spoiled = _first_of_each(rows, np.flatnonzero(cause), starts.size, size)

    after = ranges(*_where((worked < spoiled) & (worked < ends - 1), worked + 1, ends))
    kept[after] = False
    kept[offered] = False
    not_tried = np.zeros(size, dtype=np.bool_)
    not_tried[offered] = True
    not_tried[after] = _is_untried(rows.outcome[after])
    late = after[~_is_untried(rows.outcome[after])]
    _refuse_what_is_not_in_order(rows, late, worked)
    tally.add(*AFTER_SUCCESS, lines_of(late))

    behind = ranges(*_where((spoiled <= worked) & (spoiled < ends), spoiled, ends))
    kept[behind] = not_tried[behind] = False
    why = cause[spoiled[rows.request[behind]]]
    for number, said in CAUSES.items():
        tally.add(*said, lines_of(behind[why == number]))
    _tally_words(why, behind, words, tally, lines_of)

    again = _tried_before(rows, kept)
    kept[again] = False
    tally.add(*TWICE, lines_of(again))
    return kept, np.flatnonzero(not_tried)


def _fill_blanks(rows: _Rows, means: int, requests: int) -> None:
    """Give attempts without an outcome the one that they have by the user's word. Behind a success none was made."""
    worked = _first_of_each(rows, np.flatnonzero(rows.outcome == SUCCESS), requests, rows.outcome.size)
    blank = np.flatnonzero(_is_untried(rows.outcome))
    rows.outcome[blank[blank < worked[rows.request[blank]]]] = means


def _is_untried(outcome: npt.NDArray[np.int16]) -> BoolArray:
    """Behind a success."""
    return np.asarray((outcome == BLANK) | (outcome == DASH))


def _where(chosen: BoolArray, begins: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    return begins[chosen], ends[chosen]


def _first_of_each(rows: _Rows, found: IntArray, requests: int, none: int) -> IntArray:
    """The first of the rows found of each request; ``none`` where there is none."""
    first = np.full(requests, none, dtype=np.int64)
    request = rows.request[found]
    is_first = np.diff(request, prepend=-1) != 0
    first[request[is_first]] = found[is_first]
    return first


def _behind_all_attempts(rows: _Rows, blank: IntArray, starts: IntArray) -> BoolArray:
    """Which blank rows are behind the last attempt of a request that has one."""
    if not blank.size:
        return np.empty(0, dtype=np.bool_)
    last = np.maximum.reduceat(np.where(rows.outcome == BLANK, -1, np.arange(rows.outcome.size)), starts)
    last = last[rows.request[blank]]
    return np.asarray((blank > last) & (last >= 0))


def _causes(rows: _Rows, starts: IntArray, blank: IntArray, offered: IntArray) -> npt.NDArray[np.int16]:
    """Why a request cannot be used from a row on; 0 if it can."""
    cause = np.zeros(rows.request.size, dtype=np.int16)
    unknown = rows.outcome >= UNKNOWN
    cause[unknown] = rows.outcome[unknown] - UNKNOWN + UNKNOWN_OUTCOME + 1
    cause[rows.outcome == FRACTION] = UNKNOWN_OUTCOME
    cause[blank] = NO_OUTCOME
    cause[rows.outcome == DASH] = NO_OUTCOME
    cause[offered] = NOTHING
    if rows.position is not None:
        cause[_gaps(rows.position, starts)] = GAP
        cause[np.isnan(rows.position)] = NO_POSITION
    if rows.time is not None:
        cause[np.isnan(rows.time)] = NO_TIME
    cause[rows.option == NOT_GIVEN] = OTHER_OPTION
    cause[rows.option == MISSING] = NO_OPTION
    return cause


def _gaps(position: Floats, starts: IntArray) -> BoolArray:
    """Which rows have a position that does not follow the one before, if positions count from 0 or 1."""
    lowest = np.nanmin(position) if not np.isnan(position).all() else np.nan
    if lowest not in (0, 1):
        return np.zeros(position.size, dtype=np.bool_)
    step = np.diff(position, prepend=lowest)
    step[starts] = position[starts] - lowest + 1
    return np.asarray(step > 1)


def _tally_words(
    why: npt.NDArray[np.int16],
    behind: IntArray,
    words: tuple[str, ...],
    tally: Tally,
    lines_of: Callable[[IntArray], IntArray],
) -> None:
    """Unknown outcomes: the most frequent words each on its own, all others together."""
    tally.add("an outcome that is a score", LATER, lines_of(behind[why == UNKNOWN_OUTCOME]))
    word = why - (UNKNOWN_OUTCOME + 1)
    rows = np.bincount(word[word >= 0], minlength=len(words))
    shown = np.argsort(-rows, kind="stable")[:WORDS_SHOWN]
    for number in shown:
        tally.add(f"unknown outcome {words[number]!r}", LATER, lines_of(behind[word == number]))
    tally.add("other unknown outcomes", LATER, lines_of(behind[(word >= 0) & ~np.isin(word, shown)]))


def _tried_before(rows: _Rows, kept: BoolArray) -> IntArray:
    """Rows whose option was tried on the same request before."""
    if kept.all():
        return np.flatnonzero(_option_seen_before(rows.request, rows.option))
    left = np.flatnonzero(kept)
    return left[_option_seen_before(rows.request[left], rows.option[left])]


def _option_seen_before(request: Numbers, option: npt.NDArray[np.int16]) -> BoolArray:
    again = np.zeros(request.size, dtype=np.bool_)
    for lag in range(1, LAGS + 1):
        same = request[lag:] == request[:-lag]
        if not same.any():
            return again
        again[lag:] |= same & (option[lag:] == option[:-lag])
    sizes = np.bincount(request)
    long = np.flatnonzero(sizes[request] > LAGS)
    key = request[long].astype(np.int64) * (int(option.max()) + 1) + option[long]
    order = np.argsort(key, kind="stable")
    again[long[order[1:][key[order[1:]] == key[order[:-1]]]]] = True
    return again


def _gathered(rows: _Rows, starts: IntArray, kept: BoolArray) -> Gathered:
    """The attempts that are used, of requests numbered anew. The first row of a request is kept if any is."""
    option = rows.option[kept].astype(np.int32)
    first = np.diff(rows.request[kept], prepend=-1) != 0
    request = np.cumsum(first, dtype=np.int32) - np.int32(1)
    used = starts[kept[starts]]
    begins = np.flatnonzero(first)
    second = np.full(used.size, MISSING, dtype=np.int32)
    goes_on = np.append(begins[1:], request.size) > begins + 1
    second[goes_on] = option[begins[goes_on] + 1]
    # Where the first one worked, a row that was only offered may say what would have been second.
    following = np.minimum(used + 1, rows.request.size - 1)
    told = (
        ~goes_on
        & (rows.outcome[used] == SUCCESS)
        & (rows.request[following] == rows.request[used])
        & _is_untried(rows.outcome[following])
        & (rows.option[following] >= 0)
        & (rows.option[following] != rows.option[used])
    )
    second[told] = rows.option[following[told]]
    return Gathered(
        request,
        option,
        rows.outcome[kept] == SUCCESS,
        second,
        None if rows.time is None else rows.time[used],
        None if rows.cost is None else rows.cost[kept],
        None if rows.seconds is None else rows.seconds[kept],
    )
