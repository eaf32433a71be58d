"""Event streams are counted, limited in number, and end with the token that opened them."""

from __future__ import annotations

from functools import partial

import httpx
import pytest

from linkedbandits.service.http import access, stream
from linkedbandits.service.http.open_streams import OpenStreams
from linkedbandits.service.http.service import Settings
from tests.support.running_service import running_service
from tools.waiting import SECONDS, until, within


@pytest.fixture
def room_for_one(monkeypatch):
    """A service that starts after this has room for one event stream."""
    monkeypatch.setattr("linkedbandits.service.http.service.OpenStreams", partial(OpenStreams, most=1))


def test_no_more_streams_than_fit(room_for_one, own_service):
    with httpx.stream("GET", f"{own_service.url}/v1/events", timeout=SECONDS) as response:
        lines = response.iter_lines()  # whoever lets go of it hangs up
        next(lines)
        refused = own_service.http.get("/v1/events")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "10")
        assert refused.json()["type"] == "urn:linkedbandits:service-unavailable"

    def is_admitted():
        with own_service.http.stream("GET", "/v1/events") as response:
            return response.status_code == 200

    until(is_admitted, "room for a viewer, after one has left")


def test_a_revoked_token_ends_the_stream_it_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(access, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        kept, _ = service.make_token("viewer")
        revoked, token_id = service.make_token("viewer")

        def watch(token):
            signed = {"Authorization": f"Bearer {token}"}
            return httpx.stream("GET", f"{service.url}/v1/events", headers=signed, timeout=SECONDS)

        with watch(kept) as staying, watch(revoked) as going:
            going_on = going.iter_lines()
            next(going_on)
            with service.store.writing() as writing:
                writing.remove_token(token_id)
            for _ in within(going_on, "the end of a stream without its token"):
                pass
            after = staying.iter_lines()
            assert all(next(after) is not None for _ in range(20))


def test_a_service_without_tokens_ends_its_streams_when_one_is_made(own_service, monkeypatch):
    monkeypatch.setattr(access, "REFRESH_SECONDS", 0.05)
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.05)
    with own_service.http.stream("GET", "/v1/events") as response:
        lines = response.iter_lines()
        next(lines)
        own_service.make_token("admin")
        for _ in within(lines, "the end of a stream without a token"):
            pass
