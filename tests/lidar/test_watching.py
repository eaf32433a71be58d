"""One pixel watched while it is acquired."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import Scene, Sensor, Task
from linkedbandits.lidar.watching import watch

SCENE = Scene("step", np.array([[2.0, 4.0], [np.nan, 3.0]]), np.ones((2, 2)))
TASK = Task(Sensor(bins=50, reach=5.0, ambient=3.0), signal=1.0, cycles=400, likely=0.99)


def test_what_it_opens_sees_and_believes_goes_together():
    watched = watch(SCENE, TASK, 0, 1, seed=2)
    looks = watched.cycles.size
    assert watched.gate.shape == watched.photons.shape == watched.belief.shape == (looks, 50)
    assert (np.diff(watched.cycles) > 0).all()
    assert (np.diff(watched.seconds) > 0).all()
    assert not (watched.photons[~watched.gate]).any()  # what is shut sees nothing
    assert (watched.photons.sum(axis=1) <= np.diff(watched.cycles, prepend=0)).all()  # one a cycle at most
    assert watched.belief.sum(axis=1) == pytest.approx(np.ones(looks))
    assert watched.depth == pytest.approx(40.0)
    assert abs(watched.found - watched.depth) < 1
    assert watched.belief[-1, 38:42].sum() > 0.95
    again = watch(SCENE, TASK, 0, 1, seed=2)
    assert np.array_equal(again.photons, watched.photons)
    assert not np.array_equal(watch(SCENE, TASK, 0, 1, seed=3).photons[:5], watched.photons[:5])


def test_a_pixel_without_a_return_has_no_true_depth():
    watched = watch(SCENE, TASK, 1, 0)
    assert np.isnan(watched.depth)
    assert watched.cycles[-1] <= TASK.cycles


def test_a_pixel_that_is_not_there_is_refused():
    with pytest.raises(lb.InvalidParameter, match="no pixel 2,0 in 2 rows and 2 columns"):
        watch(SCENE, TASK, 2, 0)
