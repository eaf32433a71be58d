"""Alarms (being built elsewhere)."""

from __future__ import annotations
from dataclasses import dataclass
from linkedbandits.attempts.log import Attempts


@dataclass(frozen=True)
class Alarm:
    sentence: str
    remedy: str


def watch(log: Attempts, alpha: float = 0.01) -> tuple[Alarm, ...]:
    return ()


def unchecked(log: Attempts) -> tuple[str, ...]:
    return ()
