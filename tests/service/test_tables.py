"""The statements on the tables: the same in both databases, in parts where there are many values."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.service import postgres_store, sqlite_store
from linkedbandits.service.desk import Desk
from linkedbandits.service.driver_errors import DriverErrors
from linkedbandits.service.store import open_store
from linkedbandits.service.tables import Tables
from tests.support.service_parts import SETUP


@pytest.mark.parametrize(
    ("table", "use"),
    [
        ("snapshots", lambda desk, experiment: desk.ask(experiment)),  # it is missed when the experiment is opened,
        ("journal", lambda desk, experiment: desk.ask(experiment, key="k")),  # in the middle of a command,
        ("tuples", lambda desk, experiment: desk.ask(experiment)),  # when everything is written down,
        ("snapshots", lambda desk, experiment: desk.read(experiment, lambda hosted: hosted)),  # and by those who look
    ],
    ids=["open", "command", "write", "look"],
)
def test_a_store_that_has_lost_a_table_is_unavailable_whoever_misses_it(store_url, table, use):
    store = open_store(store_url)
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        with store.writing() as tables:
            tables._run(f"DROP TABLE {table}")
        with pytest.raises(lb.StoreUnavailable, match=f"cannot be used now .*{table}"):
            use(desk, experiment).result()
    store.close()


def test_a_store_that_lost_its_tables_answers_no_ping(store_url):
    store = open_store(store_url)
    with store.writing() as tables:
        tables.ping()
        tables._run("DROP TABLE schema_version")
    with pytest.raises(lb.StoreUnavailable), store.reading() as tables:
        tables.ping()
    store.close()


def test_an_experiment_of_an_earlier_version_in_a_store_of_this_one_is_listed_as_it_is(each_store):
    store = each_store
    with Desk(store) as desk:
        tagged, played, both = (desk.create(SETUP, "x", tags=["eu"]).result().id for _ in range(3))

    def listed():
        with store.reading() as tables:
            return {row.id: (row.plays, row.verdict, row.tags) for row in tables.listed()}

    with store.writing() as tables:
        tables._run("DELETE FROM listing")  # which a process of then knows nothing of
        tables.set_tags(tagged, ["us"])
        tables.note_standing(played, 7, "exhausted")
        tables.set_tags(both, ["us"])
        tables.note_standing(both, 7, "exhausted")
    assert listed() == {tagged: (0, None, ("us",)), played: (7, "exhausted", ()), both: (7, "exhausted", ("us",))}
    with store.writing() as tables:
        tables.note_standing(tagged, 3, "")
        tables.set_tags(played, ["cards"])
    assert listed() == {tagged: (3, "", ("us",)), played: (7, "exhausted", ("cards",)), both: (7, "exhausted", ("us",))}


class Asked:
    """A cursor that finds nothing, and remembers what was asked."""

    def __init__(self):
        self.statements = []
        self.rows = []

    def execute(self, statement, parameters=()):
        self.statements.append((statement, parameters))

    def executemany(self, statement, rows):
        self.rows.append((statement, list(rows)))

    def fetchall(self):
        return []


def tables_on(cursor, dialect=sqlite_store.DIALECT):
    return Tables(cursor, dialect, DriverErrors(ZeroDivisionError, (), lb.StoreUnavailable))


@pytest.mark.parametrize("count", [0, 1, 500, 501, 1_234])
def test_many_values_are_looked_for_in_parts_each_of_them_once(count):
    """Databases have a limit on the parameters of a statement."""
    asked = Asked()
    tables_on(asked).tuples("x", range(count))
    parts = [parameters for _, parameters in asked.statements]
    assert all(part[0] == "x" and len(part) <= 1 + 500 for part in parts)
    assert [number for part in parts for number in part[1:]] == list(range(count))
    assert [statement.count("?") for statement, _ in asked.statements] == [len(part) for part in parts]


def test_nothing_to_add_is_no_statement():
    asked = Asked()
    tables_on(asked).add_tuples("x", {})
    tables_on(asked).add_history("x", [])
    assert (asked.statements, asked.rows) == ([], [])


def test_each_database_has_its_own_sign_for_a_parameter_and_its_own_lock():
    for dialect, locks in (
        (sqlite_store.DIALECT, ["", ""]),
        (postgres_store.DIALECT, [" FOR UPDATE", " FOR UPDATE SKIP LOCKED", ""]),
    ):
        asked = Asked()
        with pytest.raises(lb.UnknownName):
            tables_on(asked, dialect).lock("x")
        with pytest.raises(lb.UnknownName):
            tables_on(asked, dialect).try_lock("x", for_a_moment=True)
        there = f"id = {dialect.parameter} AND status <> 'deleted'"
        assert [statement.partition("WHERE ")[2] for statement, _ in asked.statements] == [
            there + lock for lock in locks
        ]


def test_a_cursor_that_fails_says_so_in_the_words_of_the_library():
    class Failing(Asked):
        def fetchall(self):
            raise ZeroDivisionError("gone")

    with pytest.raises(lb.StoreUnavailable, match="gone"):
        tables_on(Failing()).ping()
