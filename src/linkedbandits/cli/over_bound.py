"""Plays over what no policy can beat that is told as much, as the command line says it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkedbandits.bounds.for_policy import BoundAsTold, lower_as_told
from linkedbandits.cli import formatting
from linkedbandits.cli.options import NamedMeans
from linkedbandits.linkage import Linkage
from linkedbandits.policy import AnyPolicy


def bound_of(policy: AnyPolicy, instance: NamedMeans, linkage: Linkage) -> BoundAsTold:
    """The bound that a policy's plays are measured by on the instance."""
    if instance.dependence is not None:
        return BoundAsTold(None, policy.told_difference, "it is for independent options")
    return lower_as_told(policy, instance.means, linkage)


def over_bound(bound: BoundAsTold, plays: float) -> str:
    """The cell of a table.

    >>> over_bound(BoundAsTold(100.0), 425.0), over_bound(BoundAsTold(None, reason="arms tie"), 425.0)
    ('4.2', '-')
    """
    ratio = bound.ratio(plays)
    return "-" if ratio is None else formatting.times(ratio)


def bound_data(bound: BoundAsTold, plays: float) -> dict[str, Any]:
    """What JSON has of it.

    >>> bound_data(BoundAsTold(None, reason="arms tie"), 425.0)
    {'told': None, 'lower_bound': None, 'over_bound': None, 'no_bound_because': 'arms tie'}
    """
    told = bound.told
    return {
        "told": None if told is None else {"gap": told.gap, "odds_ratio": told.odds_ratio},
        "lower_bound": bound.plays,
        "over_bound": bound.ratio(plays),
        "no_bound_because": bound.reason,
    }


HEADING = "over bound"
"""Of the column, in every table."""


def marked(name: str, told: object) -> str:
    """The name of a policy in its row of a table, marked where it is told something; :func:`meaning` explains it.

    >>> marked("linked-lead:gap=0.1", "a gap of 0.1"), marked("linked-lead", None)
    ('linked-lead:gap=0.1 *', 'linked-lead')
    """
    return name if told is None else f"{name} *"


def meaning(told: Iterable[object]) -> str:
    """What the column says, in every table.

    >>> meaning([None])
    'Over bound is plays over what no policy can beat.'
    >>> meaning([None, "a gap of 0.1", "a gap of 0.1"])
    'Over bound is plays over what no policy that is told as much can beat (* is told a gap of 0.1).'
    """
    things = list(dict.fromkeys(str(one) for one in told if one is not None))
    if not things:
        return "Over bound is plays over what no policy can beat."
    what = things[0] if len(things) == 1 else "a difference"
    return f"Over bound is plays over what no policy that is told as much can beat (* is told {what})."


def bound_note(shown: Iterable[tuple[str, BoundAsTold]]) -> str:
    """What the column says, and of which policies it says nothing, and why.

    >>> bound_note([("uniform-sampling", BoundAsTold(9.0)), ("mine", BoundAsTold(None, reason="arms tie"))])
    'Over bound is plays over what no policy can beat. There is no bound for mine: arms tie.'
    """
    shown = list(shown)
    reasons: dict[str, list[str]] = {}
    for text, bound in shown:
        if bound.reason is not None:
            reasons.setdefault(bound.reason, []).append(text)
    missing = [f"There is no bound for {', '.join(texts)}: {reason}." for reason, texts in reasons.items()]
    return " ".join([meaning(bound.told for _, bound in shown), *missing])


def bound_sentence(bound: BoundAsTold, plays: float) -> str:
    """The same of one policy.

    >>> bound_sentence(BoundAsTold(100.0), 425.0)
    'That is 4.2 times the 100 plays that no policy can beat.'
    """
    if bound.plays is None:
        return f"There is no bound to compare with: {bound.reason}."
    told = "" if bound.told is None else f" told {bound.told}"
    return (
        f"That is {over_bound(bound, plays)} times the {formatting.count(bound.plays)} plays that no policy{told} "
        "can beat."
    )
