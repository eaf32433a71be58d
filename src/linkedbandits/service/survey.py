"""What is counted over all experiments in memory: read in the desk's thread, in one go, and looked at elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from linkedbandits.live import WarmStart
from linkedbandits.model import Label
from linkedbandits.service.hosted import HostedExperiment

MOST_SHOWN = 100
"""Experiments that may have figures of their own: each of them is some series for ever."""


class Progress(NamedTuple):
    """How far an experiment is. ``evidence`` is the share of what the verdict needs against the strongest rival.

    It is on the scale of powers of ten, on which evidence grows steadily, and None where the policy keeps none.
    """

    experiment: str
    plays: int
    arms_left: int
    evidence: float | None


class Played(NamedTuple):
    """What alarms are looked for in."""

    experiment: str
    name: str
    arms: tuple[Label, ...]
    warm: WarmStart | None
    plays: int
    done: bool


@dataclass(frozen=True, slots=True)
class Survey:
    """Experiments in memory: plays out, when the first of them was handed out, and how far some of them are.

    ``out_since`` is by the clock that does not jump.
    ``progress`` is of the ``shown`` youngest that run and have no verdict; ``not_shown`` counts the others of these.
    ``in_use`` are those whose alarms are still worth a look: neither archived nor followed by another.
    """

    opened: int
    in_flight: int
    out_since: float | None
    progress: tuple[Progress, ...]
    not_shown: int
    played: tuple[Played, ...]
    in_use: frozenset[str] = frozenset()


def take_survey(opened: Iterable[HostedExperiment], shown: int) -> Survey:
    """Of all of them, as they are now."""
    hosted = list(opened)
    since = [
        next(iter(one.leases.values())) - one.record.setup.lease_seconds
        for one in hosted
        if one.leases and one.status != "archived"
    ]
    under_way = [one for one in hosted if one.status == "running" and not one.experiment.done]
    under_way.sort(key=lambda one: (one.record.created_at, one.record.id), reverse=True)
    return Survey(
        opened=len(hosted),
        in_flight=sum(len(one.leases) for one in hosted),
        out_since=min(since, default=None),
        progress=tuple(_progress(one) for one in under_way[:shown]),
        not_shown=max(0, len(under_way) - shown),
        played=tuple(
            Played(
                one.record.id,
                one.record.name,
                one.record.setup.arms,
                one.experiment.warm,
                one.experiment.plays,
                one.experiment.done,
            )
            for one in hosted
            if one.status != "archived"
        ),
        in_use=frozenset(one.record.id for one in hosted if one.status != "archived" and one.successor is None),
    )


def _progress(hosted: HostedExperiment) -> Progress:
    exp = hosted.experiment
    still_in = exp.still_in()
    return Progress(hosted.record.id, exp.plays, sum(still_in), _share_of_evidence(hosted, still_in))


def _share_of_evidence(hosted: HostedExperiment, still_in: list[bool]) -> float | None:
    goal, evidence = hosted.experiment.policy.goal, hosted.experiment.evidence()
    if evidence is None or goal.delta is None:
        return None
    against = sorted(value if inside else math.inf for value, inside in zip(evidence, still_in, strict=True))
    strongest = against[min(goal.k, len(against) - 1)]  # the k arms with the least against them are the answer so far
    return min(1.0, max(0.0, strongest / -math.log10(goal.delta)))
