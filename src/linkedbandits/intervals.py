"""Confidence limits for a share, and for the mean of what is no share: costs, seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from linkedbandits.display import short_repr
from linkedbandits.model import BoolArray, FloatArray, IntArray

FARTHEST = 700.0
"""Logarithm of odds beyond which a mean is 0 or 1 in a float."""
HALVINGS = 64
"""Of an interval of such logarithms, until it is as short as it gets in a float."""

LEANS: FloatArray = 0.7 * np.exp2(-0.5 * np.arange(40))
"""How strongly a mean of bounded numbers is bet on: from what is best for few of them to what is for 10^11."""
SHARES: FloatArray = 1 / (np.arange(40) + 3.0) ** 1.5
"""What is bet on each, before it is made to add up to 1: most on the first, and never little on any."""
LOG_SHARES: FloatArray = np.log(SHARES / SHARES.sum())
LATE_ENOUGH = 100
"""The number of samples from which on limits are given that hold for those who begin to look late enough."""
SHARPEST_AT = 500.0
"""The number of samples for which the limits without a bound on the numbers are made to be as narrow as can be."""


def share_interval(count: int, total: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided limits for a probability, from ``count`` of ``total``, never too narrow (Clopper and Pearson).

    >>> low, high = share_interval(0, 1000)
    >>> low, round(high, 5)
    (0.0, 0.00368)
    """
    from scipy.special import betaincinv  # takes long to load, and a simulation does without

    tail = (1 - confidence) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, tail))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 1 - tail))
    return low, high


def anytime_interval(successes: int, samples: int, confidence: float = 0.95) -> tuple[float, float]:
    """Limits for a mean that hold at all times together, however often one looks and whenever one stops.

    The means at which the average likelihood over all means (uniform) is less than 1/(1 - confidence) times the
    likelihood: at the true mean that ratio is a nonnegative martingale from 1, so it ever gets there with probability
    at most 1 - confidence (Ville).

    >>> low, high = anytime_interval(50, 100)
    >>> round(low, 3), round(high, 3)
    (0.345, 0.655)
    >>> anytime_interval(0, 0)
    (0.0, 1.0)
    """
    return anytime_limits(successes, samples, 1 - confidence)


def anytime_limits(successes: int, samples: int, wrong: float) -> tuple[float, float]:
    """The same, for a chance to be ``wrong`` that may be too small to be told from a confidence of 1.

    >>> low, high = anytime_limits(50, 100, 1e-30)
    >>> round(low, 3), round(high, 3)
    (0.064, 0.936)
    """
    failures = samples - successes
    average = math.lgamma(successes + 1) + math.lgamma(failures + 1) - math.lgamma(samples + 2)
    least = average + math.log(wrong)
    odds = math.log(successes / failures) if successes and failures else FARTHEST * ((successes > 0) - (failures > 0))
    limits = []
    for end in (-FARTHEST, FARTHEST):
        outside, inside = end, odds
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            small = math.log1p(math.exp(-abs(middle)))
            likelihood = -successes * (small + max(-middle, 0.0)) - failures * (small + max(middle, 0.0))
            if likelihood < least:
                outside = middle
            else:
                inside = middle
        limits.append(1 / (1 + math.exp(-outside)))
    return limits[0] if successes else 0.0, limits[1] if failures else 1.0


def anytime_intervals(
    successes: IntArray, samples: IntArray, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The same for many means at once; everything is possible for one without samples.

    >>> low, high = anytime_intervals(np.array([0, 50]), np.array([0, 100]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.345], [1.0, 0.655])
    """
    from scipy.special import betaln  # takes long to load, and a simulation does without

    failures = samples - successes
    average = betaln(successes + 1.0, failures + 1.0) + math.log(1 - confidence)

    def beyond(logit: FloatArray) -> BoolArray:
        """Is the likelihood so small there?"""
        likelihood = -successes * np.logaddexp(0.0, -logit) - failures * np.logaddexp(0.0, logit)
        return np.asarray(likelihood < average)

    with np.errstate(divide="ignore"):
        odds = np.log(np.where(samples > 0, successes, 1)) - np.log(np.where(samples > 0, failures, 1))
    limits = []
    for end in (-FARTHEST, FARTHEST):
        outside, inside = np.full(samples.shape, end), np.clip(odds, -FARTHEST, FARTHEST)
        for _ in range(HALVINGS):
            middle = (outside + inside) / 2
            is_beyond = beyond(middle)
            outside, inside = np.where(is_beyond, middle, outside), np.where(is_beyond, inside, middle)
        limits.append(1 / (1 + np.exp(-outside)))
    low, high = limits
    return np.where(successes > 0, low, 0.0), np.where(failures > 0, high, 1.0)


class Estimated(NamedTuple):
    """A mean, and limits for what it is an estimate of; None where there is too little to go by.

    Limits that are ``proved`` hold at all times together, with the confidence that was asked for. Others do so for
    those who begin to look after enough samples, however many that are: numbers without an upper limit have no better.
    """

    mean: float
    low: float | None
    high: float | None
    proved: bool

    def __repr__(self) -> str:
        return short_repr(self)

    def per(self, other: Estimated) -> Estimated | None:
        """This for one of the other, as successes per cost; None if that may be nothing at all.

        If each of the two has confidence 1 - a, what comes out has 1 - 2 a.

        >>> Estimated(0.5, 0.25, 0.75, True).per(Estimated(2.0, 1.5, 2.5, True))
        Estimated(mean=0.25, low=0.1, high=0.5, proved=True)
        """
        if other.mean <= 0:
            return None
        proved = self.proved and other.proved
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return Estimated(self.mean / other.mean, None, None, False)
        high = self.high / other.low if other.low > 0 else math.inf
        return Estimated(self.mean / other.mean, self.low / other.high, high, proved)


@dataclass
class RunningMean:
    """The mean of numbers of at least 0 that come one by one, and limits for what it is a mean of.

    ``most`` is the most that one can be, told before the first comes. What is more counts as ``most``, so the limits
    are those of the mean of that. They hold at all times together, whenever one looks, if given the past the mean of
    the next number is always the same. Without ``most`` nothing can be proved for any number of samples, since a number
    that is rare and very large may not have come yet. Then the limits hold *asymptotically*: for those who begin to
    look late enough, at all times from then on.

    >>> prices = RunningMean(most=2.0)
    >>> for price in [1.0, 1.2, 0.9, 1.1] * 50:
    ...     prices.add(price)
    >>> low, high = prices.interval()
    >>> round(prices.mean, 3), round(low, 3), round(high, 3)
    (1.05, 0.973, 1.127)
    """

    most: float | None = None
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    """Sum of squared distances, each to what was predicted before it came."""

    def add(self, number: float) -> None:
        """One more."""
        most = self.most
        if most is not None:
            number = min(number, most)
            predicted = (0.5 * most + self.total) / (1 + self.count)
            self.squares += (number - predicted) ** 2
        elif self.count:
            # Welford's: the sum of squared distances to the mean of all, without a difference of large sums.
            self.squares += (number - self.total / self.count) ** 2 * self.count / (self.count + 1)
        self.total += number
        self.count += 1

    def merged(self, other: RunningMean) -> RunningMean:
        """What both have come to, as of several processes, each of which has kept its own.

        *With ``most``* counts, totals and squares add up. The limits still hold: take all numbers in the order in which
        they came to be known, whichever of the two they belong to. Each prediction was made before its number came,
        from the past of its own source, which is a part of the past of all; and that is all that is asked of it in
        :func:`bounded_mean_interval`. So the factor of each number has, given that past, a mean of at most 1, and the
        product over all of them is a nonnegative supermartingale from 1. Its logarithm is the sum of what both have
        kept. What is needed is as before that the mean of the next number is the same given what is known; where the
        sources have different means, the limits are those of their average over all numbers that came.

        Of two different ``most`` the larger one holds for both. It has to be told before the first number comes, as for
        one source: if it was raised in between there are two sequences of limits, and each may be wrong as often.

        *Without ``most``*, in either, squared distances are those to the mean of all (Chan, Golub and LeVeque 1979).
        Those that were kept with ``most`` are to predictions, and never less in all than those to the mean: with
        ``most/2`` as one number more before all others, the prediction of number i is the mean before it, and
        Welford's sum has i/(i+1) of its squared distance. So the limits get a little wider, and never too narrow.

        >>> one, other = RunningMean(), RunningMean()
        >>> for number in [3.0, 5.0]:
        ...     one.add(number)
        >>> other.add(10.0)
        >>> one.merged(other)
        RunningMean(most=None, count=3, total=18.0, squares=26.0)
        """
        if not other.count or not self.count:
            return replace(self if self.count or not other.count else other)
        count, total, squares = self.count + other.count, self.total + other.total, self.squares + other.squares
        if self.most is not None and other.most is not None:
            return RunningMean(max(self.most, other.most), count, total, squares)
        apart = self.total / self.count - other.total / other.count
        return RunningMean(None, count, total, squares + apart**2 * (self.count / count) * other.count)

    @property
    def mean(self) -> float | None:
        """Of all, None before there is one."""
        return self.total / self.count if self.count else None

    def estimated(self, confidence: float = 0.95) -> Estimated | None:
        """The mean with its limits, None before there is a number."""
        if self.mean is None:
            return None
        limits = self.interval(confidence)
        low, high = (None, None) if limits is None else (max(limits[0], 0.0), limits[1])
        return Estimated(self.mean, low, high, self.most is not None)

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """The limits; None for fewer than :data:`LATE_ENOUGH` without ``most``."""
        if self.most is not None:
            low, high = bounded_mean_interval(
                self.count, self.total / self.most, self.squares / self.most**2, confidence
            )
            return low * self.most, high * self.most
        if self.count < LATE_ENOUGH:
            return None
        return asymptotic_mean_interval(self.count, self.total, self.squares, confidence)


def bounded_mean_interval(count: int, total: float, squares: float, confidence: float = 0.95) -> tuple[float, float]:
    """Limits for the mean of numbers from 0 to 1 that hold at all times together.

    ``squares`` is the sum of (number - prediction)^2, each prediction in [0, 1] and made before its number came.

    For 0 <= l < 1 and y >= -1 it is known that exp(l y + (log(1 - l) + l) y^2) <= 1 + l y (Fan, Grama and Liu 2015).
    Let X in [0, 1] have the mean m, p be its prediction and y = X - p. The mean of the left side is then at most 1 + l
    (m - p) <= exp(l (m - p)), so that of exp(l (X - m) + (log(1 - l) + l) (X - p)^2) is at most 1. The product over all
    numbers is therefore a nonnegative supermartingale from 1 for every l, and so is its weighted mean over the fixed
    :data:`LEANS`. With 1 - X in the place of X it is the same below. Each ever reaches 2/(1 - confidence) with
    probability at most (1 - confidence)/2 (Ville), and the limits are the means at which it would have.

    >>> low, high = bounded_mean_interval(1000, 500.0, 10.0)
    >>> round(low, 3), round(high, 3)
    (0.487, 0.513)
    >>> bounded_mean_interval(0, 0.0, 0.0)
    (0.0, 1.0)
    """
    if count == 0:
        return 0.0, 1.0
    paid = LOG_SHARES + (np.log1p(-LEANS) + LEANS) * squares
    enough = math.log(2 / (1 - confidence))
    near, far = 0.0, float(count)  # how far the sum may be off: the evidence grows with it
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        if float(np.logaddexp.reduce(paid + LEANS * middle)) < enough:
            near = middle
        else:
            far = middle
    return max((total - far) / count, 0.0), min((total + far) / count, 1.0)


def asymptotic_mean_interval(count: int, total: float, squares: float, confidence: float = 0.95) -> tuple[float, float]:
    """Limits for the mean of any numbers, at all times together for those who begin to look late enough.

    ``squares`` is the sum of squared distances to their mean. The asymptotic confidence sequence of Waudby-Smith,
    Arbour, Sinha, Kennedy and Ramdas (2024), theorem 2.2; it needs a finite variance.

    >>> low, high = asymptotic_mean_interval(500, 1000.0, 500.0)
    >>> round(low, 2), round(high, 2)
    (1.86, 2.14)
    """
    alpha = 1 - confidence
    sharpness = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha)) + 1) / SHARPEST_AT
    grown = count * sharpness + 1
    deviation = math.sqrt(squares / count)
    half = deviation * math.sqrt(2 * grown / (count**2 * sharpness) * math.log(math.sqrt(grown) / alpha))
    mean = total / count
    return mean - half, mean + half
