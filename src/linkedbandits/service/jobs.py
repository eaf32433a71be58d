"""What the desk is asked to do, each with the future that is waited on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.store import Writing


@dataclass(slots=True, eq=False, kw_only=True)
class Job:
    """Anything to do, and since when it waits, on a clock that does not jump."""

    future: Future[Any] = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True, eq=False)
class Change(Job):
    """Change one experiment, at a time; if somebody else holds it, ``wait_until`` is when that is given up."""

    experiment: str
    run: Callable[[HostedExperiment, Writing, float], Any]
    wait_until: float | None = None


@dataclass(slots=True, eq=False)
class Sweep(Job):
    """Give up, in all experiments in memory, the plays whose lease has run out."""


@dataclass(slots=True, eq=False)
class Errand(Job):
    """Change something in the store that is no experiment's."""

    run: Callable[[Writing, float], Any]


@dataclass(slots=True, eq=False)
class Removal(Job):
    """Delete one experiment, after all else that a group does; it may be damaged."""

    experiment: str
    remove: Callable[[Writing, float], Any]


@dataclass(slots=True, eq=False)
class ReadOne(Job):
    """Read one experiment."""

    experiment: str
    run: Callable[[HostedExperiment], Any]


@dataclass(slots=True, eq=False)
class ReadAll(Job):
    """Read all experiments in memory."""

    run: Callable[[Iterable[HostedExperiment]], Any]


@dataclass(slots=True, frozen=True)
class Prepared:
    """Not a job, but word that the work in the background on an experiment is done: the jobs that wait may go on."""

    experiment: str


OfOne = Change | ReadOne
Changing = Change | Removal | Sweep | Errand
ReadJob = ReadOne | ReadAll
