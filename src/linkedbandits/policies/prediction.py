"""Predicting the means of many arms from few samples: shrinkage towards the pooled mean, learnt from the arms.

An arm's mean is taken to be the pooled mean itself (the *spike*), or off it by about the size of the noise (the
*near* slab), or off it by anything up to about two in log-odds (the *wide* slab). How often each is the case is
learnt, lane by lane, with one step of expectation-maximisation a round. Predictions are only for betting and
planning: no guarantee depends on them being right.
"""

from __future__ import annotations

import numpy as np

from linkedbandits.model import BoolArray, FloatArray

NEAR = 3.0
"""Variance of the near slab, in units of an estimate's own variance."""
WIDE = 4.0
"""Variance of the wide slab, in log-odds."""
PRIOR = np.array([0.5, 0.25, 0.25])
"""How often an arm is on the spike, near it, or anywhere, before anything is seen;"""
PRIOR_ARMS = 3.0
"""and how many arms' worth that belief weighs."""

_NEAR_SHRINK = NEAR / (1 + NEAR)
_MOST_EVIDENCE = 200.0
_MARGIN = 1e-3
_LEAST_BELOW_1 = 1e-14


def predict(
    samples: FloatArray, successes: FloatArray, mixture: FloatArray, pooled: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The plain means, the shrunken ones, all strictly between 0 and 1, and the mixture's new weights.

    A plain mean is the arm's own, with one sample more of the pooled mean. A shrunken one lies between that and the
    pooled mean. ``samples`` and ``successes`` are (lanes, arms), ``mixture`` is (lanes, 3) and starts as :data:`PRIOR`.
    ``pooled`` marks the arms that predictions are drawn to: those among which the decision is.

    >>> everyone = np.ones((1, 3), dtype=np.bool_)
    >>> seen = np.array([[50.0, 50.0, 50.0]]), np.array([[5.0, 6.0, 25.0]])
    >>> plain, shrunken, _ = predict(*seen, PRIOR[np.newaxis], everyone)
    >>> plain.round(2), shrunken.round(2)
    (array([[0.1 , 0.12, 0.5 ]]), array([[0.15, 0.18, 0.47]]))
    """
    weight = pooled.astype(np.float64)  # once: numpy is slow where it multiplies numbers with truth values
    centre = _pooled_mean(samples, successes, weight)
    spread = centre * (1 - centre)
    seen = samples + 1.0
    plain = successes + centre
    plain /= seen
    offset = plain - centre
    evidence = offset * offset  # half the squared z-value of the offset
    evidence *= seen
    evidence *= 0.5 / spread
    np.minimum(evidence, _MOST_EVIDENCE, out=evidence)

    near = evidence * _NEAR_SHRINK
    np.exp(near, out=near)
    near *= mixture[:, 1:2] / np.sqrt(1 + NEAR)
    keep = samples * (WIDE * spread)  # how much of its offset an arm on the wide slab keeps: v/(1 + v)
    keep += 1.0
    np.divide(1.0, keep, out=keep)
    wide = np.sqrt(keep)
    np.subtract(1.0, keep, out=keep)
    evidence *= keep
    np.exp(evidence, out=evidence)
    wide *= evidence
    wide *= mixture[:, 2:3]

    total = near + wide
    total += mixture[:, :1]
    np.divide(1.0, total, out=total)
    learnt_from = total * weight
    shares = np.stack(
        [
            mixture[:, 0] * learnt_from.sum(axis=1),
            np.einsum("ij,ij->i", near, learnt_from),
            np.einsum("ij,ij->i", wide, learnt_from),
        ],
        axis=1,
    )
    keep *= wide
    near *= _NEAR_SHRINK
    keep += near
    keep *= total
    offset *= keep
    offset += centre
    # Strictly between 0 and 1: by a margin far below what so many samples can tell from either.
    lowest = _MARGIN / seen
    highest = 1 - np.maximum(lowest, _LEAST_BELOW_1)
    for means in (plain, offset):
        np.minimum(np.maximum(means, lowest, out=means), highest, out=means)  # a third of the time of clip
    arms = weight.sum(axis=1, keepdims=True)
    return plain, offset, (shares + PRIOR_ARMS * PRIOR) / (arms + PRIOR_ARMS)


def _pooled_mean(samples: FloatArray, successes: FloatArray, weight: FloatArray) -> FloatArray:
    """The mean of the arms that have the weight 1, and not 0, taken together: (lanes, 1)."""
    hits = np.einsum("ij,ij->i", successes, weight)
    tries = np.einsum("ij,ij->i", samples, weight)
    return np.asarray((hits + 0.5) / (tries + 1.0))[:, np.newaxis]
