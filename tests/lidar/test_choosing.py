"""Free-running or gates: what takes less time."""

from __future__ import annotations

from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.lidar import Sensor, Task, choosing
from linkedbandits.lidar.choosing import faster, mean_seconds

SENSOR = Sensor(bins=60, ambient=6.0)
TASK = Task(SENSOR, signal=0.5, cycles=4000)


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
