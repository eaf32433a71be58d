"""Which servers share a PostgreSQL store, and which of them owns which experiment.

All of it is a hint, by which servers save each other work: what is written to an experiment is kept right by its lock
and its head alone. Times are the database's, since the clocks of servers may differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from linkedbandits.service.tables import Cursor

GONE_AFTER = 5.0
"""Seconds without a sign of life after which a server is gone."""
FORGOTTEN_AFTER = 60.0
"""Seconds after which nothing is known of it any more."""

_NOW = "EXTRACT(EPOCH FROM clock_timestamp())"
_ALIVE = f"FROM servers WHERE seen_at > {_NOW} - {GONE_AFTER}"
_LONG_GONE = f"FROM servers WHERE seen_at < {_NOW} - {FORGOTTEN_AFTER}"


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A server: where the others reach it, and what they have to know for it to listen to them."""

    id: str
    url: str
    secret: str


class OwnerTables:
    """One transaction's hands on them."""

    def __init__(self, cursor: Cursor, errors: AbstractContextManager[None], address_here: str | None) -> None:
        """``address_here`` is that of this machine on the way to the database; None by a socket in a file."""
        self.address_here = address_here
        self._cursor = cursor
        self._errors = errors

    def sign_of_life(self, server: ServerRecord) -> None:
        """The server is there, now. It waits for nobody: no other one writes this row."""
        self._run(
            f"INSERT INTO servers (id, url, secret, seen_at) VALUES (%s, %s, %s, {_NOW}) "
            "ON CONFLICT (id) DO UPDATE SET url = excluded.url, seen_at = excluded.seen_at",
            server.id,
            server.url,
            server.secret,
        )

    def any_long_gone(self) -> bool:
        """Is there something to forget?"""
        return bool(self._rows(f"SELECT id {_LONG_GONE} LIMIT 1"))

    def forget_the_long_gone(self) -> None:
        """Of servers that have long been gone, nothing is kept; those that somebody else forgets are left to it."""
        self._run(f"DELETE FROM servers WHERE id IN (SELECT id {_LONG_GONE} FOR UPDATE SKIP LOCKED)")
        if self._cursor.rowcount > 0:
            self._run("DELETE FROM owners WHERE server NOT IN (SELECT id FROM servers)")

    def alive(self) -> list[ServerRecord]:
        """The servers that were seen a moment ago."""
        return [ServerRecord(*row) for row in self._rows(f"SELECT id, url, secret {_ALIVE} ORDER BY id")]

    def owners(self) -> dict[str, str]:
        """The server that owns each experiment, alive or not."""
        return dict(self._rows("SELECT experiment, server FROM owners"))

    def claim(self, experiments: Collection[str], server: str) -> None:
        """Make a server the owner of those experiments that there are and that no server that is alive owns."""
        self._run(
            "INSERT INTO owners (experiment, server) SELECT id, %s FROM experiments WHERE id = ANY(%s) ORDER BY id "
            "ON CONFLICT (experiment) DO UPDATE SET server = excluded.server "
            f"WHERE owners.server NOT IN (SELECT id {_ALIVE})",
            server,
            sorted(experiments),
        )

    def hand_over(self, moves: Mapping[str, str], server: str) -> None:
        """Experiments that a server owns get another owner, each its own."""
        for experiment, successor in sorted(moves.items()):
            self._run(
                "UPDATE owners SET server = %s WHERE experiment = %s AND server = %s", successor, experiment, server
            )

    def release(self, experiments: Collection[str], server: str) -> None:
        """Experiments that a server owns get none."""
        self._run("DELETE FROM owners WHERE server = %s AND experiment = ANY(%s)", server, sorted(experiments))

    def leave(self, server: str) -> None:
        """The server is gone, and owns nothing."""
        self._run("DELETE FROM owners WHERE server = %s", server)
        self._run("DELETE FROM servers WHERE id = %s", server)

    def _run(self, statement: str, *parameters: object) -> None:
        with self._errors:
            self._cursor.execute(statement, parameters)

    def _rows(self, statement: str, *parameters: object) -> list[Any]:
        self._run(statement, *parameters)
        with self._errors:
            return self._cursor.fetchall()


@runtime_checkable
class SharedStore(Protocol):
    """A store that several servers may share without doing each other's work."""

    def owning(self) -> AbstractContextManager[OwnerTables]:
        """A transaction on who shares it, and who owns what."""
        ...
