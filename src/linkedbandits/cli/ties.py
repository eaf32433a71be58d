"""Options that are equally good, or nearly so: no policy can tell which is best, and what can be asked instead."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10

import numpy as np

from linkedbandits.bounds import lower
from linkedbandits.cli import formatting
from linkedbandits.cli.options import NamedMeans
from linkedbandits.linkage import Linkage
from linkedbandits.model import FloatArray, per_cost
from linkedbandits.policy import AnyPolicy

HOPELESS = 1e9
"""Plays that nobody waits for."""
MOST_NAMED = 4


def undecidable(instance: NamedMeans, policy: AnyPolicy, linkage: Linkage) -> str | None:
    """Why a policy cannot be expected to come to the answer it looks for, and what to ask instead; None if it can.

    One that takes what is nearly the best, or that ends with a number of plays, comes to an answer whatever ties.
    """
    goal = policy.goal
    if goal.tolerance or goal.neighbours or goal.delta is None:
        return None
    return undecided(instance, linkage, goal.delta, goal.k, goal.costs)


def undecided(
    instance: NamedMeans,
    linkage: Linkage | None,
    delta: float,
    k: int = 1,
    costs: Sequence[float] = (),
    *,
    in_bounds: bool = False,
) -> str | None:
    """The same of the ``k`` best options with a chance of ``delta`` to be wrong; without a linkage of ties alone.

    ``in_bounds`` names the options of that command.

    >>> said = undecided(NamedMeans("3 arms", np.array([0.3, 0.3, 0.1])), None, 0.1)
    >>> said.partition(": ")[0]
    'arm 0 and arm 1 are equally good (each works 30 % of the time)'
    """
    scores = per_cost(instance.means, costs)
    if k >= scores.size:
        return None
    ranked = np.sort(scores)[::-1]
    gap = float(ranked[k - 1] - ranked[k])
    if gap == 0:
        alike = np.flatnonzero(scores == ranked[k])
        kind = f"each works {formatting.percent(instance.means[alike[0]])} of the time" if not costs else "per cost"
        why = f"{_named(instance, alike)} are equally good ({kind}): no number of plays tells which is {_wanted(k)}"
    else:
        if linkage is None or instance.dependence is not None:
            return None
        plays = lower(instance.means, delta, linkage.name, k, costs=costs)
        if plays <= HOPELESS:
            return None
        alike = np.flatnonzero((scores <= ranked[k - 1]) & (scores >= ranked[k]))
        why = (
            f"{_named(instance, alike)} differ by {gap:.2g} alone: no policy that is told nothing tells in fewer than "
            f"{formatting.count(plays)} plays which is {_wanted(k)}"
        )
    return f"{why}. {_instead(ranked, scores, k, costs, in_bounds)}"


def _wanted(k: int) -> str:
    return "best" if k == 1 else f"one of the {k} best"


def _named(instance: NamedMeans, arms: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str:
    names = [instance.called(arm) for arm in arms.tolist()]
    if len(names) > MOST_NAMED:
        return f"{', '.join(names[:MOST_NAMED])} and {len(names) - MOST_NAMED:,} more"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _instead(ranked: FloatArray, scores: FloatArray, k: int, costs: Sequence[float], in_bounds: bool) -> str:
    """What has an answer: one that is nearly the best, and, unless all are alike, those that are alike together."""
    if costs:  # with them there is no epsilon, and no k
        return "Ask for what can be had in a number of plays: --policy linked-halving:plays=1000."
    gap = float(ranked[k - 1] - ranked[k])
    alike = int((scores >= ranked[k] - 2 * gap).sum())
    behind = float(ranked[k - 1] - ranked[alike]) if alike < ranked.size else 0.0
    told_apart = behind > 4 * gap
    width = _rounded(behind / 2 if told_apart else max(float(ranked[0]) / 10, 4 * gap, 0.001))
    one, some = ("one", "") if k == 1 else (str(k), f"k={k},")
    where = "compare --policy" if in_bounds else "--policy"
    text = f"Ask for {one} within {width} of the best: {where} linked-elimination:{some}epsilon={width}"
    if told_apart:
        text += f"; or for the {alike} best: {'--k ' if in_bounds else '--policy linked-elimination:k='}{alike}"
    return f"{text}."


def _rounded(value: float) -> str:
    """With one digit, rounded down."""
    unit = 10.0 ** floor(log10(value))
    return f"{floor(value / unit + 1e-9) * unit:.1g}"
