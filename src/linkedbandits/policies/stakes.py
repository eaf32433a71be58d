"""What to bet on where arms are few: several odds ratios at once, beside the predictions.

Where there are many arms, they tell of each other, and the predictions are soon good. With two to a handful, most of
the evidence is lost while one learns how far the two of a pair are apart. Then it is better not to learn it: a part of
the capital is bet on each of a few odds ratios between the two, around their pooled mean, which is known soon. What
comes closest makes nearly all the money in the end, and the others have cost no more than their shares. A sum of
capitals, each of which is a supermartingale, is one.
"""

from __future__ import annotations

import numpy as np

from linkedbandits.model import FloatArray

MANY_ARMS = 10
"""From this many arms on, all capital is bet on the predictions."""
ODDS_RATIOS: FloatArray = np.array([1.2, 1.8, 5.0])
"""How many times the odds of the rival those of the leader are taken to be;"""
SHARES: FloatArray = np.array([0.4, 0.4, 0.2])
"""of what is not bet on the predictions, the part that is bet on each;"""
HIGHEST: FloatArray = np.array([0.7, 1.0, 1.2])
"""and by how many standard errors the difference that each stands for may exceed the one that was seen."""


def shares_of_capital(arms: int) -> FloatArray:
    """The part of the capital that is bet on the predictions, then that on each of the odds ratios; 1 in all.

    >>> shares_of_capital(2), shares_of_capital(6), shares_of_capital(50)
    (array([0. , 0.4, 0.4, 0.2]), array([0.5, 0.2, 0.2, 0.1]), array([1.]))
    """
    if arms >= MANY_ARMS:
        return np.ones(1)
    on_predictions = (arms - 2) / (MANY_ARMS - 2)
    return np.concatenate([[on_predictions], (1 - on_predictions) * SHARES])


def at_odds_ratios(
    means: tuple[FloatArray, FloatArray], seen: tuple[FloatArray, FloatArray], asked: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Means of rival and leader at each odds ratio, (pairs, odds ratios), around the mean of what is asked of the two.

    Each argument has a number per pair, of the rival and of the leader: their estimated means, their samples so far,
    and the samples that are asked of them. The rival's mean is always below the leader's.
    """
    rival, leader = (mean[:, np.newaxis] for mean in means)
    share = (asked[0] / (asked[0] + asked[1]))[:, np.newaxis]
    middle = share * rival + (1 - share) * leader
    variance = middle * (1 - middle)
    error = np.sqrt(variance * (1 / (seen[0] + 1) + 1 / (seen[1] + 1))[:, np.newaxis])
    # Not further apart than they may well be: or runs would not end where arms nearly tie.
    apart = np.minimum(np.log(ODDS_RATIOS) * variance, np.maximum(leader - rival + HIGHEST * error, 1e-3 * error))
    apart = np.minimum(apart, 0.97 * np.minimum(middle / (1 - share), (1 - middle) / share))
    return middle - apart * (1 - share), middle + apart * share
