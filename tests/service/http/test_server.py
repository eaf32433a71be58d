"""The web server: where it listens, whom it lets in without a token, and how it stops."""

from __future__ import annotations

import threading

import pytest

import linkedbandits as lb
from linkedbandits.service.http.server import make_server
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
