"""``linkedbandits token``."""

from __future__ import annotations

from contextlib import closing

import pytest

from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import digest_of
from tests.support.command_line import refusal, run, run_json
from tests.support.service_parts import create


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
    assert "U+000A, which cannot be seen; leave it out" in refusal(
        "token", "create", "--name", "a\nb", "--store", store
    )


def test_the_store_may_come_from_the_environment(store, monkeypatch):
    monkeypatch.setenv("LINKEDBANDITS_STORE", store)
    assert run("token", "create", "--name", "web1").returncode == 0
    assert [listed["name"] for listed in run_json("token", "list", "--store", store)] == ["web1"]


def test_what_does_not_exist_is_refused(store):
    assert "viewer, player, admin" in refusal("token", "create", "--role", "king", "--name", "x", "--store", store)
    open_store(store).close()
    assert "'nobody'" in refusal("token", "revoke", "nobody", "--store", store)


@pytest.mark.parametrize("command", [("list",), ("revoke", "nobody")], ids=["list", "revoke"])
@pytest.mark.parametrize("there", [None, ""], ids=["no file", "an empty file"])
def test_who_looks_for_tokens_makes_no_store(tmp_path, store, command, there):
    if there is not None:
        (tmp_path / "experiments.sqlite3").write_text(there)
    said = refusal("token", *command, "--store", store)
    assert said.startswith(f"there is no store in {store}; name the one you mean with --store")
    assert [path.stat().st_size for path in tmp_path.iterdir()] == ([] if there is None else [0])


def test_a_token_may_be_limited(store):
    with closing(open_store(store)) as opened, Desk(opened) as desk:
        experiment = create(desk)
    limits = ("--experiment", experiment, "--name-prefix", "shop/", "--name-prefix", "api/")
    made = run_json("token", "create", "--name", "web1", *limits, "--store", store)
    assert (made["experiments"], made["name_prefixes"]) == ([experiment], ["api/", "shop/"])
    (listed,) = run_json("token", "list", "--store", store)
    assert (listed["experiments"], listed["name_prefixes"]) == ([experiment], ["api/", "shop/"])
    assert f"{experiment}, api/*, shop/*" in run("token", "list", "--store", store).stdout
    (entry,) = run_json("audit", "--action", "token-create", "--store", store)
    assert entry["details"]["experiments"] == [experiment]
    assert run("token", "revoke", made["id"], "--store", store).returncode == 0
    assert run_json("token", "list", "--store", store) == []


def test_limits_that_are_none_are_refused(store):
    open_store(store).close()
    assert "there is no experiment 'x'" in refusal(
        "token", "create", "--name", "w", "--experiment", "x", "--store", store
    )
    assert "all names begin" in refusal("token", "create", "--name", "w", "--name-prefix", "", "--store", store)
    assert run_json("token", "list", "--store", store) == []
