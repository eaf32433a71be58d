"""Whole windows, and every bin equally often: photon by photon what the reference acquires."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar import acquiring
from linkedbandits.model import best_arm, empirical_means
from tests.support.by_counter import alike, evenly
from tests.support.one_by_one import KEY, LIGHT, NUMBERS, SENSOR, TASK, in_machine_code, one_by_one

SECONDS = replace(TASK, seconds=20.5 * SENSOR.period, cycles=10**4)


@pytest.mark.parametrize("task", [replace(TASK, cycles=500), SECONDS], ids=["cycles", "seconds"])
@pytest.mark.parametrize("method", ["synchronous", "shifted"])
def test_whole_windows(method, task, monkeypatch):
    found = in_machine_code(task, method)
    for pixel, its in enumerate(one_by_one(task, method, monkeypatch)):
        assert alike(found, its, pixel)
    assert (found.successes.sum(axis=1) > 2).all()


@pytest.mark.parametrize("method", ["synchronous", "shifted"])
def test_more_windows_than_are_simulated_together(method, monkeypatch):
    task = replace(TASK, cycles=acquiring.AT_ONCE + 300)
    found = in_machine_code(task, method)
    assert all(alike(found, its, pixel) for pixel, its in enumerate(one_by_one(task, method, monkeypatch)))


def test_every_bin_equally_often():
    task = replace(TASK, cycles=700)
    found = in_machine_code(task, "even")
    rates = SENSOR.rates(*LIGHT)
    for pixel, number in enumerate(NUMBERS):
        samples, fired = evenly(rates[pixel], number, KEY, task.cycles)
        np.testing.assert_array_equal(found.samples[pixel], samples)
        np.testing.assert_array_equal(found.successes[pixel], fired)
    assert (found.cycles == task.cycles).all()
    np.testing.assert_allclose(found.seconds, SENSOR.elapsed(found.cycles, found.successes))
    means = empirical_means(found.samples, found.successes)
    np.testing.assert_array_equal(found.bin, best_arm(means, found.samples > 0))
