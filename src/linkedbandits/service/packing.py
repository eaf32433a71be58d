"""Small forms for what the store keeps much of."""

from __future__ import annotations

import json
import zlib
from typing import Any

import numpy as np

from linkedbandits.model import IntArray

_MARKS, _NUMBERS = b"m", b"n"


def pack_arms(arms: IntArray) -> bytes:
    """A tuple of arms: a mark for each arm where they are in order, else four bytes each.

    >>> pack_arms(np.array([0, 2, 3])), pack_arms(np.array([2, 0]))
    (b'm\\xb0', b'n\\x02\\x00\\x00\\x00\\x00\\x00\\x00\\x00')
    """
    if arms.size and (np.diff(arms) > 0).all():
        marks = np.zeros(int(arms[-1]) + 1, dtype=np.bool_)
        marks[arms] = True
        return _MARKS + np.packbits(marks).tobytes()
    return _NUMBERS + arms.astype("<i4").tobytes()


def unpack_arms(packed: bytes) -> IntArray:
    """What :func:`pack_arms` packed.

    >>> unpack_arms(pack_arms(np.array([0, 2, 3])))
    array([0, 2, 3])
    """
    form, content = packed[:1], packed[1:]
    if form == _MARKS:
        return np.flatnonzero(np.unpackbits(np.frombuffer(content, dtype=np.uint8)))
    return np.frombuffer(content, dtype="<i4").astype(np.int64)


def pack_json(data: dict[str, Any]) -> bytes:
    """JSON of the data, compressed."""
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode("ascii"), 1)


def unpack_json(packed: bytes) -> dict[str, Any]:
    """What :func:`pack_json` packed."""
    data: dict[str, Any] = json.loads(zlib.decompress(packed))
    return data
