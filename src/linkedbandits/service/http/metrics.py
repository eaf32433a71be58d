"""Figures for Prometheus. Routes appear as templates, and nothing that callers wrote appears at all: few series.

What is counted as it happens is here; what is read when Prometheus asks is in ``present_figures.py``.
"""

from __future__ import annotations

import platform
from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from linkedbandits.model import Status
from linkedbandits.service.migrations import SCHEMA_VERSION
from linkedbandits.service.webhooks import EVENTS
from linkedbandits.version import __version__

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_REASONS = {401: "token", 403: "role", 429: "rate"}
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Metrics:
    """Counters of one service process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Histogram(
            "linkedbandits_request_seconds",
            "Time to answer a request, by route and status.",
            ["method", "route", "status"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._asked = Counter("linkedbandits_plays_asked", "Plays handed out.", registry=self._registry)
        self._told = Counter(
            "linkedbandits_answers_told", "Answers, by what became of them.", ["receipt"], registry=self._registry
        )
        self._expired = Counter("linkedbandits_plays_expired", "Plays whose lease ran out.", registry=self._registry)
        self._commit_seconds = Histogram(
            "linkedbandits_commit_seconds", "Time of a durable commit.", buckets=_SECONDS, registry=self._registry
        )
        self._commit_size = Histogram(
            "linkedbandits_commit_requests", "Requests that shared a commit.", buckets=_SIZES, registry=self._registry
        )
        self._opened = Counter(
            "linkedbandits_experiments_opened", "Experiments read into memory.", registry=self._registry
        )
        self._replayed = Counter(
            "linkedbandits_entries_replayed",
            "Journal entries behind their snapshots that were replayed for that.",
            registry=self._registry,
        )
        self._watching = Gauge("linkedbandits_viewers", "Open event streams.", registry=self._registry)
        self._exports = Gauge("linkedbandits_exports", "Exports of journals under way.", registry=self._registry)
        self._refused = Counter(
            "linkedbandits_sign_ins_refused", "Requests refused for who made them.", ["reason"], registry=self._registry
        )
        self._verdicts = Counter(
            "linkedbandits_verdicts", "Verdicts reached in this process.", ["status"], registry=self._registry
        )
        self._happened = Counter(
            "linkedbandits_happenings",
            "What happened to experiments in this process.",
            ["kind"],
            registry=self._registry,
        )
        self._webhooks = Counter(
            "linkedbandits_webhook_attempts",
            "Messages to webhooks, by what came of the attempt.",
            ["outcome"],
            registry=self._registry,
        )
        for counter, values in (
            (self._refused, _REASONS.values()),
            (self._verdicts, get_args(Status)),
            (self._happened, EVENTS),
            (self._webhooks, ("sent", "failed", "given_up")),
        ):
            for value in values:  # what is not there yet cannot be seen to rise
                counter.labels(value)
        Info("linkedbandits_build", "What is running.", registry=self._registry).info(
            {"version": __version__, "python": platform.python_version(), "schema": str(SCHEMA_VERSION)}
        )
        ProcessCollector(registry=self._registry)
        # Looking up a series by its labels costs more than counting.
        self._known: dict[tuple[str, str, int], Histogram] = {}
        self._told_series: dict[str, Counter] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        series = self._known.get((method, route, status))
        if series is None:
            series = self._known[method, route, status] = self._requests.labels(method, route, str(status))
        series.observe(seconds)
        if status in _REASONS:
            self._refused.labels(_REASONS[status]).inc()

    def asked(self, plays: int) -> None:
        """Plays were handed out."""
        self._asked.inc(plays)

    def told(self, receipts: Iterable[str]) -> None:
        """Answers came in."""
        for receipt, times in Tally(receipts).items():
            series = self._told_series.get(receipt)
            if series is None:
                series = self._told_series[receipt] = self._told.labels(receipt)
            series.inc(times)

    def expired(self, plays: int) -> None:
        """Leases ran out."""
        self._expired.inc(plays)

    def committed(self, requests: int, seconds: float) -> None:
        """A group of requests was made durable."""
        self._commit_size.observe(requests)
        self._commit_seconds.observe(seconds)

    def opened(self, replayed: int) -> None:
        """An experiment was read into memory, and so many journal entries were replayed for it."""
        self._opened.inc()
        self._replayed.inc(replayed)

    def viewer_came(self) -> None:
        """A stream was opened."""
        self._watching.inc()

    def viewer_left(self) -> None:
        """A stream was closed."""
        self._watching.dec()

    @contextmanager
    def exporting(self) -> Iterator[None]:
        """A journal is being exported."""
        with self._exports.track_inprogress():
            yield

    def happened(self, kind: str, status: str | None = None) -> None:
        """Something happened to an experiment; a verdict has a status."""
        self._happened.labels(kind).inc()
        if status is not None:
            self._verdicts.labels(status).inc()

    def posted(self, arrived: bool, given_up: bool) -> None:
        """A message was sent to a webhook, or not."""
        self._webhooks.labels("sent" if arrived else "given_up" if given_up else "failed").inc()

    def add(self, figures: Collector) -> None:
        """Figures that are read when they are asked for."""
        self._registry.register(figures)

    def text(self) -> bytes:
        """All figures in Prometheus' own format. Waits for nothing."""
        return generate_latest(self._registry)
