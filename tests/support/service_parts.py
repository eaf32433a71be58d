"""What tests of the service begin with: the setup of a small experiment, and a clock that stands still."""

from __future__ import annotations

from linkedbandits.service.records import Setup

SETUP = Setup(("north", "east", "south"), {"name": "linked-elimination", "parameters": {"delta": 0.05}})


class ManualClock:
    """Time passes when it is told to."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now
