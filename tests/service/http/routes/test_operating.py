"""Health, readiness and metrics, for operators."""

from __future__ import annotations

from linkedbandits.service.records import Setup
from linkedbandits.version import __version__
from tests.support.figures import figures_in


def test_readiness_neither_reads_the_experiments_nor_waits_for_the_desk(own_service, monkeypatch):
    own_service.create()
    monkeypatch.setattr(Setup, "from_json", None)
    own_service.server.service.desk.stop()
    assert own_service.http.get("/readyz").status_code == 200


def test_plays_in_flight_are_counted_without_opening_experiments(own_service, monkeypatch):
    experiment = own_service.create()
    own_service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": 3})
    monkeypatch.setattr(Setup, "from_json", None)
    assert figures_in(own_service.http.get("/metrics").text)["linkedbandits_plays_in_flight",] == 3


def test_health_and_readiness(service):
    for path in ("/healthz", "/readyz"):
        assert service.http.get(path).json()["status"] == "ok"


def test_health_names_the_version_and_metrics_their_format(service):
    assert service.http.get("/healthz").json() == {"status": "ok", "version": __version__}
    assert service.http.get("/metrics").headers["content-type"].startswith("text/plain; version=")
