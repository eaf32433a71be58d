"""Metrics, health and logs."""

from __future__ import annotations

import io
import json
import logging

from prometheus_client.parser import text_string_to_metric_families

from linkedbandits.service.http.logs import JsonLines, log_event, logger
from linkedbandits.service.records import Setup


def metrics_of(service):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(service.http.get("/metrics").text)
        for sample in family.samples
    }


def test_metrics_count_plays_answers_commits_and_requests(own_service):
    experiment = own_service.create(arms=["north label", "east label"])
    path = f"/v1/experiments/{experiment}"
    for _ in range(2):  # the second hands out nothing new
        own_service.http.post(f"{path}/ask", json={"count": 5, "key": "k"})
    answers = [{"play": 0, "hit": None}, {"play": 1, "hit": None}, {"play": 1, "hit": None}, {"play": 7, "hit": None}]
    own_service.http.post(f"{path}/tell", json={"answers": answers})
    own_service.http.get("/whatever/somebody/typed")
    found = metrics_of(own_service)
    assert found["linkedbandits_plays_asked_total",] == 5
    told = {key[1][1]: value for key, value in found.items() if key[0] == "linkedbandits_answers_told_total"}
    assert told == {"counted": 2, "repeated": 1, "refused": 1}
    assert found["linkedbandits_plays_in_flight",] == 3
    assert found["linkedbandits_commit_seconds_count",] >= 2
    assert found["linkedbandits_commit_requests_sum",] >= 2
    routes = {dict(key[1:])["route"] for key in found if key[0] == "linkedbandits_request_seconds_count"}
    assert "/v1/experiments/{experiment}/tell" in routes
    assert "unknown" in routes
    text = own_service.http.get("/metrics").text
    assert "label" not in text.replace("# HELP", "")
    assert experiment not in text
    assert "typed" not in text


def test_readiness_neither_reads_the_experiments_nor_waits_for_the_desk(own_service, monkeypatch):
    own_service.create()
    monkeypatch.setattr(Setup, "from_json", None)
    own_service.server._service.desk.stop()
    assert own_service.http.get("/readyz").status_code == 200


def test_plays_in_flight_are_counted_without_opening_experiments(own_service, monkeypatch):
    experiment = own_service.create()
    own_service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": 3})
    monkeypatch.setattr(Setup, "from_json", None)
    assert metrics_of(own_service)["linkedbandits_plays_in_flight",] == 3


def test_health_and_readiness(service):
    for path in ("/healthz", "/readyz"):
        assert service.http.get(path).json()["status"] == "ok"


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
