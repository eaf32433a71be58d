"""Experiments that are deleted: gone at once for everybody, and then from every table."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing

import pytest

import linkedbandits as lb
from linkedbandits.service import deletion, tables, webhook_keeping
from linkedbandits.service.audit import SERVICE, Actor
from linkedbandits.service.deletion import erase_all, hide
from linkedbandits.service.desk import Desk
from linkedbandits.service.scopes import Scope
from linkedbandits.service.store import open_store
from linkedbandits.service.store_errors import DamagedRecord
from linkedbandits.service.succession import succeed
from linkedbandits.service.tokens import make_token
from linkedbandits.service.webhooks import make_webhook
from tests.support.service_parts import create, in_one_group, state_of
from tools.waiting import SECONDS, join, until


def played(desk, plays=40):
    experiment = create(desk)
    asked = desk.ask(experiment, plays, key="k").result().plays
    told = [desk.tell(experiment, [(play.id, play.arms[0])]) for play in asked]
    told[-1].result()  # so none of them holds the experiment any more
    return experiment


def rows_of(store, experiment):
    """How many rows each table has of an experiment."""
    with store.reading() as reading:
        found = {
            table: reading._rows(f"SELECT COUNT(*) FROM {table} WHERE experiment = ?", experiment)[0][0]
            for table in tables.PARTS
        }
        found["experiments"] = reading._rows("SELECT COUNT(*) FROM experiments WHERE id = ?", experiment)[0][0]
    return found


def test_it_is_gone_at_once_and_then_from_every_table(each_store, monkeypatch):
    monkeypatch.setattr(deletion, "ROWS_A_STEP", 7)
    with Desk(each_store, snapshot_every=10) as desk:
        experiment, other = played(desk), played(desk)
        with pytest.raises(lb.WrongState, match="archive it first"):
            desk.delete(experiment).result()
        desk.set_status(experiment, "archived").result()
        assert all(rows_of(each_store, experiment)[table] for table in ("journal", "tuples", "snapshots", "answers"))
        before = state_of(desk, other), rows_of(each_store, other)
        desk.delete(experiment).result()
        for call in (desk.record(experiment), desk.ask(experiment), desk.read(experiment, lambda _: 0)):
            with pytest.raises(lb.UnknownName):
                call.result()
        with pytest.raises(lb.UnknownName):
            desk.delete(experiment).result()
        assert [record.id for record in desk.records().result()] == [other]
        steps = 0
        while (rows := desk.erase().result()) > 0:
            steps += 1
            assert rows <= 7
        assert steps > 5
        assert set(rows_of(each_store, experiment).values()) == {0}
        assert (state_of(desk, other), rows_of(each_store, other)) == before


def test_every_table_with_rows_of_experiments_is_known(store, tmp_path):
    """A table that a later step brings must not be forgotten when experiments are deleted."""
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as file:
        names = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()]
        columns = {name: {row[1] for row in file.execute(f"PRAGMA table_info({name})").fetchall()} for name in names}
    assert {name for name in names if "experiment" in columns[name]} == tables.PARTS.keys()
    assert all(key in columns[table] for table, key in tables.PARTS.items())


def test_by_force_one_that_runs_is_deleted_and_who_asks_in_the_same_moment_is_answered(store):
    with Desk(store) as desk:
        experiment, other = played(desk), played(desk)

        def submit():
            return [desk.ask(experiment), desk.delete(experiment, force=True), desk.ask(experiment), desk.ask(other)]

        asked, deleted, also, elsewhere = in_one_group(desk, other, submit)
        assert (len(asked.plays), deleted, len(also.plays), len(elsewhere.plays)) == (1, None, 1, 1)
        with pytest.raises(lb.UnknownName):
            desk.ask(experiment).result()
        while desk.erase().result():
            pass
    assert set(rows_of(store, experiment).values()) == {0}


def test_another_desk_that_had_it_open_notices(store_url):
    with closing(open_store(store_url)) as one, closing(open_store(store_url)) as two, Desk(one) as here:
        with Desk(two) as there:
            experiment = played(here)
            state_of(there, experiment)
            there.tell(experiment, [(0, None)]).result()
            with one.writing() as writing:
                hide(writing, experiment, True, SERVICE, 1.0)
            assert erase_all(one) > 0
            with pytest.raises(lb.UnknownName):
                there.ask(experiment).result()
            assert there.expire().result() == 0
            assert there.figures().plays_in_flight == 0  # nothing of it is kept in memory
        assert set(rows_of(one, experiment).values()) == {0}


def test_to_delete_it_is_not_opened(store, monkeypatch):
    """To replay a long journal would keep everybody waiting."""
    with Desk(store) as desk:
        experiment = played(desk)
    monkeypatch.setattr("linkedbandits.service.groups.HostedExperiment.open", None)
    with Desk(store) as desk:
        desk.delete(experiment, force=True).result()
        assert desk.records().result() == []


def test_a_damaged_one_can_be_deleted(store):
    with Desk(store) as desk:
        experiment = played(desk)
        desk.set_status(experiment, "archived").result()
    with store.writing() as writing:
        writing._run("UPDATE experiments SET setup = '{' WHERE id = ?", experiment)
    with Desk(store) as desk:
        desk.delete(experiment).result()
        assert desk.records().result() == []


def test_who_may_see_it_alone_goes_on_to_see_what_goes_on_from_it(store):
    with Desk(store) as desk:
        first = create(desk)
        second = succeed(store, desk, first, None, False, "why").id
        third = succeed(store, desk, second, None, False, "why").id
        _, token = make_token("web", "player", lambda: 1.0, Scope(frozenset({first})))
        _, stranger = make_token("x", "player", lambda: 2.0, Scope(frozenset({"elsewhere"})))
        with store.writing() as writing:
            writing.add_token(token)
            writing.add_token(stranger)
        for gone in (second, first):
            desk.delete(gone, force=True).result()
    with store.reading() as reading:
        kept, other = reading.tokens()
        assert kept.scope.covers(third, lambda one: deletion.line_of(reading, one))
    assert other == stranger


def test_its_webhooks_go_with_it_and_what_waits_for_them(each_store):
    """A trial message is of no experiment: what is erased by experiment leaves it."""
    boss = Actor("token", "t1", "boss")
    with Desk(each_store) as desk:
        experiment, other = create(desk), create(desk)
        here, elsewhere = (
            make_webhook("https://example.org/", experiment=one, clock=lambda: 1.0) for one in (experiment, other)
        )
        for webhook in (here, elsewhere):
            webhook_keeping.keep(each_store, webhook, boss)
            webhook_keeping.put_trial(each_store, webhook.id, 2.0)
        desk.delete(experiment, force=True, by=boss).result()
        with each_store.reading() as reading:
            assert reading.webhooks() == [elsewhere]
            assert reading.deliveries(here.id, 9) == []
            assert reading.outbox_counts().waiting == 1
            (entry,) = reading.audit(9, action="webhook-delete")
    assert (entry.subject, entry.by, entry.details) == (here.id, boss, {"experiment": experiment})


def test_a_token_that_sees_more_is_in_the_audit(store):
    boss = Actor("token", "t1", "boss")
    with Desk(store) as desk:
        first = create(desk)
        second = succeed(store, desk, first, None, False, "why").id
        _, token = make_token("web", "player", lambda: 1.0, Scope(frozenset({first})))
        with store.writing() as writing:
            writing.add_token(token)
        desk.delete(first, force=True, by=boss).result()
    with store.reading() as reading:
        (entry,) = reading.audit(9, action="token-widen")
    assert (entry.subject, entry.by) == (token.id, boss)
    assert entry.details == {"name": "web", "experiments": [second], "deleted": first}


def test_two_deletions_at_once_both_let_a_token_see_more(postgres_url):
    """The second waits for the first, and sees what it has written."""
    with closing(open_store(postgres_url)) as one, closing(open_store(postgres_url)) as two:
        with Desk(one) as desk:
            firsts = [create(desk), create(desk)]
            following = [succeed(one, desk, first, None, False, "why").id for first in firsts]
        _, token = make_token("web", "player", lambda: 1.0, Scope(frozenset(firsts)))
        with one.writing() as writing:
            writing.add_token(token)

        def delete_the_second():
            with two.writing() as writing:
                hide(writing, firsts[1], True, SERVICE, 2.0)

        deleting = threading.Thread(target=delete_the_second)
        with one.writing() as writing:
            hide(writing, firsts[0], True, SERVICE, 1.0)
            deleting.start()
            waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            until(lambda: writing._rows(waiting), "the second deletion to wait")
        join(deleting)
        with one.reading() as reading:
            (kept,) = reading.tokens()
    assert kept.scope.experiments == {*firsts, *following}


def test_the_store_gives_the_room_back(store, tmp_path):
    with Desk(store) as desk:
        experiment = create(desk)
        for _ in range(5):
            plays = desk.ask(experiment, 1_000).result().plays
            desk.tell(experiment, [(play.id, None) for play in plays]).result()
        desk.delete(experiment, force=True).result()
    erase_all(store)
    before, after = store.compact()
    assert after < before - 20_000
    assert (tmp_path / "a.sqlite").stat().st_size == after
    with store.reading() as reading:
        assert reading.records() == []


def test_one_that_somebody_holds_is_erased_later_and_the_others_now(postgres_url):
    """However it is held: its own row, or one that is left of it. Nobody waits for that."""
    with closing(open_store(postgres_url)) as store, closing(open_store(postgres_url)) as elsewhere:
        with Desk(store) as desk:
            names = sorted(played(desk) for _ in range(3))
            for name in names:
                desk.delete(name, force=True).result()
            with elsewhere.writing() as held:
                assert held.next_hidden() == names[0]
                held._rows("SELECT seq FROM journal WHERE experiment = ? FOR UPDATE", names[1])
                erasing = deletion.Erasing()
                while desk.erase(erasing).result(SECONDS):
                    pass
                assert erasing.left == {names[1]}
            assert set(rows_of(store, names[2]).values()) == {0}
            while desk.erase().result(SECONDS):
                pass
        assert set(rows_of(store, names[0]).values()) == set(rows_of(store, names[1]).values()) == {0}


def test_damaged_pages_of_one_keep_no_other_from_being_erased(store, monkeypatch):
    with Desk(store) as desk:
        names = sorted(played(desk) for _ in range(3))
        for name in names:
            desk.delete(name, force=True).result()
    whole = tables.Tables._erase

    def erase(self, hidden, most):
        if hidden == names[0]:
            raise DamagedRecord("a bad page")
        return whole(self, hidden, most)

    monkeypatch.setattr(tables.Tables, "_erase", erase)
    with pytest.raises(lb.DamagedSave, match="a bad page"):
        erase_all(store)
    assert [rows_of(store, name)["experiments"] for name in names] == [1, 0, 0]


def test_what_was_deleted_cannot_be_read_in_the_file_any_more(tmp_path, monkeypatch):
    """Also with a SQLite that leaves it there by default."""
    connect = sqlite3.connect

    def connect_carelessly(*given, **more):
        connection = connect(*given, **more)
        connection.execute("PRAGMA secure_delete = OFF")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_carelessly)
    path = tmp_path / "experiments.sqlite3"
    with closing(open_store(str(path))) as store, Desk(store) as desk:
        experiment = create(desk, arms=["north", "a secret provider"])
    assert b"a secret provider" in path.read_bytes()
    with closing(open_store(str(path))) as store:
        with store.writing() as writing:
            hide(writing, experiment, True, SERVICE, 1.0)
        erase_all(store, lambda rows: None)
    assert b"a secret provider" not in path.read_bytes()
