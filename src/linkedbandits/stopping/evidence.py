"""Evidence against an arm, as money won by betting against it (a test supermartingale).

Samples come in blocks. Before a block, and from the past alone, fix a prediction of every arm's mean and a
*challenger* c that arm i is compared with. The block brings n_i samples of i with x_i successes, and n_c of c with
x_c. Where the prediction p_c lies above p_i, the capital bet against "i is at least as good as c" is multiplied by

    (p_c/q)^x_c ((1-p_c)/(1-q))^(n_c-x_c) * (p_i/q)^x_i ((1-p_i)/(1-q))^(n_i-x_i),   q = (n_i p_i + n_c p_c)/(n_i + n_c)

If mu_c <= mu_i, this factor's mean given the past is at most 1, whatever the predictions were: with equal means l it
is f_c(l)^n_c f_i(l)^n_i, where f_k(l) = 1 + (l - q)(p_k - q)/(q(1 - q)); the weighted arithmetic mean of f_c and f_i
is 1 by the choice of q, so their weighted geometric mean is at most 1; and f_c grows in l while f_i falls, which
covers mu_c < mu_i. (The factor is the e-variable of Turner, Ly and Grünwald for two Bernoulli streams.)

The same is done for a claim beyond any other line, mu_i >= r mu_c + e with a *slope* r > 0 and a *shift* e >= 0: take
(q_i, q_c) on the line and choose p_c so that the logarithm of the mean, which is concave along the line, has its
maximum 0 at (q_i, q_c). A shift makes that "better by e", the ratio of two costs as slope "as many successes per cost".

Capital starts at 1 and enters the bets bit by bit: of a *reserve* Q_t = R/(R + t), the part Q_{t-1} - Q_t is put in
before block t. Capital and reserve together are again a nonnegative supermartingale from 1, so by Ville's inequality
they ever reach 1/delta with probability at most delta; and early bets on poor predictions can lose only what was put
in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linkedbandits.model import FloatArray

RESERVE = 8.0
"""R: about how many blocks the capital takes to enter the bets."""

_ROUNDING = 2.0**-49
"""More than what rounding adds to a bet, against the sum of its parts' sizes; half of that with a slope or shift."""
_MOST_SHIFT = 1 - 1e-6
"""A claim with a larger shift implies that with this one, and bets against that have room."""
_A_LITTLE_LESS = 1 - 2.0**-49
_MOST_CAPITAL = 1e220
_MOST_LOG_FACTOR = 150.0


@dataclass(frozen=True, slots=True)
class Bets:
    """The logarithm of each factor as a linear function of what the block brings: own x_i + rival x_c + sure."""

    own: FloatArray
    rival: FloatArray
    sure: FloatArray


def place_bets(
    prediction: FloatArray,
    challenger_prediction: FloatArray,
    samples: FloatArray,
    challenger_samples: FloatArray,
    shift: float = 0.0,
    slope: FloatArray | None = None,
) -> Bets:
    """Bets against "arm i has at least ``slope`` times the mean of its challenger, and ``shift`` more".

    Predictions must satisfy p_i < slope p_c + shift, and lie strictly between 0 and 1; sample counts are positive. A
    slope of None is 1 for all pairs.

    >>> bets = place_bets(np.array([0.2]), np.array([0.4]), np.array([1.0]), np.array([1.0]))
    >>> float(np.exp(bets.rival + bets.sure)[0].round(6))  # the challenger alone succeeds
    1.52381
    """
    rounding = _ROUNDING
    shift = min(shift, _MOST_SHIFT)
    if shift == 0 and slope is None:
        up = challenger_prediction - prediction
        up /= samples + challenger_samples
        down = up * challenger_samples
        up *= samples
        null = null_c = prediction + down
    else:
        ratio = 1.0 if slope is None else slope
        pair = prediction, challenger_prediction, samples, challenger_samples
        null_c = _closest_on_ray(*pair, ratio) if shift == 0 else _close_on_line(*pair, ratio, shift)
        null, down, up = _tangent(*pair, ratio, shift, null_c)
        rounding = 2 * _ROUNDING
    # The logarithms of p/q and the like, from the small differences themselves: where arms nearly tie, p/q has lost
    # them to rounding, and a wrong logarithm times very many samples is evidence of nothing. Most of a run's time is
    # spent here, and much of it on new arrays: so there are few.
    fail = _log_1_plus(down / (1 - null))
    fail_c = _log_1_plus(-up / (1 - null_c))
    own = _log_1_plus(np.divide(down, -null, out=down))
    own -= fail
    rival = _log_1_plus(np.divide(up, null_c, out=up))
    rival -= fail_c
    sure = samples * fail
    sure += challenger_samples * fail_c
    # What rounding may still have added is taken off, so that the factor is never more than it should be.
    fail -= own
    fail *= samples
    np.subtract(rival, fail_c, out=fail_c)
    fail_c *= challenger_samples
    fail += fail_c
    fail *= rounding
    sure -= fail
    return Bets(own, rival, sure)


def _log_1_plus(value: FloatArray) -> FloatArray:
    """In the place of the value, which is not used any more."""
    return np.log1p(value, out=value)


def _closest_on_ray(
    p: FloatArray, c: FloatArray, samples: FloatArray, challenger_samples: FloatArray, slope: FloatArray | float
) -> FloatArray:
    """Of all points (slope l, l), the l from which samples like the predictions would differ least.

    It minimises samples kl(p, slope l) + challenger_samples kl(c, l), and is the smaller root of slope N l^2 - B l + S.
    Bets from it to the predictions themselves are tangent.
    """
    successes = samples * p + challenger_samples * c
    middle = successes * (1 + slope) + slope * samples * (1 - p) + challenger_samples * (1 - c)
    root = np.sqrt(np.maximum(middle * middle - 4 * slope * (samples + challenger_samples) * successes, 0.0))
    return np.minimum(2 * successes / (middle + root), _below_one(p, slope, 0.0))


def _close_on_line(
    p: FloatArray,
    c: FloatArray,
    samples: FloatArray,
    challenger_samples: FloatArray,
    slope: FloatArray | float,
    shift: float,
) -> FloatArray:
    """The q_c of a null point close to the predictions.

    Any q_c is valid. The mean of (p_i - shift)/slope and p_c, weighted by precision, is the best to first order; it is
    kept where both null values are probabilities and q_c lies below p_c.
    """
    weight = slope * slope * samples / np.maximum(p * (1 - p), 1e-4)
    weight_c = challenger_samples / np.maximum(c * (1 - c), 1e-4)
    null_c = (weight * ((p - shift) / slope) + weight_c * c) / (weight + weight_c)
    highest = _below_one(p, slope, shift)
    return np.clip(null_c, np.minimum(np.minimum(1e-6, c / 2), highest), highest)


def _below_one(p: FloatArray, slope: FloatArray | float, shift: float) -> FloatArray:
    """The highest q_c with which both null values are kept below 1.

    There is still room for q_i above p_i, but where p_i is within a millionth of 1 and the shift is less than that.
    """
    room = np.minimum(np.minimum(1e-6, (1 - p) / 2), (1 - shift) / 2)
    return np.asarray(np.minimum(1 - 1e-6, (1 - shift - room) / slope))


def _tangent(
    p: FloatArray,
    c: FloatArray,
    samples: FloatArray,
    challenger_samples: FloatArray,
    slope: FloatArray | float,
    shift: float,
    null_c: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The q_i to q_c, and how far below it and above q_c to bet: so that the mean is largest, and 1, at that point.

    A bet that would put the challenger above its own prediction is made smaller: near 1 it would otherwise lose even if
    both predictions were right. What rounding does to the two is outweighed: a q_i that is too low is on the line of a
    claim implied by this one, and above q_c a bet that is too small has a mean below 1.
    """
    null = (slope * null_c + shift) * _A_LITTLE_LESS
    steepness = slope * (samples / challenger_samples * (null_c * (1 - null_c)) / (null * (1 - null)))
    lean = np.maximum(null - p, 0.0)
    lean = np.minimum(lean, np.maximum(c - null_c, 0.0) / np.maximum(steepness, 1e-300))
    return null, lean, steepness * lean * _A_LITTLE_LESS


def reserve(block: int, slowness: float = RESERVE) -> float:
    """Q_t: what has not entered the bets before block t + 1.

    >>> reserve(0), reserve(2), reserve(2, slowness=2.0)
    (1.0, 0.8, 0.5)
    """
    return slowness / (slowness + block)


def entering(block: int, slowness: float = RESERVE) -> float:
    """Q_{t-1} - Q_t: what enters the bets before block t.

    >>> round(entering(1), 6)
    0.111111
    """
    return reserve(block - 1, slowness) - reserve(block, slowness)


def grow(capital: FloatArray, log_factor: FloatArray) -> FloatArray:
    """The capital after its bets are settled.

    Capping the capital and the factor only lowers them, which keeps the supermartingale.
    """
    grown = np.minimum(capital, _MOST_CAPITAL)
    factor = np.minimum(log_factor, _MOST_LOG_FACTOR)
    grown *= np.exp(factor, out=factor)
    return grown
