"""Logs: one JSON object a line, without tokens and labels."""

from __future__ import annotations

import io
import json
import logging

import pytest

import linkedbandits as lb
from linkedbandits.service.http.logs import JsonLines, log_event, log_failure, logger, start_logging


def lines_logged(act):
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        act()
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


def test_no_token_and_no_label_is_logged(own_service):
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
        lambda: [log_failure("failed", error) for error in (lb.StoreUnavailable("disk full"), lb.UnknownPlay("SECRET"))]
    )
    assert [(line["error"], line.get("reason")) for line in lines] == [
        ("StoreUnavailable", "disk full"),
        ("UnknownPlay", None),
    ]
    assert "SECRET" not in json.dumps(lines)


@pytest.fixture
def loggers_as_they_were():
    named = [logging.getLogger(name) for name in ("linkedbandits.service", "uvicorn", "uvicorn.access", "asyncio")]
    before = [(one, one.handlers, one.level, one.propagate) for one in named]
    yield
    for one, handlers, level, propagate in before:
        one.handlers, one.propagate = handlers, propagate
        one.setLevel(level)


def test_the_service_its_server_and_its_loop_write_to_one_stream(loggers_as_they_were, caplog):
    stream = io.StringIO()
    start_logging(stream)
    log_event("experiment-created", arms=2)
    logging.getLogger("uvicorn.error").info("started")  # what the server says of itself is not of interest,
    logging.getLogger("uvicorn.error").warning("what it finds wrong is")
    logging.getLogger("asyncio").error("so is %s", "the loop's")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["event"] for line in lines] == ["experiment-created", "what it finds wrong is", "so is the loop's"]
    assert lines[0]["arms"] == 2
    assert caplog.records == []  # and nowhere else


def test_what_json_cannot_hold_is_logged_as_text():
    (line,) = lines_logged(lambda: log_event("odd", what={1}, where=("a", None)))
    assert (line["what"], line["where"]) == ("{1}", ["a", None])
