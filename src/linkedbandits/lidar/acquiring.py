"""Pixels acquired: a policy chooses gates, the sensor answers in time, and what was seen is told to the policy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkedbandits.lidar.acquisitions import Acquisition, Task
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gate_policy import AnyGatePolicy, GateState
from linkedbandits.linkage import find_linkage
from linkedbandits.model import BoolArray, FloatArray, IntArray, best_arm, empirical_means
from linkedbandits.simulation import Outcomes, simulate_lanes

MEMORY = 32 * 2**20
"""Bytes for the arrays of the pixels that run side by side in a process."""
AT_ONCE = 2**12
"""Windows of a pixel that are simulated together: more would take more memory, and gain nothing."""


@dataclass(frozen=True)
class Acquired:
    """What came of some pixels: a row each.

    ``bin`` is the one that the policy itself names. ``stopped`` says where the policy ended by its own rule, and
    ``proved`` where that is with a guarantee. ``level`` is that of the background in the policy's model; the last two
    are of policies that open gates by a model.
    """

    samples: IntArray
    successes: IntArray
    cycles: FloatArray
    seconds: FloatArray
    bin: IntArray
    stopped: BoolArray
    proved: BoolArray
    level: IntArray
    log_prior: FloatArray


def acquire(
    made: Acquisition,
    task: Task,
    rates: FloatArray,
    first: int,
    seed: np.random.SeedSequence,
    expected: Expected | None,
) -> Acquired:
    """Acquire pixels with these photon rates, (pixels, bins); ``first`` is the number of the first of them."""
    if made.gates is not None:
        return _acquire_gate_by_gate(made, made.gates, task, rates, np.random.default_rng(seed), expected)
    if made.in_time:
        return _acquire_whole_windows(made, task, rates, np.random.default_rng(seed))
    outcomes = simulate_lanes(
        -np.expm1(-rates),
        made.policy,
        linkage=made.linkage,
        first=first,
        seed=seed,
        max_plays=task.cycles,
        memory_limit=MEMORY,
    )
    nothing = np.zeros(len(rates), dtype=np.int64)
    return Acquired(
        samples=outcomes.samples,
        successes=outcomes.successes,
        cycles=outcomes.plays * np.float64(made.cost),
        seconds=_seconds(made, task, outcomes),
        bin=outcomes.top[:, 0],
        stopped=outcomes.confident,
        proved=outcomes.confident,
        level=nothing,
        log_prior=np.zeros((len(rates), 0)),
    )


def _acquire_gate_by_gate(
    made: Acquisition,
    policy: AnyGatePolicy,
    task: Task,
    rates: FloatArray,
    generator: np.random.Generator,
    expected: Expected | None,
) -> Acquired:
    lanes, bins = rates.shape
    exposure = Exposure(task.sensor, rates, generator)
    seeds = np.asarray(generator.integers(2**63, size=lanes, dtype=np.uint64))
    state: GateState = policy.start(lanes, bins, seeds)
    if expected is not None:
        policy.expect(state, expected)
    ended = Acquired(
        samples=np.zeros((lanes, bins), dtype=np.int64),
        successes=np.zeros((lanes, bins), dtype=np.int64),
        cycles=np.zeros(lanes),
        seconds=np.zeros(lanes),
        bin=np.zeros(lanes, dtype=np.int64),
        stopped=np.zeros(lanes, dtype=np.bool_),
        proved=np.zeros(lanes, dtype=np.bool_),
        level=np.zeros(lanes, dtype=np.int64),
        log_prior=np.zeros((lanes, bins)),
    )
    running = np.arange(lanes)
    while running.size:
        left = cycles_left(made, task, state, exposure)
        times = np.minimum(policy.next_cycles(state), left)
        if made.mode == "free-running":  # nothing is chosen, so all pixels have had the same cycles
            counts = exposure.free_running(int(times[0]))
        elif policy.wraps:
            counts = exposure.wrapped(state.gate.argmax(axis=1), times)
        else:
            counts = exposure.expose(state.gate, times)
        policy.observe_in_time(state, counts, times)
        out = state.stopped | (cycles_left(made, task, state, exposure) <= 0)
        if not out.any():
            continue
        rows, done = running[out], np.flatnonzero(out)
        ended.samples[rows] = state.samples[done]
        ended.successes[rows] = state.successes[done]
        ended.cycles[rows] = state.cycles[done]
        ended.seconds[rows] = exposure.seconds[done]
        ended.bin[rows] = state.arm[done]
        ended.stopped[rows] = state.stopped[done]
        ended.proved[rows] = policy.proved(state)[done]
        ended.level[rows] = state.level[done]
        ended.log_prior[rows] = state.log_prior[done]
        going_on = np.flatnonzero(~out)
        running = running[going_on]
        state.keep(going_on)
        exposure.keep(going_on)
    return ended


def cycles_left(made: Acquisition, task: Task, state: GateState, exposure: Exposure) -> IntArray:
    """How many cycles of its next gate each pixel may have, whatever they see."""
    left = np.asarray(task.cycles - state.cycles)
    if task.seconds is None:
        return left
    if made.mode == "free-running":
        periods = np.floor(task.seconds / task.sensor.period * (1 + 1e-12) - exposure.periods)
        return np.minimum(left, periods.astype(np.int64))
    wraps = made.gates is not None and made.gates.wraps
    until = exposure.wrapped_until if wraps else exposure.cycles_until
    return np.minimum(left, until(task.seconds, state.gate.argmax(axis=1)))


def _acquire_whole_windows(
    made: Acquisition, task: Task, rates: FloatArray, generator: np.random.Generator
) -> Acquired:
    """Every bin in every window, whatever was seen: each begins with the period, or they are shifted."""
    lanes, bins = rates.shape
    exposure = Exposure(task.sensor, rates, generator)
    samples, successes = np.zeros((2, lanes, bins), dtype=np.int64)
    windows, seconds = np.zeros(lanes, dtype=np.int64), np.zeros(lanes)
    most = int(task.cycles / made.cost * (1 + 1e-12))
    running = np.arange(lanes)
    while True:
        times = np.minimum(most - exposure.plays, AT_ONCE)
        if task.seconds is not None:
            until = exposure.cycles_until(task.seconds, np.zeros(running.size, dtype=np.int64))
            if made.shifts is not None:
                until = exposure.shifted_until(task.seconds, made.shifts)
            times = np.minimum(times, until)
        windows[running], seconds[running] = exposure.plays, exposure.seconds
        going_on = np.flatnonzero(times > 0)
        if not going_on.size:
            break
        running, times = running[going_on], times[going_on]
        exposure.keep(going_on)
        if made.shifts is None:
            counts = exposure.expose(np.ones((running.size, bins), dtype=np.bool_), times)
        else:
            counts = exposure.shifted(times, made.shifts)
        samples[running] += counts.samples
        successes[running] += counts.successes
    nothing = np.zeros(lanes, dtype=np.int64)
    return Acquired(
        samples=samples,
        successes=successes,
        cycles=windows * np.float64(made.cost),
        seconds=seconds,
        bin=best_arm(empirical_means(samples, successes), samples > 0),
        stopped=nothing > 0,
        proved=nothing > 0,
        level=nothing,
        log_prior=np.zeros((lanes, 0)),
    )


def _seconds(made: Acquisition, task: Task, outcomes: Outcomes) -> FloatArray:
    """The time that the plays took; nan for plays in an order in which no time runs."""
    if not find_linkage(made.linkage).in_order:
        return np.full(outcomes.plays.size, np.nan)
    return task.sensor.elapsed(outcomes.plays.astype(np.float64), outcomes.successes)  # a play in order is a cycle
