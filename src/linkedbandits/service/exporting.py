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

import io
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from linkedbandits.errors import MissingExtra
from linkedbandits.live import WarmStart
from linkedbandits.live.answer_log import NO_HIT
from linkedbandits.live.whole_chains import arms_of, rest_of
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
EVENTS = 10_000
"""Lines or rows made at a time."""

COLUMNS = ("seq", "at", "kind", "play", "arms", "rest", "hit", "receipt", "status")


def journal_lines(store: Store, experiment: str) -> Iterator[str]:
    """The journal as JSON lines, many in one text; an iterator, whatever the length."""
    for events in _pages(store, experiment):
        yield "".join(json.dumps(event) + "\n" for event in events)


def journal_parquet(store: Store, experiment: str) -> bytes:
    """The journal as a Parquet file; ``arms`` and ``hit`` are labels as JSON text."""
    try:
        import polars as pl  # an extra, and slow to import
    except ImportError as error:
        raise MissingExtra(
            "Parquet needs polars; install it with: pip install 'linkedbandits[service]', or export jsonl"
        ) from error
    frames = [_frame(pl, events) for events in _pages(store, experiment)]
    written = io.BytesIO()
    pl.concat(frames).write_parquet(written)
    return written.getvalue()


def _pages(store: Store, experiment: str) -> Iterator[list[dict[str, Any]]]:
    """All events, in pages of ``EVENTS``; the last page may be empty."""
    page: list[dict[str, Any]] = []
    for event in _events(store, experiment):
        page.append(event)
        if len(page) == EVENTS:
            yield page
            page = []
    yield page


def _events(store: Store, experiment: str) -> Iterator[dict[str, Any]]:
    with store.reading() as tables:
        record = tables.record(experiment)
        log = None if record.setup.log is None else tables.log(experiment)
    labels = record.setup.arms
    if log is not None:
        yield from _events_of_log(WarmStart.from_json(log), labels, record.created_at)
    numbers = TupleNumbers()
    after = 0
    while True:
        with store.reading() as tables:
            entries = tables.entries(experiment, after, PAGE)
            asked = {
                entry.seq: numbers.spelled_out(tables, experiment, entry.body["runs"])
                for entry in entries
                if entry.kind == "ask"
            }
        for entry in entries:
            yield from _events_of(entry, asked.get(entry.seq, []), labels)
        if len(entries) < PAGE:
            return
        after = entries[-1].seq
        numbers.written()


def _events_of_log(log: WarmStart, labels: Sequence[Label], at: float) -> Iterator[dict[str, Any]]:
    same = {"seq": 0, "at": at, "kind": "log"}
    for order, hit, another_worked in log.plays(labels):
        receipt = {"receipt": "other"} if another_worked else {}
        yield {**same, "arms": order, "hit": hit, **receipt, "status": log.attempts}


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
        yield {**same, "status": upgrade_sentence(body["version"], body["plays"], body["others"])}
    else:
        goes_on = f"; goes on as {body['successor']}" if "successor" in body else ""
        if "why" in body:  # not in what was written by the first versions
            goes_on += f" ({body['why']})"
        yield {**same, "status": body["to"] + goes_on}


def _frame(pl: Any, events: list[dict[str, Any]]) -> polars.DataFrame:
    texts: dict[Label, str] = {}

    def text(label: Label) -> str | None:
        if label is None:
            return None
        return texts.get(label) or texts.setdefault(label, json.dumps(label))

    # Few distinct texts, kept once each.
    few = pl.Categorical
    schema = [pl.Int64, pl.Float64, few, pl.Int64, few, few, few, few, few]
    columns = {name: [event.get(name) for event in events] for name in COLUMNS}
    for name in ("arms", "rest", "hit"):
        columns[name] = [text(label) for label in columns[name]]
    frame: polars.DataFrame = pl.DataFrame(columns, schema=dict(zip(COLUMNS, schema, strict=True)))
    return frame
