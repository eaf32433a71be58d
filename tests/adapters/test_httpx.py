"""Mirrors behind an httpx client, with real servers that fail."""

from __future__ import annotations

import gc
import gzip
import re
import sys
import weakref
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.adapters.httpx import IDEMPOTENT, MIRROR, TRIED, MirrorTransport
from tests.support.http_servers import serving
from tools.waiting import SECONDS, run_async

PAGE = Path(__file__).parents[2] / "docs" / "chains-with-httpx.md"


@pytest.fixture
def servers():
    """Makes servers, which are gone after the test."""
    with ExitStack() as stack:
        yield lambda *answers: [
            stack.enter_context(serving(answer if callable(answer) else lambda *_, answer=answer: answer))
            for answer in answers
        ]


def get(transport, address, way="sync", method="GET", timeout=SECONDS, **options):
    """A request of a client with this transport, sync or async."""
    if way == "sync":
        try:
            return httpx.Client(transport=transport, timeout=timeout).request(method, address, **options)
        finally:
            transport.transport.close()

    async def request():
        transport._async_transport = httpx.AsyncHTTPTransport(verify=False)  # each event loop needs its own
        async with httpx.AsyncClient(transport=transport, timeout=timeout) as client:
            return await client.request(method, address, **options)

    return run_async(request())


BOTH = pytest.mark.parametrize("way", ["sync", "async"])


@BOTH
@pytest.mark.parametrize("fault", [503, 500, 429, 408, "hangs up"], ids=str)
def test_a_mirror_that_fails_is_followed_by_the_next(servers, way, fault):
    bad, good = servers(fault, (200, {}, b"here"))
    transport = MirrorTransport({"bad": bad.address, "good": good.address})
    for _ in range(6):
        response = get(transport, f"{bad.address}/a/b?c=d", way)
        assert (response.status_code, response.text) == (200, "here")
        assert response.extensions[MIRROR] == response.extensions[TRIED][-1] == "good"
        assert str(response.url) == f"{bad.address}/a/b?c=d"  # as the client asked for it
    assert len(good.asked) == 6
    assert {path for _, path, _ in good.asked + bad.asked} == {"/a/b?c=d"}
    assert {headers["Host"] for headers in good.headers} == {good.address.removeprefix("http://")}
    assert transport.chain.status().plays == 6
    assert 0 < len(bad.asked) <= 6


@BOTH
def test_a_mirror_that_is_too_slow_has_failed(servers, way):
    slow, good = servers("slow", 200)
    transport = MirrorTransport([slow.address, good.address])
    timeout = httpx.Timeout(SECONDS, read=0.05)
    assert {get(transport, slow.address, way, timeout=timeout).status_code for _ in range(3)} == {200}
    assert len(good.asked) == 3


def test_a_server_that_is_not_there_has_failed(servers):
    (good,) = servers(200)
    with serving(lambda *_: 200) as server:
        gone = server.address
    transport = MirrorTransport([gone, good.address])
    assert {get(transport, gone).status_code for _ in range(3)} == {200}


@BOTH
def test_what_is_the_request_s_own_fault_is_an_answer(servers, way):
    first, second = servers(404, 404)
    transport = MirrorTransport([first.address, second.address])
    assert get(transport, first.address, way).status_code == 404
    assert len(first.asked) + len(second.asked) == 1
    assert transport.chain.status().failed == 0


@BOTH
def test_what_fails_is_for_the_user_to_say(servers, way):
    first, second = servers(404, 404)
    transport = MirrorTransport([first.address, second.address], fails=lambda response: response.status_code == 404)
    response = get(transport, first.address, way)
    assert (response.status_code, response.text) == (404, "ok")
    assert sorted(response.extensions[TRIED]) == sorted([first.address, second.address])
    assert MIRROR not in response.extensions
    assert (len(first.asked), len(second.asked)) == (1, 1)
    assert transport.chain.status().failed == 1


@BOTH
def test_if_all_fail_the_client_gets_what_came_of_the_last(servers, way):
    first, second = servers(503, "hangs up")
    transport = MirrorTransport([first.address, second.address])
    seen = set()
    for _ in range(8):
        try:
            seen.add(get(transport, first.address, way).status_code)
        except httpx.RemoteProtocolError as error:
            seen.add(error.__notes__[0].partition(";")[2])
    assert seen == {503, " this is what came of the last"}
    assert len(first.asked) == len(second.asked) == 8
    assert transport.chain.status().failed == 8


def test_what_a_failed_call_held_is_free_when_it_is_over(servers):
    first, second = servers("hangs up", "hangs up")
    transport = MirrorTransport([first.address, second.address])
    held = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(2):
            try:
                get(transport, first.address)
            except httpx.RemoteProtocolError as error:
                held.append(weakref.ref(error))
        assert [error() for error in held] == [None, None]
    finally:
        gc.enable()


@BOTH
def test_a_torn_body_fails_where_the_whole_is_wanted_and_else_goes_to_the_client(servers, way):
    body = gzip.compress(b"the whole of it")
    torn, good = servers("torn", (200, {"Content-Encoding": "gzip"}, body))
    transport = MirrorTransport([torn.address, good.address], whole=True)
    assert {get(transport, torn.address, way).text for _ in range(4)} == {"the whole of it"}
    assert torn.asked
    transport = MirrorTransport([torn.address, good.address])
    with pytest.raises(httpx.RemoteProtocolError):
        [get(transport, torn.address, way) for _ in range(4)]


def test_a_body_is_not_read_unless_it_has_to_be(servers):
    first, second = servers((200, {}, b"x" * 1000), (200, {}, b"x" * 1000))
    transport = MirrorTransport([first.address, second.address])
    with httpx.Client(transport=transport) as client, client.stream("GET", first.address) as response:
        assert not response.is_stream_consumed
        assert b"".join(response.iter_bytes()) == b"x" * 1000


@BOTH
def test_what_may_not_be_done_twice_is_refused_unless_it_is_allowed(servers, way):
    bad, good = servers(503, 200)
    mirrors = [bad.address, good.address]
    with pytest.raises(lb.InvalidParameter, match=r"POST may be done twice .* methods=IDEMPOTENT \| {'POST'}"):
        get(MirrorTransport(mirrors), bad.address, way, method="POST", content=b"pay")
    assert bad.asked == good.asked == []
    allowed = MirrorTransport(mirrors, methods=IDEMPOTENT | {"post"})
    for _ in range(3):
        assert get(allowed, bad.address, way, method="POST", content=b"pay").status_code == 200
    assert {(method, body) for method, _, body in bad.asked + good.asked} == {("POST", b"pay")}


@BOTH
def test_a_body_that_comes_in_parts_is_sent_to_each(servers, way):
    bad, good = servers(503, 200)
    transport = MirrorTransport([bad.address, good.address])

    def parts():
        yield b"one "
        yield b"two"

    async def parts_awaited():
        for part in parts():
            yield part

    for _ in range(2):
        body = parts() if way == "sync" else parts_awaited()
        headers = {"Content-Length": "7"}
        assert get(transport, bad.address, way, method="PUT", content=body, headers=headers).status_code == 200
    assert good.asked == 2 * [("PUT", "/", b"one two")]
    assert ("PUT", "/", b"one two") in bad.asked


@BOTH
def test_only_what_is_below_the_first_mirror_is_mirrored(servers, way):
    first, second, other = servers(200, 200, 204)
    transport = MirrorTransport([f"{first.address}/simple", f"{second.address}/copy/of/it/"])
    assert get(transport, f"{other.address}/simple/x", way, method="POST").status_code == 204
    assert get(transport, f"{first.address}/simpler", way).status_code == 200
    assert (first.asked.pop()[1], transport.chain.status().calls) == ("/simpler", 0)
    for _ in range(12):
        assert get(transport, f"{first.address}/simple/numpy/?q=1", way).status_code == 200
    assert get(transport, f"{first.address}/simple", way).status_code == 200
    assert {path for _, path, _ in first.asked} <= {"/simple/numpy/?q=1", "/simple"}
    assert {path for _, path, _ in second.asked} <= {"/copy/of/it/numpy/?q=1", "/copy/of/it"}
    assert len(first.asked) + len(second.asked) == 13 > len(second.asked) > 0
    assert len(other.asked) == 1


def test_a_redirect_leads_to_the_mirror_that_gave_it(servers):
    def answer(_method, path, _body):
        return (302, {"Location": "/copy/b"}) if path.endswith("/a") else 200

    bad, good = servers(503, answer)
    transport = MirrorTransport([bad.address, f"{good.address}/copy"])
    with httpx.Client(transport=transport, follow_redirects=True) as client:
        response = client.get(f"{bad.address}/a")
    assert (response.status_code, str(response.url)) == (200, f"{good.address}/copy/b")


def test_it_learns_which_mirror_should_come_first(servers):
    bad, good = servers(503, 200)
    transport = MirrorTransport({"bad": bad.address, "good": good.address}, delta=0.1, watch=None)
    with httpx.Client(transport=transport) as client:
        while transport.chain.verdict() is None:
            assert client.get(bad.address).status_code == 200
        asked = len(bad.asked)
        client.get(bad.address)
    assert transport.chain.order == ("good", "bad")
    assert len(bad.asked) == asked


def test_other_errors_end_the_request_and_leave_no_connection_behind(servers):
    first, second = servers(200, 200)

    def broken(_response):
        raise KeyError("mine")

    transport = MirrorTransport([first.address, second.address], fails=broken)
    with httpx.Client(transport=transport) as client:
        with pytest.raises(KeyError):
            client.get(first.address)
        assert [each.is_available() or each.is_idle() for each in transport.transport._pool.connections] in ([], [True])
    assert transport.chain.status().lost == 1


@pytest.mark.parametrize(
    ("mirrors", "changes", "message"),
    [
        ([], {}, "no options are given; a chain needs at least two"),
        (["http://a"], {}, "is the only option; a chain needs at least two"),
        ("http://a", {}, "mirrors='http://a' is one address; give a list"),
        (["http://a", "b.example"], {}, "mirror 'b.example' is no address with a host"),
        (["http://a", "ftp://b"], {}, "mirror 'ftp://b' is no address with a host"),
        (["http://a", "http://b"], {"worked": bool}, "worked is given; say what fails with fails="),
        (["http://a", "http://b"], {"delta": 7}, "delta=7 is not between 0 and 1"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(mirrors, changes, message):
    with pytest.raises(lb.LinkedBanditError, match=message):
        MirrorTransport(mirrors, **changes)


def test_without_httpx_the_extra_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "linkedbandits.adapters.httpx")
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(lb.MissingExtra, match=r"pip install 'linkedbandits\[httpx\]'"):
        import_module("linkedbandits.adapters.httpx")


def test_the_code_of_the_page_runs(servers, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = servers(200, 503)
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(block.replace("https://a.example", first.address).replace("https://b.example", second.address), names)
    assert names["response"].status_code == 200
