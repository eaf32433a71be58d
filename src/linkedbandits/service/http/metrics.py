"""Figures for Prometheus. Routes appear as templates and experiments not at all: no label content, few series."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
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
        self._watching = Gauge("linkedbandits_viewers", "Open event streams.", registry=self._registry)
        self._in_flight = Gauge(
            "linkedbandits_plays_in_flight",
            "Plays that are out, in experiments in memory here.",
            registry=self._registry,
        )
        self._known: dict[tuple[str, str, int], Histogram] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        series = self._known.get((method, route, status))
        if series is None:  # looking up a series by its labels costs more than counting
            series = self._known[method, route, status] = self._requests.labels(method, route, str(status))
        series.observe(seconds)

    def asked(self, plays: int) -> None:
        """Plays were handed out."""
        self._asked.inc(plays)

    def told(self, receipts: Iterable[str]) -> None:
        """Answers came in."""
        for receipt, times in Tally(receipts).items():
            self._told.labels(receipt).inc(times)

    def expired(self, plays: int) -> None:
        """Leases ran out."""
        self._expired.inc(plays)

    def committed(self, requests: int, seconds: float) -> None:
        """A group of requests was made durable."""
        self._commit_size.observe(requests)
        self._commit_seconds.observe(seconds)

    def viewer_came(self) -> None:
        """A stream was opened."""
        self._watching.inc()

    def viewer_left(self) -> None:
        """A stream was closed."""
        self._watching.dec()

    def text(self, in_flight: int) -> bytes:
        """All figures in Prometheus' own format."""
        self._in_flight.set(in_flight)
        return generate_latest(self._registry)
