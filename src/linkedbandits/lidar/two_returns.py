"""Do the counts look like two returns close to each other, on both sides of the depth that was found?

The proof of :mod:`linkedbandits.lidar.certificate` knows one return. Two that are farther apart than the pulse is wide
do no harm: what is found is one of them. But of two that overlap, such as an edge that a pixel sees both sides of, the
depth found may be between them, and sure and wrong. So no depth is called sure unless one return at that depth
explains the counts better than two, one on each side of it, do: by a nat. To call fewer depths sure never harms a
guarantee. That it is enough for two returns is measured, not proved.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from linkedbandits.lidar.pulse import PulseShape
from linkedbandits.model import FloatArray, IntArray

MORE = -1.0
"""Nats by which two may be better: two have to be worse by one. To ask for that takes a twentieth more cycles where
there is a single return. With two that are 2.4 bins apart, the worst case found, it leaves a fifth of the depths that
would be sure and between them."""
SIDES = (1.05, 1.6, 2.4)
"""How far the two are from the depth that was found, each on its side, in tolerances."""
SINGLE = (-0.6, -0.3, 0.0, 0.3, 0.6)
"""Where a single one is looked for."""
STEPS = 8


def gain_of_two(
    pulse: PulseShape,
    samples: IntArray,
    successes: IntArray,
    centre: FloatArray,
    tolerance: float,
    signal: FloatArray,
    background: FloatArray,
) -> FloatArray:
    """By how many nats two returns around ``centre`` explain the counts of each lane better than one at it.

    ``signal`` and ``background`` fit best with one; the background is taken to be that.
    """
    lanes, bins = samples.shape
    reach = pulse.half + ceil(SIDES[-1] * tolerance) + 1
    place = np.floor(centre).astype(np.int64)[:, np.newaxis] + np.arange(-reach, reach + 1)
    inside = (place >= 0) & (place < bins)
    row = np.arange(lanes)[:, np.newaxis]
    fired = np.where(inside, successes[row, np.clip(place, 0, bins - 1)], 0).astype(np.float64)
    tried = np.where(inside, samples[row, np.clip(place, 0, bins - 1)], 0).astype(np.float64)
    edges = place - centre[:, np.newaxis]

    def shares(away: tuple[float, ...]) -> FloatArray:
        """Of pulses that are so far from the centre, in tolerances: (pulses, lanes, bins)."""
        first = edges - tolerance * np.array(away)[:, np.newaxis, np.newaxis]
        return np.asarray(pulse.cumulative(first + 1) - pulse.cumulative(first))

    light = _Light(fired, tried - fired, background[:, np.newaxis])
    one = light.best(shares(SINGLE), None, signal)
    left, right = shares(tuple(-each for each in SIDES)), shares(SIDES)
    count = len(SIDES)
    two = light.best(left.repeat(count, axis=0), np.tile(right, (count, 1, 1)), signal)
    return np.asarray(two.max(axis=0) - one.max(axis=0))


class _Light:
    """Counts around the centre, and their background."""

    def __init__(self, fired: FloatArray, missed: FloatArray, background: FloatArray) -> None:
        self._fired, self._missed, self._background = fired, missed, background

    def best(self, one: FloatArray, other: FloatArray | None, signal: FloatArray) -> FloatArray:
        """The largest log-likelihood over all signals of returns with these shares (returns, lanes, bins), or pairs."""
        first = np.broadcast_to(signal / 2 + 1e-6, one.shape[:-1])
        second = None if other is None else first
        for _ in range(STEPS):
            firing = -np.expm1(-self._rate(one, other, first, second))
            pull = self._fired * (1 / firing - 1)
            bend, weight = pull / firing, pull - self._missed
            along, bent = _sum(weight, one), _sum(bend, one, one) + 1e-12
            if other is None or second is None:
                first = np.clip(first + along / bent, first / 5, 5 * first)
                continue
            along_other, bent_other, both = (
                _sum(weight, other),
                _sum(bend, other, other) + 1e-12,
                _sum(bend, one, other),
            )
            area = np.maximum(bent * bent_other - both**2, 1e-6 * bent * bent_other)
            step = (bent_other * along - both * along_other) / area
            step_other = (bent * along_other - both * along) / area
            first = np.clip(first + step, first / 5, 5 * first)
            second = np.clip(second + step_other, second / 5, 5 * second)
        rate = self._rate(one, other, first, second)
        return np.asarray((self._fired * np.log(-np.expm1(-rate)) - self._missed * rate).sum(axis=-1))

    def _rate(
        self, one: FloatArray, other: FloatArray | None, first: FloatArray, second: FloatArray | None
    ) -> FloatArray:
        rate = first[..., np.newaxis] * one + self._background
        return np.asarray(rate if other is None or second is None else rate + second[..., np.newaxis] * other)


def _sum(*factors: FloatArray) -> FloatArray:
    """The sum of products over bins."""
    return np.asarray(np.einsum(",".join(["pli"] * len(factors)) + "->pl", *factors))
