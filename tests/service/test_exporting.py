"""The journal, line by line and as a table."""

from __future__ import annotations

import io
import json
import sys

import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import COLUMNS, journal_lines, journal_parquet
from linkedbandits.service.records import Setup
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
@pytest.mark.parametrize("events", [1, 3, 7, 1000])
def test_the_table_says_what_the_lines_say_whatever_the_pages(store, experiment, monkeypatch, page, events):
    monkeypatch.setattr("linkedbandits.service.exporting.PAGE", page)
    monkeypatch.setattr("linkedbandits.service.exporting.EVENTS", events)
    table = pl.read_parquet(io.BytesIO(journal_parquet(store, experiment)))
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
    assert pl.read_parquet(io.BytesIO(journal_parquet(store, experiment))).shape == (0, len(COLUMNS))


def test_an_unknown_experiment_has_no_journal(store):
    with pytest.raises(lb.UnknownExperiment):
        list(journal_lines(store, "nobody"))


def test_without_polars_the_extra_is_named(store, experiment, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[service\]"):
        journal_parquet(store, experiment)
