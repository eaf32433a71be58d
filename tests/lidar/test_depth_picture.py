"""The picture of a depth map."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from linkedbandits.lidar import DepthMap
from linkedbandits.lidar.depth_picture import draw_depth


@pytest.mark.slow
def test_it_is_drawn_with_a_depth_and_without(tmp_path):
    """A map with depths is drawn from the command line; here one pixel has one, and all else is the same."""
    depth = np.full((5, 8), np.nan)
    depth[2, 3] = 1.5
    ones = np.ones((5, 8))
    shown = DepthMap(depth, np.stack([depth - 0.1, depth + 0.1], axis=-1), ones, 0.01 * ones, ones > 0, 10 * ones)
    draw_depth(tmp_path / "d.png", shown)
    with Image.open(tmp_path / "d.png") as image:
        assert image.width > 1000
        assert len(image.convert("RGB").getcolors(2**24)) > 100
