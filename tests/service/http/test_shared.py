"""Work that many ask for at once."""

from __future__ import annotations

import asyncio

import pytest

from linkedbandits.service.http.shared import Shared
from tools.waiting import run_async


class Work:
    def __init__(self):
        self.begun = []
        self.go_on = asyncio.Event()

    async def __call__(self, key):
        self.begun.append(key)
        number = len(self.begun)
        await self.go_on.wait()
        if key == "bad":
            raise ZeroDivisionError
        return number


def test_those_who_ask_while_it_is_done_share_the_next_one_and_other_keys_do_not_wait():
    async def run():
        work = Work()
        shared = Shared(work)
        early = asyncio.gather(*(shared.get("a") for _ in range(3)))
        while not work.begun:
            await asyncio.sleep(0)
        late = asyncio.gather(*(shared.get("a") for _ in range(100)))
        other = asyncio.ensure_future(shared.get("b"))
        while work.begun != ["a", "b"]:
            await asyncio.sleep(0)
        for _ in range(20):
            await asyncio.sleep(0)
        assert work.begun == ["a", "b"]  # one at a time of each
        work.go_on.set()
        found = await early, await late, await other
        assert not shared._present
        assert not shared._next
        return found

    early, late, other = run_async(run())
    assert (early, set(late), other) == ([1, 1, 1], {3}, 2)


def test_a_failure_is_told_to_all_who_share_it_and_the_next_is_tried_anew():
    async def run():
        work = Work()
        work.go_on.set()
        shared = Shared(work)
        found = await asyncio.gather(*(shared.get("bad") for _ in range(3)), return_exceptions=True)
        assert [type(error) for error in found] == [ZeroDivisionError] * 3
        with pytest.raises(ZeroDivisionError):
            await shared.get("bad")
        assert work.begun == ["bad", "bad"]

    run_async(run())


def test_one_who_gives_up_does_not_end_it_for_the_others():
    async def run():
        work = Work()
        shared = Shared(work)
        leaving, staying = (asyncio.ensure_future(shared.get("a")) for _ in range(2))
        while not work.begun:
            await asyncio.sleep(0)
        leaving.cancel()
        work.go_on.set()
        return await staying

    assert run_async(run()) == 1
