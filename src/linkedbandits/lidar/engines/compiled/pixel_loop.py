"""One pixel after the other: light in, counts out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from linkedbandits.lidar.engines.compiled.choosing import choose, take_in
from linkedbandits.lidar.engines.compiled.compiling import entry, in_place
from linkedbandits.lidar.engines.compiled.expecting import put_log_prior
from linkedbandits.lidar.engines.compiled.exposing import (
    CLOCK,
    add_up,
    count,
    cycles_until,
    expose,
    put_guide,
    put_rates,
    run_freely,
    see_through,
    start_clock,
)
from linkedbandits.lidar.engines.compiled.memory import ARM, CERTAIN, FRESH, LEVEL, STOPPED, make_memory
from linkedbandits.lidar.engines.compiled.tables import SUFFIX
from linkedbandits.lidar.engines.compiled.weighing import level_of


class Before(NamedTuple):
    """What is known of pixels beforehand: numbers, and of each the light that comes to it, and what it may expect."""

    key: Any
    numbers: Any
    first: Any
    """The first bin that a return reaches, and its shares from there on;"""
    shares: Any
    signal: Any
    background: Any
    log_prior: Any
    """the weights of bins where nothing was found around,"""
    depths: Any
    trusts: Any
    group: Any
    shares_of_widths: Any
    widths: Any
    expected_signal: Any
    expected_background: Any
    around: bool


class After(NamedTuple):
    """What came of pixels: as in :class:`linkedbandits.lidar.acquiring.Acquired`."""

    samples: Any
    successes: Any
    cycles: Any
    seconds: Any
    bin: Any
    stopped: Any
    proved: Any
    level: Any
    log_prior: Any


@in_place
def begin(model: Any, before: Any, pixel: int, memory: Any, after: Any) -> None:
    """The light of a pixel, its clock and its prior."""
    put_rates(memory.light, before.first[pixel], before.shares[pixel], before.signal[pixel], before.background[pixel])
    add_up(memory.sums, memory.light)
    put_guide(memory.guide, memory.sums)
    start_clock(memory.clock)
    memory.state[:] = 0
    memory.state[LEVEL] = level_of(model, before.expected_background[pixel])
    memory.state[FRESH] = 1
    log_prior = after.log_prior[pixel]
    if before.around:
        shares = before.shares_of_widths[before.group[pixel]]
        put_log_prior(log_prior, before.depths[pixel], before.trusts[pixel], shares, before.widths)
    else:
        log_prior[:] = before.log_prior
    memory.log_prior[: model.bins] = log_prior


@in_place
def cycles_left(timing: Any, rules: Any, memory: Any, cycles: int, opens: int, gated: bool) -> int:
    """How many cycles of its next gate a pixel may have, whatever they see."""
    left = rules.cycles - cycles
    if rules.seconds == np.inf:
        return left
    if gated:
        return min(left, cycles_until(timing, rules.seconds, memory.clock, opens))
    gone = memory.clock[CLOCK] / timing.bins
    return min(left, np.int64(np.floor(rules.seconds / timing.period * (1 + 1e-12) - gone)))


@in_place
def end(timing: Any, memory: Any, after: Any, pixel: int, cycles: int) -> None:
    """Write down what came of a pixel."""
    after.cycles[pixel] = cycles
    after.seconds[pixel] = memory.clock[CLOCK] / timing.bins * timing.period
    after.bin[pixel] = memory.state[ARM]
    after.stopped[pixel] = memory.state[STOPPED] > 0
    after.proved[pixel] = memory.state[CERTAIN] > 0
    after.level[pixel] = memory.state[LEVEL]


@in_place
def look(
    timing: Any, memory: Any, key: Any, number: Any, opens: int, times: int, gated: bool, plain: bool, samples: Any,
    successes: Any,
) -> None:  # fmt: skip
    """Spend cycles, and add what they bring to the counts; ``memory.hits`` has the photons of every bin."""
    if not gated:
        memory.hits[:] = successes
        run_freely(timing, key, number, memory.four, memory.sums, times, memory.clock, memory.marks, samples, successes)
        for i in range(successes.size):
            memory.hits[i] = successes[i] - memory.hits[i]
        return
    if plain:
        memory.counted[:] = False
        memory.counted[opens:] = True
    else:
        see_through(timing, memory.gate, memory.light, memory.seen, memory.counted, memory.sums)
        put_guide(memory.guide, memory.sums)
    expose(timing, key, number, memory.four, memory.sums, memory.guide, opens, times, memory.clock, memory.hits)
    count(memory.hits, times, memory.counted, samples, successes)


@entry
def acquire_pulse(model: Any, cells: Any, timing: Any, rules: Any, before: Any, gated: bool, after: Any) -> None:
    """Gates that tell most, or a detector that runs freely, until a rule or the budget ends it: ``PulseGating``."""
    memory = make_memory(model)
    plain = timing.kind == SUFFIX and timing.rising.size == 0
    for pixel in range(before.numbers.size):
        begin(model, before, pixel, memory, after)
        samples, successes, log_prior = after.samples[pixel], after.successes[pixel], after.log_prior[pixel]
        number = np.uint64(before.numbers[pixel])
        signal, background = before.expected_signal[pixel], before.expected_background[pixel]
        cycles, opens = 0, 0
        memory.gate[:] = True
        memory.counted[:] = True
        looked = not before.around  # with a prior, there is something to choose by before the first cycle
        while True:
            if looked:
                left = cycles_left(timing, rules, memory, cycles, opens, gated)
                times = min(max(np.int64(cycles * rules.growth), 1), left)
                look(timing, memory, before.key, number, opens, times, gated, plain, samples, successes)
                cycles += times
                take_in(model, memory, memory.hits)
            looked = True
            opens = choose(
                model, cells, timing, rules, memory, samples, successes, cycles, log_prior, signal, background, gated
            )
            if memory.state[STOPPED] or cycles_left(timing, rules, memory, cycles, opens, gated) <= 0:
                break
        end(timing, memory, after, pixel, cycles)
