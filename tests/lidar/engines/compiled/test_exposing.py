"""Who answers, in time: photon by photon what an Exposure counts that is given the same random numbers."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.engines.compiled import exposing
from linkedbandits.lidar.engines.compiled.tables import timing_of
from linkedbandits.lidar.engines.counter import DETECTIONS, PHOTONS
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gates import Windows
from tests.support.by_counter import ByCounter
from tests.support.in_python import in_python

BINS, NUMBER, LOW, HIGH = 30, 2**33 + 5, 0x12345678, 0x9ABCDEF0
SENSOR = Sensor(bins=BINS, ambient=1.5)
PERIOD = SENSOR.period
DEAD = pytest.mark.parametrize("dead", [0.0, 0.3, 0.95, 2.5])


class Both:
    """A pixel before the functions of machine code, and one before an Exposure."""

    def __init__(self, sensor, stream=PHOTONS):
        self.sensor, self.timing = sensor, timing_of(sensor)
        half, depth = sensor.pulse.half, 17.3
        first = int(depth) - half
        edges = first + np.arange(2 * half + 2) - depth
        self.rates, self.sums, self.clock = np.zeros(BINS), np.zeros(BINS + 1), np.zeros(exposing.CLOCKS)
        in_python(exposing.put_rates)(self.rates, first, np.diff(sensor.pulse.cumulative(edges)), 0.8, 0.04)
        in_python(exposing.add_up)(self.sums, self.rates)
        in_python(exposing.start_clock)(self.clock)
        self.randomness = np.uint64(LOW | HIGH << 32), np.uint64(NUMBER), np.zeros(4, np.uint64)
        self.samples, self.successes, self.marks, self.hits = np.zeros((4, BINS), dtype=np.int64)
        rates = sensor.rates([depth], [0.8], [0.04])
        np.testing.assert_allclose(self.rates, rates[0], atol=1e-15)
        self.exposure = Exposure(sensor, rates, ByCounter((LOW, HIGH), NUMBER, stream))
        self.right = np.zeros((2, BINS), dtype=np.int64)

    def expose(self, gate, times):
        seen, counted, sums, guide = np.zeros(BINS), gate.copy(), np.zeros(BINS + 1), np.zeros(exposing.GUIDES, int)
        in_python(exposing.see_through)(self.timing, gate, self.rates, seen, counted, sums)
        in_python(exposing.put_guide)(guide, sums)
        opens = int(gate.argmax())
        in_python(exposing.expose)(self.timing, *self.randomness, sums, guide, opens, times, self.clock, self.hits)
        in_python(exposing.count)(self.hits, times, counted, self.samples, self.successes)
        self.compare(self.exposure.expose(gate[np.newaxis], times))

    def run_freely(self, periods):
        in_python(exposing.run_freely)(
            self.timing, *self.randomness, self.sums, periods, self.clock, self.marks, self.samples, self.successes
        )

    def open_shifted(self, windows, shifts):
        in_python(exposing.open_shifted)(
            self.timing, *self.randomness, self.sums, windows, shifts, self.clock, self.marks, self.samples,
            self.successes,
        )  # fmt: skip
        self.compare(self.exposure.shifted(windows, shifts))

    def compare(self, counts):
        self.right += counts.samples[0], counts.successes[0]
        np.testing.assert_array_equal([self.samples, self.successes], self.right)
        assert self.clock[exposing.CLOCK] == self.exposure._clock[0]
        assert self.clock[exposing.FIRED] == pytest.approx(self.exposure._fired[0], abs=1e-6)
        assert self.clock[exposing.ARMED] == self.exposure.plays[0]


def test_light_is_added_up_and_where_one_photon_always_comes_more_do_not_count():
    sums = np.full(4, np.nan)
    in_python(exposing.add_up)(sums, np.array([0.5, 1e9, 0.25]))
    assert sums.tolist() == [0.0, 0.5, 40.5, 40.75]


@DEAD
def test_gates_that_stay_open(dead):
    both = Both(replace(SENSOR, dead_time=dead * PERIOD))
    for opens, times in ((0, 1), (12, 20), (29, 3), (5, 1), (0, 0), (3, 40)):
        both.expose(np.arange(BINS) >= opens, times)
    assert both.successes.sum() > 20


@DEAD
@pytest.mark.parametrize("rise", [0.0, 2.4])
def test_windows_and_such_that_rise(rise, dead):
    kind = Windows(3 * SENSOR.bin_seconds, 3 * SENSOR.bin_seconds)
    both = Both(replace(SENSOR, dead_time=dead * PERIOD, rise=rise * SENSOR.bin_seconds, gates=kind))
    place = np.arange(BINS)
    for gate in ((place >= 4) & (place < 20), (place < 6) | (place > 12), place >= 14):
        both.expose(gate, 30)
    assert both.successes.sum() > 10


@pytest.mark.parametrize("dead", [0.0, 0.05, 0.3, 2.5])
def test_a_detector_that_runs_freely_goes_on_where_it_was(dead):
    both = Both(replace(SENSOR, dead_time=dead * PERIOD), DETECTIONS)
    for periods in (1, 3, 1, 1, 20):
        both.run_freely(periods)
    both.compare(both.exposure.free_running(26))
    assert both.successes.sum() > 5


def test_where_it_is_quite_dark_nothing_ever_comes():
    both = Both(SENSOR, DETECTIONS)
    both.sums[:] = 0.0
    both.run_freely(3)
    assert not both.successes.any()
    assert (both.samples == 3).all()


@DEAD
@pytest.mark.parametrize("shifts", [1, 7, 100])
def test_shifted_windows(shifts, dead):
    both = Both(replace(SENSOR, dead_time=dead * PERIOD))
    for windows in (1, 12, 30):
        both.open_shifted(windows, shifts)


@DEAD
def test_cycles_that_have_ended_by_then(dead):
    both = Both(replace(SENSOR, dead_time=dead * PERIOD))
    generator, found = np.random.default_rng(1), set()
    for _ in range(60):
        clock, windows = generator.integers(0, 15 * BINS), generator.integers(0, 20)
        fired = -np.inf if generator.random() < 0.3 else float(generator.integers(-20, BINS))
        both.clock[[exposing.CLOCK, exposing.FIRED, exposing.WINDOWS]] = clock, fired, windows
        both.exposure._clock[:], both.exposure._fired[:], both.exposure._windows[:] = clock, fired, windows
        opens, seconds = int(generator.integers(0, BINS)), 12.3 * PERIOD
        mine = in_python(exposing.cycles_until)(both.timing, seconds, both.clock, opens)
        assert mine == both.exposure.cycles_until(seconds, np.array([opens]))[0]
        shifted = in_python(exposing.shifted_until)(both.timing, seconds, both.clock, 7)
        assert shifted == both.exposure.shifted_until(seconds, 7)[0]
        found.add(mine)
    assert 0 in found
    assert len(found) > 3
