"""How one option is called: at once, in a thread, or awaited."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading

import pytest

import linkedbandits as lb
from linkedbandits.chain import attempting
from linkedbandits.chain.attempting import NeedsAwaiting, Option, is_awaited
from tools.waiting import SECONDS, run_async, until

VARIABLE = contextvars.ContextVar("VARIABLE", default="none")


class Called:
    async def __call__(self):
        return "called"


async def awaited(value):
    return value


def plain(value):
    return value


def test_what_has_to_be_awaited_is_known_where_it_says_so():
    assert [is_awaited(each) for each in (awaited, functools.partial(awaited, 1), Called(), Called().__call__)] == (
        [True] * 4
    )
    assert not any(is_awaited(each) for each in (plain, functools.partial(plain, 1), lambda: awaited(1), Called))


def test_without_a_timeout_it_runs_here():
    option = Option("a", threading.current_thread, None)
    assert option.run(((), {})) is threading.current_thread()


@pytest.mark.parametrize("timeout", [None, SECONDS])
def test_arguments_values_errors_and_context_go_through(timeout):
    VARIABLE.set("mine")

    def work(*args, **kwargs):
        return args, kwargs, VARIABLE.get("none")

    assert Option("a", work, timeout).run(((1, 2), {"b": 3})) == ((1, 2), {"b": 3}, "mine")
    assert run_async(Option("a", work, timeout).arun(((1, 2), {"b": 3}))) == ((1, 2), {"b": 3}, "mine")
    assert run_async(Option("a", awaited, timeout).arun(((1,), {}))) == 1

    def stop():
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        Option("a", stop, timeout).run(((), {}))

    def end():
        raise StopIteration

    with pytest.raises(StopIteration):
        Option("a", end, timeout).run(((), {}))


def test_an_attempt_that_takes_too_long_is_left_to_itself():
    go_on, ended = threading.Event(), threading.Event()

    def slow():
        go_on.wait(SECONDS)
        ended.set()

    with pytest.raises(lb.AttemptTimedOut, match=r"'a' took longer than its timeout of 0\.01 s"):
        Option("a", slow, 0.01).run(((), {}))
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(SECONDS)


def test_awaited_it_is_cancelled():
    seen = []

    async def slow():
        try:
            await asyncio.sleep(SECONDS)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    with pytest.raises(lb.AttemptTimedOut):
        run_async(Option("a", slow, 0.01).arun(((), {})))
    assert seen == ["cancelled"]


@pytest.mark.parametrize("error", [None, OSError("on the way out")])
def test_what_comes_after_the_timeout_does_not_count(error):
    async def stubborn():
        try:
            await asyncio.sleep(SECONDS)
        except asyncio.CancelledError:
            if error is not None:
                raise error from None
        return "too late"

    with pytest.raises(lb.AttemptTimedOut):
        run_async(Option("a", stubborn, 0.01).arun(((), {})))


def test_a_timeout_of_its_own_is_not_ours():
    async def own():
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine") as caught:
        run_async(Option("a", own, SECONDS).arun(((), {})))
    assert not isinstance(caught.value, lb.AttemptTimedOut)


def test_a_plain_function_is_awaited_in_a_thread():
    async def work():
        loop_thread = threading.current_thread()
        ran_in = await Option("a", threading.current_thread, None).arun(((), {}))
        return ran_in is not loop_thread

    assert run_async(work())


def test_a_function_that_returns_a_coroutine_is_awaited_or_refused():
    option = Option("a", lambda: awaited("later"), None)
    assert run_async(option.arun(((), {}))) == "later"
    with pytest.raises(NeedsAwaiting, match=r"'a' has to be awaited; call the chain as: await chain\.acall"):
        option.run(((), {}))


def test_what_can_do_both_is_called_or_awaited_as_the_chain_is():
    class Both:
        def __call__(self, value):
            return "called", value

        async def acall(self, value):
            return "awaited", value, threading.current_thread() is threading.main_thread()

    assert Option("a", Both(), None).run(((1,), {})) == ("called", 1)
    assert run_async(Option("a", Both(), SECONDS).arun(((1,), {}))) == ("awaited", 1, True)
    inner = lb.Chain({"c": plain, "d": plain})
    outer = lb.Chain({"a": inner, "b": inner})
    assert outer(1).value.value == run_async(outer.acall(1)).value.value == 1
    assert inner.status().calls == 2


def test_a_loop_that_was_closed_meanwhile_is_left_alone():
    go_on, began, ended = threading.Event(), threading.Event(), threading.Event()

    def slow():
        began.set()
        go_on.wait(SECONDS)
        ended.set()
        return awaited("never")

    loop = asyncio.new_event_loop()
    task = loop.create_task(Option("a", slow, None).arun(((), {})))
    loop.run_until_complete(asyncio.sleep(0))
    assert began.wait(SECONDS)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    go_on.set()
    assert ended.wait(SECONDS)


def test_without_a_thread_to_be_had_it_runs_here(monkeypatch):
    class NoThread(threading.Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(attempting.threading, "Thread", NoThread)
    assert Option("a", threading.current_thread, 5.0).run(((), {})) is threading.current_thread()


def test_what_cannot_be_called_is_refused():
    with pytest.raises(lb.InvalidParameter, match="option 'a' is 3, which cannot be called"):
        Option("a", 3, None)


def test_what_comes_after_its_timeout_is_given_to_the_option_to_drop():
    gate, dropped = threading.Event(), []

    class Slow:
        def __call__(self):
            gate.wait(SECONDS)
            return "late"

        def drop(self, value):
            dropped.append(value)

    with pytest.raises(lb.AttemptTimedOut):
        Option("a", Slow(), 0.01).run(((), {}))
    gate.set()
    until(lambda: dropped, "the late value")
    assert dropped == ["late"]
