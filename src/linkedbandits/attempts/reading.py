"""Files of attempts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from linkedbandits.attempts.attempts import Attempts
from linkedbandits.attempts.cells import Blank, Words
from linkedbandits.attempts.columns import ColumnNames
from linkedbandits.attempts.gathering import Progress, gather
from linkedbandits.attempts.sources import source_in_all
from linkedbandits.errors import InvalidAttempts


def read_attempts(
    path: str | Path | Sequence[str | Path],
    *,
    options: Sequence[str] | None = None,
    separator: str | None = None,
    blank: Blank | None = None,
    ignore_case: bool = False,
    success: Words = (),
    failure: Words = (),
    progress: Progress | None = None,
    **columns: Unpack[ColumnNames],
) -> Attempts:
    """Read a log of attempts: CSV, TSV or the like, JSON lines or Parquet, also with gzip or zstd around it.

    Several files are one log, in the order given: a request may begin in one and end in the next, and what is said of
    lines names the file. Text is in UTF-8 or in UTF-16; rows that are neither are read as Windows-1252, and
    ``noticed`` says so.

    It has either a row for each attempt, with its request, its option and its outcome, and perhaps its position in the
    request, its time, cost and seconds; or a row for each request, with the options in the order in which they were
    offered, the one that worked (blank for none), and perhaps its time; or a row for each request with a list of the
    options that were tried, and an outcome for each of them or for the last, as nginx writes it. Which column is which
    is guessed from the names that people use, and shown in ``columns`` of what is returned. Where that goes wrong, give
    the name of a column by what it means, as in ``option="provider"``, and "" for one that is not to be read:
    :class:`linkedbandits.attempts.columns.ColumnNames` has what they may mean. ``options`` names all options, in the
    order they are to have; without it they are those that turn up. With ``ignore_case`` names that differ in case alone
    are one option, called as it is written most often. ``separator`` is what is between the fields of text,
    and guessed from the header without it. ``progress`` is told now and then how many rows have been read.

    An outcome is a word such as ok, failed or timeout, 0 or 1, an HTTP status (2xx and 3xx worked), or what went wrong
    (in a column called error or exception, say), where nothing is a success. ``success`` and ``failure`` are words of
    this log that are one, in another language for instance. Blank outcomes behind the attempts of a
    request are options that were offered and not tried; a dash is an attempt without an outcome. ``blank`` says what an
    attempt without an outcome is: ``"failure"``, ``"success"``, or ``"aside"`` to leave it out with what came
    behind it. Unless it is given a few are left out, and more than one in a hundred rows refused.

    Requests come in the order of the times of their first attempts, or else of their first lines; the attempts of a
    request by position, or else by time, or else by line. So rows that are added to the end of a file change nothing of
    the requests before them, except that a late attempt belongs to its request, wherever that is, and an earlier time
    goes before later ones.

    Rows that had to be put into order are counted in ``noticed``, which also names options whose names are nearly the
    same. Rows that cannot be used are counted in ``set_aside``, with their rule and their first lines. If they are more
    than half of all, the file is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "log.csv"
    ...     _ = path.write_text("req,provider,status\\n1,a,503\\n1,b,200\\n2,b,200\\n3,b,maybe\\n")
    ...     log = read_attempts(path)
    >>> log
    Attempts(3 attempts of 2 options on 2 requests)
    >>> log.columns
    (('request', 'req'), ('option', 'provider'), ('outcome', 'status'))
    >>> log.set_aside[0].what, log.set_aside[0].lines
    ("unknown outcome 'maybe'", (5,))
    """
    paths = [path] if isinstance(path, str | Path) or not isinstance(path, Sequence) else path
    for each in paths:
        if not isinstance(each, str | Path):
            raise InvalidAttempts(f"{each!r} is no file; give a path, or a list of them, or rows to Attempts.from_rows")
    source = source_in_all(paths, separator)
    return Attempts(**gather(source, columns, options, progress, blank, ignore_case, success, failure))
