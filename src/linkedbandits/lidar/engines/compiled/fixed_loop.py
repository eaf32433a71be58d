"""Cycles that are spent whatever was seen, one pixel after the other: whole windows, and every bin equally often."""

from __future__ import annotations

from math import floor
from typing import Any

import numpy as np

from linkedbandits.lidar.acquiring import AT_ONCE
from linkedbandits.lidar.engines.compiled.compiling import entry, machine_code
from linkedbandits.lidar.engines.compiled.counting import exponential
from linkedbandits.lidar.engines.compiled.exposing import (
    ARMED,
    CLOCK,
    count,
    cycles_until,
    expose,
    guided_cell,
    lost_periods,
    open_shifted,
    shifted_until,
)
from linkedbandits.lidar.engines.compiled.memory import make_memory
from linkedbandits.lidar.engines.compiled.pixel_loop import begin
from linkedbandits.lidar.engines.counter import PHOTONS
from linkedbandits.stopping.looks import GROWTH


@machine_code
def _best_bin(samples: Any, successes: Any) -> int:
    """The bin with the highest mean of those that were sampled; the first of equals."""
    found, top = 0, -1.0
    for i in range(samples.size):
        if samples[i] > 0 and successes[i] / samples[i] > top:
            found, top = i, successes[i] / samples[i]
    return found


@entry
def acquire_whole(model: Any, timing: Any, rules: Any, before: Any, shifts: int, cost: float, after: Any) -> None:
    """Windows as long as a period, until the budget is used up: shifted ones, or where ``shifts`` is 0, not."""
    memory = make_memory(model)
    most = np.int64(floor(rules.cycles / cost * (1 + 1e-12)))
    memory.counted[:] = True
    for pixel in range(before.numbers.size):
        begin(model, before, pixel, memory, after)
        samples, successes = after.samples[pixel], after.successes[pixel]
        number = np.uint64(before.numbers[pixel])
        while True:
            times = min(most - np.int64(memory.clock[ARMED]), AT_ONCE)
            if rules.seconds < np.inf:
                if shifts:
                    times = min(times, shifted_until(timing, rules.seconds, memory.clock, shifts))
                else:
                    times = min(times, cycles_until(timing, rules.seconds, memory.clock, 0))
            if times <= 0:
                break
            if shifts:
                open_shifted(
                    timing, before.key, number, memory.four, memory.sums, times, shifts, memory.clock, memory.marks,
                    samples, successes,
                )  # fmt: skip
            else:
                expose(
                    timing, before.key, number, memory.four, memory.sums, memory.guide, 0, times, memory.clock,
                    memory.hits,
                )  # fmt: skip
                count(memory.hits, times, memory.counted, samples, successes)
        after.cycles[pixel] = memory.clock[ARMED] * cost
        after.seconds[pixel] = memory.clock[CLOCK] / timing.bins * timing.period
        after.bin[pixel] = _best_bin(samples, successes)


@entry
def acquire_even(model: Any, timing: Any, rules: Any, before: Any, after: Any) -> None:
    """Every bin equally often, with gates that open at the first bin that lacks a sample: ``EvenGates``.

    In rounds of some samples more of every bin. A bin gets what passes the one before, and as many cycles are opened at
    it as are still missing. So no bin ever has more than its round asks for, and the linkages ``ordered`` and
    ``suffix`` are the same.
    """
    memory = make_memory(model)
    bins = model.bins
    for pixel in range(before.numbers.size):
        begin(model, before, pixel, memory, after)
        samples, successes = after.samples[pixel], after.successes[pixel]
        number = np.uint64(before.numbers[pixel])
        parts = memory.guide.size / memory.sums[bins]
        total = memory.sums[bins]
        spent, each, lost = 0, 1, 0.0
        level = 0
        while spent < rules.cycles:
            memory.hits[:] = 0
            passed = 0
            for place in range(bins):
                opened = min(each - passed, rules.cycles - spent)
                for _ in range(opened):
                    draw = exponential(memory.four, before.key, number, PHOTONS, spent, True)
                    until = memory.sums[place] + draw
                    if until < total:
                        fired = guided_cell(memory.sums, memory.guide, until, parts)
                        memory.hits[fired] += 1
                        lost += lost_periods(timing, np.float64(fired), 0)
                    spent += 1
                samples[place] += passed + opened
                successes[place] += memory.hits[place]
                passed += opened - memory.hits[place]
            level += each
            each = max(np.int64(level * GROWTH), 1)
        after.cycles[pixel] = spent
        after.seconds[pixel] = (spent + lost) * timing.period
        after.bin[pixel] = _best_bin(samples, successes)
