"""What every policy has to keep to, whatever it decides."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, get_args

import numpy as np

from linkedbandits.assumptions import TOLD_DIFFERENCE, Assumption, ToldDifference
from linkedbandits.errors import InvalidParameter, LinkedBanditError, TooManyInFlight
from linkedbandits.linkage import LINKAGES, Asks, Linkage, fulfil
from linkedbandits.live import Experiment, Play
from linkedbandits.model import BoolArray, Counts, FloatArray, IntArray, Needs, Repeats, Request, check_request
from linkedbandits.plain import PlainPolicy, is_over
from linkedbandits.policy import (
    AnyPolicy,
    Goal,
    LaneState,
    SeedArray,
    assumed_when_seen,
    check_is_policy,
    undeclared_parameters,
    undeclared_top,
    unfitted_parameters,
    untold_parameters,
)
from linkedbandits.simulation import Outcomes, simulate_lanes
from linkedbandits.streams import LaneStreams
from linkedbandits.world import CoinFlips

Trace = list[tuple[tuple[object, ...], object]]
Report = Callable[[str], None]

MEANS = (0.15, 0.6, 0.3, 0.3)
EDGE_CASES = ([0.5, 0.5], [0.0, 0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.2, 0.1], [0.1, 0.2, 0.9, 0.9])
OUT_AT_ONCE = 5
"""Plays out at once, where a policy is told how many."""


MOST_PLAYS, MOST_PLAYS_OF_A_PLAIN_ONE = 20_000, 2_000


class PolicyCheckFailed(LinkedBanditError, AssertionError):
    """A policy breaks the contract; the message says which part of it."""


@dataclass(frozen=True)
class PolicyFindings:
    """What :func:`check_policy` found of a policy that keeps the contract; as text, a few sentences.

    ``checks`` are the promises that were checked, each with the linkage it was checked under. Of ``runs`` simulated
    runs, ``ended`` ended by the policy's own rule, the others at ``max_plays``. ``assumes`` has the names of what it
    takes for granted, each with the linkages under which it does; not that options are independent, if none of its
    plays tried a second arm.
    """

    policy: str
    goal: Goal
    error_bound: float | None
    keeps_evidence: bool
    heeds_parallel: bool
    assumes: dict[str, tuple[str, ...]]
    linkages: tuple[str, ...]
    checks: tuple[str, ...]
    runs: int
    ended: int
    max_plays: int

    def __str__(self) -> str:
        goal, bound = self.goal, self.error_bound
        best = "the arm with most successes per cost" if goal.costs else "the best arm"
        wanted = best if goal.k == 1 else f"the {goal.k} best arms"
        within = [f"{goal.tolerance:g} of the mean"] if goal.tolerance else []
        within += [f"{goal.neighbours} places"] if goal.neighbours else []
        given = [] if goal.delta is None else [f"delta={goal.delta:g}"]
        given += [] if goal.budget is None else [f"a budget of {goal.budget:,} plays"]
        evidence = "keeps evidence" if self.keeps_evidence else "keeps no evidence"
        heeds = "asks for more at a time" if self.heeds_parallel else "asks the same"
        assumed = [f"{name}, under {', '.join(linkages)}" for name, linkages in self.assumes.items()]
        return "\n".join(
            [
                f"{self.policy} keeps the contract: {len(self.checks)} checks, under {', '.join(self.linkages)}.",
                f"It looks for {wanted}{' within ' + ' and '.join(within) if within else ''}, "
                f"given {' and '.join(given) or 'neither delta nor a budget'}; "
                + ("nothing is proved." if bound is None else f"proved: wrong with probability at most {bound:g}."),
                f"It {evidence}; told how many plays will be out, it {heeds}.",
                f"It assumes {'; '.join(assumed) or 'nothing of how options go together'}.",
                f"Of {self.runs:,} runs {self.ended:,} ended by its own rule"
                + ("." if self.ended == self.runs else f", the others after {self.max_plays:,} plays."),
            ]
        )


def check_policy(
    policy: AnyPolicy,
    *,
    means: Sequence[float] = MEANS,
    seed: int = 0,
    max_plays: int | None = None,
    report: Report | None = None,
) -> PolicyFindings:
    """Hold a policy to the contract, under every linkage that allows what it asks for.

    - It is whole, and what it declares makes sense. Parameters whose names mean the same in every policy (``delta``,
      ``k``, ``epsilon``, ``neighbours``, ``costs``, ``plays``, ``parallel``, ``price``) are declared: nothing else
      reads them. So is a difference that it was told (``gap``, ``odds_ratio``, ``lift``), also as an assumption.
    - Its answer has the k arms that it declares; evidence, if it keeps any, is there at any moment.
    - The same seed gives the same trace, in simulation and live.
    - A request changes nothing, and neither does asking without telling.
    - The state survives JSON, at any moment, and so does a live experiment with plays in flight.
    - A lane does not depend on the lanes beside it.
    - Every run reaches a verdict or its budget: with ties, with means of 0 and of 1, with two arms; and names an arm.
    - Requests are whole, not negative, never for nothing, and of the kind that ``asks`` declares. Where that is needs,
      tuples will do if the linkage allows them.
    - A :class:`linkedbandits.PlainPolicy` also asks the same when it is played by hand, with ask and tell alone, and
      keeps to that when runs take turns: nothing of a run is kept in the class, or drawn from elsewhere than its seed.

    Runs that do not end by themselves, as with ties, end after ``max_plays``: 20,000 unless given, and 2,000 for a
    :class:`linkedbandits.PlainPolicy`, whose plays take thousands of times as long.

    ``report`` is told, a line each, what has been checked, and at the end what was found. That is also returned.
    Without one, what has been checked is written to stderr where that is a terminal, for it may take seconds. Raises
    PolicyCheckFailed at the first violation.

    >>> import linkedbandits as lb
    >>> print(check_policy(lb.LinkedHalving(plays=60)))
    LinkedHalving(plays=60, neighbours=0) keeps the contract: 33 checks, under ordered, free, single, suffix.
    It looks for the best arm, given a budget of 60 plays; nothing is proved.
    It keeps no evidence; told how many plays will be out, it asks for more at a time.
    It assumes independent options, under ordered, free, suffix.
    Of 420 runs 420 ended by its own rule.
    """
    progress = report or (_to_the_terminal if sys.stderr.isatty() else _to_nobody)
    most = max_plays or (MOST_PLAYS_OF_A_PLAIN_ONE if isinstance(policy, PlainPolicy) else MOST_PLAYS)
    say = report or _to_nobody
    try:
        found = _examine(policy, means, seed, most, progress)
    except PolicyCheckFailed as error:
        say(f"broken: {error}")
        raise
    say(str(found))
    return found


def _to_the_terminal(line: str) -> None:
    print(f"checked: {line}", file=sys.stderr, flush=True)


def _to_nobody(_: str) -> None:
    pass


@dataclass
class _Case:
    """A policy under one linkage, and what was found of it there."""

    LANES: ClassVar[int] = 3

    policy: AnyPolicy
    linkage: Linkage
    means: Sequence[float]
    seed: int
    max_plays: int
    keeps_evidence: bool = False
    runs: int = 0
    ended: int = 0
    one_a_play: bool = True

    def __post_init__(self) -> None:
        self.goal = self.policy.goal
        self.fitted: AnyPolicy = self.policy.fitted_to(self.linkage, None)

    def require(self, holds: bool, promise: str) -> None:
        if not holds:
            raise PolicyCheckFailed(f"{self.policy!r} under linkage {self.linkage.name!r}: {promise}")

    def simulate(self, *means: Sequence[float], trials: int, parallel: int | None = None) -> Outcomes:
        """So many runs with each of these means, side by side."""
        outcomes = simulate_lanes(
            np.repeat(np.array(means, dtype=np.float64), trials, axis=0),
            self.policy,
            linkage=self.linkage,
            seed=self.seed,
            max_plays=self.max_plays,
            parallel=parallel,
        )
        self.runs += outcomes.plays.size
        self.one_a_play &= bool((outcomes.samples.sum(axis=1) == outcomes.plays).all())
        self.ended += int((outcomes.confident | (outcomes.plays < self.max_plays)).sum())
        return outcomes

    def steps(self, most: int = 40) -> Iterator[tuple[LaneState, Request, Counts]]:
        """The states before each request, the request, and the counts that answer it, until a lane stops.

        It is one state, that changes: after the last step it has observed the last counts.
        """
        lanes, means = self.LANES, np.array(self.means)
        world = CoinFlips(np.broadcast_to(means, (lanes, means.size)), LaneStreams(self.seed, means.size, range(lanes)))
        state = self.fitted.start(lanes, means.size, self.policy_seeds(lanes))
        limit = np.full(lanes, 2**60)
        for _ in range(most):
            if state.stopped.any():
                return
            request = self.fitted.request(state)
            check_request(request)
            counts = fulfil(request, limit, means.size, self.linkage, world).counts
            yield state, request, counts
            self.fitted.observe(state, counts)

    @cached_property
    def asked(self) -> list[tuple[Request, Counts]]:
        """The requests and counts of these steps, kept apart from the state, which goes on changing."""
        lanes = np.arange(self.LANES)
        return [(request.take(lanes), counts.take(lanes)) for _, request, counts in self.steps()]

    def policy_seeds(self, lanes: int) -> SeedArray:
        return LaneStreams(self.seed, len(self.means), range(lanes)).policy_seeds()


def _examine(policy: AnyPolicy, means: Sequence[float], seed: int, max_plays: int, say: Report) -> PolicyFindings:
    checks = ["what it declares makes sense"]
    _check_declarations(policy)
    say(checks[0])
    least = max(policy.goal.k, 2 * policy.goal.neighbours + 1) + 1
    if len(means) < least:
        raise InvalidParameter(f"means={means!r} leaves {policy!r} nothing to decide; give at least {least} means")
    linkages = [linkage for linkage in LINKAGES.values() if linkage.allows(policy.asks)]
    cases = [_Case(policy, linkage, means, seed, max_plays) for linkage in linkages]
    for case in cases:
        for promise, check in {**_PROMISES, **(_OF_PLAIN_ONES if isinstance(policy, PlainPolicy) else {})}.items():
            try:
                check(case)
            except InvalidParameter as error:
                if error.parameter != "needs":
                    raise
                raise PolicyCheckFailed(f"{policy!r}: {error}") from error
            checks.append(f"{case.linkage.name}: {promise}")
            say(checks[-1])
    return PolicyFindings(
        policy=repr(policy),
        goal=policy.goal,
        error_bound=policy.error_bound,
        keeps_evidence=any(case.keeps_evidence for case in cases),
        heeds_parallel=any(policy.fitted_to(case.linkage, OUT_AT_ONCE) != case.fitted for case in cases),
        assumes=_assumed(policy, cases),
        linkages=tuple(linkage.name for linkage in linkages),
        checks=tuple(checks),
        runs=sum(case.runs for case in cases),
        ended=sum(case.ended for case in cases),
        max_plays=max_plays,
    )


def _assumed(policy: AnyPolicy, cases: Sequence[_Case]) -> dict[str, tuple[str, ...]]:
    """Under which linkages it assumes what, judged by the plays that were seen, as ``linkedbandits compare`` does."""
    found: dict[str, tuple[str, ...]] = {}
    for case in cases:
        for assumption in assumed_when_seen(policy, case.linkage, one_a_play=case.one_a_play):
            found[assumption.name] = (*found.get(assumption.name, ()), case.linkage.name)
    return found


def _check_declarations(policy: AnyPolicy) -> None:
    """Whole, with values of the right kind, and without a parameter that only looks declared."""

    def require(holds: bool, promise: str) -> None:
        if not holds:
            raise PolicyCheckFailed(f"{policy!r}: {promise}")

    try:
        check_is_policy(policy)
        goal, bound = policy.goal, policy.error_bound
    except InvalidParameter as error:
        raise PolicyCheckFailed(f"{policy!r}: {error}") from error
    require(
        isinstance(policy.name, str) and bool(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", policy.name)),
        f"name={policy.name!r} must be text in kebab case, such as 'every-other'",
    )
    require(
        any(linkage.allows(policy.asks) for linkage in LINKAGES.values()),
        f"no linkage allows what the policy asks for, {policy.asks!r}; choose one of {', '.join(get_args(Asks))}",
    )
    require(
        isinstance(policy.answers_at_any_time, bool),
        f"answers_at_any_time={policy.answers_at_any_time!r} must be True or False",
    )
    require(
        policy.status_at_stop in ("confident", "exhausted"),
        f"status_at_stop={policy.status_at_stop!r} must be 'confident' or 'exhausted'",
    )
    require(isinstance(goal, Goal), f"goal={goal!r} must be a linkedbandits.policy.Goal")
    require(
        policy.told_difference is None or isinstance(policy.told_difference, ToldDifference),
        f"told_difference={policy.told_difference!r} must be None, or a linkedbandits.assumptions.ToldDifference",
    )
    for parameter in untold_parameters(policy):
        require(
            False,
            f"the parameter {parameter} must be declared, by a property told_difference that returns "
            f"linkedbandits.assumptions.ToldDifference({parameter}=self.{parameter})",
        )
    for parameter, part in undeclared_parameters(policy).items():
        require(False, f"the parameter {parameter} must be declared; return Goal({part}=self.{parameter}) as its goal")
    for linkage in LINKAGES.values():
        assumed = policy.assumptions(linkage) if linkage.allows(policy.asks) else ()
        require(
            isinstance(assumed, tuple) and all(isinstance(each, Assumption) for each in assumed),
            f"assumptions() must be a tuple of linkedbandits.assumptions.Assumption; got {assumed!r}",
        )
        named = [each.name for each in assumed]
        require(len(set(named)) == len(named), f"assumptions() must have no name twice; got {', '.join(named)}")
        require(
            policy.told_difference is None or TOLD_DIFFERENCE in named or not linkage.allows(policy.asks),
            "assumptions() must have what was told; add self.told_difference.assumption()",
        )
    if bound is not None:
        require(isinstance(bound, float) and 0 < bound < 1, f"error_bound={bound!r} must be None, or between 0 and 1")
        require(
            goal.delta is not None and bound <= goal.delta,
            f"error_bound={bound!r} must be at most the delta of its goal, which is {goal.delta!r}",
        )


def _check_same_seed_same_runs(case: _Case) -> None:
    first, second = (case.simulate(case.means, trials=20) for _ in range(2))
    same = np.array_equal(first.top, second.top) and np.array_equal(first.samples, second.samples)
    case.require(same, "the same seed must give the same runs")


def _check_asks_what_it_declares(case: _Case) -> None:
    arms = len(case.means)
    for request, _ in case.asked:
        if isinstance(request, Needs):
            continue
        for row in request.order.reshape(-1, request.order.shape[-1]).tolist():
            tried = [arm for arm in row if arm >= 0]
            distinct = len(set(tried)) == len(tried) > 0 and max(tried) < arms
            case.require(distinct, f"a tuple must have different arms of 0 to {arms - 1}; got {row}")
            suffix = tried == list(range(tried[0], arms))
            if case.policy.asks == "needs":  # it may ask for more than it has to where a linkage allows that
                kind: Asks = "suffixes" if suffix else "ordered tuples" if tried == sorted(tried) else "tuples"
                allowed = case.linkage.allows(kind)
                case.require(allowed, f"it asks='needs', so request() must return Needs here; {row} cannot be played")
            elif case.policy.asks == "suffixes":
                case.require(suffix, f"it asks='suffixes', all arms from one on; got {row}")
            elif case.policy.asks == "ordered tuples":
                case.require(tried == sorted(tried), f"it asks='ordered tuples', in the arms' order; got {row}")


def _check_requests_change_nothing(case: _Case) -> None:
    for state, request, _ in case.steps():
        before = state.to_json()
        again = case.fitted.request(state)
        case.require(_same_request(request, again), "request() must give the same twice in a row")
        case.require(state.to_json() == before, "request() must not change the state")
        read = type(state).from_json(json.loads(json.dumps(before)))
        case.require(read.to_json() == before, "the state must survive JSON")
        case.require(_same_request(request, case.fitted.request(read)), "a state read from JSON must ask the same")


def _check_answer_and_evidence(case: _Case) -> None:
    state: LaneState | None = None
    for step, (state, *_) in enumerate(case.steps()):
        if step == 0:
            case.keeps_evidence = case.fitted.log10_evidence(state) is not None
        _check_answer_and_evidence_of(case, state, observed=step > 0)
    if state is None:
        raise PolicyCheckFailed(f"{case.policy!r}: start() must not have stopped before anything was played")
    _check_answer_and_evidence_of(case, state, observed=True)


def _check_answer_and_evidence_of(case: _Case, state: LaneState, observed: bool) -> None:
    before = state.to_json()
    answer, evidence = case.fitted.answer(state), case.fitted.log10_evidence(state)
    case.require(state.to_json() == before, "answer() and log10_evidence() must not change the state")
    wanted = (state.stopped.size, case.goal.k)
    case.require(
        isinstance(answer, np.ndarray) and answer.shape == wanted and answer.dtype.kind in "iu",
        f"answer() must be an array of arms, (lanes, k) = {wanted}; got {answer!r}",
    )
    case.require(not undeclared_top(case.fitted, state), "the state has an array top, so answer() must return that")
    final = state.stopped | (observed and case.fitted.answers_at_any_time)
    _check_named(case, answer[final], state.still_in.shape[1])
    case.require(np.array_equal(answer[final, 0], state.arm[final]), "the first arm of the answer must be state.arm")
    case.require((evidence is not None) == case.keeps_evidence, "log10_evidence() must be None always or never")
    if evidence is not None:
        _check_evidence(case, evidence, state.still_in)


def _check_evidence(case: _Case, evidence: FloatArray, still_in: BoolArray) -> None:
    shape, delta = still_in.shape, case.goal.delta
    case.require(
        isinstance(evidence, np.ndarray) and evidence.shape == shape and not bool(np.isnan(evidence).any()),
        f"log10_evidence() must be numbers, (lanes, arms) = {shape}; got {evidence!r}",
    )
    if delta is None:
        raise PolicyCheckFailed(f"{case.policy!r}: evidence is compared with 1/delta, so its goal must have a delta")
    enough = evidence >= -np.log10(delta) + 1e-9
    case.require(not (enough & still_in).any(), "an arm whose evidence has reached 1/delta must be out")


def _check_named(case: _Case, answer: IntArray, arms: int) -> None:
    named = bool(((answer >= 0) & (answer < arms)).all())
    case.require(named, f"the answer must be one of the arms 0 to {arms - 1}, or k of them")
    case.require(bool((np.diff(np.sort(answer, axis=1), axis=1) > 0).all()), "the k arms of the answer must differ")


def _check_fitted(case: _Case) -> None:
    for parallel in (None, OUT_AT_ONCE):
        fitted = case.policy.fitted_to(case.linkage, parallel)
        case.require(type(fitted) is type(case.policy), "fitted_to() must return a policy of the same class")
        case.require(fitted.goal == case.goal, "fitted_to() must not change the goal")
        same = fitted.assumptions(case.linkage) == case.policy.assumptions(case.linkage)
        case.require(same, "fitted_to() must not change what is assumed")
        again = fitted.fitted_to(case.linkage, parallel)
        case.require(again == fitted, "fitted_to() must change nothing the second time")
    for parameter in unfitted_parameters(case.policy, case.linkage, OUT_AT_ONCE):
        case.require(False, f"the parameter {parameter} must be taken in by fitted_to(): nothing else sets it")
    runs = case.simulate(case.means, trials=5, parallel=OUT_AT_ONCE)
    _check_ends(case, runs, len(case.means))


def _check_lanes_are_independent(case: _Case) -> None:
    seeds = case.policy_seeds(case.LANES)
    alone = case.fitted.start(1, len(case.means), seeds[1:2])
    for request, counts in case.asked:
        if alone.stopped[0]:
            break
        own = case.fitted.request(alone)
        same = _same_request(own, request.take(np.array([1])))
        case.require(same, "a lane must ask the same alone as beside others")
        case.fitted.observe(alone, counts.take(np.array([1])))


def _check_live_trace_survives_json(case: _Case) -> None:
    """Play by play with two plays in flight; a copy is saved and read back, and made to ask, on the way."""
    straight = _live_trace(case, between=lambda exp: exp)

    def save_and_read(exp: Experiment) -> Experiment:
        text = exp.to_json()
        return Experiment.from_json(text, policy=case.policy)

    if _live_trace(case, between=save_and_read) != straight:
        again = _live_trace(case, between=lambda exp: exp)
        case.require(straight == again, "the same answers must give the same plays")
        case.require(False, "a saved experiment must go on exactly where it stopped")

    exp = Experiment(range(len(case.means)), case.policy, linkage=case.linkage, seed=case.seed)
    before = exp.state_as_json()
    with suppress(TooManyInFlight):  # a policy with a small budget hands out no more than that
        for _ in range(50):
            exp.ask()
    case.require(exp.state_as_json() == before, "asking without telling must not change the state")


def _live_trace(case: _Case, between: Callable[[Experiment], Experiment], plays: int = 200) -> Trace:
    means = case.means
    flips = np.random.default_rng(case.seed)
    exp = Experiment(range(len(means)), case.policy, linkage=case.linkage, seed=case.seed)
    trace: Trace = []
    waiting: list[Play] = []
    for number in range(plays):
        if exp.done:
            break
        with suppress(TooManyInFlight):
            waiting.append(exp.ask())
        if number < 40 or number % 5 == 0:  # most of what differs between plays is seen early
            exp = between(exp)
        if len(waiting) == 2 or exp.plays + exp.in_flight == case.goal.budget:
            play = waiting.pop(0)
            heads = flips.random(len(means)) < means
            hit = next((arm for arm in play.arms if heads[arm]), None)  # type: ignore[call-overload]
            exp.tell(play.id, hit)
            trace.append((play.arms, hit))
    trace.append(((), exp.recommend()))
    return trace


def _check_plain_runs_take_turns(case: _Case) -> None:
    """Two runs by hand with the same seed, and one with another between them, against the requests of the lanes."""
    if not isinstance(case.policy, PlainPolicy):
        return
    arms, seeds = len(case.means), case.policy_seeds(case.LANES).tolist()
    one, between, again = (copy.deepcopy(case.policy) for _ in range(3))
    for run, seed in ((one, seeds[0]), (between, seeds[1]), (again, seeds[0])):
        run.begin(arms, seed)
    for request, counts in case.asked:
        told = counts.successes[0].tolist()
        wanted = request.samples[0].tolist() if isinstance(request, Needs) else _tuple_of(request)
        for run in (one, between, again):
            asked = tuple(run.ask())
            if run is between:
                run.tell(asked, None)
                continue
            shown = [asked.count(arm) for arm in range(arms)] if isinstance(request, Needs) else asked
            case.require(
                shown == wanted,
                f"ask() must return the same whenever begin() had the same seed and tell() the same answers; got "
                f"{asked} where it was {wanted} before. Keep nothing in the class, and draw from the seed alone",
            )
            left = list(told)
            for part in [(arm,) for arm in asked] if isinstance(request, Needs) else [asked]:
                hit = next((arm for arm in part if left[arm]), None)
                if hit is not None:
                    left[hit] -= 1
                run.tell(part, hit)
        if is_over(between):
            between = copy.deepcopy(case.policy)
            between.begin(arms, seeds[1])


def _tuple_of(request: Request) -> tuple[int, ...]:
    """Of the first lane; needs have none."""
    assert isinstance(request, Repeats)
    row: list[int] = request.order[0].tolist()
    return tuple(arm for arm in row if arm >= 0)


def _check_every_run_ends(case: _Case) -> None:
    by_arms: dict[int, list[list[float]]] = {}
    for means in EDGE_CASES:
        arms = len(case.goal.costs) or len(means)  # costs are for one number of arms alone
        if arms > max(case.goal.k, 2 * case.goal.neighbours + 1):  # or there would be nothing to decide
            by_arms.setdefault(arms, []).append(np.resize(means, arms).tolist())
    for arms, cases in by_arms.items():
        _check_ends(case, case.simulate(*cases, trials=10), arms)


def _check_ends(case: _Case, runs: Outcomes, arms: int) -> None:
    limit, budget = case.max_plays, case.goal.budget
    case.require(bool((runs.plays <= limit).all()), f"no run may pass max_plays={limit}")
    case.require(bool((runs.plays > 0).all()), "every run must play")
    within = budget is None or bool((runs.plays <= budget).all())
    case.require(within, f"no run may pass the budget of its goal, {budget} plays; one took {runs.plays.max()}")
    _check_named(case, runs.top, arms)


def _same_request(one: Request, other: Request) -> bool:
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in type(one).__dataclass_fields__
    )


_PROMISES: dict[str, Callable[[_Case], None]] = {
    "its answer and its evidence are what it declares": _check_answer_and_evidence,
    "the same seed gives the same runs": _check_same_seed_same_runs,
    "it asks for what it declares": _check_asks_what_it_declares,
    "a request changes nothing, and a state survives JSON": _check_requests_change_nothing,
    "a lane does not depend on the lanes beside it": _check_lanes_are_independent,
    "it keeps to what it declares when it is told how many plays will be out": _check_fitted,
    "a live experiment goes on exactly where it was saved": _check_live_trace_survives_json,
    "every run ends and names its arms, with ties and with means of 0 and 1": _check_every_run_ends,
}
_OF_PLAIN_ONES: dict[str, Callable[[_Case], None]] = {
    "played by hand, runs that take turns ask the same": _check_plain_runs_take_turns,
}
