"""``linkedbandits bounds``: tables, JSON and a picture."""

from __future__ import annotations

import subprocess
import sys

import pytest

import linkedbandits as lb
from tests.support.command_line import run, run_json
from tools.waiting import SECONDS


def test_the_tables_show_every_linkage_and_the_papers_theorems():
    result = run("bounds", "--arms", "10", "--delta", "0.1")
    assert (result.returncode, result.stderr) == (0, "")
    least = lb.bounds.lower(lb.scenarios.one_sparse(10), 0.1)
    assert f"{least:,.0f}" in result.stdout
    for words in (
        "linkage free",
        "linkage single",
        "linkage suffix",
        "Theorem 4.1",
        "Corollary 5.1.1",
        "samples a play, ordered",
    ):
        assert words in result.stdout


def test_json_has_it_all_and_nothing_that_json_cannot_hold():
    data = run_json("bounds", "--means", "0.5,0.4,0.3", "--k", "2", "--delta", "0.01")
    time = lb.bounds.characteristic_time([0.5, 0.4, 0.3], "free", k=2)
    assert data["linkages"]["free"]["characteristic_time"] == pytest.approx(time.value)
    assert data["linkages"]["single"]["lower_bound"] == pytest.approx(
        lb.bounds.lower([0.5, 0.4, 0.3], 0.01, "single", 2)
    )
    assert data["price_of_order"]["ratio"] >= 1
    assert data["paper"]["uniform"] == pytest.approx(lb.bounds.paper([0.5, 0.4, 0.3], 0.01).uniform)


def test_a_tie_is_said_in_words_and_null_in_json():
    assert "arms 0 and 1 share the mean 0.5" in run("bounds", "--means", "0.5,0.5,0.1").stdout
    tied = run_json("bounds", "--means", "0.5,0.5,0.1")["linkages"]["ordered"]
    assert tied["characteristic_time"] is None
    assert "share the mean" in tied["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot_is_a_picture(tmp_path, ending):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    path = tmp_path / f"proportions.{ending}"
    result = run("bounds", "--means", "0.3,0.6,0.1", "--linkage", "free", "--plot", str(path))
    assert result.returncode == 0
    start = path.read_bytes()[:200]
    assert start.startswith(b"\x89PNG") if ending == "png" else b"<svg" in path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--k 10 --arms 10", "k=10"),
        ("--means 0.5,0.5,0.1 --plot tie.png", "no optimal proportions to draw: arms 0 and 1 share"),
        ("--delta 0", "delta=0.0"),
        ("--linkage sideways", "unknown linkage 'sideways'"),
        ("--means 0.1,0.2 --plot picture.xyz", "the figure picture.xyz cannot be written"),
    ],
)
def test_bad_input_is_refused(arguments, said):
    result = run("bounds", *arguments.split())
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_a_picture_without_matplotlib_says_what_to_install():
    blocked = "import sys; sys.modules['matplotlib'] = None; from linkedbandits.__main__ import main; main()"
    result = subprocess.run(
        [sys.executable, "-c", blocked, "bounds", "--means", "0.3,0.6", "--plot", "x.png"],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert result.returncode == 2
    assert "pip install 'linkedbandits[plot]'" in result.stderr
