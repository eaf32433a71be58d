"""``linkedbandits bounds``: tables, JSON and a picture."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from tests.support.command_line import refusal, run, run_json


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
    said = " ".join(result.stdout.split())
    assert "The characteristic time is what a unit of evidence costs in plays" in said
    assert "are 1.76 times that, the evidence that delta 0.1 takes" in said
    assert "The standard bandit plays one arm at a time. Improvement is how many times fewer plays" in said


def test_json_has_it_all_and_nothing_that_json_cannot_hold():
    data = run_json("bounds", "--means", "0.5,0.4,0.3", "--k", "2", "--delta", "0.01")
    time = lb.bounds.characteristic_time([0.5, 0.4, 0.3], "free", k=2)
    assert data["linkages"]["free"]["characteristic_time"] == pytest.approx(time.value)
    assert data["linkages"]["single"]["lower_bound"] == pytest.approx(
        lb.bounds.lower([0.5, 0.4, 0.3], 0.01, "single", 2)
    )
    assert data["price_of_order"]["ratio"] >= 1
    assert data["paper"]["uniform"] == pytest.approx(lb.bounds.paper([0.5, 0.4, 0.3], 0.01).uniform)


@pytest.fixture
def table(tmp_path):
    """Two options that mostly fail together, and a third that is good for little."""
    path = tmp_path / "gateways.csv"
    path.write_text("north,east,south,count\n1,1,0,45\n1,0,0,15\n0,1,1,5\n0,0,0,35\n", encoding="utf-8")
    return str(path)


def test_of_a_table_it_shows_what_no_policy_can_beat_that_is_right_under_any_dependence(table):
    outcomes = lb.OutcomeTable.read(table)
    result = run("bounds", "--table", table, "--delta", "0.05", COLUMNS="80")
    assert (result.returncode, result.stderr) == (0, "")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    lines = [line.split() for line in result.stdout.splitlines()]
    for linkage, longest in (("free", 2), ("single", 1)):
        least = lb.bounds.lower_joint(outcomes, 0.05, longest).plays
        assert any(line[:2] == ["linkage", f"{linkage},"] and line[-1] == f"{int(least):,}" for line in lines)
    assert any(line[:2] == ["north,", "east"] for line in lines)


def test_some_options_of_a_table_and_json(table):
    data = run_json("bounds", "--table", table, "--options", "east,north")
    bound = lb.bounds.lower_joint(lb.OutcomeTable.read(table, ["east", "north"]), 0.1)
    free = data["linkages"]["free"]
    assert data["instance"]["options"] == ["east", "north"]
    assert (free["longest"], free["lower_bound"]) == (2, pytest.approx(bound.plays))
    assert {tuple(each["tried"]) for each in free["shares"]} == {("east", "north"), ("north", "east")}
    assert sum(each["share"] for each in free["shares"]) == pytest.approx(1, abs=0.01)


def test_options_of_a_table_that_tie_have_no_bound(tmp_path):
    (tmp_path / "tied.csv").write_text("a,b\n1,0\n0,1\n", encoding="utf-8")
    tied = str(tmp_path / "tied.csv")
    said = " ".join(run("bounds", "--table", tied).stdout.split())
    assert "a and b are equally good (each works 50 % of the time): no number of plays tells which is best." in said
    assert run_json("bounds", "--table", tied)["linkages"]["free"]["lower_bound"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--k 2", "--k 2 is for independent options; leave it out with --table"),
        ("--plot x.png", "--plot x.png is for independent options; leave it out"),
        ("--linkage ordered", "no bound is known under --linkage ordered"),
        ("--linkage sideways", "unknown linkage 'sideways'"),
        ("--means 0.1,0.2", "both --means 0.1,0.2 and --table"),
    ],
)
def test_what_does_not_go_with_a_table_is_refused(table, arguments, said):
    assert refusal("bounds", "--table", table, *arguments.split()).startswith(said)


def test_a_table_with_too_many_options_is_refused_with_a_remedy(tmp_path):
    (tmp_path / "wide.csv").write_text("a,b,c,d,e,f,g\n1,0,1,0,1,0,1\n", encoding="utf-8")
    said = refusal("bounds", "--table", str(tmp_path / "wide.csv"))
    assert said == (
        "the table has 7 options, and the bound is computed for up to 6; choose some, such as --options a,b"
    )


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
        ("--delta 0", "--delta 0.0"),
        ("--linkage sideways", "unknown linkage 'sideways'"),
        ("--means 0.1,0.2 --plot picture.xyz", "the figure picture.xyz cannot be written"),
    ],
)
def test_bad_input_is_refused(arguments, said):
    result = run("bounds", *arguments.split())
    assert result.returncode == 2
    assert said in result.stderr
    assert "Traceback" not in result.stderr
