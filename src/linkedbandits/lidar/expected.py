"""What is expected of pixels before their own photons."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.model import FloatArray, IntArray

LEAST_SIGNAL = 1e-6
"""Photons a cycle."""
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Expected:
    """The weights of bins, and about what signal and background: a row for each pixel.

    ``log_prior`` has the logarithms of the weights, (pixels, bins), which add up to one; ``signal`` is in photons a
    cycle, ``background`` in photons a bin and cycle. None of it has to be right: what was not expected costs some more
    photons, and no guarantee. But it must not come from the pixel's own photons. Nothing is expected to be quite dark.
    """

    log_prior: FloatArray
    signal: FloatArray
    background: FloatArray

    def __repr__(self) -> str:
        """Without its arrays."""
        return (
            f"Expected({' x '.join(map(str, self.log_prior.shape))} weights of pixels and bins, signals, backgrounds)"
        )

    def __post_init__(self) -> None:
        object.__setattr__(self, "signal", np.maximum(self.signal, LEAST_SIGNAL))
        object.__setattr__(self, "background", np.maximum(self.background, LEAST_BACKGROUND))

    def check(self) -> None:
        """Refuse what a guarantee cannot rest on: who takes it from outside calls this, once."""
        pixels = self.log_prior.shape[:1]
        if self.log_prior.ndim != 2 or self.signal.shape != pixels or self.background.shape != pixels:
            raise InvalidParameter(
                f"weights of shape {self.log_prior.shape}, signals of {self.signal.shape} and backgrounds of "
                f"{self.background.shape}; give a row of weights, a signal and a background for every pixel"
            )
        if not np.isfinite(self.log_prior).all():
            raise InvalidParameter(
                "a bin has no weight at all, or one that is no number; give every bin a little, such as 1e-9, or "
                "a return from there could not be found"
            )
        with np.errstate(over="ignore"):
            whole = np.exp(self.log_prior).sum(axis=1)
        if not (whole < 1 + _ROUNDING).all():  # less than one would only cost photons
            raise InvalidParameter("the weights of bins add up to more than one; normalise them")
        if not (np.isfinite(self.signal).all() and np.isfinite(self.background).all()):
            raise InvalidParameter("a signal or background that is expected is no number; give one for every pixel")

    @classmethod
    def alike(cls, pixels: int, bins: int, signal: float, background: float) -> Expected:
        """The same of all pixels, and no depth likelier than another."""
        return cls(np.full((pixels, bins), -log(bins)), np.full(pixels, signal), np.full(pixels, background))

    def take(self, pixels: IntArray | slice) -> Expected:
        """Of these pixels alone."""
        return Expected(self.log_prior[pixels], self.signal[pixels], self.background[pixels])

    def log_weights(self, pixels: IntArray, place: IntArray, bins: int) -> FloatArray:
        """The logarithms of the weights of some bins of these pixels, (pixels, places)."""
        return np.asarray(self.log_prior[pixels[:, np.newaxis], place])
