"""The end of a journal: its time, its history, and what a snapshot has to write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.live.answers import SEGMENT
from linkedbandits.service.desk import Desk
from linkedbandits.service.journal_tail import JournalTail
from linkedbandits.service.records import Entry, HistoryPoint
from linkedbandits.service.tables import Tables
from tests.support.service_parts import SETUP, create


def test_time_in_a_journal_does_not_run_backwards(desk, clock, store):
    experiment = create(desk)
    desk.ask(experiment).result()
    clock.now -= 500
    assert desk.ask(experiment).result().expires_at == 560.0  # by the clock of who asks
    with store.reading() as tables:
        assert [entry.at for entry in tables.entries(experiment, 0)] == [1_000.0, 1_000.0]


def test_the_history_is_sparse_and_has_the_verdict(desk, clock, store):
    experiment = create(desk, policy={"name": "uniform-sampling", "parameters": {"samples": 10}})
    for step in range(10):
        clock.now += 0.3
        desk.tell(experiment, [(desk.ask(experiment).result().plays[0].id, None)]).result()
        assert desk.read(experiment, lambda hosted: hosted.experiment.done).result() == (step == 9)
    with store.reading() as tables:
        points = tables.history(experiment)
        assert tables.history(experiment, after=points[0].seq) == points[1:]
    assert points == [
        HistoryPoint(8, pytest.approx(1001.2), 4),
        HistoryPoint(16, pytest.approx(1002.4), 8),
        HistoryPoint(20, pytest.approx(1003.0), 10),
    ]


def test_a_long_history_stays_readable(desk, clock, store):
    experiment = create(desk, lease_seconds=1e6)
    clock.now += 1e5
    for _ in range(5):
        clock.now += 30
        desk.tell(experiment, [(desk.ask(experiment).result().plays[0].id, None)]).result()
    with store.reading() as tables:
        assert [point.plays for point in tables.history(experiment)] == [1, 3, 5]


def test_a_snapshot_rewrites_only_the_segments_that_changed(store, monkeypatch):
    monkeypatch.setattr("linkedbandits.live.answers.SEGMENT", 16)
    monkeypatch.setattr("linkedbandits.service.journal_tail.SEGMENT", 16)
    rewritten: list[list[int]] = []
    save = Tables.save_snapshot

    def spy(self, experiment, snapshot, answers):
        rewritten.append(list(answers))
        save(self, experiment, snapshot, answers)

    monkeypatch.setattr(Tables, "save_snapshot", spy)
    with Desk(store, snapshot_every=1) as desk:
        experiment = desk.create(SETUP, "x").result().id
        desk.ask(experiment, 40).result()
        desk.tell(experiment, [(0, None), (39, None)]).result()
        desk.abandon(experiment, [20]).result()
    assert rewritten == [[0, 1, 2], [0, 2], [1]]


times = st.floats(0, 1e9)


@given(created_at=times, moments=st.lists(times, max_size=20))
def test_entries_are_numbered_one_by_one_and_never_earlier_than_the_last(created_at, moments):
    tail = JournalTail(created_at)
    added = [tail.add("status", {"to": "running"}, now) for now in moments]
    assert [entry.seq for entry in added] == list(range(1, len(moments) + 1))
    last = created_at
    for entry, now in zip(added, moments, strict=True):
        assert entry.at == now if now >= last else entry.at >= last
        last = entry.at
    assert (tail.entries, tail.head) == (added, len(moments))


def test_where_the_clock_was_set_back_the_journal_goes_on_at_half_its_pace_until_it_has_caught_up():
    tail = JournalTail(0.0)
    moments = (100.0, 3_700.0, 110.0, 112.0, 132.0, 122.0, 124.0, 8_000.0)
    added = [tail.add("status", {"to": "running"}, now).at for now in moments]
    assert added == [100.0, 3_700.0, 3_700.0, 3_701.0, 3_711.0, 3_711.0, 3_712.0, 8_000.0]
    tail = JournalTail(1_000.0)
    tail.add("status", {"to": "running"}, 10.0)
    tail.follow(Entry(2, 1_005.0, "status", {"to": "running"}))  # what another wrote has taken its share of that time
    assert tail.add("status", {"to": "running"}, 30.0).at == 1_005.0


def test_what_waits_is_gone_when_it_is_written_and_the_numbers_go_on():
    tail = JournalTail(0.0)
    keyed = tail.add("ask", {"first": 0, "key": "k"}, 1.0)
    tail.add("tell", {"plays": [0]}, 2.0)
    tail.points.append(HistoryPoint(2, 2.0, 1))
    assert tail.keys == {"k": keyed}
    tail.written()
    assert (tail.entries, tail.keys, tail.points) == ([], {}, [])
    assert tail.add("tell", {"plays": [1]}, 1.5) == Entry(3, 2.0, "tell", {"plays": [1]})


def test_an_entry_of_another_process_is_followed_but_not_written_again():
    tail = JournalTail(0.0)
    tail.follow(Entry(7, 9.0, "status", {"to": "paused"}))
    assert (tail.head, tail.last_at, tail.entries) == (7, 9.0, [])


@given(st.lists(st.lists(st.integers(0, 5 * SEGMENT), max_size=4), max_size=4))
def test_a_snapshot_is_told_which_segments_were_touched_and_how_many_plays(touched):
    tail = JournalTail(0.0)
    for plays in touched:
        tail.touch(iter(plays))
    every = [play for plays in touched for play in plays]
    assert tail.segments == {play // SEGMENT for play in every}
    assert tail.plays_since_snapshot == len(every)
    tail.snapshot_saved()
    assert (tail.segments, tail.plays_since_snapshot) == (set(), 0)


steps = st.tuples(st.floats(0, 5_000), st.booleans())


@given(before=st.lists(steps, max_size=8), after=st.lists(steps, max_size=8))
def test_a_tail_from_a_snapshot_goes_on_as_the_one_that_was_never_away(before, after):
    """The same numbers, times and points of history."""

    def go_on(tail, moments):
        told = [(tail.add("tell", {"plays": []}, tail.last_at + later), done) for later, done in moments]
        return [(entry, tail.history_point(entry, entry.seq, done)) for entry, done in told]

    there = JournalTail(100.0)
    go_on(there, before)
    back = JournalTail(100.0)
    back.fill(there.head, json.loads(json.dumps(there.to_json())))
    assert go_on(back, after) == go_on(there, after)


def test_points_of_the_history_are_a_second_apart_or_a_share_of_the_age():
    tail = JournalTail(0.0)

    def is_point(now):
        return tail.history_point(tail.add("tell", {"plays": []}, now), 1, done=False) is not None

    assert [is_point(now) for now in (0.5, 1.0, 1.75, 2.0)] == [False, True, False, True]
    assert [is_point(now) for now in (20_000.0, 20_009.0, 20_011.0)] == [True, False, True]  # ten seconds by then
