"""What tests of the service begin with: a small experiment, and a clock that stands still."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from tools.waiting import SECONDS

SETUP = Setup(("north", "east", "south"), {"name": "linked-elimination", "parameters": {"delta": 0.05}})


class ManualClock:
    """Time passes when it is told to."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def create(desk: Desk, **changes: Any) -> str:
    """A small experiment; its identifier."""
    return desk.create(replace(SETUP, **changes), "test").result(SECONDS).id


def state_of(desk: Desk, experiment: str) -> str:
    """All that an experiment knows, as text."""
    return desk.read(experiment, lambda hosted: hosted.experiment.to_json()).result(SECONDS)


@contextmanager
def held_up(desk: Desk, experiment: str) -> Iterator[None]:
    """Hold the desk up: what is submitted inside waits, and is served as one group afterwards."""
    holding, held = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        holding.set()
        held.wait(SECONDS)

    desk.read(experiment, hold)
    assert holding.wait(SECONDS)  # else what is submitted first could still come into the group that holds it up
    try:
        yield
    finally:
        held.set()


def in_one_group(desk: Desk, experiment: str, submit: Callable[[], list[Future[Any]]]) -> list[Any]:
    """Submit while the desk is held up; what came of each."""
    with held_up(desk, experiment):
        futures = submit()
    return [future.result(SECONDS) for future in futures]
