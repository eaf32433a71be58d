"""A store behind a real PgBouncer in transaction mode: every transaction may be on another connection to the server."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import psycopg
import pytest

import linkedbandits as lb
from linkedbandits.service.audit import Actor
from linkedbandits.service.backups import back_up, restore
from linkedbandits.service.store import open_store
from tests.support.running_service import running_service
from tests.support.two_servers import two_servers
from tools.pgbouncer_server import SERVER_CONNECTIONS
from tools.waiting import until


@pytest.fixture
def pooled_url(pgbouncer, postgres_url):
    """An empty database, through the pooler."""
    return pgbouncer.url_of(postgres_url)


def play_rounds(service, experiment, rounds):
    """The status of every answer to asking, telling and looking."""
    found = []
    for _ in range(rounds):
        asked = service.post(experiment, "ask", {"count": 2})
        found.append(asked.status_code)
        if asked.status_code == 200:
            answers = [{"play": play["id"], "hit": None} for play in asked.json()["plays"]]
            found.append(service.post(experiment, "tell", {"answers": answers}).status_code)
        paths = (f"/v1/experiments/{experiment}/view", "/v1/experiments", "/readyz")
        found += [service.http.get(path).status_code for path in paths]
    return found


def play_together(service, experiments, rounds=10):
    with ThreadPoolExecutor(len(experiments)) as pool:
        statuses = pool.map(lambda experiment: play_rounds(service, experiment, rounds), experiments)
        return Counter(status for found in statuses for status in found)


def test_no_request_fails(pooled_url, postgres_url):
    """Eight clients at once, on more transactions than the pooler has connections."""
    with running_service(pooled_url) as service:
        experiments = [service.create() for _ in range(8)]
        assert play_together(service, experiments) == {200: 8 * 10 * 5}
        with closing(psycopg.connect(postgres_url)) as direct:
            (connections,) = direct.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            ).fetchone()
        assert 1 <= connections <= SERVER_CONNECTIONS
        plays = [service.http.get(f"/v1/experiments/{each}/view").json()["plays"] for each in experiments]
    assert plays == [20] * 8


@pytest.mark.parametrize("pgbouncer", ["statement"], indirect=True)
def test_a_mode_without_transactions_is_refused_with_the_remedy(pooled_url):
    with pytest.raises(
        lb.StoreUnavailable, match=r"transaction blocks .* a pooler before it in transaction or session"
    ):
        open_store(pooled_url)


def test_servers_share_their_work(pooled_url):
    with two_servers(pooled_url) as (one, two):
        experiments = [one.create() for _ in range(2)]
        for _ in range(3):
            assert play_together(one, experiments, rounds=3) == {200: 2 * 3 * 5}
            assert play_together(two, experiments, rounds=3) == {200: 2 * 3 * 5}
        assert not one.in_memory() & two.in_memory()


def test_nothing_is_left_behind_for_other_users_of_the_pooler(pooled_url):
    settings = ("search_path", "lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    with closing(psycopg.connect(pooled_url, autocommit=True, prepare_threshold=None)) as other:
        before = [other.execute(f"SHOW {name}").fetchone() for name in settings]
        with closing(open_store(pooled_url)) as store:
            store.probe()
            for _ in range(10):
                with store.reading() as tables, store.owning():
                    tables.ping()
            for _ in range(2):  # with the store open, and after it
                assert [other.execute(f"SHOW {name}").fetchone() for name in settings] == before
                assert other.execute("SELECT * FROM pg_locks WHERE locktype = 'advisory'").fetchall() == []
                assert other.execute("SELECT * FROM pg_prepared_statements").fetchall() == []
                store.close()


def test_a_backup_is_made_and_restored_through_the_pooler(pooled_url, tmp_path):
    file = tmp_path / "backup.sqlite3"
    with running_service(pooled_url) as service:
        experiment = service.create()
        service.play(experiment, 4)
        back_up(pooled_url, file)
        service.play(experiment, 3)
    restore(file, pooled_url, Actor("command-line", name="me"), 1.0, replace=True)
    with running_service(pooled_url) as service:
        assert service.http.get(f"/v1/experiments/{experiment}/view").json()["plays"] == 4
        assert play_together(service, [experiment], rounds=3) == {200: 3 * 5}


def test_a_pooler_that_was_killed_is_found_again_and_nothing_acknowledged_is_lost(pooled_url, pgbouncer):
    with running_service(pooled_url) as service:
        experiment = service.create()
        service.play(experiment, 4)
        pgbouncer.kill()
        refused = service.post(experiment, "ask", {})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        pgbouncer.start()
        until(lambda: service.post(experiment, "ask", {}).status_code == 200, "an answer")
        assert service.http.get(f"/v1/experiments/{experiment}/view").json()["plays"] == 4
        until(lambda: service.http.get("/readyz").status_code == 200, "the service to be ready")
        service.play(experiment, 4)
