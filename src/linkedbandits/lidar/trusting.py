"""How far to trust the pixels around: learnt from pixels that were measured before, by how well it would have worked.

Of a pixel that is done it is known where its depth lies, and where those of the pixels around it lie; so one can ask
which weights would have made its depth likeliest: how much of them is spread over all depths, how much lies around the
depths of single neighbours and half way between two that face each other, and how closely. That is a mixture, and its
shares are found by expectation maximisation, with a few made-up pixels for what is usual, so that small images behave.

Where a scene is all edges, little is left around the neighbours; on a smooth wall nearly all is, and close to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from linkedbandits.model import FloatArray, IntArray

WIDTHS = np.array([0.75, 1.5, 3.0, 6.0, 12.0, 24.0])
"""Bins: what lies around a depth falls by a factor of e within one of these. Each is twice the one before."""
USUAL_ANYWHERE = 0.2
"""What is taken for usual at the spacing of the pass to come: the share that is spread over all depths,"""
USUAL_SHARES = np.array([0.0, 0.6, 0.0, 0.0, 0.4, 0.0])
"""and how what lies around depths is shared among the widths: within a bin or two, or some ten on a rough slant."""
USUAL_COUNTS = 10.0
"""So many pixels' worth of that are added to what was seen."""
LEAST_ANYWHERE = 0.03
"""Never less: a surface may end where none has ended so far, and that must not cost too much."""
_ROUNDS = 40
"""Of expectation maximisation: more change the shares by less than a hundredth."""
SINGLE, BETWEEN = 0, 1
"""Kinds of what is around: a neighbour's own depth, and half way between two that face each other."""


@dataclass(frozen=True)
class Trust:
    """The shares of a mixture: ``anywhere``, and of each kind and width, (2, widths); together they add up to one."""

    anywhere: float
    shares: FloatArray

    @classmethod
    def usual(cls) -> Trust:
        """Before anything was learnt."""
        return cls(USUAL_ANYWHERE, (1 - USUAL_ANYWHERE) / 2 * np.stack([USUAL_SHARES, USUAL_SHARES]))

    def at_half_the_spacing(self) -> Trust:
        """What was learnt of pixels that are twice as far apart, for nearer ones.

        If edges cross the way from a pixel to its neighbour at random, as many on each piece of it, none does with
        probability exp(-rate * distance): the square root at half the distance. And a slant rises half as far.
        """
        around = sqrt(max(0.0, 1 - self.anywhere))
        nearer = np.concatenate([self.shares[:, 1:], np.zeros((2, 1))], axis=1)
        nearer[:, 0] += self.shares[:, 0]
        return Trust(1 - around, nearer * (around / nearer.sum()))

    def at_twice_the_spacing(self) -> Trust:
        """The other way round."""
        around = (1 - self.anywhere) ** 2
        farther = np.concatenate([np.zeros((2, 1)), self.shares[:, :-1]], axis=1)
        farther[:, -1] += self.shares[:, -1]
        return Trust(1 - around, farther * (around / farther.sum()))

    def at_least(self, anywhere: float) -> Trust:
        """With no less than this spread over all depths."""
        if self.anywhere >= anywhere:
            return self
        return Trust(anywhere, self.shares * ((1 - anywhere) / self.shares.sum()))


@dataclass(frozen=True)
class Examples:
    """Pixels that were found, and what was found around them: a row each.

    ``target`` is the depth found in bins, ``sure`` how sure that is by the pixel's own photons. ``depth`` has depths
    around, ``weight`` what each counts for among those of its kind, and ``reliable`` how probably it is right.
    ``kind`` says which is of which kind, one for each column.
    """

    target: FloatArray
    sure: FloatArray
    depth: FloatArray
    weight: FloatArray
    reliable: FloatArray
    kind: IntArray

    def fits(self, bins: int) -> FloatArray:
        """How well each part of the mixture fits each pixel, as against all depths alike: (pixels, 1 + 2 widths)."""
        away = np.abs(self.target[:, np.newaxis] - self.depth)
        parts = [np.ones((self.target.size, 1))]
        for kind in (SINGLE, BETWEEN):
            weight = self.weight * (self.kind == kind)
            weight = weight / weight.sum(axis=1, keepdims=True)
            doubted = (weight * (1 - self.reliable)).sum(axis=1)
            close = [bins * (weight * self.reliable * np.exp(-away / width)).sum(axis=1) / (2 * width) for width in WIDTHS]
            parts.append(np.stack(close, axis=1) + doubted[:, np.newaxis])
        fit = np.concatenate(parts, axis=1)
        # A pixel that is not sure of its own depth may as well lie elsewhere, and says little for any of the parts.
        sure = self.sure[:, np.newaxis]
        return np.asarray(sure * fit + (1 - sure))


def learn(examples: Examples, bins: int) -> Trust:
    """The trust that makes what was found likeliest, at the spacing of these examples."""
    usual = Trust.usual().at_twice_the_spacing()
    before = USUAL_COUNTS * np.concatenate([[usual.anywhere], usual.shares.reshape(-1)])
    share = before + 1e-3 * USUAL_COUNTS  # a part that begins with nothing would end with it
    share /= share.sum()
    fits = examples.fits(bins)
    for _ in range(_ROUNDS):
        belongs = share * fits
        belongs /= belongs.sum(axis=1, keepdims=True)
        share = belongs.sum(axis=0) + before
        share /= share.sum()
    return Trust(float(share[0]), share[1:].reshape(2, WIDTHS.size))
