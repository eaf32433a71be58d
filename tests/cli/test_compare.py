"""``linkedbandits compare``, end to end."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from tests.support.command_line import refusal, run, run_json

EASY = ("--means", "0.2,0.6,0.3", "--trials", "50")
BY_DEFAULT = ("maximal-sampling", "uniform-sampling", "linked-ege", "linked-elimination")


def test_the_table_shows_every_policy_and_says_what_it_means():
    result = run("compare", "--means", "0.2,0.6,0.3", "--trials", "50", "--delta", "0.2")
    assert (result.returncode, result.stderr) == (0, "")
    first, *rows = [line for line in result.stdout.splitlines() if line.strip()]
    assert first == "3 arms, linkage ordered, 50 trials, delta 0.2"
    assert rows[0].split() == ["policy", "plays", "median", "90", "%", "ratio", "wrong", "(95", "%", "interval)"]
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
    assert uniform["error_interval"] == list(runs.summary().error_interval)
    assert uniform["error_bound"] == 0.1
    assert uniform["name"] == uniform["policy"] == "uniform-sampling"
    assert ege["error_bound"] is None
    assert ege["parameters"]["gap"] == pytest.approx(0.3)
    least = min(uniform["plays_mean"], ege["plays_mean"])
    assert [policy["ratio_to_least_plays"] * least for policy in data["policies"]] == pytest.approx(
        [uniform["plays_mean"], ege["plays_mean"]]
    )


def test_policies_are_compared_as_they_were_written():
    texts = ["linked-ege:median=fresh,gap=0.5", "linked-ege:gap=none", "median-elimination:epsilon=0.3,delta=0.2"]
    data = run_json("compare", *EASY, *(part for text in texts for part in ("--policy", text)))
    assert [policy["policy"] for policy in data["policies"]] == texts
    assert [policy["parameters"] for policy in data["policies"]] == [
        {"delta": 0.1, "gap": 0.5, "median": "fresh"},
        {"delta": 0.1, "gap": None, "median": "reuse"},
        {"epsilon": 0.3, "delta": 0.2},
    ]


def test_the_same_seed_gives_the_same_output():
    first, again = (run("compare", *EASY, "--seed", "4").stdout for _ in range(2))
    assert first == again


def test_without_a_policy_only_those_that_the_linkage_allows_are_compared():
    data = run_json("compare", *EASY, "--linkage", "single")
    assert [policy["name"] for policy in data["policies"]] == [*BY_DEFAULT[1:]]
    assert all(policy["plays_mean"] == pytest.approx(policy["samples_mean"]) for policy in data["policies"])


def test_runs_that_cannot_end_use_up_their_budget_and_say_so():
    result = run("compare", "--means", "0.3,0.3", "--trials", "20", "--max-plays", "500")
    assert "No policy came to answers of its own" in result.stdout
    data = run_json("compare", "--means", "0.3,0.3", "--trials", "20", "--max-plays", "500")
    assert all(policy["confident"] == 0 and policy["plays_90"] == 500 for policy in data["policies"])


def test_a_policy_that_the_linkage_does_not_allow_is_refused_with_the_remedy():
    said = refusal("compare", *EASY, "--linkage", "single", "--policy", "suffix-ucb")
    assert said.startswith("SuffixUCB asks for suffixes, which linkage 'single' does not allow; use linkage")


def test_under_the_table_stands_what_the_policies_assume_and_what_to_use_instead():
    result = run("compare", *EASY, COLUMNS="80")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    said = " ".join(result.stdout.split())
    assert said.endswith(
        "All these policies assume independent options, and the simulated options are independent. "
        + INDEPENDENT_OPTIONS.remedy
    )
    assert "independent" not in run("compare", *EASY, "--linkage", "single").stdout


def test_json_has_what_each_policy_assumes():
    chosen = ("--policy", "linked-elimination", "--policy", "cascade-bai:k=1", "--policy", "cascade-bai:k=2")
    data = run_json("compare", *EASY, "--linkage", "free", "--max-plays", "50", *chosen)
    assert [each["assumes"] for each in data["policies"]] == [["independent options"], [], ["independent options"]]
    said = " ".join(run("compare", *EASY, "--linkage", "free", "--max-plays", "50", *chosen).stdout.split())
    assert "linked-elimination and cascade-bai:k=2 assume independent options, and the simulated" in said


@pytest.mark.parametrize("command", ["compare", "simulate", "study", "serve", "demo-traffic"])
def test_the_help_says_that_options_are_taken_to_be_independent(command):
    shown = run(command, "--help", COLUMNS="80").stdout
    assert max(len(line) for line in shown.splitlines()) <= 80
    assert " ".join(shown.split()).endswith(f"{INDEPENDENT_OPTIONS.sentence} {INDEPENDENT_OPTIONS.remedy}")
