"""Frames of machine code: the law of the reference's, whatever the threads and blocks."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

pytest.importorskip("numba")

import numba

from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.lidar import Scene, Sensor, Task
from linkedbandits.lidar.acquiring import acquire
from linkedbandits.lidar.acquisitions import find_acquisition
from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.engines import find_engine
from linkedbandits.lidar.engines.compiled import engine as compiled
from linkedbandits.lidar.engines.compiled.engine import Job
from linkedbandits.lidar.engines.engine import Light, Pixels
from linkedbandits.lidar.frame import capture
from linkedbandits.lidar.gates import AnySubset, Windows
from linkedbandits.lidar.trusting import WIDTHS

SENSOR = Sensor(bins=40, ambient=2.0, dead_time=30e-9)
PIXELS = 500
ALARM = 1e-5
"""The probability of a false alarm of each comparison below; seeds are fixed, so there is one or there is none."""


def light(seed=1, brighter=1.0):
    generator = np.random.default_rng(seed)
    depth = generator.uniform(2, 38, PIXELS)
    depth[::10] = np.nan
    signal = np.where(np.isnan(depth), 0.0, 0.8 * brighter)
    return Light(depth, signal, np.full(PIXELS, SENSOR.background))


def pixels(task, acquisition, these, around=None, estimator="map", seed=3):
    return Pixels(task, acquisition, estimator, np.arange(PIXELS), these, around, seed, 0)


def around():
    """All of them expect a return near the end of the range, which is mostly wrong."""
    depth = np.tile([35.0, 36.0, 37.5], (PIXELS, 1))
    shares = np.array([[[0.0, 0.6, 0.0, 0.4, 0.0]] * 3, [[0.2, 0.2, 0.2, 0.2, 0.2]] * 3])  # of two groups
    return Around(
        depth=depth,
        trust=np.full((PIXELS, 3), 0.8 / 3),
        signal=np.full(PIXELS, 0.5),
        background=np.full(PIXELS, SENSOR.background),
        group=np.arange(PIXELS) % 2,
        shares=shares,
        widths=WIDTHS,
    )


def same_law(one, other):
    return stats.ks_2samp(one, other, method="asymp").pvalue


def differences(one, other):
    """The p-values of two-sample tests: cycles, seconds, what every eighth of the bins was sampled and fired."""
    found = [same_law(one.cycles, other.cycles), same_law(one.seconds, other.seconds)]
    for counts in ("samples", "successes"):
        mine, its = (getattr(each, counts).reshape(PIXELS, 8, -1).sum(axis=2) for each in (one, other))
        found += [same_law(mine[:, part], its[:, part]) for part in range(8)]
    return np.nan_to_num(found, nan=1.0)


def by_numpy(these):
    made, task = find_acquisition(these.acquisition, these.task), these.task
    expected = None if these.around is None else these.around.expected(task.sensor.bins)
    seed = np.random.SeedSequence(11)
    return acquire(made, task, task.sensor.rates(*these.light), 0, seed, expected)


CASES = {
    "pulse": ("pulse", Task(SENSOR, 0.8, 250, delta=0.1)),
    "told and strongest": ("pulse", Task(SENSOR, 0.8, 250, delta=0.1, told=True, strongest=3.0)),
    "likely, and seconds": ("pulse", Task(SENSOR, 0.4, 400, likely=0.9, seconds=6e-6)),
    "rise": ("pulse", Task(replace(SENSOR, rise=3e-9), 0.4, 100)),
    "windows": ("pulse", Task(replace(SENSOR, rise=2e-9, gates=Windows(4e-9, 3e-9)), 0.8, 100)),
    "any bins": ("pulse", Task(replace(SENSOR, gates=AnySubset()), 0.8, 100)),
    "free-running": ("free-running", Task(SENSOR, 0.8, 250, delta=0.1)),
    "free-running, seconds": ("free-running", Task(SENSOR, 0.4, 150, seconds=3e-6)),
    "thompson": ("thompson", Task(SENSOR, 0.4, 80)),
    "synchronous": ("synchronous", Task(SENSOR, 0.4, 150)),
    "synchronous, seconds": ("synchronous", Task(SENSOR, 0.4, 400, seconds=6e-6)),
    "shifted": ("shifted", Task(SENSOR, 0.4, 150)),
    "shifted, seconds": ("shifted", Task(SENSOR, 0.4, 400, seconds=6e-6)),
    "even": ("even", Task(SENSOR, 0.4, 150)),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_counts_have_the_law_of_the_reference(name):
    acquisition, task = CASES[name]
    these = pixels(task, acquisition, light())
    mine, its = Job(these).acquire(slice(0, PIXELS)), by_numpy(these)
    assert differences(mine, its).min() > ALARM
    wrong = Job(pixels(task, acquisition, light(brighter=1.6))).acquire(slice(0, PIXELS))
    assert differences(wrong, its).min() < ALARM  # the power: light that is six tenths brighter is noticed


@pytest.mark.statistical
def test_what_is_expected_plays_the_same_part():
    these = pixels(CASES["pulse"][1], "pulse", light(), around())
    mine, its = Job(these).acquire(slice(0, PIXELS)), by_numpy(these)
    assert differences(mine, its).min() > ALARM
    np.testing.assert_allclose(mine.log_prior, its.log_prior, atol=1e-9)
    without = Job(pixels(CASES["pulse"][1], "pulse", light())).acquire(slice(0, PIXELS))
    assert differences(without, its).min() < ALARM


@pytest.mark.statistical
def test_depths_are_as_often_right():
    task = CASES["pulse"][1]
    these = pixels(task, "pulse", light())
    mine = find_engine("compiled").measure(these, lambda done: None)
    its = find_engine("numpy").measure(these, lambda done: None)
    real = np.isfinite(these.light.depth)
    errors = [np.nan_to_num(np.abs(each.depth - these.light.depth)[real], nan=99.0) for each in (mine, its)]
    assert same_law(*errors) > ALARM
    assert abs(mine.confident.mean() - its.confident.mean()) < 0.1


@pytest.mark.parametrize(("workers", "threads"), [(None, 5), (3, 3)])
def test_workers_are_threads_and_unless_given_there_is_one_for_each_core(workers, threads, monkeypatch):
    begun = []

    class Noted(ThreadPoolExecutor):
        def __init__(self, count: int) -> None:
            begun.append(count)
            super().__init__(count)

    monkeypatch.setattr(compiled, "ThreadPoolExecutor", Noted)
    monkeypatch.setattr(numba, "get_num_threads", lambda: 5)
    wall = Scene("wall", np.full((2, 2), 2.0), np.ones((2, 2)))
    capture(wall, Task(SENSOR, 0.4, 20, borrow=False), engine="compiled", workers=workers)
    assert begun == [threads]


def test_frames_depend_neither_on_threads_nor_on_blocks(monkeypatch):
    scene = Scene("slope", np.add.outer(np.linspace(1, 3, 12), np.linspace(0, 2, 12)), np.ones((12, 12)))
    task = Task(SENSOR, 0.4, 200, delta=0.1)
    before = numba.get_num_threads()
    one = capture(scene, task, engine="compiled", seed=5)
    try:
        numba.set_num_threads(1)
        monkeypatch.setattr(compiled, "AT_ONCE", 7)
        other = capture(scene, task, engine="compiled", seed=5)
    finally:
        numba.set_num_threads(before)
    for name in ("depth", "cycles", "seconds", "confident", "signal", "background"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert not np.array_equal(one.cycles, capture(scene, task, engine="compiled", seed=6).cycles)


def test_other_estimators_take_the_counts():
    these = pixels(CASES["pulse"][1], "pulse", light(), estimator="coates")
    found = find_engine("compiled").measure(these, lambda done: None)
    assert np.all(found.depth[np.isfinite(found.depth)] % 1 == 0.5)
    assert not found.confident.any()


def test_progress_adds_up():
    done = []
    find_engine("compiled").measure(pixels(CASES["synchronous"][1], "synchronous", light()), done.append)
    assert sum(done) == PIXELS
    assert len(done) > 1


@pytest.mark.parametrize("acquisition", ["elimination", "halving", "free", "thompson-wrapped"])
def test_what_it_does_not_do_is_refused(acquisition):
    with pytest.raises(InvalidParameter, match=r"engine=.numpy."):
        Job(pixels(Task(SENSOR, 0.4, 100), acquisition, light()))


def test_afterpulses_are_refused():
    sensor = replace(SENSOR, afterpulsing=0.1, afterpulse_time=50e-9)
    with pytest.raises(InvalidParameter, match=r"afterpulses.*engine=.numpy."):
        Job(pixels(Task(sensor, 0.4, 100), "pulse", light()))


def test_an_engine_has_to_have_a_name():
    with pytest.raises(UnknownName, match="compiled"):
        find_engine("fast")
