"""Frames: from a scene to a depth map, and the figures of it."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import Frame, Scene, Sensor, Task, capture

SENSOR = Sensor(bins=60, reach=6.0, ambient=2.0)
TASK = Task(SENSOR, signal=1.0, cycles=1500, delta=0.05)


def wall(depth) -> Scene:
    depth = np.atleast_2d(depth)
    return Scene("wall", depth, np.ones_like(depth))


def test_depth_comes_out_in_metres_where_the_scene_has_it():
    depth = np.linspace(2.5, 4.5, 40).reshape(5, 8)
    frame = capture(wall(depth), TASK)
    assert np.abs(frame.error).max() < SENSOR.bin_depth
    summary = frame.summary()
    assert summary.within_tolerance == summary.confident == summary.found == 1
    assert summary.rmse_cm == pytest.approx(100 * np.sqrt((frame.error**2).mean()))
    assert summary.cycles_mean < summary.cycles_90 < 1500


@pytest.mark.slow
def test_the_same_seed_gives_the_same_frame_on_any_number_of_workers():
    depth = np.random.default_rng(1).uniform(0.5, 5.5, (30, 41))
    task = Task(Sensor(bins=60, reach=6.0, ambient=2.0), signal=1.0, cycles=40)
    alone, shared = (capture(wall(depth), task, seed=3, workers=workers) for workers in (1, 2))
    assert np.array_equal(alone.depth, shared.depth, equal_nan=True)
    assert np.array_equal(alone.cycles, shared.cycles)
    assert not np.array_equal(alone.depth, capture(wall(depth), task, seed=4).depth, equal_nan=True)


def test_progress_counts_every_pixel():
    seen = []
    capture(wall(np.full((30, 30), 2.0)), Task(SENSOR, 1.0, cycles=5), "synchronous", progress=seen.append)
    assert sum(seen) == 900
    assert len(seen) > 1


@pytest.mark.parametrize("missing", [np.nan, np.inf, 7.0])
def test_missing_depth_and_depth_out_of_reach_are_no_returns(missing):
    """They use up their budget, are given no depth, and do not count as errors."""
    frame = capture(wall([[2.0, missing, 3.0, 4.0]]), TASK, seed=2)
    assert np.isnan(frame.truth[0, 1])
    assert np.isnan(frame.depth[0, 1])
    assert frame.cycles[0, 1] == TASK.cycles
    assert not frame.confident[0, 1]
    summary = frame.summary()
    assert (summary.pixels, summary.missing, summary.within_tolerance) == (4, 1, 1.0)


def test_a_scene_without_any_return_has_no_figures_but_its_cycles():
    frame = capture(wall(np.full((3, 3), np.nan)), Task(SENSOR, 1.0, cycles=300))
    data = frame.summary().to_dict()
    assert data["rmse_cm"] is data["within_tolerance"] is data["found"] is None
    assert data["cycles_mean"] == 300
    assert np.isnan(frame.depth).mean() > 0.6


def test_without_ambient_light_every_acquisition_is_right():
    task = Task(Sensor(bins=60, reach=6.0, ambient=0.0), signal=1.0, cycles=300)
    for acquisition in ("synchronous", "suffix", "pulse"):
        frame = capture(wall(np.linspace(1, 5, 30)), task, acquisition)
        assert frame.summary().within_tolerance == 1


def test_one_pixel_that_was_not_found_is_not_within_and_not_in_the_rmse():
    truth = wall([[2.0, 3.0]])
    ones = np.ones((1, 2))
    frame = Frame(truth, TASK, "pulse", "map", np.array([[2.02, np.nan]]), 10 * ones, 1e-6 * ones, ones > 0)
    summary = frame.summary()
    assert (summary.found, summary.within_tolerance, summary.worse_than_5_cm) == (0.5, 0.5, 0.5)
    assert summary.rmse_cm == pytest.approx(2.0)


def test_time_counts_windows_and_blind_periods():
    frame = capture(wall([[2.0, 3.0]]), Task(SENSOR, 1.0, cycles=210), "shifted")
    assert (frame.cycles == 210).all()  # two hundred windows, and a cycle more for each round of twenty
    assert (frame.seconds > 210 * SENSOR.period).all()


@pytest.mark.parametrize(
    ("task", "names"),
    [
        (Task(SENSOR, 0.0, 10), "signal"),
        (Task(SENSOR, 1.0, 0), "cycles"),
        (Task(Sensor(reach=1.0), 1.0, 10), "reach"),
    ],
)
def test_tasks_that_cannot_be_done_are_refused(task, names):
    with pytest.raises(lb.InvalidParameter, match=names):
        capture(wall([[2.0, 3.0]]), task)
