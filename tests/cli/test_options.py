"""Options that commands share: instances, policies, times, and bad input."""

from __future__ import annotations

import pytest
import typer

import linkedbandits as lb
from linkedbandits.cli.options import MOST_PLAYS_ON_A_TABLE, in_unit, read_policy, time_in
from tests.support.command_line import refusal, run, run_json


def instance(*arguments: str) -> dict:
    return run_json("simulate", "--policy", "uniform-sampling:samples=1", "--trials", "1", *arguments)["instance"]


def test_one_sparse_with_ten_arms_is_what_you_get_by_default():
    assert instance()["means"] == lb.scenarios.one_sparse(10).tolist()


def test_a_scenario_has_the_size_and_best_arm_it_is_told():
    made = instance("--scenario", "one-sparse", "--arms", "4", "--best", "2")
    assert made == {"name": "one-sparse, 4 arms", "means": [0.05, 0.05, 0.1, 0.05], "gap": 0.05}


@pytest.mark.parametrize("scenario", ["decreasing", "increasing"])
def test_every_scenario_has_a_name(scenario):
    made = instance("--scenario", scenario, "--arms", "6")
    assert made["means"] == pytest.approx(lb.scenarios.find_scenario(scenario)(6).tolist(), rel=1e-11)
    assert made["name"] == f"{scenario}, 6 arms"


@pytest.mark.parametrize(
    ("means", "text", "gap"),
    [
        ("0.25,0.5", "true", 0.25),
        ("0.25,0.5", "none", None),
        ("0.25, 0.5", "0.05", 0.05),
        ("0.5,0.5,0.1", "true", None),
    ],
)
def test_policies_are_told_the_true_gap_another_or_none(means, text, gap):
    given = ("--means", means, "--trials", "2", "--max-plays", "9", "--policy", "linked-ege", "--gap", text)
    assert run_json("simulate", *given)["parameters"]["gap"] == gap


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("lil-ucb", lb.LilUCB(delta=0.2)),
        ("lil-ucb:delta=0.01", lb.LilUCB(delta=0.01)),
        ("linked-ege", lb.LinkedEGE(delta=0.2, gap=0.05)),
        ("linked-ege: median = fresh , gap=none", lb.LinkedEGE(delta=0.2, median="fresh")),
        ("median-elimination", lb.MedianElimination(epsilon=0.05, delta=0.2)),
        ("median-elimination:epsilon=1", lb.MedianElimination(epsilon=1, delta=0.2)),
        ("maximal-sampling:plays=30", lb.MaximalSampling(plays=30)),
        ("uniform-sampling:calibration=plain", lb.UniformSampling(delta=0.2, calibration="plain")),
        ("linked-duels", lb.LinkedDuels(delta=0.2)),
        ("linked-duels:gap=0.1", lb.LinkedDuels(delta=0.2, gap=0.1)),
    ],
)
def test_a_policy_takes_delta_and_gap_unless_they_are_written_out(text, policy):
    assert read_policy(text, delta=0.2, gap=0.05) == policy


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--means 0.1,nan", "mean nan of arm 1 is outside [0, 1]; means are success probabilities"),
        ("--delta 1", "--delta 1.0 is not between 0 and 1; try 0.05"),
        ("--policy magic", "unknown policy 'magic'; choose one of linked-elimination, linked-track"),
        ("--linkage sideways", "unknown linkage 'sideways'; choose one of ordered, free, single"),
        ("--trials 0", "--trials 0 is not a whole number of at least 1"),
        ("--means 0.1", "1 mean(s) given; a choice needs at least two arms"),
        ("--means 0.1;0.2", "--means '0.1;0.2' is no list of numbers; write --means 0.1,0.05"),
        ("--means 0.1,0.2 --scenario increasing", "both --scenario increasing and --means 0.1,0.2 were given; leave"),
        ("--scenario flat", "unknown scenario 'flat'; choose one of one-sparse, decreasing, increasing"),
        ("--arms 1", "--arms 1 is not a whole number of at least 2"),
        ("--arms 4 --best 4", "--best 4 is no arm of 4; choose 0 to 3"),
        ("--scenario increasing --best 2", "--best 2 goes with --scenario one-sparse alone; leave it out for incr"),
        ("--policy linked-ege --gap 0", "--gap 0.0 is not in (0, 1]; give a number that is"),
        ("--policy linked-ege --gap wide", "--gap 'wide' is no number; write --gap 0.05, --gap true or --gap none"),
        ("--policy linked-ege:median", "'median' in --policy 'linked-ege:median' is no key=value; write --policy"),
        ("--policy linked-ege:median=half", "median='half' is unknown; choose 'reuse' or 'fresh'"),
        (
            "--policy linked-duels:k=2",
            "linked-duels has no parameter 'k'; it has delta, gap, parallel; for the k best of",
        ),
        ("--policy lil-ucb:gap=0.1", "lil-ucb has no parameter 'gap'; it has delta"),
        (
            "--policy uniform-sampling:samples=0",
            "--policy uniform-sampling:samples=0: samples=0 is not a",
        ),
        ("--policy uniform-sampling:samples=5,delta=0.1", "UniformSampling takes either delta or samples; got delta"),
        (
            "--policy median-elimination --gap none",
            "median-elimination needs its parameter 'epsilon'; write",
        ),
        ("--max-plays 0", "--max-plays 0 is not a whole number of at least 1"),
        ("--seed -1", "--seed -1 is not a whole number of at least 0"),
        ("--trials 99999999999999", "trials=99999999999999 need 1.6e+07 GB"),
    ],
)
def test_bad_input_is_refused_in_one_line_that_names_value_and_remedy(arguments, said):
    assert refusal("simulate", *arguments.split()).startswith(said)


@pytest.mark.parametrize("arguments", ["--trials many", "--colour red", "surplus"])
def test_options_that_cannot_be_read_are_refused_without_a_traceback(arguments):
    result = run("simulate", *arguments.split())
    assert (result.returncode, result.stdout) == (2, "")
    assert arguments.split()[0] in result.stderr
    assert "Traceback" not in result.stderr


@pytest.fixture
def table(tmp_path):
    """B succeeds most often, but mostly where A does: B after A looks poor."""
    path = tmp_path / "three.csv"
    path.write_text("request,A,B,C,seconds:A,count\n1,1,1,0,0.3,48\n2,1,0,0,1,2\n3,0,1,1,1,12\n4,0,0,0,2,38\n")
    return str(path)


def test_a_table_is_an_instance_with_names_and_settings_of_its_own(table):
    data = run_json("simulate", "--table", table, "--trials", "2", "--max-plays", "9")
    assert data["instance"] == {
        "name": "three, 3 options",
        "means": [0.5, 0.6, 0.12],
        "gap": pytest.approx(0.1),
        "options": ["A", "B", "C"],
    }
    assert (data["linkage"], data["name"], data["parameters"]["gap"]) == ("free", "linked-duels", None)
    assert run_json("simulate", "--table", table, "--trials", "2")["max_plays"] == MOST_PLAYS_ON_A_TABLE


def test_what_is_given_is_not_changed_by_a_table(table):
    arguments = ("--linkage", "ordered", "--gap", "true", "--policy", "linked-ege", "--max-plays", "2000000")
    data = run_json("simulate", "--table", table, "--trials", "2", *arguments)
    assert (data["linkage"], data["name"], data["max_plays"]) == ("ordered", "linked-ege", 2_000_000)
    assert data["parameters"]["gap"] == pytest.approx(0.1)
    assert (
        run_json("simulate", "--table", table, "--trials", "2", "--linkage", "single")["name"] == "linked-elimination"
    )


def test_columns_are_chosen_in_the_order_of_the_chain(table):
    data = run_json("simulate", "--table", table, "--options", "C, A", "--trials", "2", "--max-plays", "9")
    assert (data["instance"]["options"], data["instance"]["means"]) == (["C", "A"], [0.12, 0.5])


def test_arms_that_share_a_difficulty_keep_their_means():
    made = instance("--means", "0.25,0.5", "--correlation", "0.5")
    assert made == {"name": "2 arms, correlation 0.5", "means": [0.25, 0.5], "gap": 0.25, "correlation": 0.5}
    assert instance("--arms", "3", "--correlation", "0")["name"] == "one-sparse, 3 arms, correlation 0"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--table TABLE --means 0.1,0.2", "both --means 0.1,0.2 and --table TABLE were given; leave one out"),
        ("--table TABLE --best 0", "both --best 0 and --table TABLE were given; leave one out"),
        ("--table TABLE --correlation 0.5", "both --correlation 0.5 and --table TABLE were given; leave one out"),
        ("--table TABLE --options A,D", "TABLE has 0 columns 'D', not one; it has request, A, B, C, seconds:A, count"),
        ("--table TABLE --options A", "rows of shape (4, 1) are no table"),
        ("--table TABLE.none", "cannot read the table TABLE.none: "),
        ("--options A,B", "--options A,B are columns of a table; give it with --table, or leave them out"),
        ("--correlation 1", "--correlation 1.0 is not at least 0 and below 1; give a number that is"),
        ("--table TABLE --linkage ordered --policy linked-duels", "LinkedDuels asks for tuples, which linkage"),
    ],
)
def test_what_does_not_go_with_a_table_is_refused_in_one_line(table, arguments, said):
    given = [part.replace("TABLE", table) for part in arguments.split()]
    assert refusal("compare", *given).startswith(said.replace("TABLE", table))


def test_values_between_slashes_are_a_list():
    assert read_policy("linked-elimination:costs=1/2.5/4,delta=0.2", delta=0.1, gap=None) == lb.LinkedElimination(
        0.2, costs=[1, 2.5, 4]
    )
    with pytest.raises(lb.InvalidParameter, match="cost 'x' of arm 1 is no number"):
        read_policy("linked-elimination:costs=1/x", delta=0.1, gap=None)


@pytest.mark.parametrize(
    ("text", "unit", "found"),
    [
        ("50", "ns", 50.0),
        ("0.05 \u00b5s", "ns", 50.0),
        ("0.05\u03bcs", "ns", 50.0),
        ("1e-3 MS", "ns", 1000.0),
        ("3ps", "ps", 3.0),
        ("2min", "s", 120.0),
        (" 1h", "s", 3600.0),
        (2.0, "s", 2.0),
    ],
)
def test_a_time_is_read_in_the_unit_of_its_option(text, unit, found):
    assert time_in(unit)(text) == found


@pytest.mark.parametrize("text", ["soon", "50 parsecs", "ns", "", "1.2.3s"])
def test_a_text_that_is_no_time_is_refused_with_its_value_and_the_unit(text):
    with pytest.raises(typer.BadParameter, match=f"{text!r} is no time; write nanoseconds, as 50, .*as 50ns"):
        time_in("ns")(text)
    assert in_unit(text, "ns") is None


def test_a_time_that_is_too_short_is_refused():
    assert time_in("s", 0.1)("100ms") == 0.1
    for text, said in (("99ms", r"99ms is less than 0\.1 seconds"), ("nan", "nan is less")):
        with pytest.raises(typer.BadParameter, match=said):
            time_in("s", 0.1)(text)


@pytest.mark.parametrize(
    "arguments",
    [
        ("lidar", "--dead-time"),
        ("lidar", "--jitter"),
        ("lidar", "--rise"),
        ("lidar", "--afterpulse-time"),
        ("lidar", "--microseconds"),
        ("verdict", "log.csv", "--deadline"),
        ("verdict", "log.csv", "--every"),
        ("demo-traffic", "--seconds"),
        ("webhook", "test", "1", "--seconds"),
    ],
    ids=" ".join,
)
def test_every_option_that_is_a_time_reads_it_so(arguments):
    result = run(*arguments, "50parsecs")
    assert result.returncode == 2
    assert "'50parsecs' is no time" in " ".join(result.stderr.replace("\u2502", "").split())
