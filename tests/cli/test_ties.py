"""Options that no policy can tell apart: said in words, with something that can be asked."""

from __future__ import annotations

import re

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.cli.options import NamedMeans, read_policy
from linkedbandits.cli.ties import HOPELESS, undecidable, undecided
from linkedbandits.linkage import find_linkage
from tests.support.command_line import run, run_json

ORDERED = find_linkage("ordered")
TIED = ("--means", "0.3,0.3,0.1", "--trials", "10")
CLOSE = ("--means", "0.3,0.29999999,0.1", "--trials", "10")


def of(*means, k=1, costs=()):
    return undecided(NamedMeans("some arms", np.array(means)), ORDERED, 0.1, k, costs)


@pytest.mark.parametrize(
    ("means", "k", "said"),
    [
        ((0.3, 0.3, 0.1), 1, "arm 0 and arm 1 are equally good (each works 30 % of the time): no number of plays "
         "tells"),
        ((0.1, 0.3, 0.3, 0.3), 1, "arm 1, arm 2 and arm 3 are equally good"),
        ((0.2,) * 9, 1, "arm 0, arm 1, arm 2, arm 3 and 5 more are equally good"),
        ((0.5, 0.3, 0.3, 0.1), 2, "arm 1 and arm 2 are equally good (each works 30 % of the time): no number of plays "
         "tells which is one of the 2 best"),
        ((0.3, 0.3 - 1e-8, 0.1), 1, "arm 0 and arm 1 differ by 1e-08 alone: no policy that is told nothing tells in "
         "fewer than 1.79e+16 plays which is best"),
    ],
)  # fmt: skip
def test_it_is_said_which_options_are_alike(means, k, said):
    assert of(*means, k=k).startswith(said)


@pytest.mark.parametrize(
    ("means", "k"), [((0.3, 0.2, 0.1), 1), ((0.3, 0.3, 0.1), 2), ((0.3, 0.299, 0.1), 1), ((0.3, 0.3), 2)]
)
def test_what_can_be_decided_is_left_alone(means, k):
    assert of(*means, k=k) is None


def test_the_limit_is_that_of_the_bound():
    means = np.array([0.3, 0.3 - 1e-4, 0.1])
    assert lb.bounds.lower(means, 0.1) < HOPELESS < lb.bounds.lower([0.3, 0.3 - 1e-5, 0.1], 0.1)
    assert of(*means) is None
    assert of(0.3, 0.3 - 1e-5, 0.1) is not None


@pytest.mark.parametrize(
    "means", [(0.3, 0.3, 0.1), (0.5, 0.5), (0.3, 0.3 - 1e-8, 0.1), (0.0, 0.0), (0.9, 0.9, 0.2, 0.1)]
)
def test_what_it_says_to_ask_instead_has_an_answer(means):
    """Every policy that it names comes to answers, which are right by its own claim."""
    named = re.findall(r"--policy (\S+?)[;.]?(?:\s|$)", of(*means))
    assert named
    for text in named:
        made = read_policy(text, 0.1, None)
        assert undecidable(NamedMeans("some", np.array(means)), made, ORDERED) is None
        runs = lb.simulate(list(means), made, trials=20, max_plays=10_000_000)
        assert runs.confident.all(), text
        assert runs.error_rate() == 0


def test_with_costs_it_is_successes_per_cost_that_tie():
    assert of(0.2, 0.1, costs=(2.0, 1.0)).startswith("arm 0 and arm 1 are equally good (per cost)")
    assert of(0.2, 0.1, costs=(1.0, 1.0)) is None


def test_compare_says_so_in_place_of_who_is_soonest():
    for given in (TIED, CLOSE):
        said = " ".join(run("compare", *given).stdout.split())
        assert "soonest" not in said
        assert re.search("Arm 0 and arm 1 (are equally good|differ by)", said)
        assert "--policy linked-elimination:epsilon=0.1; or for the 2 best: --policy linked-elimination:k=2." in said
    said = " ".join(run("compare", *TIED).stdout.split())
    assert (
        "maximal-sampling, uniform-sampling, linked-ege, linked-elimination ran out of plays in 100 % of their trials."
    ) in said


def test_compare_goes_on_about_those_that_can_answer():
    chosen = ("linked-elimination:epsilon=0.1", "linked-elimination:k=2", "linked-elimination")
    given = (*TIED, *(part for text in chosen for part in ("--policy", text)))
    said = " ".join(run("compare", *given).stdout.split())
    assert said.count("are equally good") == 1
    assert "linked-elimination:k=2 finds the 2 best options soonest: after" in said
    assert "where linked-elimination:epsilon=0.1 takes" not in said  # it looks for something else
    near, two, best = run_json("compare", *given)["policies"]
    assert (near["undecidable"], two["undecidable"]) == (None, None)
    assert best["undecidable"].startswith("arm 0 and arm 1 are equally good")
    alone = " ".join(run("compare", *TIED, "--policy", chosen[0]).stdout.split())
    assert "finds an option within 0.1 of the best (arm 0, which works 30 % of the time) soonest" in alone


def test_simulate_says_so_first():
    shown = run("simulate", *TIED).stdout
    assert shown.startswith("On 3 arms arm 0 and arm 1 are equally good (each works 30 % of the time): no number of")
    assert run_json("simulate", *TIED)["undecidable"].startswith("arm 0 and arm 1 are equally good")
    assert run_json("simulate", *TIED, "--policy", "linked-halving:plays=9")["undecidable"] is None


def test_bounds_names_its_own_options():
    said = " ".join(run("bounds", *CLOSE[:2]).stdout.split())
    assert "compare --policy linked-elimination:epsilon=0.1; or for the 2 best: --k 2." in said
    assert "1.79e+16" in said
    assert "inf" not in run("bounds", *TIED[:2]).stdout
    assert run_json("bounds", *TIED[:2])["undecidable"].startswith("arm 0 and arm 1 are equally good")


def test_options_of_a_table_have_their_names(tmp_path):
    (tmp_path / "tied.csv").write_text("north,east,south\n1,1,0\n0,0,1\n1,1,0\n", encoding="utf-8")
    said = " ".join(
        run("compare", "--table", str(tmp_path / "tied.csv"), "--trials", "5", "--max-plays", "50").stdout.split()
    )
    assert "North and east are equally good (each works 66.7 % of the time)" in said
