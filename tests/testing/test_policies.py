"""``check_policy`` says what it has checked, and names what a broken policy breaks."""

from __future__ import annotations

import io
import re
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS, ToldDifference
from linkedbandits.linkage import LINKAGES
from linkedbandits.model import IntArray, Needs, Repeats
from linkedbandits.policies.uniform_sampling import UniformSamplingState
from linkedbandits.policy import Goal, LaneState, Policy, SeedArray, open_lanes
from linkedbandits.testing import PolicyCheckFailed, check_policy
from tests.support.every_policy import policy_id
from tests.support.plain_policies import OneArm


@dataclass(frozen=True)
class Sound(lb.UniformSampling):
    """A policy of a user's own."""

    name = "sound"


@dataclass
class DrawingState(UniformSamplingState):
    seed: SeedArray
    step: IntArray


@dataclass(frozen=True)
class Drawing(Sound):
    """Draws one arm to sample at each step, from the lane's seed and the step."""

    name = "drawing"

    def start(self, lanes, arms, seeds):
        plain = super().start(lanes, arms, seeds)
        return DrawingState(**vars(plain), seed=seeds, step=np.zeros(lanes, dtype=np.int64))

    def request(self, state):
        needs = np.zeros(state.still_in.shape, dtype=np.int64)
        for lane, (seed, step) in enumerate(zip(state.seed.tolist(), state.step.tolist(), strict=True)):
            needs[lane, np.random.default_rng([seed, step]).integers(needs.shape[1])] = 3
        return Needs(needs)

    def observe(self, state, counts):
        state.step = state.step + 1
        state.successes = state.successes + counts.successes
        state.arm = state.successes.argmax(axis=1)
        state.stopped = state.step >= 12


@dataclass(frozen=True)
class DrawsFromNowhere(Drawing):
    name = "draws-from-nowhere"

    def request(self, state):
        return Needs(np.random.default_rng().integers(1, 9, state.still_in.shape))


@dataclass(frozen=True)
class ChangesWhenAsked(Drawing):
    name = "changes-when-asked"

    def request(self, state):
        request = super().request(state)
        state.step = state.step + 1
        return request


@dataclass(frozen=True)
class MixesLanes(Sound):
    name = "mixes-lanes"

    def request(self, state):
        return Needs(super().request(state).samples + int(state.successes.sum()))


@dataclass(frozen=True)
class Forgets(Sound):
    """Keeps something outside its state, which a saved experiment does not bring back."""

    name = "forgets"

    def start(self, lanes, arms, seeds):
        object.__setattr__(self, "_asked", 0)
        return super().start(lanes, arms, seeds)

    def request(self, state):
        return Needs(np.full(state.still_in.shape, self._asked + 5))

    def observe(self, state, counts):
        object.__setattr__(self, "_asked", self._asked + 1)
        super().observe(state, counts)
        state.stopped = state.samples > 300


@dataclass(frozen=True)
class AsksForNothing(Sound):
    name = "asks-for-nothing"

    def request(self, state):
        return Needs(np.zeros(state.still_in.shape, dtype=np.int64))


@dataclass(frozen=True)
class AsksForHalves(Sound):
    name = "asks-for-halves"

    def request(self, state):
        return Needs(np.full(state.still_in.shape, 2.5))


@dataclass(frozen=True)
class AsksBackwards(Sound):
    name = "asks-backwards"

    def request(self, state):
        return Needs(np.full(state.still_in.shape, -1))


@dataclass(frozen=True)
class NamesNobody(Sound):
    name = "names-nobody"

    def observe(self, state, counts):
        super().observe(state, counts)
        state.arm = np.full_like(state.arm, -1)


@dataclass(frozen=True)
class StartsFromNowhere(Drawing):
    """Is the same for the same state, but no two runs begin alike."""

    name = "starts-from-nowhere"

    def start(self, lanes, arms, seeds):
        return super().start(lanes, arms, np.random.default_rng().integers(2**32, size=lanes, dtype=np.uint64))


@dataclass(frozen=True)
class TakesTurns(Sound):
    """Asks for more every second time that it is asked in a step, which a simulation never does."""

    name = "takes-turns"

    def start(self, lanes, arms, seeds):
        object.__setattr__(self, "_asked", 0)
        return super().start(lanes, arms, seeds)

    def request(self, state):
        object.__setattr__(self, "_asked", self._asked + 1)
        return Needs(np.full(state.still_in.shape, 5 + self._asked % 2))

    def observe(self, state, counts):
        object.__setattr__(self, "_asked", 0)
        super().observe(state, counts)


@dataclass(frozen=True)
class CountsItsRequests(Drawing):
    """Asks the same however often, and leaves a trace in its state."""

    name = "counts-its-requests"

    def request(self, state):
        state.arm = (state.arm + 1) % 4
        return Needs(np.full(state.still_in.shape, 3))


@dataclass
class LosesItsStep(DrawingState):
    """Read from JSON, it begins anew."""

    @classmethod
    def from_json(cls, data):
        read = super().from_json(data)
        read.step = np.zeros_like(read.step)
        return read


@dataclass
class HasASecret(DrawingState):
    """Keeps something that is no field, and so not saved."""

    secret = 0


@dataclass(frozen=True)
class Kept(Drawing):
    """Draws as before, from a state of some kind."""

    kind: type = DrawingState

    name = "kept"

    def start(self, lanes, arms, seeds):
        return self.kind(**vars(super().start(lanes, arms, seeds)))

    def request(self, state):
        return Needs(super().request(state).samples + getattr(state, "secret", 0))

    def observe(self, state, counts):
        super().observe(state, counts)
        state.secret = 1


@dataclass(frozen=True)
class Learns(Sound):
    """Asks for more in every experiment of its own that it is started for, after the second."""

    name = "learns"

    def start(self, lanes, arms, seeds):
        started = getattr(self, "_started", 0) + (lanes == 1)
        object.__setattr__(self, "_started", started)
        state = super().start(lanes, arms, seeds)
        state.samples = state.samples - max(0, started - 2) * (lanes == 1)
        return state

    def request(self, state):
        return Needs(np.where(state.still_in, 7 + (state.samples[:, np.newaxis] < 0), 0))


@pytest.mark.parametrize("policy", [Sound(samples=20), Drawing(samples=1)], ids=policy_id)
def test_a_users_own_policy_can_keep_it(policy):
    check_policy(policy)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (DrawsFromNowhere(samples=1), "the same seed must give the same runs"),
        (StartsFromNowhere(samples=1), "the same seed must give the same runs"),
        (ChangesWhenAsked(samples=1), "must give the same twice in a row"),
        (TakesTurns(samples=40), "must give the same twice in a row"),
        (CountsItsRequests(samples=1), "must not change the state"),
        (Kept(samples=1, kind=LosesItsStep), "the state must survive JSON"),
        (Kept(samples=1, kind=HasASecret), "a state read from JSON must ask the same"),
        (Learns(samples=40), "the same answers must give the same plays"),
        (AsksForNothing(samples=1), "asked for nothing in lane 0; it has to ask or to stop"),
        (AsksForHalves(samples=1), "amounts of type float64"),
        (AsksBackwards(samples=1), "asked for -1 samples"),
        (NamesNobody(samples=1), "the answer must be one of the arms"),
        (MixesLanes(delta=0.1), "alone as beside others"),
        (Forgets(delta=0.1), "a saved experiment must go on exactly where it stopped"),
    ],
    ids=policy_id,
)
def test_a_broken_policy_is_caught(policy, said):
    with pytest.raises(PolicyCheckFailed, match=said):
        check_policy(policy)


def test_a_policy_no_linkage_can_play_is_caught():
    class Impossible(Sound):
        asks = "miracles"

    with pytest.raises(PolicyCheckFailed, match="no linkage allows"):
        check_policy(replace(Impossible(samples=2)))


@dataclass
class FewState(LaneState):
    successes: IntArray
    step: IntArray


@dataclass(frozen=True)
class Few(Policy[FewState]):
    """Five samples of every arm, four times; it declares nothing."""

    name = "few"
    asks = "needs"
    status_at_stop = "exhausted"
    error_bound = None

    def start(self, lanes, arms, seeds):
        nothing = np.zeros((lanes, arms), dtype=np.int64)
        return FewState(**open_lanes(lanes, arms), successes=nothing, step=nothing[:, 0].copy())

    def request(self, state):
        return Needs(np.full(state.still_in.shape, 5))

    def observe(self, state, counts):
        state.successes = state.successes + counts.successes
        state.step = state.step + 1
        state.arm = state.successes.argmax(axis=1)
        state.stopped = state.step == 4


def test_a_policy_that_declares_nothing_can_keep_it():
    found = check_policy(Few(), report=(said := []).append)
    assert found.goal == Goal()
    assert (found.error_bound, found.keeps_evidence, found.heeds_parallel) == (None, False, False)
    assert found.linkages == tuple(LINKAGES)
    assert found.ended == found.runs == len(LINKAGES) * (2 * 20 + 5 + 6 * 10)
    assert said == [*found.checks, str(found)]
    assert str(found).splitlines() == [
        "Few() keeps the contract: 33 checks, under ordered, free, single, suffix.",
        "It looks for the best arm, given neither delta nor a budget; nothing is proved.",
        "It keeps no evidence; told how many plays will be out, it asks the same.",
        "It assumes independent options, under ordered, free, suffix.",
        "Of 420 runs 420 ended by its own rule.",
    ]


@dataclass(frozen=True)
class Much(Few):
    """Declares much: a goal, a guarantee, evidence, and that it heeds how many plays will be out."""

    parallel: int = 1

    name = "much"
    status_at_stop = "confident"
    error_bound = 0.1
    goal = Goal(delta=0.1, k=2, tolerance=0.2)

    def fitted_to(self, linkage, parallel):
        return replace(self, parallel=parallel or 1)

    def answer(self, state):
        return np.argsort(-state.successes, axis=1, kind="stable")[:, :2]

    def log10_evidence(self, state):
        return np.zeros(state.still_in.shape)


def test_it_says_what_it_has_found_of_one_that_declares_much():
    found = check_policy(Much(), max_plays=50)
    assert found.goal == Much.goal
    # Three of the edge cases have more than two arms.
    assert 0 < found.ended < found.runs == len(LINKAGES) * (2 * 20 + 5 + 3 * 10)
    assert str(found).splitlines()[1:] == [
        "It looks for the 2 best arms within 0.2 of the mean, given delta=0.1; "
        "proved: wrong with probability at most 0.1.",
        "It keeps evidence; told how many plays will be out, it asks for more at a time.",
        "It assumes independent options, under ordered, free, suffix.",
        f"Of {75 * len(LINKAGES)} runs {found.ended} ended by its own rule, the others after 50 plays.",
    ]


def test_what_was_checked_before_a_violation_is_said_and_the_violation_last():
    said = []
    with pytest.raises(PolicyCheckFailed) as caught:
        check_policy(MixesLanes(delta=0.1), report=said.append)
    assert said[0] == "what it declares makes sense"
    assert said[1] == "ordered: its answer and its evidence are what it declares"
    assert said[-1] == f"broken: {caught.value}"
    assert len(said) > 3


def test_means_that_leave_nothing_to_decide_are_refused():
    with pytest.raises(lb.InvalidParameter, match="nothing to decide; give at least 5 means"):
        check_policy(lb.LinkedElimination(delta=0.1, k=4))
    with pytest.raises(lb.InvalidParameter, match="nothing to decide; give at least 6 means"):
        check_policy(lb.LinkedElimination(delta=0.1, neighbours=2))


def few(annotations=None, **members):
    """A policy with some members added or replaced."""
    changed = {"name": "changed", "__annotations__": annotations or {}, **members}
    return dataclass(frozen=True)(type("Changed", (Few,), changed))()


def a_goal(**parts):
    return property(lambda self: Goal(**parts))


def said_of(value):
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"name": "Not Kebab"}, "name='Not Kebab' must be text in kebab case"),
        ({"name": 7}, "name=7 must be text"),
        ({"asks": "miracles"}, "'miracles'; choose one of needs, suffixes, ordered tuples, tuples"),
        ({"answers_at_any_time": "yes"}, "answers_at_any_time='yes' must be True or False"),
        ({"status_at_stop": "sure"}, "status_at_stop='sure' must be 'confident' or 'exhausted'"),
        ({"error_bound": 1.5, "goal": a_goal(delta=0.1)}, "error_bound=1.5 must be None, or between 0 and 1"),
        ({"error_bound": 0.1}, "error_bound=0.1 must be at most the delta of its goal, which is None"),
        ({"error_bound": 0.1, "goal": a_goal(delta=0.05)}, "at most the delta of its goal, which is 0.05"),
        ({"goal": 3}, "goal=3 must be a linkedbandits.policy.Goal"),
        ({"goal": a_goal(k=0)}, "k=0 is not a whole number"),
        ({"goal": a_goal(delta=2)}, "delta=2 is not between 0 and 1"),
        ({"answer": lambda self, state: state.arm}, "answer() must be an array of arms, (lanes, k) = (3, 1)"),
        ({"answer": lambda self, state: state.arm[:, None] * 1.0}, "answer() must be an array of arms"),
        ({"answer": lambda self, state: 0 * state.arm[:, None]}, "the first arm of the answer must be state.arm"),
        ({"answer": lambda self, state: state.arm[:, None] + 4 * (state.step[:, None] == 4)}, "one of the arms 0 to 3"),
        ({"goal": a_goal(k=2)}, "answer() must be an array of arms, (lanes, k) = (3, 2)"),
        ({"goal": a_goal(k=2), "answer": lambda self, state: state.arm[:, None].repeat(2, axis=1)}, "must differ"),
        ({"fitted_to": lambda self, linkage, parallel: Sound(samples=20)}, "a policy of the same class"),
        ({"gap": 0.1}, "the parameter gap must be declared, by a property told_difference that returns"),
        (
            {"told_difference": ToldDifference(gap=0.1), "assumptions": lambda self, linkage: ()},
            "assumptions() must have what was told; add self.told_difference.assumption()",
        ),
        ({"assumptions": lambda self, linkage: None}, "assumptions() must be a tuple of"),
        ({"assumptions": lambda self, linkage: ("independence",)}, "got ('independence',)"),
        ({"assumptions": lambda self, linkage: 2 * (INDEPENDENT_OPTIONS,)}, "no name twice; got independent options, "),
    ],
    ids=said_of,
)
def test_a_declaration_that_does_not_hold_is_caught(members, said):
    with pytest.raises(PolicyCheckFailed, match=re.escape(said)):
        check_policy(few(**members))


def test_a_budget_that_is_declared_has_to_be_kept_to_the_play():
    """Where nothing succeeds, twenty samples of each of several arms in order take twenty plays."""
    with pytest.raises(PolicyCheckFailed, match="no run may pass the budget of its goal, 19 plays; one took 20"):
        check_policy(few(goal=a_goal(budget=19)), means=(0.0, 0.0, 0.0))
    with pytest.raises(PolicyCheckFailed, match=r"no run may pass the budget of its goal, 20 plays; one took [2-4]\d"):
        check_policy(few(goal=a_goal(budget=20)), means=(0.0, 0.0, 0.0))  # where arms do succeed


def test_an_answer_at_any_time_has_to_be_one():
    def late(self, state):
        return np.where(state.step < 4, -1, state.arm)[:, np.newaxis]

    check_policy(few(answer=late))
    with pytest.raises(PolicyCheckFailed, match="the answer must be one of the arms 0 to 3"):
        check_policy(few(answer=late, answers_at_any_time=True))


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (lambda self, state: state.still_in * 1.001, "an arm whose evidence has reached 1/delta must be out"),
        (lambda self, state: state.arm * 0.0, "log10_evidence() must be numbers, (lanes, arms) = (3, 4)"),
        (lambda self, state: state.still_in * np.nan, "log10_evidence() must be numbers"),
        (lambda self, state: state.still_in * 0.0 if state.step.any() else None, "must be None always or never"),
        (lambda self, state: state.successes.put(0, 9) or state.still_in * 0.0, "must not change the state"),
    ],
    ids=said_of,
)
def test_evidence_that_is_not_what_it_should_be_is_caught(evidence, said):
    with pytest.raises(PolicyCheckFailed, match=re.escape(said)):
        check_policy(few(log10_evidence=evidence, goal=a_goal(delta=0.1)))


def test_evidence_just_below_the_level_is_found():
    def nearly(self, state):
        return state.still_in * 0.999

    assert check_policy(few(log10_evidence=nearly, goal=a_goal(delta=0.1))).keeps_evidence
    with pytest.raises(PolicyCheckFailed, match="so its goal must have a delta"):
        check_policy(few(log10_evidence=nearly))


@pytest.mark.parametrize(
    ("parameter", "value", "part"),
    [
        ("delta", 0.1, "delta"),
        ("k", 2, "k"),
        ("epsilon", 0.1, "tolerance"),
        ("neighbours", 1, "neighbours"),
        ("plays", 80, "budget"),
    ],
)
def test_a_parameter_that_means_the_same_in_every_policy_has_to_be_declared(parameter, value, part):
    said = f"the parameter {parameter} must be declared; return Goal({part}=self.{parameter}) as its goal"
    with pytest.raises(PolicyCheckFailed, match=re.escape(said)):
        check_policy(few({parameter: type(value)}, **{parameter: value}))


@pytest.mark.parametrize("parameter", ["parallel", "price"])
def test_a_parameter_that_a_run_sets_has_to_be_taken_in(parameter):
    with pytest.raises(PolicyCheckFailed, match=f"the parameter {parameter} must be taken in by fitted_to"):
        check_policy(few({parameter: object}, **{parameter: 1}))


def test_a_policy_may_not_change_its_goal_or_go_on_changing_when_it_is_fitted():
    @dataclass(frozen=True)
    class Growing(Few):
        size: int = 10

        def fitted_to(self, linkage, parallel):
            return replace(self, size=self.size + 1)

    with pytest.raises(PolicyCheckFailed, match="must change nothing the second time"):
        check_policy(Growing())

    class Drifting(Growing):
        goal = property(lambda self: Goal(neighbours=self.size - 10))

    with pytest.raises(PolicyCheckFailed, match="must not change the goal"):
        check_policy(Drifting())


def test_ranked_arms_in_a_state_have_to_be_the_answer():
    @dataclass
    class Ranked(FewState):
        top: IntArray

    def start(self, lanes, arms, seeds):
        return Ranked(**vars(Few.start(self, lanes, arms, seeds)), top=np.ones((lanes, 1), dtype=np.int64))

    with pytest.raises(PolicyCheckFailed, match="the state has an array top, so answer"):
        check_policy(few(start=start))


def test_a_policy_that_has_stopped_before_it_starts_is_caught():
    def start(self, lanes, arms, seeds):
        return replace(Few.start(self, lanes, arms, seeds), stopped=np.ones(lanes, dtype=np.bool_))

    with pytest.raises(PolicyCheckFailed, match="must not have stopped before anything was played"):
        check_policy(few(start=start))


def test_what_a_policy_assumes_is_found_with_its_linkages():
    told = replace(INDEPENDENT_OPTIONS, name="told difference")

    def assumptions(self, linkage):
        return (told,) if linkage.tries_one else (INDEPENDENT_OPTIONS, told)

    found = check_policy(few(assumptions=assumptions))
    linked, every = ("ordered", "free", "suffix"), ("ordered", "free", "single", "suffix")
    assert found.assumes == {"independent options": linked, "told difference": every}
    both = f"independent options, under {', '.join(linked)}; told difference, under {', '.join(every)}"
    assert f"It assumes {both}." in str(found).splitlines()


def test_a_policy_may_assume_nothing():
    found = check_policy(few(assumptions=lambda self, linkage: ()))
    assert found.assumes == {}
    assert "It assumes nothing of how options go together." in str(found).splitlines()


def test_a_policy_may_not_assume_otherwise_when_it_is_fitted():
    @dataclass(frozen=True)
    class Forgetful(Few):
        size: int = 10

        def fitted_to(self, linkage, parallel):
            return replace(self, size=11)

        def assumptions(self, linkage):
            return (INDEPENDENT_OPTIONS,) if self.size == 10 else ()

    with pytest.raises(PolicyCheckFailed, match="must not change what is assumed"):
        check_policy(Forgetful())


@pytest.mark.parametrize(
    ("asks", "order", "said"),
    [
        ("suffixes", [0, 1, -1, -1], "it asks='suffixes', all arms from one on; got [0, 1, -1, -1]"),
        ("suffixes", [0, 2, 3, -1], "it asks='suffixes', all arms from one on; got [0, 2, 3, -1]"),
        ("ordered tuples", [2, 1, -1, -1], "it asks='ordered tuples', in the arms' order; got [2, 1, -1, -1]"),
        ("tuples", [2, 2, 1, -1], "a tuple must have different arms of 0 to 3; got [2, 2, 1, -1]"),
        ("tuples", [-1, -1, -1, -1], "a tuple must have different arms of 0 to 3; got [-1, -1, -1, -1]"),
        (
            "needs",
            [2, 1, -1, -1],
            "it asks='needs', so request() must return Needs here; [2, 1, -1, -1] cannot be played",
        ),
    ],
)
def test_a_policy_has_to_ask_what_it_declares(asks, order, said):
    """After its first counts, so that the first request alone does not tell."""

    def request(self, state):
        row = order if state.samples.any() else list(range(state.samples.shape[1]))
        return Repeats(np.tile(row, (state.samples.shape[0], 1)), np.ones(state.samples.shape[0], dtype=np.int64))

    Asking = type("Asking", (lb.SuffixUCB,), {"name": "asking", "asks": asks, "request": request})
    with pytest.raises(PolicyCheckFailed, match=re.escape(said)):
        check_policy(Asking(0.1), max_plays=200)


@dataclass
class Endless(lb.PlainPolicy):
    """Never comes to an end."""

    def begin(self, arms, seed):
        pass

    def ask(self):
        return (0,)

    def tell(self, arms, hit):
        pass

    @property
    def done(self):
        return False

    def best(self):
        return 0


def test_what_never_ends_is_cut_off_sooner_where_a_play_takes_long():
    assert check_policy(lb.UniformSampling(samples=1)).max_plays == 20_000
    assert check_policy(Endless()).max_plays == 2_000
    assert check_policy(Endless(), max_plays=30).max_plays == 30


class Screen(io.StringIO):
    """What says that it is a terminal, or that it is none."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(("terminal", "given", "lines"), [(True, False, 33), (False, False, 0), (True, True, 0)])
def test_a_terminal_sees_what_is_checked_unless_someone_else_is_told(monkeypatch, terminal, given, lines):
    monkeypatch.setattr(sys, "stderr", screen := Screen(terminal))
    check_policy(lb.UniformSampling(samples=1), report=(lambda line: None) if given else None)
    said = screen.getvalue().splitlines()
    assert len(said) == lines
    assert all(line.startswith("checked: ") for line in said)


def test_what_a_plain_policy_assumes_is_judged_by_the_plays_that_were_seen():
    """As compare does: it declares nothing of the kind."""
    assert check_policy(OneArm(), max_plays=50).assumes == {}
    assert check_policy(OneArm(two=True), max_plays=50).assumes == {"independent options": ("ordered", "free")}
