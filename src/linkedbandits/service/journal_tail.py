"""The end of an experiment's journal: entries that are not written yet, and when history and snapshots are due."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linkedbandits.live.answer_log import SEGMENT
from linkedbandits.service.records import Entry, HistoryPoint, Kind

HISTORY_SECONDS = 1.0
"""Points of the history are at least this far apart,"""
HISTORY_SHARE = 1 / 2000
"""and this share of the experiment's age, so that a long one has not many more than a short one."""


class JournalTail:
    """``entries`` and ``points`` wait to be written; ``keys`` has those entries that carry an idempotency key.

    ``segments`` are those whose answers have changed since the last snapshot, and ``plays_since_snapshot`` counts the
    plays handed out, told or given up.
    """

    def __init__(self, created_at: float) -> None:
        self.head = 0
        self.last_at = created_at
        self.entries: list[Entry] = []
        self.keys: dict[str, Entry] = {}
        self.points: list[HistoryPoint] = []
        self.segments: set[int] = set()
        self.plays_since_snapshot = 0
        self._created_at = created_at
        self._last_point_at = created_at
        self._decided = False

    def add(self, kind: Kind, body: dict[str, Any], now: float) -> Entry:
        """A new entry; time in a journal does not run backwards."""
        entry = Entry(self.head + 1, max(now, self.last_at), kind, body)
        self.entries.append(entry)
        if "key" in body:
            self.keys[body["key"]] = entry
        self.follow(entry)
        return entry

    def follow(self, entry: Entry) -> None:
        """The entry is the last one now, written by this process or another."""
        self.head, self.last_at = entry.seq, entry.at

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
        return HistoryPoint(entry.seq, entry.at, plays)

    def snapshot_saved(self) -> None:
        """Nothing has changed since the snapshot."""
        self.segments.clear()
        self.plays_since_snapshot = 0

    def written(self) -> None:
        """Nothing waits any more."""
        self.entries, self.keys, self.points = [], {}, []

    def to_json(self) -> dict[str, Any]:
        """What a snapshot has to remember."""
        return {"last_at": self.last_at, "last_point_at": self._last_point_at, "decided": self._decided}

    def fill(self, head: int, data: dict[str, Any]) -> None:
        """What :meth:`to_json` remembered."""
        self.head = head
        self.last_at, self._last_point_at, self._decided = data["last_at"], data["last_point_at"], data["decided"]
