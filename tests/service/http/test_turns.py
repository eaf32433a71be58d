"""One at a time, and whoever was served longest ago next."""

from __future__ import annotations

import asyncio

import pytest

from linkedbandits.service.http import turns as module
from linkedbandits.service.http.turns import Turns
from tools.waiting import run_async


async def all_served(turns, wanted, order):
    """Have these served, each with its name, for its callers, all of whom wait at once."""
    inside = 0

    async def one(name, callers):
        nonlocal inside
        async with turns.of(lambda: callers):
            inside += 1
            assert inside == 1
            order.append(name)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(one(name, callers) for name, callers in wanted))


def test_who_wants_much_waits_for_who_wants_little():
    async def run():
        order = []
        wanted = [(f"a{number}", ["a"]) for number in range(5)] + [("b0", ["b"]), ("b1", ["b"]), ("ac", ["a", "c"])]
        await all_served(Turns(), wanted, order)
        return order

    assert run_async(run()) == ["a0", "b0", "ac", "b1", "a1", "a2", "a3", "a4"]


def test_one_who_hangs_up_while_waiting_or_when_its_turn_comes_holds_up_nobody():
    async def run():
        turns, order = Turns(), []
        async with turns.of(lambda: ["a"]):
            waiting = [asyncio.create_task(all_served(turns, [(name, [name])], order)) for name in "bcd"]
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            waiting[0].cancel()
            await asyncio.wait(waiting[:1])
        waiting[1].cancel()  # its turn has come, and it does not know yet
        await asyncio.wait(waiting)
        await all_served(turns, [("e", ["e"])], order)
        return order

    assert run_async(run()) == ["d", "e"]


def test_one_whose_work_fails_gives_its_turn_on():
    async def run():
        turns, order = Turns(), []
        with pytest.raises(ZeroDivisionError):
            async with turns.of(lambda: ["a"]):
                raise ZeroDivisionError
        await all_served(turns, [("b", ["b"])], order)
        return order

    assert run_async(run()) == ["b"]


def test_not_more_callers_are_remembered_than_is_worth_it(monkeypatch):
    monkeypatch.setattr(module, "MOST_KNOWN", 3)
    turns = Turns()
    run_async(all_served(turns, [(str(number), [number]) for number in range(10)], []))
    assert set(turns._served) == {7, 8, 9}


def test_one_who_is_cancelled_at_the_moment_when_the_turn_ends_is_passed_over():
    """Its future is cancelled before it has heard of that itself."""

    async def run():
        turns, order = Turns(), []

        async def take(name):
            async with turns.of(lambda: [name]):
                order.append(name)

        async with turns.of(lambda: ["first"]):
            leaving = asyncio.create_task(take("leaving"))
            await asyncio.sleep(0)
            staying = asyncio.create_task(take("staying"))
            await asyncio.sleep(0)
            leaving.cancel()
        await staying
        assert leaving.cancelled() or leaving.cancelling()
        async with turns.of(lambda: ["last"]):
            order.append("last")
        return order

    assert run_async(run()) == ["staying", "last"]
