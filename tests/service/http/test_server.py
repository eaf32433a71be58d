"""The web server: where it listens, whom it lets in without a token, and how it stops."""

from __future__ import annotations

import signal
import threading
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.http.server import listen, make_server
from linkedbandits.service.http.service import Settings
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import make_token
from tests.support.running_service import running_service
from tools.waiting import SECONDS, join


def test_a_public_address_is_refused_without_tokens(tmp_path):
    store = open_store(str(tmp_path / "experiments.sqlite3"))
    with pytest.raises(lb.InvalidParameter, match="linkedbandits token create"):
        make_server(store, Settings(), "0.0.0.0", 0)
    store.close()


def test_a_public_address_with_tokens_wants_one_for_everything_but_health_and_the_page(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    store = open_store(path)
    text, record = make_token("boss", "admin", lambda: 0.0)
    with store.writing() as writing:
        writing.add_token(record)
    store.close()
    with running_service(path, host="0.0.0.0") as service:
        for route in ("/v1/experiments", "/v1/events", "/metrics"):
            response = service.http.get(route)
            assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
            assert response.json()["type"] == "urn:linkedbandits:missing-token"
        for route in ("/healthz", "/readyz", "/", "/openapi.json"):
            assert service.http.get(route).status_code == 200
        signed = {"Authorization": f"Bearer {text}"}
        assert service.http.get("/v1/experiments", headers=signed | {"Host": "bandits.example"}).status_code == 200


def test_who_revokes_the_last_token_does_not_open_the_service(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    with running_service(path) as service:
        _, token_id = service.make_token("admin")
        with service.store.writing() as writing:
            writing.remove_token(token_id)
    with running_service(path) as service:
        assert service.http.get("/v1/experiments").status_code == 401
    with running_service(path, Settings(reopen=True)) as service:
        assert service.http.get("/v1/experiments").status_code == 200


def test_streams_end_when_the_service_stops(own_service):
    experiment = own_service.create()
    ended = threading.Event()

    def watch():
        with own_service.http.stream("GET", f"/v1/experiments/{experiment}/events") as response:
            for _ in response.iter_lines():
                started.set()
        ended.set()

    started = threading.Event()
    thread = threading.Thread(target=watch)
    thread.start()
    assert started.wait(SECONDS)
    own_service.server.should_exit = True
    assert ended.wait(SECONDS), "the stream went on after the signal to stop"
    join(thread)


def test_a_port_that_is_taken_is_refused_with_a_remedy():
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(lb.InvalidParameter, match=rf"127\.0\.0\.1, port {port} .*choose another --port"):
            listen("127.0.0.1", port)


@pytest.mark.parametrize(("host", "url"), [("127.0.0.1", "http://127.0.0.1:81"), ("::1", "http://[::1]:81")])
def test_an_address_is_shown_as_a_browser_takes_it(store, host, url):
    server = make_server(store, Settings(), host, 0)
    listening = SimpleNamespace(getsockname=lambda: (host, 81, 0, 0)[: 4 if ":" in host else 2])
    server.servers = [SimpleNamespace(sockets=[listening])]
    assert server.url == url


def test_the_first_signal_ends_it_in_time_and_the_second_at_once(store, monkeypatch):
    ended = []
    monkeypatch.setattr("linkedbandits.service.http.server.end_in_time", lambda sig: ended.append(("in time", sig)))
    monkeypatch.setattr("linkedbandits.service.http.server.end_now", lambda sig: ended.append(("now", sig)))
    server = make_server(store, Settings(), "127.0.0.1", 0)
    server.handle_exit(signal.SIGTERM, None)
    assert (server.should_exit, ended) == (True, [("in time", signal.SIGTERM)])
    server.handle_exit(signal.SIGTERM, None)
    assert ended[1] == ("now", signal.SIGTERM)


@pytest.mark.parametrize(
    ("host", "tokens", "settings", "is_open"),
    [
        ("127.0.0.1", "never", Settings(), True),
        ("127.0.0.1", "never", Settings(open_without_tokens=False), False),
        ("127.0.0.1", "now", Settings(), False),
        ("127.0.0.1", "once", Settings(), False),
        ("127.0.0.1", "once", Settings(reopen=True), True),
        ("0.0.0.0", "now", Settings(reopen=True), False),
    ],
)
def test_a_service_is_open_without_tokens_where_none_was_ever_made_and_only_this_machine_is_near(
    store, host, tokens, settings, is_open
):
    if tokens != "never":
        with store.writing() as writing:
            _, record = make_token("boss", "admin", lambda: 0.0)
            writing.add_token(record)
            if tokens == "once":
                writing.remove_token(record.id)
    assert make_server(store, settings, host, 0).service.settings.open_without_tokens == is_open


def test_a_signal_before_it_listens_to_signals_stops_it_when_it_has_started(tmp_path, monkeypatch):
    """As soon as the command has left signals to it; it has neither said that it is ready nor served anybody."""
    in_time = []
    monkeypatch.setattr("linkedbandits.service.http.server.end_in_time", in_time.append)
    store = open_store(str(tmp_path / "experiments.sqlite3"))
    said = []
    server = make_server(store, Settings(), "127.0.0.1", 0, said.append)
    server.stop_early(signal.SIGTERM, None)
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    join(running)
    server.stop_early(signal.SIGTERM, None)  # passed on when it has stopped
    assert (said, in_time) == ([], [signal.SIGTERM])
    store.close()
