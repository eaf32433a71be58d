"""Logs of attempts, as files and in memory."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from linkedbandits.attempts import Attempts

HOSTILE = ("<script>alert(1)</script>", "a & \"b\" 'c'", "Zürich ☃ ]]>", "\x00\x1b[31m]\u202e")
"""Names that a page or a terminal must take for nothing but names."""


def plays_of(
    means: Sequence[float],
    requests: int,
    seed: int = 1,
    labels: Sequence[str] | None = None,
    since: int | None = None,
    then: Sequence[float] = (),
    difficulty: float = 0.0,
) -> list[tuple[tuple[str, ...], str | None]]:
    """Chains in random orders: what was offered, and what worked.

    From the request ``since`` on options work as ``then`` says. On a share ``difficulty`` of requests none does.
    """
    rng = np.random.default_rng(seed)
    names = tuple(labels or "abcdefghijklmnopqrstuvwxyz"[: len(means)])
    made = []
    for number in range(requests):
        chances = np.array(means if since is None or number < since else then)
        works = (rng.random(chances.size) < chances) & (rng.random() >= difficulty)
        order = rng.permutation(chances.size)
        hit = next((option for option in order if works[option]), None)
        made.append((tuple(names[option] for option in order), None if hit is None else names[hit]))
    return made


def log_of(*arguments, **options) -> Attempts:
    return Attempts.from_plays(plays_of(*arguments, **options))


def text_of(plays, by_request: bool = False, begin: int = 0, header: bool = True) -> str:
    """The same as CSV: a row for each attempt, or one for each request; a request every ten seconds."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    if header:
        rows.writerow(["ts", "order", "hit"] if by_request else ["ts", "req", "provider", "status"])
    for number, (order, hit) in enumerate(plays, start=begin):
        came = 1_700_000_000 + 10 * number
        if by_request:
            rows.writerow([came, ">".join(order), hit or ""])
            continue
        tried = itertools.chain(itertools.takewhile(lambda option, hit=hit: option != hit, order), [hit] if hit else [])
        rows.writerows([came, f"r{number}", option, "ok" if option == hit else "failed"] for option in tried)
    return file.getvalue()


def write_log(path: Path, *arguments, by_request: bool = False, **options) -> Path:
    path.write_text(text_of(plays_of(*arguments, **options), by_request), encoding="utf-8")
    return path
