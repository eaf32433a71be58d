"""Figures for Prometheus: what was done is counted, and nothing that callers wrote is in them."""

from __future__ import annotations

from linkedbandits.service.http.metrics import Metrics
from tests.support.figures import figures_in


def test_metrics_count_plays_answers_commits_and_requests(own_service):
    experiment = own_service.create(arms=["north label", "east label"])
    path = f"/v1/experiments/{experiment}"
    for _ in range(2):  # the second hands out nothing new
        own_service.http.post(f"{path}/ask", json={"count": 5, "key": "k"})
    answers = [{"play": 0, "hit": None}, {"play": 1, "hit": None}, {"play": 1, "hit": None}, {"play": 7, "hit": None}]
    own_service.http.post(f"{path}/tell", json={"answers": answers})
    own_service.http.get("/whatever/somebody/typed")
    found = figures_in(own_service.http.get("/metrics").text)
    assert found["linkedbandits_plays_asked_total",] == 5
    told = {key[1][1]: value for key, value in found.items() if key[0] == "linkedbandits_answers_told_total"}
    assert told == {"counted": 2, "repeated": 1, "refused": 1}
    assert found["linkedbandits_commit_seconds_count",] >= 2
    assert found["linkedbandits_commit_requests_sum",] >= 2
    routes = {dict(key[1:])["route"] for key in found if key[0] == "linkedbandits_request_seconds_count"}
    assert "/v1/experiments/{experiment}/tell" in routes
    assert "unknown" in routes
    text = own_service.http.get("/metrics").text
    assert "label" not in text.replace("# HELP", "")
    assert experiment not in text
    assert "typed" not in text


def figures_of(metrics):
    return figures_in(metrics.text().decode())


def test_leases_and_viewers_are_counted():
    metrics = Metrics()
    metrics.expired(3)
    metrics.expired(2)
    for _ in range(3):
        metrics.viewer_came()
    metrics.viewer_left()
    figures = figures_of(metrics)
    assert figures["linkedbandits_plays_expired_total",] == 5
    assert figures["linkedbandits_viewers",] == 2


def test_requests_have_a_series_for_each_method_route_and_status():
    metrics = Metrics()
    for method, status in (("GET", 200), ("GET", 404), ("POST", 200), ("GET", 200)):
        metrics.request(method, "/x", status, 0.5)
    count = "linkedbandits_request_seconds_count"
    assert {key[1:]: value for key, value in figures_of(metrics).items() if key[0] == count} == {
        (("method", "GET"), ("route", "/x"), ("status", "200")): 2,
        (("method", "GET"), ("route", "/x"), ("status", "404")): 1,
        (("method", "POST"), ("route", "/x"), ("status", "200")): 1,
    }


def test_a_commit_has_a_size_and_a_time():
    metrics = Metrics()
    metrics.committed(40, 0.25)
    figures = figures_of(metrics)
    assert figures["linkedbandits_commit_requests_sum",] == 40
    assert figures["linkedbandits_commit_seconds_sum",] == 0.25


def test_two_services_in_one_process_count_apart():
    one, other = Metrics(), Metrics()
    one.asked(5)
    assert figures_of(one)["linkedbandits_plays_asked_total",] == 5
    assert figures_of(other)["linkedbandits_plays_asked_total",] == 0
