"""The journal, line by line and as a table."""

from __future__ import annotations

import io
import json
import sys
import tracemalloc

import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits.service import exporting
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import COLUMNS, journal_lines, write_parquet
from linkedbandits.service.records import Setup
from linkedbandits.service.tables import Tables
from tests.support.service_parts import ManualClock


@pytest.fixture
def experiment(store):
    setup = Setup(("a", 1, 2.5), {"name": "linked-elimination", "parameters": {"delta": 0.05}})
    with Desk(store, clock=ManualClock(50.0)) as desk:
        experiment = desk.create(setup, "export").result().id
        desk.ask(experiment, 3).result()
        desk.tell(experiment, [(0, 1), (1, None)]).result()
        desk.abandon(experiment, [2]).result()
        desk.set_status(experiment, "paused").result()
    return experiment


def lines(store, experiment) -> list[dict[str, object]]:
    return [json.loads(line) for line in "".join(journal_lines(store, experiment)).splitlines()]


def table_of(store, experiment) -> pl.DataFrame:
    written = io.BytesIO()
    write_parquet(store, experiment, written)
    return pl.read_parquet(io.BytesIO(written.getvalue()))


def test_lines(store, experiment):
    arms = ["a", 1, 2.5]
    assert lines(store, experiment) == [
        {"seq": 1, "at": 50.0, "kind": "ask", "play": 0, "arms": arms},
        {"seq": 1, "at": 50.0, "kind": "ask", "play": 1, "arms": arms},
        {"seq": 1, "at": 50.0, "kind": "ask", "play": 2, "arms": arms},
        {"seq": 2, "at": 50.0, "kind": "tell", "play": 0, "hit": 1, "receipt": "counted"},
        {"seq": 2, "at": 50.0, "kind": "tell", "play": 1, "hit": None, "receipt": "counted"},
        {"seq": 3, "at": 50.0, "kind": "abandon", "play": 2},
        {"seq": 4, "at": 50.0, "kind": "status", "status": "paused"},
    ]


@pytest.mark.parametrize("page", [1, 2, 4, 1000])
@pytest.mark.parametrize("rows", [1, 3, 7, 1000])
def test_the_table_says_what_the_lines_say_whatever_the_pages(store, experiment, monkeypatch, page, rows):
    monkeypatch.setattr("linkedbandits.service.exporting.PAGE", page)
    monkeypatch.setattr("linkedbandits.service.exporting.ROWS", rows)
    monkeypatch.setattr("linkedbandits.service.exporting.TEXT", 10 * rows)
    table = table_of(store, experiment)
    assert table.columns == list(COLUMNS)
    rows = [
        {
            name: json.loads(value) if name in ("arms", "hit") else value
            for name, value in row.items()
            if value is not None
        }
        for row in table.to_dicts()
    ]
    assert rows == [
        {name: value for name, value in line.items() if value is not None} for line in lines(store, experiment)
    ]


def test_an_empty_journal_is_an_empty_table(store):
    setup = Setup(("a", "b"), {"name": "linked-elimination", "parameters": {"delta": 0.05}})
    with Desk(store) as desk:
        experiment = desk.create(setup, "empty").result().id
    assert lines(store, experiment) == []
    assert table_of(store, experiment).shape == (0, len(COLUMNS))


def test_an_unknown_experiment_has_no_journal(store):
    with pytest.raises(lb.UnknownName):
        list(journal_lines(store, "nobody"))


def test_without_polars_the_extra_is_named(store, experiment, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[service\]"):
        write_parquet(store, experiment, io.BytesIO())


def long_journal(store, arms=("a", "b"), asks=40, plays=250, **changes) -> str:
    setup = Setup(arms, {"name": "linked-elimination", "parameters": {"delta": 0.05}}, **changes)
    with Desk(store) as desk:
        experiment = desk.create(setup, "long").result().id
        for asked in [desk.ask(experiment, plays) for _ in range(asks)]:
            asked.result()
    return experiment


def test_a_table_is_written_while_the_journal_is_read(store, monkeypatch):
    """Before, all of it was in memory before the first byte was written."""
    for name, value in (("PAGE", 2), ("ROWS", 500), ("ROW_GROUP", 500)):
        monkeypatch.setattr(f"linkedbandits.service.exporting.{name}", value)
    experiment, happened = long_journal(store), []
    entries = Tables.entries
    monkeypatch.setattr(Tables, "entries", lambda *of: happened.append("read") or entries(*of))

    class Written(io.BytesIO):
        def write(self, content):
            happened.append("write")
            return super().write(content)

    written = Written()
    write_parquet(store, experiment, written)
    reads = [place for place, what in enumerate(happened) if what == "read"]
    assert len(reads) == 21
    assert "write" in happened[: reads[15]]
    table = pl.read_parquet(io.BytesIO(written.getvalue()))
    assert table["play"].to_list() == list(range(10_000))


def test_groups_of_rows_are_smaller_where_labels_are_long(store, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.exporting.GROUP_BYTES", 100_000)
    groups = []
    frame = exporting._frame
    monkeypatch.setattr(exporting, "_frame", lambda *of: groups.append(len(of[-1])) or frame(*of))
    arms = tuple(f"{number}" * 200 for number in range(10, 60))
    table_of(store, long_journal(store, arms, asks=2, plays=20))
    assert max(groups) == 100_000 // (len(json.dumps(arms)) + 100) == 4


def test_lines_take_no_more_memory_the_longer_they_are(store):
    """A thousand plays with every arm spelled out are 20 MB; they were all in memory at once."""
    experiment = long_journal(store, tuple(f"{number:02d}" * 100 for number in range(100)), asks=4)
    next(journal_lines(store, experiment))  # what is imported and kept on the way
    tracemalloc.start()
    size = sum(len(text) for text in journal_lines(store, experiment))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 20_000_000
    assert peak < 5_000_000
