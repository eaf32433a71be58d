"""Stopping by the law of the iterated logarithm (Jamieson, Malloy, Nowak and Bubeck 2014, Eq. 9).

Every arm has a confidence interval that holds at all sample counts at once; stop when one arm's lower end is not
below any other arm's upper end. This is the rule of the paper's experiments for maximal and uniform sampling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from linkedbandits.checks import check_delta
from linkedbandits.errors import InvalidParameter
from linkedbandits.model import BoolArray, FloatArray, IntArray

Calibration = Literal["proved", "plain"]

EPSILON = 0.01
"""The free constant of the bound."""
VARIANCE_PROXY = 0.25
"""Variables in [0, 1] are sub-Gaussian with sigma^2 = 1/4."""


@dataclass(frozen=True)
class LilRule:
    """The rule at level ``delta``.

    ``calibration="proved"`` runs the bound at the level for which the theorem bounds the error by ``delta``;
    ``"plain"`` puts ``delta`` itself into the bound, which is shorter and has no proof.
    """

    delta: float
    calibration: Calibration = "proved"

    def __post_init__(self) -> None:
        check_delta(self.delta)
        if self.calibration not in ("proved", "plain"):
            raise InvalidParameter(f"calibration={self.calibration!r} is unknown; choose 'proved' or 'plain'")

    @property
    def error_bound(self) -> float | None:
        """``delta`` where that is proved."""
        return self.delta if self.calibration == "proved" else None

    @property
    def level(self) -> float:
        """The level inside the bound.

        The union over sample counts fails with probability at most (2 + eps)/eps * (d / log(1 + eps))^(1 + eps);
        solved for d, so that this is ``delta``.
        """
        if self.calibration == "plain":
            return self.delta
        return float(np.log1p(EPSILON) * (self.delta * EPSILON / (2 + EPSILON)) ** (1 / (1 + EPSILON)))

    def radius(self, samples: IntArray, arms: int) -> FloatArray:
        """Half the width of the interval of an arm with that many samples, one of ``arms``; infinite at none.

        >>> LilRule(0.1).radius(np.array([0, 100, 10_000]), arms=10).round(3)
        array([  inf, 0.319, 0.033])
        """
        seen = np.maximum(samples, 1).astype(np.float64)
        inner = 2 * np.log((1 + EPSILON) * seen + 2) / (self.level / arms)
        width = (1 + np.sqrt(EPSILON)) * np.sqrt(2 * VARIANCE_PROXY * (1 + EPSILON) * np.log(inner) / seen)
        return np.where(samples > 0, width, np.inf)

    def separated(self, means: FloatArray, radius: FloatArray) -> tuple[BoolArray, IntArray]:
        """Per lane: is some arm's lower end not below every other arm's upper end, and which arm?

        Only the arm with the highest lower end can be; its rivals are measured by the highest upper end but its
        own.
        """
        lower = means - radius
        arm = lower.argmax(axis=1)
        lanes = np.arange(means.shape[0])
        upper = means + radius
        upper[lanes, arm] = -np.inf
        return lower[lanes, arm] >= upper.max(axis=1), arm

    def first_look(self, arms: int) -> int:
        """The least number of samples an arm must have before any outcome at all can end the run.

        Means lie in [0, 1], so two intervals of half-width above 1/2 always overlap.
        """
        high = 1
        while self.radius(np.array(high), arms) > 0.5:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if self.radius(np.array(middle), arms) > 0.5:
                low = middle
            else:
                high = middle
        return high
