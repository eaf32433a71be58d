"""Which instances a policy has to tell apart that is told by how much the best arm is ahead.

A policy that is told nothing has to exclude every instance in which another arm is best. One that is told a difference
may be wrong on instances that do not keep it. So only those count in which some other arm a is ahead of *all* others by
as much: a has the mean x, and every arm above y(x) has to come down to it, where y(x) is x less the gap, or has the
odds of x over the odds ratio. With samples t the evidence against the closest one of these is

    C_a(t) = min over x >= mu_a of  t_a kl(mu_a, x) + sum over j other than a of t_j kl(mu_j, min(mu_j, y(x))).

It is convex in x for a gap, and in the logarithm of the odds of x for an odds ratio: where a divergence is written with
that logarithm, only its place is shifted. The least of it is found by halving. For each x it is linear in t, so the
programme of :mod:`linkedbandits.bounds.programme` applies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkedbandits.bounds.divergence import kl
from linkedbandits.errors import InvalidParameter
from linkedbandits.model import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["AlternativesThatKeepTheDifference", "check_difference", "why_untrue"]

_HALVINGS = 80
_LARGEST_LOG_ODDS = 700.0
_ROUNDING = 1e-9
"""By so much, relatively, a difference may be below the one that is told: means are rounded numbers."""


def check_difference(means: FloatArray, gap: float | None, odds_ratio: float | None) -> None:
    """Refuse an instance in which the best arm is not as far ahead as was told: the bound is not about such ones."""
    fault = why_untrue(means, gap, odds_ratio)
    if fault is not None:
        raise InvalidParameter(f"{fault}; tell at most that")


def why_untrue(means: FloatArray, gap: float | None, odds_ratio: float | None) -> str | None:
    """What is told and not true of the instance: how far ahead the best arm is instead; None if it is true.

    >>> why_untrue(np.array([0.5, 0.4]), 0.2, None)
    'the best arm is ahead by 0.1, less than gap=0.2'
    """
    second, best = np.partition(means, -2)[-2:].tolist()
    if gap is not None and best - second < gap * (1 - _ROUNDING):
        return f"the best arm is ahead by {best - second:.6g}, less than gap={gap:g}"
    if odds_ratio is not None and best * (1 - second) < odds_ratio * second * (1 - best) * (1 - _ROUNDING):
        ratio = best * (1 - second) / (second * (1 - best))
        return (
            f"the odds of the best arm are {ratio:.6g} times those of the second, less than odds_ratio={odds_ratio:g}"
        )
    return None


@dataclass(frozen=True, slots=True)
class AlternativesThatKeepTheDifference:
    """For every arm but the best, the instances in which it is ahead of all others by what was told."""

    means: FloatArray
    is_best: BoolArray
    rivals: IntArray
    gap: float | None
    odds_ratio: float | None
    largest_coefficient: float

    @classmethod
    def of(
        cls, means: FloatArray, best: int, gap: float | None, odds_ratio: float | None, largest_coefficient: float
    ) -> AlternativesThatKeepTheDifference:
        """Those of an instance with this best arm."""
        is_best = np.arange(means.size) == best
        return cls(means, is_best, np.flatnonzero(~is_best), gap, odds_ratio, largest_coefficient)

    def only(self, chosen: BoolArray) -> AlternativesThatKeepTheDifference:
        """Those in which these rivals are ahead."""
        return AlternativesThatKeepTheDifference(
            self.means, self.is_best, self.rivals[chosen], self.gap, self.odds_ratio, self.largest_coefficient
        )

    def sufficient_samples(self) -> FloatArray:
        """As many of every arm as exclude all alternatives."""
        each = np.ones_like(self.means)
        return each / float(self.evidence(each).min())

    def evidence(self, samples: FloatArray) -> FloatArray:
        """Against the closest alternative of each rival."""
        return np.asarray(self._coefficients(samples) @ samples)

    def conditions(self, samples: FloatArray, unit: float, width: int) -> csr_array:
        """One row for each rival: the evidence against what is closest with these samples, linear in samples."""
        from scipy.sparse import csr_array  # takes long to load, and few are told anything

        rows = np.zeros((self.rivals.size, width))
        rows[:, : self.means.size] = np.minimum(unit * self._coefficients(samples), self.largest_coefficient)
        return csr_array(rows)

    def _coefficients(self, samples: FloatArray) -> FloatArray:
        """Of every arm's samples, (rivals, arms), in the evidence against the closest alternative of each rival."""
        ahead = self._closest(samples)
        with np.errstate(invalid="ignore"):
            rows = kl(self.means, np.minimum(self.means, self._behind(ahead)[:, np.newaxis]))
        rows[np.arange(self.rivals.size), self.rivals] = kl(self.means[self.rivals], self._mean_at(ahead))
        return np.asarray(np.minimum(rows, self.largest_coefficient))

    def _closest(self, samples: FloatArray) -> FloatArray:
        """Where each rival's mean is in its closest alternative: x for a gap, the logarithm of its odds for a ratio."""
        own = self.means[self.rivals]
        low, high = self._range(own)
        weight = samples[self.rivals]
        others = np.broadcast_to(samples, (self.rivals.size, samples.size)).copy()
        others[np.arange(self.rivals.size), self.rivals] = 0.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            y = self._behind(middle)[:, np.newaxis]
            pull = np.where(self.means > y, others * self._slope(self.means, y), 0.0).sum(axis=1)
            rising = weight * self._slope(own, self._mean_at(middle)) + pull > 0
            high, low = np.where(rising, middle, high), np.where(rising, low, middle)
        return np.asarray((low + high) / 2)

    def _range(self, own: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Beyond the upper end no arm has to come down any more."""
        top = float(self.means[self.is_best][0])
        if self.gap is not None:
            return np.maximum(own, self.gap), np.full_like(own, min(1.0, top + self.gap))
        return _log_odds(own), np.full_like(own, float(_log_odds(np.array(top))) + np.log(self.odds_ratio or 1.0))

    def _mean_at(self, ahead: FloatArray) -> FloatArray:
        return ahead if self.gap is not None else _from_log_odds(ahead)

    def _behind(self, ahead: FloatArray) -> FloatArray:
        """The highest mean that others may have."""
        if self.gap is not None:
            return np.maximum(ahead - self.gap, 0.0)
        return _from_log_odds(ahead - np.log(self.odds_ratio or 1.0))

    def _slope(self, mean: FloatArray, at: FloatArray) -> FloatArray:
        """How kl(mean, at) changes with where ``at`` is."""
        if self.gap is None:
            return np.asarray(at - mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.nan_to_num((at - mean) / (at * (1 - at)), nan=0.0, posinf=1e300, neginf=-1e300))


def _log_odds(mean: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(np.log(mean) - np.log1p(-mean), -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS))


def _from_log_odds(value: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-np.clip(value, -_LARGEST_LOG_ODDS, _LARGEST_LOG_ODDS))))
