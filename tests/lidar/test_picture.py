"""The picture of frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import linkedbandits as lb
from linkedbandits.lidar import Scene, Sensor, Task, capture
from linkedbandits.lidar.picture import check_picture, draw_frames


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


def test_a_scene_without_any_depth_is_drawn_without_a_warning(tmp_path):
    scene = Scene("sky", np.full((4, 4), np.nan), np.ones((4, 4)))
    task = Task(Sensor(bins=20, reach=5.0), signal=1.0, cycles=10)
    draw_frames(tmp_path / "sky.png", [capture(scene, task, "synchronous")])
    assert (tmp_path / "sky.png").stat().st_size > 1000


@pytest.mark.parametrize("name", ["", "folder", "folder.png", "maps.txt"])
def test_what_is_no_picture_is_refused_before_the_work(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(lb.CannotWrite, match=r"\.png, \.svg, \.pdf"):
        check_picture(Path(name))
    assert not (tmp_path / "maps.txt").exists()
