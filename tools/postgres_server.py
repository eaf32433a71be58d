"""A real PostgreSQL server for tests and benchmarks, on a private socket in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from tools.waiting import SECONDS, until

_STOP = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}


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
        self._user = user_for_servers()
        if self._user is not None:
            shutil.chown(folder, self._user)
        self._run("initdb", "-D", str(self._data), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._configure()

    @property
    def url(self) -> str:
        """Of the database that every server has."""
        return self._url_of("postgres")

    @property
    def pid(self) -> int:
        """Of the process that all others of the server come from."""
        return self._process.pid

    def new_database(self, name: str) -> str:
        """Its address."""
        self._run("psql", "-h", str(self._folder), "-U", "tester", "-d", "postgres", "-qc", f'CREATE DATABASE "{name}"')
        return self._url_of(name)

    def start(self) -> None:
        """Returns when it answers."""
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*ending_with_its_parent(), str(self._programs / "postgres"), "-D", str(self._data)],
                user=self._user,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until(lambda: self._process.poll() is not None or self._answers(), "PostgreSQL to answer")
        assert self._process.poll() is None, (self._folder / "log").read_text(encoding="utf-8")

    def stop(self, mode: str = "fast") -> None:
        """Returns when it is gone."""
        self._process.send_signal(_STOP[mode])
        try:
            self._process.wait(SECONDS)
        finally:
            self._process.kill()

    @contextmanager
    def stopped_in_its_tracks(self) -> Iterator[None]:
        """All of its processes are there, and none does anything, until the context ends."""
        frozen: list[int] = []
        try:
            while new := sorted(self._processes() - set(frozen)):  # the first makes no more of them
                for process in new:
                    os.kill(process, signal.SIGSTOP)
                    frozen.append(process)
            yield
        finally:
            for process in reversed(frozen):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)

    def _processes(self) -> set[int]:
        found = {self._process.pid}
        for status in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):  # it has ended meanwhile
                number, _, rest = status.read_text().partition(" (")
                if int(rest.rpartition(") ")[2].split()[1]) == self._process.pid:
                    found.add(int(number))
        return found

    def _answers(self) -> bool:
        return self._status("pg_isready", "-q", "-h", str(self._folder)) == 0

    def _url_of(self, database: str) -> str:
        return f"postgresql://tester@/{database}?host={quote(str(self._folder))}"

    def _configure(self) -> None:
        """In the server's file, where a path may have blanks in it."""
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": f'"{self._folder}"',
            "max_connections": "50",
            "fsync": "on" if self._durable else "off",
        }
        with (self._data / "postgresql.auto.conf").open("a", encoding="utf-8") as file:
            for name, value in settings.items():
                escaped = value.replace("'", "''")
                file.write(f"{name} = '{escaped}'\n")

    def _run(self, program: str, *arguments: str) -> None:
        assert self._status(program, *arguments) == 0, (self._folder / "commands.log").read_text(encoding="utf-8")

    def _status(self, program: str, *arguments: str) -> int:
        with (self._folder / "commands.log").open("ab") as log:
            return subprocess.run(
                [str(self._programs / program), *arguments],
                user=self._user,
                cwd=self._folder,
                stdout=log,
                stderr=log,
                check=False,
                timeout=SECONDS,
            ).returncode


def user_for_servers() -> str | None:
    """The user to run a server as that refuses to run as root; None if this process is not root."""
    if os.geteuid() != 0:
        return None
    return "postgres" if "postgres" in {entry.pw_name for entry in pwd.getpwall()} else "nobody"


def ending_with_its_parent() -> list[str]:
    """What to put before a command, so that tests that are killed leave no server behind, nor its shared memory."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "QUIT"] if setpriv else []


def where_a_server_can_work() -> str:
    """Where temporary files go, unless a socket's path would be too long there, or closed to whom the server runs as.

    A socket's path may have 107 bytes, which pytest's own folders pass.
    """
    usual = tempfile.gettempdir()
    short = len(os.fsencode(f"{usual}/lb-pg-12345678/.s.PGSQL.5432.lock")) <= 107
    ways = [Path(usual), *Path(usual).parents]
    reached = os.geteuid() != 0 or all(way.stat().st_mode & stat.S_IXOTH for way in ways)
    return usual if short and reached else "/tmp"


@contextmanager
def running_postgres(durable: bool = False) -> Iterator[PostgresServer | None]:
    """A server, or None where PostgreSQL is not installed."""
    programs = postgres_programs()
    if programs is None:
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="lb-pg-", dir=where_a_server_can_work()))
    try:
        server = PostgresServer(programs, folder, durable)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
