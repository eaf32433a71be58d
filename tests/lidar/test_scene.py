"""Scenes: shipped ones, and files of one's own."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import linkedbandits as lb
from linkedbandits.lidar import Scene, find_scene, read_scene

DEPTH = np.array([[1.5, 2.25, np.nan], [4.0, np.inf, 3.125]])


def test_the_motorcycle_has_the_depths_of_its_calibration():
    scene = find_scene("motorcycle")
    assert scene.depth.shape == (500, 741)
    assert 0.05 < 1 - scene.present.mean() < 0.1
    assert np.nanmin(scene.depth) == pytest.approx(2.11, abs=0.01)
    assert np.nanmax(scene.depth) == pytest.approx(5.02, abs=0.01)
    assert 0 <= scene.reflectivity.min() < scene.reflectivity.max() <= 1


def test_npy_and_npz_are_read_in_metres(tmp_path):
    np.save(tmp_path / "own.npy", DEPTH)
    np.savez(tmp_path / "own.npz", depth=DEPTH, reflectivity=DEPTH / 10)
    plain, both = read_scene(tmp_path / "own.npy"), read_scene(str(tmp_path / "own.npz"))
    assert np.array_equal(plain.depth, DEPTH, equal_nan=True)
    assert (plain.reflectivity == 1).all()
    assert np.array_equal(both.reflectivity, DEPTH / 10, equal_nan=True)
    assert plain.present.tolist() == [[True, True, False], [True, False, True]]
    assert plain.name == "own"


def test_png_is_read_in_16_bit_millimetres_and_0_is_missing(tmp_path):
    Image.fromarray(np.array([[1500, 0], [65535, 1]], dtype=np.uint16)).save(tmp_path / "own.png")
    assert np.array_equal(read_scene(tmp_path / "own.png").depth, [[1.5, np.nan], [65.535, 0.001]], equal_nan=True)


def test_files_that_are_no_depth_maps_are_refused_by_name(tmp_path):
    Image.fromarray(np.zeros((2, 2), dtype=np.uint8)).save(tmp_path / "grey.png")
    (tmp_path / "broken.npy").write_bytes(b"no array")
    np.savez(tmp_path / "empty.npz", other=DEPTH)
    (tmp_path / "short.npz").write_bytes((tmp_path / "empty.npz").read_bytes()[:100])
    (tmp_path / "nothing.npy").touch()
    np.save(tmp_path / "complex.npy", DEPTH + 1j)
    for name, reason in [
        ("grey.png", "16 bits"),
        ("broken.npy", "cannot be read"),
        ("empty.npz", "it has other, and no array depth; give"),
        ("absent.npy", "there is no file"),
        ("short.npz", "cannot be read"),
        ("nothing.npy", "cannot be read"),
        ("complex.npy", "complex128, not real numbers"),
        ("depth.exr", "give a file in"),
    ]:
        with pytest.raises(lb.CannotRead, match=reason) as refused:
            read_scene(tmp_path / name)
        assert name in str(refused.value)
        assert "Errno" not in str(refused.value)


@pytest.mark.parametrize(
    ("depth", "reflectivity"),
    [
        (np.ones(3), np.ones(3)),
        (np.ones((2, 2)), np.ones((2, 3))),
        (np.zeros((2, 2)), np.ones((2, 2))),
        (np.full((2, 2), 1e300), np.ones((2, 2))),
        (np.ones((1, 2)), np.array([[0.5, -5.0]])),
        (np.ones((1, 2)), np.array([[0.5, 100.0]])),
        (np.ones((1, 2)), np.array([[0.5, np.nan]])),
    ],
)
def test_what_is_no_scene_is_refused(depth, reflectivity):
    with pytest.raises(lb.InvalidParameter):
        Scene("wrong", depth, reflectivity)


def test_signals_fall_with_depth_squared_and_grow_with_reflectivity():
    scene = Scene("two walls", np.array([[1.0, 2.0, np.nan]]), np.array([[0.5, 0.5, 0.5]]))
    assert scene.signals(1.0)[0].tolist() == pytest.approx([1.6, 0.4, 0.0])
    darker = Scene("two shades", np.array([[2.0, 2.0]]), np.array([[0.9, 0.3]]))
    assert darker.signals(1.0)[0].tolist() == pytest.approx([1.5, 0.5])


def test_what_is_beyond_the_reach_does_not_count_for_the_mean_signal():
    scene = Scene("three walls", np.array([[1.0, 2.0, 8.0]]), np.ones((1, 3)))
    assert scene.signals(1.0, reach=5.0)[0].tolist() == pytest.approx([1.6, 0.4, 0.0])


def test_the_ending_of_a_file_may_be_in_capitals(tmp_path):
    with (tmp_path / "OWN.NPY").open("wb") as file:
        np.save(file, DEPTH)
    assert read_scene(tmp_path / "OWN.NPY").depth.shape == (2, 3)


def test_a_scene_is_thinned_to_the_size_asked_for():
    scene = find_scene("ramp")
    assert scene.depth.shape == (96, 128)
    assert scene.shrunk(64).depth.shape == (48, 64)
    assert scene.shrunk(1000).depth.shape == (96, 128)
    with pytest.raises(lb.InvalidParameter, match="size=0"):
        scene.shrunk(0)


def test_an_unknown_scene_is_refused_with_those_that_there_are():
    with pytest.raises(lb.UnknownName, match="motorcycle, ramp"):
        find_scene("attic")


def test_a_scene_is_made_of_what_becomes_an_array_of_numbers():
    scene = Scene("lists", [[1, 2]], [[1, 0.5]])
    assert scene.depth.dtype == np.float64
    with pytest.raises(lb.InvalidParameter, match="depth is no array of numbers"):
        Scene("words", [["near", "far"]], [[1, 1]])


def test_what_is_darker_than_soot_counts_as_soot():
    depth = np.full((1, 3), 2.0)
    signals = Scene("dark", depth, np.array([[0.0, 0.02, 1.0]])).signals(1.0)
    assert signals[0, 0] == signals[0, 1] == pytest.approx(signals[0, 2] / 50)


@pytest.mark.parametrize(("unit", "metres"), [("m", 1.0), ("cm", 0.01), ("mm", 0.001)])
def test_depths_may_be_in_other_units(unit, metres, tmp_path):
    np.save(tmp_path / "own.npy", DEPTH / metres)
    assert np.allclose(read_scene(tmp_path / "own.npy", unit).depth[0, :2], DEPTH[0, :2])


def test_millimetres_do_not_run_as_kilometres(tmp_path):
    np.save(tmp_path / "own.npy", 1000 * DEPTH)
    with pytest.raises(lb.CannotRead, match=r"most depths of .*own.npy are beyond 100 m, up to 4000.*--unit mm"):
        read_scene(tmp_path / "own.npy")
    assert read_scene(tmp_path / "own.npy", unit="m").depth[1, 0] == 4000
    far = np.full((3, 3), 5.0)
    far[0, 0] = 900.0
    np.save(tmp_path / "far.npy", far)
    assert read_scene(tmp_path / "far.npy").depth.max() == 900


def test_a_picture_is_in_millimetres_unless_something_else_is_said(tmp_path):
    Image.fromarray(np.array([[150, 0]], dtype=np.uint16)).save(tmp_path / "own.png")
    assert read_scene(tmp_path / "own.png", "cm").depth[0, 0] == pytest.approx(1.5)
    with pytest.raises(lb.UnknownName, match="unknown unit 'inch'; choose one of m, cm, mm"):
        read_scene(tmp_path / "own.png", "inch")


def test_light_is_any_measure_of_how_bright_the_background_is():
    depth = np.full((2, 2), 3.0)
    plain = Scene("plain", depth, np.ones((2, 2)))
    assert plain.ambients(5.0).tolist() == [[5.0, 5.0], [5.0, 5.0]]
    lit = Scene("lit", depth, np.ones((2, 2)), [[1, 2], [3, 2]])
    assert lit.light.dtype == np.float64
    assert lit.ambients(5.0).tolist() == [[2.5, 5.0], [7.5, 5.0]]
    dark = Scene("dark", depth, np.ones((2, 2)), [[0, 2], [3, 2]])
    assert dark.ambients(7.0)[0, 0] == 0


def test_in_the_sun_the_background_goes_with_the_reflectivity():
    scene = Scene("shades", np.array([[2.0, 2.0, np.nan, 2.0]]), np.array([[0.9, 0.0, np.nan, 0.1]])).sunlit()
    assert scene.light.tolist() == [[0.9, 0.02, 1.0, 0.1]]  # soot is not black, and the sky is bright
    ambient = scene.ambients(1.0)
    assert ambient.mean() == pytest.approx(1.0)
    assert ambient[0, 0] / ambient[0, 3] == pytest.approx(9.0)


def test_light_is_thinned_with_the_scene():
    scene = find_scene("ramp").sunlit()
    assert np.array_equal(scene.shrunk(64).light, scene.light[::2, ::2])
    assert find_scene("ramp").shrunk(64).light is None


@pytest.mark.parametrize("light", [np.ones((2, 3)), np.zeros((2, 2)), [[1, -1], [1, 1]], [[1, np.nan], [1, 1]]])
def test_what_is_no_light_is_refused(light):
    with pytest.raises(lb.InvalidParameter, match="give it so, or leave it out"):
        Scene("wrong", np.ones((2, 2)), np.ones((2, 2)), light)


def test_a_scene_prints_its_depths_and_not_its_images():
    scene = Scene("<script>", DEPTH, np.ones_like(DEPTH))
    assert repr(scene) == "Scene('<script>', 2 x 3, 1.5 to 4 m deep, 2 pixels missing)"
    assert repr(find_scene("ramp").sunlit()) == "Scene('ramp', 96 x 128, 1 to 5 m deep, with light of its own)"
    assert repr(Scene("none", np.full((1, 1), np.nan), np.ones((1, 1)))) == (
        "Scene('none', 1 x 1, no depths, 1 pixel missing)"
    )
    assert "<script>" not in scene._repr_html_()
    assert "1.5 to 4 m deep" in scene._repr_html_()
