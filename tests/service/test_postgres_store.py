"""The store in PostgreSQL: connections that are lost, experiments that are held, and nothing waited for for ever."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

import linkedbandits as lb
from linkedbandits.service.audit import Actor
from linkedbandits.service.backups import back_up, restore
from linkedbandits.service.desk import Desk
from linkedbandits.service.lines import LINES_TO_WRITE, MOST_LINES
from linkedbandits.service.postgres_store import DIALECT, PostgresStore
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal
from tests.support.connections import check_that_all_were_closed
from tests.support.old_store import make_old_store
from tests.support.service_parts import SETUP, create
from tests.support.store_contract import FIRST
from tools.waiting import SECONDS, until


def test_a_server_that_does_not_know_a_setting_is_hung_up_on(postgres_url, connections, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.postgres_store.LOCK_SECONDS", "no number of ")
    with pytest.raises(psycopg.DataError, match="lock_timeout"):
        PostgresStore(postgres_url)
    check_that_all_were_closed(connections)


def test_a_connection_that_was_lost_is_opened_again(postgres, postgres_url):
    store = PostgresStore(postgres_url)
    with store.reading() as tables:
        assert tables.records() == []
    postgres.stop("immediate")
    with pytest.raises(lb.StoreUnavailable, match="is its server up"), store.reading():
        pass
    with pytest.raises(lb.StoreUnavailable, match="is its server up"):
        PostgresStore(postgres_url)
    postgres.start()
    with store.reading() as tables:
        assert tables.records() == []
    store.close()


@contextmanager
def holding(url, experiment):
    """Another process that has an experiment locked."""
    with closing(psycopg.connect(url)) as other:
        other.execute("SELECT 1 FROM linkedbandits.experiments WHERE id = %s FOR UPDATE", (experiment,))
        yield
        other.rollback()  # the server may take a while to notice that somebody has hung up


def test_an_experiment_that_is_held_makes_no_other_wait(postgres_url, monkeypatch):
    """Whoever asks for it waits, however long that is; whoever asks for others, or looks, does not."""
    monkeypatch.setattr("linkedbandits.service.waiting_room.SECONDS_TO_WAIT", SECONDS)
    with closing(open_store(postgres_url)) as store, Desk(store) as desk:
        held, free = (desk.create(SETUP, name).result().id for name in ("held", "free"))
        desk.tell(held, [(desk.ask(held).result().plays[0].id, None)]).result()
        with holding(postgres_url, held):
            waiting = [desk.ask(held, key=key) for key in ("first", "second")]
            for _ in range(3):
                served = [desk.ask(free), desk.read(held, lambda hosted: hosted.experiment.plays), desk.expire()]
                assert [future.result(SECONDS / 2) for future in served][1] == 1
            until(lambda: desk.figures().jobs_held == 2, "both jobs to wait")
            assert desk.figures().experiments_held == 1
            assert len(desk.records().result(SECONDS / 2)) == 2
            waiting.append(desk.ask(held, key="third"))
            assert desk.ask(free).result().plays
            assert not any(future.done() for future in waiting)
        assert [future.result().plays[0].id for future in waiting] == [1, 2, 3]  # in the order they came
        assert (desk.figures().experiments_held, desk.figures().jobs_held) == (0, 0)


def test_who_waits_in_vain_for_an_experiment_that_is_held_is_told_so_and_nobody_waits_again(postgres_url, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.waiting_room.SECONDS_TO_WAIT", 0.1)
    said = "somebody else holds experiment .* end the transaction that holds the lock"
    with closing(open_store(postgres_url)) as store, Desk(store) as desk:
        held, free = (desk.create(SETUP, name).result().id for name in ("held", "free"))
        with holding(postgres_url, held):
            waiting, served = desk.ask(held), desk.ask(free)
            assert served.result().plays
            with pytest.raises(lb.StoreUnavailable, match=said):
                waiting.result()
            monkeypatch.setattr("linkedbandits.service.waiting_room.SECONDS_TO_WAIT", 10 * SECONDS)
            for _ in range(2):  # it was waited for in vain, and nobody waits for it again
                refused, served = desk.ask(held), desk.ask(free)
                assert served.result().plays
                with pytest.raises(lb.StoreUnavailable, match=said):
                    refused.result()
        assert desk.ask(held).result().plays[0].id == 0
        with holding(postgres_url, held):
            waiting = desk.ask(held)  # it was free again, and may be waited for again
            until(lambda: desk.figures().jobs_held, "the job to wait")
        assert waiting.result().plays[0].id == 1


def test_a_transaction_goes_on_after_a_lock_that_it_did_not_get(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        with store.writing() as tables:
            for name in ("held", "free"):
                tables.create(replace(FIRST, id=name))
        with holding(postgres_url, "held"), store.writing() as tables:
            assert tables.try_lock("held", for_a_moment=True) is None
            assert tables.try_lock("held", for_a_moment=False) is None
            assert tables.try_lock("free", for_a_moment=True) == 0
            with pytest.raises(lb.UnknownName):
                tables.try_lock("nobody", for_a_moment=True)
            assert tables._rows("SHOW lock_timeout") == [("10s",)]


def test_who_shares_an_experiment_gets_it_when_the_other_lets_go_of_it_soon(postgres_url, monkeypatch):
    """And waits for other locks as long as before."""
    monkeypatch.setattr(
        "linkedbandits.service.postgres_store.DIALECT",
        replace(DIALECT, for_a_moment=replace(DIALECT.for_a_moment, before="SAVEPOINT moment")),  # ten seconds
    )
    with closing(PostgresStore(postgres_url)) as store, ThreadPoolExecutor(1) as pool:
        with store.writing() as tables:
            tables.create(FIRST)

        def lock():
            with store.writing() as tables:
                return tables.try_lock(FIRST.id, for_a_moment=True), tables._rows("SHOW lock_timeout")

        with holding(postgres_url, FIRST.id):
            locked = pool.submit(lock)
            until(lambda: waiting_for_locks(postgres_url), "somebody to wait for the lock")
        assert locked.result() == (0, [("10s",)])


def waiting_for_locks(url):
    with closing(psycopg.connect(url)) as other:
        return other.execute("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'").fetchall()


def test_nothing_in_postgresql_is_waited_for_for_ever(postgres_url, connections):
    store = PostgresStore(f"{postgres_url}&keepalives_idle=77")

    def limits(tables):
        names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
        return [tables._rows(f"SHOW {name}")[0][0] for name in names]

    for _ in range(2):  # on the same connection
        with store.writing() as tables:
            assert limits(tables) == ["10s", "30s", "30s"]
            with tables.at_length():
                assert limits(tables) == ["10s", "30s", "5min"]
            assert limits(tables) == ["10s", "30s", "30s"]
        with store.reading() as tables, tables.at_length():
            assert limits(tables) == ["10s", "30s", "5min"]
        with store.owning() as tables:
            assert limits(tables) == ["1s", "30s", "30s"]
    told = connections[0].info.get_parameters()
    assert told["keepalives_count"] == "3"
    assert told["keepalives_idle"] == "77"  # who runs the service may say otherwise
    store.close()


def test_statements_are_prepared_where_no_pooler_is_between(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        for _ in range(10):
            with store.reading() as tables:
                tables.records()
        with store.reading() as tables:
            assert tables._rows("SELECT * FROM pg_prepared_statements")


def test_without_psycopg_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(lb.MissingExtra, match=r"linkedbandits\[service\]"):
        open_store("postgresql://nowhere")


def test_a_transaction_that_failed_gives_its_connection_back_and_two_at_once_have_one_each(postgres_url, connections):
    with closing(PostgresStore(postgres_url)) as store:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError), store.writing():
                raise ZeroDivisionError
        assert len(connections) == 1
        with store.reading() as one, store.reading() as other:
            one.ping()
            other.ping()
        assert len(connections) == 2
    check_that_all_were_closed(connections)


def test_who_reads_cannot_write(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        with pytest.raises(lb.StoreUnavailable, match="read-only transaction"), store.reading() as tables:
            tables.create(FIRST)
        with store.reading() as tables:
            assert tables.records() == []


def test_a_schema_that_is_not_whole_is_told_from_a_server_that_is_down(postgres_url):
    with closing(PostgresStore(postgres_url)) as store:
        with store.writing() as tables:
            tables._run("DROP TABLE tokens")
        said = "is its schema linkedbandits whole, and may it be written"
        with pytest.raises(lb.StoreUnavailable, match=said), store.reading() as tables:
            tables.tokens()


def pass_a_timeout(url, tables, limit):
    ((process,),) = tables._rows("SELECT pg_backend_pid()")
    tables._run(f"SET LOCAL {limit} = '50ms'")
    if limit == "statement_timeout":
        tables._run(f"SELECT pg_sleep({SECONDS})")
    until(lambda: not backends(url, process), "the server to end the connection")
    tables.ping()


@pytest.mark.parametrize("limit", ["statement_timeout", "idle_in_transaction_session_timeout"])
def test_a_timeout_is_told_from_a_server_that_is_down(postgres_url, limit):
    said = r"that is a timeout .* pg_stat_activity"
    with closing(PostgresStore(postgres_url)) as store:
        with pytest.raises(lb.StoreUnavailable, match=said) as raised, store.reading() as tables:
            pass_a_timeout(postgres_url, tables, limit)
        assert raised.value.detail.startswith("it took too long; try again")
        with store.reading() as tables:
            tables.ping()


def backends(url, process):
    with closing(psycopg.connect(url)) as other:
        return other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (process,)).fetchall()


def test_a_database_may_be_named_by_keywords(postgres_url):
    known = conninfo_to_dict(postgres_url)
    address = f"host={known['host']} dbname={known['dbname']} user={known['user']}"
    with closing(open_store(address)) as store, store.writing() as tables:
        tables.create(FIRST)
    with closing(open_store(postgres_url)) as store, store.reading() as tables:
        assert tables.records() == [FIRST]


def test_a_password_is_not_in_what_is_said_of_a_store_that_is_away():
    """Not even where the driver repeats it."""
    for address in ("host=/tmp/hunter2 password=hunter2", "postgresql://me:hunter2@%2Ftmp%2Fhunter2/x"):
        with pytest.raises(lb.StoreUnavailable, match=r"cannot be used now .*\*\*\*") as caught:
            open_store(address)
        assert "hunter2" not in str(caught.value)


def test_one_that_hangs_while_it_tries_whether_it_can_write_keeps_no_other_from_it(postgres_url):
    with closing(PostgresStore(postgres_url)) as store, store.writing() as hanging:
        hanging._run("SET LOCAL lock_timeout = '1ms'")
        hanging.write_in_passing()
        store.probe()
        with store.writing() as again:
            again._run("SET LOCAL lock_timeout = '1ms'")
            again.write_in_passing()
    with closing(PostgresStore(postgres_url)) as store, store.owning() as tables:
        assert tables._rows("SELECT * FROM servers") == []


def test_the_desk_does_not_wait_behind_those_who_look(postgres_url, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.lines.SECONDS_FOR_A_TURN", 0.01)
    with closing(PostgresStore(postgres_url)) as store, Desk(store) as desk, ExitStack() as looks:
        experiment = create(desk)
        for _ in range(MOST_LINES - LINES_TO_WRITE):
            looks.enter_context(store.reading())
        with pytest.raises(lb.StoreUnavailable, match="in use"), store.reading():
            pass
        assert desk.read(experiment, lambda hosted: hosted.head).result(SECONDS) == 0


def test_a_restore_that_is_refused_leaves_an_older_store_as_it_was(postgres_url, tmp_path):
    backup = tmp_path / "backup.sqlite3"
    with closing(open_store(str(tmp_path / "store.sqlite3"))):
        pass
    back_up(str(tmp_path / "store.sqlite3"), backup)
    make_old_store(postgres_url)
    with pytest.raises(lb.InvalidParameter, match="not empty"):
        restore(backup, postgres_url, Actor("command-line", name="me"), 1.0)
    with psycopg.connect(postgres_url) as database:
        assert database.execute("SELECT version FROM linkedbandits.schema_version").fetchone() == (1,)


@pytest.mark.parametrize("command", [("audit",), ("delete", "x"), ("webhook", "list")], ids=" ".join)
def test_no_command_makes_a_store_in_another_database(postgres_url, command):
    assert "there is no store in this database; name the one you mean" in refusal(*command, "--store", postgres_url)
    with psycopg.connect(postgres_url) as database:
        assert database.execute("SELECT to_regnamespace('linkedbandits')").fetchone() == (None,)


def test_who_only_looks_at_an_older_store_does_not_upgrade_it(postgres_url):
    make_old_store(postgres_url)
    with pytest.raises(lb.CannotRead, match=r"of an earlier version \(schema 1;"):
        PostgresStore(postgres_url, as_it_is=True)
    with psycopg.connect(postgres_url) as database:
        assert database.execute("SELECT version FROM linkedbandits.schema_version").fetchone() == (1,)
