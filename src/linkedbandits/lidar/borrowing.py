"""What a pixel may expect from the pixels around it that were measured before: where to look first.

Neighbouring pixels mostly lie on one surface. So a coarse subgrid of the frame is measured first, then the pixels
between, in passes of half the spacing each; and a pixel of a later pass begins with a prior from those of the passes
before.

The proof of :mod:`linkedbandits.lidar.certificate` holds for any weights that were fixed before the pixel's own
photons. That is so here: a pixel's prior is made from pixels of earlier passes alone, and theirs from earlier passes
still. No pixel is measured twice, and no counts are pooled, so no prior descends from the pixel's own photons. Given
the scene, photons of different pixels are independent, and the martingale of the proof is one given all that came
before.

At an edge, what lies around may be far from the pixel's own depth. Part of the weight is therefore spread evenly over
all depths. How much that is, and how closely the rest lies around the depths found, is learnt from the passes before
(:mod:`linkedbandits.lidar.trusting`), which may each look at all of them: none has a pixel of the pass to come. Wrong
weights cost ``log(1 / LEAST_ANYWHERE)`` nats of evidence at most; and as M has wide laws, a signal and a background
that are nine times as bright as those around cost about two nats each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import hypot

import numpy as np

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar.expected import LEAST_SIGNAL, Expected
from linkedbandits.lidar.sensor import LEAST_BACKGROUND
from linkedbandits.lidar.trusting import AGREE, BETWEEN, DIFFER, LEAST_ANYWHERE, SINGLE, WIDTHS, Examples, Trust, learn
from linkedbandits.model import BoolArray, FloatArray, IntArray

COARSEST = 4
"""The first pass takes every fourth pixel of every fourth row."""
LEARN_FROM = 1500
"""Pixels, at most: more take time, and teach little."""
DIM = 0.05
"""This share of the pixels that were found are the dimmest."""
ALIKE = 3.0
"""Bins: depths that are no farther apart agree."""
_AT_ONCE = 2**13
"""Pixels that are looked at together."""
_KINDS_SEEN = np.array([SINGLE] * 4 + [BETWEEN] * 2)
"""The columns that an example has: four of neighbours, and two of pairs that face each other."""
_IN_COLUMN, _IN_ROW, _AT_CORNERS = 1, 2, 3
"""Where neighbours lie."""
_SURELY = 1 - 1e-9
_TINY = 1e-9


@dataclass(frozen=True)
class Pass:
    """Pixels that are measured side by side: their numbers in the image, row by row, and the spacing of the pass."""

    spacing: int
    pixels: IntArray


def passes(shape: tuple[int, int], coarsest: int = COARSEST) -> list[Pass]:
    """All pixels of an image, each in one pass.

    >>> [each.pixels.tolist() for each in passes((2, 3), coarsest=2)]
    [[0, 2], [1, 3, 4, 5]]
    """
    row, column = np.indices(shape)
    left = np.ones(shape, dtype=np.bool_)
    found = []
    spacing = coarsest
    while spacing >= 1:
        now = left & (row % spacing == 0) & (column % spacing == 0)
        left &= ~now
        if now.any():
            found.append(Pass(spacing, np.flatnonzero(now)))
        spacing //= 2
    return found


@dataclass(frozen=True)
class Known:
    """What was found of every pixel of an image so far, row by row; ``sure`` is 0 where nothing was.

    ``alone`` is how sure a pixel would be by its own photons: what those around it said is taken out again, or they
    would seem to be right wherever they had been believed.
    """

    shape: tuple[int, int]
    depth: FloatArray
    sure: FloatArray
    signal: FloatArray
    background: FloatArray
    alone: FloatArray
    measured: BoolArray

    @classmethod
    def nothing(cls, shape: tuple[int, int]) -> Known:
        """Of no pixel anything."""
        pixels = shape[0] * shape[1]
        depth, sure, signal, background, alone = np.zeros((5, pixels))
        return cls(shape, depth, sure, signal, background, alone, np.zeros(pixels, dtype=np.bool_))

    def put(
        self,
        some: Pass,
        these: Around | None,
        depth: FloatArray,
        sure: FloatArray,
        signal: FloatArray,
        background: FloatArray,
        tolerance: float,
        bins: int,
    ) -> None:
        """Write down what was found of a pass, which expected this of the pixels around; nan where nothing was."""
        sure = np.where(np.isfinite(depth), np.nan_to_num(sure), 0.0)
        depth = np.nan_to_num(depth)
        self.measured[some.pixels] = True
        self.depth[some.pixels] = depth
        self.sure[some.pixels] = sure
        self.signal[some.pixels] = np.nan_to_num(signal)
        self.background[some.pixels] = np.nan_to_num(background)
        for first in range(0, some.pixels.size, _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            alone = sure[part]
            if these is not None:
                alone = these.take(part).taken_out(depth[part], alone, tolerance, bins)
            self.alone[some.pixels[part]] = alone


@dataclass(frozen=True)
class Around:
    """What pixels may expect from those around them, in a few numbers: a row for each pixel.

    ``depth`` has the depths found around, and half way between two that face each other, in bins; ``trust`` how far to
    trust each. What trust there is not, to add up to one, is spread over all depths. What is trusted lies around its
    depth as exp(-distance / width), with the ``shares`` of the ``widths``: (groups, columns of depth, widths), which
    add up to one over the widths, where ``group`` says in which each pixel is. ``signal`` is in photons a cycle,
    ``background`` in photons a bin and cycle.
    """

    depth: FloatArray
    trust: FloatArray
    signal: FloatArray
    background: FloatArray
    group: IntArray
    shares: FloatArray
    widths: FloatArray

    def __post_init__(self) -> None:
        assert np.array_equal(self.widths[1:], 2 * self.widths[:-1]), "each width is twice the one before"

    def check(self) -> None:
        """Refuse what a guarantee cannot rest on: who takes it from outside calls this, once."""
        pixels, columns, groups = self.depth.shape[:1], self.depth.shape[1:], len(self.shares)
        rows = (self.depth, self.trust, self.signal, self.background, self.group)
        shapes = tuple(each.shape for each in (*rows, self.shares))
        if shapes != (self.depth.shape, self.depth.shape, pixels, pixels, pixels, (groups, *columns, self.widths.size)):
            raise InvalidParameter(
                f"depths around of shape {self.depth.shape}, trust of {self.trust.shape} and shares of "
                f"{self.shares.shape} do not go together; give a row for every pixel, and shares for every width"
            )
        if not all(np.isfinite(each).all() for each in (*rows, self.shares)):
            raise InvalidParameter("what was found around a pixel is no number; leave it out, with a trust of 0")
        if (self.trust < 0).any() or (self.shares < 0).any() or (self.trust.sum(axis=1) > 1 + _TINY).any():
            raise InvalidParameter(
                "trust in what was found around a pixel adds up to more than one, or is less than none; scale it"
            )
        if not np.isin(self.group, np.arange(groups)).all():
            raise InvalidParameter(f"a pixel's group is not among the {groups} that have shares; give one that is")

    def take(self, pixels: IntArray | slice) -> Around:
        """Of these pixels alone."""
        return replace(
            self,
            depth=self.depth[pixels],
            trust=self.trust[pixels],
            signal=self.signal[pixels],
            background=self.background[pixels],
            group=self.group[pixels],
        )

    @property
    def light(self) -> tuple[FloatArray, FloatArray]:
        """Signal and background; nothing is expected to be quite dark."""
        return np.maximum(self.signal, LEAST_SIGNAL), np.maximum(self.background, LEAST_BACKGROUND)

    def expected(self, bins: int) -> Expected:
        """The weights of all bins, and the rest."""
        weight = self._weights(np.arange(bins)[np.newaxis], bins)
        return Expected(np.log(weight / weight.sum(axis=1, keepdims=True)), self.signal, self.background)

    def log_weights(self, pixels: IntArray, place: IntArray, bins: int) -> FloatArray:
        """The logarithms of the weights of some bins of these pixels, (pixels, places), but for what all bins share."""
        return np.asarray(np.log(self.take(pixels)._weights(place, bins)))

    def _weights(self, place: IntArray, bins: int) -> FloatArray:
        """Of these bins; the same ones of every pixel, where ``place`` has one row."""
        weight = np.empty((len(self.depth), place.shape[1]))
        weight[:] = ((1 - self.trust.sum(axis=1)) / bins)[:, np.newaxis]
        for group, column in np.ndindex(self.shares.shape[:2]):
            rows = np.flatnonzero((self.trust[:, column] > 0) & (self.group == group))
            middle = (place if len(place) == 1 else place[rows]) + 0.5
            fall = np.exp(-np.abs(middle - self.depth[rows, column, np.newaxis]) / self.widths[-1])
            for share, width in zip(self.shares[group, column, ::-1], self.widths[::-1], strict=True):
                weight[rows] += share * self.trust[rows, column, np.newaxis] / (2 * width) * fall
                fall *= fall  # the next width is half of this one
        return weight

    def taken_out(self, depth: FloatArray, sure: FloatArray, tolerance: float, bins: int) -> FloatArray:
        """How sure pixels that were found here would be, had they known nothing of those around them."""
        alike = min(0.5, (2 * tolerance + 1) / bins)
        around = alike * (1 - self.trust.sum(axis=1))
        for place in range(self.depth.shape[1]):
            away = np.abs(depth - self.depth[:, place])
            for share, width in zip(self.shares[self.group, place].T, self.widths, strict=True):
                low, high = (away - tolerance - 0.5) / width, (away + tolerance + 0.5) / width
                inside = np.where(low < 0, 2 - np.exp(np.minimum(low, 0.0)), np.exp(-np.maximum(low, 0.0)))
                around = around + share * self.trust[:, place] * (inside - np.exp(-high)) / 2
        odds = np.clip(sure, 0.0, _SURELY) / (1 - np.clip(sure, 0.0, _SURELY))
        odds *= (1 - around) / np.maximum(around, _TINY) * alike / (1 - alike)
        return np.asarray(odds / (1 + odds))


def around(known: Known, some: Pass, signal: float, background: float, bins: int) -> Around:
    """Of the pixels of a pass, by those measured before; signal and background as given, where there are none."""
    trusts = learn_from(known, some, bins)
    parts = [
        _around_part(known, some.pixels[first : first + _AT_ONCE], some.spacing, trusts, signal, background)
        for first in range(0, some.pixels.size, _AT_ONCE)
    ]
    columns = ("depth", "trust", "signal", "background", "group")
    return replace(parts[0], **{name: np.concatenate([getattr(part, name) for part in parts]) for name in columns})


def _around_part(
    known: Known, pixels: IntArray, spacing: int, trusts: list[Trust], signal: float, background: float
) -> Around:
    """The same of some pixels, few enough that their arrays stay in a core's cache."""
    near = _neighbours(known, known.sure, pixels, spacing)
    group = _groups(near.depth, near.weight, near.kind)
    of_kind = np.array([trust.shares.sum(axis=1) for trust in trusts])
    anywhere = np.array([trust.anywhere for trust in trusts])
    weight = near.weight * of_kind[group][:, near.kind]
    found = weight.any(axis=1)
    weight /= np.where(found, weight.sum(axis=1), 1.0)[:, np.newaxis]
    single = near.weight * (near.kind == SINGLE)
    single /= np.where(found, single.sum(axis=1), 1.0)[:, np.newaxis]
    light = np.exp(
        [(single * np.log(each[near.pixel] + _TINY)).sum(axis=1) for each in (known.signal, known.background)]
    )
    return Around(
        depth=near.depth,
        trust=(1 - anywhere[group])[:, np.newaxis] * weight * near.reliable,
        signal=np.where(found, light[0], signal),
        background=np.where(found, light[1], background),
        group=group,
        shares=np.array([(trust.shares / trust.shares.sum(axis=1, keepdims=True))[near.kind] for trust in trusts]),
        widths=WIDTHS,
    )


def learn_from(known: Known, some: Pass, bins: int) -> list[Trust]:
    """How far the pixels of this pass should trust those around, by how well that would have worked in those before.

    The pixels that are done lie twice as far apart as this pass has them from its neighbours.
    """
    spacing = 2 * some.spacing
    row, column = np.divmod(np.flatnonzero(known.measured), known.shape[1])
    there = (row % spacing == 0) & (column % spacing == 0)
    pixels = (row * known.shape[1] + column)[there]
    pixels = pixels[:: -(-pixels.size // LEARN_FROM) or 1]
    near = _neighbours(known, known.alone, pixels, spacing)
    found = known.signal[known.alone > 0]
    # What was not found is taken to be as dim as the dimmest that were.
    signal = np.log(np.maximum(known.signal, np.quantile(found, DIM) if found.size else 0.0) + _TINY)
    # A pixel of a pass has two neighbours that face each other, or four at its corners: so has an example.
    parts = []
    for way in (_IN_COLUMN, _IN_ROW, _AT_CORNERS):
        columns = _seen(near, way)
        weight = near.weight[:, columns]
        has = weight[:, _KINDS_SEEN == BETWEEN].any(axis=1)
        seen = np.ix_(has, columns)
        brighter = signal[pixels[has], np.newaxis] - (signal[near.pixel[seen]] + signal[near.other[seen]]) / 2
        parts.append((pixels[has], near.depth[seen], weight[has], near.reliable[seen], brighter))
    of, depth, weight, reliable, apart = (np.concatenate(each) for each in zip(*parts, strict=True))
    examples = Examples(known.depth[of], known.alone[of], depth, weight, reliable, apart, _KINDS_SEEN)
    learnt = learn(examples, bins, _groups(depth, weight, _KINDS_SEEN))
    return [trust.at_half_the_spacing().at_least(LEAST_ANYWHERE) for trust in learnt]


@dataclass(frozen=True)
class _Near:
    """Pixels around others: a row for each of those, a column for each neighbour or pair that faces each other.

    ``weight`` is what it counts for, ``reliable`` how probably it is right, ``pixel`` and ``other`` are the pair, or
    the neighbour twice, and ``way`` says whether they lie in its column, its row, or at its corners.
    """

    depth: FloatArray
    weight: FloatArray
    reliable: FloatArray
    pixel: IntArray
    other: IntArray
    kind: IntArray
    way: IntArray


def _seen(near: _Near, way: int) -> IntArray:
    """The columns that a pixel between two others sees, or amid four: as many of each kind, whichever it is.

    Two neighbours stand there twice each, and so does their pair: what counts are shares among those of a kind.
    """
    columns = []
    for kind in (SINGLE, BETWEEN):
        found = np.flatnonzero((near.way == way) & (near.kind == kind))
        columns.append(np.resize(found, np.count_nonzero(kind == _KINDS_SEEN)))
    return np.concatenate(columns)


def _groups(depth: FloatArray, weight: FloatArray, kind: IntArray) -> IntArray:
    """Do those around that count for something agree with each other?"""
    counts = (weight > 0) & (kind == SINGLE)
    least, most = np.where(counts, depth, np.inf).min(axis=1), np.where(counts, depth, -np.inf).max(axis=1)
    return np.where((counts.sum(axis=1) > 1) & (most - least <= ALIKE), AGREE, DIFFER)


def _neighbours(known: Known, sureness: FloatArray, pixels: IntArray, spacing: int) -> _Near:
    columns: list[tuple[FloatArray, FloatArray, FloatArray, IntArray, IntArray]] = []
    kinds, ways = [], []
    for down, right in _steps(spacing):
        nearness = (spacing / hypot(down, right)) ** 2
        one, sure = _at(known, sureness, pixels, down, right)
        columns.append((known.depth[one], sure**2 * nearness, sure, one, one))
        kinds.append(SINGLE)
        ways.append(_IN_COLUMN * (down != 0) + _IN_ROW * (right != 0))  # both at a corner
        if (down, right) > (0, 0):  # half way between two that face each other, as on a slant
            other, other_sure = _at(known, sureness, pixels, -down, -right)
            half_way = (known.depth[one] + known.depth[other]) / 2
            columns.append((half_way, 2 * sure * other_sure * nearness, sure * other_sure, one, other))
            kinds.append(BETWEEN)
            ways.append(ways[-1])
    depth, weight, reliable, pixel, other = (np.stack(each, axis=1) for each in zip(*columns, strict=True))
    return _Near(depth, weight, reliable, pixel, other, np.array(kinds), np.array(ways))


def _steps(spacing: int) -> list[tuple[int, int]]:
    steps = (-spacing, 0, spacing)
    return [(down, right) for down in steps for right in steps if (down, right) != (0, 0)]


def _at(known: Known, sureness: FloatArray, pixels: IntArray, down: int, right: int) -> tuple[IntArray, FloatArray]:
    """The pixels that are so far from these, and how sure each is; not at all, where there is none."""
    rows, columns = known.shape
    row, column = pixels // columns + down, pixels % columns + right
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    there = np.where(inside, row * columns + column, 0)
    return there, np.where(inside, sureness[there], 0.0)
