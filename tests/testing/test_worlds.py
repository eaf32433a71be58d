"""Replayed rewards: any world can answer a simulation, and plays under every linkage are those made by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES, Asks
from linkedbandits.model import Counts, Needs
from linkedbandits.policy import LaneState, Policy, WithoutGuarantee, open_lanes
from linkedbandits.streams import block_lanes
from linkedbandits.testing import ReplayedRequests, ReplayedRewards
from tests.support.brute_force import opened_at_the_first_unmet, plays_for_needs

REWARDS = [[0, 1, 0, 0, 1, 0], [1, 0, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]]
MEANS = [1 / 3, 1 / 3, 1 / 6]

seeds = st.integers(0, 2**32)


@dataclass(frozen=True)
class AskOnce(WithoutGuarantee, Policy[LaneState]):
    """Asks for the same needs in every lane, keeps what it is shown, and stops."""

    needs: list[int]
    shown: list[Counts] = field(default_factory=list)

    name: ClassVar[str] = "ask-once"
    asks: ClassVar[Asks] = "needs"

    def start(self, lanes, arms, seeds):
        return LaneState(**open_lanes(lanes, arms))

    def request(self, state):
        return Needs(np.tile(self.needs, (state.arm.size, 1)))

    def observe(self, state, counts):
        self.shown.append(counts)
        state.stopped = np.ones_like(state.stopped)


@pytest.mark.parametrize(
    ("linkage", "plays", "samples"),
    [
        ("ordered", 5, [3, 3, 3]),
        ("free", 4, [3, 3, 3]),
        ("single", 9, [3, 3, 3]),
        ("suffix", 5, [3, 3, 3]),
    ],
)
def test_the_same_rewards_take_these_plays_by_hand(linkage, plays, samples):
    """Three samples of each: arm 0 reads 010, arm 1 reads 100, arm 2 reads 001.

    In order, and from some arm on: 0 then 1 hits; 0 hits; 0, 1 and 2 fail; 1 and 2 fail; 2 hits.
    Freely, the longest need first: 0 then 1 hits; 2 then 0 hits; 1, 2 and 0 fail; 1 then 2 hits.
    """
    runs = lb.simulate(MEANS, lb.UniformSampling(samples=3), linkage=linkage, world=ReplayedRewards(REWARDS), trials=1)
    assert runs.plays.tolist() == [plays]
    assert runs.samples.tolist() == [samples]


@given(st.lists(st.integers(0, 6), min_size=2, max_size=5).filter(any), st.integers(1, 4), seeds)
def test_lanes_of_a_simulation_take_the_plays_that_hands_would(needs, lanes, seed):
    rewards = (np.random.default_rng(seed).random((lanes, len(needs), sum(needs))) < 0.4).astype(int)
    for linkage, by_hand in (("ordered", plays_for_needs), ("suffix", opened_at_the_first_unmet)):
        policy = AskOnce(needs)
        runs = lb.simulate([0.4] * len(needs), policy, linkage=linkage, world=ReplayedRewards(rewards), trials=lanes)
        played = [by_hand(needs, tapes) for tapes in rewards.tolist()]
        assert runs.plays.tolist() == [plays for plays, _ in played]
        assert runs.samples.tolist() == [samples for _, samples in played]
        (counts,) = policy.shown
        assert (counts.samples == needs).all()
        assert counts.successes.tolist() == [[sum(t[:m]) for t, m in zip(lane, needs, strict=True)] for lane in rewards]


@given(seeds)
def test_whatever_the_linkage_a_policy_sees_the_same_rewards(seed):
    """What is shown depends on what was asked for alone: of spare samples nothing reaches the policy."""
    rewards = np.random.default_rng(seed).random((3, 4, 40)) < 0.3
    shown = []
    for linkage in LINKAGES:
        policy = AskOnce([5, 0, 9, 2])
        lb.simulate([0.3] * 4, policy, linkage=linkage, world=ReplayedRewards(rewards), trials=3)
        shown.append((policy.shown[0].samples.tolist(), policy.shown[0].successes.tolist()))
    assert all(counts == shown[0] for counts in shown)


def test_lanes_that_are_done_are_thinned_out_of_any_world():
    rewards = np.zeros((3, 2, 400), dtype=int)
    rewards[1, 0] = 1  # the only lane that is soon decided
    runs = lb.simulate(
        [0.9, 0.1], lb.LinkedElimination(delta=0.1), world=ReplayedRewards(rewards), trials=3, max_plays=300
    )
    assert runs.confident.tolist() == [False, True, False]
    assert runs.arm[1] == 0


def test_a_world_has_all_its_lanes_side_by_side_whatever_the_memory_limit():
    lanes = 2 * block_lanes(2) + 1
    rewards = np.zeros((lanes, 2, 3), dtype=int)
    rewards[::2, 0] = 1
    runs = lb.simulate(
        [0.5, 0.0], lb.UniformSampling(samples=3), world=ReplayedRewards(rewards), trials=lanes, memory_limit=1
    )
    assert runs.plays.tolist() == [6 if lane % 2 == 0 else 3 for lane in range(lanes)]


def test_tuples_are_played_one_after_the_other():
    world = ReplayedRewards(REWARDS)
    assert world.hits(np.array([[1, 0, -1]]), np.array([4])).tolist() == [[2, 1, 0]]
    assert world.successes(np.array([[0, 2, 6]])).tolist() == [[0, 0, 1]]
    runs = lb.simulate(MEANS, lb.MaximalSampling(plays=4), world=ReplayedRewards(REWARDS), trials=1)
    assert runs.samples.tolist() == [[4, 3, 2]]


def test_rewards_that_run_out_or_do_not_fit_are_named():
    with pytest.raises(lb.InvalidParameter, match=r"sample 7 of arm 0 .* in lane 0, and there are rewards for 6"):
        lb.simulate(MEANS, lb.UniformSampling(samples=7), world=ReplayedRewards(REWARDS), trials=1)
    with pytest.raises(lb.InvalidParameter, match="as many lanes as there are trials"):
        lb.simulate(MEANS, lb.UniformSampling(samples=2), world=ReplayedRewards(REWARDS), trials=2)
    for policy in (lb.MaximalSampling(plays=2), lb.SuffixUCB(delta=0.1)):
        with pytest.raises(lb.InvalidParameter, match="as many lanes as there are trials"):
            lb.simulate(MEANS, policy, world=ReplayedRewards(REWARDS), trials=2)
    world, two = ReplayedRewards(REWARDS), np.array([1, 1])
    for asked in (lambda: world.hits(np.array([[1, 0]] * 2), two), lambda: world.successes_of(two, two)):
        with pytest.raises(lb.InvalidParameter, match="2 lanes are asked, and there are rewards for 1; give as many"):
            asked()
    with pytest.raises(lb.InvalidParameter, match="no zeros and ones"):
        ReplayedRewards([[0.5, 1.0]])


@given(st.lists(st.integers(0, 25), min_size=2, max_size=4).filter(any), st.integers(1, 4), seeds)
def test_needs_among_requests_are_met_by_the_plays_that_a_live_experiment_makes(needs, lanes, seed):
    """Arms depend on each other, so the order in which they are tried matters for all that is seen."""
    rng = np.random.default_rng(seed)
    outcomes = (rng.random((lanes, sum(needs), 1)) + rng.random((lanes, sum(needs), len(needs))) < 0.8).astype(int)
    for linkage in LINKAGES:
        together, alone = AskOnce(needs), AskOnce(needs)
        lb.simulate([0.4] * len(needs), together, linkage=linkage, world=ReplayedRequests(outcomes), trials=lanes)
        for requests in outcomes:
            exp = lb.Experiment(range(len(needs)), alone, linkage=linkage)
            for outcome in requests:
                if exp.done:
                    break
                play = exp.ask()
                exp.tell(play.id, next((arm for arm in play.arms if outcome[arm]), None))
        for lane, counts in enumerate(alone.shown):
            assert together.shown[0].samples[lane].tolist() == counts.samples[0].tolist() == needs
            assert together.shown[0].successes[lane].tolist() == counts.successes[0].tolist()
            assert together.shown[0].plays[lane] == counts.plays[0]


def test_requests_that_run_out_or_do_not_fit_are_named():
    world = ReplayedRequests([[0, 1], [1, 0]])
    with pytest.raises(lb.InvalidParameter, match="request 3 was asked for in lane 0, and there are 2; give more"):
        lb.simulate([0.5, 0.5], lb.MaximalSampling(plays=3), world=world, trials=1)
    with pytest.raises(lb.InvalidParameter, match="no zeros and ones by lane, request and arm"):
        ReplayedRequests([0, 1])
    for lanes in (1, 3):
        two = ReplayedRequests([[[0, 1]], [[1, 0]]])
        with pytest.raises(lb.InvalidParameter, match=f"{lanes} lanes are asked, and .* requests for 2; give as many"):
            lb.simulate([0.5, 0.5], lb.UniformSampling(samples=1), world=two, trials=lanes)


def test_arms_tried_alone_use_up_requests_as_well():
    world = ReplayedRequests([[0, 1], [1, 0], [1, 1], [0, 1], [1, 0]])
    assert world.successes_of(np.array([1]), np.array([2])).tolist() == [1]
    assert world.successes(np.array([[2, 1]])).tolist() == [[1, 0]]
