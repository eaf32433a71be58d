"""``linkedbandits simulate``, end to end."""

from __future__ import annotations

import contextlib
import csv
import os
import pty
import re
import subprocess

import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from tests.support.command_line import COMMAND, environment, refusal, run, run_json
from tools.waiting import SECONDS, killed_in_the_end

EASY = ("--means", "0.2,0.6,0.3", "--trials", "50")


def test_the_report_is_a_sentence_and_a_table_of_arms():
    result = run("simulate", *EASY, "--policy", "uniform-sampling:samples=40")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("uniform-sampling:samples=40 on 3 arms: ")
    assert "of 50 trials (95 % interval" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert [row[:3] for row in rows if row[0] in {"0", "1", "2"}] == [
        ["0", "0.2", "40"],
        ["1", "0.6", "40"],
        ["2", "0.3", "40"],
    ]


def test_of_many_arms_the_best_are_shown():
    result = run("simulate", "--scenario", "increasing", "--arms", "30", "--trials", "2", "--policy", "linked-ege")
    assert "The 20 best of 30 arms are shown; --json has them all." in result.stdout
    shown = [line.split()[0] for line in result.stdout.splitlines() if line[:6].strip().isdigit()]
    assert shown == [str(arm) for arm in range(10, 30)]


def test_json_has_the_figures_of_the_runs():
    data = run_json("simulate", *EASY, "--seed", "4", "--linkage", "free", "--delta", "0.2")
    runs = lb.simulate([0.2, 0.6, 0.3], lb.LinkedElimination(delta=0.2), linkage="free", trials=50, seed=4)
    assert data["plays_mean"] == pytest.approx(runs.plays.mean(), rel=1e-11)
    assert data["samples_by_arm"] == pytest.approx(runs.samples.mean(axis=0).tolist(), rel=1e-11)
    assert data["answers_by_arm"] == [int((runs.arm == arm).sum()) for arm in range(3)]
    assert (data["linkage"], data["seed"], data["trials"], data["error_bound"]) == ("free", 4, 50, 0.2)
    assert data["parameters"] == {"delta": 0.2, "k": 1, "epsilon": 0.0, "parallel": 1}


def test_csv_has_a_row_a_trial(tmp_path):
    path = tmp_path / "runs.csv"
    run_json("simulate", *EASY, "--seed", "4", "--csv", str(path), "--max-plays", "60")
    runs = lb.simulate([0.2, 0.6, 0.3], lb.LinkedElimination(delta=0.1), trials=50, seed=4, max_plays=60)
    with path.open(newline="", encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    assert heading == ["trial", "arm", "status", "plays", "samples_0", "samples_1", "samples_2"]
    assert [int(row[0]) for row in rows] == list(range(50))
    assert [row[2] for row in rows] == runs.status.tolist()
    assert [[int(row[1]), *map(int, row[3:])] for row in rows] == [
        [arm, plays, *samples]
        for arm, plays, samples in zip(runs.arm.tolist(), runs.plays.tolist(), runs.samples.tolist(), strict=True)
    ]


def test_trials_that_ran_out_of_plays_are_reported():
    result = run("simulate", "--means", "0.3,0.3", "--trials", "20", "--max-plays", "500", "--delta", "1e-6")
    assert "trials came to a verdict before its plays ran out, after " in result.stdout
    assert "on average" not in result.stdout


def read_terminal(end: int) -> str:
    """All that was written to the other end of a terminal until its last user left."""
    shown = b""
    with contextlib.suppress(OSError):  # Linux reports the end as an input/output error
        while part := os.read(end, 4096):
            shown += part
    os.close(end)
    return shown.decode()


def test_a_progress_bar_shows_on_a_terminal_and_leaves_standard_output_alone():
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "simulate", *EASY, "--json"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        env=environment(TERM="xterm"),
    )
    os.close(theirs)
    with process, killed_in_the_end(process):
        shown = read_terminal(ours)
        output, _ = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert "50/50" in shown
    assert "trials" in shown
    assert output.startswith("{")
    assert output.count("\n") == 1


def test_a_file_that_cannot_be_written_is_named():
    said = refusal("simulate", *EASY, "--csv", "/no/such/folder/runs.csv")
    assert "/no/such/folder/runs.csv" in said


@pytest.mark.slow
def test_the_demo_instance_runs_with_every_policy():
    for policy in ("maximal-sampling", "linked-ege:median=fresh", "median-elimination", "lil-ucb", "suffix-ucb"):
        data = run_json("simulate", "--arms", "5", "--best", "3", "--trials", "20", "--policy", policy)
        assert data["confident"] == 1
        assert data["answers_by_arm"][3] >= 18


def test_under_the_table_stands_what_the_policy_assumes():
    result = run("simulate", *EASY, COLUMNS="80")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    said = "linked-elimination assumes independent options, and the simulated options are independent. "
    assert " ".join(result.stdout.split()).endswith(said + INDEPENDENT_OPTIONS.remedy)
    assert "independent" not in run("simulate", *EASY, "--linkage", "single").stdout


def test_json_has_what_the_policy_assumes():
    assert run_json("simulate", *EASY)["assumes"] == ["independent options"]
    assert run_json("simulate", *EASY, "--linkage", "single")["assumes"] == []


@pytest.fixture
def table(tmp_path):
    """52 requests of 100 that only the first option serves, 48 that only the other one does; markup is no markup."""
    path = tmp_path / "two.csv"
    path.write_text("count,[red]one,another:star:name-of-28-char\n52,1,0\n48,0,1\n")
    return path


@pytest.mark.statistical
def test_a_table_is_simulated_as_it_is(table):
    """Fixed seed; elimination in the table's order is wrong in more than half of 60 trials, were it in 90 % of them,
    except with probability 1e-12."""
    given = ("--table", str(table), "--trials", "60", "--seed", "4")
    data = run_json("simulate", *given)
    law = lb.OutcomeTable.read(table)
    runs = lb.simulate(
        law.means, lb.LinkedDuels(0.1), linkage="free", world=law, trials=60, seed=4, max_plays=1_000_000
    )
    assert data["plays_mean"] == pytest.approx(runs.plays.mean(), rel=1e-11)
    assert data["samples_by_arm"] == pytest.approx(runs.samples.mean(axis=0).tolist(), rel=1e-11)
    assert data["assumes"] == []
    assert data["error_rate"] <= 0.1
    assert run_json("simulate", *given, "--linkage", "ordered")["error_rate"] > 0.5


@pytest.mark.statistical
def test_correlated_arms_are_simulated_as_such():
    """Fixed seed: the same runs as in Python, and not those of coins."""
    given = ("--means", "0.3,0.5", "--trials", "40", "--seed", "4", "--gap", "none")
    data = run_json("simulate", *given, "--correlation", "0.9")
    law = lb.SharedDifficulty([0.3, 0.5], 0.9)
    runs = lb.simulate([0.3, 0.5], lb.LinkedElimination(0.1), world=law, trials=40, seed=4)
    assert data["plays_mean"] == runs.plays.mean() != run_json("simulate", *given)["plays_mean"]


def test_options_have_their_names_on_a_terminal_of_80_columns(table):
    result = run("simulate", "--table", str(table), "--trials", "20", COLUMNS="80")
    assert (result.returncode, result.stderr) == (0, "")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert result.stdout.startswith("linked-duels on two, 2 options: ")
    rows = [line.split() for line in result.stdout.splitlines() if line.strip()]
    assert [row[:2] for row in rows if row[1:2] in (["0.52"], ["0.48"])] == [
        ["[red]one", "0.52"],
        ["another:star:name-of-28-char", "0.48"],
    ]
    assert "arm" not in result.stdout.split()
    ordered = " ".join(run("simulate", "--table", str(table), "--trials", "2", "--linkage", "ordered").stdout.split())
    said = "linked-elimination assumes independent options; those of this table fail together as they did. "
    assert ordered.endswith(said + INDEPENDENT_OPTIONS.remedy)


def test_csv_names_the_options_of_a_table(table, tmp_path):
    path = tmp_path / "runs.csv"
    given = ("--table", str(table), "--trials", "5", "--max-plays", "40", "--csv", str(path))
    data = run_json("simulate", *given)
    with path.open(newline="", encoding="utf-8") as file:
        heading, *rows = csv.reader(file)
    one, other = data["instance"]["options"]
    assert heading == ["trial", "option", "status", "plays", f"samples_{one}", f"samples_{other}"]
    assert [sum(row[1] == name for row in rows) for name in (one, other)] == data["answers_by_arm"]


def test_with_costs_the_table_has_them_and_says_what_is_best():
    result = run("simulate", *EASY, "--policy", "linked-elimination:costs=1/8/1")
    assert (result.returncode, result.stderr) == (0, "")
    assert "The best arm is the one with most successes per cost." in result.stdout
    rows = [line.split() for line in result.stdout.splitlines() if line[:6].strip().isdigit()]
    assert [row[:4] for row in rows] == [["0", "0.2", "1", "0.2"], ["1", "0.6", "8", "0.075"], ["2", "0.3", "1", "0.3"]]
    assert rows[2][-2] == "100"  # percent of the trials name it


def test_plays_are_set_beside_the_bound_for_what_the_policy_was_told():
    given = ("simulate", "--means", "0.2,0.6,0.3", "--trials", "50", "--policy")
    told = lb.bounds.lower([0.2, 0.6, 0.3], 0.1, gap=0.25)
    data = run_json(*given, "linked-lead:gap=0.25")
    assert data["told"] == {"gap": 0.25, "odds_ratio": None}
    assert (data["lower_bound"], data["over_bound"]) == pytest.approx((told, data["plays_mean"] / told))
    said = " ".join(run(*given, "linked-lead:gap=0.25").stdout.split())
    ratio = f"{data['over_bound']:.1f}"
    assert f"That is {ratio} times the {told:.0f} plays that no policy told a gap of 0.25 can beat." in said
    said = " ".join(run(*given, "linked-lead:odds_ratio=4").stdout.split())
    assert "There is no bound to compare with: the odds of the best arm are 3.5 times those of the second" in said
    said = " ".join(run(*given, "linked-elimination").stdout.split())
    assert "plays that no policy can beat." in said


def test_json_has_twelve_digits_and_no_tails_of_rounding():
    printed = run("simulate", *EASY[:2], "--trials", "30", "--max-plays", "7", "--json").stdout
    assert re.search(r"\.0*[1-9]\d{12}", printed) is None
    assert re.search(r"\.\d{9}", printed)


def test_the_plot_is_a_picture_of_the_plays(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    path = tmp_path / "plays.svg"
    result = run("simulate", "--means", "0.2,0.6,0.3", "--trials", "50", "--plot", str(path))
    assert (result.returncode, result.stderr) == (0, f"wrote {path}\n")
    assert "<!-- 50 trials of linked-elimination on 3 arms, delta 0.1 -->" in path.read_text(encoding="utf-8")
    assert "name a file in .png, .svg, .pdf" in refusal("simulate", "--means", "0.2,0.6", "--plot", "plays.doc")
