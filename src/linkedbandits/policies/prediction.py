"""Predicting the means of many arms from few samples: shrinkage towards the pooled mean, learnt from the arms.

An arm's mean is taken to be the pooled mean itself (the *spike*), or off it by about the size of the noise (the
*near* slab), or off it by anything up to about two in log-odds (the *wide* slab). How often each is the case is
learnt, lane by lane, with one step of expectation-maximisation a round. Predictions are only for betting and
planning: no guarantee depends on them being right.
"""

from __future__ import annotations

import numpy as np

from linkedbandits.model import FloatArray

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
_MARGIN = 1e-9


def predict(samples: FloatArray, successes: FloatArray, mixture: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The predicted means, strictly between 0 and 1, and the mixture's new weights.

    ``samples`` and ``successes`` are (lanes, arms), ``mixture`` is (lanes, 3) and starts as :data:`PRIOR`.

    >>> prediction, _ = predict(np.array([[50.0, 50.0, 50.0]]), np.array([[5.0, 6.0, 25.0]]), PRIOR[np.newaxis])
    >>> prediction.round(2)
    array([[0.15, 0.18, 0.47]])
    """
    arms = samples.shape[1]
    centre = (successes.sum(axis=1, keepdims=True) + 0.5) / (samples.sum(axis=1, keepdims=True) + 1.0)
    spread = centre * (1 - centre)
    seen = samples + 1.0
    offset = successes + centre
    offset /= seen
    offset -= centre
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
    shares = np.stack(
        [
            mixture[:, 0] * total.sum(axis=1),
            np.einsum("ij,ij->i", near, total),
            np.einsum("ij,ij->i", wide, total),
        ],
        axis=1,
    )
    keep *= wide
    near *= _NEAR_SHRINK
    keep += near
    keep *= total
    offset *= keep
    offset += centre
    np.clip(offset, _MARGIN, 1 - _MARGIN, out=offset)
    return offset, (shares + PRIOR_ARMS * PRIOR) / (arms + PRIOR_ARMS)
