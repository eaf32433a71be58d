"""``linkedbandits lidar``, in a process of its own."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tests.support.command_line import ROOT, refusal, run, run_json

SMALL = ("--scene", "ramp", "--size", "12", "--bins", "60", "--ambient", "1", "--workers", "1")


@pytest.mark.slow
def test_it_prints_a_row_a_method_and_writes_the_picture(tmp_path):
    picture = tmp_path / "maps.png"
    result = run("lidar", *SMALL, "--method", "even", "--method", "pulse", "--picture", str(picture))
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(r"bins of \d\.\d\d cm", result.stdout)  # as in the picture
    (even,) = [line.split() for line in result.stdout.splitlines() if line.split()[:1] == ["even"]]
    assert re.fullmatch(r"[\d,]+\.\d", even[5])  # as many digits as the mean beside it
    assert re.fullmatch(r"[\d,]+\.\d", even[6])
    for word in ("time µs", "RMSE mm", "MAE mm", "±1 bin", "cycles", "90 %", "even", "pulse", str(picture)):
        assert word in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_in_a_narrow_terminal_no_figure_is_cut(tmp_path):
    methods = ("--method", "synchronous", "--method", "elimination", "--method", "pulse")
    result = run("lidar", *SMALL, *methods, "--picture", str(tmp_path / "maps.png"), COLUMNS="50")
    assert "…" not in result.stdout
    heading = next(line for line in result.stdout.splitlines() if line.strip().startswith("method"))
    assert heading.split() == ["method", "synchronous", "elimination", "pulse"]


@pytest.mark.slow
def test_a_wide_pulse_has_both_shares_and_elimination_says_what_it_is_sure_of(tmp_path):
    wide = ("--fwhm", "8", "--reach", "12", "--dead-time", "20", "--dark", "0.001")
    result = run("lidar", *SMALL, *wide, "--method", "elimination", "--picture", str(tmp_path / "maps.png"))
    for words in (
        "±1 bin",
        "±4 bins",
        "60 bins of 20 cm",
        "20 ns of blindness",
        "ended sure of a bin in",
        "is at most 4 from that",
    ):
        assert words in " ".join(result.stdout.split())


@pytest.mark.slow
def test_where_nothing_has_a_depth_figures_are_blank(tmp_path):
    np.save(tmp_path / "sky.npy", np.full((4, 4), np.nan))
    few = ("--file", str(tmp_path / "sky.npy"), "--reach", "6", "--cycles", "50", "--workers", "1")
    result = run("lidar", *few, "--method", "free", "--picture", str(tmp_path / "maps.png"))
    assert result.returncode == 0
    assert "nan" not in result.stdout


@pytest.mark.slow
def test_json_has_the_figures_and_the_settings(tmp_path):
    wanted = ("--method", "pulse", "--delta", "0.1", "--microseconds", "300", "--picture", str(tmp_path / "maps.png"))
    data = run_json("lidar", *SMALL, *wanted)
    assert data["microseconds"] == 300
    assert (data["scene"], data["shape"], data["bins"], data["delta"]) == ("ramp", [9, 12], 60, 0.1)
    frame = data["frames"][0]
    assert (data["dead_time_ns"], data["dark"], data["neighbours"]) == (100, 0, 1)
    assert frame["acquisition"] == "pulse"
    assert frame["within_tolerance"] > 0.9
    assert frame["confident"] > 0.8
    assert frame["cycles_mean"] <= data["cycles"]
    assert frame["microseconds_90"] <= 300


@pytest.mark.slow
def test_it_says_what_is_not_sure_and_what_is_too_bright(tmp_path):
    """A few pixels close by outshine the wall; the bins' own answers are sure of nothing."""
    depth = np.full((10, 30), 5.0)
    depth[0, :3] = 0.5
    depth[9, :3] = np.nan
    np.save(tmp_path / "near.npy", depth)
    wanted = (
        *("--file", str(tmp_path / "near.npy"), "--bins", "50", "--ambient", "1"),
        "--workers",
        "1",
        "--cycles",
        "50",
    )
    picture = ("--picture", str(tmp_path / "maps.png"))
    result = run("lidar", *wanted, *picture, "--method", "elimination", "--estimator", "answer", "--delta", "0.05")
    assert (result.returncode, result.stderr) == (0, "")
    row = next(line for line in result.stdout.splitlines() if line.split()[:1] == ["elimination"])
    assert row.count("%") == 2  # within a bin, and found: the last column, sure, is blank
    assert "Given a depth all the same: elimination 100 %" in result.stdout
    assert "--strongest" not in result.stdout
    brighter = run("lidar", *wanted, *picture, "--strongest", "5", "--method", "pulse").stdout
    assert "3 pixels send back more than 5 photons a cycle, which --strongest rules out" in " ".join(brighter.split())


@pytest.mark.slow
def test_a_sensor_that_exists_and_a_plate_and_a_file_of_what_was_found(tmp_path):
    drawn, depth = tmp_path / "plate.svg", tmp_path / "depth.npz"
    sensor = ("--gates", "suffix:20", "--dead-time", "20", "--jitter", "30", "--rise", "0.5", "--light", "even")
    ends = ("--method", "auto", "--likely", "0.9", "--alone", "--cycles", "500")
    written = ("--picture", str(tmp_path / "maps.png"), "--plate", str(drawn), "--pixel", "2,3", "--out", str(depth))
    data = run_json("lidar", *SMALL, *sensor, *ends, *written)
    assert (data["gates"], data["borrow"], data["likely"]) == ("suffix at 20 positions", False, 0.9)
    assert data["frames"][0]["acquisition"] in {"pulse", "free-running"}
    assert data["frames"][0]["microseconds_mean"] > 0
    assert drawn.read_bytes().startswith(b"<?xml")
    with np.load(depth) as arrays:
        assert arrays["depth"].shape == (9, 12)
        assert (arrays["interval"][~arrays["confident"], 0] == 0).all()


@pytest.mark.slow
def test_where_afterpulses_outlast_the_dead_time_it_says_that_nothing_is_sure(tmp_path):
    sensor = ("--afterpulsing", "0.02", "--afterpulse-time", "30", "--dead-time", "20", "--cycles", "60")
    result = run("lidar", *SMALL, *sensor, "--method", "pulse", "--picture", str(tmp_path / "maps.png"))
    assert "No depth is sure" in result.stdout
    assert "150 ns" in result.stdout


@pytest.mark.slow
def test_what_auto_chose_what_a_gate_cannot_see_and_what_was_written_is_said(tmp_path):
    written = ("--picture", str(tmp_path / "maps.png"), "--out", str(tmp_path / "depth.png"))
    scene = ("--scene", "ramp", "--size", "8", "--bin-width", "1ns", "--ambient", "1", "--workers", "1")
    result = run("lidar", *scene, "--rise", "1", "--method", "auto", "--cycles", "100", *written)
    said = " ".join(result.stdout.split())
    assert "auto (pulse)" in said or "auto (free-running)" in said
    assert "34 bins of 15 cm" in said
    assert "Gates still rise below 15 cm: they see no depth there." in said
    assert f"Written: {tmp_path / 'depth.png'}" in result.stdout


@pytest.mark.slow
def test_a_file_of_ones_own(tmp_path):
    np.save(tmp_path / "step.npy", np.repeat([[1.0, 2.0, np.nan]], 4, axis=0))
    data = run_json(
        "lidar",
        *("--file", str(tmp_path / "step.npy"), "--bins", "50", "--ambient", "1", "--method", "pulse"),
        *("--picture", str(tmp_path / "maps.png"), "--workers", "1"),
    )
    assert (data["scene"], data["shape"], data["frames"][0]["missing"]) == ("step", [4, 3], 4)
    assert data["bin_cm"] == pytest.approx(5.0)


FEW = ("--scene", "ramp", "--size", "4", "--bins", "30", "--cycles", "20", "--workers", "1", "--method", "synchronous")


def test_nothing_is_written_unless_asked_for_and_nothing_replaced_in_silence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    alone = run("lidar", *FEW)
    assert (alone.returncode, list(tmp_path.iterdir())) == (0, [])
    assert "Nothing was written; name a file with --picture maps.png, or --out depth.npz." in alone.stdout
    first = run("lidar", *FEW, "--picture", "maps.png", "--out", "d.npz").stdout
    assert [line for line in first.splitlines() if "Written" in line] == ["Written: maps.png", "Written: d.npz"]
    (tmp_path / "d.npz").unlink()
    again = run("lidar", *FEW, "--picture", "maps.png", "--out", "d.npz").stdout
    assert "Written: maps.png, in place of the file that was there\nWritten: d.npz\n" in again


def test_pixels_are_rows_and_columns_and_words_of_the_table_are_explained(tmp_path):
    np.save(tmp_path / "wide.npy", np.full((2, 5), 3.0))
    wide = ("--file", str(tmp_path / "wide.npy"), *FEW[4:])
    said = " ".join(run("lidar", *wide).stdout.split())
    assert "wide, 2 x 5 pixels" in said
    assert run_json("lidar", *wide)["shape"] == [2, 5]
    for words in (
        "Pixels are rows x columns",
        "±1 bin: so near",
        "found: has a",
        "sure: none without",
        "Estimator map: the",
    ):
        assert words in said
    sure = " ".join(run("lidar", *wide, "--delta", "0.1").stdout.split())
    assert "is off by more than 1 bin (12 cm) with probability at most 0.1. Blank" in sure
    assert 'the page "The command lidar" of the documentation' in said
    assert (ROOT / "docs" / "lidar-command.md").read_text(encoding="utf-8").startswith("# The command lidar\n")
    other = " ".join(run("lidar", *wide, "--estimator", "coates", "--likely", "0.9").stdout.split())
    assert "Estimator map" not in other
    assert "right with 0.9: a guess" in other
    assert "sure: none without --delta." in other


def test_json_has_no_tails_of_rounding(tmp_path):
    printed = run("lidar", *FEW, "--reach", "5.1", "--picture", str(tmp_path / "m.png"), "--json").stdout
    assert re.search(r"\.0*[1-9]\d{9}", printed) is None
    assert json.loads(printed)["bin_cm"] == 17
    assert json.loads(printed)["written"] == [str(tmp_path / "m.png")]


def test_the_help_is_in_groups_and_has_examples_that_run(tmp_path, monkeypatch):
    shown = run("lidar", "--help", COLUMNS="80").stdout
    assert len(shown.splitlines()) <= 125
    groups = ("A scene to simulate", "Or photons of a real sensor", "The sensor", "The light of a scene")
    for group in (*groups, "The way of acquiring", "When a pixel ends", "What is written", "Who computes"):
        assert f"─ {group} ─" in shown
    monkeypatch.chdir(tmp_path)
    np.save("wall.npy", np.random.default_rng(1).poisson(2.0, (2, 2, 40)))
    commands = re.findall(r"^ +linkedbandits (lidar --.*?) *$", shown, flags=re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        few = ["--size", "4"] if "--size" in command else []
        assert run(*command.split(), *few).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--file", "absent.npy"), "there is no file absent.npy; give a depth map in"),
        (("--scene", "ramp", "--file", "own.npy"), "leave one out"),
        (("--scene", "ramp", "--method", "magic"), "unknown --method 'magic'"),
        (("--scene", "ramp", "--picture", "/absent/maps.png"), "--picture /absent/maps.png cannot be written"),
        (("--scene", "ramp", "--picture", "maps.txt"), "'maps.txt' cannot be written"),
        (("--scene", "ramp", "--signal", "0", "--method", "even"), "--signal 0.0 is not in"),
        (("--scene", "ramp", "--size", "0"), "--size 0 is not a whole number of at least 1; give one"),
        (("--scene", "ramp", "--gates", "doors"), "--gates 'doors' are no gates"),
        (("--scene", "ramp", "--light", "moon"), "--light moon is unknown"),
        (("--scene", "ramp", "--pixel", "1,1"), "--pixel 1,1 goes with --plate FILE"),
        (("--scene", "ramp", "--plate", "p.png", "--pixel", "99,1"), "there is no pixel 99,1"),
        (("--scene", "ramp", "--out", "d.npz"), "--out goes with one --method"),
        (("--scene", "ramp", "--bins", "50", "--bin-width", "1ns"), "both --bin-width 1ns and --bins were given"),
        (("--scene", "ramp", "--told", "--light", "sun"), "--told says that all pixels have the same background"),
        (("--scene", "ramp", "--pulse", "p.csv", "--fwhm", "3"), "both --pulse and --fwhm were given"),
        (("--scene", "ramp", "--jitter", "80000"), "--jitter 80000 ps is no shorter than a laser cycle of"),
        (("--scene", "ramp", "--rise", "80000"), "--rise 80000 ns is no shorter than a laser cycle of"),
        (("--scene", "ramp", "--microseconds", "0.001"), "--microseconds 0.001 is less than a laser cycle of"),
        (("--scene", "ramp", "--microseconds", "20", "--method", "halving"), "so --microseconds 20 is nothing to it"),
        (("--scene", "ramp", "--afterpulsing", "0.1", "--afterpulse-time", "0"), "--afterpulse-time 20"),
        (("--scene", "ramp", "--bins", "1"), "--bins 1 is not a whole number of at least 2"),
        (("--scene", "ramp", "--fwhm", "0"), "--fwhm 0.0 is not"),
        (("--scene", "ramp", "--likely", "2"), "--likely 2.0 is not between 0 and 1; try 0.95"),
        (("--scene", "ramp", "--reach", "0.5"), "beyond the reach of 0.5 m; look farther (--reach)"),
        (("--scene", "ramp", "--delta", "2"), "--delta 2.0 is not between 0 and 1; try 0.05"),
        (("--scene", "ramp", "--strongest", "0.1"), "--strongest 0.1 is below --signal 0.5"),
        (("--scene", "ramp", "--reach", "-1"), "--reach -1.0 is not in"),
        (("--scene", "ramp", "--bin-width", "1s"), "--bin-width 1s is no bin width from 1 ps to 1 us"),
        (("--scene", "ramp", "--bin-width", "1ns", "--reach", "-1"), "--reach -1.0 is not positive"),
        (("--scene", "ramp", "--workers", "0"), "--workers 0 is not a whole number"),
        (("--scene", "ramp", "--engine", "quick"), "unknown --engine 'quick'"),
        (("--scene", "ramp", "--estimator", "guess"), "unknown --estimator 'guess'"),
        (("--scene", "attic"), "unknown --scene 'attic'"),
        (("--file", "."), ". is no depth map that can be read"),
        (("--scene", "ramp", "--gates", "windows:2000"), "give nanoseconds, as --gates windows:2"),
        (
            ("--scene", "ramp", "--method", "pulse", "--out", "d.ply", "--field-of-view", "200"),
            "--field-of-view 200.0 is not between 0 and 180 degrees",
        ),
        (("--scene", "ramp", "--pulse-step", "50ps"), "--pulse-unit and --pulse-step go with --pulse FILE"),
        (("--scene", "ramp", "--gates", "windows:2", "--method", "even"), "even may open at any bin"),
        (
            ("--scene", "ramp", "--engine", "compiled", "--method", "pulse", "--method", "elimination"),
            "and not elimination; use --engine numpy",
        ),
    ],
)
def test_arguments_without_a_meaning_are_refused_in_one_line(arguments, said):
    assert said in refusal("lidar", *arguments)
