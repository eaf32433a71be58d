"""The experiments of a chain, one after the other: what each came to, and why it ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from linkedbandits.live import Before
from linkedbandits.model import Label, Verdict

LONGEST_WHY = 200
"""Characters that the service takes for a reason."""

Reason = Literal["drift", "options"]
"""Why an experiment ended: an option has changed, or options were added or removed."""


class Move(NamedTuple):
    """What is to follow on an experiment: one with these options, with what was told as its log if it is to ``keep``
    that, and why."""

    arms: tuple[Label, ...]
    keep: bool
    reason: Reason
    why: str


@dataclass(frozen=True)
class Era:
    """One experiment of a chain: its options, its verdict if it came to one, and when. Times are seconds since 1970.

    The verdict held from ``decided`` until ``ended``, or holds if that is None. ``reason`` and ``why`` say why it
    ended. In the service times are known only as far as this process was there.
    """

    arms: tuple[Label, ...]
    verdict: Verdict | None = None
    began: float | None = None
    decided: float | None = None
    ended: float | None = None
    reason: Reason | None = None
    why: str = ""

    def over(self, now: float, reason: Reason, why: str) -> Era:
        """The same, ended."""
        return replace(self, ended=now, reason=reason, why=why)

    def to_json(self) -> dict[str, Any]:
        """For ``json.dumps``."""
        verdict = None if self.verdict is None else verdict_to_json(self.verdict)
        return {**self.__dict__, "arms": list(self.arms), "verdict": verdict}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Era:
        """What :meth:`to_json` wrote."""
        verdict = None if data["verdict"] is None else verdict_from_json(data["verdict"])
        return cls(**{**data, "arms": tuple(data["arms"]), "verdict": verdict})

    @classmethod
    def before(cls, before: Before, arms: Sequence[Label]) -> Era:
        """Of an experiment that one with these ``arms`` goes on from, as far as that is known there."""
        verdict = Verdict(before.arm, before.status, before.plays, None) if before.status == "confident" else None
        reason: Reason = "drift" if same_options(before.arms, arms) else "options"
        return cls(before.arms, verdict, reason=reason, why=before.why)


def same_options(one: Iterable[Label], other: Iterable[Label]) -> bool:
    """Are these the same options, in whatever order? Those of an enumeration are as they come back from a file.

    >>> same_options(["a", 1], [1, "a"]), same_options([1], [True])
    (True, False)
    """
    return sorted(map(json.dumps, one)) == sorted(map(json.dumps, other))


def in_this_order(arms: Iterable[Label], order: Sequence[Label]) -> tuple[Label, ...]:
    """The arms as they come in an order of others, new ones last.

    >>> in_this_order("abd", ("c", "b", "a"))
    ('b', 'a', 'd')
    """
    found = tuple(arms)
    return (*(label for label in order if label in found), *(label for label in found if label not in order))


def short(why: str) -> str:
    """A reason that every home can keep, however long the labels in it are.

    >>> len(short("options: " + 50 * "added "))
    200
    """
    text = "".join(letter if letter.isprintable() else "?" for letter in why)
    return text if len(text) <= LONGEST_WHY else f"{text[: LONGEST_WHY - 3]}..."


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """For ``json.dumps``."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in ((name, getattr(verdict, name)) for name in verdict.__dataclass_fields__)
    }


def verdict_from_json(data: dict[str, Any]) -> Verdict:
    """What :func:`verdict_to_json` wrote."""
    read: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return Verdict(**read)


def options_changed(before: Sequence[Label], after: Sequence[Label]) -> str:
    """Which options came and went, for the record.

    >>> options_changed(["a", "b"], ["b", "c"])
    "options: added 'c'; removed 'a'"
    """
    added = ", ".join(repr(label) for label in after if label not in before)
    removed = ", ".join(repr(label) for label in before if label not in after)
    said = [f"{word} {labels}" for word, labels in (("added", added), ("removed", removed)) if labels]
    return short(f"options: {'; '.join(said)}")
