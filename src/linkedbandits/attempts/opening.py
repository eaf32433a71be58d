"""Files of a log as bytes: unpacked, and text in UTF-8, whatever the file is in."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

from linkedbandits.errors import CannotRead, why_not

Packing = Literal["", "gzip", "zstd"]
BYTE_ORDER_MARK = codecs.BOM_UTF8
UTF_16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
MAGIC: dict[bytes, Packing] = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
DECODED = 1 << 20
"""Bytes of UTF-16 that are decoded together."""


def packing_of(begin: bytes) -> Packing:
    """How a file that begins like this is packed."""
    return next((packing for magic, packing in MAGIC.items() if begin.startswith(magic)), "")


def utf16_of(begin: bytes) -> str | None:
    r"""Which UTF-16 a text is in that begins like this: by its mark, or by a letter and a zero in turn.

    >>> utf16_of("a,b\n".encode("utf-16-le")), utf16_of(b"a,b\n")
    ('utf-16-le', None)
    """
    for mark, encoding in UTF_16.items():
        if begin.startswith(mark):
            return encoding
    few = begin[:4]
    if len(few) == 4 and few[1::2] == b"\0\0" and 0 not in few[::2]:
        return "utf-16-le"
    if len(few) == 4 and few[::2] == b"\0\0" and 0 not in few[1::2]:
        return "utf-16-be"
    return None


@contextmanager
def read_errors(where: str) -> Iterator[None]:
    """What goes wrong with a file, in one line that names it."""
    try:
        yield
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        if isinstance(error, CannotRead):
            raise
        said = f"{why_not(error)}; give a file of text"
        if isinstance(error, EOFError):
            said = "it ends in the middle; fetch it again"
        elif isinstance(error, UnicodeDecodeError):
            said = f"{why_not(error)}; save it in UTF-8"
        raise CannotRead(f"cannot read {where}: {said}") from error


def opened(path: str | Path) -> IO[bytes]:
    """What is in a file, without what it is packed with, and in UTF-8 where it was in UTF-16."""
    file = _unpacked(path)
    try:
        begin = file.read(4)
        file.seek(0)
        encoding = utf16_of(begin)
    except BaseException:
        file.close()
        raise
    return file if encoding is None else cast("IO[bytes]", io.BufferedReader(_InUtf8(file, encoding)))


def _unpacked(path: str | Path) -> IO[bytes]:
    with Path(path).open("rb") as raw:
        packing = packing_of(raw.read(4))
    if packing == "gzip":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if packing == "zstd":
        return _without_zstd(path)
    return Path(path).open("rb")


def _without_zstd(path: str | Path) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return cast("IO[bytes]", zstd.open(path, "rb"))
    import polars as pl

    try:  # polars unpacks zstd, but hands out lines alone, and all at once
        lines = pl.read_csv(
            path, has_header=False, separator="\x1f", quote_char=None, schema={"line": pl.String}
        ).to_series()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise CannotRead(
            f"cannot read {path}, which is packed with zstd: {why_not(error)}; unpack it with: zstd -d, or pack it "
            "with gzip"
        ) from error
    return io.BytesIO("".join(f"{line}\n" for line in lines.fill_null("")).encode())


class _InUtf8(io.RawIOBase):
    """Text in another encoding, read as UTF-8."""

    def __init__(self, file: IO[bytes], encoding: str) -> None:
        super().__init__()
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            block = self._file.read(DECODED)
            if not block:
                return 0  # half a letter at the end of a file that is torn is none
            self._ready = memoryview(self._decoder.decode(block).encode())
        part = self._ready[: len(buffer)]
        buffer[: len(part)] = part
        self._ready = self._ready[len(part) :]
        return len(part)
