"""What no policy can beat where options may depend on each other in any way, by a linear programme that grows.

Let a policy be wrong with probability at most delta under *every* joint law of the options, and play tuples of at most
``longest`` options. Under the law P, with shares w of the tuples among its plays, it tells P from a law R under which
another option is best by sum_tuples w KL(P of what the tuple shows, R of the same) a play, and it has to collect
kl(delta, 1 - delta) against each such R (Kaufmann, Cappé and Garivier 2016). So it needs on average at least

    kl(delta, 1 - delta) / max_w min_R sum_tuples w(tuple) KL(P_tuple, R_tuple)

plays. For given w the nearest R of each other option is a convex problem; for given R's the best w is a linear one.
Every R that was found is a row of the linear problem, so its value is never below the true one, and the bound that
is returned holds wherever the search ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from linkedbandits.bounds.divergence import kl_of_error
from linkedbandits.checks import check_probability, check_whole
from linkedbandits.display import short_repr
from linkedbandits.errors import InvalidParameter
from linkedbandits.joint_worlds import KindsOfRequests
from linkedbandits.model import FloatArray, IntArray

__all__ = ["JointBound", "lower_joint"]

MOST_OPTIONS = 6
"""Laws have a number for each of the 2^n outcomes of a request."""


@dataclass(frozen=True, slots=True)
class JointBound:
    """Plays that no policy can do without, and the shares of the tuples that ask for least, where they are played."""

    plays: float
    shares: dict[tuple[int, ...], float]

    __repr__ = short_repr


def lower_joint(kinds: KindsOfRequests, delta: float, longest: int = 2, rounds: int = 60) -> JointBound:
    """Plays that every policy needs here on average, if it errs with probability at most delta under all joint laws.

    ``longest`` is how many options a play tries at most: two are what :class:`~linkedbandits.LinkedDuels` looks at.

    >>> from linkedbandits import OutcomeTable
    >>> table = OutcomeTable([[1, 0]] * 3 + [[0, 1]] * 2 + [[1, 1]] * 3 + [[0, 0]] * 2)
    >>> round(lower_joint(table, delta=0.05).plays)
    362
    """
    check_probability("delta", delta)
    check_whole("longest", longest)
    check_whole("rounds", rounds)
    means = kinds.means
    options = means.size
    if options > MOST_OPTIONS:
        raise InvalidParameter(f"{options} options have 2^{options} outcomes of a request; give at most {MOST_OPTIONS}")
    evidence = kl_of_error(delta)
    ranked = np.sort(means)
    if evidence <= 0 or ranked[-1] == ranked[-2]:
        return JointBound(0.0 if evidence <= 0 else np.inf, {})
    requests = np.array(list(product((0, 1), repeat=options)))
    tuples = list(permutations(range(options), min(longest, options)))
    shown = np.stack([_shows(requests, tried) for tried in tuples])  # (tuples, what is seen, requests)
    seen = np.stack([kinds.ends(tried) for tried in tuples])
    others = [option for option in range(options) if option != int(means.argmax())]

    rows: list[FloatArray] = []
    shares = np.full(len(tuples), 1 / len(tuples))
    best, value = (0.0, shares), np.inf
    for _ in range(rounds):
        near = [_nearest(shares, shown, seen, requests, option) for option in others]
        rows += near
        least = min(float(shares @ row) for row in near)
        if least > best[0]:
            best = (least, shares)
        value, wanted = _best_shares(np.array(rows))
        if best[0] >= 0.995 * value:
            break
        shares = 0.5 * wanted + 0.5 * best[1]  # halfway from the best so far: less to and fro
    used = {tried: float(share) for tried, share in zip(tuples, best[1], strict=True) if share > 1e-3}
    return JointBound(evidence / value, used)


def _shows(requests: IntArray, tried: tuple[int, ...]) -> FloatArray:
    """On which requests a play of the tuple ends at each of its places, and at none."""
    going_on = np.ones(len(requests))
    ends = []
    for option in tried:
        ends.append(going_on * requests[:, option])
        going_on = going_on * (1 - requests[:, option])
    return np.stack([*ends, going_on])


def _nearest(shares: FloatArray, shown: FloatArray, seen: FloatArray, requests: IntArray, option: int) -> FloatArray:
    """The divergence that each tuple shows from a law, nearly the nearest for these shares, under which it is best."""
    from scipy.optimize import LinearConstraint, minimize  # as in characteristic.py

    weight = shares[:, np.newaxis] * seen
    lead = (requests[:, [option]] - np.delete(requests, option, axis=1)).T.astype(np.float64)

    def loss(law: FloatArray) -> tuple[float, FloatArray]:
        chance = np.maximum(shown @ law, 1e-300)
        return -float((weight * np.log(chance)).sum()), -np.einsum("to,toy->y", weight / chance, shown)

    alone = requests[:, option] * 1.0
    first = 0.5 / len(requests) + 0.5 * alone / alone.sum()
    found = minimize(
        loss,
        first,
        jac=True,
        method="SLSQP",
        bounds=[(1e-12, 1)] * len(requests),
        constraints=[LinearConstraint(np.ones((1, len(requests))), 1.0, 1.0), LinearConstraint(lead, 0.0, np.inf)],
        options={"maxiter": 300, "ftol": 1e-12},
    ).x
    law = np.maximum(found, 0) / np.maximum(found, 0).sum()
    law = _made_best(law, option, requests, max(0.0, -float((lead @ law).min())))
    chance = shown @ law
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(seen > 0, seen * np.log(seen / chance), 0.0).sum(axis=1))


def _made_best(law: FloatArray, option: int, requests: IntArray, behind: float) -> FloatArray:
    """The law with just so much weight on requests that this option alone serves that it is best."""
    only = (requests[:, option] == 1) & (requests.sum(axis=1) == 1)
    share = behind / (1 + behind)
    return np.asarray((1 - share) * law + share * only)


def _best_shares(rows: FloatArray) -> tuple[float, FloatArray]:
    """The shares whose least divergence over the laws found so far is largest, and that divergence."""
    from scipy.optimize import linprog

    count = rows.shape[1]
    found = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.hstack([-rows, np.ones((len(rows), 1))]),
        b_ub=np.zeros(len(rows)),
        A_eq=np.append(np.ones(count), 0.0)[np.newaxis],
        b_eq=[1.0],
        bounds=[(0, 1)] * count + [(None, None)],
    )
    assert found.x is not None
    return float(found.x[-1]), np.asarray(found.x[:-1])
