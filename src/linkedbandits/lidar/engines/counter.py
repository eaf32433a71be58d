"""Randomness by counter: what a pixel sees depends on its number and on how much it saw, and on nothing beside it.

Philox4x32-10, after Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011, makes four
words of 32 bits from a counter and a key. The counter names what the words are for: which pixel, which stream, which
number in it. So engines may share out pixels as they like, and a pixel gets the same.

The streams of a pixel, and what is numbered in each:

0. the photons of cycles (or windows): in how many the detector was armed before;
1. the draws of Thompson gating: the step;
2. the photons of a detector that runs freely: how many were drawn before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linkedbandits.model import FloatArray

Words = npt.NDArray[np.uint32]

PHOTONS, DRAWS, DETECTIONS = 0, 1, 2
ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
WEYL = 0x9E3779B9, 0xBB67AE85
"""What the two halves of the key grow by from round to round."""
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def key_of(seed: int) -> tuple[int, int]:
    """The key of a frame, from its seed: the low half and the high half."""
    word = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    return word & 0xFFFFFFFF, word >> 32


def philox(counter: npt.ArrayLike, key: npt.ArrayLike) -> Words:
    """The four words of each counter, (..., 4), under a key, (..., 2).

    >>> [f"{word:08x}" for word in philox([0, 0, 0, 0], [0, 0])]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    one, two, three, four = np.moveaxis(np.asarray(counter, dtype=np.uint64), -1, 0)
    low, high = np.moveaxis(np.asarray(key, dtype=np.uint64), -1, 0)
    for _ in range(ROUNDS):
        first, second = np.uint64(MULTIPLIERS[0]) * one, np.uint64(MULTIPLIERS[1]) * three
        one, two, three, four = (
            (second >> _HALF) ^ two ^ low,
            second & _LOW,
            (first >> _HALF) ^ four ^ high,
            first & _LOW,
        )
        low, high = (low + np.uint64(WEYL[0])) & _LOW, (high + np.uint64(WEYL[1])) & _LOW
    return np.stack(np.broadcast_arrays(one, two, three, four), axis=-1).astype(np.uint32)


def words(key: tuple[int, int], pixel: npt.ArrayLike, stream: int, number: npt.ArrayLike) -> Words:
    """The word of each pixel and number in a stream."""
    pixels, numbers = np.broadcast_arrays(np.asarray(pixel, dtype=np.uint64), np.asarray(number, dtype=np.uint64))
    streams = np.full(pixels.shape, stream, dtype=np.uint64)
    counter = np.stack([numbers >> np.uint64(2), streams, pixels & _LOW, pixels >> _HALF], axis=-1)
    four = philox(counter, np.array(key, dtype=np.uint64))
    which = (numbers & np.uint64(3)).astype(np.int64)
    return np.asarray(np.take_along_axis(four, which[..., np.newaxis], axis=-1)[..., 0])


def uniforms(key: tuple[int, int], pixel: npt.ArrayLike, stream: int, number: npt.ArrayLike) -> FloatArray:
    """Numbers between 0 and 1, and neither of them."""
    return np.asarray((words(key, pixel, stream, number) + 0.5) * 2.0**-32)


def exponentials(key: tuple[int, int], pixel: npt.ArrayLike, stream: int, number: npt.ArrayLike) -> FloatArray:
    """Numbers of the exponential distribution with mean 1."""
    return np.asarray(-np.log(uniforms(key, pixel, stream, number)))
