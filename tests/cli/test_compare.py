"""``linkedbandits compare``, end to end."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from tests.support.command_line import refusal, run, run_json
from tools.waiting import SECONDS

EASY = ("--means", "0.2,0.6,0.3", "--trials", "50")
BY_DEFAULT = ("maximal-sampling", "uniform-sampling", "linked-ege", "linked-elimination")


def test_the_table_shows_every_policy_and_says_what_it_means():
    result = run("compare", "--means", "0.2,0.6,0.3", "--trials", "50", "--delta", "0.2")
    assert (result.returncode, result.stderr) == (0, "")
    first, *rows = [line for line in result.stdout.splitlines() if line.strip()]
    assert first == "3 arms, linkage ordered, 50 trials, delta 0.2"
    assert " ".join(rows[0].split()) == "policy plays median 90 % over bound wrong (95 % interval)"
    assert [row.split()[0] for row in rows[2:6]] == [*BY_DEFAULT]
    assert "finds the best option (arm 1, which works 60 % of the time) soonest" in rows[6]
    assert any(row.endswith("No error bound is proved for linked-ege.") for row in rows)


def test_json_has_the_figures_of_the_runs():
    data = run_json("compare", *EASY, "--seed", "4", "--policy", "uniform-sampling", "--policy", "linked-ege")
    assert data["instance"] == {"name": "3 arms", "means": [0.2, 0.6, 0.3], "gap": pytest.approx(0.3)}
    assert (data["linkage"], data["delta"], data["trials"], data["seed"]) == ("ordered", 0.1, 50, 4)
    uniform, ege = data["policies"]
    runs = lb.simulate([0.2, 0.6, 0.3], lb.UniformSampling(delta=0.1), trials=50, seed=4)
    assert uniform["plays_mean"] == runs.plays.mean()
    assert uniform["error_rate"] == runs.error_rate()
    assert uniform["error_interval"] == pytest.approx(list(runs.summary().error_interval), rel=1e-11)
    assert uniform["error_bound"] == 0.1
    assert uniform["name"] == uniform["policy"] == "uniform-sampling"
    assert ege["error_bound"] is None
    assert ege["parameters"]["gap"] == pytest.approx(0.3)
    least = min(uniform["plays_mean"], ege["plays_mean"])
    assert [policy["ratio_to_least_plays"] * least for policy in data["policies"]] == pytest.approx(
        [uniform["plays_mean"], ege["plays_mean"]]
    )


def test_without_a_policy_only_those_that_the_linkage_allows_are_compared():
    data = run_json("compare", *EASY, "--linkage", "single")
    assert [policy["name"] for policy in data["policies"]] == [*BY_DEFAULT[1:]]
    assert all(policy["plays_mean"] == pytest.approx(policy["samples_mean"]) for policy in data["policies"])


def test_runs_that_cannot_end_use_up_their_budget_and_say_so():
    hard = ("--means", "0.3,0.28", "--trials", "20", "--max-plays", "500", "--delta", "1e-6")
    result = run("compare", *hard)
    assert "No policy came to answers of its own" in result.stdout
    data = run_json("compare", *hard)
    assert all(policy["confident"] == 0 and policy["plays_90"] == 500 for policy in data["policies"])


def test_under_the_table_stands_what_the_policies_assume_and_what_to_use_instead():
    result = run("compare", *EASY, COLUMNS="80")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    said = " ".join(result.stdout.split())
    independent = "All these policies assume independent options, and the simulated options are independent."
    assert f"{independent} {INDEPENDENT_OPTIONS.remedy} linked-ege assumes told difference." in said
    assert "independent" not in run("compare", *EASY, "--linkage", "single").stdout


def test_json_has_what_each_policy_assumes():
    chosen = ("--policy", "linked-elimination", "--policy", "linked-duels", "--policy", "linked-elimination:k=2")
    data = run_json("compare", *EASY, "--linkage", "free", "--max-plays", "50", *chosen)
    assert [each["assumes"] for each in data["policies"]] == [["independent options"], [], ["independent options"]]
    said = " ".join(run("compare", *EASY, "--linkage", "free", "--max-plays", "50", *chosen).stdout.split())
    assert "linked-elimination and linked-elimination:k=2 assume independent options, and the simulated" in said


@pytest.mark.parametrize("command", ["compare", "simulate", "study", "serve", "demo-traffic"])
def test_the_help_says_that_options_are_taken_to_be_independent(command):
    shown = run(command, "--help", COLUMNS="80").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert " ".join(shown.split()).endswith(f"{INDEPENDENT_OPTIONS.sentence} {INDEPENDENT_OPTIONS.remedy}")


@pytest.fixture
def table(tmp_path):
    """Options of which the second succeeds most often, but hardly where the first has failed."""
    path = tmp_path / "gateways.csv"
    path.write_text("count,north,east,south\n48,1,1,0\n2,1,0,0\n12,0,1,1\n38,0,0,0\n")
    return str(path)


@pytest.mark.statistical
def test_on_a_table_duels_come_first_and_options_have_names(table):
    """Fixed seed; duels that are wrong in 5 % are so in more than 10 of 100 trials with probability 0.01."""
    result = run("compare", "--table", table, "--trials", "100", "--delta", "0.1", COLUMNS="80")
    assert (result.returncode, result.stderr) == (0, "")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    first, *rows = [line for line in result.stdout.splitlines() if line.strip()]
    assert first == "gateways, 3 options, linkage free, 100 trials, delta 0.1"
    assert [row.split()[0] for row in rows[2:5]] == ["linked-duels", "linked-elimination", "linked-track-and-stop"]
    said = " ".join(result.stdout.split())
    assert "linked-duels finds the best option (east, which works 60 % of the time) without assuming independ" in said
    assert (
        "linked-elimination and linked-track-and-stop assume independent options; those of this table fail together as "
        f"they did. linked-duels does not. {INDEPENDENT_OPTIONS.remedy}"
    ) in said
    assert "simulated options are independent" not in said


@pytest.mark.statistical
@pytest.mark.parametrize("limit", ["1000000", "600"])
def test_a_policy_that_is_sure_and_wrong_on_a_table_is_said_to_be(table, limit):
    """Fixed seed; it is wrong nearly always, and with 600 plays some trials run out besides."""
    given = ("--table", table, "--trials", "100", "--linkage", "ordered", "--max-plays", limit)
    chosen = ("--policy", "linked-elimination")
    (wrong,) = run_json("compare", *given, *chosen)["policies"]
    assert (wrong["confident"] < 1) == (limit == "600")
    said = " ".join(run("compare", *given, *chosen).stdout.split())
    assert said.count("linked-elimination ran out of plays in") == (limit == "600")
    found = re.search(r"linked-elimination is wrong in (\S+) %, more than asked", said)
    assert 30 < float(found[1]) <= 100 * wrong["error_rate"] + 0.1


def test_where_all_policies_are_valid_the_soonest_is_named(table):
    said = " ".join(run("compare", "--table", table, "--trials", "20", "--linkage", "single").stdout.split())
    assert "finds the best option (east, which works 60 % of the time) soonest: after" in said
    assert "independent" not in said


def test_correlated_arms_keep_the_order_and_the_note_says_so():
    given = ("--means", "0.2,0.6,0.3", "--trials", "20", "--correlation", "0.5")
    said = " ".join(run("compare", *given).stdout.split())
    assert said.startswith("3 arms, correlation 0.5, linkage ordered, 20 trials")
    assert "All these policies assume independent options; these share how hard a request is (correlation 0.5)." in said
    free = run_json("compare", *given, "--linkage", "free", "--max-plays", "500")
    assert free["policies"][0]["name"] == "linked-duels"
    assert free["told_gap"] == pytest.approx(0.3)
    none = " ".join(run("compare", *given[:-1], "0").stdout.split())
    assert "All these policies assume independent options, and the simulated options are independent." in none


def test_with_costs_it_says_which_option_has_most_successes_per_cost():
    result = run("compare", *EASY, "--policy", "linked-elimination:costs=1/8/1", "--policy", "uniform-sampling")
    assert "linked-elimination:costs=1/8/1 finds the option with most successes per cost (arm 2, which works 30 %" in (
        " ".join(result.stdout.split())
    )
    assert "where uniform-sampling takes" not in result.stdout  # it looks for another arm


TOLD = ("--policy", "linked-lead:gap=0.3", "--policy", "linked-lead:gap=0.4", "--policy", "linked-elimination")


def test_plays_are_over_the_bound_for_what_a_policy_was_told():
    data = run_json("compare", *EASY, *TOLD, "--policy", "linked-ege")
    lead, too_much, elimination, ege = data["policies"]
    told = lb.bounds.lower([0.2, 0.6, 0.3], 0.1, gap=0.3)
    assert lead["told"] == {"gap": 0.3, "odds_ratio": None}
    assert (lead["lower_bound"], lead["over_bound"]) == pytest.approx((told, lead["plays_mean"] / told))
    assert ege["over_bound"] == pytest.approx(ege["plays_mean"] / told)
    assert elimination["lower_bound"] == pytest.approx(lb.bounds.lower([0.2, 0.6, 0.3], 0.1))
    assert (elimination["told"], elimination["no_bound_because"]) == (None, None)
    assert (too_much["lower_bound"], too_much["over_bound"]) == (None, None)
    assert too_much["no_bound_because"] == "the best arm is ahead by 0.3, less than gap=0.4, which it is told"


def test_the_table_says_which_bound_plays_are_over_and_where_there_is_none():
    shown = run("compare", *EASY, *TOLD, COLUMNS="80").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    lead, _, elimination = run_json("compare", *EASY, *TOLD)["policies"]
    cells = [line.split() for line in shown.splitlines() if line.rstrip().endswith("%)")]
    assert {row[0]: row[1] == "*" for row in cells} == {row[0]: "gap=" in row[0] for row in cells}
    ratios = {row[0]: [cell for cell in row if cell != "*"][4] for row in cells}
    assert ratios["linked-lead:gap=0.3"] == f"{lead['over_bound']:.1f}"
    assert ratios["linked-lead:gap=0.4"] == "-"
    assert ratios["linked-elimination"] == f"{elimination['over_bound']:.1f}"
    said = " ".join(shown.split())
    assert (
        "Over bound is plays over what no policy that is told as much can beat (* is told a difference). There is no "
        "bound for linked-lead:gap=0.4: the best arm is ahead by 0.3, less than gap=0.4, which it is told."
    ) in said
    alone = " ".join(run("compare", *EASY, "--policy", "linked-elimination").stdout.split())
    assert "Over bound is plays over what no policy can beat. linked" in alone


def test_where_options_depend_on_each_other_plays_are_over_the_fewest(table):
    shown = run("compare", "--table", table, "--trials", "20", "--linkage", "single").stdout
    rows = [line for line in shown.splitlines() if line.strip()]
    assert rows[1].split()[:6] == ["policy", "plays", "median", "90", "%", "ratio"]
    assert "Ratio is plays over the fewest in the table" in shown
    assert "1.0" in [row.split()[4] for row in rows[3:5]]
    assert "bound" not in rows[1]
    data = run_json("compare", "--table", table, "--trials", "20", "--linkage", "single")
    assert {each["no_bound_because"] for each in data["policies"]} == {"it is for independent options"}


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_plot_is_a_picture(tmp_path, ending):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    path = tmp_path / f"compared.{ending}"
    result = run("compare", *EASY, "--policy", "linked-ege", "--policy", "linked-elimination", "--plot", str(path))
    assert result.returncode == 0
    assert result.stderr == f"wrote {path}\n"
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    assert path.read_bytes().startswith(begins)
    if ending == "svg":
        text = path.read_text(encoding="utf-8")
        assert all(f"<!-- {name} -->" in text for name in ("linked-ege", "linked-elimination"))
        assert "<!-- 3 arms, linkage ordered, 50 trials -->" in text


@pytest.mark.parametrize(
    ("name", "said"), [("x.xyz", "name a file in .png, .svg, .pdf"), ("none/x.png", "there is no folder")]
)
def test_what_cannot_be_drawn_is_refused_before_the_work(tmp_path, name, said):
    assert said in refusal("compare", "--means", "0.5,0.501", "--trials", "1000000", "--plot", str(tmp_path / name))


def test_a_picture_without_matplotlib_says_what_to_install_before_the_work():
    blocked = "import sys; sys.modules['matplotlib'] = None; from linkedbandits.__main__ import main; main()"
    asked = [sys.executable, "-c", blocked, "compare", *EASY, "--plot", "x.png"]
    result = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert "pip install 'linkedbandits[plot]'" in result.stderr


def test_json_has_twelve_digits_and_no_tails_of_rounding():
    printed = run("compare", *EASY, "--policy", "linked-elimination", "--json").stdout
    assert re.search(r"\.0*[1-9]\d{12}", printed) is None
    assert re.search(r"\.\d{9}", printed)


def test_a_policy_with_a_delta_of_its_own_is_measured_by_that():
    """Half of them wrong, which one of them was allowed."""
    asked = ["--policy", "linked-elimination:delta=0.9", "--policy", "uniform-sampling:samples=1"]
    said = run("compare", "--means", "0.5,0.52", "--trials", "200", "--delta", "0.01", *asked).stdout
    assert "uniform-sampling:samples=1 is wrong in" in said
    assert "linked-elimination:delta=0.9 is wrong in" not in said
