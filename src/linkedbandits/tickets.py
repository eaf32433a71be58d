"""What passes between a live experiment and whoever plays it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from linkedbandits.model import IntArray, Label

Receipt = Literal["counted", "spare", "late", "repeated"]


class Play(NamedTuple):
    """A play to make: try the arms from left to right until the first success, then tell."""

    id: int
    arms: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What is known of an arm from all plays told so far. ``mean`` is None before the first sample."""

    arm: Label
    samples: int
    successes: int
    mean: float | None
    still_in: bool


class Ticket(NamedTuple):
    """A play that is out, for the current request or spare.

    ``claimed`` are the arms it speaks for, if these are some of its arms only: of a play that was spare, or of one that
    has to try more arms than are needed, those that are.
    """

    arms: IntArray
    role: Literal["current", "spare"]
    claimed: IntArray | None = None
