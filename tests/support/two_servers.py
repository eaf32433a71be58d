"""Two servers of this process on one PostgreSQL store, which know each other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from linkedbandits.service import owner_tables
from linkedbandits.service.http import forwarding
from linkedbandits.service.http.service import Settings
from linkedbandits.service.store import Store
from tests.support.running_service import RunningService, running_service
from tools.waiting import SECONDS, until


class KnownServer(RunningService):
    """One that can be asked what it works on."""

    @property
    def owners(self):
        return self.server.service.owners

    def in_memory(self) -> set[str]:
        """The experiments that this server has replayed."""
        return set(self.server.service.desk._groups._open)


@contextmanager
def known_server(url: str, settings: Settings | None = None) -> Iterator[KnownServer]:
    with running_service(url, settings) as running:
        yield KnownServer(running.url, running.store, running.server, running.http)


@contextmanager
def two_servers(url: str, settings: Settings | None = None) -> Iterator[tuple[KnownServer, KnownServer]]:
    """Both, when they have seen each other; however busy the machine is, neither takes the other for gone."""
    with pytest.MonkeyPatch.context() as patch, known_server(url, settings) as one, known_server(url, settings) as two:
        patch.setattr(owner_tables, "_ALIVE", "FROM servers WHERE true")
        patch.setattr(forwarding, "SECONDS_TO_CLAIM", SECONDS)
        patch.setattr(forwarding, "SECONDS_TO_CONNECT", SECONDS)
        until(lambda: one.owners.is_alive(two.owners.id) and two.owners.is_alive(one.owners.id), "servers to meet")
        yield one, two


def owner_on_record(store: Store, experiment: str) -> str | None:
    """The identifier of the server that owns an experiment."""
    with store.owning() as tables:
        return tables.owners().get(experiment)
