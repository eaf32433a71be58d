"""Figures that are read when Prometheus asks: from memory alone, so that they are there whoever else is stuck."""

from __future__ import annotations

import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from time import monotonic
from typing import Any, get_args

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from linkedbandits.attempts.courses import KINDS
from linkedbandits.service.http.door import REASONS, Door
from linkedbandits.service.http.store_watch import StoreWatch
from linkedbandits.service.pulse import Pulse
from linkedbandits.service.records import RunStatus
from linkedbandits.service.survey import Survey


class LatestSurvey:
    """The last survey of the experiments in memory, and when it was taken."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._taken: tuple[Survey, float] | None = None

    def keep(self, survey: Survey) -> None:
        """This one is the last."""
        self._taken = survey, self._clock()

    @property
    def survey(self) -> Survey | None:
        """None before the first."""
        return None if self._taken is None else self._taken[0]

    @property
    def in_use(self) -> frozenset[str]:
        """The experiments whose alarms are still worth a look."""
        return frozenset() if self._taken is None else self._taken[0].in_use

    def age(self) -> float | None:
        """Seconds since it was taken."""
        return None if self._taken is None else max(0.0, self._clock() - self._taken[1])


class PresentFigures(Collector):
    """For the registry of :class:`linkedbandits.service.http.metrics.Metrics`."""

    def __init__(
        self,
        pulse: Pulse,
        watch: StoreWatch,
        latest: LatestSurvey,
        alarms: Callable[[], Iterable[str]],
        wall_clock: Callable[[], float] = time.time,
        steady_clock: Callable[[], float] = monotonic,
    ) -> None:
        """``alarms`` are the kinds of all that are up, one for each; leases end on the wall clock."""
        self._pulse = pulse
        self._watch = watch
        self._latest = latest
        self._alarms = alarms
        self._wall_clock = wall_clock
        self._steady_clock = steady_clock

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Nothing: what is there is found out when it is asked for."""
        return iter(())

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """All of them, now."""
        yield from self._of_the_desk()
        yield from self._of_the_store()
        yield from self._of_experiments()
        up = Tally(self._alarms())
        yield _by(
            "linkedbandits_alarms_up",
            "Alarms of experiments in memory here that were looked at and are neither archived nor succeeded.",
            "kind",
            {kind: up[kind] for kind in KINDS},
        )

    def _of_the_desk(self) -> Iterator[GaugeMetricFamily]:
        waiting = self._pulse.waiting()
        yield _one("linkedbandits_desk_waiting", "Requests that the desk has not answered yet.", waiting.jobs)
        yield _one(
            "linkedbandits_desk_oldest_seconds",
            "How long the oldest request that the desk has not answered yet has waited.",
            waiting.seconds,
        )
        yield _one(
            "linkedbandits_last_commit_age_seconds",
            "Time since the store last took a transaction of the desk, which has one every second.",
            self._pulse.seconds_since_commit(),
        )

    def _of_the_store(self) -> Iterator[GaugeMetricFamily]:
        yield _one("linkedbandits_store_away", "1 while the store cannot be used, else 0.", self._watch.away())
        figures, age = self._watch.figures, self._watch.age()
        if figures is None or age is None:
            return
        yield _one("linkedbandits_store_figures_age_seconds", "Time since the store's size was read.", age)
        yield _one("linkedbandits_store_bytes", "Bytes that the store takes.", figures.bytes)
        if figures.room is not None:
            yield _one("linkedbandits_disk_free_bytes", "Room on the store's disk.", figures.room.free)
            yield _one("linkedbandits_disk_bytes", "Size of the store's disk.", figures.room.total)
        yield _by(
            "linkedbandits_experiments",
            "Experiments in the store.",
            "status",
            {status: figures.experiments.get(status, 0) for status in get_args(RunStatus)},
        )
        yield _one("linkedbandits_webhook_waiting", "Messages that wait for their webhook.", figures.outbox.waiting)
        oldest = figures.outbox.oldest_at
        yield _one(
            "linkedbandits_webhook_oldest_seconds",
            "How long the oldest of them waits.",
            0.0 if oldest is None else max(0.0, self._wall_clock() - oldest),
        )

    def _of_experiments(self) -> Iterator[GaugeMetricFamily]:
        survey, age = self._latest.survey, self._latest.age()
        if survey is None or age is None:
            return
        yield _one("linkedbandits_survey_age_seconds", "Time since the experiments in memory were looked at.", age)
        yield _one("linkedbandits_experiments_in_memory", "Experiments in memory here.", survey.opened)
        yield _one(
            "linkedbandits_plays_in_flight", "Plays that are out, in experiments in memory here.", survey.in_flight
        )
        since = survey.out_since
        yield _one(
            "linkedbandits_oldest_lease_seconds",
            "How long the one of them that was handed out first has been out.",
            0.0 if since is None else max(0.0, self._steady_clock() - since),
        )
        yield _one(
            "linkedbandits_experiments_without_series",
            "Experiments under way here that have no figures of their own.",
            survey.not_shown,
        )
        shown = survey.progress
        yield _by(
            "linkedbandits_experiment_plays",
            "Plays told, of some experiments under way.",
            "experiment",
            {one.experiment: one.plays for one in shown},
        )
        yield _by(
            "linkedbandits_experiment_arms_left",
            "Arms that may still be the best.",
            "experiment",
            {one.experiment: one.arms_left for one in shown},
        )
        yield _by(
            "linkedbandits_experiment_evidence_ratio",
            "Evidence against the strongest rival, as a share of what a verdict needs, as powers of ten.",
            "experiment",
            {one.experiment: one.evidence for one in shown if one.evidence is not None},
        )


class FiguresOfTheDoor(Collector):
    """Who is there, and who was turned away."""

    def __init__(self, door: Door) -> None:
        self._door = door

    def describe(self) -> Iterator[Metric]:
        """Nothing, as above."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """All of them, now."""
        yield _one("linkedbandits_connections", "Open connections.", self._door.present)
        yield _one(
            "linkedbandits_connections_most", "Connections that there is room for.", self._door.limits.connections
        )
        turned_away = CounterMetricFamily(
            "linkedbandits_connections_turned_away",
            "Connections that were closed before they had an answer.",
            labels=["reason"],
        )
        for reason in REASONS:
            turned_away.add_metric([reason], self._door.turned_away[reason])
        yield turned_away


def _one(name: str, about: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, about, value=value)


def _by(name: str, about: str, label: str, values: Mapping[Any, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=[label])
    for what, value in values.items():
        family.add_metric([what], value)
    return family
