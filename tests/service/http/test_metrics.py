"""Figures for Prometheus: what was done is counted, and nothing that callers wrote is in them."""

from __future__ import annotations

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
