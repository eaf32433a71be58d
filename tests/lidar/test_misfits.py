"""Notes on a pulse and a background that plainly are not as given."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar import Photons, Sensor, find_depths, read_depth, read_photons
from linkedbandits.lidar.misfits import misfits
from linkedbandits.lidar.pulse import Pulse
from tests.support.command_line import run_json
from tools.photon_arrivals import Light, first_photons, stamps_of_free_running

BINS, CYCLES = 120, 800


def synchronous(seed, *, fwhm=4.0, signal=0.3, ambient=0.8, shape=(6, 8)):
    """Counts of a sensor that stops at the first photon, and the depths in bins."""
    rng = np.random.default_rng(seed)
    depth = rng.uniform(20, 100, size=shape)
    light = rng.uniform(0.3, 2.0, size=shape)
    sensor = Sensor(bins=BINS, fwhm=fwhm, ambient=ambient, reach=BINS * 0.15)
    chances = sensor.chances(depth, signal * light, light * sensor.background)
    counts, left = np.zeros(chances.shape, dtype=np.int64), np.full(shape, CYCLES)
    for place in range(BINS):
        counts[..., place] = rng.binomial(left, chances[..., place])
        left = left - counts[..., place]
    return counts, depth


def notes(seed=1, told=4.0, cycles=CYCLES, mode="synchronous", off=0.0, **light):
    counts, depth = synchronous(seed, **light)
    photons = Photons.from_histogram(counts, cycles=cycles, bin_seconds=1e-9, mode=mode)
    return misfits(photons, depth + off, Pulse(told))


@pytest.mark.parametrize(("true", "told", "said"), [(4.0, 12.0, "4"), (4.0, 4 / 3, "4"), (2.0, 6.0, "2")])
def test_a_pulse_of_another_width_is_spoken_of(true, told, said):
    counts, _ = synchronous(3, fwhm=true)
    photons = Photons.from_histogram(counts, cycles=CYCLES, bin_seconds=1e-9)
    found = find_depths(photons, fwhm=told, signal=0.3)
    (note,) = [note for note in found.notes if "pulse in the photons" in note]
    width = float(note.split("about ")[1].split(" bins")[0])
    assert width == pytest.approx(float(said), rel=0.2)
    assert "look at --fwhm, --pulse and --merge" in note


@pytest.mark.parametrize("wrong", [{"cycles": 10 * CYCLES}, {"mode": "every"}])
@pytest.mark.parametrize("seed", range(5))
def test_a_background_that_is_not_flat_is_spoken_of(wrong, seed):
    (note,) = notes(seed, **wrong)
    assert "--cycles, --mode or --opens is probably not as given" in note


@pytest.mark.parametrize(
    "light",
    [{}, {"ambient": 0.1}, {"signal": 1.5}, {"signal": 0.05}, {"fwhm": 0.5}, {"fwhm": 1.5}, {"fwhm": 12.0}],
    ids=str,
)
def test_what_is_as_given_needs_no_words(light):
    """Halves of the background are off by a quarter less than once in a million times. Of 1,800 other runs, at true
    depths, 300 for each of six of these lights, not one had a note: at most 1 in 600, with 95 % confidence."""
    for seed in range(20):
        assert notes(seed, told=light.get("fwhm", 4.0), **light) == []


def test_depths_as_they_are_found_need_no_words():
    for seed in range(3):
        counts, _ = synchronous(seed, shape=(4, 6))
        photons = Photons.from_histogram(counts, cycles=CYCLES, bin_seconds=1e-9)
        assert find_depths(photons, fwhm=4.0, signal=0.3).notes == ()


def test_few_photons_say_nothing():
    assert notes(1, told=12.0, shape=(1, 1), signal=0.1, ambient=0.01) == []
    assert notes(1, told=12.0, off=np.nan) == []


def test_second_returns_of_a_few_pixels_are_no_other_pulse():
    rng = np.random.default_rng(5)
    depth = rng.uniform(30, 90, size=(6, 8))
    light = 300 * Pulse(4.0).shares(depth, BINS) + 2.0
    light[0, :3] += 0.5 * np.roll(light[0, :3], 9, axis=-1)
    photons = Photons.from_histogram(rng.poisson(light), cycles=100_000, bin_seconds=1e-9, mode="every")
    assert misfits(photons, depth, Pulse(4.0)) == []
    assert len(misfits(photons, depth, Pulse(12.0))) == 1


LIGHT = Light(1.0, 1.0, 4.0, BINS, 3000)


def arrived(**told):
    """First photons of each cycle, from photons that arrive one by one; and the depths in bins."""
    rng = np.random.default_rng(7)
    depth = rng.uniform(20, 100, 12)
    counts = first_photons(LIGHT, depth, rng).reshape(3, 4, BINS)
    settings = {"cycles": LIGHT.cycles, "bin_seconds": 1e-9} | told
    return Photons.from_histogram(counts, **settings), depth.reshape(3, 4)


def free_running(path, dead):
    """Stamps of a detector that is blind for so many bins after a photon, in a file; and the depths."""
    rng = np.random.default_rng(8)
    depth = rng.uniform(20, 100, 12)
    light = Light(2.0, 0.3, 4.0, BINS, 3000)
    pixel, cycle, place = stamps_of_free_running(light, depth, dead, rng)
    np.savez(path, pixel=pixel, cycle=cycle, time=place)
    told = {"cycles": light.cycles, "bins": BINS, "bin_seconds": 1e-9, "shape": (3, 4)}
    return told, depth.reshape(3, 4)


def nothing_is_sure(photons, depth, **told):
    """Is nothing sure, is it said why, and does the interval hold all the same?"""
    found = find_depths(photons, **told)
    assert not found.confident.any()
    true = photons.depth(depth)
    assert ((found.interval[..., 0] <= true) & (true <= found.interval[..., 1])).all()
    assert any("no depth is called sure" in note for note in found.notes)


def test_with_everything_as_given_all_is_sure():
    photons, _ = arrived()
    found = find_depths(photons, fwhm=4.0)
    assert (found.confident.mean(), found.notes) == (1.0, ())


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_nothing_is_sure_where_the_pulse_is_another(engine):
    nothing_is_sure(*arrived(), fwhm=12.0, engine=engine)


@pytest.mark.parametrize("wrong", [{"cycles": 30_000}, {"mode": "every"}])
def test_nothing_is_sure_where_cycles_or_mode_are_others(wrong):
    nothing_is_sure(*arrived(**wrong), fwhm=4.0)


@pytest.mark.parametrize("dead", [60.0, 150.0])
def test_nothing_is_sure_where_stamps_are_not_of_a_synchronous_sensor(dead, tmp_path):
    """With the short dead time a cycle has two photons at times, with the long one the background is not flat."""
    told, depth = free_running(tmp_path / "stamps.npz", dead)
    nothing_is_sure(read_photons(tmp_path / "stamps.npz", mode="synchronous", **told), depth, fwhm=4.0)
    right = read_photons(tmp_path / "stamps.npz", mode="free-running", dead_time=dead * 1e-9, **told)
    found = find_depths(right, fwhm=4.0)
    assert (found.confident.mean(), found.notes) == (1.0, ())


def test_the_command_its_files_and_its_picture_say_why_nothing_is_sure(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    photons, _ = arrived()
    np.save("wall.npy", photons.detections)
    told = ("--photons", "wall.npy", "--cycles", "3000", "--bin-width", "1ns")
    data = run_json("lidar", *told, "--fwhm", "12", "--out", "d.npz", "--out", "d.ply", "--picture", "d.svg")
    assert (data["found"], data["sure"]) == (12, 0)
    (note,) = data["notes"]
    assert note.endswith("So no depth is called sure, and the interval is all depths.")
    written = read_depth("d.npz")
    assert (written.confident.any(), written.notes) == (False, (note,))
    assert f"comment {note}".encode() in (tmp_path / "d.ply").read_bytes().splitlines()
    assert find_depths(photons, fwhm=12.0).plot().get_supxlabel().replace("\n", " ") == note
    assert (tmp_path / "d.svg").read_bytes().startswith(b"<?xml")
    assert run_json("lidar", *told, "--fwhm", "4")["sure"] == 12
