"""Calls are read in the order in which they began: here alone, and by what a chain shows of its options."""

from __future__ import annotations

import asyncio
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import linkedbandits as lb
from linkedbandits.chain import in_order
from linkedbandits.chain.in_order import InOrder
from tests.support.service_parts import ManualClock
from tools.slow_failures import SlowFailures
from tools.waiting import SECONDS, until


def test_the_order_is_that_of_the_beginning_however_calls_end():
    seen: list[tuple[int, bool]] = []
    order = InOrder(lambda call, in_time: seen.append((call, in_time)), 60.0, ManualClock())
    tickets = [order.begin(number) for number in range(200)]
    for number in random.Random(1).sample(range(200), 200):
        order.end(tickets[number])
    with order.up_to_now():
        assert seen == [(number, True) for number in range(200)]
    assert len(order) == 0


def test_a_call_that_hangs_is_passed_over_when_its_lease_has_expired():
    seen: list[tuple[str, bool]] = []
    clock = ManualClock()
    order = InOrder(lambda call, in_time: seen.append((call, in_time)), 60.0, clock)
    hanging, quick = order.begin("hangs"), order.begin("quick")
    order.end(quick)
    clock.now += 59.0
    order.end(order.begin("late"))
    assert seen == []
    clock.now += 2.0
    with order.up_to_now():
        assert seen == [("hangs", False), ("quick", True), ("late", True)]
    order.end(hanging)  # too late to count
    assert len(seen) == 3


def test_a_call_that_ends_after_its_lease_is_late_though_it_was_not_passed_over_before():
    seen: list[bool] = []
    clock = ManualClock()
    order = InOrder(lambda call, in_time: seen.append(in_time), 60.0, clock)
    ticket = order.begin("slow")
    clock.now += 61.0
    order.end(ticket)
    assert seen == [False]


def test_one_call_does_not_read_all_that_waited_behind_one_that_hung():
    seen: list[str] = []
    clock = ManualClock()
    order = InOrder(lambda call, in_time: seen.append(call), 60.0, clock)
    order.begin("hangs")
    for _ in range(1000):
        order.end(order.begin("quick"))
    clock.now += 61.0
    order.end(order.begin("quick"))
    assert 0 < len(seen) < 100
    with order.up_to_now():
        assert len(seen) == 1002


def test_memory_is_bounded_and_what_is_left_out_is_not_chosen_by_its_outcome(monkeypatch):
    """While too many wait, calls that begin are left out, whatever comes of them; those that wait are all read."""
    monkeypatch.setattr(in_order, "MOST_WAITING", 10)
    seen: list[int] = []
    clock = ManualClock()
    order = InOrder(lambda call, in_time: seen.append(call), 60.0, clock)
    tickets = [order.begin(number) for number in range(15)]
    assert [ticket is None for ticket in tickets] == [False] * 10 + [True] * 5
    for ticket in tickets[1:]:
        order.end(ticket)
    assert (seen, len(order)) == ([], 10)
    order.end(tickets[0])
    assert seen == list(range(10))
    order.end(order.begin(15))
    assert seen[-1] == 15


def test_threads_lose_no_call():
    seen: list[tuple[int, int]] = []
    order = InOrder(lambda call, in_time: seen.append(call), 60.0, ManualClock())

    def work(thread: int) -> None:
        for number in range(500):
            order.end(order.begin((thread, number)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8), timeout=SECONDS))
    assert sorted(seen) == [(thread, number) for thread in range(8) for number in range(500)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_wait_for_calls_of_its_parent():
    seen: list[str] = []
    order = InOrder(lambda call, in_time: seen.append(call), 60.0, ManualClock())
    order.begin("of the parent")
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        order.end(order.begin("of the child"))
        os.write(writing, ", ".join(seen).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 100) == b"of the child"
    os.close(reading)
    os.close(writing)


def test_slow_failures_of_options_that_never_change_raise_no_alarm_and_spoil_no_estimate():
    """.8 and .6, failures take the time of 300 calls: read as calls end, the first 240 outcomes are all successes.

    Limits of 99.9 % miss a mean with probability 0.001 each, and alarms come with 0.02; the seed is fixed.
    """

    async def calls() -> None:
        made = SlowFailures({"a": 0.8, "b": 0.6}, {"a", "b"}, 300, seed=3, delta=0.2, watch=0.5, parallel=1000)
        shown = []
        for number in range(3000):
            await made.call()
            if number % 100 == 99:
                shown.append(made.chain.estimates(0.999))
                assert made.chain.alarms() == ()
        for estimates in shown:
            for estimate, mean in zip(estimates, (0.8, 0.6), strict=True):
                if estimate.success is not None:
                    assert estimate.success.low <= mean <= estimate.success.high
        assert sum(estimate.tries for estimate in shown[-1]) > 2000
        assert made.chain.status().reopened == 0
        await made.end()

    asyncio.run(calls())


def test_a_call_that_hangs_holds_up_estimates_until_its_lease_has_expired():
    clock, hangs = ManualClock(), [True]

    async def option() -> str:
        if hangs.pop() if hangs else False:
            await asyncio.Event().wait()
        return "done"

    async def calls() -> None:
        chain = lb.Chain({"a": option, "b": option}, clock=clock, lease=60.0)
        hanging = asyncio.ensure_future(chain.acall())
        await asyncio.sleep(0)
        for _ in range(50):
            await chain.acall()
        assert sum(estimate.tries for estimate in chain.estimates()) == 0
        assert chain.status().calls == 50
        clock.now += 61.0
        assert sum(estimate.tries for estimate in chain.estimates()) == 51  # with the attempt that hangs
        hanging.cancel()
        await asyncio.gather(hanging, return_exceptions=True)

    asyncio.run(calls())


@pytest.mark.parametrize("works", [True, False])
def test_a_call_that_outlasts_its_lease_is_a_failure_of_the_option_it_hangs_in_whatever_comes_of_it(works):
    clock, go_on = ManualClock(), threading.Event()

    def hangs():
        assert go_on.wait(SECONDS)
        if not works:
            raise ConnectionError

    chain = lb.Chain({"a": hangs, "b": hangs}, lease=10.0, clock=clock, failures=ConnectionError)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(chain)
        until(lambda: chain.status().in_flight == 1, "the call to begin")
        clock.now += 11.0
        seen = {each.option: (each.tries, each.successes) for each in chain.estimates()}
        go_on.set()
        hanging.exception(SECONDS)
    assert sorted(seen.values()) == [(0, 0), (1, 0)]
    assert {each.option: (each.tries, each.successes) for each in chain.estimates()} == seen
