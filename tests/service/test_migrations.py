"""The steps that make a store's schema: from any step on, all or nothing, and never changed once released."""

from __future__ import annotations

import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

import linkedbandits as lb
from linkedbandits.service import postgres_store, sqlite_store
from linkedbandits.service.desk import Desk
from linkedbandits.service.migrations import MIGRATIONS, SCHEMA_VERSION
from linkedbandits.service.store import open_store
from linkedbandits.version import __version__
from tests.support.old_store import EXPECTED, make_old_store
from tests.support.service_parts import ManualClock, create
from tools.waiting import SECONDS


def test_a_store_of_schema_1_is_brought_to_the_present_one(store_url):
    make_old_store(store_url)
    for _ in range(2):
        with closing(open_store(store_url)) as store, store.reading() as tables:
            assert tables._rows("SELECT version, library FROM schema_version") == [(SCHEMA_VERSION, __version__)]
            assert {record.written_by for record in tables.records()} == {None}
            assert [token.name for token in tables.tokens()] == ["ops"]


UNDOING = {
    9: ("DROP TABLE curves", "DROP TABLE listing"),
    8: ("DROP TABLE owners", "DROP TABLE servers"),
    7: ("DROP TABLE deliveries", "DROP TABLE webhooks"),
    6: ("DROP TABLE limited_tokens", "DROP TABLE audit"),
    5: ("DROP INDEX creation_keys", "ALTER TABLE experiments DROP COLUMN creation_key"),
    4: ("DROP TABLE expenses",),
    3: ("ALTER TABLE experiments DROP COLUMN log",),
}
"""What takes a step back, by its number."""


@pytest.mark.parametrize("schema", range(2, SCHEMA_VERSION))
def test_a_store_of_an_earlier_schema_is_brought_to_the_present_one(store_url, schema):
    with closing(open_store(store_url)) as store:
        with Desk(store) as desk:
            experiment = create(desk)
        with store.writing() as tables:
            for step in range(SCHEMA_VERSION, schema, -1):
                for statement in UNDOING[step]:
                    tables._run(statement)
            tables._run("UPDATE schema_version SET version = ?, library = '0.0.9'", schema)
    for _ in range(2):
        with closing(open_store(store_url)) as store, store.reading() as tables:
            assert tables._rows("SELECT version, library FROM schema_version") == [(SCHEMA_VERSION, __version__)]
            assert [record.id for record in tables.records()] == [experiment]
            assert (tables.log(experiment), tables.expenses(experiment), tables.created_with("k")) == (None, [], None)
            assert tables.tokens() == []
            assert [(each.id, each.tags) for each in tables.listed()] == [(experiment, ())]
            assert tables.curve(experiment) == []


def test_a_migration_is_logged(store_url, caplog):
    with closing(open_store(store_url)) as store, store.writing() as tables:
        for step in range(SCHEMA_VERSION, 4, -1):
            for statement in UNDOING[step]:
                tables._run(statement)
        tables._run("UPDATE schema_version SET version = 4, library = '0.0.9'")
    caplog.set_level("INFO")
    for _ in range(2):
        with closing(open_store(store_url)) as store, store.reading() as tables:
            assert tables._rows("SELECT version, library FROM schema_version") == [(SCHEMA_VERSION, __version__)]
            assert tables.webhooks() == []
    assert [(record.getMessage(), record.fields) for record in caplog.records] == [
        *(("store-migrating", {"to": step, "of": SCHEMA_VERSION}) for step in range(5, SCHEMA_VERSION + 1)),
        ("store-migrated", {"from": 4, "to": SCHEMA_VERSION}),
    ]


def test_experiments_of_schema_8_are_listed_with_the_plays_of_their_history(store_url):
    clock = ManualClock()
    with closing(open_store(store_url)) as store:
        with Desk(store, clock=clock) as desk:
            played, other = create(desk), create(desk)
            plays = desk.ask(played, 7).result().plays
            clock.now += 5
            desk.tell(played, [(each.id, None) for each in plays]).result()
        with store.writing() as tables:
            for statement in UNDOING[9]:
                tables._run(statement)
            tables._run("UPDATE schema_version SET version = 8, library = '0.0.9'")
    with closing(open_store(store_url)) as store:
        with store.reading() as tables:
            listed = {each.id: (each.plays, each.verdict, each.tags) for each in tables.listed()}
            assert listed == {played: (7, None, ()), other: (0, None, ())}
            assert tables.curve(played) == []
        with Desk(store, clock=clock) as desk:
            desk.note_standing(played).result()
            desk.set_tags(other, ["eu"]).result()
        with store.reading() as tables:
            assert [(each.verdict, each.tags) for each in tables.listed()] in (
                [("", ()), (None, ("eu",))],
                [(None, ("eu",)), ("", ())],  # made in the same moment
            )


def test_a_store_of_a_later_version_says_what_to_install(store_url):
    with closing(open_store(store_url)) as store, store.writing() as tables:
        tables._run("UPDATE schema_version SET version = ?, library = ?", SCHEMA_VERSION + 1, "7.1.0")
    with pytest.raises(lb.DamagedSave, match=r"upgrade linkedbandits to 7\.1\.0 or later"):
        open_store(store_url)


def test_a_migration_that_fails_leaves_the_store_as_it_was(store_url, monkeypatch):
    make_old_store(store_url)
    wrong = (*MIGRATIONS[:1], "ALTER TABLE experiments ADD COLUMN more TEXT; INSERT INTO nowhere VALUES (1)")
    with monkeypatch.context() as patch:
        patch.setattr("linkedbandits.service.tables.MIGRATIONS", wrong)
        with pytest.raises(lb.StoreUnavailable):
            open_store(store_url)
    with closing(open_store(store_url)) as store, store.reading() as tables:
        assert len(tables.records()) == len(EXPECTED)
        tables._rows("SELECT written_by FROM experiments")
        with pytest.raises(lb.StoreUnavailable):
            tables._rows("SELECT more FROM experiments")


@pytest.fixture
def slow_migration(postgres_url):
    """A store of schema 1 in a database in which making a table takes a while."""
    make_old_store(postgres_url)
    with psycopg.connect(postgres_url, autocommit=True) as database:
        database.execute(
            "CREATE FUNCTION take_a_while() RETURNS event_trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_sleep(0.3); END $$"
        )
        database.execute(
            "CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE TABLE') "
            "EXECUTE FUNCTION take_a_while()"
        )
    return postgres_url


def test_a_migration_may_take_longer_than_any_other_statement(slow_migration, monkeypatch):
    """Neither the server's limits end it, nor those of this side; ordinary statements have them as before."""
    monkeypatch.setattr("linkedbandits.service.postgres_store.STATEMENT_SECONDS", 0.1)
    monkeypatch.setattr("linkedbandits.service.lines.SECONDS_FOR_AN_ANSWER", 0.2)
    monkeypatch.setattr("linkedbandits.service.lines._ROUND_SECONDS", 0.01)
    with closing(open_store(slow_migration)) as store:
        monkeypatch.setattr("linkedbandits.service.lines.SECONDS_FOR_AN_ANSWER", SECONDS)
        with store.reading() as tables:
            assert tables._rows("SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]
            assert len(tables.records()) == len(EXPECTED)
            assert tables._rows("SHOW statement_timeout") == [("100ms",)]


def test_servers_that_start_together_migrate_once_and_say_what_they_wait_for(slow_migration, caplog, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", 0.1)  # the second waits for longer
    caplog.set_level("INFO")
    with ThreadPoolExecutor(3) as pool:
        stores = list(pool.map(lambda _: open_store(slow_migration), range(3)))
    for store in stores:
        with closing(store), store.reading() as tables:
            assert len(tables.records()) == len(EXPECTED)
    said = Counter(record.getMessage() for record in caplog.records)
    assert said == {"store-migrating": SCHEMA_VERSION - 1, "store-migrated": 1, "store-migration-awaited": 2}


def test_servers_that_start_together_on_an_empty_database_make_one_store(postgres_url):
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(lambda _: open_store(postgres_url), range(8)))
    for store in stores:
        with closing(store), store.reading() as tables:
            assert tables._rows("SELECT version FROM schema_version") == [(SCHEMA_VERSION,)]


def test_a_migration_that_cannot_lock_a_table_says_so_and_changes_nothing(postgres_url, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", 0.1)
    make_old_store(postgres_url)
    with closing(psycopg.connect(postgres_url)) as other:
        other.execute("SELECT * FROM linkedbandits.experiments")
        with pytest.raises(lb.StoreUnavailable, match="end the transaction that holds the lock"):
            open_store(postgres_url)
        assert other.execute("SELECT version FROM linkedbandits.schema_version").fetchone() == (1,)
    open_store(postgres_url).close()


@pytest.mark.parametrize("dialect", [sqlite_store.DIALECT, postgres_store.DIALECT], ids=["sqlite", "postgresql"])
def test_every_step_is_whole_statements_in_either_dialect(dialect):
    """They are cut at semicolons: one inside a text would leave halves, one at the end a statement without words."""
    for migration in MIGRATIONS:
        for statement in dialect.steps(migration):
            assert statement.split()[0] in {"CREATE", "ALTER", "INSERT"}
            assert statement.count("(") == statement.count(")")
            assert "{" not in statement


def columns_of(file) -> dict[str, set[tuple[object, ...]]]:
    """Of every table and index of a file, its columns."""
    found = {}
    for kind, name in file.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'").fetchall():
        rows = file.execute(f"PRAGMA {'table' if kind == 'table' else 'index'}_info({name})").fetchall()
        found[name] = {row[1:] if kind == "table" else row for row in rows}
    return found


def test_a_store_that_was_upgraded_has_the_tables_of_a_new_one(tmp_path):
    make_old_store(f"sqlite:///{tmp_path / 'old.sqlite'}")
    columns = []
    for name in ("old.sqlite", "new.sqlite"):
        open_store(str(tmp_path / name)).close()
        with closing(sqlite3.connect(tmp_path / name)) as file:
            columns.append(columns_of(file))
    assert columns[0] == columns[1]


def test_the_first_step_makes_what_stores_without_steps_have(tmp_path):
    make_old_store(f"sqlite:///{tmp_path / 'old.sqlite'}")
    with closing(sqlite3.connect(tmp_path / "old.sqlite")) as old, closing(sqlite3.connect(":memory:")) as new:
        for statement in sqlite_store.DIALECT.steps(MIGRATIONS[0]):
            new.execute(statement)
        made, there = columns_of(new), columns_of(old)
    assert there.pop("schema_version")
    assert made == there
