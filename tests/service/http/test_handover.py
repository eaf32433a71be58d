"""From the desk's thread to the event loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

import linkedbandits as lb
from linkedbandits.service.http.handover import Handover


def in_a_thread(act):
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_results_and_errors_come_over():
    async def wait():
        bring = Handover().bring
        good, bad = Future(), Future()
        waiting = [bring(good), bring(bad)]
        in_a_thread(lambda: (good.set_result(7), bad.set_exception(lb.StoreUnavailable("gone"))))
        assert await waiting[0] == 7
        with pytest.raises(lb.StoreUnavailable, match="gone"):
            await waiting[1]

    asyncio.run(wait())


def test_a_group_wakes_the_loop_once(monkeypatch):
    async def wait():
        loop = asyncio.get_running_loop()
        woken = []
        plain = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *call: (woken.append(1), plain(*call)))
        bring = Handover().bring
        group = [Future() for _ in range(50)]
        waiting = [bring(future) for future in group]
        in_a_thread(lambda: [future.set_result(number) for number, future in enumerate(group)])
        assert await asyncio.gather(*waiting) == list(range(50))
        assert len(woken) == 1
        later = Future()
        last = bring(later)
        in_a_thread(lambda: later.set_result("more"))
        assert await last == "more"

    asyncio.run(wait())


def test_who_has_hung_up_does_not_disturb_the_others():
    async def wait():
        bring = Handover().bring
        group = [Future(), Future()]
        gone, here = (bring(future) for future in group)
        gone.cancel()
        in_a_thread(lambda: [future.set_result(1) for future in group])
        assert await here == 1

    asyncio.run(wait())


def test_a_result_after_the_loop_is_closed_is_dropped():
    late = Future()

    async def wait():
        Handover().bring(late)

    asyncio.run(wait())
    late.set_result("nobody waits")


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
            assert await asyncio.wait_for(asyncio.gather(*waiting), 10) == [1] * 8
            for thread in threads:
                thread.join()

    asyncio.run(wait())
