"""Commands for another server: in batches, with what came of each; and what is certain when nothing comes."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.http import forwarding as module
from linkedbandits.service.http.commands import PATH, Kind, Outcome, read_batch, write_outcome
from linkedbandits.service.http.forwarding import Cut, Forwarding, Peer
from linkedbandits.service.owner_tables import ServerRecord
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, run_async


class Other:
    """A server that keeps the batches it gets, and does with each what it is told to."""

    def __init__(self):
        self.batches: list[list] = []
        self.heads: list[str] = []
        self.connections = 0
        self.behave = self.answer

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.heads.append(head.decode())
                self.batches.append(read_batch(await reader.readexactly(length)))
                if await self.behave(writer, self.batches[-1]) is False:
                    break
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()

    async def answer(self, writer, batch, leave_out=(), status=200):
        """All of them, the last first, in two pieces."""
        numbers = [number for number in reversed(range(len(batch))) if number not in leave_out]
        body = b"".join(write_outcome(number, echo(batch[number])) for number in numbers)
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body[:5]))
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(body[5:])

    async def hang_up(self, writer, batch):
        return False

    async def hang_up_in_the_middle(self, writer, batch):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + write_outcome(0, echo(batch[0])))
        return False

    async def refuse(self, writer, batch):
        await self.answer(writer, [], status=421)

    async def say_nonsense(self, writer, batch):
        writer.write(b"nonsense\r\n\r\n")

    async def leave_one_out(self, writer, batch):
        await self.answer(writer, batch, leave_out={0})

    async def never_answer(self, writer, batch):
        await asyncio.Event().wait()


def echo(command) -> Outcome:
    return Outcome(Kind.ANSWER, 200, repr(command).encode())


@asynccontextmanager
async def serving():
    """Such a server, and what others know of it."""
    other = Other()
    server = await asyncio.start_server(other.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield other, ServerRecord("other", f"http://127.0.0.1:{port}", "its secret")
    finally:
        server.close()


def command(number: int) -> bytes:
    return b"[%d]" % number


async def outcomes(peer: Peer, count: int):
    """What comes of commands that are sent at once: outcomes, or whether one that was cut had been sent."""
    found = await asyncio.gather(*(peer.outcome(command(number)) for number in range(count)), return_exceptions=True)
    assert all(isinstance(each, Outcome | Cut) for each in found), found
    return [each.sent if isinstance(each, Cut) else each.body.decode() for each in found]


def test_commands_of_a_moment_travel_together_and_each_gets_its_own_outcome():
    async def run():
        async with serving() as (other, record):
            peer = Peer(record, "me")
            for _ in range(2):
                assert await outcomes(peer, 3) == ["[0]", "[1]", "[2]"]
            assert other.batches == [[[0], [1], [2]]] * 2
            assert other.connections == 1
            assert other.heads[0].startswith(f"POST {PATH} HTTP/1.1\r\n")
            for line in ("Authorization: Server its secret", "X-To: other", "X-From: me"):
                assert f"\r\n{line}\r\n" in other.heads[0]
            peer.close()

    run_async(run())


def test_what_comes_while_a_batch_is_out_goes_with_the_next(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_ALIKE", 3600.0)

    async def run():
        async with serving() as (other, record):
            peer, held = Peer(record, "me"), asyncio.Event()

            async def hold(writer, batch):
                await held.wait()
                await other.answer(writer, batch)

            other.behave = hold
            waiting = [peer.outcome(command(0))]
            while not other.batches:
                await asyncio.sleep(0.001)
            for number in (1, 2):
                waiting.append(peer.outcome(command(number)))
                await asyncio.sleep(0.01)
            assert other.batches == [[[0]]]
            held.set()
            await asyncio.gather(*waiting)
            assert other.batches == [[[0]], [[1], [2]]]
            peer.close()

    run_async(run())


def test_what_was_not_sent_when_this_server_stops_is_cut(monkeypatch):
    monkeypatch.setattr(module, "SECONDS_ALIKE", 3600.0)

    async def run():
        async with serving() as (other, record):
            peer = Peer(record, "me")
            other.behave = other.never_answer
            waiting = [peer.outcome(command(0))]
            while not other.batches:
                await asyncio.sleep(0.001)
            waiting.append(peer.outcome(command(1)))
            await asyncio.sleep(0.01)
            peer.close()
            async with asyncio.timeout(SECONDS):
                found = await asyncio.gather(*waiting, return_exceptions=True)
            assert [each.sent for each in found] == [True, False]
            assert peer.is_idle
            assert other.batches == [[[0]]]

    run_async(run())


def test_a_batch_that_takes_long_does_not_keep_the_next_waiting():
    async def run():
        async with serving() as (other, record):
            peer = Peer(record, "me")
            other.behave = other.never_answer
            stuck = peer.outcome(command(0))
            while not other.batches:
                await asyncio.sleep(0.001)
            other.behave = other.answer
            assert await outcomes(peer, 2) == ["[0]", "[1]"]
            assert not stuck.done()
            assert other.connections == 2
            peer.close()
            with pytest.raises(Cut):
                await stuck

    run_async(run())


@pytest.mark.parametrize(
    ("behaviour", "left"),
    [
        ("hang_up", [True, True]),
        ("hang_up_in_the_middle", ["[0]", True]),
        ("refuse", [False, False]),  # it says that it has done nothing
        ("say_nonsense", [True, True]),
        ("leave_one_out", [True, "[1]"]),
    ],
)
def test_what_is_known_when_the_network_or_the_other_fails(behaviour, left):
    async def run():
        async with serving() as (other, record):
            peer = Peer(record, "me")
            other.behave = getattr(other, behaviour)
            assert await outcomes(peer, 2) == left
            other.behave = other.answer
            assert await outcomes(peer, 2) == ["[0]", "[1]"]
            peer.close()

    run_async(run())


def test_who_is_not_there_has_done_nothing():
    async def run():
        async with serving() as (_, record):
            pass
        assert await outcomes(Peer(record, "me"), 2) == [False, False]

    run_async(run())


@pytest.mark.parametrize(("alive", "seconds", "cut"), [(True, 29.0, False), (True, 31.0, True), (False, 0.0, True)])
def test_who_gives_no_sign_of_life_or_takes_too_long_is_not_waited_for(alive, seconds, cut):
    async def run():
        async with serving() as (other, record):
            clock = ManualClock()
            peer = Peer(record, "me", clock)
            other.behave = other.never_answer
            waiting = peer.outcome(command(0))
            while not other.batches:
                await asyncio.sleep(0.001)
            clock.now += seconds
            peer.look_after(alive)
            assert waiting.done() == cut
            peer.close()
            with pytest.raises(Cut) as found:
                await waiting
            assert found.value.sent

    run_async(run())


def test_quiet_connections_are_closed_before_the_other_side_does():
    async def run():
        async with serving() as (other, record):
            clock = ManualClock()
            peer = Peer(record, "me", clock)
            await outcomes(peer, 1)
            peer.look_after(alive=True)
            assert not peer.is_idle
            clock.now += module.SECONDS_IDLE + 1
            peer.look_after(alive=True)
            assert peer.is_idle
            assert await outcomes(peer, 1) == ["[0]"]
            assert other.connections == 2
            peer.close()

    run_async(run())


def test_a_connection_that_was_closed_meanwhile_is_not_used():
    async def run():
        async with serving() as (other, record):
            peer = Peer(record, "me")

            async def answer_and_hang_up(writer, batch):
                await other.answer(writer, batch)
                return False

            other.behave = answer_and_hang_up
            assert await outcomes(peer, 1) == ["[0]"]
            while any(connection.is_open for connection in peer._idle):
                await asyncio.sleep(0.001)
            assert await outcomes(peer, 1) == ["[0]"]

    run_async(run())


def test_large_commands_travel_apart(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 10)

    async def run():
        async with serving() as (other, record):
            peer = Peer(record, "me")
            await asyncio.gather(*(peer.outcome(b"[" + b"1" * digits + b"]") for digits in (3, 3, 3, 18, 2)))
            assert sorted(len(batch) for batch in other.batches) == [1, 1, 1, 2]
            peer.close()

    run_async(run())


def test_a_caller_who_hung_up_before_it_was_sent_is_left_out():
    async def run():
        async with serving() as (other, record):
            peer = Peer(record, "me")
            gone, here = peer.outcome(command(0)), peer.outcome(command(1))
            gone.cancel()
            assert (await here).body == b"[1]"
            assert other.batches == [[[1]]]
            peer.close()

    run_async(run())


class Owners:
    """The experiment x is another server's."""

    id = "me"

    def __init__(self, record: ServerRecord):
        self.record = record
        self.avoided = []

    def claim(self, experiment):
        return None

    def elsewhere(self, experiment):
        return self.record if experiment == "x" else None

    def is_alive(self, server):
        return server == self.record.id

    def avoid(self, server):
        self.avoided.append(server)
        return len(self.avoided) == 1


@pytest.mark.parametrize(
    ("behaviour", "repeatable", "expected"),
    [
        ("answer", False, 200),
        ("hang_up", True, None),
        ("hang_up", False, lb.ServiceUnavailable),
        ("refuse", False, None),
    ],
)
def test_only_what_may_be_repeated_is_done_here_after_it_may_have_been_done_there(behaviour, repeatable, expected):
    async def run():
        async with serving() as (other, record):
            owners = Owners(record)
            forwarding = Forwarding(owners)
            other.behave = getattr(other, behaviour)
            assert await forwarding.answer("mine", lambda: command(0), repeatable=True) is None
            try:
                if expected is lb.ServiceUnavailable:
                    with pytest.raises(lb.ServiceUnavailable, match="may have been done or not; ask again"):
                        await forwarding.answer("x", lambda: command(0), repeatable=repeatable)
                else:
                    response = await forwarding.answer("x", lambda: command(0), repeatable=repeatable)
                    assert (None if response is None else response.status_code) == expected
            finally:
                forwarding.look_after()
                forwarding.close()
            assert owners.avoided == ([] if expected == 200 else ["other"])

    run_async(run())


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome(Kind.ANSWER, 200, b"{}"), (200, "application/json", b"{}")),
        (Outcome(Kind.PROBLEM, 409, b"{}"), (409, "application/problem+json", b"{}")),
        (Outcome(Kind.UNKNOWN, 0, b""), None),
        (Outcome.of(lb.WrongState("paused", reason="experiment_paused")), lb.WrongState),
    ],
)
def test_outcomes_become_answers_or_are_raised(outcome, expected):
    async def run():
        async with serving() as (other, record):

            async def answer(writer, batch):
                body = write_outcome(0, outcome)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

            other.behave = answer
            forwarding = Forwarding(Owners(record))
            if isinstance(expected, type):
                with pytest.raises(expected, match="paused"):
                    await forwarding.answer("x", lambda: command(0), repeatable=True)
            else:
                response = await forwarding.answer("x", lambda: command(0), repeatable=True)
                found = response and (response.status_code, response.media_type, response.body)
                assert found == expected
            forwarding.close()

    run_async(run())


def test_who_is_first_asked_waits_until_it_is_known_who_owns_it():
    async def run():
        async with serving() as (_, record):
            claimed = Future()
            found = []
            owners = SimpleNamespace(
                id="me", claim=lambda _: claimed, elsewhere=lambda _: found[0] if found else None, is_alive=bool
            )
            forwarding = Forwarding(owners)
            asked = asyncio.ensure_future(forwarding.answer("x", lambda: command(7), repeatable=True))
            await asyncio.sleep(0.01)
            found.append(record)
            claimed.set_result(None)
            assert (await asked).body == b"[7]"
            forwarding.close()

    run_async(run())
