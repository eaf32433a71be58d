"""Outcomes in the order in which calls began."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

from linkedbandits.chain.in_order import InOrder
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS


def test_the_order_is_that_of_the_beginning_however_calls_end():
    seen: list[tuple[object, bool]] = []
    order = InOrder(lambda option, worked: seen.append((option, worked)), 60.0, ManualClock())
    tickets = [order.begin(number) for number in range(200)]
    for number in random.Random(1).sample(range(200), 200):
        order.end(tickets[number], None if number % 7 == 0 else number % 3 == 0)
    assert seen == [(number, number % 3 == 0) for number in range(200) if number % 7]


def test_a_call_that_hangs_is_passed_by_when_its_lease_is_over():
    seen: list[object] = []
    clock = ManualClock()
    order = InOrder(lambda option, worked: seen.append(option), 60.0, clock)
    hanging, quick = order.begin("hangs"), order.begin("quick")
    order.end(quick, True)
    clock.now += 59.0
    late = order.begin("late")
    order.end(late, True)
    assert seen == []
    clock.now += 2.0
    order.end(order.begin("next"), True)
    assert seen == ["quick", "late", "next"]
    order.end(hanging, True)  # too late to count
    assert seen == ["quick", "late", "next"]


def test_threads_lose_no_outcome():
    seen: list[object] = []
    order = InOrder(lambda option, worked: seen.append(option), 60.0, ManualClock())

    def work(thread: int) -> None:
        for number in range(500):
            order.end(order.begin((thread, number)), True)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8), timeout=SECONDS))
    assert sorted(seen) == [(thread, number) for thread in range(8) for number in range(500)]
