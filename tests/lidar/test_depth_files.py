"""Depth maps on disk."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import linkedbandits as lb
from linkedbandits.lidar import DepthMap, read_depth, write_depth
from linkedbandits.lidar.depth_files import ARRAYS, WRITERS, check_depth_file, rays

DEPTH = np.array([[1.5, np.nan, 0.0004], [65.535, 2.25, -1.0]])
MAP = DepthMap(
    depth=DEPTH,
    interval=np.stack([DEPTH - 0.1, DEPTH + 0.1], axis=-1),
    signal=np.arange(6.0).reshape(2, 3),
    background=np.full((2, 3), 0.01),
    confident=np.isfinite(DEPTH),
    cycles=np.full((2, 3), 1000),
)


def test_npz_has_everything_under_the_names_of_the_arrays(tmp_path):
    write_depth(tmp_path / "d.npz", MAP)
    with np.load(tmp_path / "d.npz") as arrays:
        assert ARRAYS == ("depth", "interval", "signal", "background", "confident", "cycles")
        assert tuple(arrays.files) == (*ARRAYS, "notes")
    again = read_depth(tmp_path / "d.npz")
    for name in ARRAYS:
        assert np.array_equal(getattr(again, name), getattr(MAP, name), equal_nan=name in {"depth", "interval"})
        assert getattr(again, name).dtype == getattr(MAP, name).dtype


def test_notes_go_with_what_is_called_sure(tmp_path):
    noted = replace(MAP, notes=("So no depth is called sure.", "5 µs"))
    for name in ("d.npz", "d.ply"):
        write_depth(tmp_path / name, noted)
    assert read_depth(tmp_path / "d.npz").notes == noted.notes
    head, _, _ = (tmp_path / "d.ply").read_bytes().partition(b"end_header\n")
    assert {b"comment So no depth is called sure.", b"comment 5 ?s"} <= set(head.splitlines())


def test_png_has_millimetres_and_0_where_there_is_no_depth(tmp_path):
    write_depth(tmp_path / "d.png", MAP)
    with Image.open(tmp_path / "d.png") as image:
        assert image.mode.startswith("I")
        assert np.array(image).tolist() == [[1500, 0, 1], [65535, 2250, 0]]


def test_png_is_refused_beyond_what_16_bits_hold(tmp_path):
    far = DepthMap(DEPTH + 1, MAP.interval, MAP.signal, MAP.background, MAP.confident, MAP.cycles)
    with pytest.raises(lb.CannotWrite, match=r"d.png has depths up to 66.5\d* m.*\.npz or \.tif"):
        write_depth(tmp_path / "d.png", far)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", [".tif", ".tiff"])
def test_tiff_has_metres(ending, tmp_path):
    write_depth(tmp_path / f"d{ending}", MAP)
    image = tifffile.imread(tmp_path / f"d{ending}")
    assert image.dtype == np.float32
    assert np.allclose(image, DEPTH, equal_nan=True)


def test_ply_has_a_point_for_each_depth_along_the_ray_of_its_pixel(tmp_path):
    write_depth(tmp_path / "d.ply", MAP, field_of_view=60.0)
    head, _, body = (tmp_path / "d.ply").read_bytes().partition(b"end_header\n")
    lines = head.decode().splitlines()
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    assert "element vertex 5" in lines
    names = [line.split()[2] for line in lines if line.startswith("property")]
    kinds = {"float": "<f4", "uchar": "u1"}
    points = np.frombuffer(body, [(line.split()[2], kinds[line.split()[1]]) for line in lines if "property" in line])
    assert names == ["x", "y", "z", "signal", "background", "confident"]
    away = np.sqrt(points["x"] ** 2 + points["y"] ** 2 + points["z"] ** 2)
    assert np.allclose(away, np.abs(DEPTH[np.isfinite(DEPTH)]), rtol=1e-5)
    assert points["x"][0] < 0 < points["z"][0]  # left, ahead,
    assert points["y"][0] < 0  # and up
    assert points["signal"].tolist() == [0, 2, 3, 4, 5]


@given(columns=st.integers(1, 40), view=st.floats(1.0, 170.0))
def test_the_edges_of_the_picture_are_the_field_of_view_apart(columns, view):
    first, last = rays((1, columns), view)[0, [0, -1]]
    assert np.linalg.norm(first) == pytest.approx(1.0)
    pixel = 2 * np.tan(np.radians(view / 2)) / columns
    assert last[0] / last[2] - first[0] / first[2] + pixel == pytest.approx(columns * pixel)


@pytest.mark.parametrize("view", [0.0, 180.0, float("nan"), "wide"])
def test_a_field_of_view_that_is_none_is_refused(view, tmp_path):
    with pytest.raises(lb.InvalidParameter, match="not between 0 and 180 degrees"):
        write_depth(tmp_path / "d.ply", MAP, field_of_view=view)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", WRITERS)
def test_a_file_that_was_there_stays_until_the_new_one_is_whole(ending, tmp_path, monkeypatch):
    path = tmp_path / f"d{ending}"
    path.write_text("before")

    def fail(file, *others):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(WRITERS, ending, fail)
    with pytest.raises(lb.CannotWrite, match=r"cannot be written \(No space left on device\)"):
        write_depth(path, MAP)
    assert path.read_text() == "before"
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_whoever_has_the_old_file_open_goes_on_reading_it(tmp_path):
    write_depth(tmp_path / "d.npz", MAP)
    before = (tmp_path / "d.npz").read_bytes()
    with (tmp_path / "d.npz").open("rb") as open_file:
        write_depth(tmp_path / "d.npz", DepthMap(*(getattr(MAP, name) * 1 for name in ARRAYS[:-1]), MAP.cycles + 1))
        assert open_file.read() == before
    assert (read_depth(tmp_path / "d.npz").cycles == 1001).all()


def test_what_is_no_depth_file_is_refused_before_the_work(tmp_path):
    for name in ("d.txt", "d", "folder.npz"):
        (tmp_path / "folder.npz").mkdir(exist_ok=True)
        with pytest.raises(lb.CannotWrite, match=r"\.npz, \.png, \.tif, \.tiff, \.ply"):
            check_depth_file(tmp_path / name)
    with pytest.raises(lb.CannotWrite, match=r"absent.*No such file"):
        write_depth(tmp_path / "absent" / "d.npz", MAP)


def test_what_is_no_depth_map_is_refused_by_name(tmp_path):
    np.savez(tmp_path / "other.npz", depth=DEPTH)
    np.savez(tmp_path / "wrong.npz", **{name: np.ones((2, 2)) for name in ARRAYS})
    (tmp_path / "broken.npz").write_bytes(b"no array")
    np.save(tmp_path / "plain.npy", DEPTH)
    for name, said in [
        ("other.npz", "no array interval"),
        ("wrong.npz", "is no depth map: interval of shape"),
        ("broken.npz", "cannot be read"),
        ("absent.npz", "there is no file"),
        ("plain.npy", "one array, without a name"),
    ]:
        with pytest.raises(lb.CannotRead, match=said) as refused:
            read_depth(tmp_path / name)
        assert name in str(refused.value)


def test_without_the_extra_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tifffile", None)
    with pytest.raises(lb.MissingExtra, match=r"d.tif needs tifffile"):
        write_depth(tmp_path / "d.tif", MAP)
