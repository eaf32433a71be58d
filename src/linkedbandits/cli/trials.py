"""Simulated trials of one policy: how ``simulate`` and ``compare`` run them, and the sentences that explain them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from time import monotonic
from typing import Any

import numpy as np

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.bounds import lower
from linkedbandits.bounds.for_policy import BoundAsTold, lower_as_told
from linkedbandits.cli import tables
from linkedbandits.cli.options import Instance, RunSettings
from linkedbandits.linkage import Linkage
from linkedbandits.model import FloatArray, IntArray, per_cost
from linkedbandits.policies import POLICIES, describe_policy
from linkedbandits.policy import AnyPolicy, assumed_when_seen
from linkedbandits.runs import Runs
from linkedbandits.simulation import simulate

OVER_BOUND = "over bound"
"""The heading of the column with plays over the lower bound."""
HOPELESS = 1e9
"""A lower bound on plays above which an instance counts as undecidable."""
PATIENCE = 5.0
"""Seconds without a finished trial until the first warning; then twice as many until the next."""


@dataclass(frozen=True)
class PolicyTrials:
    """A policy as it was written, and its simulated runs.

    ``bound`` is the lower bound for policies that are told as much, ``assumed`` are the policy's assumptions, and
    ``undecidable`` says why no answer can be expected, and what to ask instead.
    """

    text: str
    policy: AnyPolicy
    runs: Runs
    bound: BoundAsTold
    assumed: tuple[Assumption, ...]
    undecidable: str | None

    def to_json(self) -> dict[str, Any]:
        """The policy and its figures, ready for ``json.dumps``."""
        summary, told = self.runs.summary(), self.bound.told
        return {
            **describe_policy(self.policy),
            **summary.to_dict(),
            "told": None if told is None else {"gap": told.gap, "odds_ratio": told.odds_ratio},
            "lower_bound": self.bound.plays,
            "over_bound": self.bound.ratio(summary.plays_mean),
            "no_bound_because": self.bound.reason,
            "error_bound": self.policy.error_bound,
            "undecidable": self.undecidable,
            "assumes": [assumption.name for assumption in self.assumed],
        }


def run_trials(
    text: str,
    policy: AnyPolicy,
    instance: Instance,
    settings: RunSettings,
    trials: int,
    seed: int,
    advance: tables.Advance,
) -> PolicyTrials:
    """Simulate a policy on an instance."""
    stall = StallWarning(text, advance)
    runs = simulate(
        instance.means,
        policy,
        linkage=settings.linkage,
        world=instance.law,
        trials=trials,
        seed=seed,
        max_plays=settings.max_plays,
        progress=stall.progress,
        watch=stall.watch if settings.max_plays is None else None,
    )
    if instance.dependence is None:
        bound = lower_as_told(policy, instance.means, settings.linkage)
    else:
        bound = BoundAsTold(None, policy.told_difference, "it is for independent options")
    if POLICIES.get(policy.name) is type(policy):
        assumed = policy.assumptions(settings.linkage)
    else:  # the user's own policy may try one arm a play where more are allowed, and then assumes less
        one_a_play = bool((runs.samples.sum(axis=1) == runs.plays).all())
        assumed = assumed_when_seen(policy, settings.linkage, one_a_play=one_a_play)
    return PolicyTrials(text, policy, runs, bound, assumed, undecidable(instance, policy, settings.linkage))


class StallWarning:
    """Warns on standard error while no trial of a policy has ended; passes progress on to ``advance``."""

    def __init__(self, policy: str, advance: tables.Advance, clock: Callable[[], float] = monotonic) -> None:
        self._policy, self._advance, self._clock = policy, advance, clock
        self._wait, self._since, self._ended = PATIENCE, clock(), False

    def progress(self, trials: int) -> None:
        """Count trials that have ended."""
        self._ended = self._ended or trials > 0
        self._advance(self._policy, trials)

    def watch(self, lanes: IntArray, plays: IntArray, still_in: IntArray) -> None:
        """Warn if it is time to; called at every step of the simulation."""
        if self._ended or self._clock() - self._since < self._wait:
            return
        self._wait *= 2
        said = f"{self._policy}: no trial has ended after {int(plays.max()):,} plays; --max-plays ends them"
        print(said, file=sys.stderr, flush=True)


def marked(name: str, told: object) -> str:
    """The name of a policy in its row, marked where it is told something; :func:`bound_note` explains the mark.

    >>> marked("linked-lead:gap=0.1", "a gap of 0.1"), marked("linked-lead", None)
    ('linked-lead:gap=0.1 *', 'linked-lead')
    """
    return name if told is None else f"{name} *"


def over_bound(bound: BoundAsTold, plays: float) -> str:
    """The cell of a table.

    >>> over_bound(BoundAsTold(100.0), 425.0), over_bound(BoundAsTold(None, reason="arms tie"), 425.0)
    ('4.2', '-')
    """
    ratio = bound.ratio(plays)
    return "-" if ratio is None else tables.times(ratio)


def bound_note(shown: Iterable[tuple[str, BoundAsTold]]) -> str:
    """The meaning of the column ``OVER_BOUND``, and why some policies have no bound.

    >>> bound_note([("uniform-sampling", BoundAsTold(9.0)), ("mine", BoundAsTold(None, reason="arms tie"))])
    'Over bound is plays over what no policy can beat. There is no bound for mine: arms tie.'
    """
    shown = list(shown)
    told = list(dict.fromkeys(str(bound.told) for _, bound in shown if bound.told is not None))
    what = told[0] if len(told) == 1 else "a difference"
    note = "Over bound is plays over what no policy can beat."
    if told:
        note = f"Over bound is plays over what no policy that is told as much can beat (* is told {what})."
    reasons: dict[str, list[str]] = {}
    for text, bound in shown:
        if bound.reason is not None:
            reasons.setdefault(bound.reason, []).append(text)
    missing = [f"There is no bound for {tables.listed(texts)}: {reason}." for reason, texts in reasons.items()]
    return " ".join([note, *missing])


def assumed_lines(shown: Iterable[tuple[str, Iterable[Assumption]]], dependence: str | None = None) -> list[str]:
    """A paragraph for each assumption of the policies of a table, with the policies that make it.

    Simulated options are independent unless ``dependence`` says how they depend on each other.

    >>> (line,) = assumed_lines([("linked-elimination", [INDEPENDENT_OPTIONS])])
    >>> line.partition(". ")[0]
    'linked-elimination assumes independent options, and the simulated options are independent'
    """
    shown = [(name, tuple(assumed)) for name, assumed in shown]
    lines = []
    for assumption in dict.fromkeys(each for _, assumed in shown for each in assumed):
        names = [name for name, assumed in shown if assumption in assumed]
        others = [name for name, assumed in shown if assumption not in assumed]
        subject = f"{tables.listed(names, len(names))} {'assumes' if len(names) == 1 else 'assume'}"
        if len(names) > 1 and not others:
            subject = "All these policies assume"
        if assumption == INDEPENDENT_OPTIONS:
            holds = ", and the simulated options are independent" if dependence is None else f"; {dependence}"
            not_so = "" if not others else f" {', '.join(others)} {'does' if len(others) == 1 else 'do'} not."
            lines.append(f"{subject} {assumption.name}{holds}.{not_so} {assumption.remedy}")
        else:
            lines.append(f"{subject} {assumption.name}. {assumption.sentence} {assumption.remedy}")
    return lines


def undecidable(instance: Instance, policy: AnyPolicy, linkage: Linkage) -> str | None:
    """Why a policy cannot be expected to find its answer, and what to ask instead; None if it can.

    A policy with a tolerance or a budget comes to an answer whatever ties.
    """
    goal = policy.goal
    if goal.tolerance or goal.neighbours or goal.delta is None:
        return None
    return undecided(instance, linkage, goal.delta, goal.k, goal.costs)


def undecided(
    instance: Instance,
    linkage: Linkage | None,
    delta: float,
    k: int = 1,
    costs: Sequence[float] = (),
    *,
    in_bounds: bool = False,
) -> str | None:
    """The same for the ``k`` best options; without a linkage for exact ties alone.

    ``in_bounds`` names the options of ``linkedbandits bounds``.

    >>> said = undecided(Instance("3 arms", np.array([0.3, 0.3, 0.1])), None, 0.1)
    >>> said.partition(": ")[0]
    'arm 0 and arm 1 are equally good (each works 30 % of the time)'
    """
    scores = per_cost(instance.means, costs)
    if k >= scores.size:
        return None
    ranked = np.sort(scores)[::-1]
    gap = float(ranked[k - 1] - ranked[k])
    alike = np.flatnonzero((scores <= ranked[k - 1]) & (scores >= ranked[k])).tolist()
    names = tables.listed([instance.label(arm) for arm in alike])
    wanted = "best" if k == 1 else f"one of the {k} best"
    if gap == 0:
        kind = f"each works {tables.percent(instance.means[alike[0]])} of the time" if not costs else "per cost"
        why = f"{names} are equally good ({kind}): no number of plays tells which is {wanted}"
    elif linkage is None or instance.dependence is not None:
        return None
    else:
        plays = lower(instance.means, delta, linkage.name, k, costs=costs)
        if plays <= HOPELESS:
            return None
        why = (
            f"{names} differ by {gap:.2g} alone: no policy that is told nothing tells in fewer than "
            f"{tables.count(plays)} plays which is {wanted}"
        )
    return f"{why}. {_instead(ranked, k, costs, in_bounds)}"


def _instead(ranked: FloatArray, k: int, costs: Sequence[float], in_bounds: bool) -> str:
    """Questions with an answer: an option near the best, or, unless all options are alike, the group of alike ones."""
    if costs:  # with costs there is no epsilon, and no k
        return "Ask for what can be had in a number of plays: --policy linked-halving:plays=1000."
    gap = float(ranked[k - 1] - ranked[k])
    alike = int((ranked >= ranked[k] - 2 * gap).sum())
    behind = float(ranked[k - 1] - ranked[alike]) if alike < ranked.size else 0.0
    told_apart = behind > 4 * gap
    width = behind / 2 if told_apart else max(float(ranked[0]) / 10, 4 * gap, 0.001)
    unit = 10.0 ** floor(log10(width))
    epsilon = f"{floor(width / unit + 1e-9) * unit:.1g}"  # one digit, rounded down
    one, some = ("one", "") if k == 1 else (str(k), f"k={k},")
    where = "compare --policy" if in_bounds else "--policy"
    text = f"Ask for {one} within {epsilon} of the best: {where} linked-elimination:{some}epsilon={epsilon}"
    if told_apart:
        text += f"; or for the {alike} best: {'--k ' if in_bounds else '--policy linked-elimination:k='}{alike}"
    return f"{text}."
