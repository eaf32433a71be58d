"""Decisions on the same counts, by machine code and by the reference."""

from math import log

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.acquisitions import Task, find_acquisition
from linkedbandits.lidar.engines.compiled.choosing import choose
from linkedbandits.lidar.engines.compiled.engine import Job
from linkedbandits.lidar.engines.compiled.memory import FRESH, LEVEL, make_memory
from linkedbandits.lidar.engines.engine import Light, Pixels
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gates import Suffixes, worth_per_time
from linkedbandits.lidar.gating import outlook
from linkedbandits.lidar.sensor import Sensor
from tests.support.kept_machine_code import kept

BINS = 70


@kept
def choose_each(model, cells, timing, rules, samples, successes, cycles, level, prior, signal, background):
    out, gates = np.zeros((len(samples), 5), np.int64), np.zeros(samples.shape, np.bool_)
    memory = make_memory(model)
    for i in range(len(samples)):
        memory.state[:] = 0
        memory.state[LEVEL] = level[i]
        memory.state[FRESH] = 1
        memory.log_prior[: model.bins] = prior[i]
        opens = choose(
            model, cells, timing, rules, memory, samples[i], successes[i], cycles[i], prior[i], signal[i],
            background[i], True,
        )  # fmt: skip
        out[i] = memory.state[:5]
        gates[i, opens:] = True
    return out, gates


def seen(sensor, seed):
    """Counts of pixels after some cycles of some gates."""
    generator = np.random.default_rng(seed)
    pixels = 80
    depth, signal = generator.uniform(1, BINS - 1, pixels), np.exp(generator.uniform(log(0.1), log(3), pixels))
    exposure = Exposure(sensor, sensor.rates(depth, signal), generator)
    cycles = generator.integers(1, 400, pixels)
    samples, successes = np.zeros((2, pixels, BINS), dtype=np.int64)
    starts = sensor.gates.starts(BINS)
    for part in (cycles // 2, cycles - cycles // 2):
        opens = starts[generator.integers(0, starts.size, pixels) // 2]
        counts = exposure.expose(np.arange(BINS) >= opens[:, np.newaxis], part)
        samples, successes = samples + counts.samples, successes + counts.successes
    return samples, successes, cycles


@pytest.mark.parametrize("likely", [None, 0.9])
@pytest.mark.parametrize("told", [False, True])
@pytest.mark.parametrize(
    "sensor",
    [
        Sensor(bins=BINS, ambient=4.0),
        Sensor(bins=BINS, ambient=2.0, dead_time=30e-9, gates=Suffixes(12), rise=1.7e-9),
        Sensor(bins=BINS, ambient=3.0, fwhm=7.0, dead_time=0.0),
    ],
    ids=["any bin", "positions and rise", "wide"],
)
def test_the_same_counts_lead_to_the_same_decisions(sensor, told, likely):
    task = Task(sensor, 0.5, 10_000, delta=0.05, told=told, likely=likely)
    policy = find_acquisition("pulse", task).policy
    samples, successes, cycles = seen(sensor, 5)
    pixels = len(samples)
    state = policy.start(pixels, BINS, np.zeros(pixels, dtype=np.uint64))
    state.samples, state.successes, state.cycles = samples, successes, cycles
    level = state.level.copy()
    policy.choose(state)
    nowhere = Light(*np.zeros((3, pixels)))
    job = Job(Pixels(task, "pulse", "map", np.arange(pixels), nowhere, None, 0, 0))
    told_tables = job._tables
    found, gates = choose_each(
        told_tables.model, told_tables.cells, told_tables.timing, job._rules, samples, successes, cycles, level,
        state.log_prior, state.expected_signal, state.expected_background,
    )  # fmt: skip
    np.testing.assert_array_equal(found[:, 0], state.arm)
    np.testing.assert_array_equal(found[:, 1], state.level)
    np.testing.assert_array_equal(found[:, 2] > 0, state.stopped)
    np.testing.assert_array_equal(found[:, 3] > 0, state.certain)
    np.testing.assert_array_equal(found[:, 4], state.next_try)
    assert state.stopped.any()
    going_on = ~state.stopped
    likelihood = policy.model.log_likelihood(samples, successes, level, rough=True)
    likelihood += state.log_prior.astype(np.float32)[:, np.newaxis, np.newaxis]
    worth, chance = outlook(policy.model, likelihood, likelihood.max(axis=1), level)
    best = worth_per_time(state.gate, worth, chance, sensor)[going_on]
    mine = worth_per_time(gates, worth, chance, sensor)[going_on]
    np.testing.assert_allclose(mine, best, rtol=1e-5)
