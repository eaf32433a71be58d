"""Logs: one JSON object a line, without tokens and labels."""

from __future__ import annotations

import io
import json
import logging

from linkedbandits.service.http.logs import JsonLines, log_event, logger


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
