"""The store in a file: on the disk, the file that was opened, and nothing left open."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store import open_store
from tests.support.connections import check_that_all_were_closed, is_open
from tests.support.store_contract import FIRST
from tools.waiting import SECONDS


def test_every_commit_is_on_the_disk_before_it_is_reported(tmp_path):
    store = SqliteStore(tmp_path / "a.sqlite")
    with store.writing() as tables:
        pragma = {
            name: tables._rows(f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    assert pragma == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    store.close()


def test_a_file_that_is_no_store_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("no database at all, but long enough to be looked at " * 100)
    with pytest.raises(lb.DamagedSave, match=r"notes\.txt is damaged, or no SQLite file .* name another file"):
        open_store(str(tmp_path / "notes.txt"))
    with pytest.raises(lb.StoreUnavailable, match="unable to open"):
        open_store(str(tmp_path / "no folder" / "a.sqlite"))


def test_a_file_that_is_no_store_is_not_kept_open(tmp_path, connections):
    (tmp_path / "notes.txt").write_text("no database at all, but long enough to be looked at " * 100)
    with pytest.raises(lb.DamagedSave):
        open_store(str(tmp_path / "notes.txt"))
    check_that_all_were_closed(connections)


def test_a_reader_that_cannot_be_prepared_is_not_kept_open(tmp_path, connections, monkeypatch):
    def fail(connection):
        raise sqlite3.OperationalError("disk I/O error")

    with closing(SqliteStore(tmp_path / "a.sqlite")) as store:
        monkeypatch.setattr("linkedbandits.service.sqlite_store._keep_a_log", fail)
        with pytest.raises(lb.StoreUnavailable, match="disk I/O error"), store.reading():
            pass
        assert [is_open(connection) for connection in connections] == [True, False]


def replace_by_another(path):
    SqliteStore(path.with_name("other.sqlite")).close()
    path.with_name("other.sqlite").rename(path)


@pytest.mark.parametrize("change", [lambda path: None, replace_by_another], ids=["removed", "replaced"])
def test_a_file_that_is_not_the_one_opened_is_neither_written_nor_read(tmp_path, change):
    """SQLite would go on with a file that its path no longer leads to."""
    path = tmp_path / "a.sqlite"
    store = SqliteStore(path)
    with store.writing() as tables:
        tables.create(FIRST)
    path.rename(tmp_path / "away.sqlite")
    change(path)
    there = sorted(tmp_path.iterdir())
    for use in (store.reading, store.writing):
        with pytest.raises(lb.StoreUnavailable, match=r"removed or replaced .* restart the service"), use():
            pass
    assert sorted(tmp_path.iterdir()) == there
    (tmp_path / "away.sqlite").rename(path)
    with store.reading() as tables:
        assert tables.records() == [FIRST]
    store.close()


def test_no_connection_but_the_first_makes_a_file(tmp_path, monkeypatch):
    """A file may be removed just after it was looked for."""
    store = SqliteStore(tmp_path / "a.sqlite")
    monkeypatch.setattr(SqliteStore, "_check_file", lambda self: None)
    for path in tmp_path.iterdir():
        path.unlink()
    with pytest.raises(lb.StoreUnavailable, match="unable to open"), store.reading():
        pass
    assert list(tmp_path.iterdir()) == []
    store.close()


@pytest.mark.parametrize("name", ["a b.sqlite", "50%.sqlite", "what?mode=memory#x", "ü.sqlite"])
def test_a_file_may_have_any_name(tmp_path, name):
    store = SqliteStore(tmp_path / name)
    with store.reading() as tables:
        assert tables.records() == []
    assert (tmp_path / name).exists()
    store.close()


def test_a_file_locked_for_too_long_is_unavailable(tmp_path, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.sqlite_store.WAIT_SECONDS", 0.05)
    store = SqliteStore(tmp_path / "a.sqlite")
    other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(lb.StoreUnavailable, match="database is locked"), store.writing():
        pass
    other.execute("ROLLBACK")
    other.close()
    with store.writing() as tables:
        assert tables.records() == []
    store.close()


def test_a_new_file_that_another_process_is_preparing_is_waited_for(tmp_path, monkeypatch):
    """SQLite itself does not wait where a write-ahead log is switched on."""
    found_busy, may_go_on = threading.Event(), threading.Event()

    def sleep(_):
        found_busy.set()
        assert may_go_on.wait(SECONDS)

    waiting = SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0)
    monkeypatch.setattr("linkedbandits.service.sqlite_store.time", waiting)
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as other, ThreadPoolExecutor(1) as pool:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE something (x)")
        opening = pool.submit(SqliteStore, tmp_path / "a.sqlite")
        assert found_busy.wait(SECONDS)
        other.execute("COMMIT")
        may_go_on.set()
        opening.result().close()


def test_a_new_file_that_another_process_never_leaves_alone_is_given_up(tmp_path, monkeypatch):
    now = [0.0]

    def sleep(seconds):
        assert now[-1] < 100, "it goes on for ever"
        now.append(now[-1] + 10 * seconds)

    waiting = SimpleNamespace(sleep=sleep, monotonic=lambda: now[-1])
    monkeypatch.setattr("linkedbandits.service.sqlite_store.time", waiting)
    with closing(sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE something (x)")
        with pytest.raises(lb.StoreUnavailable, match="database is locked"):
            SqliteStore(tmp_path / "a.sqlite")
    assert now[-1] == pytest.approx(10, abs=0.2)  # on a clock of its own, that the test moves


def test_readers_one_after_the_other_share_a_connection_and_two_at_once_do_not(tmp_path, connections):
    with closing(SqliteStore(tmp_path / "a.sqlite")) as store:
        for _ in range(3):
            with store.reading() as tables:
                tables.ping()
        assert len(connections) == 2  # the writer's, and one
        with store.reading() as one, store.reading() as other:
            one.ping()
            other.ping()
        assert len(connections) == 3
    check_that_all_were_closed(connections)


def test_a_reader_that_outlives_its_store_is_closed_when_it_ends(tmp_path, connections):
    store = SqliteStore(tmp_path / "a.sqlite")
    with store.reading() as tables:
        store.close()
        assert tables.records() == []
    check_that_all_were_closed(connections)


def rights(folder):
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("usual_umask")
def test_a_new_store_is_its_owners_alone(tmp_path, caplog):
    """With it its log and what belongs to that: answers are in them before they are in the file."""
    with closing(SqliteStore(tmp_path / "a.sqlite")) as store, store.writing() as tables:
        tables.create(FIRST)
        assert rights(tmp_path) == dict.fromkeys(("a.sqlite", "a.sqlite-wal", "a.sqlite-shm"), 0o600)
    SqliteStore(tmp_path / "a.sqlite").close()
    assert caplog.messages == []


@pytest.mark.usefixtures("usual_umask")
def test_the_rights_of_a_file_that_is_there_are_left_and_warned_of(tmp_path, caplog):
    path = tmp_path / "a b.sqlite"
    path.touch(0o644)
    with closing(SqliteStore(path)) as store, store.writing() as tables:
        tables.create(FIRST)
        assert set(rights(tmp_path).values()) == {0o644}
    (said,) = caplog.messages
    assert "other users of this machine may use the store" in said
    assert said.endswith(f"say: chmod 600 '{path}'*")


@pytest.mark.usefixtures("usual_umask")
def test_the_remedy_for_rights_is_one(tmp_path, caplog):
    path = tmp_path / "a b.sqlite"
    path.touch(0o644)
    SqliteStore(path).close()
    subprocess.run(["bash", "-c", caplog.messages[0].partition("say: ")[2]], check=True, timeout=SECONDS)
    caplog.clear()
    SqliteStore(path).close()
    assert caplog.messages == []


def test_a_file_that_is_no_store_is_left_as_it_is(tmp_path):
    path = tmp_path / "a.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(lb.InvalidParameter, match="there is no store in"):
        SqliteStore(path, create=False)
    assert path.read_bytes() == before
    path.write_text("no database at all, and long enough to be seen as such " * 100)
    with pytest.raises(lb.DamagedSave, match="not a database"):
        SqliteStore(path, create=False)


def test_a_disk_whose_room_is_not_known_is_no_reason_not_to_be_ready(tmp_path, monkeypatch):
    with closing(SqliteStore(tmp_path / "a.sqlite")) as store:
        monkeypatch.delattr("os.statvfs")  # as on Windows

        def fail(_):
            raise OSError("not known here")

        monkeypatch.setattr("shutil.disk_usage", fail)
        store.probe()
