"""Logs with a row for each request: the options in the order in which they were offered, and the one that worked; or
those that were tried, with the outcome of each, or of the last.

What is set aside, and what that does to samples:

- A row without an order says nothing that could be used. A row whose order has an option twice, or one that is not one
  of those given, is not used whatever worked: to use it or not by what worked would select by outcome.
- A row whose hit is not in its order contradicts itself. Harmless if it is by accident; not if, say, one option has two
  names: then rename it in the file.
- A row with a time that cannot be read has no place in the log.
- Of lists of what was tried: what follows a success is not used, nor what follows an outcome that is not known or an
  option that is not one of those given, and it itself, as in logs with a row for each attempt: the attempts before are.
  Of an option that was tried twice the first try counts. After an internal redirect nginx goes on behind a colon; what
  was tried there came behind all before it.

One cost of a whole request does not say what each of its attempts has cost: to spread it evenly would make a dear
option look cheap behind a cheap one. So it counts where there is one for each attempt, and otherwise it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from linkedbandits.attempts.arrays import Gathered, LineNumbers, Parts, ranges
from linkedbandits.attempts.cells import (
    MISSING,
    NOT_GIVEN,
    NOTHING,
    Floats,
    Labels,
    Outcomes,
    lists_of_figures,
    times,
    trimmed,
)
from linkedbandits.attempts.columns import Layout, seconds_in_one
from linkedbandits.attempts.outcomes import BLANK, DASH, FAILURE, FRACTION, SUCCESS, UNKNOWN, outcome_of
from linkedbandits.attempts.set_aside import OUT_OF_TIME, WITHOUT_OUTCOME, Tally
from linkedbandits.attempts.sources import Batch
from linkedbandits.errors import InvalidAttempts
from linkedbandits.model import IntArray

if TYPE_CHECKING:
    import polars as pl

NO_ORDER = ("no order", "a row has to say which options were offered")
OTHER_OPTION = ("an option that is not one of those given", "the row is not used")
HIT_NOT_IN_ORDER = ("a hit that is not in the order", "the row contradicts itself and is not used")
HIT_IS_A_FLAG = (
    "a hit that says whether, and not which",
    "if the order has the options that were tried, up to the last one, give the column as outcome, and not as hit",
)
ORDER_TWICE = ("an option twice in an order", "which of its tries worked is not known; the row is not used")
TWICE = ("an option twice in an order", "only its first place counts")
OTHER_LENGTH = ("outcomes that are not as many as the options", "the row is not used; give one for each, or one in all")
AFTER_SUCCESS = ("after a success", "attempts after a success of their request are not used; what came before is")
LATER = "it and what was tried after it on this request are not used"
NO_OUTCOME = (WITHOUT_OUTCOME, LATER)
A_SCORE = ("an outcome that is a score", LATER)
NO_OPTION = ("no option", LATER)
OTHER_TRIED = (OTHER_OPTION[0], LATER)
NO_TIME = ("a time that cannot be read", "the row is not used, for it has no place in the log")
NO_HIT = frozenset({"", "-", "none", "null", "nan", "na", "n/a", "nil", "no", "false", "nobody", "nothing", "failed"})

REMEDIES = {
    "cost": "give costs, what an attempt of each option costs, to the verdict",
    "seconds": 'leave them out with seconds=""',
}

_QUOTED = re.compile(r'"([^"]*)"|\'([^\']*)\'')
_BETWEEN = re.compile(r"\s*(?:->|=>|[>,|;\x1f])\s*|\s+:\s+")
Rule = tuple[str, str]


@dataclass(frozen=True)
class Play:
    """What one pair of an order and a hit says: the options tried, by number, and whether the last one worked.

    ``places`` are theirs among all tries as written, of which there are ``written``. A row that is set aside as a whole
    has ``why_not``; one of which a part is has ``partly``.
    """

    tried: tuple[int, ...] = ()
    worked: bool = False
    second: int = MISSING
    places: tuple[int, ...] = ()
    written: int = 0
    partly: tuple[Rule, ...] = ()
    why_not: Rule | None = None
    offered: tuple[int, ...] = field(default=(), compare=False)
    """Options that the row has on record, tried or not."""


def order_of(text: str) -> tuple[str, ...]:
    """The options of an order: a list as JSON, Python or numpy write it, or names with ``,``, ``>``, ``|`` or ``;``
    between them, or else with blanks.

    >>> order_of('["a", "b c"]'), order_of("['a' 'b']"), order_of("a > b c > d"), order_of("a b")
    (('a', 'b c'), ('a', 'b'), ('a', 'b c', 'd'), ('a', 'b'))
    """
    return tuple(name for name in list_of(text) if name not in NOTHING)


def list_of(text: str) -> tuple[str, ...]:
    """The entries of a list, written as above, blank ones and dashes among them where something is between them."""
    text = text.strip()
    if text[:1] in ("[", "(") and text[-1:] in ("]", ")"):  # and not an address, [::1]:80
        try:
            found = json.loads(text, strict=False)
        except ValueError:
            found = [one or other for one, other in _QUOTED.findall(text)] or text[1:-1]
        if not isinstance(found, str):
            return tuple("" if item is None else str(item).strip() for item in found)
        text = found.strip()
    return tuple(_BETWEEN.split(text) if _BETWEEN.search(text) else text.split())


def play_of(order: str | None, hit: str | None, labels: Labels) -> Play:
    """What an order and a hit say."""
    written = tuple(map(labels.one_way, order_of(order or "")))
    hit = hit if hit is None or hit.lower() in NO_HIT else labels.one_way(hit)
    if not written:
        return Play(why_not=NO_ORDER)
    if len(set(written)) < len(written):  # whatever worked: to leave out some hits alone would select by outcome
        return Play(why_not=ORDER_TWICE)
    offered = [labels.number(name) for name in written]
    if NOT_GIVEN in offered:
        return Play(why_not=OTHER_OPTION)
    second = offered[1] if len(offered) > 1 else MISSING
    if hit in written:
        tried = offered[: written.index(hit) + 1]
    elif hit is None or hit.lower() in NO_HIT:
        tried = offered
    else:
        return Play(why_not=HIT_IS_A_FLAG if outcome_of(hit) in (SUCCESS, FAILURE) else HIT_NOT_IN_ORDER)
    return Play(tuple(tried), hit in written, second, tuple(range(len(tried))), len(tried), offered=tuple(offered))


def play_of_tries_and_hit(order: str | None, hit: str | None, labels: Labels, outcomes: Outcomes) -> Play:
    """What a list of tried options says, with options twice or not given in it: all before the last one failed."""
    names = tuple(map(labels.one_way, order_of(order or "")))
    worked = hit is not None and hit.lower() not in NO_HIT
    if hit is not None and worked and labels.one_way(hit) != names[-1]:
        return Play(why_not=HIT_IS_A_FLAG if outcome_of(hit) in (SUCCESS, FAILURE) else HIT_NOT_IN_ORDER)
    said = [FAILURE] * (len(names) - 1) + [SUCCESS if worked else FAILURE]
    return _play_of_tries([labels.number(name) for name in names], said, outcomes)


def play_of_what_was_tried(order: str | None, outcome: str | None, labels: Labels, outcomes: Outcomes) -> Play:
    """What a list of options and their outcomes say; of one outcome alone, that of the last: all before it failed."""
    names = list_of(order or "")
    if not any(name not in NOTHING for name in names):
        return Play(why_not=NO_ORDER)
    entries = _entries(outcome or "")
    if len(names) == 1 and len(entries) > 1 and any(outcome_of(entry) == UNKNOWN for entry in entries):
        entries = (outcome or "",)  # such as "503 Service Unavailable, again"
    said = [outcomes.number(entry or None) for entry in entries]
    if len(said) == 1:
        said = [FAILURE] * (len(names) - 1) + said
    if len(said) != len(names):
        return Play(why_not=OTHER_LENGTH)
    numbers = [MISSING if name in NOTHING else labels.number(name) for name in names]
    return _play_of_tries(numbers, said, outcomes)


def _entries(text: str) -> tuple[str, ...]:
    """Outcomes, of which one may have blanks in it."""
    return list_of(text) if text[:1] in ("[", "(") or _BETWEEN.search(text) else (text,)


def _play_of_tries(numbers: list[int], said: list[int], outcomes: Outcomes) -> Play:
    places: list[int] = []
    partly: dict[Rule, None] = {}
    worked = False
    second = MISSING
    offered: list[int] = []
    for place, (number, wrote) in enumerate(zip(numbers, said, strict=True)):
        if worked:
            if wrote not in (BLANK, DASH):
                partly[AFTER_SUCCESS] = None
            else:
                offered.append(number)  # and not needed
                second = number if place == 1 and number >= 0 else second
            continue
        outcome = wrote if outcomes.blank is None or wrote not in (BLANK, DASH) else outcomes.blank
        if outcome == BLANK and places and all(later == BLANK for later in said[place:]):
            offered += numbers[place:]  # and not tried
            break
        if number < 0 or outcome not in (FAILURE, SUCCESS):
            unusable = {MISSING: NO_OPTION, NOT_GIVEN: OTHER_TRIED}
            partly[unusable[number] if number < 0 else _rule_for(outcome, outcomes)] = None
            break
        if number in (numbers[before] for before in places):
            partly[TWICE] = None
            continue
        places.append(place)
        worked = outcome == SUCCESS
    rules = tuple(partly)
    if not places:
        return Play(why_not=rules[0])
    tried = tuple(numbers[place] for place in places)
    return Play(
        tried,
        worked,
        tried[1] if len(tried) > 1 else second,
        tuple(places),
        len(numbers),
        rules,
        offered=(*tried, *offered),
    )


def _rule_for(outcome: int, outcomes: Outcomes) -> Rule:
    """Why an outcome is none."""
    if outcome in (BLANK, DASH):
        return NO_OUTCOME
    return A_SCORE if outcome == FRACTION else (f"unknown outcome {outcomes.words[outcome - UNKNOWN]!r}", LATER)


class _Plays:
    """The plays of a log by number; there are few in most, and many rows of each."""

    def __init__(self, labels: Labels, layout: Layout, outcomes: Outcomes) -> None:
        self._labels = labels
        self._result = layout.result
        self._tried = layout.has_what_was_tried
        self._outcomes = outcomes
        self._numbers: dict[tuple[str | None, str | None], int] = {}
        self.all: list[Play] = []

    def numbers(self, cells: dict[str, pl.Series]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        import polars as pl

        pairs = pl.DataFrame({"order": cells["order"], "result": cells[self._result]})
        groups = (
            pairs.with_row_index("row").group_by("order", "result").agg("row", first=pl.col("row").min()).sort("first")
        )
        found = np.empty(len(pairs), dtype=np.int32)
        numbers = [self._number(order, hit) for order, hit in zip(groups["order"], groups["result"], strict=True)]
        sizes = groups["row"].list.len().to_numpy()
        if self._labels.ignore_case:
            for order, rows in zip(groups["order"], sizes.tolist(), strict=True):
                self._labels.count(order_of(order or ""), rows)
        found[groups["row"].explode().to_numpy()] = np.repeat(np.array(numbers, dtype=np.int32), sizes)
        return found

    def _number(self, order: str | None, result: str | None) -> int:
        number = self._numbers.get((order, result))
        if number is None:
            number = self._numbers[order, result] = len(self.all)
            self.all.append(self._play(order, result))
        return number

    def _play(self, order: str | None, result: str | None) -> Play:
        if self._result == "hit":
            play = play_of(order, result, self._labels)
            if self._tried and play.why_not in (ORDER_TWICE, OTHER_OPTION):
                play = play_of_tries_and_hit(order, result, self._labels, self._outcomes)
            if play.why_not != HIT_IS_A_FLAG or not self._tried:
                return play
        return play_of_what_was_tried(order, result, self._labels, self._outcomes)


def gather_requests(
    batches: Iterator[Batch],
    layout: Layout,
    labels: Labels,
    outcomes: Outcomes,
    tally: Tally,
    noticed: Tally,
    progress: Callable[[int], None],
) -> Gathered:
    """Read all batches; requests come by their time, or else by their line."""
    plays = _Plays(labels, layout, outcomes)
    parts, lines = Parts(), LineNumbers()
    listed = [meaning for meaning in ("cost", "seconds") if meaning in layout]
    for batch in batches:
        cells = trimmed(batch.cells, layout.names)
        lines.add(batch.lines)
        parts.add(play=plays.numbers(cells), time=times(cells["time"]) if "time" in cells else None)
        for meaning in listed:
            numbers, sizes = lists_of_figures(cells[meaning])
            parts.add(**{meaning: numbers, f"{meaning} of a row": sizes})
        progress(lines.rows)
    play, time = parts.take("play"), parts.take("time")
    play = np.empty(0, dtype=np.int32) if play is None else play
    used = np.ones(play.size, dtype=np.bool_)
    for rule in dict.fromkeys(found.why_not for found in plays.all if found.why_not):
        against = np.array([found.why_not == rule for found in plays.all], dtype=np.bool_)
        broken = np.flatnonzero(against[play])
        used[broken] = False
        tally.add(*rule, lines.of(broken))
    for rule in dict.fromkeys(rule for found in plays.all for rule in found.partly):
        partly = np.array([rule in found.partly for found in plays.all], dtype=np.bool_)
        tally.add(*rule, lines.of(np.flatnonzero(used & partly[play])))
    if time is not None:
        untimed = np.flatnonzero(used & np.isnan(time))
        used[untimed] = False
        tally.add(*NO_TIME, lines.of(untimed))
    rows = np.flatnonzero(used)
    if time is not None:
        lines.notice(noticed, OUT_OF_TIME, rows[time[rows] < np.maximum.accumulate(time[rows])])
        rows = rows[np.argsort(time[rows], kind="stable")]
    for number in np.unique(play[rows]).tolist():
        labels.put_on_record(plays.all[number].offered)
    beside = {
        meaning: _of_each_attempt(
            parts.take(meaning),
            parts.take(f"{meaning} of a row"),
            play,
            rows,
            plays.all,
            layout,
            meaning,
            noticed,
            lines,
        )
        for meaning in listed
    }
    return _gathered(play[rows], plays.all, None if time is None else time[rows], **beside)


def _of_each_attempt(
    numbers: Floats | None,
    sizes: IntArray,
    play: np.ndarray[tuple[int], np.dtype[np.int32]],
    rows: IntArray,
    plays: list[Play],
    layout: Layout,
    meaning: str,
    noticed: Tally,
    lines: LineNumbers,
) -> Floats | None:
    """What a column says of each attempt that is used; None if it is not one number for each."""
    if numbers is None:
        return None
    written = np.array([found.written for found in plays], dtype=np.int64)[play[rows]]
    other = rows[(sizes[rows] != written) & (sizes[rows] > 0)]
    if other.size:
        column, line = layout[meaning], lines.of(other)
        if meaning in layout.given:
            raise InvalidAttempts(
                f"{column!r} has one {meaning} for requests with several attempts, on {other.size:,} of {rows.size:,} "
                "rows, which does not say what is of which attempt; write one for each, as 0.1, 0.2, or "
                f"{REMEDIES[meaning]}"
            )
        noticed.add(f"{column!r} does not have one {meaning} for each attempt", "it is not used", line)
        return None
    begins = np.cumsum(sizes) - sizes
    used = np.array([len(found.places) for found in plays], dtype=np.int64)
    first = np.cumsum(used) - used
    places = np.array([place for found in plays for place in found.places], dtype=np.int64)
    chosen = play[rows]
    wanted = places[ranges(first[chosen], first[chosen] + used[chosen])] + np.repeat(begins[rows], used[chosen])
    found = np.full(wanted.size, np.nan)
    is_there = np.repeat(sizes[rows] > 0, used[chosen])
    found[is_there] = numbers[wanted[is_there]]
    return found * (seconds_in_one(layout[meaning]) if meaning == "seconds" else 1.0)


def _gathered(
    play: np.ndarray[tuple[int], np.dtype[np.int32]],
    plays: list[Play],
    time: Floats | None,
    cost: Floats | None = None,
    seconds: Floats | None = None,
) -> Gathered:
    sizes = np.array([len(found.tried) for found in plays], dtype=np.int64)
    tried = np.array([arm for found in plays for arm in found.tried], dtype=np.int32)
    begins = np.cumsum(sizes) - sizes
    attempts = sizes[play]
    request = np.repeat(np.arange(play.size, dtype=np.int32), attempts)
    success = np.zeros(request.size, dtype=np.bool_)
    success[np.cumsum(attempts) - 1] = np.array([found.worked for found in plays], dtype=np.bool_)[play]
    return Gathered(
        request,
        tried[ranges(begins[play], begins[play] + attempts)],
        success,
        np.array([found.second for found in plays], dtype=np.int32)[play],
        time,
        cost,
        seconds,
    )
