"""``linkedbandits audit``."""

from __future__ import annotations

import getpass

import pytest

from tests.support.command_line import refusal, run, run_json


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "experiments.sqlite3")


def test_tokens_that_were_made_and_revoked_are_in_it_but_never_the_token(store):
    made = run_json("token", "create", "--name", "web1", "--store", store)
    run("token", "revoke", made["id"], "--store", store)
    entries = run_json("audit", "--store", store)
    assert [(entry["action"], entry["subject"]) for entry in entries] == [
        ("token-revoke", made["id"]),
        ("token-create", made["id"]),
    ]
    assert {(entry["by"]["kind"], entry["by"]["name"]) for entry in entries} == {("command-line", getpass.getuser())}
    assert entries[1]["details"] == {"name": "web1", "role": "player"}
    shown = run("audit", "--store", store).stdout
    assert "token-create" in shown
    assert "name: web1, role: player" in shown
    assert made["token"] not in shown


def test_it_can_be_narrowed(store):
    for name in ("one", "two"):
        run("token", "create", "--name", name, "--store", store)
    assert len(run_json("audit", "--store", store, "--limit", "1")) == 1
    assert len(run_json("audit", "--store", store, "--since", "1h", "--action", "token-create")) == 2
    assert run_json("audit", "--store", store, "--subject", "nothing") == []
    assert "There is nothing in the audit." in run("audit", "--store", store, "--action", "delete").stdout
    assert "token-revoke" in refusal("audit", "--store", store, "--action", "dance")
    assert "90d" in refusal("audit", "--store", store, "--since", "ever")
