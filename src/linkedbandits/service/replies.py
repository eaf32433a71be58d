"""What the desk answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linkedbandits.errors import LinkedBanditError
from linkedbandits.live import Play, Receipt


@dataclass(frozen=True, slots=True)
class AskReply:
    """Plays to make, to be told before ``expires_at``. There may be fewer than asked for, never none.

    ``repeated`` says that they were handed out before, to the same idempotency key. ``runs`` tells which of them have
    the same arms: a number for each tuple, and for how many plays in a row.
    """

    plays: tuple[Play, ...]
    expires_at: float
    repeated: bool
    runs: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that was not taken, and why; the others of its batch were."""

    error: LinkedBanditError


@dataclass(frozen=True, slots=True)
class TellReply:
    """What became of each answer, in the order they came, and whether there is a verdict now."""

    receipts: tuple[Receipt | Refused, ...]
    done: bool
