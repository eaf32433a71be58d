"""What engines are given, and what they give."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar import Sensor, Task
from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.engines.engine import Found, Light, Pixels

LIGHT = Light(np.array([1.0, np.nan, 3.0]), np.array([0.1, 0.2, 0.3]), np.array([0.01, 0.02, 0.03]))


def test_light_of_some_pixels():
    some = LIGHT.take(np.array([2, 0]))
    assert some.depth.tolist() == [3.0, 1.0]
    assert some.signal.tolist() == [0.3, 0.1]
    assert some.background.tolist() == [0.03, 0.01]


def test_what_was_found_of_some_is_put_to_the_rest():
    whole = Found.nothing(4)
    assert all(np.isnan(each).all() for each in whole)
    whole.put(slice(1, 3), Found(*(np.array([10.0 * i, 10.0 * i + 1]) for i in range(len(Found._fields)))))
    for i, each in enumerate(whole):
        assert np.isnan(each[[0, 3]]).all()
        assert each[1:3].tolist() == [10.0 * i, 10.0 * i + 1]


def test_some_pixels_of_a_pass_keep_what_is_theirs():
    around = Around(
        depth=np.arange(6.0).reshape(3, 2),
        trust=np.full((3, 2), 0.4),
        signal=np.array([1.0, 2.0, 3.0]),
        background=np.array([0.1, 0.2, 0.3]),
        group=np.array([0, 1, 0]),
        shares=np.ones((2, 2, 1)),
        widths=np.ones(1),
    )
    task = Task(Sensor(bins=20), signal=0.5, cycles=10)
    pixels = Pixels(task, "pulse", "map", np.array([5, 6, 7]), LIGHT, around, seed=3, number=1)
    some = pixels.take(slice(1, 3))
    assert some.numbers.tolist() == [6, 7]
    assert some.light.signal.tolist() == [0.2, 0.3]
    assert some.around is not None
    assert some.around.depth.tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert some.around.group.tolist() == [1, 0]
    assert (some.task, some.seed, some.number, some.estimator) == (task, 3, 1, "map")
    assert pixels._replace(around=None).take(slice(1)).around is None
