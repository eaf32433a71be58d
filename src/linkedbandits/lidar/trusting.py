"""How far to trust the pixels around: learnt from pixels that were measured before, by how well it would have worked.

Of a pixel that is done it is known where its depth lies, and where those of the pixels around it lie; so one can ask
which weights would have made its depth likeliest: how much of them is spread over all depths, how much lies around the
depths of single neighbours and half way between two that face each other, and how closely. That is a mixture, and its
shares are found by expectation maximisation, with a few made-up pixels for what is usual, so that small images behave.

Where a scene is all edges, little is left around the neighbours; on a smooth wall nearly all is, and close to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log

import numpy as np

from linkedbandits.model import FloatArray, IntArray

WIDTHS = np.array([0.75, 1.5, 3.0, 6.0, 12.0])
"""Bins: what lies around a depth falls by a factor of e within one of these. Each is twice the one before."""
USUAL_ANYWHERE = 0.2
"""What is taken for usual at the spacing of the pass to come: the share that is spread over all depths,"""
USUAL_SHARES = np.array([0.0, 0.6, 0.0, 0.4, 0.0])
"""and how what lies around depths is shared among the widths: within a bin or two, or some ten on a rough slant."""
USUAL_COUNTS = 10.0
"""So many pixels' worth of that are added to what was seen."""
LEAST_ANYWHERE = 0.03
"""Never less: a surface may end where none has ended so far, and that must not cost too much."""
LEAST_NEED = 0.05
"""A pixel that is sure by its own photons counts for this much, one that knows nothing for one: weights are for those
that need them. The dim ones may be other things than those around them that were found."""
USUAL_APART = 0.8
"""How far apart the logarithms of two pixels' signals are, usually: whether they are on one surface is to be learnt."""
AGREE, DIFFER = 0, 1
"""Groups of pixels: those around agree with each other, or they do not, as on a slant, at an edge, or where one is all
there is. Each learns for itself."""
GROUPS = 2
_TINY = 1e-9
_LEAST_SHARE = 1e-4
_ROUNDS = 40
"""Of expectation maximisation, at most: more change the shares by less than a hundredth."""
_SETTLED = 1e-3
"""It ends where a round changes no share by more than this."""
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
        """What was learnt of pixels that are twice as far apart, for nearer ones: a slant rises half as far.

        Edges are also fewer between them, by up to a half. But that is not so for dim pixels, which are found last and
        need it most: what was found next to one is rather another thing. And it would gain a tenth of a nat at most.
        """
        nearer = np.concatenate([self.shares[:, 1:], np.zeros((2, 1))], axis=1)
        nearer[:, 0] += self.shares[:, 0]
        return Trust(self.anywhere, nearer)

    def at_twice_the_spacing(self) -> Trust:
        """The other way round."""
        farther = np.concatenate([np.zeros((2, 1)), self.shares[:, :-1]], axis=1)
        farther[:, -1] += self.shares[:, -1]
        return Trust(self.anywhere, farther)

    def at_least(self, anywhere: float) -> Trust:
        """With no less than this spread over all depths."""
        if self.anywhere >= anywhere:
            return self
        return Trust(anywhere, self.shares * ((1 - anywhere) / self.shares.sum()))


@dataclass(frozen=True)
class Examples:
    """Pixels that were measured, and what was found around them: a row each.

    ``target`` is the depth found in bins, ``sure`` how sure that is by the pixel's own photons: 0 where nothing was
    found. ``depth`` has depths around, ``weight`` what each counts for among those of its kind, and ``reliable`` how
    probably it is right; ``brighter`` is the logarithm of how many times as much comes back from the pixel as from
    there. ``kind`` says which is of which kind, one for each column.
    """

    target: FloatArray
    sure: FloatArray
    depth: FloatArray
    weight: FloatArray
    reliable: FloatArray
    brighter: FloatArray
    kind: IntArray

    def fits(self, bins: int, density: FloatArray, same: float, other: float) -> FloatArray:
        """How well each part of the mixture fits each pixel: (pixels, 1 + 2 widths); ``density`` is :meth:`of_all`.

        ``same`` and ``other`` say how far apart the signals of two pixels are that lie on one surface, or do not. That
        is for pixels which are not sure of their own depth: they may lie anywhere, and their signal has to tell.
        """
        # A row for each column: long ones are added up faster.
        depth, weights, reliable, brighter = (
            np.ascontiguousarray(each.T) for each in (self.depth, self.weight, self.reliable, self.brighter)
        )
        unknown = 1 - self.sure
        as_same, as_other = (np.exp(unknown * (np.abs(brighter) / -apart - log(2 * apart))) for apart in (same, other))
        away = np.abs(self.target - depth)
        falls = [np.exp(away / -WIDTHS[-1])]  # the widest first: each is twice as wide as the next
        for _ in WIDTHS[1:]:
            falls.append(falls[-1] * falls[-1])
        parts = []
        for kind in (SINGLE, BETWEEN):
            # Where no two face each other, single neighbours take what would be trusted in what lies between.
            none = ~weights[self.kind == kind].any(axis=0)
            weight = weights * ((self.kind == kind)[:, np.newaxis] | none)
            weight /= weight.sum(axis=0)
            if kind == SINGLE:
                elsewhere = self.sure * bins * density + unknown
                parts.append((weight * as_other).sum(axis=0) * elsewhere)
            trusted = weight * reliable * as_same
            anyhow = (weight * (1 - reliable) * as_other).sum(axis=0) + unknown * trusted.sum(axis=0)
            for fall, width in zip(falls[::-1], WIDTHS, strict=True):
                parts.append(self.sure * bins / (2 * width) * (trusted * fall).sum(axis=0) + anyhow)
        return np.stack(parts, axis=1)

    def of_all(self, bins: int) -> FloatArray:
        """How many pixels of the whole image lie where each of these does: their density a bin.

        Neighbours have to do better than any other pixels would, as depths of a scene crowd together anyway.
        """
        place = np.clip(self.target.astype(np.int64), 0, bins - 1)
        held = np.bincount(place, weights=self.sure, minlength=bins) + USUAL_COUNTS / bins
        return np.asarray((_spread(bins) @ (held / held.sum()))[place])

    def apart(self, on_one: FloatArray) -> tuple[float, float]:
        """How far apart signals are, where pixels lie on one surface with this probability; and where not."""
        weight = self.weight * (self.kind == SINGLE)
        weight = weight / weight.sum(axis=1, keepdims=True)
        distance = (weight * np.abs(self.brighter)).sum(axis=1)
        same, other = (
            (USUAL_COUNTS * USUAL_APART + (share * distance).sum()) / (USUAL_COUNTS + share.sum())
            for share in (self.sure * on_one, self.sure * (1 - on_one))
        )
        return float(same), float(other)


@lru_cache(maxsize=4)
def _spread(bins: int) -> FloatArray:
    """What of the pixels in each bin counts for those in another: columns add up to one."""
    place = np.arange(bins)
    spread = np.exp(-np.abs(place[:, np.newaxis] - place) / WIDTHS[-1])
    return np.asarray(spread / spread.sum(axis=0))


def learn(examples: Examples, bins: int, groups: IntArray) -> list[Trust]:
    """The trust that makes what was found likeliest, at the spacing of these examples: one for each of two groups.

    First of all of them together; that is what is usual in this image, and what each group begins with.
    """
    usual = Trust.usual().at_twice_the_spacing()
    start = np.concatenate([[usual.anywhere], usual.shares.reshape(-1)])
    density = examples.of_all(bins)
    fits = examples.fits(bins, density, USUAL_APART, USUAL_APART)
    share = _settled(start, fits, examples.sure, start)
    weight = np.maximum(share, _LEAST_SHARE)
    anywhere = weight[0] * fits[:, 0] / (fits @ weight)
    fits = examples.fits(bins, density, *examples.apart(1 - anywhere))
    counts = np.maximum(1 - examples.sure, LEAST_NEED)
    counts *= counts.size / max(counts.sum(), _TINY)
    found = []
    whole = _settled(share, fits, counts, start)
    for group in range(GROUPS):
        own = _settled(whole, fits, counts * (groups == group), whole)
        found.append(Trust(float(own[0]), own[1:].reshape(2, WIDTHS.size)))
    return found


def _settled(share: FloatArray, fits: FloatArray, counts: FloatArray, usual: FloatArray) -> FloatArray:
    for _ in range(_ROUNDS):
        before = share
        # What belongs to each part by these shares, and the shares by what belongs to each part. A part that begins
        # with nothing would end with it.
        weight = np.maximum(share, _LEAST_SHARE)
        share = weight * ((counts / (fits @ weight)) @ fits) + USUAL_COUNTS * usual
        share /= share.sum()
        if np.abs(share - before).max() < _SETTLED:
            break
    return share
