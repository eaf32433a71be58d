"""The lower bound that a policy's plays are measured by: the one for what it looks for and for what it was told.

A policy that is told how far ahead the best arm is may need fewer plays than any that is told nothing. So its plays
over the bound for those who are told nothing say little; tables show them over the bound for those who are told as
much. Which bound that is, is decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from linkedbandits.assumptions import ToldDifference
from linkedbandits.bounds.characteristic import characteristic_time
from linkedbandits.bounds.divergence import kl_of_error
from linkedbandits.bounds.told import why_untrue
from linkedbandits.display import short_repr
from linkedbandits.errors import LinkedBanditError
from linkedbandits.linkage import LINKAGES, Linkage
from linkedbandits.model import FloatArray, check_means
from linkedbandits.policy import AnyPolicy, linkage_of

__all__ = ["BoundAsTold", "lower_as_told"]

MOST_ARMS = 100
"""With more arms the programme that a told difference, costs or several best arms take would keep a table waiting."""


@dataclass(frozen=True, slots=True)
class BoundAsTold:
    """What no policy can beat that looks for the same and is told as much; or why there is no such number."""

    plays: float | None
    told: ToldDifference | None = None
    reason: str | None = None
    """How a sentence goes on that says there is no bound, without a full stop; None where there is one."""

    __repr__ = short_repr

    def ratio(self, plays: float) -> float | None:
        """So many plays over the bound; None without one.

        >>> BoundAsTold(50.0).ratio(200.0)
        4.0
        """
        return None if self.plays is None else plays / self.plays


def lower_as_told(policy: AnyPolicy, means: npt.ArrayLike, linkage: str | Linkage | None = None) -> BoundAsTold:
    """Plays that every policy needs on average here which looks for what this one does, and is told as much.

    >>> import linkedbandits as lb
    >>> means = [0.1, 0.05, 0.05]
    >>> round(lower_as_told(lb.LinkedElimination(0.1), means).plays, 1)
    209.3
    >>> round(lower_as_told(lb.LinkedLead(0.1, gap=0.05), means).plays, 1)
    57.2
    >>> lower_as_told(lb.LinkedLead(0.1, gap=0.2), means).reason
    'the best arm is ahead by 0.05, less than gap=0.2, which it is told'
    """
    vector, link, told = check_means(means), linkage_of([policy], linkage), policy.told_difference
    reason = _why_none(policy, vector)
    if reason is not None:
        return BoundAsTold(None, told, reason)
    try:
        plays = _plays(policy, vector, link)
    except LinkedBanditError as error:
        return BoundAsTold(None, told, str(error))
    if not np.isfinite(plays):
        return BoundAsTold(None, told, "arms tie, and no number of plays tells them apart")
    return BoundAsTold(plays, told)


def _why_none(policy: AnyPolicy, means: FloatArray) -> str | None:
    """Why no bound is computed for the policy, if none is."""
    goal, told, k = policy.goal, policy.told_difference, policy.goal.k
    untrue = None if told is None else why_untrue(means, told.gap, told.odds_ratio)
    reasons = {
        "it is not told how often it may be wrong": goal.delta is None,
        f"with delta {goal.delta} a guess is good enough": goal.delta is not None and kl_of_error(goal.delta) <= 0,
        "less than the best is enough for it": goal.tolerance > 0 or goal.neighbours > 0,
        f"{k} of {means.size} arms leave none out": k >= means.size,
        f"{untrue}, which it is told": untrue is not None,
        f"for more than {MOST_ARMS} arms it is not computed": means.size > MOST_ARMS
        and (told is not None or k > 1 or bool(goal.costs)),
    }
    return next((reason for reason, applies in reasons.items() if applies), None)


def _plays(policy: AnyPolicy, means: FloatArray, linkage: Linkage) -> float:
    told, goal = policy.told_difference, policy.goal
    gap, odds_ratio = (None, None) if told is None else (told.gap, told.odds_ratio)
    of_the_library = LINKAGES.get(linkage.name) is linkage  # another may have no hash, and the name of one of these
    per_evidence = (_kept if of_the_library else _at_least)(
        means.tobytes(), linkage.name if of_the_library else linkage, policy.goal.k, gap, odds_ratio, goal.costs
    )
    return kl_of_error(goal.delta or 1.0) * per_evidence


def _at_least(
    means: bytes,
    linkage: str | Linkage,
    k: int,
    gap: float | None,
    odds_ratio: float | None,
    costs: tuple[float, ...],
) -> float:
    """Plays for a unit of evidence, at least."""
    vector = np.frombuffer(means, dtype=np.float64)
    return characteristic_time(vector, linkage, k, gap=gap, odds_ratio=odds_ratio, costs=costs).at_least


_kept: Callable[..., float] = lru_cache(maxsize=1024)(_at_least)
"""A table asks for the same instance once for each policy and delta."""
