"""Answers are packed where that is worth it, and are the same for everybody."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from functools import partial

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.service.http import compression
from linkedbandits.service.http.compression import LARGEST_AT_ONCE, SMALLEST, Compression
from linkedbandits.service.http.pools import Pools
from tests.support.layers import Inner, answer_of, request
from tests.support.running_service import running_service
from tools.waiting import SECONDS, join

LONG = json.dumps(list(range(1_000))).encode()


def fetched(service, path, **headers):
    """The bytes as they came, which httpx would unpack."""
    with service.http.stream("GET", path, headers=headers) as response:
        return response, b"".join(response.iter_raw())


@pytest.mark.parametrize("path", ["/openapi.json", "/", "/static/main.js", "/static/page.css", "/docs"])
def test_what_is_long_is_packed_for_those_who_take_it(service, path):
    packed, small = fetched(service, path, **{"Accept-Encoding": "gzip"})
    plain, large = fetched(service, path, **{"Accept-Encoding": "identity"})
    assert (packed.headers["content-encoding"], gzip.decompress(small)) == ("gzip", large)
    assert len(small) < len(large) / 2
    assert int(packed.headers["content-length"]) == len(small)
    assert "content-encoding" not in plain.headers
    assert plain.headers["vary"] == packed.headers["vary"] == "Accept-Encoding"


def test_a_journal_is_packed_as_it_goes_and_its_parquet_is_not(service):
    experiment = service.create()
    service.play(experiment, 200)
    where = f"/v1/experiments/{experiment}/journal"
    packed, small = fetched(service, where, **{"Accept-Encoding": "gzip"})
    _, large = fetched(service, where, **{"Accept-Encoding": "identity"})
    assert (packed.headers["content-encoding"], gzip.decompress(small)) == ("gzip", large)
    assert (
        "content-encoding" not in fetched(service, f"{where}?format=parquet", **{"Accept-Encoding": "gzip"})[0].headers
    )


def test_events_come_as_they_are_and_at_once(service):
    service.create()
    with service.http.stream("GET", "/v1/events", headers={"Accept-Encoding": "gzip"}) as response:
        lines = response.iter_lines()
        next(lines)
        assert "content-encoding" not in response.headers


def test_asks_are_left_alone(service):
    experiment = service.create(parallel=1_000)
    asked = service.post(experiment, "ask", {"count": 500})
    assert len(asked.content) > 10_000
    assert "content-encoding" not in asked.headers


def test_a_file_that_is_known_already_is_not_sent_again_packed_or_not(service):
    for taken in ("gzip", "identity"):
        first, _ = fetched(service, "/static/main.js", **{"Accept-Encoding": taken})
        again = service.http.get(
            "/static/main.js", headers={"Accept-Encoding": taken, "If-None-Match": first.headers["etag"]}
        )
        assert (again.status_code, again.content) == (304, b"")


def test_head_has_no_content(service):
    answer = service.http.head("/", headers={"Accept-Encoding": "gzip"})
    assert (answer.status_code, answer.content, "content-encoding" in answer.headers) == (200, b"", False)
    assert ("content-length" in answer.headers, answer.headers["vary"]) == (False, "Accept-Encoding")


def start(media_type="application/json", status=200, **headers):
    encoded = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-type", media_type.encode()), *encoded],
    }


def body(content, more=False):
    return {"type": "http.response.body", "body": content, "more_body": more}


def sent_through(*answer, layer=None, path="/", method="GET", accepts="gzip"):
    inner = Inner(*answer)
    scope = request(method, path, accept_encoding=accepts)
    return answer_of(Compression(inner) if layer is None else layer(inner), scope)


@pytest.mark.parametrize(
    "answer",
    [
        (start(), body(LONG[: SMALLEST - 1])),
        (start("text/event-stream"), body(LONG)),
        (start("application/vnd.apache.parquet"), body(LONG)),
        (start(content_encoding="br"), body(LONG)),
        (start(status=206), body(LONG)),
    ],
    ids=["small", "events", "parquet", "packed already", "a part"],
)
def test_what_is_not_worth_it_passes_as_it_is(answer):
    _, content = sent_through(*answer)
    assert content == answer[1]


@given(st.lists(st.binary(max_size=2 * SMALLEST), min_size=1, max_size=6))
def test_pieces_are_packed_into_one_stream(pieces):
    """Whatever comes in however many pieces is unpacked to the same bytes, and has its last message."""
    messages = [body(piece, more=number < len(pieces) - 1) for number, piece in enumerate(pieces)]
    begun, *rest = sent_through(start(content_length="7"), *messages)
    headers = dict(begun["headers"])
    whole = b"".join(message["body"] for message in rest)
    if len(pieces) > 1:
        assert (gzip.decompress(whole), b"content-length" in headers) == (b"".join(pieces), False)
    elif len(pieces[0]) >= SMALLEST:
        assert (gzip.decompress(whole), headers[b"content-length"]) == (pieces[0], str(len(whole)).encode())
    else:
        assert whole == pieces[0]
    assert [message.get("more_body", False) for message in rest][-1] is False


def test_a_file_is_packed_once_as_long_as_it_is_the_same(monkeypatch):
    packed = []

    def noting(*arguments):
        packed.append(arguments)
        return real(*arguments)

    real = zlib.compressobj
    monkeypatch.setattr(compression.zlib, "compressobj", noting)
    inner = Inner(start("text/css", etag='"a"'), body(LONG))
    layer = Compression(inner)
    for path, etag in (("/a", '"a"'), ("/a", '"a"'), ("/b", '"a"'), ("/a", '"b"'), ("/a", '"a"')):
        inner.answer = (start("text/css", etag=etag), body(LONG))
        begun, content = answer_of(layer, request("GET", path, accept_encoding="gzip"))
        assert gzip.decompress(content["body"]) == LONG
        assert dict(begun["headers"])[b"etag"] == f"W/{etag}".encode()
    assert len(packed) == 3
    inner.answer = (start(), body(LONG))  # what has no tag may be another one each time
    for _ in range(2):
        answer_of(layer, request("GET", "/a", accept_encoding="gzip"))
    assert len(packed) == 5


def test_much_is_packed_in_a_thread_of_its_own(monkeypatch):
    threads = []

    class Noting:
        def compress(self, content):
            threads.append(threading.current_thread().name)
            return b""

        def flush(self):
            return b"end"

    monkeypatch.setattr(Compression, "packer", lambda self: Noting())
    pools = Pools()
    for size in (LARGEST_AT_ONCE, LARGEST_AT_ONCE + 1):
        layer = partial(Compression, run=pools.compression.run)
        sent_through(start(), body(b" " * size), layer=layer)
    pools.close()
    assert threads[0] == threading.current_thread().name
    assert threads[1].startswith("compression")


def test_its_threads_end_with_the_service(tmp_path):
    before = {thread for thread in threading.enumerate() if thread.name.startswith("compression")}
    with running_service(str(tmp_path / "a.sqlite3")) as service:
        experiment = service.create(arms=[f"a rather long name of arm {number}" * 2 for number in range(900)])
        answer = service.http.get(f"/v1/experiments/{experiment}", headers={"Accept-Encoding": "gzip"})
        assert len(answer.content) > LARGEST_AT_ONCE
        began = {thread for thread in threading.enumerate() if thread.name.startswith("compression")} - before
        assert began
    join(*began)


def test_the_client_of_the_library_reads_what_is_packed(service):
    experiment = service.create(arms=[f"a rather long name of arm {number}" for number in range(60)])
    answer = httpx.get(f"{service.url}/v1/experiments/{experiment}", timeout=SECONDS)
    assert (answer.headers["content-encoding"], len(answer.json()["arms"])) == ("gzip", 60)
