"""What the desk is asked to do, each with the future that is waited on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.store import Writing


@dataclass(slots=True, eq=False, kw_only=True)
class Job:
    """Anything to do."""

    future: Future[Any] = field(default_factory=Future)


@dataclass(slots=True, eq=False)
class Change(Job):
    """Change one experiment, at a time."""

    experiment: str
    run: Callable[[HostedExperiment, Writing, float], Any]


@dataclass(slots=True, eq=False)
class Sweep(Job):
    """Give up, in all experiments in memory, the plays whose lease has run out."""


@dataclass(slots=True, eq=False)
class Errand(Job):
    """Change something in the store that is no experiment's."""

    run: Callable[[Writing, float], Any]


@dataclass(slots=True, eq=False)
class ReadOne(Job):
    """Read one experiment."""

    experiment: str
    run: Callable[[HostedExperiment], Any]


@dataclass(slots=True, eq=False)
class ReadAll(Job):
    """Read all experiments in memory."""

    run: Callable[[Iterable[HostedExperiment]], Any]


Changing = Change | Sweep | Errand
ReadJob = ReadOne | ReadAll
