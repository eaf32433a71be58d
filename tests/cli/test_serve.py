"""``linkedbandits serve``, in a process of its own."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
from contextlib import contextmanager

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.cli.serve import without_password
from tests.support.command_line import COMMAND, environment, refusal, run, run_json
from tools.waiting import SECONDS, join, killed_in_the_end, within


@contextmanager
def serving(*arguments):
    """The process, and the address it announces."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
    )
    with process, killed_in_the_end(process, 2 * SECONDS):
        announced = process.stdout.readline()
        if not announced.startswith("Live page: http://"):
            process.kill()  # else there would be no end of what it says
            pytest.fail(announced + process.stderr.read())
        yield process, announced.split()[2].rstrip("/")


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "experiments.sqlite3")


@pytest.mark.slow
def test_it_serves_until_it_is_told_to_stop_and_forgets_nothing(store):
    with serving("--store", store, "--log-requests") as (process, url):
        new = {"name": "directions", "arms": ["north", "east"]}
        experiment = httpx.post(f"{url}/v1/experiments", json=new, timeout=SECONDS).json()["id"]
        httpx.post(f"{url}/v1/experiments/{experiment}/ask", json={"count": 5}, timeout=SECONDS)
        told = threading.Event()

        def watch():
            with httpx.stream("GET", f"{url}/v1/experiments/{experiment}/events", timeout=SECONDS) as response:
                for _ in response.iter_lines():
                    told.set()

        viewer = threading.Thread(target=watch)
        viewer.start()
        assert told.wait(SECONDS)
        answers = {"answers": [{"play": 0, "hit": "east"}]}
        httpx.post(f"{url}/v1/experiments/{experiment}/tell", json=answers, timeout=SECONDS)
        process.send_signal(signal.SIGTERM)
        _, logged = process.communicate(timeout=SECONDS)
        join(viewer)
        assert process.returncode == 0
    events = [json.loads(line) for line in logged.splitlines()]
    routes = [event["route"] for event in events if event["event"] == "request"]
    assert "/v1/experiments/{experiment}/tell" in routes
    assert "east" not in logged
    with serving("--store", store) as (process, url):
        verdict = httpx.get(f"{url}/v1/experiments/{experiment}/verdict", timeout=SECONDS).json()["verdict"]
        assert (verdict["arm"], verdict["plays"]) == ("east", 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0


@pytest.mark.slow
def test_the_demonstration_plays_by_itself(store):
    with serving("--store", store, "--demo") as (process, url):
        line = process.stdout.readline()
        while "/#/experiments/" not in line:
            assert line, process.stderr.read()
            line = process.stdout.readline()
        experiment = line.strip().rpartition("/")[2]
        with httpx.stream("GET", f"{url}/v1/experiments/{experiment}/events", timeout=SECONDS) as response:
            lines = within(response.iter_lines(), "the demonstration to play")
            views = (json.loads(line[6:]) for line in lines if line.startswith("data: "))
            plays = next(views)["plays"]
            assert next(view for view in views if view["plays"] > plays)
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)


def test_a_public_address_is_refused_without_tokens(store):
    said = refusal("serve", "--store", store, "--host", "0.0.0.0")
    assert "linkedbandits token create" in said
    assert "0.0.0.0" in said


def test_the_demonstration_is_refused_where_tokens_are_demanded(store):
    run("token", "create", "--name", "web1", "--store", store)
    assert "demo-traffic" in refusal("serve", "--store", store, "--demo")
    (listed,) = run_json("token", "list", "--store", store)
    run("token", "revoke", listed["id"], "--store", store)
    assert "demo-traffic" in refusal("serve", "--store", store, "--demo")


def test_the_demonstration_is_refused_where_tokens_are_asked_for(store):
    assert "demo-traffic" in refusal("serve", "--store", store, "--demo", "--require-tokens")


@pytest.mark.slow
def test_a_service_may_demand_tokens_from_the_start(store):
    with serving("--store", store, "--require-tokens") as (_, url):
        assert httpx.get(f"{url}/v1/experiments", timeout=SECONDS).status_code == 401


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--trust-header", "X-User", "--host", "0.0.0.0"), "--trusted-proxy"),
        (("--trust-header", "X-User", "--trusted-proxy", "0.0.0.0/0"), "everybody"),
        (("--trust-header", "X-User", "--proxy-role", "king"), "viewer, player, admin"),
        (("--trusted-proxy", "0.0.0.0/0"), "everybody"),
        (("--trusted-proxy", "127.0.0.1", "--demo"), "demo-traffic"),
        (("--trusted-proxy", "10.0.0.1", "--host", "0.0.0.0"), "no tokens"),
        (("--trust-header", "X-User", "--demo"), "demo-traffic"),
    ],
    ids=str,
)
def test_a_proxy_that_would_let_anybody_in_is_refused(store, arguments, said):
    assert said in refusal("serve", "--store", store, *arguments)


@pytest.mark.slow
def test_behind_a_trusted_proxy_no_token_is_needed_but_a_name_is(store):
    with serving("--store", store, "--trust-header", "X-User", "--proxy-role", "player") as (_, url):
        assert httpx.get(f"{url}/v1/me", timeout=SECONDS).status_code == 401
        me = httpx.get(f"{url}/v1/me", headers={"X-User": "alice"}, timeout=SECONDS).json()
        assert (me["role"], me["name"]) == ("player", "alice")


def test_what_is_chosen_gets_to_the_service(store, monkeypatch):
    given = []

    def refuse(_, settings, *__):
        given.append(settings)
        raise lb.InvalidParameter("enough")

    monkeypatch.setattr("linkedbandits.service.http.server.make_server", refuse)
    assert [refusal("serve", "--store", store, *more) for more in ((), ("--no-webhooks",))] == ["enough"] * 2
    assert [settings.send_webhooks for settings in given] == [True, False]


def test_a_port_that_is_taken_is_refused(store):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert port in refusal("serve", "--store", store, "--port", port)


def test_a_store_that_is_none_is_refused():
    said = refusal("serve", "--store", "redis://me:secret@here")
    assert "redis:// is no store; give a file" in said
    assert "secret" not in said


def test_a_password_is_not_shown():
    assert without_password("postgresql://me:secret@host/db") == "postgresql://me@host/db"
    assert without_password("postgresql://host/db") == "postgresql://host/db"
    assert without_password("postgres://host:5433/db?user=me&password=secret") == "postgresql://me@host:5433/db"
    assert without_password("postgresql://me:secret@host/db?options=a@b") == "postgresql://me@host/db"
    assert without_password("postgresql://me:se?cret@host/db") == "postgresql://me@host/db"
    assert without_password("experiments.sqlite3") == "experiments.sqlite3"


def test_an_address_for_other_servers_is_for_a_store_that_can_be_shared(store):
    said = refusal("serve", "--store", store, "--url-for-others", "http://10.0.0.1:8000")
    assert "is a file for one; leave it out" in said
