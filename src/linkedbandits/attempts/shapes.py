"""Logs in which no column has a name that requests have: which can be read all the same, and advice on the others.

What a log is then is seen from its first rows, which are looked at only if the names of columns do not say enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from linkedbandits.attempts.columns import OF_AN_ATTEMPT, Layout, layout_of, plain
from linkedbandits.attempts.outcomes import FAILURE, SUCCESS, outcome_of
from linkedbandits.attempts.sources import SeparatedText, Source
from linkedbandits.errors import InvalidAttempts, LinkedBanditError

if TYPE_CHECKING:
    import polars as pl

TWICE_ALLOWED = 0.1
"""The share of rows, of requests with several, that may be a second try of an option."""
MOST_NAMED = 4


def layout_by_id(source: Source, given: Mapping[str, str | None]) -> Layout | None:
    """With the one column called ``id`` as the request, if it is that: it has to come again, with other options.

    An id that never comes again may be the number of a row, and one that comes with the same option again and again
    may be that of a customer.
    """
    named = [name for name in source.columns if plain(name) == "id"]
    if len(named) != 1 or given.get("request") is not None or named[0] in given.values():
        return None
    try:
        layout = layout_of(source.columns, {**given, "request": named[0]}, source.where, source.blank)
    except InvalidAttempts:
        return None
    if layout.a_row_a_request:
        return None
    rows = _first_rows(source, [named[0], layout["option"]])
    return layout if rows is not None and _comes_again_with_others(rows) else None


def _comes_again_with_others(rows: pl.DataFrame) -> bool:
    import polars as pl

    identifier, option = rows.columns
    several = rows.filter(pl.col(identifier).is_not_null() & pl.col(identifier).is_duplicated())
    if not len(several):
        return False
    again = len(several) - several.select(identifier, option).n_unique()
    return again <= TWICE_ALLOWED * len(several)


def advice(source: Source, given: Mapping[str, str | None]) -> str | None:
    """What to do with a log that has no column for the request, by what it seems to be; None if that is not seen."""
    if any(given.get(meaning) for meaning in ("request", "order", "hit")):
        return None
    rows = _first_rows(source, list(dict.fromkeys(source.columns)))
    flags = [] if rows is None else [name for name in rows.columns if _is_a_flag(rows[name])]
    if len(flags) > 1:
        more = len(flags) - MOST_NAMED
        named = ", ".join(map(repr, flags[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
        return (
            f"Each option seems to have a column of its own, with 0 or 1 in it ({named}). That does not say in which "
            "order options were tried: write a row for each attempt, in the order of attempts, with its request, its "
            "option and its outcome; in pandas, melt makes such rows"
        )
    if not _has_all_but_the_request(source, given):
        return None
    how = ""
    if isinstance(source, SeparatedText):
        how = f": awk -v OFS='{source.separator}' '{{print (NR == 1 ? \"request\" : NR), $0}}'"
    return (
        "If no column says which attempts belong to one request, log an id with each of them. If every row is a "
        f"request of its own, the number of the row can be its id{how}"
    )


def _has_all_but_the_request(source: Source, given: Mapping[str, str | None]) -> bool:
    """Would it be a log of attempts with a column more?"""
    try:
        layout = layout_of(("request", *source.columns), given, source.where, source.blank)
    except InvalidAttempts:
        return False
    return set(OF_AN_ATTEMPT) <= layout.names.keys() and "request" not in source.columns


def _is_a_flag(cells: pl.Series) -> bool:
    """Are there successes and failures in a column, as zeros and ones or words for them, and nothing else?"""
    found = {outcome_of(text) for text in cells.drop_nulls().unique() if text.strip()}
    return found == {SUCCESS, FAILURE}


def _first_rows(source: Source, columns: Sequence[str]) -> pl.DataFrame | None:
    """Some; what is wrong with them is left for whoever reads them all."""
    try:
        with source.tally.unchanged(), source.noticed.unchanged():
            first = next(source.batches(columns), None)
    except LinkedBanditError:
        return None
    return None if first is None else first.cells
