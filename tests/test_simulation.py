"""Simulation: same seed same runs, bounded memory, lanes that end at different times, budgets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import COUNT_LIMIT
from linkedbandits.simulation import simulate_lanes
from linkedbandits.streams import block_lanes
from linkedbandits.world import OneLane
from tests.support.every_policy import EVERY_POLICY, policy_id, some_linkage
from tools.waiting import SECONDS

MEANS = [0.1, 0.6, 0.3, 0.3]


def same_runs(one: lb.Runs, other: lb.Runs) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("arm", "plays", "samples", "confident")
    )


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_the_memory_limit_does_not_change_the_runs(policy):
    trials = block_lanes(4) + 100  # a whole block and a part of a second
    settings = {"linkage": some_linkage(policy), "trials": trials, "seed": 3, "max_plays": 40}
    whole = lb.simulate(MEANS, policy, **settings)
    piecewise = lb.simulate(MEANS, policy, **settings, memory_limit=1)
    assert same_runs(whole, piecewise)


def test_the_whole_blocks_of_a_shorter_run_begin_a_longer_one():
    block = block_lanes(4)
    policy = lb.UniformSampling(delta=0.1)
    shorter = lb.simulate(MEANS, policy, trials=block, seed=3)
    longer = lb.simulate(MEANS, policy, trials=3 * block, seed=3)
    assert np.array_equal(shorter.plays, longer.plays[:block])


def test_lanes_from_the_middle_of_a_run_end_as_in_the_whole_run():
    block = block_lanes(4)
    policy = lb.LinkedElimination(delta=0.1)
    rows = np.random.default_rng(0).uniform(0.1, 0.9, size=(2 * block + 50, 4))
    whole = simulate_lanes(rows, policy, seed=3)
    part = simulate_lanes(rows[block:], policy, first=block, seed=3)
    for name in ("top", "plays", "samples", "successes", "confident"):
        assert np.array_equal(getattr(whole, name)[block:], getattr(part, name))


def test_every_lane_has_its_own_means():
    rows = np.array([[0.9, 0.1], [0.1, 0.9]] * 20)
    outcomes = simulate_lanes(rows, lb.LinkedElimination(delta=0.01), seed=1)
    assert np.array_equal(outcomes.top[:, 0], rows.argmax(axis=1))  # forty runs at 0.01, seen with this seed
    assert ((outcomes.successes <= outcomes.samples) & (outcomes.samples > 0)).all()


def test_lanes_can_begin_only_where_a_block_does():
    with pytest.raises(lb.InvalidParameter, match="multiples of"):
        simulate_lanes(np.full((5, 4), 0.5), lb.UniformSampling(samples=5), first=3)


def test_who_watches_sees_plays_grow_and_arms_leave():
    seen: dict[int, list[tuple[int, int]]] = {}

    def watch(lanes, plays, arms_in):
        for lane, after, left in zip(lanes.tolist(), plays.tolist(), arms_in.tolist(), strict=True):
            seen.setdefault(lane, []).append((after, left))

    rows = np.broadcast_to(np.array(MEANS), (30, 4))
    outcomes = simulate_lanes(rows, lb.LinkedElimination(delta=0.1), seed=1, watch=watch)
    assert sorted(seen) == list(range(30))
    for lane, steps in seen.items():
        plays = [after for after, _ in steps]
        assert plays == sorted(plays)
        assert steps[-1] == (outcomes.plays[lane], 1)


def test_another_seed_gives_other_runs():
    policy = lb.UniformSampling(samples=50)
    assert not same_runs(lb.simulate(MEANS, policy, seed=1), lb.simulate(MEANS, policy, seed=2))


def test_a_spawned_seed_sequence_is_a_seed():
    children = np.random.SeedSequence(5).spawn(2)
    policy = lb.UniformSampling(samples=50)
    first, again, second = (lb.simulate(MEANS, policy, seed=seed) for seed in (children[0], children[0], children[1]))
    assert same_runs(first, again)
    assert not same_runs(first, second)


MANY_TRIALS = """
from pathlib import Path
import linkedbandits as lb
for policy in (lb.UniformSampling(delta=0.1), lb.LinkedTrackAndStop(delta=0.1), lb.SuffixUCB(delta=0.1)):
    runs = lb.simulate([0.9] + [0.1] * 9, policy, trials=200_000, seed=1, max_plays=5)
    assert runs.samples.shape == (200_000, 10)
# The most memory since the program began; getrusage would count what the process had before that.
print(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
"""


@pytest.mark.slow
def test_a_million_trials_would_stay_under_two_gigabytes():
    """One policy of each kind: the lightest, the one with the largest state, and one that plays tuples.

    A fifth of them stays under a fifth of that, with what the interpreter takes by itself.

    The working set does not depend on how long a run is, so runs are cut off early to keep the test short.
    """
    run = subprocess.run(
        [sys.executable, "-c", MANY_TRIALS],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
        timeout=SECONDS,
    )
    kilobytes = int(run.stdout)
    assert kilobytes < 2 * 2**20 / 5


@given(st.integers(1, 300), st.sampled_from(list(LINKAGES)))
def test_no_run_passes_its_budget(budget, linkage):
    runs = lb.simulate([0.5, 0.5, 0.2], lb.UniformSampling(samples=60), linkage=linkage, trials=20, max_plays=budget)
    assert (runs.plays <= budget).all()
    used_up = ~(runs.samples == 60).all(axis=1)
    assert (runs.plays[used_up] == budget).all()
    assert (runs.status[used_up] == "exhausted").all()


def test_two_equal_best_arms_end_with_the_budget():
    runs = lb.simulate([0.5, 0.5], lb.UniformSampling(delta=0.01), trials=50, max_plays=5000)
    assert (runs.status == "exhausted").all()
    assert (runs.plays == 5000).all()


@pytest.mark.parametrize("policy", [lb.UniformSampling(delta=0.01), lb.MaximalSampling(delta=0.01), lb.LinkedEGE(0.01)])
def test_without_a_budget_a_run_ends_where_counters_do(policy):
    runs = lb.simulate([0.5, 0.5], policy, trials=3, seed=1)
    assert (runs.plays[~runs.confident] == COUNT_LIMIT).all()
    assert not runs.confident.all()


def test_the_budget_ends_a_run_with_the_arm_that_leads():
    runs = lb.simulate([0.2, 0.8], lb.UniformSampling(samples=500), trials=200, seed=1, max_plays=300)
    assert (runs.status == "exhausted").all()
    assert runs.error_rate() < 0.05


def test_progress_counts_every_trial_once():
    seen: list[int] = []
    lb.simulate(MEANS, lb.UniformSampling(delta=0.1), trials=3000, progress=seen.append, memory_limit=1)
    assert sum(seen) == 3000


def test_ten_billion_plays_cost_what_ten_do():
    runs = lb.simulate(MEANS, lb.UniformSampling(samples=6_000_000_000), trials=10)
    assert runs.plays.min() > 10**10


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"means": [0.1, 1.5]}, lb.InvalidParameter, r"mean 1.5 of arm 1 is outside \[0, 1\]"),
        ({"means": [0.1, float("nan")]}, lb.InvalidParameter, "mean nan of arm 1"),
        ({"means": [0.1]}, lb.InvalidParameter, "at least two arms"),
        ({"trials": 0}, lb.InvalidParameter, "trials=0"),
        ({"max_plays": 0}, lb.InvalidParameter, "max_plays=0"),
        ({"max_plays": 2.5}, lb.InvalidParameter, "max_plays=2.5"),
        ({"memory_limit": 0}, lb.InvalidParameter, "memory_limit=0"),
        ({"policy": lb.SuffixUCB(0.1), "linkage": "single"}, lb.InvalidParameter, "use linkage 'ordered', 'free'"),
    ],
)
def test_bad_input_is_named_with_the_remedy(change, error, said):
    arguments = {"means": MEANS, "policy": lb.UniformSampling(samples=1), **change}
    with pytest.raises(error, match=said) as caught:
        lb.simulate(**arguments)
    assert isinstance(caught.value, ValueError)


def test_a_world_that_lacks_a_part_is_refused():
    class Half:
        def hits(self, order, times):
            return order

    with pytest.raises(lb.InvalidParameter, match="has no independent, keep, successes, successes_of; "):
        lb.simulate([0.1, 0.2], lb.UniformSampling(samples=1), world=Half())


class Halves(OneLane):
    """Every arm succeeds in half of its samples."""

    def successes_in_next(self, arm, count):
        return count // 2


class Counting:
    """Lanes of a world that was made for ``lanes``, with no check of its own."""

    def __init__(self, lanes: int, independent: bool) -> None:
        self.independent = independent
        self._means = np.full((lanes, 2), 0.5)

    def keep(self, lanes):
        self._means = self._means[lanes]

    def successes(self, samples):
        return (samples * self._means).astype(int)

    def successes_of(self, arms, samples):
        return (samples * self._means[:, 0]).astype(int)

    def hits(self, order, times):
        return (times[:, np.newaxis] * self._means[:, :1] * (order == order[:, :1])).astype(int)


POLICIES = [
    (lb.UniformSampling(samples=50), "ordered"),
    (lb.LinkedElimination(delta=0.1), "free"),
    (lb.LinkedElimination(delta=0.1), "suffix"),
    (lb.LinkedElimination(delta=0.1), "single"),
    (lb.MaximalSampling(plays=20), "ordered"),
]


@pytest.mark.parametrize(("policy", "linkage"), POLICIES, ids=str)
def test_a_world_of_one_lane_runs_one_trial_and_refuses_more(policy, linkage):
    assert lb.simulate([0.3, 0.6], policy, linkage=linkage, world=Halves(), trials=1, max_plays=500).plays.size == 1
    with pytest.raises(lb.InvalidParameter, match=r"Halves .* has one lane, and 3 are asked for; use trials=1"):
        lb.simulate([0.3, 0.6], policy, linkage=linkage, world=Halves(), trials=3)


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize(("policy", "linkage"), POLICIES, ids=str)
def test_a_world_has_to_have_a_lane_for_every_trial(policy, linkage, lanes, independent):
    with pytest.raises(lb.InvalidParameter, match=r"for 3 lanes of 2 arms.*; give it a lane for every trial: trials=3"):
        lb.simulate([0.3, 0.6], policy, linkage=linkage, world=Counting(lanes, independent), trials=3)
    runs = lb.simulate([0.3, 0.6], policy, linkage=linkage, world=Counting(3, independent), trials=3, max_plays=500)
    assert runs.plays.size == 3


TABLE = lb.OutcomeTable([[1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0]])


@pytest.mark.parametrize("law", [TABLE, lb.SharedDifficulty([0.5, 0.375, 0.3], 0.5)], ids=["table", "difficulty"])
@pytest.mark.parametrize(
    ("policy", "linkage"),
    [
        (lb.LinkedDuels(0.1), "free"),
        (lb.LinkedElimination(0.1), "ordered"),
        (lb.UniformSampling(samples=9), "suffix"),
        (lb.MaximalSampling(plays=30), "ordered"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_with_a_law_of_requests_a_lane_ends_the_same_whatever_runs_beside_it(law, policy, linkage):
    given = {"linkage": linkage, "seed": 3, "max_plays": 30}
    together, in_blocks, as_a_world = (
        lb.simulate(TABLE.means, policy, trials=1100, world=world, memory_limit=limit, **given)
        for world, limit in ((law, 10**9), (law, 1), (law.world(1100, seed=3), 1))
    )
    for other in (in_blocks, as_a_world):
        assert np.array_equal(together.plays, other.plays)
        assert np.array_equal(together.samples, other.samples)
        assert np.array_equal(together.top, other.top)
    later = simulate_lanes(np.tile(TABLE.means, (76, 1)), policy, world=law, first=1024, **given)
    assert np.array_equal(later.samples, together.samples[1024:])


def test_with_a_law_of_requests_memory_is_bounded():
    """A world is made for the lanes that run side by side, a block of 1024 at the least, and not for all of them."""

    lanes = []

    class Counted:
        def answering(self, streams):
            lanes.append(len(streams.policy_seeds()))
            return TABLE.answering(streams)

    lb.simulate(TABLE.means, lb.UniformSampling(samples=1), trials=2500, world=Counted(), memory_limit=1)
    assert lanes == [1024, 1024, 452]
