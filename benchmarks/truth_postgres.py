"""PostgreSQL: requests through PgBouncer in transaction mode, a role with few rights, a migration that takes long."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import perf_counter

import httpx
import psycopg

from tools.claims import Claims, Row
from tools.pgbouncer_server import running_pgbouncer
from tools.postgres_server import PostgresServer, running_postgres

CLIENTS, ROUNDS = 8, 50
SLOW_SECONDS = 40
"""Longer than a statement may take otherwise, 30 s, and than a server may be silent, 35 s."""
ROLE = "truth_app"


@contextmanager
def serving(store: str) -> Iterator[str]:
    """The address of a real server, or what it said when it did not start."""
    command = [sys.executable, "-m", "linkedbandits", "serve", "--port", "0", "--store", store]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        words = server.stdout.readline().split()
        try:
            yield words[2].rstrip("/") if words else server.stderr.read().strip().splitlines()[-1]
        finally:
            server.terminate()


def share_failed(url: str) -> float:
    """Of the requests of clients at work at once, the share without a 2xx."""

    def play(client: int) -> list[bool]:
        found = []
        with httpx.Client(base_url=url, timeout=60.0) as http:

            def request(method: str, path: str, body: object = None) -> httpx.Response:
                response = http.request(method, path, json=body)
                found.append(response.is_success)
                return response

            made = request("POST", "/v1/experiments", {"name": f"client {client}", "arms": ["a", "b"]})
            home = f"/v1/experiments/{made.json()['id']}" if made.is_success else "/v1/experiments/none"
            for _ in range(ROUNDS):
                asked = request("POST", f"{home}/ask", {})
                plays = asked.json()["plays"] if asked.is_success else []
                request("POST", f"{home}/tell", {"answers": [{"play": play["id"], "hit": None} for play in plays]})
                request("GET", f"{home}/view")
        return found

    with ThreadPoolExecutor(CLIENTS) as pool:
        outcomes = [one for found in pool.map(play, range(CLIENTS)) for one in found]
    return 1 - sum(outcomes) / len(outcomes)


def through_pgbouncer(server: PostgresServer) -> float | None:
    """The share of requests that fail through PgBouncer in transaction mode; None where it is not installed."""
    with running_pgbouncer(server) as pooler:
        if pooler is None:
            return None
        with serving(pooler.url_of(server.new_database("pooled"))) as url:
            return share_failed(url)


def with_few_rights(server: PostgresServer) -> str:
    """What comes of a start with USAGE on the schema and the rows of its tables alone."""
    url = server.new_database("few_rights")
    with serving(url):
        pass
    with psycopg.connect(url, autocommit=True) as database:
        database.execute(f"CREATE ROLE {ROLE} LOGIN")
        database.execute(f"GRANT USAGE ON SCHEMA linkedbandits TO {ROLE}")
        database.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA linkedbandits TO {ROLE}")
    with serving(url.replace("//tester@", f"//{ROLE}@")) as found:
        return f"{share_failed(found):.0%} of requests fail" if found.startswith("http") else found


def slow_migration(server: PostgresServer) -> str:
    """What comes of a start on a store of schema 8, where a statement of the migration takes ``SLOW_SECONDS``."""
    url = server.new_database("slow")
    with serving(url):
        pass
    with psycopg.connect(url, autocommit=True) as database:
        for statement in (
            "DROP TABLE linkedbandits.curves",
            "DROP TABLE linkedbandits.listing",
            "UPDATE linkedbandits.schema_version SET version = 8",
            "CREATE FUNCTION wait_once() RETURNS event_trigger LANGUAGE plpgsql AS "
            "$$ BEGIN IF to_regclass('linkedbandits.curves') IS NOT NULL THEN "
            f"PERFORM pg_sleep({SLOW_SECONDS}); END IF; END $$",
            "CREATE EVENT TRIGGER slow ON ddl_command_end WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION wait_once()",
        ):
            database.execute(statement)
    start = perf_counter()
    with serving(url) as found:
        seconds = perf_counter() - start
        return f"started after {seconds:.0f} s" if found.startswith("http") else found


def with_a_real_server(claims: Claims) -> Iterator[Row]:
    """All three against one PostgreSQL; nothing where its programs are not installed."""
    with running_postgres() as server:
        if server is None:
            return
        failed = through_pgbouncer(server)
        claims.check(failed == 0, "requests succeed through PgBouncer in transaction mode, which has to be installed")
        now = "pgbouncer is not installed here" if failed is None else f"{failed:.0%} of requests fail"
        yield "PgBouncer, transaction mode", "94 % of requests fail", now
        few = with_few_rights(server)
        claims.check(few == "0% of requests fail", "a role with few rights can serve")
        yield "role with USAGE and rows alone", "does not start", few
        slow = slow_migration(server)
        claims.check(slow.startswith("started"), "a slow migration ends")
        yield f"migration with a statement of {SLOW_SECONDS} s", "never ends: is its server up?", slow


MEASURES = (with_a_real_server,)
