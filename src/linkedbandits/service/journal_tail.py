"""The end of an experiment's journal: entries that are not written yet, and when history and snapshots are due."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from linkedbandits.live.answers import SEGMENT
from linkedbandits.service.records import CurvePoint, Entry, HistoryPoint, Kind

HISTORY_SECONDS = 1.0
"""Points of the history are at least this far apart,"""
HISTORY_SHARE = 1 / 2000
"""and this share of the experiment's age, so that a long one has not many more than a short one."""
PACE_BEHIND = 0.5
"""Time in a journal that is ahead of the clock goes on at this share of the clock's pace, until that has caught up."""
CURVE_GROWTH = 0.02
"""What is known of the arms is kept at those points at which this share more has been told: a few hundred times."""


class JournalTail:
    """``entries`` and ``points`` wait to be written; ``keys`` has those entries that carry an idempotency key.

    ``curve`` waits likewise, and ``curve_due`` says whether the last point of the history is to be one of it.
    ``segments`` are those whose answers have changed since the last snapshot, and ``plays_since_snapshot`` counts the
    plays handed out, told or given up.
    """

    def __init__(self, created_at: float) -> None:
        self.head = 0
        self.last_at = created_at
        self._last_now = inf  # the clock when the last entry was added, if that was here
        self.entries: list[Entry] = []
        self.keys: dict[str, Entry] = {}
        self.points: list[HistoryPoint] = []
        self.curve: list[CurvePoint] = []
        self.curve_due = False
        self.segments: set[int] = set()
        self.plays_since_snapshot = 0
        self._created_at = created_at
        self._last_point_at = created_at
        self._decided = False
        self._curve_plays = 0

    def add(self, kind: Kind, body: dict[str, Any], now: float) -> Entry:
        """A new entry; time in a journal does not run backwards.

        Nor does it stand still where a clock was set back: without a time of their own, no points of the history would
        come until it has caught up.
        """
        at = now if now >= self.last_at else self.last_at + PACE_BEHIND * max(0.0, now - self._last_now)
        entry = Entry(self.head + 1, at, kind, body)
        self.entries.append(entry)
        if "key" in body:
            self.keys[body["key"]] = entry
        self.follow(entry)
        self._last_now = now
        return entry

    def follow(self, entry: Entry) -> None:
        """The entry is the last one now, written by this process or another."""
        self.head, self.last_at, self._last_now = entry.seq, entry.at, inf

    def touch(self, plays: Iterable[int]) -> None:
        """The answers of these plays are not those of the snapshot any more."""
        touched = list(plays)
        self.segments.update({play // SEGMENT for play in touched})
        self.plays_since_snapshot += len(touched)

    def history_point(self, entry: Entry, plays: int, done: bool) -> HistoryPoint | None:
        """A point for this entry, if it is time for one or the verdict has just come."""
        just_decided, self._decided = done and not self._decided, done
        apart = max(HISTORY_SECONDS, HISTORY_SHARE * (entry.at - self._created_at))
        if entry.at < self._last_point_at + apart and not just_decided:
            return None
        self._last_point_at = entry.at
        self.curve_due = just_decided or plays > (1 + CURVE_GROWTH) * self._curve_plays
        if self.curve_due:
            self._curve_plays = plays
        return HistoryPoint(entry.seq, entry.at, plays)

    def snapshot_saved(self) -> None:
        """Nothing has changed since the snapshot."""
        self.segments.clear()
        self.plays_since_snapshot = 0

    def written(self) -> None:
        """Nothing waits any more."""
        self.entries, self.keys, self.points, self.curve = [], {}, [], []

    def to_json(self) -> dict[str, Any]:
        """What a snapshot has to remember."""
        return {
            "last_at": self.last_at,
            "last_point_at": self._last_point_at,
            "decided": self._decided,
            "curve_plays": self._curve_plays,
        }

    def fill(self, head: int, data: dict[str, Any]) -> None:
        """What :meth:`to_json` remembered."""
        self.head = head
        self.last_at, self._last_point_at, self._decided = data["last_at"], data["last_point_at"], data["decided"]
        self._curve_plays = data.get("curve_plays", 0)  # not in what was written before there were curves
