"""Health, readiness and metrics, for operators."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import httpx

from linkedbandits.service.http.service import Settings
from linkedbandits.service.migrations import SCHEMA_VERSION
from linkedbandits.service.records import Setup
from linkedbandits.service.store import open_store
from linkedbandits.service.tokens import make_token
from linkedbandits.version import __version__
from tests.support.figures import figures_in
from tests.support.running_service import running_service
from tests.support.service_parts import held_up
from tools.waiting import SECONDS, join, until


def test_readiness_neither_reads_the_experiments_nor_waits_for_the_desk(own_service, monkeypatch):
    own_service.create()
    monkeypatch.setattr(Setup, "from_json", None)
    own_service.server.service.desk.stop()
    assert own_service.http.get("/readyz").status_code == 200


def test_plays_in_flight_are_counted_without_opening_experiments(own_service, monkeypatch):
    experiment = own_service.create()
    own_service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": 3})
    monkeypatch.setattr(Setup, "from_json", None)
    until(
        lambda: figures_in(own_service.http.get("/metrics").text)["linkedbandits_plays_in_flight",] == 3,
        "the next survey",
    )


def test_metrics_are_there_while_the_desk_is_stuck(own_service):
    """What waits for the desk is seen from outside of it, and how old is what only the desk could say."""
    experiment = own_service.create()
    desk = own_service.server.service.desk
    until(lambda: own_service.figures().get(("linkedbandits_survey_age_seconds",)) is not None, "the first survey")
    with held_up(desk, experiment):
        asked = [desk.ask(experiment) for _ in range(5)]
        first = own_service.figures()
        assert first["linkedbandits_desk_waiting",] >= 6
        until(
            lambda: (
                own_service.figures()["linkedbandits_desk_oldest_seconds",]
                > first["linkedbandits_desk_oldest_seconds",]
            ),
            "time to pass",
        )
        later = own_service.figures()
        for name in ("last_commit_age", "survey_age"):
            assert later[f"linkedbandits_{name}_seconds",] > first[f"linkedbandits_{name}_seconds",]
        assert not any(future.done() for future in asked)
    for future in asked:
        future.result()


def test_metrics_are_there_while_the_store_is_away_for_those_whose_token_is_known(tmp_path, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.http.store_watch.ASK_SECONDS", 0.01)
    monkeypatch.setattr("linkedbandits.service.http.access.REFRESH_SECONDS", 0.0)
    store = open_store(str(tmp_path / "experiments.sqlite3"))
    text, record = make_token("prometheus", "viewer", lambda: 0.0)
    with store.writing() as writing:
        writing.add_token(record)
    store.close()
    with running_service(str(tmp_path / "experiments.sqlite3")) as service:
        signed = {"Authorization": f"Bearer {text}"}
        away = "linkedbandits_store_away"
        assert service.figures(signed)[away,] == 0
        assert service.http.get("/v1/me", headers=signed).status_code == 200  # so the token is known
        (tmp_path / "experiments.sqlite3").rename(tmp_path / "elsewhere")
        until(lambda: service.figures(signed)[away,] == 1, "the store to be missed")
        assert service.http.get("/readyz").status_code == 503
        assert service.http.get("/v1/me", headers=signed).status_code == 200
        assert service.http.get("/metrics").status_code == 401
        unknown = service.http.get("/metrics", headers={"Authorization": "Bearer lb_unknown"})
        assert unknown.status_code in {401, 503}  # the first if all tokens were read half a second ago
        (tmp_path / "elsewhere").rename(tmp_path / "experiments.sqlite3")
        until(lambda: service.figures(signed)[away,] == 0, "the store to be back")


def test_metrics_are_there_while_the_store_hangs(own_service, monkeypatch):
    """Neither who is asked for nor how large it is may be waited for."""
    assert own_service.figures()["linkedbandits_store_away",] == 0
    monkeypatch.setattr("linkedbandits.service.http.store_watch.PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr("linkedbandits.service.http.store_watch.ASK_SECONDS", 0.01)
    hanging, reading = threading.Event(), own_service.store.reading

    @contextmanager
    def hang(at_the_desk=False):
        hanging.wait(SECONDS)
        with reading() as found:
            yield found

    with monkeypatch.context() as patch:
        patch.setattr(own_service.store, "reading", hang)
        try:
            until(lambda: own_service.figures()["linkedbandits_store_away",] == 1, "the silence to be noticed")
        finally:
            hanging.set()
    until(lambda: own_service.figures()["linkedbandits_store_away",] == 0, "the store to be back")


def test_experiments_have_series_only_where_that_was_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.http.service.SURVEY_SECONDS", 0.01)
    with running_service(str(tmp_path / "e.sqlite3"), Settings(experiments_in_metrics=1)) as service:
        old, new = service.create(), service.create()
        for experiment in (old, new):
            service.play(experiment, 5)
        key = ("linkedbandits_experiment_plays", ("experiment", new))
        until(lambda: service.figures().get(key) == 5, "the survey")
        assert old not in service.http.get("/metrics").text
        assert service.figures()["linkedbandits_experiments_without_series",] == 1


def test_exports_under_way_are_counted(own_service, monkeypatch):
    experiment = own_service.create()
    own_service.play(experiment)
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def read(self):
            begun.set()
            go_on.wait(SECONDS)
            return b""

        def close(self):
            pass

    monkeypatch.setattr(own_service.server.service.exports, "_open", lambda *_: Slow())
    journal = f"{own_service.url}/v1/experiments/{experiment}/journal"
    exporting = threading.Thread(target=lambda: httpx.get(journal, timeout=SECONDS))
    exporting.start()
    assert begun.wait(SECONDS)
    assert own_service.figures()["linkedbandits_exports",] == 1
    go_on.set()
    join(exporting)
    until(lambda: own_service.figures()["linkedbandits_exports",] == 0, "the export to be counted as over")


def test_process_and_build_are_named(service):
    figures = service.figures()
    build = dict(next(key for key in figures if key[0] == "linkedbandits_build_info")[1:])
    assert (build["version"], build["schema"]) == (__version__, str(SCHEMA_VERSION))
    for name in ("cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds", "start_time_seconds"):
        assert figures[f"process_{name}",] > 0


def test_health_and_readiness(service):
    for path in ("/healthz", "/readyz"):
        assert service.http.get(path).json()["status"] == "ok"


def test_health_names_the_version_and_metrics_their_format(service):
    assert service.http.get("/healthz").json() == {"status": "ok", "version": __version__}
    assert service.http.get("/metrics").headers["content-type"].startswith("text/plain; version=")
