"""``linkedbandits lidar --photons``, from its entry point on."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from linkedbandits.cli.lidar_photons import read_pulse_step
from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import read_depth
from tests.support.command_line import refusal, run, run_json
from tests.support.photon_files import histogram

COUNTS, DEPTH = histogram()
TOLD = ("--cycles", "200", "--bin-width", "1ns", "--fwhm", "2")


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("slope.npy", COUNTS)
    return "slope.npy"


def test_the_step_of_a_pulse_has_its_unit():
    assert (read_pulse_step(None), read_pulse_step("50ps")) == (None, 5e-11)
    with pytest.raises(InvalidParameter, match="--pulse-step '50' is no time with its unit"):
        read_pulse_step("50")


@pytest.mark.slow
def test_it_prints_what_was_found_and_writes_every_file(file, tmp_path):
    outs = [part for name in ("d.npz", "d.ply", "d.tif", "d.png") for part in ("--out", name)]
    result = run("lidar", "--photons", file, *TOLD, *outs, "--picture", "maps.png")
    assert (result.returncode, result.stderr) == (0, "")
    text = " ".join(result.stdout.split())
    for words in (
        "slope.npy: 3 x 4 pixels, 20 bins of 1000 ps (15 cm), synchronous",
        "pixels 12",
        "with a depth 12 (100 %)",
        "with a sure depth",
        "laser cycles a pixel 200",
        "photons a pixel",
        "a pixel has one return at most",
        "Written: d.npz Written: d.ply Written: d.tif Written: d.png Written: maps.png",
    ):
        assert words in text
    assert (tmp_path / "maps.png").read_bytes().startswith(b"\x89PNG")
    assert np.abs(read_depth(tmp_path / "d.npz").depth - DEPTH * 0.149896229).max() < 0.08


def test_json_has_the_figures_and_the_notes(file):
    data = run_json("lidar", "--photons", file, *TOLD, "--signal", "0.001", "--delta", "0.1")
    assert (data["shape"], data["bins"], data["bin_ps"], data["mode"]) == ([3, 4], 20, 1000, "synchronous")
    assert (data["cycles"], data["photons"], data["found"], data["delta"]) == ([200, 200], int(COUNTS.sum()), 12, 0.1)
    least, middle, most = data["depth_m"]
    assert 0.5 < least < middle < most < 3
    assert any("--signal 0.001" in note for note in data["notes"])
    assert data["written"] == []


def test_settings_of_the_file_are_handed_on(file):
    np.save("turned.npy", np.moveaxis(COUNTS, 2, 0).reshape(20, 12))
    np.save("dark.npy", np.minimum(COUNTS, 1))
    data = run_json(
        *(
            "lidar",
            "--photons",
            "turned.npy",
            *TOLD,
            "--axes",
            "bins,pixels",
            "--shape",
            "3x4",
            "--mode",
            "free-running",
        ),
        *("--dead-time", "2", "--period", "25ns", "--zero", "0.5 ns", "--first-bin", "1", "--last-bin", "18"),
    )
    assert (data["shape"], data["bins"], data["mode"], data["sure"]) == ([3, 4], 18, "free-running", 0)
    merged = run_json("lidar", "--photons", file, *TOLD, "--merge", "2", "--background", "dark.npy")
    assert (merged["bins"], merged["bin_ps"]) == (10, 2000)


def test_without_a_file_to_write_it_says_how(file):
    assert "name a file with --out depth.npz" in run("lidar", "--photons", file, *TOLD).stdout


def test_where_nothing_is_found_there_is_no_number(file):
    np.save("noise.npy", np.full((2, 2, 20), 3))
    result = run("lidar", "--photons", "noise.npy", *TOLD)
    assert "with a depth 0 (0 %)" in " ".join(result.stdout.split())
    assert "nan" not in result.stdout


def test_all_that_is_missing_is_asked_for_in_one_line_of_options(file):
    said = refusal("lidar", "--photons", file)
    for option in ("--cycles 1000", "--bin-width 55ps", "--fwhm 3", "--pulse FILE"):
        assert option in said
    assert "=" not in said
    assert "--dead-time" not in said
    assert "--dead-time 50" in refusal("lidar", "--photons", file, "--mode", "free-running")
    assert "--fwhm" not in refusal("lidar", "--photons", file, "--fwhm", "3")


def test_a_file_that_was_there_is_not_replaced_in_silence(file, tmp_path):
    first, again = (run("lidar", "--photons", file, *TOLD, "--out", "d.npz").stdout for _ in range(2))
    assert first.endswith("Written: d.npz\n")
    assert again.endswith("Written: d.npz, in place of the file that was there\n")


def test_json_has_no_tails_of_rounding(file):
    printed = run("lidar", "--photons", file, *TOLD, "--json").stdout
    assert re.search(r"\.0*[1-9]\d{9}", printed) is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--photons", "absent.npy", *TOLD), "there is no file absent.npy"),
        (("--photons", "slope.npy", *TOLD, "--background", "absent.npy"), "there is no file absent.npy"),
        (("--photons", "slope.npy", *TOLD, "--pulse", "absent.csv"), "both --pulse and --fwhm were given"),
        (("--photons", "slope.npy", *TOLD[:4], "--pulse", "absent.csv"), "there is no file absent.csv"),
        (("--photons", "slope.npy", *TOLD, "--dead-time", "50"), "goes with --mode free-running"),
        (
            ("--photons", "slope.npy", *TOLD, "--first-bin", "9", "--last-bin", "5"),
            "--first-bin 9 is behind --last-bin 5",
        ),
        (("--photons", "slope.npy", "--fwhm", "2", "--bin-width", "1ns"), "--cycles 1000"),
        (("--photons", "slope.npy", "--fwhm", "2", "--cycles", "200"), "--bin-width 55ps"),
        (("--photons", "slope.npy", "--bin-width", "1ns", "--cycles", "200"), "--fwhm 3"),
        (("--photons", "slope.npy", "--bin-width", "55"), "--bin-width '55' is no time with its unit"),
        (("--photons", "slope.npy", "--bin-width", "5 parsecs"), "is no time with its unit"),
        (("--photons", "slope.npy", *TOLD, "--bin-width", "1s"), "no bin width from 1 ps to 1 us"),
        (("--photons", "slope.npy", *TOLD, "--shape", "many"), "--shape 'many' is not a row and a column"),
        (("--photons", "slope.npy", *TOLD, "--out", "d.txt"), "'d.txt' cannot be written"),
        (("--photons", "slope.npy", *TOLD, "--out", "absent/d.npz"), "--out absent/d.npz cannot be written"),
        (("--photons", "slope.npy", *TOLD, "--picture", "d.txt"), "'d.txt' cannot be written"),
        (("--photons", "slope.npy", *TOLD, "--mode", "free-running"), "--dead-time"),
        (("--photons", "slope.npy", *TOLD, "--mode", "magic"), "unknown --mode 'magic'"),
        (("--photons", "slope.npy", *TOLD, "--dead-time", "-1"), "--dead-time -1.0 is not a number of at least 0"),
        (("--photons", "slope.npy", *TOLD, "--scene", "ramp"), "both --photons slope.npy and --scene were given"),
        (("--photons", "slope.npy", *TOLD, "--ambient", "5"), "both --photons slope.npy and --ambient were given"),
        (
            ("--photons", "slope.npy", *TOLD, "--shape", "4,3"),
            "slope.npy has 3 x 4 pixels, and not 4 x 3; leave --shape",
        ),
        (("--photons", "slope.npy", *TOLD, "--delta", "0"), "--delta 0.0 is not between 0 and 1; try 0.05"),
        (("--photons", "slope.npy", *TOLD, "--merge", "0"), "--merge 0 is not a whole number of at least 1; give one"),
        (("--photons", "slope.npy", *TOLD, "--opens", "99"), "--opens 99 is no bin from 0 to 19"),
        (("--photons", "slope.npy", *TOLD, "--axes", "up,down"), "--axes 'up,down' are no axes of a histogram"),
        (("--photons", "slope.npy", *TOLD, "--last-bin", "99"), "--first-bin and --last-bin from 0 to 99"),
        (("--photons", "slope.npy", *TOLD[:4], "--fwhm", "50"), "--fwhm 50.0 is no pulse within the 20 bins"),
        (("--photons", "slope.npy", *TOLD, "--tolerance", "0"), "--tolerance 0.0 is not positive"),
        (("--photons", "slope.npy", *TOLD, "--capture", "moon"), "unknown --capture 'moon'"),
        (("--photons", "slope.npy", *TOLD, "--period", "0ns"), "--period 0ns is no time that passes"),
        (("--photons", "slope.npy", *TOLD, "--zero", "1e400s"), "--zero 1e400s is no time that a sensor has"),
        (("--photons", "slope.npy", *TOLD, "--pulse-unit", "ns"), "go with --pulse FILE"),
        (("--photons", "slope.npy", *TOLD, "--cycles", "0"), "give a whole number of laser cycles"),
        (
            ("--photons", "slope.npy", *TOLD, "--mode", "free-running", "--dead-time", "2e6"),
            "--dead-time 2e+06 ns is more than a millisecond; give nanoseconds",
        ),
        (("--scene", "ramp", "--out", "d.npz"), "--out goes with one --method"),
        (("--scene", "ramp", "--capture", "wisc"), "--capture goes with --photons FILE"),
        (("--scene", "ramp", "--unit", "mm"), "--unit mm is that of a --file"),
    ],
)
def test_arguments_without_a_meaning_are_refused_in_one_line(arguments, said, file):
    assert said in refusal("lidar", *arguments)


def test_a_file_of_text_is_refused_without_a_warning(file, tmp_path):
    (tmp_path / "letter.txt").write_text("hello world\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "letter.txt has a heading and no rows" in refusal("lidar", "--photons", "letter.txt", *TOLD)


def test_in_a_narrow_terminal_nothing_is_cut(file):
    shown = run("lidar", "--photons", file, *TOLD, COLUMNS="40").stdout
    assert "\n with a depth\n   12 (100 %)\n" in shown
    assert max(map(len, shown.splitlines())) <= 40
