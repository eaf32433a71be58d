"""One call that asks and tells until there is a verdict."""

from __future__ import annotations

import random

import pytest

import linkedbandits as lb

WORKS = {"north": 0.1, "east": 0.8, "south": 0.2}


def player(seed=1, works=WORKS):
    """Tries arms until one works, and keeps what it was given."""
    draw, given = random.Random(seed), []

    def play(arms):
        given.append(arms)
        return next((arm for arm in arms if draw.random() < works[arm]), None)

    return play, given


def test_it_plays_until_there_is_a_verdict():
    play, given = player()
    verdict = lb.identify(play, WORKS)
    assert (verdict.arm, verdict.status, verdict.error_bound, verdict.assumes) == ("east", "confident", 0.05, ())
    assert verdict.plays == len(given)
    assert all(isinstance(arms, tuple) and len(arms) == 2 for arms in given)


@pytest.mark.parametrize("seed", [0, 5])
def test_it_comes_to_what_asking_and_telling_by_hand_comes_to(seed):
    by_hand, asked_by_hand = player()
    exp = lb.Experiment(WORKS, lb.LinkedDuels(0.2), linkage="free", seed=seed)
    while not exp.done:
        asked = exp.ask()
        exp.tell(asked.id, by_hand(asked.arms))
    play, given = player()
    assert lb.identify(play, WORKS, 0.2, seed=seed) == exp.recommend()
    assert given == asked_by_hand


def test_one_arm_a_play_if_the_linkage_says_so():
    play, given = player()
    assert lb.identify(play, WORKS, linkage="single").arm == "east"
    assert {len(arms) for arms in given} == {1}


def test_a_policy_of_ones_own_plays_in_order():
    play, given = player()
    verdict = lb.identify(play, WORKS, policy=lb.LinkedElimination(0.1))
    assert (verdict.error_bound, verdict.assumes) == (0.1, ("independent options",))
    assert given[0] == ("north", "east", "south")


def test_after_so_many_plays_it_says_what_leads():
    play, given = player()
    verdict = lb.identify(play, WORKS, max_plays=9)
    assert (verdict.status, verdict.plays, len(given)) == ("exhausted", 9, 9)


def test_an_interruption_gives_what_is_known_so_far():
    play, given = player()

    def interrupted(arms):
        if len(given) == 12:
            raise KeyboardInterrupt
        return play(arms)

    verdict = lb.identify(interrupted, WORKS)
    assert (verdict.status, verdict.plays, verdict.error_bound) == ("running", 12, None)


def test_any_other_error_goes_to_the_caller():
    with pytest.raises(ZeroDivisionError):
        lb.identify(lambda arms: 1 / 0, WORKS)


def test_an_answer_that_is_no_arm_is_refused():
    with pytest.raises(lb.InvalidParameter, match="'west' is no arm"):
        lb.identify(lambda arms: "west", WORKS)


def test_progress_sees_the_experiment_after_every_play():
    seen = []
    lb.identify(player()[0], WORKS, max_plays=3, progress=lambda exp: seen.append(exp.plays))
    assert seen == [1, 2, 3]


def test_two_deltas_are_refused():
    with pytest.raises(lb.InvalidParameter, match="a policy has a delta of its own"):
        lb.identify(player()[0], WORKS, 0.1, policy=lb.LinkedDuels(0.1), linkage="free")


def test_what_is_no_function_is_refused():
    with pytest.raises(lb.InvalidParameter, match="is no function; give one that plays a tuple of arms"):
        lb.identify(WORKS, WORKS)
