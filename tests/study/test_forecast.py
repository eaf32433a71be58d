"""The forecast: from trial runs, for all cells, within its own time."""

from __future__ import annotations

import itertools

import pytest

from linkedbandits.study import forecast as module
from linkedbandits.study.forecast import Forecast, forecast
from tests.support.small_study import small_study


def test_seconds_and_bytes_follow_the_workers():
    needed = Forecast(core_seconds=100.0, worker_bytes=10**8)
    assert needed.seconds(4) == 25
    assert needed.memory(4) == 5 * 10**8


def test_ten_times_the_trials_take_about_ten_times_as_long(monkeypatch):
    """With a clock that ticks once a reading, every trial run takes the same time."""
    once, tenfold = (forecast(small_study(trials), clock=itertools.count().__next__) for trials in (2048, 20480))
    assert tenfold.core_seconds == pytest.approx(10 * once.core_seconds, rel=1e-9)


def test_trial_runs_end_when_their_time_is_up(monkeypatch):
    tried = []
    rate = module._seconds_per_block

    def count(cell, clock):
        tried.append(cell.key)
        return rate(cell, clock)

    monkeypatch.setattr(module, "_seconds_per_block", count)
    study = small_study()
    slow_clock = itertools.count(step=3).__next__
    assert forecast(study, clock=slow_clock).core_seconds > 0
    assert 0 < len(tried) < len(study.cells)


def test_trial_runs_have_the_requests_of_their_cells(monkeypatch):
    worlds = []

    def noted(*arguments, world, **options):
        worlds.append(world)
        return simulate(*arguments, world=world, **options)

    simulate = module.simulate
    monkeypatch.setattr(module, "simulate", noted)
    study = small_study()
    forecast(study, clock=lambda: 0.0)
    assert {id(world) for world in worlds} == {id(cell.instance.law) for cell in study.cells}
    assert len({id(world) for world in worlds}) == 2
