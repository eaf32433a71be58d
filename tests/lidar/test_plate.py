"""The plate of one pixel: three panels, with a true depth and without."""

from __future__ import annotations

import pytest

from linkedbandits.lidar.plate import draw_plate
from linkedbandits.lidar.watching import watch
from tests.lidar.test_watching import SCENE, TASK


@pytest.mark.parametrize(("pixel", "said"), [((0, 1), "true depth 4.00 m"), ((1, 0), "no return")])
def test_it_says_what_the_pixel_is_and_draws_three_panels(tmp_path, pixel, said):
    draw_plate(tmp_path / "plate.svg", watch(SCENE, TASK, *pixel, seed=2))
    drawn = (tmp_path / "plate.svg").read_text(encoding="utf-8")
    for words in (said, "what it opens", "what it saw", "what it believes", "time (µs)", "depth (m)"):
        assert f"<!-- {words}" in drawn
