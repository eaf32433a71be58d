"""What the kernels of expose.cu count, photon by photon, is what an Exposure counts that is given the same numbers."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from linkedbandits.lidar import Sensor, Task
from linkedbandits.lidar.acquiring import cycles_left
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.engines.counter import DETECTIONS, PHOTONS
from linkedbandits.lidar.engines.gpu.tables import gate_words, make_tables
from linkedbandits.lidar.estimators import model_of
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from linkedbandits.stopping.looks import GROWTH
from tests.support.by_counter import ByCounter, evenly
from tests.support.kernels_on_cpu import compiled, needs_compiler, run

pytestmark = needs_compiler

BINS, PIXELS, WARPS = 70, 9, 2
KEY = (0x12345678, 0x9ABCDEF0)
SENSOR = Sensor(bins=BINS, ambient=1.5)
PERIOD = SENSOR.period
ACTIVE = np.array([8, 0, 3, 1, 7, 2, 5, 6], dtype=np.int32)
"""All but pixel 4, in no order."""


class Frame:
    """Pixels before kernels, and each before an Exposure of its own."""

    def __init__(self, sensor, stream=PHOTONS):
        self.sensor, half = sensor, sensor.pulse.half
        self.library = compiled("expose.cu", (f"-DBINS={BINS}", f"-DHALF={half}"))
        self.numbers = np.arange(PIXELS, dtype=np.int64) * 3 + (2**33 + 5)
        self.depth = np.array([33.3, 0.2, BINS - 0.1, np.nan, 50.0, 12.9, -1.5, BINS + 2.0, 20.5])
        self.signal = np.array([0.5, 2.0, 1.0, 1.0, 0.3, 6.0, 3.0, 3.0, 0.0])
        self.background = np.array([0.02, 0.001, 0.05, 0.02, 0.01, 0.0, 0.02, 0.02, 0.03])
        self.cumulative = make_tables(sensor.pulse, model_of(sensor, 0.5)).cumulative
        self.gone, self.last = np.zeros(PIXELS, dtype=np.int64), np.full(PIXELS, -inf)
        self.armed, self.detections, self.cycles = np.zeros((3, PIXELS), dtype=np.int32)
        self.marks, self.fired = np.zeros((2, PIXELS, BINS), dtype=np.int32)
        rates = sensor.rates(self.depth, self.signal, self.background)
        self.streams = [ByCounter(KEY, number, stream) for number in self.numbers]
        self.exposures = [Exposure(sensor, rates[i : i + 1], self.streams[i]) for i in range(PIXELS)]
        self.samples, self.successes = np.zeros((2, PIXELS, BINS), dtype=np.int64)

    def begin_within_a_period(self):
        """Clocks that do not stand at the beginning of a period, and a detection before: a gate has to wait."""
        self.gone[ACTIVE[:4]], self.last[ACTIVE[:4]] = 3 * BINS + 17, BINS - 5.0
        for pixel in ACTIVE[:4]:
            self.exposures[pixel]._clock[:], self.exposures[pixel]._fired[:] = self.gone[pixel], self.last[pixel]

    @property
    def scene(self):
        return [self.numbers, self.depth, self.signal, self.background, self.cumulative]

    @property
    def dead(self):
        return self.sensor.dead_time / self.sensor.period

    def expose(self, kernel, *gates, threads=32 * WARPS, a_block=WARPS, shared_bytes=0):
        clocks = self.gone, self.last, self.armed, self.detections
        counts = self.cycles, self.marks, self.fired
        begin = ACTIVE, ACTIVE.size, *self.scene, *clocks, *KEY
        blocks = -(-ACTIVE.size // a_block) + 1  # one more, which has nothing to do
        run(self.library, kernel, blocks, *begin, *gates, *counts, threads=threads, shared_bytes=shared_bytes)

    def compare(self, times, expose):
        """``expose`` is told the Exposure and the number of each pixel, and gives its counts."""
        for pixel in ACTIVE[times[ACTIVE] > 0]:
            counts = expose(self.exposures[pixel], pixel)
            self.samples[pixel] += counts.samples[0]
            self.successes[pixel] += counts.successes[0]
        assert np.array_equal(self.marks.cumsum(axis=1), self.samples)
        assert np.array_equal(self.fired, self.successes)
        assert np.array_equal(self.gone, [each._clock[0] for each in self.exposures])
        np.testing.assert_allclose(self.last, [each._fired[0] for each in self.exposures], rtol=1e-7, atol=1e-6)
        assert np.array_equal(self.cycles, [each.plays[0] for each in self.exposures])
        assert np.array_equal(self.armed, self.cycles)


def times_of(turn):
    """Fewer cycles than lanes, just as many, more; and none."""
    return np.roll(np.array([1, 5, 31, 32, 33, 64, 100, 0, 7], dtype=np.int32), turn)


def opens_of(turn):
    return np.roll(np.array([0, 25, BINS - 1, 40, 3, 1, 60, 12, 33], dtype=np.int32), 2 * turn)


DEAD = pytest.mark.parametrize("dead", [0.0, 0.3, 0.95, 2.5])


@DEAD
def test_gates_that_stay_open(dead):
    frame = Frame(replace(SENSOR, dead_time=dead * PERIOD))
    frame.begin_within_a_period()
    for turn in range(4):
        times, opens = times_of(turn), opens_of(turn)
        frame.expose("expose_suffix", opens, times, frame.dead)
        gate = np.arange(BINS) >= opens[:, np.newaxis]
        frame.compare(times, lambda its, pixel, times=times, gate=gate: its.expose(gate[[pixel]], int(times[pixel])))
    assert frame.fired.any(axis=1).sum() > PIXELS / 2
    assert (frame.gone[ACTIVE[4:]] > frame.cycles[ACTIVE[4:]] * BINS).any() == (dead > 0)


def in_words(gate):
    """Rows of bits: bin i is bit i % 32 of word i // 32."""
    words = np.zeros((PIXELS, gate_words(BINS)), dtype=np.uint32)
    for bin_ in range(BINS):
        words[:, bin_ // 32] |= gate[:, bin_].astype(np.uint32) << np.uint32(bin_ % 32)
    return words


def random_windows(turn, shortest=3):
    """Windows and gaps of so many bins or more."""
    rng = np.random.default_rng(turn)
    gate = np.zeros((PIXELS, BINS), dtype=bool)
    for row in gate:
        place = rng.integers(0, 20)
        while place < BINS:
            end = place + rng.integers(shortest, 25)
            row[place:end] = True
            place = end + rng.integers(shortest, 25)
    return gate


@DEAD
@pytest.mark.parametrize("rise", [0.0, 1.0, 2.4, 6.0])
def test_gates_of_bits_and_such_that_rise(rise, dead):
    kind = Windows(3 * PERIOD / BINS, 3 * PERIOD / BINS)
    sensor = replace(SENSOR, dead_time=dead * PERIOD, rise=rise * PERIOD / BINS, gates=kind)
    frame = Frame(sensor)
    frame.begin_within_a_period()
    shared = WARPS * (8 * (BINS + 1) + 4 * BINS)
    rising = np.append(sensor.rising, 0.0).astype(np.float32)
    for turn in range(3):
        times, gate = times_of(turn), random_windows(turn)
        opens = gate.argmax(axis=1).astype(np.int32)
        given = opens, in_words(gate), rising, sensor.rise_bins, times, frame.dead
        frame.expose("expose_gate", *given, shared_bytes=shared)
        frame.compare(times, lambda its, pixel, times=times, gate=gate: its.expose(gate[[pixel]], int(times[pixel])))
    assert frame.fired.any(axis=1).sum() > PIXELS / 2


def test_a_gate_that_rises_and_stays_open_needs_no_bits():
    sensor = replace(SENSOR, rise=4.5 * PERIOD / BINS, gates=Suffixes())
    frame = Frame(sensor)
    shared = WARPS * (8 * (BINS + 1) + 4 * BINS)
    for turn in range(2):
        times, opens = times_of(turn), opens_of(turn)
        given = opens, None, sensor.rising.astype(np.float32), sensor.rise_bins, times, frame.dead
        frame.expose("expose_gate", *given, shared_bytes=shared)
        gate = np.arange(BINS) >= opens[:, np.newaxis]
        frame.compare(times, lambda its, pixel, times=times, gate=gate: its.expose(gate[[pixel]], int(times[pixel])))


def test_any_bins():
    frame = Frame(replace(SENSOR, gates=AnySubset()))
    gate = np.random.default_rng(1).random((PIXELS, BINS)) < 0.4
    gate[:, -1] = True
    times, opens = times_of(0), gate.argmax(axis=1).astype(np.int32)
    shared = WARPS * (8 * (BINS + 1) + 4 * BINS)
    given = opens, in_words(gate), np.zeros(1, dtype=np.float32), 0, times, frame.dead
    frame.expose("expose_gate", *given, shared_bytes=shared)
    frame.compare(times, lambda its, pixel: its.expose(gate[[pixel]], int(times[pixel])))


@pytest.mark.parametrize("dead", [0.0, 0.05, 0.3, 2.5])
def test_free_running(dead):
    frame = Frame(replace(SENSOR, dead_time=dead * PERIOD), DETECTIONS)
    for turn in range(3):
        times = times_of(turn)
        frame.expose("expose_free_running", times, frame.sensor.dead_bins, threads=4, a_block=4)
        frame.compare(times, lambda its, pixel, times=times: its.free_running(int(times[pixel])))
        assert np.array_equal(frame.detections, [each.used for each in frame.streams])


def test_where_it_is_quite_dark_nothing_ever_comes():
    frame = Frame(SENSOR, DETECTIONS)
    frame.background[:], frame.signal[:] = 0.0, 0.0
    times = np.full(PIXELS, 3, dtype=np.int32)
    frame.expose("expose_free_running", times, frame.sensor.dead_bins, threads=4, a_block=4)
    assert not frame.fired.any()
    assert (frame.marks.cumsum(axis=1)[ACTIVE] == 3).all()


@DEAD
@pytest.mark.parametrize("shifts", [1, 7, 100])
def test_shifted_windows(shifts, dead):
    frame = Frame(replace(SENSOR, dead_time=dead * PERIOD))
    for turn in range(3):
        times = times_of(turn)
        frame.expose("expose_shifted", shifts, times, frame.dead)
        frame.compare(times, lambda its, pixel, times=times: its.shifted(int(times[pixel]), shifts))


def test_every_bin_the_same_number_of_samples():
    frame, most = Frame(SENSOR), 260
    arguments = PIXELS, *frame.scene, *KEY, most, GROWTH, frame.cycles, frame.marks, frame.fired
    run(frame.library, "expose_evenly", 6, *arguments, threads=32 * WARPS, shared_bytes=4 * WARPS * BINS)
    assert (frame.cycles == most).all()
    rates = SENSOR.rates(frame.depth, frame.signal, frame.background)
    for pixel in range(PIXELS):
        samples, fired = evenly(rates[pixel], frame.numbers[pixel], KEY, most)
        assert np.array_equal(frame.marks[pixel].cumsum(), samples)
        assert np.array_equal(frame.fired[pixel], fired)


@pytest.mark.parametrize("method", ["pulse", "free-running"])
@pytest.mark.parametrize("seconds", [None, 40.3 * PERIOD])
@pytest.mark.parametrize("dead", [0.3, 2.5])
def test_cycles_that_are_left(method, seconds, dead):
    task = Task(replace(SENSOR, dead_time=dead * PERIOD), signal=0.5, cycles=60, seconds=seconds)
    made = find_acquisition(method, task)
    frame, rng = Frame(task.sensor), np.random.default_rng(3)
    count = 200
    cycles = rng.integers(0, 61, count).astype(np.int32)
    gone = rng.integers(0, 43, count) * BINS + (rng.integers(0, BINS, count) if method == "pulse" else 0)
    last = np.where(rng.random(count) < 0.3, -inf, rng.integers(-50, BINS, count).astype(np.float64))
    opens = rng.integers(0, BINS, count).astype(np.int32)
    stopped = (rng.random(count) < 0.1).astype(np.uint8)
    times, done = np.full(count, -1, dtype=np.int32), np.full(count, 7, dtype=np.uint8)
    active = rng.permutation(count)[: count - 5].astype(np.int32)
    most = inf if seconds is None else np.floor(seconds / task.sensor.bin_seconds * (1 + 1e-12))
    free = method == "free-running"
    unused = np.zeros(count, dtype=np.int32)
    clocks = gone, last, unused, unused
    limits = made.gates.growth, task.cycles, float(most), frame.dead, free
    given = active, active.size, *clocks, cycles, opens, *limits, times, stopped, done
    run(frame.library, "plan_cycles", 30, *given, threads=8)
    exposure = Exposure(task.sensor, np.zeros((count, BINS)), rng)
    exposure._clock, exposure._fired = gone, last
    state = SimpleNamespace(cycles=cycles, gate=np.arange(BINS) >= opens[:, np.newaxis])
    left = cycles_left(made, task, state, exposure)
    wanted = np.minimum(made.gates.next_cycles(state), np.maximum(left, 0))
    assert np.array_equal(times[active], wanted[active])
    assert np.array_equal(done[active] > 0, (left <= 0)[active] | (stopped[active] > 0))
    others = np.setdiff1d(np.arange(count), active)
    assert (times[others] == -1).all()
    assert (done[others] == 7).all()
    assert 20 < (left <= 0).sum() + stopped.sum() < 180 or seconds is None
