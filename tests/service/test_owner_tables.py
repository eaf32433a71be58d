"""Who shares a PostgreSQL store, and who owns what: by the database's clock alone."""

from __future__ import annotations

from contextlib import closing

import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.owner_tables import FORGOTTEN_AFTER, GONE_AFTER, ServerRecord, SharedStore
from linkedbandits.service.store import open_store
from tests.support.service_parts import create

ONE = ServerRecord("one", "http://10.0.0.1:8000", "s1")
TWO = ServerRecord("two", "http://10.0.0.2:8000", "s2")


@pytest.fixture
def shared(postgres_url):
    with closing(open_store(postgres_url)) as store:
        yield store


def seen_before(store, server: str, seconds: float) -> None:
    """The server gave its last sign of life so long ago."""
    with store.owning() as tables:
        tables._run("UPDATE servers SET seen_at = seen_at - %s WHERE id = %s", seconds, server)


def made(store, count: int) -> list[str]:
    with Desk(store) as desk:
        return sorted(create(desk) for _ in range(count))


def test_postgresql_can_be_shared_and_a_file_cannot(shared, store):
    assert isinstance(shared, SharedStore)
    assert not isinstance(store, SharedStore)


def test_servers_are_alive_as_long_as_they_give_signs_of_life(shared):
    with shared.owning() as tables:
        tables.sign_of_life(ONE)
        tables.sign_of_life(TWO)
        assert tables.alive() == [ONE, TWO]
    seen_before(shared, "one", GONE_AFTER + 1)
    with shared.owning() as tables:
        assert tables.alive() == [TWO]
        tables.sign_of_life(ONE)
        assert tables.alive() == [ONE, TWO]


def test_an_experiment_has_one_owner_until_that_is_gone(shared):
    first, second = made(shared, 2)
    with shared.owning() as tables:
        tables.sign_of_life(ONE)
        tables.sign_of_life(TWO)
        tables.claim([first], "one")
        tables.claim([second, first, "no such experiment"], "two")
        assert tables.owners() == {first: "one", second: "two"}
    seen_before(shared, "one", GONE_AFTER + 1)
    with shared.owning() as tables:
        tables.claim([first], "two")
        assert tables.owners() == {first: "two", second: "two"}


def test_owners_hand_over_and_release_what_is_theirs_alone(shared):
    first, second, third = made(shared, 3)
    with shared.owning() as tables:
        tables.sign_of_life(ONE)
        tables.sign_of_life(TWO)
        tables.claim([first, second], "one")
        tables.claim([third], "two")
        tables.hand_over({first: "two", third: "one"}, "one")
        assert tables.owners() == {first: "two", second: "one", third: "two"}
        tables.release([second, third], "one")
        assert tables.owners() == {first: "two", third: "two"}
        tables.leave("two")
        assert (tables.owners(), tables.alive()) == ({}, [ONE])


def test_nothing_is_kept_of_servers_that_have_long_been_gone(shared):
    [experiment] = made(shared, 1)
    with shared.owning() as tables:
        tables.sign_of_life(ONE)
        tables.claim([experiment], "one")
    seen_before(shared, "one", FORGOTTEN_AFTER + 1)
    with shared.owning() as tables:
        tables.sign_of_life(TWO)
        assert tables.any_long_gone()
        tables.forget_the_long_gone()
        assert not tables.any_long_gone()
        assert tables.owners() == {}
        assert tables._rows("SELECT id FROM servers") == [("two",)]


def test_who_comes_by_a_socket_in_a_file_has_no_address(shared):
    with shared.owning() as tables:
        assert tables.address_here is None


def test_a_claim_does_not_wait_for_an_experiment_that_is_locked(shared, monkeypatch):
    [experiment] = made(shared, 1)
    with shared.writing() as writing:
        writing.lock(experiment)
        with shared.owning() as tables:
            tables._run("SET LOCAL lock_timeout = '1ms'")
            tables.sign_of_life(ONE)
            tables.claim([experiment], "one")
    with shared.owning() as tables:
        assert tables.owners() == {experiment: "one"}


def test_a_server_that_hangs_while_it_claims_keeps_no_other_from_giving_signs_of_life(shared, monkeypatch):
    """Nor do those wait long who claim the same, or forget the same server."""
    monkeypatch.setattr("linkedbandits.service.postgres_store.OWNERS_SECONDS", 0.02)
    [experiment] = made(shared, 1)
    with shared.owning() as tables:
        tables.sign_of_life(ServerRecord("gone", "http://c", "s"))
    seen_before(shared, "gone", FORGOTTEN_AFTER + 1)
    with shared.owning() as hanging:
        hanging.forget_the_long_gone()
        hanging.claim([experiment], "one")
        with shared.owning() as tables:
            tables.sign_of_life(TWO)
            tables.forget_the_long_gone()
        with pytest.raises(lb.StoreUnavailable, match="lock timeout"), shared.owning() as tables:
            tables.claim([experiment], "two")
    with shared.owning() as tables:
        assert [server.id for server in tables.alive()] == ["two"]
