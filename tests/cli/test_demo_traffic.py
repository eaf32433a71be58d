"""``linkedbandits demo-traffic``."""

from __future__ import annotations

import pytest

from linkedbandits.service.demo import GATEWAYS, NAME
from linkedbandits.service.retries import Retries
from tests.support.command_line import refusal, run
from tests.support.running_service import running_service


@pytest.fixture
def service(tmp_path):
    with running_service(str(tmp_path / "experiments.sqlite3")) as running:
        yield running


def test_the_command_plays_and_says_who_leads(service):
    result = run("demo-traffic", "--url", service.url, "--rate", "100", "--seconds", "2", "--seed", "1")
    assert result.returncode == 0, result.stderr
    watch, verdict = result.stdout.splitlines()
    assert watch.startswith(f"Watch it: {service.url}/#/experiments/")
    assert " leads, after " in verdict
    (experiment,) = service.http.get("/v1/experiments").json()["experiments"]
    assert (experiment["name"], experiment["arms"]) == (NAME, list(GATEWAYS))


def test_a_service_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(Retries, "pauses", lambda self: iter([0.01]))  # not for half a minute
    said = refusal("demo-traffic", "--url", "http://127.0.0.1:9")
    assert "is the service running" in said
