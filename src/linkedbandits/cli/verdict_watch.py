"""A file that grows, followed line by line; and what of a report is new since the last look.

Whole lines alone are copied, as they come, into a file of our own, and each look reads that copy from its beginning: so
half a line is never taken for a whole one, and a log goes on where its file is rotated away or cut off.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from linkedbandits.attempts.alarms import speaks_against
from linkedbandits.attempts.opening import MAGIC, UTF_16
from linkedbandits.attempts.report import Report
from linkedbandits.attempts.wording import set_aside_in_words
from linkedbandits.errors import CannotRead, InvalidAttempts, InvalidParameter, why_not

BLOCK = 1 << 20
PACKED = (*MAGIC, *UTF_16, b"PAR1")
"""How files begin that cannot be followed line by line: gzip, zstd, UTF-16 and Parquet."""
REMEMBERED = 256
"""Bytes before the place that was read up to, by which a file is known again."""
SEPARATORS = ",\t;|"


class Follower:
    """Copies the whole lines of a file that grows."""

    def __init__(self, source: Path, copy: Path) -> None:
        self.source, self.copy = source, copy
        self.lines = 0
        """In the copy."""
        self._header: bytes | None = None
        self._rest = self._last = b""
        self._at_begin = True
        self._file = self._opened()
        begin = self._file.read(4)
        self._file.seek(0)
        if begin.startswith(PACKED):
            self._file.close()
            raise InvalidParameter(f"--watch follows text in UTF-8 that grows, and {source} is none; leave --watch out")
        copy.touch()

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def look(self) -> tuple[bool, list[str]]:
        """Copy what is new. Is anything, and what has happened to the file?"""
        before = self.lines
        said: list[str] = []
        with self.copy.open("ab") as copy:
            if self._is_cut_off():
                said.append(f"{self.source} was cut off and begins anew; what was read before still counts.")
                self._begin_anew(copy, self._file)
            self._take_all(copy)
            try:
                now = self.source.stat()
            except FileNotFoundError:  # in the middle of being rotated; what writes may still write to the old one
                return self.lines > before, said
            except OSError as error:
                raise CannotRead(f"cannot read {self.source}: {why_not(error)}; give a file of text") from error
            here = os.fstat(self._file.fileno())
            if (now.st_dev, now.st_ino) != (here.st_dev, here.st_ino):
                said.append(f"{self.source} was replaced by a new file; what was read of the old one still counts.")
                self._begin_anew(copy, self._opened())
        return self.lines > before, said

    def _is_cut_off(self) -> bool:
        """Is what was last read no longer where it was? A file that was cut off may be longer again by now."""
        place = self._file.tell()
        self._file.seek(place - len(self._last))
        same = self._file.read(len(self._last)) == self._last
        self._file.seek(place)
        return not same

    def _opened(self) -> IO[bytes]:
        try:
            return self.source.open("rb", buffering=0)
        except OSError as error:
            raise CannotRead(f"cannot read {self.source}: {why_not(error)}; give a file of text") from error

    def _begin_anew(self, copy: IO[bytes], file: IO[bytes]) -> None:
        if file is not self._file:
            if self._rest:
                self._write(copy, self._rest + b"\n")  # the last line of a file to which nothing is added any more
            self._file.close()
        self._file, self._at_begin = file, True
        self._rest = self._last = b""
        self._file.seek(0)
        self._take_all(copy)

    def _take_all(self, copy: IO[bytes]) -> None:
        while block := self._file.read(BLOCK):
            self._last = (self._last + block)[-REMEMBERED:]
            whole, newline, self._rest = (self._rest + block).rpartition(b"\n")
            if newline:
                self._write(copy, whole + newline)

    def _write(self, copy: IO[bytes], lines: bytes) -> None:
        if self._at_begin:
            self._at_begin = False
            first, _, others = lines.partition(b"\n")
            if self._header is None:
                self._header = first.rstrip(b"\r")
            elif first.rstrip(b"\r") == self._header and not first.startswith(b"{"):
                lines = others
            elif _is_another_header(self._header, first):
                raise InvalidAttempts(
                    f"{self.source} goes on with other columns, {_shown(first)!r}; watch it in a new command"
                )
        copy.write(lines)
        self.lines += lines.count(b"\n")


def _is_another_header(header: bytes, line: bytes) -> bool:
    """Does a line name some of the columns? Rows of a log do not."""
    names, cells = (_cells(text) for text in (header, line))
    return not header.startswith(b"{") and 2 * len(names & cells) >= len(names) > 0


def _cells(line: bytes) -> set[str]:
    text = _shown(line)
    by = max(SEPARATORS, key=text.count)
    return {cell.strip() for cell in next(csv.reader([text], delimiter=by), [])}


def _shown(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").removeprefix("\ufeff").rstrip("\r\n")


@dataclass(frozen=True)
class Event:
    """Something that is new in a log: of a ``kind``, after so many requests, and in words."""

    kind: str
    requests: int
    said: str

    def to_json(self) -> dict[str, Any]:
        """Ready for ``json.dumps``."""
        data = asdict(self)
        return {"event": data.pop("kind"), **data}


def news(before: Report | None, now: Report) -> Iterator[Event]:
    """What a report says that the one before did not; of the first one, how things stand."""
    requests = now.log.requests
    after = f"after {requests:,} requests"
    if before is None and now.verdict is None:
        yield Event("begins", requests, f"{requests:,} requests of {len(now.log.options):,} options. {now.sentence}")
    known = {} if before is None else {each.option: each.still_in for each in before.estimates}
    for each in now.estimates:
        if before is not None and each.option not in known:
            yield Event("option", requests, f"{each.option} is a new option, {after}.")
        if known.get(each.option, True) and not each.still_in:
            yield Event("out", requests, f"{each.option} is out, {after}.")
        if not known.get(each.option, True) and each.still_in:
            yield Event("in", requests, f"{each.option} is in again, {after}: late rows belong before others.")
    rules = set() if before is None else {(each.what, each.rule) for each in before.log.set_aside}
    for found in now.log.set_aside:
        if (found.what, found.rule) not in rules:
            yield Event("set-aside", requests, f"Set aside: {set_aside_in_words(found)}.")
    up = set() if before is None else {(alarm.kind, alarm.option) for alarm in before.alarms}
    for alarm in now.alarms:
        if (alarm.kind, alarm.option) not in up:
            if speaks_against(alarm, now.attempts):
                yield Event("alarm", requests, f"Alarm, {after}: {alarm}")
            else:
                yield Event("no-matter", requests, f"This does not touch the verdict: {alarm.sentence}")
    yield from _of_the_verdict(before, now, after)


def _of_the_verdict(before: Report | None, now: Report, after: str) -> Iterator[Event]:
    """A verdict stays as a log grows, but for rows that come late and options that are new."""
    decided = None if before is None or before.verdict is None else before.verdict.arm
    if now.verdict is not None and decided is None:
        yield Event(
            "verdict",
            now.log.requests,
            f"There is {'a verdict' if now.proved else 'an answer without a guarantee'}, {after}.",
        )
    elif decided is not None and (now.verdict is None or now.verdict.arm != decided):
        yield Event("verdict", now.log.requests, f"The verdict is another one, {after}: {now.sentence}")
