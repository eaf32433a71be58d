"""The picture of frames."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import linkedbandits as lb
from linkedbandits.lidar import Scene, Sensor, Task, capture
from linkedbandits.lidar.picture import draw_frames


@pytest.fixture(scope="module")
def frames():
    depth = np.tile(np.linspace(1.0, 4.0, 12), (8, 1))
    depth[2, 3] = np.nan
    scene = Scene("slope", depth, np.full(depth.shape, 0.5))
    task = Task(Sensor(bins=50, reach=5.0), signal=1.0, cycles=200)
    return [capture(scene, task, name) for name in ("synchronous", "pulse")]


@pytest.mark.slow
def test_it_grows_with_the_acquisitions_and_is_not_empty(frames, tmp_path):
    draw_frames(tmp_path / "one.png", frames[:1])
    draw_frames(tmp_path / "two.png", frames)
    with Image.open(tmp_path / "one.png") as one, Image.open(tmp_path / "two.png") as two:
        assert two.width > one.width > 500
        assert len(two.convert("RGB").getcolors(2**24)) > 100


def test_a_file_that_cannot_be_written_is_refused(frames, tmp_path):
    with pytest.raises(lb.CannotWrite, match="absent"):
        draw_frames(tmp_path / "absent" / "picture.png", frames[:1])
