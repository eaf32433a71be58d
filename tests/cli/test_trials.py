"""What ``simulate``, ``compare`` and ``study`` say of trials: ties, stalls, assumptions and lower bounds."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption, ToldDifference
from linkedbandits.bounds import BoundAsTold
from linkedbandits.cli import tables
from linkedbandits.cli.options import Instance, RunSettings, read_policy
from linkedbandits.cli.trials import (
    HOPELESS,
    PATIENCE,
    StallWarning,
    assumed_lines,
    bound_note,
    over_bound,
    run_trials,
    undecidable,
    undecided,
)
from linkedbandits.linkage import find_linkage
from tests.support.command_line import COMMAND, environment, run, run_json
from tools.waiting import SECONDS, killed_in_the_end

ORDERED = find_linkage("ordered")
TIED = ("--means", "0.3,0.3,0.1", "--trials", "10")
CLOSE = ("--means", "0.3,0.29999999,0.1", "--trials", "10")


def of(*means, k=1, costs=()):
    return undecided(Instance("some arms", np.array(means)), ORDERED, 0.1, k, costs)


@pytest.mark.parametrize(
    ("means", "k", "said"),
    [
        ((0.3, 0.3, 0.1), 1, "arm 0 and arm 1 are equally good (each works 30 % of the time): no number of plays "
         "tells which is best. Ask for one within 0.1 of the best: --policy linked-elimination:epsilon=0.1; or for "
         "the 2 best: --policy linked-elimination:k=2."),
        ((0.1, 0.3, 0.3, 0.3), 1, "arm 1, arm 2 and arm 3 are equally good"),
        ((0.2,) * 9, 1, "arm 0, arm 1, arm 2, arm 3 and 5 more are equally good (each works 20 % of the time): no "
         "number of plays tells which is best. Ask for one within 0.02 of the best: --policy linked-elimination:eps"),
        ((0.5, 0.3, 0.3, 0.1), 2, "arm 1 and arm 2 are equally good (each works 30 % of the time): no number of plays "
         "tells which is one of the 2 best. Ask for 2 within 0.1 of the best: --policy linked-elimination:k=2,"),
        ((0.3, 0.3 - 1e-8, 0.1), 1, "arm 0 and arm 1 differ by 1e-08 alone: no policy that is told nothing tells in "
         "fewer than 1.79e+16 plays which is best"),
    ],
)  # fmt: skip
def test_a_tie_is_named_with_something_that_can_be_asked(means, k, said):
    assert of(*means, k=k).startswith(said)


@pytest.mark.parametrize(
    ("means", "k"), [((0.3, 0.2, 0.1), 1), ((0.3, 0.3, 0.1), 2), ((0.3, 0.299, 0.1), 1), ((0.3, 0.3), 2)]
)
def test_an_instance_without_a_tie_is_left_alone(means, k):
    assert of(*means, k=k) is None


def test_the_limit_is_that_of_the_lower_bound():
    assert lb.bounds.lower([0.3, 0.3 - 1e-4, 0.1], 0.1) < HOPELESS < lb.bounds.lower([0.3, 0.3 - 1e-5, 0.1], 0.1)
    assert of(0.3, 0.3 - 1e-4, 0.1) is None
    assert of(0.3, 0.3 - 1e-5, 0.1) is not None
    law = lb.SharedDifficulty([0.3, 0.3 - 1e-8], 0.5)  # the bound is for independent options
    assert undecided(Instance("two", law.means, law, 0.5), ORDERED, 0.1) is None


def test_costs_decide_what_ties():
    said = of(0.3, 0.6, 0.1, costs=(1, 2, 1))
    assert said.startswith("arm 0 and arm 1 are equally good (per cost)")
    assert said.endswith("--policy linked-halving:plays=1000.")


@pytest.mark.parametrize("text", ["linked-elimination:epsilon=0.1", "linked-halving:plays=9", "linked-elimination:k=2"])
def test_a_policy_with_a_tolerance_or_a_budget_comes_to_an_answer(text):
    tied = Instance("3 arms", np.array([0.3, 0.3, 0.1]))
    assert undecidable(tied, read_policy(text, 0.1, None), ORDERED) is None
    assert undecidable(tied, read_policy("linked-elimination", 0.1, None), ORDERED) is not None


def test_commands_name_ties_and_no_policy_as_the_soonest(tmp_path):
    for given, alike in ((TIED, "Arm 0 and arm 1 are equally good"), (CLOSE, "Arm 0 and arm 1 differ by")):
        said = " ".join(run("compare", *given).stdout.split())
        assert "soonest" not in said
        assert alike in said
    said = " ".join(run("compare", *TIED).stdout.split())
    everyone = "maximal-sampling, uniform-sampling, linked-ege, linked-elimination"
    assert f"{everyone} ran out of plays in 100 % of their trials." in said
    assert run("simulate", *TIED).stdout.startswith("On 3 arms arm 0 and arm 1 are equally good")
    (tmp_path / "tied.csv").write_text("north,east,south\n1,1,0\n0,0,1\n1,1,0\n", encoding="utf-8")
    given = ("--table", str(tmp_path / "tied.csv"), "--trials", "5", "--max-plays", "50")
    assert "North and east are equally good (each works 66.7 %" in " ".join(run("compare", *given).stdout.split())


def test_compare_goes_on_about_policies_that_can_answer():
    chosen = ("linked-elimination:epsilon=0.1", "linked-elimination:k=2", "linked-elimination")
    given = (*TIED, *(part for text in chosen for part in ("--policy", text)))
    said = " ".join(run("compare", *given).stdout.split())
    assert said.count("are equally good") == 1
    assert "linked-elimination:k=2 finds the 2 best options soonest: after" in said
    assert "where linked-elimination:epsilon=0.1 takes" not in said  # it looks for something else
    undecidable = [each["undecidable"] for each in run_json("compare", *given)["policies"]]
    assert undecidable[:2] == [None, None]
    assert undecidable[2].startswith("arm 0 and arm 1 are equally good")
    alone = " ".join(run("compare", *TIED, "--policy", chosen[0]).stdout.split())
    assert "finds an option within 0.1 of the best (arm 0, which works 30 % of the time) soonest" in alone


def test_bounds_names_its_own_options():
    said = " ".join(run("bounds", *TIED[:2]).stdout.split())
    assert said == (
        "3 arms, delta 0.1 Arm 0 and arm 1 are equally good (each works 30 % of the time): no number of plays tells "
        "which is best. Ask for one within 0.1 of the best: compare --policy linked-elimination:epsilon=0.1; or for "
        "the 2 best: --k 2."
    )
    tied = run_json("bounds", *TIED[:2])
    assert tied["undecidable"].startswith("arm 0 and arm 1 are equally good")
    assert tied["linkages"]["ordered"]["characteristic_time"] is None
    assert "share the mean" in tied["linkages"]["ordered"]["reason"]


PLAYS = np.array([12_345, 20])


def test_a_stall_is_said_after_some_seconds_and_then_ever_more_rarely(capsys):
    line = "mine: no trial has ended after 12,345 plays; --max-plays ends them\n"
    early, once, twice = [PATIENCE - 0.1], [PATIENCE, PATIENCE + 0.1], [PATIENCE, 2 * PATIENCE, 3 * PATIENCE]
    for moments, times in ((early, 0), (once, 1), (twice, 2)):
        now = [0.0]
        stall = StallWarning("mine", lambda *_: None, clock=lambda now=now: now[0])
        for now[0] in moments:
            stall.watch(PLAYS, PLAYS, PLAYS)
        assert capsys.readouterr().err == line * times


def test_a_trial_that_has_ended_is_no_stall(capsys):
    advanced = []
    stall = StallWarning("mine", lambda *call: advanced.append(call), clock=iter([0.0, 100.0]).__next__)
    stall.progress(3)
    stall.watch(PLAYS, PLAYS, PLAYS)
    assert advanced == [("mine", 3)]
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_policy_that_never_stops_is_noticed(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from dataclasses import dataclass\nimport linkedbandits as lb\n@dataclass\nclass NeverDone(lb.PlainPolicy):\n"
        "    done = False\n    def begin(self, arms, seed): pass\n    def ask(self): return (0,)\n"
        "    def tell(self, arms, hit): pass\n    def best(self): return 0\n",
        encoding="utf-8",
    )
    words = ["simulate", "--means", "0.2,0.6", "--policy", "mine:NeverDone", "--trials", "2"]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    running = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, env=environment(), **pipes)
    with running, killed_in_the_end(running, SECONDS):
        assert running.stderr.readline().startswith("mine:NeverDone: no trial has ended after ")


TOLD = Assumption("a told gap", "the gap is as told", "The best is ahead by 0.05.", "If not, leave the gap out.")
BOTH = (INDEPENDENT_OPTIONS, TOLD)


def test_each_assumption_is_said_once_with_the_policies_that_make_it():
    independent, gap = assumed_lines([("plain", BOTH[:1]), ("told", BOTH)])
    assert independent.startswith("All these policies assume independent options, and the simulated options are ")
    assert independent.endswith(INDEPENDENT_OPTIONS.remedy)
    assert gap == "told assumes a told gap. The best is ahead by 0.05. If not, leave the gap out."
    assert assumed_lines([("plain", ())]) == []
    (only,) = assumed_lines([("plain", ()), ("told", [TOLD]), ("again", [TOLD])])
    assert only.startswith("told and again assume a told gap. ")
    (depending,) = assumed_lines([("plain", BOTH[:1])], "these do not keep to it")
    assert depending == f"plain assumes independent options; these do not keep to it. {INDEPENDENT_OPTIONS.remedy}"
    (line,) = assumed_lines([("one", [INDEPENDENT_OPTIONS]), ("mine", ()), ("other", ())])
    assert line.endswith(f"options are independent. mine, other do not. {INDEPENDENT_OPTIONS.remedy}")


@dataclass
class RoundAndRound(lb.PlainPolicy):
    at_once: int = 1
    plays: int = 12

    def begin(self, arms, seed):
        self.told = 0

    def ask(self):
        return tuple(range(self.at_once))

    def tell(self, arms, hit):
        self.told += 1

    @property
    def done(self):
        return self.told >= self.plays

    def best(self):
        return 0


@pytest.mark.parametrize(
    ("policy", "assumed"),
    [
        (RoundAndRound(1), ()),
        (RoundAndRound(2), (INDEPENDENT_OPTIONS,)),
        (lb.UniformSampling(samples=1), (INDEPENDENT_OPTIONS,)),  # the library's own are taken at their word
    ],
)
def test_a_policy_of_your_own_that_tries_one_arm_a_play_assumes_nothing(policy, assumed):
    instance = Instance("2 arms", np.array([0.3, 0.5]))
    with tables.progress_bar(5) as advance:
        trials = run_trials("mine", policy, instance, RunSettings(ORDERED, None, None), 5, 0, advance)
    assert trials.assumed == assumed
    assert trials.to_json()["assumes"] == [assumption.name for assumption in assumed]


def test_policies_without_a_bound_for_the_same_reason_are_named_together():
    none, told = BoundAsTold(None, None, "arms tie"), BoundAsTold(50.0, ToldDifference(odds_ratio=2.5))
    assert bound_note([("a", none), ("b", told), ("c", none), ("d", BoundAsTold(None, None, "it is late"))]) == (
        "Over bound is plays over what no policy that is told as much can beat (* is told an odds ratio of 2.5). "
        "There is no bound for a and c: arms tie. There is no bound for d: it is late."
    )
    assert (over_bound(told, 200.0), over_bound(none, 200.0)) == ("4.0", "-")
