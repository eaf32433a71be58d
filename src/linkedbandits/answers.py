"""The answers to all plays ever asked, four bytes each, so that a repeated answer is told from a new one."""

from __future__ import annotations

import base64
import zlib
from array import array

WAITING = -2
NO_HIT = -1


class Answers:
    """Answer by play id: an arm's index, ``NO_HIT``, or ``WAITING`` for a play that is not answered yet."""

    def __init__(self) -> None:
        self._hits = array("i")

    def __len__(self) -> int:
        return len(self._hits)

    def __getitem__(self, play: int) -> int:
        return self._hits[play]

    def open_play(self) -> int:
        """Number a new play."""
        self._hits.append(WAITING)
        return len(self._hits) - 1

    def record(self, play: int, hit: int) -> None:
        """Write down the answer."""
        self._hits[play] = hit

    def to_text(self) -> str:
        """Packed into printable characters."""
        little = array("i", self._hits)
        if _BIG_ENDIAN:
            little.byteswap()
        return base64.b64encode(zlib.compress(little.tobytes())).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> Answers:
        """What :meth:`to_text` packed."""
        read = cls()
        read._hits.frombytes(zlib.decompress(base64.b64decode(text, validate=True)))
        if _BIG_ENDIAN:
            read._hits.byteswap()
        return read


_BIG_ENDIAN = array("H", [1]).tobytes() == b"\x00\x01"
