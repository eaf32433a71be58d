"""What the commands around the live service share: a store that is closed in the end, and the extra to install."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.cli.service_options import opened_store, service_extra
from linkedbandits.service.sqlite_store import SqliteStore


class OnPurpose(Exception):
    pass


def is_closed(store):
    try:
        with store.reading():
            return False
    except lb.StoreUnavailable:
        return True


def test_a_store_is_open_within_and_closed_after(tmp_path):
    with opened_store(str(tmp_path / "a.sqlite3")) as store:
        assert isinstance(store, SqliteStore)
        assert not is_closed(store)
    assert is_closed(store)
    assert (tmp_path / "a.sqlite3").exists()


def test_a_store_is_closed_also_where_something_fails(tmp_path):
    with pytest.raises(OnPurpose), opened_store(str(tmp_path / "a.sqlite3")) as store:
        raise OnPurpose
    assert is_closed(store)


def test_what_the_service_is_made_of_and_is_missing_is_named_with_its_extra():
    with pytest.raises(lb.MissingExtra) as caught, service_extra():
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
    assert str(caught.value) == (
        "the live service needs uvicorn; install it with: pip install 'linkedbandits[service]'"
    )


def test_other_errors_go_through_as_they_are():
    with pytest.raises(OnPurpose), service_extra():
        raise OnPurpose
