"""A run in numbers: what an experiment says in labels, without them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.linkage import find_linkage
from linkedbandits.live import AnswerLog, Run
from linkedbandits.live.answers import NO_HIT


def new_run(policy, arms: int = 3, linkage: str = "ordered") -> Run:
    return Run(policy, find_linkage(linkage), arms)


def test_a_whole_run():
    run = new_run(lb.UniformSampling(samples=2))
    play, arms = run.hand_out()
    assert (play, arms.tolist()) == (0, [0, 1, 2])
    assert run.bring(0, 1) == "counted"
    assert run.bring(run.hand_out()[0], NO_HIT) == "counted"
    assert run.hand_out()[1].tolist() == [2]  # the others have their two samples
    assert run.decide() == ((1,), "running", 2, None)
    assert run.decision is None
    run.bring(2, NO_HIT)
    assert run.decision == run.decide() == ((1,), "exhausted", 3, None)
    samples, successes = run.totals()
    assert (samples.tolist(), successes.tolist()) == ([2, 2, 2], [0, 1, 0])


def test_the_same_arms_in_a_row_are_the_same_array():
    run = new_run(lb.UniformSampling(samples=2))
    assert run.hand_out()[1] is run.hand_out()[1]


def test_refusals_call_arms_by_their_names():
    run = Run(lb.UniformSampling(samples=1), find_linkage("single"), 2, names=["a", "b"])
    run.hand_out()
    with pytest.raises(lb.InvalidParameter, match="play 0 did not try 'b'; its arms were 'a'\\. Tell hit=None if"):
        run.bring(0, 1)
    run.bring(0, 0)
    with pytest.raises(lb.ConflictingTell, match="play 0 was told hit='a' before and now hit=None") as caught:
        run.bring(0, NO_HIT)
    assert caught.value.on_record == "a"


@pytest.mark.parametrize("policy", [lb.LinkedElimination(0.01), lb.SuffixUCB(0.1)], ids=lambda policy: policy.name)
def test_content_and_answers_are_the_run(policy):
    """Taken in the middle, with plays out and given up, through JSON; both go on alike."""
    run, coins = new_run(policy), np.random.default_rng(3)
    for _ in range(40):
        play, arms = run.hand_out()
        if play % 7 == 3:
            run.give_up(play)
        elif play % 5:
            run.bring(play, int(arms[-1]) if coins.random() < 0.4 else NO_HIT)
    read = new_run(policy)
    read.fill_from(json.loads(json.dumps(run.content())), AnswerLog.from_json(run.answers.to_json()))
    assert read.content() == run.content()
    for _ in range(20):
        (play, arms), (other, others) = run.hand_out(), read.hand_out()
        assert (play, arms.tolist()) == (other, others.tolist())
        assert run.bring(play, NO_HIT) == read.bring(play, NO_HIT)
    assert read.content() == run.content()
