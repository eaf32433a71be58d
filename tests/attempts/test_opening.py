"""Files as bytes of UTF-8."""

from __future__ import annotations

import base64
import gzip

import pytest

from linkedbandits.attempts import opening
from linkedbandits.attempts.opening import opened, packing_of, read_errors, utf16_of
from linkedbandits.errors import CannotRead

TEXT = "request,option,outcome\n\n1,\u2603,ok\n" * 50
PACKED_WITH_ZSTD = "KLUv/QRoVQEAFAJyZXF1ZXN0LG9wdGlvbixvdXRjb21lCgoxLOKYgyxvawoBAHGS/OoJdlkVOA=="
"""The same, as zstd -19 packs it."""


def content(path):
    with opened(path) as file:
        return file.readline() + file.read(7) + file.read()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_whatever_it_is_in_it_is_read_as_utf8(tmp_path, monkeypatch, encoding, pack):
    monkeypatch.setattr(opening, "DECODED", 33)  # in the middle of letters
    path = tmp_path / "log"
    path.write_bytes(pack(TEXT.encode(encoding)))
    assert content(path).removeprefix(opening.BYTE_ORDER_MARK).decode() == TEXT


def test_letters_that_are_torn(tmp_path):
    path = tmp_path / "log"
    path.write_bytes("ab\n".encode("utf-16") + b"c")
    assert content(path).endswith(b"ab\n")
    path.write_bytes("ab\n".encode("utf-16-le") + b"\x00\xd8\x00\xd8a\0")
    with pytest.raises(CannotRead, match="save it in UTF-8"), read_errors("log"):
        content(path)


def test_what_a_file_begins_with():
    assert [packing_of(begin) for begin in (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"a,b")] == ["gzip", "zstd", ""]
    assert [utf16_of(begin) for begin in (b"", b"a\0", b"\0\0\0\0", b"a,b\n")] == [None] * 4


def test_zstd(tmp_path):
    packed = tmp_path / "log.zst"
    packed.write_bytes(base64.b64decode(PACKED_WITH_ZSTD))
    assert content(packed).decode() == TEXT
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(CannotRead, match="log"), read_errors("log"):
        content(packed)
