"""What to do next, by what was counted so far: ``PulseGating.choose``, for one pixel."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.best_gates import best_gate
from linkedbandits.lidar.engines.compiled.compiling import in_place, rough
from linkedbandits.lidar.engines.compiled.deciding import decide
from linkedbandits.lidar.engines.compiled.likelihood import add_photons, fold, stride_of
from linkedbandits.lidar.engines.compiled.memory import ARM, FRESH, LEVEL, STOPPED
from linkedbandits.lidar.engines.compiled.outlook import find_best, largest, look_out
from linkedbandits.lidar.engines.compiled.weighing import background_elsewhere, level_of, none_better, shares


@rough
def _put_missed(padded: Any, margin: int, samples: Any, successes: Any) -> None:
    for i in range(np.uint64(samples.size)):
        padded[np.uint64(margin) + i] = np.float32(samples[i] - successes[i])


@in_place
def take_in(model: Any, memory: Any, hits: Any) -> None:
    """Add photons that have just come to those before: all of them, unless ``FRESH``; then they are counted anew."""
    if memory.state[FRESH]:
        return
    table, stride = model.rough_fire[memory.state[LEVEL]], stride_of(model)
    for i in range(model.bins):
        if hits[i] > 0:
            add_photons(memory.fire, stride, table, model.skip, i, np.float32(hits[i]))


@in_place
def weigh_depths(model: Any, memory: Any, samples: Any, successes: Any) -> Any:
    """Bring the log-likelihood up to date, and find the largest of each depth, and of all."""
    state, stride = memory.state, stride_of(model)
    if state[FRESH]:
        state[FRESH] = 0
        for row in range(model.fire.shape[1]):
            begin = row * stride + model.margin
            memory.fire[begin : begin + model.room] = memory.log_prior
        take_in(model, memory, successes)
    _put_missed(memory.padded, model.margin, samples, successes)
    for phase in range(model.share.shape[0]):
        fold(memory.missed[phase], memory.padded, model.rough_share[phase], model.skip_share[phase])
    find_best(model, memory.fire, stride, memory.missed, memory.best, memory.of_bin)
    return largest(memory.of_bin)


@in_place
def likeliest_bin(of_bin: Any, top: Any) -> int:
    """The first that has the largest. All are looked at: several at a time, that is faster than one by one."""
    found = np.int32(of_bin.size)
    for i in range(np.uint64(of_bin.size)):
        found = min(found, np.int32(i) if of_bin[i] == top else np.int32(of_bin.size))
    return np.int64(found)


@in_place
def find_level(model: Any, memory: Any, samples: Any, successes: Any, expected: float) -> None:
    """Take the background from the bins that a return from the likeliest one does not reach."""
    state = memory.state
    background = background_elsewhere(model, samples, successes, state[ARM] + 0.5, expected)
    level = level_of(model, background)
    if level != state[LEVEL]:
        state[LEVEL] = level
        state[FRESH] = 1


@in_place
def choose(
    model: Any, cells: Any, timing: Any, rules: Any, memory: Any, samples: Any, successes: Any, cycles: int,
    log_prior: Any, signal: float, background: float, gates: bool,
) -> int:  # fmt: skip
    """Find the likeliest depth, stop where it is certain, and choose the next gate elsewhere: the bin it opens at.

    ``signal`` and ``background`` are what was expected; without ``gates`` the detector is not gated.
    """
    state, stride = memory.state, stride_of(model)
    top = weigh_depths(model, memory, samples, successes)
    level = state[LEVEL]
    ends = False
    if rules.likely <= 1:
        none = none_better(model, samples, successes, level, state[ARM] + 0.5)
        near, nothing = shares(model, memory, stride, top, none, rules.wide)
        ends = (near >= rules.likely or nothing >= 1 - (1 - rules.likely) ** 2) and cycles > 0
    place = likeliest_bin(memory.of_bin, top)
    state[ARM] = place
    find_level(model, memory, samples, successes, background)
    if rules.needed < np.inf:
        decide(model, cells, rules, memory, samples, successes, cycles, log_prior, signal, background, top)
    if ends:
        state[STOPPED] = 1
    if not gates or state[STOPPED] or cycles >= rules.cycles:
        return 0
    look_out(model, level, memory, stride, place, top)
    return best_gate(timing, memory)
