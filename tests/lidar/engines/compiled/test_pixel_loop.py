"""Gates that are chosen, and a detector that runs freely: photon by photon what the reference acquires."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.engines.counter import DETECTIONS
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from linkedbandits.lidar.trusting import WIDTHS
from tests.support.by_counter import ByCounter, alike
from tests.support.one_by_one import KEY, LIGHT, NUMBERS, SENSOR, TASK, in_machine_code, one_by_one

SECONDS = replace(TASK, seconds=20.5 * SENSOR.period, cycles=10**4)
QUICK = replace(SENSOR, dead_time=5e-9)
CASES = {
    "pulse": TASK,
    "pulse, seconds": SECONDS,
    "positions": replace(TASK, sensor=replace(SENSOR, gates=Suffixes(6))),
    "rise": replace(TASK, sensor=replace(SENSOR, rise=2.5 * SENSOR.bin_seconds)),
    "windows": replace(TASK, sensor=replace(SENSOR, gates=Windows(2e-9, 2e-9), rise=0.5e-9)),
    "any bins": replace(TASK, sensor=replace(SENSOR, gates=AnySubset(), dead_time=0.0)),
    "proof": replace(TASK, delta=0.2, cycles=150),
    "likely": replace(TASK, likely=0.9, cycles=150),
}


@pytest.mark.parametrize("name", CASES)
def test_it_acquires_what_the_reference_acquires(name, monkeypatch):
    task = CASES[name]
    found = in_machine_code(task, "pulse")
    same = [alike(found, its, pixel) for pixel, its in enumerate(one_by_one(task, "pulse", monkeypatch))]
    assert sum(same) >= 2  # where two gates are as good as each other, rounding chooses
    assert found.stopped.any() == (task.delta is not None or task.likely is not None)
    assert found.proved.any() == (task.delta is not None)
    if task.seconds is not None:
        assert (found.seconds <= task.seconds).all()
        assert (found.seconds > 0.5 * task.seconds).all()


FREE = {
    "cycles": TASK,
    "proof": replace(TASK, sensor=QUICK, delta=0.2, cycles=250),
    "seconds": SECONDS,
}


@pytest.mark.parametrize("name", FREE)
def test_a_detector_that_runs_freely_does_not_notice_when_it_is_asked(name):
    """All cycles at once, from the reference: a photon that was drawn is kept until it comes."""
    task = FREE[name]
    found, rates = in_machine_code(task, "free-running"), task.sensor.rates(*LIGHT)
    for pixel, number in enumerate(NUMBERS):
        exposure = Exposure(task.sensor, rates[pixel : pixel + 1], ByCounter(KEY, number, DETECTIONS))
        counts = exposure.free_running(int(found.cycles[pixel]))
        np.testing.assert_array_equal(found.samples[pixel], counts.samples[0])
        np.testing.assert_array_equal(found.successes[pixel], counts.successes[0])
        assert found.seconds[pixel] == pytest.approx(exposure.seconds[0], rel=1e-12)
    assert found.proved.any() == (task.delta is not None)
    assert (found.cycles[~found.stopped] == (20 if task.seconds else task.cycles)).all()


def test_pixels_begin_with_what_was_found_around_them(monkeypatch):
    generator, shape = np.random.default_rng(1), (NUMBERS.size, 4)
    around = Around(
        depth=np.nan_to_num(LIGHT.depth)[:, np.newaxis] + generator.normal(0, 1, shape),
        trust=np.full(shape, 0.2),
        signal=np.full(NUMBERS.size, 0.7),
        background=2 * LIGHT.background,
        group=np.array([1, 0, 1]),
        shares=generator.dirichlet(np.ones(WIDTHS.size), (2, 4)),
        widths=WIDTHS,
    )
    task = replace(TASK, cycles=20)
    found, its = in_machine_code(task, "pulse", around), one_by_one(task, "pulse", monkeypatch, around)
    assert sum(alike(found, each, pixel) for pixel, each in enumerate(its)) >= 2
    np.testing.assert_allclose(found.log_prior, np.concatenate([each.log_prior for each in its]), atol=1e-9)
    without = in_machine_code(task, "pulse")
    assert not any(alike(without, each, pixel) for pixel, each in enumerate(its))
