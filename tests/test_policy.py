"""What the library asks of a policy, what it has by default, and what is refused."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS, ToldDifference
from linkedbandits.lidar import EvenGates, PulseGating, ShiftedGates, ThompsonGating
from linkedbandits.linkage import LINKAGES, Ordered, Price
from linkedbandits.model import Counts, Needs
from linkedbandits.policies import describe_policy
from linkedbandits.policy import (
    Goal,
    LaneState,
    Policy,
    check_is_policy,
    check_linkage,
    open_lanes,
    saved_parameters,
    undeclared_parameters,
    undeclared_top,
    unfitted_parameters,
)
from linkedbandits.testing import PolicyCheckFailed, check_policy
from tests.support.every_policy import EVERY_POLICY, policy_id

SOURCE = Path(lb.__file__).parent
LANES_SEEDS = np.zeros(2, dtype=np.uint64)


class TenOfEach:
    """All that a policy has to write, without the base class that has the rest."""

    name: ClassVar[str] = "ten-of-each"
    asks: ClassVar[str] = "needs"
    status_at_stop = "exhausted"
    error_bound = None

    def start(self, lanes, arms, seeds):
        return LaneState(**open_lanes(lanes, arms))

    def request(self, state):
        return Needs(np.full(state.still_in.shape, 10))

    def observe(self, state, counts: Counts):
        state.arm = counts.successes.argmax(axis=1)
        state.stopped = np.ones_like(state.stopped)


@dataclass(frozen=True)
class Plain(TenOfEach):
    """As policies could be written before there was a base class."""


@dataclass(frozen=True)
class Least(TenOfEach, Policy[LaneState]):
    """With the base class, and nothing else."""


def test_a_policy_that_declares_nothing_looks_for_the_best_arm_and_keeps_no_evidence():
    policy = Least()
    state = policy.start(2, 3, LANES_SEEDS)
    state.arm = np.array([2, 1])
    assert policy.goal == Goal(delta=None, k=1, tolerance=0.0, neighbours=0, budget=None, costs=())
    assert policy.told_difference is None
    assert policy.answer(state).tolist() == [[2], [1]]
    assert policy.log10_evidence(state) is None
    assert policy.contradicted(state, state.arm) is None
    assert policy.answers_at_any_time is False
    assert policy.fitted_to(LINKAGES["free"], 7) is policy
    assert policy.assumptions(LINKAGES["free"]) == (INDEPENDENT_OPTIONS,)


def test_it_runs_everywhere():
    assert lb.simulate([0.0, 1.0], Least(), trials=3).arm.tolist() == [1, 1, 1]
    exp = lb.Experiment("ab", Least())
    assert exp.evidence() is None
    assert exp.recommend().arm == "a"
    check_policy(Least())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"delta": 1.5}, "delta=1.5 is not between 0 and 1"),
        ({"delta": 0}, "delta=0 is not between 0 and 1"),
        ({"k": 0}, "k=0 is not a whole number of at least 1"),
        ({"k": 2.0}, "k=2.0 is not a whole number"),
        ({"tolerance": -0.1}, "tolerance=-0.1 is not a number of at least 0"),
        ({"neighbours": -1}, "neighbours=-1 is not a whole number of at least 0"),
        ({"costs": (1.0, -1.0)}, "cost -1.0 of arm 1 is not positive and finite"),
        ({"budget": 0}, "budget=0 is not a whole number of at least 1"),
    ],
)
def test_a_goal_that_makes_no_sense_is_refused_by_name(wrong, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        Goal(**wrong)


LACKS = (
    "Plain is not a whole policy: it lacks answers_at_any_time, goal, told_difference, answer, "
    "log10_evidence, carry_over, contradicted, fitted_to, assumptions; "
    r"inherit from linkedbandits.policy.Policy, as class Plain\(Policy\[...\]\)"
)


@pytest.mark.parametrize(
    "use",
    [
        lambda policy: lb.simulate([0.1, 0.2], policy),
        lambda policy: lb.Experiment("ab", policy),
        lambda policy: lb.Experiment.from_json(lb.Experiment("ab", Least()).to_json(), policy=policy),
    ],
    ids=["simulate", "Experiment", "from_json"],
)
def test_a_policy_without_the_base_class_is_told_what_it_lacks(use):
    with pytest.raises(lb.InvalidParameter, match=LACKS):
        use(Plain())


def test_so_does_check_policy_tell_it():
    with pytest.raises(PolicyCheckFailed, match=LACKS):
        check_policy(Plain())


def test_a_policy_that_has_all_parts_needs_no_base_class():
    @dataclass(frozen=True)
    class Whole(TenOfEach):
        answers_at_any_time = False
        goal = Goal(budget=40)
        told_difference = None

        def answer(self, state):
            return state.arm[:, np.newaxis]

        def log10_evidence(self, state):
            return None

        def carry_over(self, state, capital):
            return False

        def contradicted(self, state, arm):
            return None

        def fitted_to(self, linkage, parallel):
            return self

        def assumptions(self, linkage):
            return ()

    check_is_policy(Whole())
    assert lb.simulate([0.0, 1.0], Whole(), trials=2).arm.tolist() == [1, 1]


def test_a_part_that_has_no_default_is_asked_for():
    class Nameless(Policy[LaneState]):
        asks = "needs"
        start, request, observe = TenOfEach.start, TenOfEach.request, TenOfEach.observe
        status_at_stop, error_bound = "exhausted", None

    with pytest.raises(lb.InvalidParameter, match="Nameless is not a whole policy: it lacks name; write name"):
        check_is_policy(Nameless())


def test_a_policy_without_a_method_of_its_own_cannot_be_made():
    @dataclass(frozen=True)
    class Half(Policy[LaneState]):
        name = "half"
        asks = "needs"
        status_at_stop, error_bound = "exhausted", None
        start, request = TenOfEach.start, TenOfEach.request

    with pytest.raises(TypeError, match="observe"):
        Half()


@pytest.mark.parametrize("thing", [None, "linked-ege", lb.LinkedEGE, [1, 2]], ids=str)
def test_what_is_no_policy_is_refused(thing):
    with pytest.raises(lb.InvalidParameter, match=r"is no policy; pass one such as UniformSampling\(delta=0.05\)"):
        check_is_policy(thing)


def test_a_policy_that_could_not_be_saved_is_refused():
    class Loose(TenOfEach, Policy[LaneState]):
        pass

    with pytest.raises(lb.InvalidParameter, match=r"Loose is no dataclass.*write @dataclass\(frozen=True\) above it"):
        check_is_policy(Loose())


def test_an_error_in_a_goal_is_shown_as_it_is():
    """It is not taken for a policy without a goal."""

    class Wrong(Least):
        @property
        def goal(self):
            return self.gaol

    with pytest.raises(AttributeError, match="gaol"):
        lb.simulate([0.1, 0.2], Wrong())


GOALS = {
    "LinkedElimination(delta=0.1, k=1, epsilon=0.0, neighbours=0, costs=())": Goal(delta=0.1),
    "LinkedElimination(delta=0.1, k=2, epsilon=0.0, neighbours=0, costs=())": Goal(delta=0.1, k=2),
    "LinkedElimination(delta=0.1, k=1, epsilon=0.1, neighbours=0, costs=())": Goal(delta=0.1, tolerance=0.1),
    "LinkedElimination(delta=0.1, k=1, epsilon=0.0, neighbours=1, costs=())": Goal(delta=0.1, neighbours=1),
    "LinkedElimination(delta=0.1, k=1, epsilon=0.0, neighbours=0, costs=(1.0, 3.0, 1.0, 0.5))": Goal(
        delta=0.1, costs=(1.0, 3.0, 1.0, 0.5)
    ),
    "LinkedTrackAndStop(delta=0.1)": Goal(delta=0.1),
    "LinkedHalving(plays=60, neighbours=0)": Goal(budget=60),
    "LinkedHalving(plays=60, neighbours=1)": Goal(neighbours=1, budget=60),
    "LinkedLead(delta=0.1, odds_ratio=2.0, lift=None, gap=None)": Goal(delta=0.1),
    "LinkedLead(delta=0.1, odds_ratio=None, lift=0.5, gap=None)": Goal(delta=0.1),
    "LinkedLead(delta=0.1, odds_ratio=None, lift=None, gap=0.2)": Goal(delta=0.1),
    "LinkedDuels(delta=0.1, gap=None)": Goal(delta=0.1),
    "LinkedDuels(delta=0.1, gap=0.2)": Goal(delta=0.1),
    "MaximalSampling(delta=0.1, plays=None, calibration='proved')": Goal(delta=0.1),
    "MaximalSampling(delta=0.1, plays=None, calibration='plain')": Goal(delta=0.1),
    "MaximalSampling(delta=None, plays=60, calibration='proved')": Goal(budget=60),
    "UniformSampling(delta=0.1, samples=None, calibration='proved')": Goal(delta=0.1),
    "UniformSampling(delta=None, samples=40, calibration='proved')": Goal(),
    "MedianElimination(epsilon=0.5, delta=0.1)": Goal(delta=0.1, tolerance=0.5),
    "LinkedEGE(delta=0.1, gap=0.3, median='reuse')": Goal(delta=0.1),
    "LinkedEGE(delta=0.1, gap=None, median='reuse')": Goal(delta=0.1),
    "LinkedEGE(delta=0.1, gap=0.3, median='fresh')": Goal(delta=0.1),
    "LilUCB(delta=0.1)": Goal(delta=0.1),
    "SuffixUCB(delta=0.1, calibration='proved')": Goal(delta=0.1),
    "DeterministicShifting(delta=0.1, plays=None, calibration='proved')": Goal(delta=0.1),
    "DeterministicShifting(delta=None, plays=60, calibration='proved')": Goal(budget=60),
    "WholeSequenceEGE(delta=0.1, gap=0.3)": Goal(delta=0.1),
    "WholeSequenceEGE(delta=0.1, gap=None)": Goal(delta=0.1),
}


def test_what_every_policy_looks_for():
    assert {repr(policy): policy.goal for policy in EVERY_POLICY} == GOALS
    assert PulseGating(3.0, 0.1, delta=0.1).goal == Goal(delta=0.1)
    assert PulseGating(3.0, 0.1).goal == ThompsonGating(3.0, 0.1).goal == EvenGates().goal == Goal()
    assert ShiftedGates(plays=60).goal == Goal(budget=60)


def test_what_every_policy_is_told():
    told = {repr(policy): policy.told_difference for policy in EVERY_POLICY if policy.told_difference is not None}
    assert told == {
        "LinkedLead(delta=0.1, odds_ratio=2.0, lift=None, gap=None)": ToldDifference(odds_ratio=2.0),
        "LinkedLead(delta=0.1, odds_ratio=None, lift=0.5, gap=None)": ToldDifference(odds_ratio=1.5),
        "LinkedLead(delta=0.1, odds_ratio=None, lift=None, gap=0.2)": ToldDifference(gap=0.2),
        "LinkedDuels(delta=0.1, gap=0.2)": ToldDifference(gap=0.2),
        "LinkedEGE(delta=0.1, gap=0.3, median='reuse')": ToldDifference(gap=0.3),
        "LinkedEGE(delta=0.1, gap=0.3, median='fresh')": ToldDifference(gap=0.3),
        "WholeSequenceEGE(delta=0.1, gap=0.3)": ToldDifference(gap=0.3),
    }


def test_what_is_no_told_difference_is_refused():
    @dataclass(frozen=True)
    class Wrong(Least):
        told_difference = 0.1

    with pytest.raises(PolicyCheckFailed, match=r"told_difference=0\.1 must be None, or a linkedband"):
        check_policy(Wrong())
    for both in ({}, {"gap": 0.1, "odds_ratio": 2.0}):
        with pytest.raises(lb.InvalidParameter, match="is no difference; give one of them"):
            ToldDifference(**both)


FIXED = (lb.MedianElimination, lb.LinkedEGE)


@pytest.mark.parametrize("policy", EVERY_POLICY, ids=policy_id)
def test_a_policy_is_fitted_to_its_linkage_and_to_the_plays_that_will_be_out(policy):
    for linkage in LINKAGES.values():
        told, not_told = policy.fitted_to(linkage, 7), policy.fitted_to(linkage, None)
        assert not_told == policy
        assert unfitted_parameters(policy, linkage, 7) == []
        if isinstance(policy, FIXED):
            assert told is policy
        else:
            assert (policy.parallel, told.parallel) == (1, 7)
            assert told.goal == policy.goal
            assert not_told.fitted_to(linkage, 7) == told
        if isinstance(policy, lb.LinkedElimination | lb.LinkedTrackAndStop | lb.LinkedHalving):
            assert told.price is not_told.price is linkage.price


@dataclass
class RankedState(LaneState):
    top: np.ndarray


@dataclass(frozen=True)
class OldFashioned(Least):
    """Has the names that were once read from any policy, and declares none of them."""

    delta: float = 0.1
    k: int = 2
    epsilon: float = 0.0
    plays: int = 50
    parallel: int = 1
    price: Price = field(default=Ordered.price, compare=False, metadata={"saved": False})


def test_names_that_are_not_declared_are_found():
    policy = OldFashioned()
    assert undeclared_parameters(policy) == {"delta": "delta", "k": "k", "plays": "budget"}
    assert unfitted_parameters(policy, LINKAGES["single"], 3) == ["parallel", "price"]
    state = RankedState(**open_lanes(1, 3), top=np.array([[0, 2]]))
    assert undeclared_top(policy, state)
    assert not undeclared_top(policy, LaneState(**open_lanes(1, 3)))


def test_what_a_linkage_sets_is_no_part_of_a_description():
    assert saved_parameters(OldFashioned()) == {"delta": 0.1, "k": 2, "epsilon": 0.0, "plays": 50, "parallel": 1}
    assert [one.name for one in fields(lb.LinkedTrackAndStop)] == ["delta", "parallel", "price"]
    fitted = lb.LinkedTrackAndStop(0.1).fitted_to(LINKAGES["free"], 3)
    assert describe_policy(fitted)["parameters"] == {"delta": 0.1, "parallel": 3}


def reads_by_name(path: Path) -> list[str]:
    """Where a module asks a policy or a state for an attribute by its name."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    return [
        f"{path.name}:{call.lineno}"
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id in ("getattr", "hasattr", "setattr", "vars")
        and call.args
        and {"policy", "state", "lane"} & set(ast.unparse(call.args[0]).replace("_", ".").split("."))
        and ast.unparse(call.args[0]) != "request.state"  # that of an HTTP request
    ]


def test_only_the_module_of_the_protocol_reads_policies_and_states_by_name():
    assert reads_by_name(SOURCE / "policy.py")  # or this test would see nothing
    assert [read for path in SOURCE.rglob("*.py") if path.name != "policy.py" for read in reads_by_name(path)] == []


def test_lanes_of_a_state_can_be_taken_out_and_put_back():
    state = LaneState(**open_lanes(4, 3))
    state.arm = np.arange(4)
    part = state.take(np.array([False, True, False, True]))
    part.arm += 10
    part.stopped[1] = True
    assert state.arm.tolist() == [0, 1, 2, 3]
    state.put(np.array([False, True, False, True]), part)
    assert state.arm.tolist() == [0, 11, 2, 13]
    assert state.stopped.tolist() == [False, False, False, True]


@pytest.mark.parametrize(
    ("policy", "remedy"),
    [
        (lb.WholeSequenceEGE(delta=0.1), "'ordered' or 'free', or a policy that asks for needs, such as Uniform"),
        (
            lb.LinkedDuels(delta=0.1),
            "'free', or LinkedElimination under linkage 'single'",
        ),
    ],
)
def test_the_remedy_for_a_linkage_assumes_no_more_than_the_policy(policy, remedy):
    with pytest.raises(lb.InvalidParameter, match=f"use linkage {remedy}"):
        check_linkage(policy, LINKAGES["suffix"])
