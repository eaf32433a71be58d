"""Logs with a row for each request: the options in the order in which they were offered, and the one that worked.

What is set aside, and what that does to samples:

- A row without an order, or whose order has an option that is not one of those given, says nothing that could be used.
- A row whose hit is not in its order contradicts itself. Harmless if it is by accident; not if, say, one option has two
  names: then rename it in the file.
- An option that an order has twice counts at its first place; the row stays.
- A row with a time that cannot be read has no place in the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linkedbandits.attempts.arrays import Gathered, LineNumbers, Parts, ranges
from linkedbandits.attempts.cells import MISSING, NOT_GIVEN, Labels, times, trimmed
from linkedbandits.attempts.columns import Layout
from linkedbandits.attempts.set_aside import Tally
from linkedbandits.attempts.sources import Batch

if TYPE_CHECKING:
    import polars as pl

NO_ORDER = ("no order", "a row has to say which options were offered")
OTHER_OPTION = ("an option that is not one of those given", "the row is not used")
HIT_NOT_IN_ORDER = ("a hit that is not in the order", "the row contradicts itself and is not used")
HIT_TWICE = ("an option that worked and stands twice", "which of its tries worked is not known; the row is not used")
TWICE = ("an option twice in an order", "only its first place counts")
NO_TIME = ("a time that cannot be read", "the row is not used, for it has no place in the log")
NO_HIT = frozenset({"", "-", "none", "null", "nan", "na", "n/a", "nil", "no", "false", "nobody", "nothing", "failed"})

_QUOTED = re.compile(r'"([^"]*)"|\'([^\']*)\'')
_BETWEEN = re.compile(r"\s*(?:->|=>|[>,|;\x1f])\s*")


@dataclass(frozen=True)
class Play:
    """What one pair of an order and a hit says: the options tried, by number, and whether the last one worked."""

    tried: tuple[int, ...] = ()
    worked: bool = False
    second: int = MISSING
    twice: bool = False
    why_not: tuple[str, str] | None = None


def order_of(text: str) -> tuple[str, ...]:
    """The options of an order: a list as JSON, Python or numpy write it, or names with ``,``, ``>``, ``|`` or ``;``
    between them, or else with blanks.

    >>> order_of('["a", "b c"]'), order_of("['a' 'b']"), order_of("a > b c > d"), order_of("a b")
    (('a', 'b c'), ('a', 'b'), ('a', 'b c', 'd'), ('a', 'b'))
    """
    text = text.strip()
    if text[:1] in ("[", "("):
        try:
            found = json.loads(text, strict=False)
        except ValueError:
            found = [one or other for one, other in _QUOTED.findall(text)] or text[1:-1]
        if not isinstance(found, str):
            return tuple(name for item in found if item is not None and (name := str(item).strip()))
        text = found.strip()
    names = _BETWEEN.split(text) if _BETWEEN.search(text) else text.split()
    return tuple(name for name in names if name)


def play_of(order: str | None, hit: str | None, labels: Labels) -> Play:
    """What one row says."""
    written = order_of(order or "")
    names = tuple(dict.fromkeys(written))
    if hit is not None and written.count(hit) > 1:
        return Play(why_not=HIT_TWICE)
    twice = len(names) < len(written)
    if not names:
        return Play(why_not=NO_ORDER)
    offered = [labels.number(name) for name in names]
    if NOT_GIVEN in offered:
        return Play(why_not=OTHER_OPTION)
    second = offered[1] if len(offered) > 1 else MISSING
    if hit in names:
        return Play(tuple(offered[: names.index(hit) + 1]), True, second, twice)
    if hit is None or hit.lower() in NO_HIT:
        return Play(tuple(offered), False, second, twice)
    return Play(why_not=HIT_NOT_IN_ORDER)


class _Plays:
    """The plays of a log by number; there are few in most, and many rows of each."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._numbers: dict[tuple[str | None, str | None], int] = {}
        self.all: list[Play] = []

    def numbers(self, cells: dict[str, pl.Series]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        import polars as pl

        pairs = pl.DataFrame({meaning: cells[meaning] for meaning in ("order", "hit")})
        groups = (
            pairs.with_row_index("row").group_by("order", "hit").agg("row", first=pl.col("row").min()).sort("first")
        )
        found = np.empty(len(pairs), dtype=np.int32)
        numbers = [self._number(order, hit) for order, hit in zip(groups["order"], groups["hit"], strict=True)]
        sizes = groups["row"].list.len().to_numpy()
        found[groups["row"].explode().to_numpy()] = np.repeat(np.array(numbers, dtype=np.int32), sizes)
        return found

    def _number(self, order: str | None, hit: str | None) -> int:
        number = self._numbers.get((order, hit))
        if number is None:
            number = self._numbers[order, hit] = len(self.all)
            self.all.append(play_of(order, hit, self._labels))
        return number


def gather_requests(
    batches: Iterator[Batch], layout: Layout, labels: Labels, tally: Tally, progress: Callable[[int], None]
) -> Gathered:
    """Read all batches; requests come by their time, or else by their line."""
    plays = _Plays(labels)
    parts, lines = Parts(), LineNumbers()
    for batch in batches:
        cells = trimmed(batch.cells, layout.names)
        lines.add(batch.lines)
        parts.add(play=plays.numbers(cells), time=times(cells["time"]) if "time" in cells else None)
        progress(lines.rows)
    play, time = parts.take("play"), parts.take("time")
    play = np.empty(0, dtype=np.int32) if play is None else play
    used = np.ones(play.size, dtype=np.bool_)
    for rule in (NO_ORDER, OTHER_OPTION, HIT_TWICE, HIT_NOT_IN_ORDER):
        against = np.array([found.why_not == rule for found in plays.all], dtype=np.bool_)
        broken = np.flatnonzero(against[play])
        used[broken] = False
        tally.add(*rule, lines.of(broken))
    twice = np.array([found.twice for found in plays.all], dtype=np.bool_)
    tally.add(*TWICE, lines.of(np.flatnonzero(used & twice[play])))
    if time is not None:
        untimed = np.flatnonzero(used & np.isnan(time))
        used[untimed] = False
        tally.add(*NO_TIME, lines.of(untimed))
    rows = np.flatnonzero(used)
    if time is not None:
        rows = rows[np.argsort(time[rows], kind="stable")]
    return _gathered(play[rows], plays.all, None if time is None else time[rows])


def _gathered(
    play: np.ndarray[tuple[int], np.dtype[np.int32]],
    plays: list[Play],
    time: np.ndarray[tuple[int], np.dtype[np.float64]] | None,
) -> Gathered:
    sizes = np.array([len(found.tried) for found in plays], dtype=np.int64)
    tried = np.array([arm for found in plays for arm in found.tried], dtype=np.int32)
    begins = np.cumsum(sizes) - sizes
    attempts = sizes[play]
    request = np.repeat(np.arange(play.size, dtype=np.int32), attempts)
    success = np.zeros(request.size, dtype=np.bool_)
    success[np.cumsum(attempts) - 1] = np.array([found.worked for found in plays], dtype=np.bool_)[play]
    return Gathered(
        request,
        tried[ranges(begins[play], begins[play] + attempts)],
        success,
        np.array([found.second for found in plays], dtype=np.int32)[play],
        time,
    )
