"""The outermost layer: security headers, and a measurement and a log line of every request."""

from __future__ import annotations

import asyncio
import itertools
import json
from types import SimpleNamespace

import pytest

from linkedbandits.service.http.edge import SLOW_SECONDS, Edge
from linkedbandits.service.http.logs import JsonLines
from linkedbandits.service.http.metrics import Metrics
from tests.support.figures import figures_in
from tests.support.layers import Inner, answer_of, request


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/v1/experiments", "/nothing", "/healthz"])
def test_every_answer_has_the_security_headers(service, path):
    headers = service.http.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == policy["object-src"] == policy["base-uri"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


class Watched:
    """An edge around an application, with a clock that runs a quarter of a second between two looks."""

    def __init__(self, inner, log_requests=False):
        ticks = itertools.count()
        self.metrics = Metrics()
        self.edge = Edge(inner, self.metrics, lambda: next(ticks) / 4, log_requests, asyncio.Event())

    def counted(self):
        figures = figures_in(self.metrics.text().decode())
        return {
            tuple(dict(labels)[name] for name in ("method", "route", "status")): value
            for (name, *labels), value in figures.items()
            if name == "linkedbandits_request_seconds_sum"
        }


def test_a_request_is_counted_with_its_time_under_its_route_and_not_under_its_path():
    watched = Watched(Inner())
    answer_of(watched.edge, request(path="/v1/x") | {"route": SimpleNamespace(path="/v1/{experiment}")})
    for path in ("/typed", "/mistyped"):
        answer_of(watched.edge, request(path=path))
    assert watched.counted() == {("GET", "/v1/{experiment}", "200"): 0.25, ("GET", "unknown", "200"): 0.5}


def test_an_error_before_the_answer_goes_on_and_counts_as_the_service_s_own(caplog):
    watched = Watched(Inner({"type": "http.response.start", "status": 200}, error=ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        answer_of(watched.edge, request())
    inner = Inner(error=ZeroDivisionError())
    inner.answer = ()
    silent = Watched(inner)
    with pytest.raises(ZeroDivisionError):
        answer_of(silent.edge, request())
    assert silent.counted() == {("GET", "unknown", "500"): 0.25}
    (line,) = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert (line["event"], line["level"], line["status"], line["milliseconds"]) == ("request", "error", 500, 250.0)


def test_an_error_after_the_answer_does_not_cost_the_connection():
    answer = answer_of(Watched(Inner(error=ZeroDivisionError())).edge, request())
    assert answer[-1] == {"type": "http.response.body", "body": b"inner"}


@pytest.mark.parametrize("log_requests", [True, False])
def test_requests_that_went_well_are_logged_if_that_was_asked_for(caplog, log_requests):
    caplog.set_level("INFO", "linkedbandits.service")
    answer_of(Watched(Inner(), log_requests).edge, request(path="/v1/secret"))
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [(line["event"], line["level"], line["route"]) for line in lines] == (
        [("request", "info", "unknown")] if log_requests else []
    )


def test_headers_of_the_application_stay_before_those_of_the_edge():
    start = {"type": "http.response.start", "status": 200, "headers": [(b"etag", b"7")]}
    (answered,) = answer_of(Watched(Inner(start)).edge, request())
    assert answered["headers"][0] == (b"etag", b"7")
    assert len({name for name, _ in answered["headers"]}) == len(answered["headers"]) == 7


def test_what_is_no_request_is_left_alone():
    inner = Inner({"type": "lifespan.startup.complete"})
    watched = Watched(inner, log_requests=True)
    assert answer_of(watched.edge, {"type": "lifespan"}) == [{"type": "lifespan.startup.complete"}]
    assert watched.counted() == {}


def test_a_slow_request_is_logged_and_neither_a_stream_nor_a_503(caplog):
    caplog.set_level("INFO")

    def run(*answer, ticks):
        watched = Watched(Inner(*answer) if answer else Inner())
        watched.edge._clock = iter([0.0, ticks]).__next__
        answer_of(watched.edge, request())

    begin = {"type": "http.response.start", "status": 200}
    run(ticks=SLOW_SECONDS - 0.01)
    run(begin, {"type": "http.response.body", "more_body": True}, {"type": "http.response.body"}, ticks=100.0)
    run({**begin, "status": 503}, {"type": "http.response.body"}, ticks=0.1)
    assert caplog.records == []
    run(ticks=SLOW_SECONDS)
    (record,) = caplog.records
    assert (record.getMessage(), record.levelname) == ("request-slow", "WARNING")
    assert record.fields["milliseconds"] == 1000 * SLOW_SECONDS


def test_a_caller_who_hung_up_before_there_was_an_answer_is_no_failure_of_the_service(caplog):
    inner = Inner()
    inner.answer = ()
    watched = Watched(inner)
    answer_of(watched.edge, request())
    assert set(watched.counted()) == {("GET", "unknown", "499")}
    assert caplog.records == []
