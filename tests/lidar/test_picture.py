"""The picture of frames."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import linkedbandits as lb
from linkedbandits.lidar import Scene, Sensor, Task, capture
from linkedbandits.lidar.depth_picture import draw_depth
from linkedbandits.lidar.picture import check_picture, draw_frames, frames_figure
from tests.support.pictures import margins, overlapping, texts_of


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


SHAPES = [(16, 24), (24, 16), (100, 20), (1, 30), (40, 1)]


def frame_of(rows, columns, name="synchronous", cycles=5, **sensor):
    depth = np.tile(np.linspace(1.0, 4.0, columns), (rows, 1))
    scene = Scene("slope", depth, np.full(depth.shape, 0.5)).sunlit()
    task = Task(Sensor(**{"bins": 20, "reach": 5.0, **sensor}), signal=1.0, cycles=cycles, delta=0.05)
    return capture(scene, task, name)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_nothing_that_is_written_is_cut_or_over_something_else(shape, tmp_path):
    frame = frame_of(*shape, dark=0.0015)
    draw_frames(tmp_path / "maps.png", [frame])
    draw_depth(tmp_path / "map.png", frame.depth_map())
    assert overlapping(frames_figure([frame])) == overlapping(frame.depth_map().plot()) == []
    for name in ("maps.png", "map.png"):
        assert min(margins(tmp_path / name)) >= 10
        with Image.open(tmp_path / name) as image:
            assert max(image.size) < 3200


def test_a_row_of_pixels_is_no_line(tmp_path):
    """Nor is the picture of a column as long as a house."""
    figure = frames_figure([frame_of(1, 30)])
    truth = figure.axes[0].get_window_extent()
    assert truth.height > truth.width / 4
    assert frame_of(1, 30).plot("depth").axes[0].get_aspect() == "auto"
    assert frame_of(5, 4).plot("depth").axes[0].get_aspect() == 1.0


def test_where_there_is_no_number_none_is_written():
    sky = Scene("sky", np.full((4, 4), np.nan), np.ones((4, 4)))
    task = Task(Sensor(bins=20, reach=5.0), signal=1.0, cycles=10)
    said = [text for text, _ in texts_of(frames_figure([capture(sky, task, "free")]))]
    assert "mean: 10 cycles" in said
    assert not any("nan" in text for text in said)


def test_scales_are_those_of_what_is_shown():
    """Errors of millimetres are seen, and backgrounds that are found too high."""
    frame = frame_of(4, 6, cycles=2000, bins=200, ambient=0.5)
    figure = frames_figure([frame])
    error, background = figure.axes[3].get_images()[0], figure.axes[7].get_images()[0]
    most = float(np.percentile(abs(frame.error), 98))
    assert most < 0.02
    (label,) = {bar.get_ylabel() for bar in figure.axes[3].child_axes}
    in_its_unit = most * {"error (cm)": 100, "error (mm)": 1000}[label]
    assert in_its_unit <= error.get_clim()[1] <= 2.5 * in_its_unit
    assert error.get_clim()[0] == -error.get_clim()[1]
    true = frame.scene.ambients(frame.task.sensor.ambient).max()
    assert frame.background.max() > true
    assert background.get_clim()[1] > true
    reflectivity = figure.axes[2]
    assert all(spine.get_visible() for spine in reflectivity.spines.values())


def test_it_says_what_right_means():
    assert [text for text, _ in texts_of(frames_figure([frame_of(5, 4)])) if "within 1 bin" in text]
    assert [text for text, _ in texts_of(frames_figure([frame_of(5, 4, fwhm=8.0)])) if "within 4 bins" in text]


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
