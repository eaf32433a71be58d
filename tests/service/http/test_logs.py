"""Logs: one JSON object a line, without tokens and labels."""

from __future__ import annotations

import io
import json
import logging
import threading
from collections import Counter

import pytest

import linkedbandits as lb
from linkedbandits.service.http.logs import (
    MOST_REMEMBERED,
    SAID_EVERY,
    JsonLines,
    NotForEveryRequest,
    log_event,
    log_failure,
    logger,
    start_logging,
)
from linkedbandits.service.http.service import Settings
from tests.support.http_servers import serving
from tests.support.running_service import running_service
from tests.support.service_parts import ManualClock
from tools.waiting import join, until


def lines_logged(act, *filters, last=None):
    """What is logged meanwhile, up to the event ``last``: of a request, some is logged when its answer is out."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    for one in filters:
        handler.addFilter(one)
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        act()
        if last is not None:
            until(lambda: f'"event": "{last}"' in stream.getvalue(), f"the line {last!r} in the log")
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_log_line_is_one_json_object():
    (line,) = lines_logged(lambda: log_event("request", status=200))
    assert (line["event"], line["level"], line["status"]) == ("request", "info", 200)
    assert line["at"].endswith("+00:00")


def test_an_error_is_logged_by_its_place_not_by_its_words():
    def fail():
        try:
            raise ValueError("label 'secret'")
        except ValueError as error:
            logger.error("request-broke", exc_info=error)

    (line,) = lines_logged(fail)
    assert line["error"] == "ValueError"
    assert line["traceback"][-1].endswith("fail")
    assert "secret" not in json.dumps(line)


def test_no_token_and_no_label_is_logged(own_service, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.http.edge.SLOW_SECONDS", float("inf"))  # which would be logged, too

    def act():
        experiment = own_service.create(arms=["SECRETLABEL1", "SECRETLABEL2"], name="SECRETNAME")
        signed = {"Authorization": "Bearer SECRETTOKEN"}
        own_service.http.post(f"/v1/experiments/{experiment}/ask", headers=signed)
        answer = {"play": 0, "hit": "SECRETLABEL3"}
        own_service.http.post(f"/v1/experiments/{experiment}/tell", json={"answers": [answer]}, headers=signed)
        own_service.http.post(f"/v1/experiments/{experiment}/pause")
        own_service.http.get("/SECRETPATH")

    lines = lines_logged(act)
    assert [line["event"] for line in lines] == ["experiment-created", "experiment-status"]
    assert "SECRET" not in json.dumps(lines)


def test_why_a_store_is_away_is_logged_and_what_other_errors_say_is_not():
    lines = lines_logged(
        lambda: [
            log_failure("failed", error)
            for error in (lb.StoreUnavailable("disk full"), lb.UnknownName("SECRET", reason="unknown_play"))
        ]
    )
    assert [(line["error"], line.get("reason")) for line in lines] == [
        ("StoreUnavailable", "disk full"),
        ("UnknownName", None),
    ]
    assert "SECRET" not in json.dumps(lines)


def record_of(event, error=None, **fields):
    record = logging.LogRecord("linkedbandits.service", logging.WARNING, "", 0, event, (), None)
    record.exc_info = None if error is None else (type(error), error, None)
    record.fields = fields
    return record


def test_what_requests_repeat_is_said_once_a_minute_with_how_often_it_was_not():
    clock = ManualClock()
    passing = NotForEveryRequest(clock)
    gone, full = lb.StoreUnavailable("gone"), lb.StoreUnavailable("full")
    said = [passing.filter(record_of("request-failed", gone, reason="gone")) for _ in range(5)]
    assert said == [True, False, False, False, False]
    assert passing.filter(record_of("request-failed", full, reason="full"))  # another reason
    assert passing.filter(record_of("request-slow", route="/a"))
    assert passing.filter(record_of("request-slow", route="/b"))
    assert all(passing.filter(record_of("request", status=200)) for _ in range(3))
    clock.now += SAID_EVERY
    again = record_of("request-failed", gone, reason="gone")
    assert passing.filter(again)
    assert again.fields == {"reason": "gone", "not_said": 4}
    assert not passing.filter(record_of("request-failed", gone, reason="gone"))


@pytest.mark.parametrize("event", ["sign-of-life-failed", "housekeeping-failed", "look-failed", "survey-failed"])
def test_an_outage_does_not_fill_the_log(event):
    """These are found out every second, by every server and every viewer."""
    passing, gone = NotForEveryRequest(ManualClock()), lb.StoreUnavailable("gone")
    assert [passing.filter(record_of(event, gone, reason="gone")) for _ in range(3)] == [True, False, False]


def test_every_webhook_that_fails_is_named():
    passing = NotForEveryRequest(ManualClock())
    said = [passing.filter(record_of("webhook-failed", webhook=one, reason="answered 500")) for one in "aabb"]
    assert said == [True, False, True, False]


def test_it_remembers_no_more_than_some():
    passing = NotForEveryRequest(ManualClock())
    for number in range(3 * MOST_REMEMBERED):
        passing.filter(record_of("request-failed", reason=str(number)))
    assert len(passing._said) <= MOST_REMEMBERED


def test_that_the_store_goes_and_comes_is_logged_once_however_many_requests_find_out(tmp_path, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.http.store_watch.ASK_SECONDS", 0.01)
    file, elsewhere = tmp_path / "experiments.sqlite3", tmp_path / "elsewhere"

    def act():
        with running_service(str(file)) as service:
            experiment = service.create()
            file.rename(elsewhere)
            for _ in range(20):
                assert service.post(experiment, "ask", {}).status_code == 503
            until(lambda: service.figures()["linkedbandits_store_away",] == 1, "the store to be missed")
            elsewhere.rename(file)
            until(lambda: service.post(experiment, "ask", {}).status_code == 200, "the store to be back")
            until(lambda: service.figures()["linkedbandits_store_away",] == 0, "that to be noticed")

    lines = lines_logged(act, NotForEveryRequest())
    counted = Counter(line["event"] for line in lines)
    assert (counted["store-away"], counted["store-back"]) == (1, 1)
    assert (counted["service-started"], counted["service-stopping"], counted["service-stopped"]) == (1, 1, 1)
    assert counted["request"] == 0
    assert counted["request-failed"] <= 2  # as many as there are reasons
    assert "was removed or replaced" in next(line["reason"] for line in lines if line["event"] == "store-away")
    assert all({"at", "level", "event"} <= line.keys() for line in lines)


def test_a_message_that_does_not_arrive_is_logged_without_the_address_or_the_secret(tmp_path):
    with serving(lambda *_: 500) as receiver:

        def act():
            with running_service(str(tmp_path / "e.sqlite3"), Settings(webhooks_to_private=True)) as service:
                made.update(service.http.post("/v1/webhooks", json={"url": f"{receiver.address}/SECRET"}).json())
                service.http.post(f"/v1/webhooks/{made['id']}/test")
                key = ("linkedbandits_webhook_attempts_total", ("outcome", "failed"))
                until(lambda: service.figures()[key] >= 1, "the attempt")

        made = {}
        lines = lines_logged(act)
    failed = next(line for line in lines if line["event"] == "webhook-failed")
    assert (failed["webhook"], failed["reason"], failed["attempt"]) == (made["id"], "answered 500", 1)
    assert "SECRET" not in json.dumps(lines)
    assert made["secret"] not in json.dumps(lines)


@pytest.fixture
def loggers_as_they_were():
    names = ("linkedbandits.service", "uvicorn", "uvicorn.access", "asyncio", "py.warnings")
    named = [logging.getLogger(name) for name in names]
    before = [(one, one.handlers, one.level, one.propagate) for one in named]
    hook = threading.excepthook
    yield
    threading.excepthook = hook
    logging.captureWarnings(False)
    for one, handlers, level, propagate in before:
        one.handlers, one.propagate = handlers, propagate
        one.setLevel(level)


def start(thread):
    thread.start()
    return thread


def test_the_service_its_server_and_its_loop_write_to_one_stream(loggers_as_they_were, caplog):
    stream = io.StringIO()
    start_logging(stream)
    log_event("experiment-created", arms=2)
    logging.getLogger("uvicorn.error").info("started")  # what the server says of itself is not of interest,
    logging.getLogger("uvicorn.error").warning("what it finds wrong is")
    logging.getLogger("asyncio").error("so is %s", "the loop's")
    join(start(threading.Thread(target=lambda: 1 // 0)))
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    events = ["experiment-created", "what it finds wrong is", "so is the loop's", "thread-ended"]
    assert [line["event"] for line in lines] == events
    assert lines[-1]["error"] == "ZeroDivisionError"
    assert lines[0]["arms"] == 2
    assert caplog.records == []  # and nowhere else


def test_what_json_cannot_hold_is_logged_as_text():
    (line,) = lines_logged(lambda: log_event("odd", what={1}, where=("a", None)))
    assert (line["what"], line["where"]) == ("{1}", ["a", None])
