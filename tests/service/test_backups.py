"""Backups: complete while others write, and brought back into either kind of store."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing

import psycopg
import pytest

import linkedbandits as lb
from linkedbandits.service import backups
from linkedbandits.service.audit import Actor
from linkedbandits.service.backups import back_up, examine, restore
from linkedbandits.service.desk import Desk
from linkedbandits.service.migrations import SCHEMA_VERSION
from linkedbandits.service.owner_tables import ServerRecord
from linkedbandits.service.scopes import EVERYTHING, Scope
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import make_token
from linkedbandits.service.webhooks import make_webhook
from linkedbandits.version import __version__
from tests.support.old_store import EXPECTED, make_old_store
from tests.support.service_parts import create, state_of
from tools import kill_rounds
from tools.kill_rounds import Nursery, Reported, Worker
from tools.waiting import join, killed_in_the_end, until

ME = Actor("command-line", name="me")


def played(url, plays=30):
    """A store with an experiment that was played; its identifier and its state."""
    with closing(open_store(url)) as store, Desk(store) as desk:
        experiment = create(desk)
        asked = desk.ask(experiment, plays).result().plays
        for start in range(0, len(asked), 10):
            desk.tell(experiment, [(play.id, play.arms[0]) for play in asked[start : start + 10]]).result()
        return experiment, state_of(desk, experiment)


def state_in(url, experiment):
    with closing(open_store(url)) as store, Desk(store) as desk:
        return state_of(desk, experiment)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "backup.sqlite3"


@pytest.mark.slow
def test_what_was_acknowledged_before_a_backup_began_is_in_it_whatever_happens_then(
    store_url, postgres_url, tmp_path, file
):
    """With four threads that go on while it is written, and a kill after it; restored into both kinds of store."""
    with closing(open_store(store_url)) as store:
        experiment, reported = kill_rounds.create(store), Reported()
    with Nursery() as nursery:
        working = [Worker(experiment, 1, killed_after=10**9)]
        others = threading.Thread(target=nursery.run, args=(store_url, working, reported))
        others.start()
        until(lambda: len(reported.told) > 100, "some answers")
        before = Reported(list(reported.asked), dict(reported.told))
        back_up(store_url, file)
        assert others.is_alive(), "nothing was going on while the backup was written"
        told = len(reported.told)
        until(lambda: len(reported.told) > told, "an answer after the backup")
        nursery.kill_workers()
        join(others)
    targets = [str(tmp_path / "again.sqlite3")]
    if not store_url.startswith("postgresql"):
        targets.append(postgres_url)
    for target in targets:
        restore(file, target, ME, 1.0)
        with closing(open_store(target)) as restored:
            answers = kill_rounds.check(restored, experiment, before)
        assert len(before.told) <= answers < len(reported.told)


def test_a_backup_is_of_one_moment_and_is_not_kept_from_its_end_by_those_who_write(tmp_path, file, monkeypatch):
    """A copy by pages begins anew when another connection has written: here one does after every page."""
    monkeypatch.setattr(backups, "PAGES_A_STEP", 1)
    url = str(tmp_path / "store.sqlite3")
    experiment, before = played(url)
    steps = []
    with closing(open_store(url)) as store, Desk(store) as desk:

        def write(*_):
            steps.append(desk.ask(experiment).result())
            assert len(steps) < 500, "it began anew after every step"

        back_up(url, file, advance=write)
    assert len(steps) > 10
    assert state_in(str(file), experiment) == before


def test_it_goes_from_either_kind_of_store_to_either_with_tokens_and_audit(
    store_url, postgres_url, tmp_path, file, caplog
):
    experiment, before = played(store_url)
    _, plain = make_token("ops", "admin", lambda: 1.0)
    _, limited = make_token("web", "player", lambda: 2.0, Scope(frozenset({experiment})))
    with closing(open_store(store_url)) as store, store.writing() as tables:
        tables.add_token(plain)
        tables.add_token(limited)
    written = back_up(store_url, file)
    assert (written.experiments, written.tokens, written.schema) == ({"running": 1}, 2, SCHEMA_VERSION)
    target = str(tmp_path / "again.sqlite3") if store_url.startswith("postgresql") else postgres_url
    found = restore(file, target, ME, 5.0).contents
    assert (found.experiments, found.journal_entries, found.tokens) == ({"running": 1}, written.journal_entries, 2)
    assert state_in(target, experiment) == before
    with closing(open_store(target)) as store, store.reading() as tables:
        assert tables.tokens() == [plain, limited]
        actions = [(entry.action, entry.by) for entry in tables.audit(10)]
    assert ("restore", ME) in actions
    assert [action for action, _ in actions].count("create") == 1
    assert caplog.records == []  # nothing that others could read was made on the way


def test_a_backup_is_for_its_owner_alone_one_file_and_a_store_itself(tmp_path, file):
    experiment, before = played(str(tmp_path / "store.sqlite3"))
    mask = os.umask(0)
    try:
        back_up(str(tmp_path / "store.sqlite3"), file)
    finally:
        os.umask(mask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir() if "backup" in path.name) == ["backup.sqlite3"]
    assert state_in(str(file), experiment) == before


def test_a_store_of_an_earlier_schema_is_backed_up_as_it_is_and_restored_as_it_should_be(store_url, tmp_path, file):
    """So that one can take a backup with the new version before it changes anything."""
    make_old_store(store_url)
    assert back_up(store_url, file).schema == 1
    assert version_in(store_url) == 1
    found = restore(file, str(tmp_path / "again.sqlite3"), ME, 1.0).contents
    assert (found.schema, sum(found.experiments.values())) == (SCHEMA_VERSION, len(EXPECTED))
    assert examine(file).schema == 1


def version_in(url):
    statement = "SELECT version FROM schema_version"
    if url.startswith("sqlite:///"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as opened:
            return opened.execute(statement).fetchone()[0]
    with psycopg.connect(url) as opened:
        return opened.execute(statement.replace("FROM ", "FROM linkedbandits.")).fetchone()[0]


def test_a_later_schema_is_refused_with_the_version_to_install(store_url, tmp_path, file):
    played(store_url)
    with closing(open_store(store_url)) as store, store.writing() as tables:
        tables._run("UPDATE schema_version SET version = ?, library = '7.1.0'", SCHEMA_VERSION + 1)
    with pytest.raises(lb.DamagedSave, match=r"upgrade linkedbandits to 7\.1\.0 or later"):
        back_up(store_url, file)
    assert list(tmp_path.glob(".backup*")) == []
    assert __version__ != "7.1.0"


def test_a_store_that_is_not_empty_is_refused_or_replaced(store_url, tmp_path, file):
    source = str(tmp_path / "source.sqlite3")
    experiment, before = played(source)
    back_up(source, file)
    other, its_state = played(store_url)
    with pytest.raises(lb.InvalidParameter, match=r"not empty.*--replace"):
        restore(file, store_url, ME, 1.0)
    assert state_in(store_url, other) == its_state
    kept = restore(file, store_url, ME, 1.0, replace=True).kept
    assert state_in(store_url, experiment) == before
    with closing(open_store(store_url)) as store, store.reading() as tables, pytest.raises(lb.UnknownName):
        tables.record(other)
    if store_url.startswith("sqlite"):
        assert kept == tmp_path / "experiments.sqlite.before-restore"
        again = restore(file, store_url, ME, 1.0, replace=True).kept
        assert again == tmp_path / "experiments.sqlite.before-restore-2"
        assert state_in(str(kept), other) == its_state
        assert state_in(str(again), experiment) == before
    else:
        assert kept is None


def test_a_store_in_use_is_refused(store_url, tmp_path, file):
    from tests.support.running_service import running_service  # the web framework takes long to import

    played(store_url)
    back_up(store_url, file)
    with running_service(store_url) as service:
        if store_url.startswith("postgresql"):
            until(lambda: signs_of_life(service.store), "the service's sign of life")
        with pytest.raises(lb.StoreUnavailable, match="stop the services that use it first"):
            restore(file, store_url, ME, 1.0, replace=True)
        with service.store.reading() as tables:
            assert len(tables.records()) == 1
    assert list(tmp_path.glob(".*.partial*")) == []
    restore(file, store_url, ME, 1.0, replace=True)


def signs_of_life(store):
    with store.owning() as tables:
        return tables.alive()


def test_a_transaction_under_way_keeps_a_database_from_being_replaced(postgres_url, file, monkeypatch):
    played(postgres_url)
    back_up(postgres_url, file)
    with closing(open_store(postgres_url)) as store:
        with store.writing() as tables, monkeypatch.context() as impatient:
            tables.write_in_passing()
            impatient.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", 0.1)
            with pytest.raises(lb.StoreUnavailable, match="end the transaction that holds the lock"):
                restore(file, postgres_url, ME, 1.0, replace=True)
        restore(file, postgres_url, ME, 1.0, replace=True)


def test_an_empty_store_is_restored_into(store_url, tmp_path, file):
    source = str(tmp_path / "source.sqlite3")
    experiment, before = played(source)
    back_up(source, file)
    open_store(store_url).close()
    restore(file, store_url, ME, 1.0)
    assert state_in(store_url, experiment) == before
    (tmp_path / "cut.sqlite3").touch()
    restore(file, str(tmp_path / "cut.sqlite3"), ME, 1.0)
    assert state_in(str(tmp_path / "cut.sqlite3"), experiment) == before


def test_a_copy_by_hand_of_a_store_in_use_is_recognised(tmp_path, file):
    url = str(tmp_path / "store.sqlite3")
    with closing(open_store(url)):
        shutil.copy(url, file)
    with pytest.raises(lb.CannotRead, match=r"copied by hand.*'linkedbandits backup'"):
        restore(file, str(tmp_path / "again.sqlite3"), ME, 1.0)


def test_what_is_damaged_is_refused_and_nothing_is_changed(tmp_path, file):
    url = str(tmp_path / "store.sqlite3")
    played(url, plays=400)
    back_up(url, file)
    content = bytearray(file.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 8192] = bytes(8192)
    file.write_bytes(content)
    with pytest.raises(lb.CannotRead, match=r"another backup|and whole"):
        restore(file, str(tmp_path / "again.sqlite3"), ME, 1.0)
    assert not (tmp_path / "again.sqlite3").exists()


def damage(path, start, size=8192):
    content = bytearray(path.read_bytes())
    content[start : start + size] = bytes(size)
    path.write_bytes(content)


@pytest.mark.parametrize("part", ["its head", "the list of its tables", "all behind its head"])
def test_a_store_that_is_damaged_is_replaced_and_kept(tmp_path, file, part):
    """That is when a backup is needed."""
    path = tmp_path / "store.sqlite3"
    experiment, before = played(str(path), plays=400)
    back_up(str(path), file)
    start, size = {"its head": (0, 100), "the list of its tables": (100, 3996)}.get(part, (4096, 400_000))
    damage(path, start, min(size, path.stat().st_size - start))
    broken = path.read_bytes()
    with pytest.raises((lb.CannotRead, lb.InvalidParameter)):
        restore(file, str(path), ME, 1.0)
    assert path.read_bytes() == broken
    kept = restore(file, str(path), ME, 1.0, replace=True).kept
    assert kept.read_bytes() == broken
    assert state_in(str(path), experiment) == before


def test_a_damaged_store_that_somebody_has_open_is_not_moved(tmp_path, file):
    path = tmp_path / "store.sqlite3"
    played(str(path))
    back_up(str(path), file)
    hold = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('BEGIN'); c.execute('SELECT * FROM tokens');"
    )
    hold += "print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold, str(path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with killed_in_the_end(holder), holder.stdout, holder.stdin:
        assert holder.stdout.readline() == "held\n"
        damage(path, 0, 100)
        with pytest.raises(lb.StoreUnavailable, match="stop the services"):
            restore(file, str(path), ME, 1.0, replace=True)
    assert restore(file, str(path), ME, 1.0, replace=True).kept


def test_a_backup_of_a_damaged_store_says_that_the_store_is_damaged(tmp_path, file):
    path = tmp_path / "store.sqlite3"
    played(str(path), plays=400)
    damage(path, path.stat().st_size // 2)
    with pytest.raises(
        lb.CannotRead, match=r"^the store .*store\.sqlite3 is damaged .*no backup was written"
    ) as caught:
        back_up(str(path), file)
    assert "partial" not in str(caught.value)
    assert sorted(tmp_path.glob("*backup*")) + sorted(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("address", ["postgresql://u:pa%zzword@127.0.0.1:1/x", "host=127.0.0.1 password=top zzword"])
def test_no_password_is_shown(tmp_path, file, address):
    played(str(tmp_path / "store"))
    back_up(str(tmp_path / "store"), file)
    for use in (lambda: back_up(address, tmp_path / "new"), lambda: restore(file, address, ME, 1.0)):
        with pytest.raises(lb.InvalidParameter, match="cannot be read") as caught:
            use()
        assert "word" not in str(caught.value).replace("password", "")
    with pytest.raises(lb.StoreUnavailable, match="cannot be used now") as caught:
        back_up("postgresql://u:hunter2@127.0.0.1:1/hunter2", tmp_path / "new")
    assert "hunter2" not in str(caught.value)


def test_a_webhook_alone_is_something_to_lose(store_url, tmp_path, file):
    played(str(tmp_path / "store"))
    back_up(str(tmp_path / "store"), file)
    with closing(open_store(store_url)) as store, store.writing() as tables:
        tables.add_webhook(make_webhook("https://example.org/", clock=lambda: 1.0))
    with pytest.raises(lb.InvalidParameter, match="webhooks"):
        restore(file, store_url, ME, 1.0)


def test_neither_servers_nor_their_secrets_are_in_a_backup(store_url, tmp_path, file):
    played(store_url)
    with closing(open_store(store_url)) as store, store.writing() as tables:
        tables._run("INSERT INTO servers (id, url, secret, seen_at) VALUES ('a', 'http://x', 'known-to-servers', 1.0)")
        tables._run("INSERT INTO owners (experiment, server) VALUES ('e', 'a')")
    back_up(store_url, file)
    assert b"known-to-servers" not in file.read_bytes()
    with closing(sqlite3.connect(file)) as opened:
        assert opened.execute("SELECT COUNT(*) FROM servers").fetchone() == (0,)
        assert opened.execute("SELECT COUNT(*) FROM owners").fetchone() == (0,)


def test_a_server_that_gave_a_sign_of_life_lately_is_waited_for(postgres_url, tmp_path, file):
    """Its connections may just be lost; and one that is long gone does not matter, nor one who only looks."""
    played(postgres_url)
    back_up(postgres_url, file)
    with closing(open_store(postgres_url)) as store, store.owning() as tables:
        tables.sign_of_life(ServerRecord("a", "http://10.0.0.5:8000", "secret"))
    with pytest.raises(lb.StoreUnavailable, match=r"the service at http://10\.0\.0\.5:8000 used .* stop the services"):
        restore(file, postgres_url, ME, 1.0, replace=True)
    with closing(open_store(postgres_url)) as store, store.writing() as tables:
        tables._run("UPDATE servers SET seen_at = seen_at - 11")
    with closing(open_store(postgres_url, as_it_is=True)) as reader:
        with reader.reading() as tables:
            tables.ping()
        restore(file, postgres_url, ME, 1.0, replace=True)
    with closing(open_store(postgres_url)) as store, store.reading() as tables:
        assert tables._rows("SELECT * FROM servers") == []


def test_the_tokens_of_a_backup_can_be_left_out_and_the_service_stays_closed(tmp_path, file):
    url = str(tmp_path / "store")
    for scope in (EVERYTHING, Scope(prefixes=("a/",))):
        with closing(open_store(url)) as store, store.writing() as tables:
            tables.add_token(make_token("ops", "admin", lambda: 1.0, scope)[1])
    back_up(url, file)
    target = str(tmp_path / "again")
    assert restore(file, target, ME, 1.0, tokens=False).contents.tokens == 0
    with closing(open_store(target)) as store, store.reading() as tables:
        assert (tables.tokens(), tables.ever_had_tokens()) == ([], True)


def test_what_is_no_store_is_refused_with_a_remedy(tmp_path, file, postgres_url):
    (tmp_path / "text").write_text("hello", encoding="utf-8")
    for source in (str(tmp_path / "nowhere"), str(tmp_path / "text"), postgres_url):
        with pytest.raises(lb.CannotRead, match=r"name one|name another|is it"):
            back_up(source, file)
    played(str(tmp_path / "store"))
    back_up(str(tmp_path / "store"), file)
    with pytest.raises(lb.CannotRead, match="--replace moves it aside"):
        restore(file, str(tmp_path / "text"), ME, 1.0)
    assert (tmp_path / "text").read_text(encoding="utf-8") == "hello"
    with closing(sqlite3.connect(tmp_path / "other")) as other:
        other.execute("CREATE TABLE mine (x)")
    with pytest.raises(lb.InvalidParameter, match="is no store"):
        restore(file, str(tmp_path / "other"), ME, 1.0, replace=True)
    with pytest.raises(lb.CannotWrite, match="--overwrite"):
        back_up(str(tmp_path / "store"), file)
    back_up(str(tmp_path / "store"), file, overwrite=True)
    with pytest.raises(lb.CannotWrite, match="cannot be written to"):
        back_up(str(tmp_path / "store"), tmp_path / "no folder" / "file")


def test_a_log_without_its_file_is_not_mixed_with_a_backup(tmp_path, file):
    url = str(tmp_path / "store")
    played(url)
    back_up(url, file)
    (tmp_path / "again-wal").write_bytes(b"what another file was to have")
    with pytest.raises(lb.InvalidParameter, match="again-wal is there without again"):
        restore(file, str(tmp_path / "again"), ME, 1.0)


def test_the_whole_of_the_progress_is_told(store_url, tmp_path, file):
    played(store_url)
    told = []
    back_up(store_url, file, advance=lambda _, amount: told.append(amount))
    assert sum(told) == backups.WHOLE
    assert min(told) >= 0
