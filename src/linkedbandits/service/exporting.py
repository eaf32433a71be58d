"""An experiment's journal for others to read: one line or row for every play handed out, told or given up.

An experiment that began with a log has that before it, a line for each request, of the kind ``log`` and numbered 0:
``arms`` as they were offered, null for an option that is no arm, and the ``hit``; ``receipt`` is "other" where what
worked is no arm, and ``status`` says which attempts may be read.

Columns: ``seq`` and ``at`` of the journal entry, ``kind`` (log, ask, tell, abandon, status, upgrade), ``play``,
``arms`` of a play handed out and the ``rest`` of a whole chain, ``hit`` and ``receipt`` of one told, ``status`` where
that changed. A ``hit`` of null in a tell means that none of the arms succeeded, nor any of the rest. An upgrade says in
``status`` with which version of the library the experiment goes on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any

from linkedbandits.attempts.log import NOT_OFFERED
from linkedbandits.errors import MissingExtra
from linkedbandits.live import WarmStart
from linkedbandits.live.answers import NO_HIT
from linkedbandits.live.chain_record import arms_of, rest_of
from linkedbandits.model import IntArray, Label
from linkedbandits.service.hosted import RECEIPT_OF_LETTER
from linkedbandits.service.records import Entry
from linkedbandits.service.store import Store
from linkedbandits.service.tuple_numbers import TupleNumbers
from linkedbandits.service.view import upgrade_sentence

if TYPE_CHECKING:
    import polars

PAGE = 100
"""Entries read at a time. A journal only grows, so pages read one after the other fit together."""
TEXT = 256 * 1024
"""Characters of lines that are handed on at a time."""
ROWS, ROW_GROUP = 10_000, 50_000
"""Rows of a table that are made, and written, at a time; fewer of long ones, so that these take"""
GROUP_BYTES = 16_000_000
"""bytes, and memory does not grow with the length of a journal nor with that of its labels."""

COLUMNS = ("seq", "at", "kind", "play", "arms", "rest", "hit", "receipt", "status")


def journal_lines(store: Store, experiment: str) -> Iterator[str]:
    """The journal as JSON lines, many in one text; an iterator, whatever the length."""
    lines: list[str] = []
    length = 0
    for event in _events(store, experiment, _labels(store, experiment)):
        lines.append(json.dumps(event) + "\n")
        length += len(lines[-1])
        if length >= TEXT:
            yield "".join(lines)
            lines, length = [], 0
    yield "".join(lines)


def write_parquet(store: Store, experiment: str, file: IO[bytes]) -> None:
    """Write the journal as a Parquet file, in groups of rows as it is read; ``arms`` and ``hit`` are labels as JSON."""
    check_parquet()
    import polars as pl  # an extra, and slow to import
    from polars.io.plugins import register_io_source

    labels = _labels(store, experiment)
    widest = len(json.dumps(labels)) + 100  # no play has more than every arm once
    group = max(1, min(ROW_GROUP, GROUP_BYTES // widest))
    # What has few values is kept once each. Tuples of arms may all be different: a table of them would grow and grow.
    few, text = pl.Categorical, pl.String
    types = [pl.Int64, pl.Float64, few, pl.Int64, text, text, few, few, text]
    schema = dict(zip(COLUMNS, types, strict=True))

    def frames(*_: object) -> Iterator[polars.DataFrame]:
        for events in _pages(_events(store, experiment, labels), min(ROWS, group)):
            yield _frame(pl, schema, events)

    register_io_source(frames, schema=schema).sink_parquet(file, row_group_size=group)


def check_parquet() -> None:
    """MissingExtra if tables cannot be written."""
    if find_spec("polars") is None:
        raise MissingExtra(
            "Parquet needs polars; install it with: pip install 'linkedbandits[service]', or export jsonl"
        )


def _labels(store: Store, experiment: str) -> tuple[Label, ...]:
    with store.reading() as tables:
        return tables.record(experiment).setup.arms


def _pages(events: Iterable[dict[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    """All events, so many at a time; the last page may be empty."""
    page: list[dict[str, Any]] = []
    for event in events:
        page.append(event)
        if len(page) == size:
            yield page
            page = []
    yield page


class _ReadTuples:
    """Tuples of an experiment, read when they are wanted: between two readings no connection is held."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def tuples(self, experiment: str, numbers: Iterable[int]) -> dict[int, IntArray]:
        """The arms of these tuples, by number."""
        with self._store.reading() as tables:
            return tables.tuples(experiment, numbers)


def _events(store: Store, experiment: str, labels: Sequence[Label]) -> Iterator[dict[str, Any]]:
    with store.reading() as tables:
        record = tables.record(experiment)
        log = None if record.setup.log is None else tables.log(experiment)
    if log is not None:
        yield from _events_of_log(WarmStart.from_json(log), labels, record.created_at)
    numbers, read_tuples = TupleNumbers(), _ReadTuples(store)
    after = 0
    while True:
        with store.reading() as tables:
            entries = tables.entries(experiment, after, PAGE)
        for entry in entries:
            asked = numbers.spelled_out(read_tuples, experiment, entry.body["runs"]) if entry.kind == "ask" else []
            yield from _events_of(entry, asked, labels)
            numbers.written()
        if len(entries) < PAGE:
            return
        after = entries[-1].seq


def _events_of_log(warm: WarmStart, labels: Sequence[Label], at: float) -> Iterator[dict[str, Any]]:
    """Requests of a log: the options as they were offered, None for one that is no arm, and the arm that worked."""
    same = {"seq": 0, "at": at, "kind": "log", "status": warm.attempts}
    log, names = warm.log, [*labels, None]
    starts = log.first.tolist()
    ends = [*starts, len(log)][1:]
    second = [NOT_OFFERED] * len(starts) if log.second is None else log.second.tolist()
    for start, end, behind in zip(starts, ends, second, strict=True):
        tried, worked = log.option[start:end].tolist(), bool(log.success[end - 1])
        offered = [*tried, behind] if worked and len(tried) == 1 and 0 <= behind < warm.arms else tried
        hit = names[tried[-1]] if worked else None
        receipt = {"receipt": "other"} if worked and hit is None else {}
        yield {**same, "arms": tuple(names[arm] for arm in offered), "hit": hit, **receipt}


def _events_of(entry: Entry, asked: Sequence[IntArray], labels: Sequence[Label]) -> Iterator[dict[str, Any]]:
    body, same = entry.body, {"seq": entry.seq, "at": entry.at, "kind": entry.kind}
    if entry.kind == "ask":
        last, shown = None, {}
        for play, arms in enumerate(asked, start=body["first"]):
            if arms is not last:  # the same few tuples come again and again
                last = arms
                shown = {"arms": tuple(labels[arm] for arm in arms_of(arms).tolist())}
                if arms[-1] < 0:
                    shown["rest"] = tuple(labels[arm] for arm in rest_of(arms).tolist())
            yield {**same, "play": play, **shown}
    elif entry.kind == "tell":
        for play, hit, letter in zip(body["plays"], body["hits"], body["receipts"], strict=True):
            label = None if hit == NO_HIT else labels[hit]
            yield {**same, "play": play, "hit": label, "receipt": RECEIPT_OF_LETTER[letter]}
    elif entry.kind == "abandon":
        for play in body["plays"]:
            yield {**same, "play": play}
    elif entry.kind == "upgrade":
        yield {**same, "status": upgrade_sentence(body["version"], body["plays"], body["evidence"] is not None)}
    else:
        goes_on = f"; goes on as {body['successor']}" if "successor" in body else ""
        if "why" in body:  # not in what was written by the first versions
            goes_on += f" ({body['why']})"
        yield {**same, "status": body["to"] + goes_on}


def _frame(pl: Any, schema: dict[str, Any], events: list[dict[str, Any]]) -> polars.DataFrame:
    columns = {name: [event.get(name) for event in events] for name in COLUMNS}
    for name in ("arms", "rest"):
        columns[name] = list(_texts_of_tuples(columns[name]))
    texts = {hit: json.dumps(hit) for hit in set(columns["hit"]) if hit is not None}
    columns["hit"] = [texts.get(hit) for hit in columns["hit"]]
    frame: polars.DataFrame = pl.DataFrame(columns, schema=schema)
    return frame


def _texts_of_tuples(tuples: Iterable[tuple[Label, ...] | None]) -> Iterator[str | None]:
    last, text = None, None
    for arms in tuples:
        if arms is not last:  # the same few come again and again
            last, text = arms, None if arms is None else json.dumps(arms)
        yield text
