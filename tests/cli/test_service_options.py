"""What the commands around the live service share: a store that is closed in the end, and the extra to install."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import linkedbandits as lb
from linkedbandits.cli.service_options import opened_store, service_extra, shown, time_of
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal, run
from tests.support.old_store import make_old_store


class OnPurpose(Exception):
    pass


def is_closed(store):
    try:
        with store.reading():
            return False
    except lb.StoreUnavailable:
        return True


def test_a_store_is_open_within_and_closed_after(tmp_path):
    with opened_store(str(tmp_path / "a.sqlite3"), create=True) as store:
        assert isinstance(store, SqliteStore)
        assert not is_closed(store)
    assert is_closed(store)
    assert (tmp_path / "a.sqlite3").exists()


def test_a_store_is_closed_also_where_something_fails(tmp_path):
    with pytest.raises(OnPurpose), opened_store(str(tmp_path / "a.sqlite3"), create=True) as store:
        raise OnPurpose
    assert is_closed(store)


LOOKING = [("audit",), ("token", "list"), ("webhook", "list"), ("prune", "--archived-before", "9d")]
CHANGING = [
    ("delete", "x"),
    ("prune", "--archived-before", "9d", "--yes"),
    ("compact",),
    ("token", "revoke", "x"),
    ("webhook", "delete", "x"),
    ("webhook", "test", "x"),
]


@pytest.mark.parametrize("command", LOOKING + CHANGING, ids=" ".join)
def test_no_command_makes_a_store_by_a_mistake_in_its_name(tmp_path, command):
    said = refusal(*command, "--store", str(tmp_path / "a.sqlite3"))
    assert said.startswith(f"there is no store in {tmp_path / 'a.sqlite3'}; name the one you mean with --store")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", LOOKING, ids=" ".join)
def test_who_only_looks_does_not_upgrade_a_store(tmp_path, command):
    """A service of an earlier version may run on it."""
    path = tmp_path / "a.sqlite3"
    make_old_store(f"sqlite:///{path}")
    said = refusal(*command, "--store", str(path))
    assert "is of an earlier version (schema 1;" in said
    assert "'linkedbandits serve'" in said
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT * FROM schema_version").fetchall() == [(1,)]


@pytest.mark.parametrize("command", [("backup", "new"), ("restore", "backup"), ("token", "list")], ids=" ".join)
def test_a_password_in_the_command_line_is_warned_of_and_not_shown(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    open_store("store").close()
    assert run("backup", "backup", "--store", "store").returncode == 0
    address = "host=127.0.0.1 port=1 user=me password=hunter2"
    given = run(*command, "--store", address)
    assert given.returncode == 2
    assert "can read the password in this command line; give the address in LINKEDBANDITS_STORE" in given.stderr
    assert "hunter2" not in given.stdout + given.stderr
    in_the_environment = run(*command, LINKEDBANDITS_STORE=address)
    assert "cannot be used now" in in_the_environment.stderr
    assert "command line" not in in_the_environment.stderr


def test_what_the_service_is_made_of_and_is_missing_is_named_with_its_extra():
    with pytest.raises(lb.MissingExtra) as caught, service_extra():
        raise ModuleNotFoundError("No module named 'uvicorn'", name="uvicorn")
    assert str(caught.value) == (
        "the live service needs uvicorn; install it with: pip install 'linkedbandits[service]'"
    )


def test_other_errors_go_through_as_they_are():
    with pytest.raises(OnPurpose), service_extra():
        raise OnPurpose


NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1_800), ("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600), ("0d", 0)]
)
def test_so_long_ago(text, seconds):
    assert time_of("--since", text, NOW) == NOW - seconds


def test_a_day_begins_in_utc():
    assert shown(time_of("--since", "2026-01-31", NOW)) == "2026-01-31 00:00:00 UTC"


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1.5d", "90 d", "yesterday", "2026-02-30", "9999999d"])
def test_what_is_no_time_is_refused_with_how_to_say_one(text):
    with pytest.raises(lb.InvalidParameter, match=r"--since.*90d, 12h, 4w or 30m"):
        time_of("--since", text, NOW)
