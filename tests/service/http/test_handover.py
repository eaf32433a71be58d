"""From the desk's thread to the event loop."""

from __future__ import annotations

import asyncio
import sys
import threading
from concurrent.futures import Future

import pytest

import linkedbandits as lb
from linkedbandits.service.http import handover
from linkedbandits.service.http.handover import Handover
from tools.waiting import SECONDS, join, run_async


def in_a_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    join(thread)


def test_results_and_errors_come_over():
    async def wait():
        bring = Handover().bring
        good, bad = Future(), Future()
        waiting = [bring(good), bring(bad)]
        in_a_thread(lambda: (good.set_result(7), bad.set_exception(lb.StoreUnavailable("gone"))))
        assert await waiting[0] == 7
        with pytest.raises(lb.StoreUnavailable, match="gone"):
            await waiting[1]

    run_async(wait())


def test_a_group_wakes_the_loop_once(monkeypatch):
    async def wait():
        loop = asyncio.get_running_loop()
        woken = []
        plain = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *call: (woken.append(1), plain(*call)))
        bring = Handover().bring
        group = [Future() for _ in range(50)]
        waiting = [bring(future) for future in group]
        delivered = []
        for one in waiting:
            one.add_done_callback(lambda done: delivered.append(done.result()))
        in_a_thread(lambda: [future.set_result(number) for number, future in enumerate(group)])
        assert await asyncio.gather(*waiting) == list(range(50))
        assert delivered == list(range(50))
        assert len(woken) == 1
        later = Future()
        last = bring(later)
        in_a_thread(lambda: later.set_result("more"))
        assert await last == "more"

    run_async(wait())


def test_who_gives_up_before_it_has_begun_takes_it_back():
    async def wait():
        source = Future()
        Handover().bring(source).cancel()
        assert source.cancelled()
        assert not source.set_running_or_notify_cancel()

    run_async(wait())


def test_who_has_hung_up_does_not_disturb_the_others():
    async def wait():
        bring = Handover().bring
        group = [Future(), Future()]
        gone, here = (bring(future) for future in group)
        for future in group:
            assert future.set_running_or_notify_cancel()  # the desk is at it
        gone.cancel()
        in_a_thread(lambda: [future.set_result(1) for future in group])
        assert await here == 1

    run_async(wait())


def test_a_result_after_the_loop_is_closed_is_dropped(caplog):
    late = Future()

    async def wait():
        Handover().bring(late)

    run_async(wait())
    late.set_result("nobody waits")
    assert caplog.records == []  # a future logs what goes wrong when it tells others of its result


class Interruption:
    """Something that happens in the middle of the handover: before one of its lines, counted from zero.

    It is the same at every run, where threads that race would meet there once in a million times.
    """

    def __init__(self, line, act):
        self.line, self.act = line, act
        self.happened = False
        self._lines = 0

    def __enter__(self):
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self._before)

    def _trace(self, frame, event, argument):
        if frame.f_code.co_filename != handover.__file__:
            return None
        if event in ("line", "return"):
            if self._lines == self.line and not self.happened:
                self.happened = True
                self.act()
            self._lines += 1
        return self._trace


async def several_turns_of_the_loop():
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_arrives_at_any_moment_of_a_delivery_is_delivered():
    """A result that comes when the queue was just seen to be empty may not be left lying there."""

    async def interrupted_before(line):
        bring = Handover().bring
        first, late = Future(), Future()
        waiting = [bring(first), bring(late)]
        in_a_thread(lambda: first.set_result("first"))
        with Interruption(line, lambda: in_a_thread(lambda: late.set_result("late"))) as interruption:
            await several_turns_of_the_loop()
        if interruption.happened:
            assert [one.done() and one.result() for one in waiting] == ["first", "late"], f"before line {line}"
        return interruption.happened

    lines = 0
    while run_async(interrupted_before(lines)):
        lines += 1
    assert lines >= 5  # it was interrupted in the delivery, and not only next to it


def test_what_is_delivered_at_any_moment_of_an_arrival_is_all_that_has_arrived():
    """The loop may look at once, or only much later: nothing is waited for that has come."""

    async def interrupted_before(line):
        bring = Handover().bring
        result = Future()
        waiting = bring(result)
        half_way, go_on = threading.Event(), threading.Event()

        def pause():
            half_way.set()
            assert go_on.wait(SECONDS)

        def arrive():
            with Interruption(line, pause) as interruption:
                result.set_result("here")
            happened.append(interruption.happened)
            half_way.set()

        happened = []
        thread = threading.Thread(target=arrive)
        thread.start()
        assert half_way.wait(SECONDS)
        await several_turns_of_the_loop()
        go_on.set()
        join(thread)
        await several_turns_of_the_loop()
        assert waiting.done(), f"before line {line}"
        assert waiting.result() == "here"
        after = Future()
        following = bring(after)
        in_a_thread(lambda: after.set_result("next"))
        await several_turns_of_the_loop()
        assert following.done(), f"the next one, after an interruption before line {line}"
        return happened[0]

    lines = 0
    while run_async(interrupted_before(lines)):
        lines += 1
    assert lines >= 4


@pytest.mark.slow
def test_none_is_forgotten_when_threads_and_loop_race():
    async def wait():
        bring = Handover().bring
        for _ in range(200):
            group = [Future() for _ in range(8)]
            waiting = [bring(future) for future in group]
            threads = [threading.Thread(target=future.set_result, args=(1,)) for future in group]
            for thread in threads:
                thread.start()
            assert await asyncio.gather(*waiting) == [1] * 8
            join(*threads)

    run_async(wait())
