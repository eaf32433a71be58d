"""What was known of the arms as time went on: bounded in size, and what the experiment said then."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from linkedbandits.intervals import anytime_intervals
from linkedbandits.service.curves import MOST_DRAWN, MOST_KEPT, MOST_POINTS, curve_point, curves_data
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import CurvePoint, HistoryPoint
from tests.support.service_parts import create

ENDLESS = {"name": "linked-elimination", "parameters": {"delta": 1e-150}}


def play(desk, experiment, clock, rounds, batch=1):
    for _ in range(rounds):
        clock.now += 5
        plays = desk.ask(experiment, batch).result().plays
        desk.tell(experiment, [(one.id, one.arms[0] if one.id % 3 == 0 else None) for one in plays]).result()


def test_points_are_what_the_experiment_knew_and_come_when_plays_have_grown(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(desk, policy=ENDLESS)
        known = []
        for _ in range(120):
            play(desk, experiment, clock, 1)
            known.append(desk.read(experiment, lambda hosted: hosted.experiment.estimates()).result())
    with store.reading() as reading:
        points, history = reading.curve(experiment), reading.history(experiment)
    assert len(history) == 120
    plays = [point.plays for point in points]
    assert plays[:50] == list(range(1, 51))
    assert all(later > 1.02 * earlier for earlier, later in pairwise(plays))
    assert len(points) < 100
    for point in points:
        estimates = known[point.plays - 1]
        assert point.body["samples"] == [one.samples for one in estimates]
        assert point.body["successes"] == [one.successes for one in estimates]
        assert bool(point.body["leading"]) == (min(one.samples for one in estimates) >= 10)


def test_curves_go_on_where_they_stopped_after_a_restart(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(desk, policy=ENDLESS)
        play(desk, experiment, clock, 1, batch=200)
    with Desk(store, clock=clock) as desk:
        play(desk, experiment, clock, 3)
        with store.reading() as reading:
            assert [point.plays for point in reading.curve(experiment)] == [200]
        play(desk, experiment, clock, 3)
    with store.reading() as reading:
        assert [point.plays for point in reading.curve(experiment)] == [200, 205]


def test_a_verdict_is_a_point_of_the_curve(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(desk, policy={"name": "uniform-sampling", "parameters": {"samples": 60}})
        while not desk.read(experiment, lambda hosted: hosted.experiment.done).result():
            play(desk, experiment, clock, 1, batch=7)
    with store.reading() as reading:
        last, plays = reading.curve(experiment)[-1], reading.history(experiment)[-1].plays
    assert last.plays == plays
    assert len(last.body["leading"]) == 1
    assert last.body["evidence"] is None


def test_a_thousand_arms_take_no_more_room_than_25(desk, clock):
    arms = tuple(f"bin {number}" for number in range(1000))
    experiment = create(desk, arms=arms, policy=ENDLESS)
    play(desk, experiment, clock, 1, batch=500)
    point = desk.read(
        experiment, lambda hosted: curve_point(hosted.experiment, HistoryPoint(1, 2.0, hosted.experiment.plays))
    ).result()
    assert len(point.body["arms"]) == MOST_KEPT
    assert len(json.dumps(point.body)) < 1_000
    drawn = curves_data([point], arms)
    assert len(drawn["arms"]) == MOST_DRAWN


def test_curves_are_thinned_and_have_the_limits_of_every_point():
    points = [
        CurvePoint(
            number,
            float(number),
            number,
            {
                "arms": [0, 2] if number % 2 else [0, 1, 2],
                "samples": [number, 9] if number % 2 else [number, 5, 9],
                "successes": [number // 2, 6] if number % 2 else [number // 2, 1, 6],
                "evidence": [0.5, 1.0] if number % 2 else [0.5, None, 1.0],
                "leading": [2],
            },
        )
        for number in range(1000)
    ]
    drawn = curves_data(points, ("a", "b", "c"))
    assert len(drawn["at"]) == MOST_POINTS
    assert (drawn["plays"][0], drawn["plays"][-1]) == (0, 999)
    assert [arm["label"] for arm in drawn["arms"]] == ["c", "a"]  # what leads first; b is not in the last point
    of_a = drawn["arms"][1]
    assert (of_a["mean"][0], of_a["low"][0]) == (None, None)
    low, high = anytime_intervals(np.array([499]), np.array([999]))
    assert (of_a["low"][-1], of_a["high"][-1]) == (pytest.approx(low[0], abs=1e-5), pytest.approx(high[0], abs=1e-5))
    assert drawn["leading"][0] == ["c"]
    assert set(of_a["log10_evidence"]) == {0.5}
