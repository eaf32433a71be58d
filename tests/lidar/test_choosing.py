"""Free-running or gates: what takes less time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import Sensor, Task, choosing
from linkedbandits.lidar.choosing import faster, mean_seconds, wrong

SENSOR = Sensor(bins=60, ambient=6.0)
TASK = Task(SENSOR, signal=0.5, cycles=4000, likely=0.9)
EQUAL = Task(SENSOR, signal=0.5, cycles=4000, seconds=4e-6)
"""All pixels have the same time."""


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch):
    """Enough to tell which is faster where it is plain."""
    monkeypatch.setattr(choosing, "PIXELS", 48)
    faster.cache_clear()
    yield
    faster.cache_clear()


@pytest.mark.parametrize(("dead_time", "best"), [(0.5e-9, "free-running"), (200e-9, "pulse")])
def test_what_is_chosen_depends_on_the_dead_time_and_is_faster(dead_time, best):
    task = replace(TASK, sensor=replace(SENSOR, dead_time=dead_time))
    assert faster(task) == best
    times = {name: mean_seconds(name, task) for name in ("pulse", "free-running")}
    assert min(times, key=times.get) == best


def test_a_sensor_with_one_mode_has_no_choice(monkeypatch):
    monkeypatch.setattr(choosing, "mean_seconds", lambda name, task: pytest.fail("nothing to try"))
    assert faster(replace(TASK, sensor=replace(SENSOR, modes=("gated", "synchronous")))) == "pulse"
    assert faster(replace(TASK, sensor=replace(SENSOR, modes=("free-running",)))) == "free-running"


def test_a_sensor_with_neither_is_refused_with_what_it_has():
    task = replace(TASK, sensor=replace(SENSOR, modes=("synchronous", "shifted")))
    with pytest.raises(lb.InvalidParameter, match=r"auto is pulse or free-running.*synchronous, shifted"):
        faster(task)


def test_the_choice_is_made_once_for_a_task(monkeypatch):
    tried = []
    monkeypatch.setattr(choosing, "mean_seconds", lambda name, task: tried.append(name) or len(tried))
    assert faster(TASK) == faster(replace(TASK)) == "pulse"
    assert tried == ["pulse", "free-running"]


def test_the_guarantee_and_the_budget_of_the_task_are_not_what_is_tried(monkeypatch):
    """Proofs take long, and say little of which is faster."""
    seen = []
    acquire = choosing.acquire

    def watched(made, task, rates, *rest):
        seen.append((made, task, rates))
        return acquire(made, task, rates, *rest)

    monkeypatch.setattr(choosing, "acquire", watched)
    mean_seconds("pulse", replace(TASK, delta=0.01, cycles=10**6))
    mean_seconds("pulse", replace(TASK, cycles=10))
    (made, task, rates), (_, of_few, _) = seen
    assert of_few.cycles == task.cycles  # or who spends few cycles faster would win
    assert (task.delta, task.likely, made.policy.delta) == (None, choosing.LIKELY, None)
    assert task.cycles < 10**6
    background = rates.min(axis=1)
    assert background.max() / background.min() > 5
    assert background.mean() == pytest.approx(SENSOR.background, rel=0.3)
    mean_seconds("pulse", replace(TASK, told=True))
    assert seen[-1][2].min(axis=1) == pytest.approx(SENSOR.background)


@pytest.mark.parametrize(("dead_time", "best"), [(0.5e-9, "free-running"), (200e-9, "pulse")])
@pytest.mark.parametrize("borrow", [True, False])
def test_with_the_same_time_for_all_what_has_more_right_is_chosen(dead_time, best, borrow):
    task = replace(EQUAL, sensor=replace(SENSOR, dead_time=dead_time), borrow=borrow)
    assert faster(task) == best
    shares = {name: wrong(name, task) for name in ("pulse", "free-running")}
    assert min(shares, key=shares.get) == best
    assert 0.02 < shares[best][0] < max(shares.values())[0]


def test_who_asks_for_likely_or_sure_depths_is_judged_by_time_and_the_others_by_what_is_right(monkeypatch):
    asked = []
    monkeypatch.setattr(choosing, "mean_seconds", lambda name, task: asked.append("time") or 0.0)
    monkeypatch.setattr(choosing, "wrong", lambda name, task: asked.append("right") or (0.0, 0.0))
    for task, by in (
        (TASK, "time"),
        (replace(EQUAL, delta=0.05), "time"),
        (EQUAL, "right"),
        (replace(EQUAL, seconds=None), "right"),
    ):
        asked.clear()
        faster(task)
        assert asked == [by, by]


def test_where_as_many_are_right_the_smaller_error_decides(monkeypatch):
    monkeypatch.setattr(choosing, "wrong", lambda name, task: (0.1, 1.0 if name == "free-running" else 2.0))
    assert faster(EQUAL) == "free-running"


def test_pixels_with_the_same_time_have_signals_and_backgrounds_as_in_a_scene_and_the_time_of_the_task(monkeypatch):
    seen = []
    acquire = choosing.acquire

    def watched(made, task, rates, first, seed, expected):
        seen.append((task, rates, expected))
        return acquire(made, task, rates, first, seed, expected)

    monkeypatch.setattr(choosing, "acquire", watched)
    wrong("pulse", EQUAL)
    wrong("pulse", replace(EQUAL, borrow=False, seconds=None, cycles=70))
    wrong("pulse", replace(EQUAL, told=True, seconds=1.0))
    (task, rates, expected), (of_cycles, _, alone), (long, told, _) = seen
    assert task.seconds == EQUAL.seconds
    background = rates.min(axis=1)
    signal = (rates - background[:, None]).sum(axis=1)
    assert background.max() / background.min() > 5
    assert signal.mean() == pytest.approx(0.5, rel=0.05)
    assert signal.max() / signal.min() > 30
    assert (of_cycles.cycles, of_cycles.seconds, alone) == (70, None, None)
    assert long.seconds < 1e-3  # by then all is decided, and to try would take minutes
    assert told.min(axis=1) == pytest.approx(SENSOR.background)
    knows_nothing = np.ptp(expected.log_prior, axis=1) < 1e-9
    assert knows_nothing.sum() == 48 // 16  # the first pass
