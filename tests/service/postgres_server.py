"""A real PostgreSQL server for the tests, on a private socket in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def postgres_programs() -> Path | None:
    """The folder with initdb and postgres, the newest there is."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).resolve().parent if on_path else None


class PostgresServer:
    """PostgreSQL refuses to run as root, and is run as somebody else then.

    ``durable`` is as in production. Without it nothing is lost but by a crash of the machine, and tests are faster.
    """

    def __init__(self, programs: Path, folder: Path, durable: bool) -> None:
        self._durable = durable
        self._programs = programs
        self._folder = folder
        self._data = folder / "data"
        self._user: str | None = None
        if os.geteuid() == 0:
            known = {entry.pw_name for entry in pwd.getpwall()}
            self._user = "postgres" if "postgres" in known else "nobody"
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", str(self._data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")

    @property
    def url(self) -> str:
        return f"postgresql://tester@/postgres?host={self._folder}"

    def new_database(self, name: str) -> str:
        """Its address."""
        self._run("psql", "-h", str(self._folder), "-U", "tester", "-d", "postgres", "-qc", f'CREATE DATABASE "{name}"')
        return f"postgresql://tester@/{name}?host={self._folder}"

    def start(self) -> None:
        options = {
            "listen_addresses": "",
            "unix_socket_directories": self._folder,
            "max_connections": 50,
            "fsync": "on" if self._durable else "off",
        }
        spelled = " ".join(f"-c {name}={value}" for name, value in options.items())
        # -w waits until the server answers.
        self._run("pg_ctl", "-D", str(self._data), "-w", "-o", spelled, "-l", str(self._folder / "log"), "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        with (self._folder / "commands.log").open("ab") as log:  # a server would keep a pipe open
            subprocess.run(
                [str(self._programs / program), *arguments],
                user=self._user,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                check=True,
                timeout=60,
            )


@contextmanager
def running_postgres(durable: bool = False) -> Iterator[PostgresServer | None]:
    """A server, or None where PostgreSQL is not installed."""
    programs = postgres_programs()
    if programs is None:
        yield None
        return
    # A socket's path may have about a hundred characters, which pytest's own folders pass.
    folder = Path(tempfile.mkdtemp(prefix="lb-pg-"))
    try:
        server = PostgresServer(programs, folder, durable)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
