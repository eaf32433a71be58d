"""``linkedbandits token``."""

from __future__ import annotations

import pytest

from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import digest_of
from tests.support.command_line import refusal, run, run_json


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "experiments.sqlite3")


def test_a_token_is_printed_once_listed_and_revoked(store):
    made = run("token", "create", "--role", "player", "--name", "web1", "--store", store)
    assert made.returncode == 0
    token = made.stdout.strip()
    assert token.startswith("lb_")
    assert token not in made.stderr
    opened = open_store(store)
    with opened.reading() as reading:
        (record,) = reading.tokens()
    opened.close()
    assert (record.name, record.role, record.digest) == ("web1", "player", digest_of(token))
    (listed,) = run_json("token", "list", "--store", store)
    assert listed == {"id": record.id, "name": "web1", "role": "player", "created_at": record.created_at}
    assert run("token", "revoke", record.id, "--store", store).returncode == 0
    assert "There are no tokens." in run("token", "list", "--store", store).stdout


def test_a_name_is_not_taken_for_markup(store):
    assert run("token", "create", "--name", "[/x][red]", "--store", store).returncode == 0
    assert "[/x][red]" in run("token", "list", "--store", store).stdout


def test_a_name_that_cannot_be_shown_is_refused(store):
    assert "printable" in refusal("token", "create", "--name", "a\nb", "--store", store)


def test_the_store_may_come_from_the_environment(store, monkeypatch):
    monkeypatch.setenv("LINKEDBANDITS_STORE", store)
    assert run("token", "create", "--name", "web1").returncode == 0
    assert [listed["name"] for listed in run_json("token", "list", "--store", store)] == ["web1"]


def test_what_does_not_exist_is_refused(store):
    assert "viewer, player, admin" in refusal("token", "create", "--role", "king", "--name", "x", "--store", store)
    assert "'nobody'" in refusal("token", "revoke", "nobody", "--store", store)
