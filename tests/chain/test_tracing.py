"""A tracer is there while calls run, and never in their way."""

from __future__ import annotations

import contextvars

import pytest

import linkedbandits as lb
from linkedbandits.chain.tracing import Tracing
from tools.waiting import SECONDS, run_async

NOW = contextvars.ContextVar("NOW", default=None)


@pytest.fixture(autouse=True)
def no_attempt_of_another_test():
    """A tracer that breaks leaves its attempt current in this thread."""
    NOW.set(None)


class Follow:
    """Keeps what it is told, and sets the context of the attempt."""

    def __init__(self):
        self.told = []

    def call(self, role):
        self.told.append(("call", role))
        return self

    def attempt(self, option):
        self.told.append(("attempt", option))
        NOW.set(option)

    def attempted(self, attempt):
        self.told.append(("attempted", attempt.option, attempt.place, attempt.outcome))
        NOW.set(None)

    def end(self, ending):
        self.told.append(("end", ending))

    def verdict(self, verdict):
        self.told.append(("verdict", verdict.arm))

    def alarm(self, alarm):
        self.told.append(("alarm", alarm.kind))


def seen(number):
    assert NOW.get(None) is not None, "no attempt is current"
    if number == 0:
        raise ConnectionError("down")
    if number == 1:
        raise KeyboardInterrupt
    return NOW.get(None)


async def seen_awaited(number):
    return seen(number)


@pytest.mark.parametrize("option", [seen, seen_awaited])
@pytest.mark.parametrize("timeout", [None, SECONDS])
def test_an_attempt_is_current_while_its_option_runs_wherever_that_is(option, timeout):
    follow = Follow()
    chain = lb.Chain({"a": option, "b": option}, tracing=follow, timeouts=timeout)

    async def result():
        return await chain.acall(2)

    assert run_async(result()).value == "a"
    if option is seen:
        assert chain(2).value in {"a", "b"}
    assert follow.told[:4] == [("call", "play"), ("attempt", "a"), ("attempted", "a", 0, "worked"), ("end", "worked")]
    assert NOW.get(None) is None


def test_failures_and_losses_are_told():
    follow = Follow()
    chain = lb.Chain({"a": seen, "b": seen}, tracing=follow)
    with pytest.raises(lb.ChainFailed):
        chain(0)
    assert follow.told == [
        ("call", "play"),
        ("attempt", "a"),
        ("attempted", "a", 0, "failed"),
        ("attempt", "b"),
        ("attempted", "b", 1, "failed"),
        ("end", "failed"),
    ]
    follow.told.clear()
    with pytest.raises(KeyboardInterrupt):
        chain(1)
    assert [each[-1] for each in follow.told if each[0] != "attempt"] == ["play", "lost", "lost"]


def test_verdicts_and_alarms_are_told_beside_the_hooks():
    follow, heard = Follow(), []
    chain = lb.Chain({"a": seen, "b": lambda _: 1}, tracing=follow, delta=0.1, on_verdict=heard.append)
    while chain.verdict() is None:
        chain(0)
    assert follow.told.count(("verdict", "b")) == len(heard) == 1
    chain._hear(type("Alarm", (), {"kind": "drift"}))
    assert ("alarm", "drift") in follow.told


@pytest.mark.parametrize("broken", ["call", "attempt", "attempted", "end", "verdict"])
def test_a_tracer_that_breaks_changes_nothing(broken, monkeypatch, caplog):
    def breaks(self, _):
        raise RuntimeError("no more spans")

    monkeypatch.setattr(Follow, broken, breaks)
    chain = lb.Chain({"a": lambda _: 1 / 0, "b": lambda _: 1}, tracing=Follow(), delta=0.1)
    while chain.verdict() is None:
        assert chain(0).value == 1
    status = chain.status()
    assert (status.lost, status.in_flight, status.errors > 0) == (0, 0, True)
    assert len(caplog.records) == 1


def test_what_cannot_follow_is_refused():
    assert isinstance(Follow(), Tracing)
    for wrong in (True, Follow):
        with pytest.raises(lb.InvalidParameter, match="cannot follow calls; give"):
            lb.Chain({"a": int, "b": int}, tracing=wrong)
