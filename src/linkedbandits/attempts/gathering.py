"""From rows to the arrays of a log: which columns they have, what they say, and whether enough of them can be used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast

import numpy as np

from linkedbandits.attempts.attempt_rows import FEW_ROWS, MISLEADING, gather_attempts
from linkedbandits.attempts.cells import BLANKS, Blank, Labels, Outcomes, Words, times, trimmed, words_of
from linkedbandits.attempts.columns import ColumnNames, Layout, layout_of
from linkedbandits.attempts.outcomes import means_an_error
from linkedbandits.attempts.request_rows import HIT_NOT_IN_ORDER, OTHER_LENGTH, gather_requests
from linkedbandits.attempts.set_aside import WITHOUT_OUTCOME, Tally
from linkedbandits.attempts.shapes import advice, layout_by_id
from linkedbandits.attempts.sources import HEADER_AGAIN, TORN, Batch, JsonLines, Source
from linkedbandits.errors import InvalidAttempts, InvalidParameter

Progress = Callable[[int], None]
"""Told now and then how many rows have been read."""

TIMES = "2024-05-01 13:30:00, 2024-05-01T13:30:00Z, 20240501T133000Z, 01/May/2024:13:30:00 +0000, or seconds since 1970"
"""Ways to write a time that can be read."""


def gather(
    source: Source,
    columns: ColumnNames,
    options: Sequence[str] | None = None,
    progress: Progress | None = None,
    blank: Blank | None = None,
    ignore_case: bool = False,
    success: Words = (),
    failure: Words = (),
) -> dict[str, Any]:
    """The fields of :class:`linkedbandits.attempts.Attempts` by name."""
    if blank is not None and blank not in BLANKS:
        raise InvalidParameter(f"blank={blank!r} is unknown; choose {', '.join(BLANKS)}")
    layout = _layout_of(source, columns)
    if blank is not None and layout.result != "outcome":
        raise InvalidParameter(
            f"blank={blank!r} is about outcomes, and {source.where} says which option worked, with nothing for none; "
            "leave it out"
        )
    said = {"success": words_of("success", success), "failure": words_of("failure", failure)}
    for name, words in said.items():
        if words and layout.result != "outcome":
            raise InvalidParameter(
                f"{name}={words[0]!r} is about outcomes, and {source.where} says which option worked; leave it out"
            )
    outcomes = Outcomes(layout[layout.result], blank, **said)
    labels = Labels(source.where, None if options is None else tuple(map(str, options)), ignore_case)
    gather_rows = gather_requests if layout.a_row_a_request else gather_attempts
    rows, layout, left_out = _with_times_that_can_be_read(source.batches(list(layout.names.values())), layout)
    seen = _Counted(rows)
    noticed = source.noticed
    gathered = gather_rows(
        seen.batches(), layout, labels, outcomes, source.tally, noticed, progress or (lambda rows: None)
    )
    _refuse_unknown_outcomes(source.tally, outcomes, seen.rows)
    if blank is None:
        _refuse_blank_outcomes(source, layout, seen.rows)
    _refuse_contradictions(source, seen.rows)
    _refuse_torn_rows(source, seen.rows)
    _check_enough(source, seen.rows, gathered.request.size)
    number_of = labels.leave_out_others()
    if number_of is not None:
        gathered = replace(gathered, option=number_of[gathered.option], second=number_of[gathered.second])
    again = sum(found.rows for found in noticed.all() if found.what == HEADER_AGAIN[0])
    return {
        **vars(gathered),
        "rows": seen.rows + _torn(source) + again,
        "options": labels.all,
        "set_aside": source.tally.all(),
        "columns": layout.pairs,
        "taken_for_success": outcomes.successes,
        "noticed": (*left_out, *map(str, noticed.all()), *labels.noticed()),
    }


def _layout_of(source: Source, columns: ColumnNames) -> Layout:
    """Which column is which, by their names or else by the first rows; where neither tells, what to do about it."""
    given = cast("Mapping[str, str | None]", columns)
    try:
        return layout_of(source.columns, given, source.where, source.blank)
    except InvalidAttempts as error:
        if isinstance(source, JsonLines) and source.objects_in is not None:
            raise InvalidAttempts(
                f"{error}. Each row has a list of objects in {source.objects_in!r}: write a line for each of them, "
                f"with: jq -c '.{source.objects_in}[] + del(.{source.objects_in})'"
            ) from error
        layout = layout_by_id(source, given)
        if layout is not None:
            return layout
        advised = advice(source, given)
        if advised is None:
            raise
        raise InvalidAttempts(f"{error}. {advised}") from error


def _with_times_that_can_be_read(
    batches: Iterator[Batch], layout: Layout
) -> tuple[Iterator[Batch], Layout, tuple[str, ...]]:
    """The batches, the layout without a column of times that was guessed and is none, and what is to be said of that.

    Rows can be in order without times, so a guess is not worth a log. Which column it is was the user's word where it
    is given: then nothing else is done in its place.
    """
    first = next(batches, None)
    if first is None:
        return batches, layout, ()
    batches = chain([first], batches)
    if "time" not in layout:
        return batches, layout, ()
    cells = trimmed(first.cells, {"time": layout["time"]})["time"]
    unread = np.isnan(times(cells))
    if 2 * np.count_nonzero(unread) <= len(cells):
        return batches, layout, ()
    wrong = cells[int(np.flatnonzero(unread)[0])]
    said = f"most of {layout['time']!r} cannot be read as times, such as {'a blank' if wrong is None else repr(wrong)}"
    if "time" in layout.given:
        raise InvalidAttempts(f'{said}; write times as {TIMES}, or leave them out with time=""')
    names = {meaning: name for meaning, name in layout.names.items() if meaning != "time"}
    return (
        batches,
        replace(layout, names=names),
        (f"{said}; it is not used, and requests are in the order of the file",),
    )


class _Counted:
    """Counts the rows of batches as they pass."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self.rows = 0

    def batches(self) -> Iterator[Batch]:
        for batch in self._batches:
            self.rows += len(batch.lines)
            yield batch


def _refuse_unknown_outcomes(tally: Tally, outcomes: Outcomes, rows: int) -> None:
    """Refuse a log in which so many outcomes are set aside that what is left would be a wrong picture."""
    strange = [found for found in tally.all() if "unknown outcome" in found.what]
    unknown = sum(found.rows for found in strange)
    if unknown > max(FEW_ROWS, MISLEADING * rows):
        first = next((word for word in outcomes.words), "...")
        words = "; ".join(f"{found.what}, first in line {found.lines[0]:,}" for found in strange)
        raise InvalidAttempts(
            f"{unknown:,} of {rows:,} rows have an outcome that is not known ({words}), and without them options look "
            f"better or worse than they are; say what each word is, with success={first!r} or "
            f"failure={first!r}, or write success or failure, 1 or 0, or a status"
        )


def _refuse_blank_outcomes(source: Source, layout: Layout, rows: int) -> None:
    """Refuse them likewise: an option that hangs may have no status where it fails."""
    blank = sum(found.rows for found in source.tally.all() if found.what == WITHOUT_OUTCOME)
    if blank > max(FEW_ROWS, MISLEADING * rows):
        others = [name for name in source.columns if means_an_error(name) and name not in layout.names.values()]
        beside = f" ({', '.join(map(repr, others))} may tell)" if others else ""
        raise InvalidAttempts(
            f"{blank:,} of {rows:,} rows have no outcome in {layout[layout.result]!r}, or come behind such a row, and "
            "if these are failures of one option, without them it looks better than it is; say what an attempt without "
            f"an outcome is{beside}: blank='failure', blank='success', or blank='aside' if it is by accident"
        )


def _refuse_contradictions(source: Source, rows: int) -> None:
    """Refuse them likewise: such a row mostly has a failure of the options that it names."""
    for what, _ in (HIT_NOT_IN_ORDER, OTHER_LENGTH):
        found = next((each for each in source.tally.all() if each.what == what), None)
        if found is not None and found.rows > max(FEW_ROWS, MISLEADING * rows):
            raise InvalidAttempts(
                f"{found.rows:,} of {rows:,} rows of {source.where} have {what}, and if that depends on what failed, "
                f"options look better or worse than they are without them; mend them, or leave them out. {found}"
            )


def _refuse_torn_rows(source: Source, rows: int) -> None:
    """Refuse a log with so many torn rows that they are no accident: one option may write a field too many."""
    torn = _torn(source)
    if torn > max(FEW_ROWS, MISLEADING * (rows + torn)):
        found = next(each for each in source.tally.all() if each.what == TORN[0])
        raise InvalidAttempts(
            f"{torn:,} of {rows + torn:,} rows of {source.where} are torn, and if that depends on their option or "
            f"their outcome, options look better or worse than they are; mend them, or leave them out. {found}"
        )


def _torn(source: Source) -> int:
    return sum(found.rows for found in source.tally.all() if found.what == TORN[0])


def _check_enough(source: Source, rows: int, attempts: int) -> None:
    """Refuse a log of which little is left: the columns are probably not what they were taken for."""
    in_all = rows + _torn(source)
    if not in_all:
        raise InvalidAttempts(f"{source.where} has no rows; give one for each attempt, or one for each request")
    if 2 * source.tally.rows > in_all or not attempts:
        reasons = ". ".join(map(str, source.tally.all()))
        raise InvalidAttempts(
            f"{source.tally.rows:,} of {in_all:,} rows of {source.where} cannot be used; mend it, or say which columns "
            f"are meant. {reasons}"
        )
