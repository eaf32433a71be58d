"""What other servers pass on is done here; nobody else is listened to."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.http import forwarded as module
from linkedbandits.service.http.commands import PATH, Kind, OutcomeReader, write_batch
from linkedbandits.service.http.forwarded import Forwarded
from linkedbandits.service.http.request_ids import current_request_id
from tests.support.layers import Inner, answer_of, pieces, request
from tools.waiting import run_async


class Answer:
    def __init__(self, body: bytes, status_code: int = 200) -> None:
        self.body, self.status_code = body, status_code


class Parts:
    """As much of a service as the layer needs; it notes whose commands are counted."""

    def __init__(self) -> None:
        self.owners = SimpleNamespace(id="here", secret="s3cret", elsewhere=self.count)
        self.counted = []

    def count(self, experiment, through):
        self.counted.append((experiment, through))


def layer_with(**verbs):
    inner, parts = Inner(), Parts()
    layer = Forwarded(inner, parts)
    layer._verbs = verbs
    return layer, inner, parts


def from_a_server(**changes):
    headers = {"authorization": "Server s3cret", "x_to": "here", "x_from": "there", **changes}
    return request(changes.pop("method", "POST"), PATH, **headers)


def outcomes_in(sent):
    reader = OutcomeReader()
    return dict(found for message in sent[1:] for found in reader.feed(message["body"]))


async def shout(service, experiment, text):
    return Answer(f"{experiment} {text}".encode())


def test_every_command_of_a_batch_gets_its_outcome_and_is_counted_for_its_sender():
    async def refuse(service, experiment):
        raise lb.WrongState("it is paused", reason="experiment_paused")

    async def conflict(service, experiment):
        return Answer(b"{}", 409)

    async def fail(service, experiment):
        raise ZeroDivisionError

    layer, inner, parts = layer_with(shout=shout, refuse=refuse, conflict=conflict, fail=fail)
    batch = [["shout", "x", "a"], ["refuse", "x"], ["conflict", "y"], ["fail", "y"], ["sing", "x"], ["shout", "y", "b"]]
    body = write_batch([json.dumps(["r1", *command]).encode() for command in batch])
    scope = from_a_server()
    sent = answer_of(layer, scope, pieces(body[:9], body[9:]))
    found = outcomes_in(sent)
    assert sent[0]["status"] == 200
    assert [message.get("more_body") for message in sent[1:]][-1] is False
    assert [found[number].kind for number in range(6)] == [
        Kind.ANSWER,
        Kind.ERROR,
        Kind.PROBLEM,
        Kind.ERROR,
        Kind.UNKNOWN,
        Kind.ANSWER,
    ]
    assert (found[0].body, found[5].body, found[2].status) == (b"x a", b"y b", 409)
    assert isinstance(found[1].error(), lb.WrongState)
    assert isinstance(found[3].error(), lb.UnexpectedAnswer)
    assert sorted(parts.counted) == [("x", "there")] * 2 + [("y", "there")] * 3
    assert inner.scopes == []
    assert scope["route"].path == PATH


def test_one_that_takes_long_does_not_keep_the_others_of_its_batch():
    async def run():
        held = asyncio.Event()

        async def hold(service, experiment):
            await held.wait()
            return Answer(b"held")

        layer, _, _ = layer_with(shout=shout, hold=hold)
        messages = iter(pieces(b'[["r1","hold","x"],["r2","shout","x","a"]]'))
        sent = []

        async def receive():
            return next(messages)

        async def send(message):
            sent.append(message)
            if len(sent) == 2:
                assert outcomes_in(sent)[1].body == b"x a"
                held.set()

        await layer(from_a_server(), receive, send)
        assert outcomes_in(sent)[0].body == b"held"

    run_async(run())


def test_each_command_is_done_under_the_name_of_the_request_it_came_with():
    seen = {}

    async def note(service, experiment):
        await asyncio.sleep(0)
        seen[experiment] = current_request_id()
        return Answer(b"")

    layer, _, _ = layer_with(note=note)
    answer_of(layer, from_a_server(), pieces(b'[["r1","note","x"],["r2","note","y"],[null,"note","z"]]'))
    assert seen == {"x": "r1", "y": "r2", "z": None}


@pytest.mark.parametrize("command", [[], ["r1", "shout"], 5, None, {}, ["r1", ["shout"], "x"], ["r1", "shout", ["x"]]])
def test_what_is_no_command_has_an_outcome_and_the_others_have_theirs(command):
    layer, _, parts = layer_with(shout=shout)
    parts.owners.elsewhere = lambda experiment, through: {}.get(experiment)
    body = json.dumps([command, ["r2", "shout", "x", "a"]]).encode()
    found = outcomes_in(answer_of(layer, from_a_server(), pieces(body)))
    assert found[0].kind in {Kind.UNKNOWN, Kind.ERROR}
    assert found[1].body == b"x a"


def test_a_batch_of_nothing_is_answered():
    layer, _, _ = layer_with(shout=shout)
    assert answer_of(layer, from_a_server(), pieces(b"[]"))[-1]["more_body"] is False


def test_a_server_that_was_checked_is_known_at_the_door():
    layer, _, _ = layer_with(shout=shout)
    scope, stranger = from_a_server(), from_a_server(authorization="Server guessed")
    answer_of(layer, scope, pieces(b'[["r1","shout","x","a"]]'))
    answer_of(layer, stranger, pieces(b'[["r1","shout","x","a"]]'))
    assert "caller" in scope["state"]
    assert "caller" not in stranger.get("state", {})


@pytest.mark.parametrize(
    "scope",
    [
        from_a_server(authorization="Server guessed"),
        from_a_server(authorization="Bearer s3cret"),
        from_a_server(x_to="another"),  # an address that is not that of the server it is on record for
        request("POST", PATH),
        request("GET", PATH, authorization="Server s3cret", x_to="here"),
    ],
)
def test_who_is_no_server_of_the_store_or_means_another_is_refused_before_it_is_read(scope):
    layer, inner, parts = layer_with(shout=shout)
    read = []

    def messages():
        read.append(True)
        yield from pieces(b'[["r1","shout","x","a"]]')

    sent = answer_of(layer, scope, messages())
    assert sent[0]["status"] == 421
    assert (read, inner.scopes, parts.counted) == ([], [], [])


def test_there_is_a_limit_to_what_it_reads(monkeypatch):
    monkeypatch.setattr(module, "LARGEST_BATCH", 10)
    layer, _, parts = layer_with(shout=shout)
    sent = answer_of(layer, from_a_server(), pieces(b'[["r1","shout"', b',"x","a"]]'))
    assert (sent[0]["status"], parts.counted) == (421, [])


def test_all_else_is_passed_on():
    layer, inner, _ = layer_with()
    answer_of(layer, request("GET", "/healthz"))
    answer_of(layer, {"type": "lifespan"})
    assert [scope["type"] for scope in inner.scopes] == ["http", "lifespan"]


def test_a_service_without_other_servers_listens_to_no_one(service):
    response = service.http.post(PATH, json=[["r1", "ask", "x", 1, None]], headers={"Authorization": "Server x"})
    assert response.status_code == 421
    assert "/internal" not in service.http.get("/openapi.json").text
