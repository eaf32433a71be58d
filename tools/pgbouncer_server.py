"""A real PgBouncer for tests and benchmarks, before a PostgreSQL server on the same machine."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from tools.postgres_server import PostgresServer, ending_with_its_parent, user_for_servers, where_a_server_can_work
from tools.waiting import SECONDS, until

SERVER_CONNECTIONS = 5
"""What all clients share: fewer than one service opens, so that its transactions change places."""


def pgbouncer_program() -> str | None:
    """Where it is installed; a package puts it where an ordinary user's path does not lead."""
    return shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")


class PgBouncer:
    """PgBouncer refuses to run as root, as PostgreSQL does."""

    def __init__(self, program: str, folder: Path, server: PostgresServer, mode: str) -> None:
        self._program = program
        self._folder = folder
        self._user = user_for_servers()
        settings = {
            "listen_addr": "",
            "unix_socket_dir": folder,
            "listen_port": 6432,
            "auth_type": "any",
            "pool_mode": mode,
            "default_pool_size": SERVER_CONNECTIONS,
            "max_client_conn": 200,
        }
        lines = [f"{name} = {value}" for name, value in settings.items()]
        databases = f"* = host='{conninfo_to_dict(server.url)['host']}' user=tester"
        self._file = folder / "pgbouncer.ini"
        self._file.write_text("\n".join(["[databases]", databases, "[pgbouncer]", *lines, ""]), encoding="utf-8")
        if self._user is not None:
            shutil.chown(folder, self._user)

    def url_of(self, url: str) -> str:
        """The address through the pooler of a database whose own address is ``url``."""
        known = conninfo_to_dict(url)
        return f"postgresql://{known['user']}@/{known['dbname']}?host={quote(str(self._folder))}&port=6432"

    def start(self) -> None:
        """Returns when it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*ending_with_its_parent(), self._program, str(self._file)],
                user=self._user,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(lambda: self._process.poll() is not None or self._answers(), "PgBouncer to answer")
        assert self._process.poll() is None, (self._folder / "log").read_text(encoding="utf-8")

    def kill(self) -> None:
        """As by ``kill -9``; returns when it is gone."""
        self._process.kill()
        self._process.wait(SECONDS)

    def _answers(self) -> bool:
        with suppress(psycopg.OperationalError):
            psycopg.connect(self.url_of("user=tester dbname=postgres"), connect_timeout=2).close()
            return True
        return False


@contextmanager
def running_pgbouncer(server: PostgresServer, mode: str = "transaction") -> Iterator[PgBouncer | None]:
    """A pooler, or None where PgBouncer is not installed."""
    program = pgbouncer_program()
    if program is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="lb-pb-", dir=where_a_server_can_work()))
    try:
        pooler = PgBouncer(program, folder, server, mode)
        pooler.start()
        try:
            yield pooler
        finally:
            pooler.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
