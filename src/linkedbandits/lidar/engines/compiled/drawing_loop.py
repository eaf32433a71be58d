"""Gates at depths drawn from the posterior, one pixel after the other: ``ThompsonGating``."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.arithmetic import exp_single
from linkedbandits.lidar.engines.compiled.choosing import find_level, take_in, weigh_depths
from linkedbandits.lidar.engines.compiled.compiling import entry, machine_code, rough
from linkedbandits.lidar.engines.compiled.counting import uniform
from linkedbandits.lidar.engines.compiled.likelihood import stride_of
from linkedbandits.lidar.engines.compiled.memory import ARM, make_memory
from linkedbandits.lidar.engines.compiled.pixel_loop import begin, cycles_left, end, look
from linkedbandits.lidar.engines.counter import DRAWS


@rough
def _add_row(posterior: Any, fire: Any, at: Any, missed: Any, signal: Any, top: Any) -> None:
    for i in range(np.uint64(posterior.size)):
        posterior[i] += exp_single(fire[at + i] - signal * missed[i] - top)


@machine_code
def put_posterior(model: Any, memory: Any, samples: Any, successes: Any) -> int:
    """The weights of all bins into ``memory.posterior``; the bin that has most."""
    top = weigh_depths(model, memory, samples, successes)
    phases, stride = model.share.shape[0], stride_of(model)
    memory.posterior[:] = np.float32(0.0)
    for row in range(model.fire.shape[1]):
        phase = row % phases
        at = np.uint64(row * stride + model.margin)
        _add_row(memory.posterior, memory.fire, at, memory.missed[phase], model.rough_signals[row // phases], top)
    return np.int64(np.argmax(memory.posterior))


@machine_code
def open_at(timing: Any, rules: Any, posterior: Any, share: float) -> int:
    """Where a gate opens for the depth that this share of the posterior is before; a little earlier."""
    total = 0.0
    for i in range(posterior.size):
        total += posterior[i]
    until, upto, drawn = share * total, 0.0, 0
    for i in range(posterior.size):
        upto += posterior[i]
        drawn += upto <= until
    opens = max(min(drawn, posterior.size - 1) - rules.lead, 0)
    while not timing.allowed[opens]:
        opens -= 1
    return opens


@entry
def acquire_drawing(model: Any, timing: Any, rules: Any, before: Any, after: Any) -> None:
    """Draw a gate, use it, and draw again, until the budget is used up."""
    memory = make_memory(model)
    plain = timing.rising.size == 0
    for pixel in range(before.numbers.size):
        begin(model, before, pixel, memory, after)
        samples, successes = after.samples[pixel], after.successes[pixel]
        number = np.uint64(before.numbers[pixel])
        memory.posterior[:] = np.float32(1.0)
        cycles, step, opens = 0, 0, 0
        chosen = not before.around
        while True:
            if chosen:
                share = uniform(memory.four, before.key, number, DRAWS, step, True)
                opens = open_at(timing, rules, memory.posterior, share)
                left = cycles_left(timing, rules, memory, cycles, opens, True)
                if step > 0 and left <= 0 and cycles > 0:
                    break
                times = min(max(np.int64(cycles * rules.growth), 1), left)
                memory.gate[:] = False
                memory.gate[opens:] = True
                look(timing, memory, before.key, number, opens, times, True, plain, samples, successes)
                cycles += times
                take_in(model, memory, memory.hits)
            chosen = True
            step += 1
            memory.state[ARM] = put_posterior(model, memory, samples, successes)
            find_level(model, memory, samples, successes, before.expected_background[pixel])
        end(timing, memory, after, pixel, cycles)
