"""First tries: counted play by play, in any state of an experiment, and found again where they were not counted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

import linkedbandits as lb
from linkedbandits.live import saving
from linkedbandits.policies import linked_duels

TABLE = lb.OutcomeTable([[1, 1, 0]] * 45 + [[1, 0, 0]] * 15 + [[0, 1, 1]] * 5 + [[0, 0, 0]] * 35, options="abc")
"""Who fails, mostly fails together: behind "a", "b" is good for an eighth of the requests, and alone for half."""


def play(exp, plays: int, seed: int = 1, *, loses: bool = False) -> list[tuple[tuple[str, ...], str | None]]:
    """What was told; some plays stay out for a while, and if ``loses``, some are given up and told all the same."""
    rng, out, told = np.random.default_rng(seed), [], []
    for step in range(plays):
        if exp.done:
            break
        out.append(exp.ask())
        if len(out) <= 3:
            continue
        asked = out.pop(int(rng.integers(3)))
        works = dict(zip("abc", TABLE.chances[rng.choice(len(TABLE.weights), p=TABLE.weights)], strict=True))
        hit = next((arm for arm in asked.arms if works[arm]), None)
        if loses and step % 10 == 3:
            exp.abandon(asked.id)
        exp.tell(asked.id, hit)
        told.append((asked.arms, hit))
    return told


def first_tries(told) -> list[tuple[int, int]]:
    return [
        (sum(arms[0] == arm for arms, _ in told), sum(arms[0] == arm == hit for arms, hit in told)) for arm in "abc"
    ]


def counts(exp) -> list[tuple[int, int]]:
    """Of all plays told, whatever is still out before them."""
    return [(samples, successes) for samples, successes in np.transpose(exp.samples_of_means()).tolist()]


@pytest.mark.parametrize("policy", [lb.LinkedDuels(1e-9), lb.LinkedDuels(0.2, gap=0.05)], ids=str)
@pytest.mark.parametrize("parallel", [None, 8])
def test_estimates_are_those_of_first_tries_whatever_became_of_a_play(policy, parallel):
    """Counted, spare, claimed by a later request, late, or told after the verdict."""
    exp = lb.Experiment("abc", policy, linkage="free", parallel=parallel)
    told = play(exp, 3_000, loses=True)
    assert exp.only_first_tries
    assert exp.late > 5
    assert counts(exp) == first_tries(told)
    assert counts(exp) != [tuple(pair) for pair in np.transpose(exp.totals()).tolist()]
    for each in exp.estimates():
        assert each.mean == each.successes / each.samples


@pytest.mark.statistical
def test_the_estimate_of_an_option_that_mostly_came_second_is_that_of_its_mean():
    """False alarm below one in a million for each option."""
    exp = lb.Experiment("abc", lb.LinkedDuels(1e-12), linkage="free")
    play(exp, 4_000)
    pooled = exp.totals()
    for each, mean, samples, successes in zip(exp.estimates(), TABLE.means, *pooled, strict=True):
        low, high = binom.ppf([5e-7, 1 - 5e-7], each.samples, mean)
        assert low <= each.successes <= high
        if each.arm == "b":  # what was counted before
            assert successes < binom.ppf(5e-7, samples, mean)


@pytest.mark.parametrize(
    ("policy", "linkage"), [(lb.LinkedElimination(1e-9), "free"), (lb.LinkedElimination(1e-9), "single")], ids=str
)
def test_where_every_try_is_a_sample_all_of_them_count(policy, linkage):
    exp = lb.Experiment("abc", policy, linkage=linkage)
    play(exp, 200)
    assert not exp.only_first_tries
    assert np.transpose(exp.totals()).tolist() == [list(pair) for pair in counts(exp)]


@pytest.mark.parametrize("loses", [False, True])
def test_they_are_saved(loses):
    exp = lb.Experiment("abc", lb.LinkedDuels(1e-9), linkage="free")
    play(exp, 300, loses=loses)
    read = lb.Experiment.from_json(exp.to_json())
    assert read.to_json() == exp.to_json()
    assert read.estimates() == exp.estimates()
    for each in (exp, read):
        play(each, 100, seed=2)
    assert read.estimates() == exp.estimates()


def test_they_survive_an_upgrade(monkeypatch):
    exp = lb.Experiment("abc", lb.LinkedDuels(1e-9), linkage="free")
    play(exp, 300)
    text = exp.to_json()
    monkeypatch.setattr(linked_duels, "GROWTH", 0.04)
    saving._remembered.cache_clear()
    read = lb.Experiment.from_json(text)
    assert read.upgrade is not None
    assert counts(read) == counts(exp)
