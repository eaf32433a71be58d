"""A store that does not answer: every request ends all the same, and the service comes back when the store does."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.problem_documents import check_problem
from tests.support.running_service import running_service
from tests.support.service_parts import create
from tools.waiting import SECONDS, until

AWAY = "urn:linkedbandits:store-unavailable"


@contextmanager
def impatient():
    """Requests are given up after a second, long before silent connections are: nothing else frees them.

    Only while the store is away: what has an answer may take its time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkedbandits.service.http.deadline.SECONDS_FOR_AN_ANSWER", 1.0)
        patch.setattr("linkedbandits.service.http.readiness.SECONDS_TO_WRITE", 0.2)
        patch.setattr("linkedbandits.service.http.readiness.SECONDS_BELIEVED", 0.0)
        patch.setattr("linkedbandits.service.http.access.PATIENCE_SECONDS", 0.1)
        patch.setattr("linkedbandits.service.lines.SECONDS_FOR_AN_ANSWER", SECONDS)
        yield


def told(service, experiment, play):
    return service.post(experiment, "tell", {"answers": [{"play": play, "hit": None}]})


def check_that_nothing_hangs(service, experiment, acknowledged, open_one):
    """While the store is away, and after it has come back."""
    paths = [f"/v1/experiments/{experiment}/{what}" for what in ("view", "estimates", "expenses")]
    requests = [("POST", f"/v1/experiments/{experiment}/ask"), ("GET", "/v1/experiments")]
    requests += [("POST", "/v1/experiments"), *(("GET", path) for path in paths)]
    body = {"name": "x", "arms": ["a", "b"]}

    def ask(request):
        method, path = request
        return service.http.request(method, path, json=body if path == "/v1/experiments" else {})

    with ThreadPoolExecutor(16) as pool:
        telling = pool.submit(told, service, experiment, open_one)
        for (_, path), response in zip(requests * 2, pool.map(ask, requests * 2), strict=True):
            if response.status_code != 200:  # SQLite can be read all the while
                problem = check_problem(response, 503, AWAY)
                assert response.headers["retry-after"] == "1"
                assert "the store cannot be used now: " in problem["detail"]
            if path.endswith("/ask"):
                assert "no answer within 1 s" in problem["detail"]
        assert "no answer within 1 s" in check_problem(telling.result(), 503, AWAY)["detail"]
    check_problem(service.http.get("/readyz"), 503, AWAY)
    for path in ("/healthz", "/metrics"):
        assert service.http.get(path).status_code == 200
    yield
    until(lambda: service.http.get("/readyz").status_code == 200, "the service to be ready again")
    again = until(lambda: (found := told(service, experiment, open_one)).status_code == 200 and found, "an answer")
    assert again.json()["receipts"][0] in ("counted", "repeated")
    assert told(service, experiment, acknowledged).json()["receipts"] == ["repeated"]
    view = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert view["plays"] == 2


def begin(service):
    experiment = service.create()
    plays = [play["id"] for play in service.post(experiment, "ask", {"count": 2}).json()["plays"]]
    assert told(service, experiment, plays[0]).status_code == 200
    return experiment, *plays


def test_a_postgresql_server_that_is_stopped_hangs_no_request(postgres, postgres_url):
    with running_service(postgres_url) as service:
        checks = check_that_nothing_hangs(service, *begin(service))
        with impatient(), postgres.stopped_in_its_tracks():
            next(checks)
        next(checks, None)


def test_a_sqlite_file_that_somebody_else_writes_hangs_no_request(tmp_path, monkeypatch):
    path = tmp_path / "a.sqlite"
    monkeypatch.setattr("linkedbandits.service.sqlite_store.WAIT_SECONDS", SECONDS)  # longer than requests wait here
    with running_service(str(path)) as service:
        checks = check_that_nothing_hangs(service, *begin(service))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with impatient():
                next(checks)
            other.execute("ROLLBACK")
        next(checks, None)


def test_a_desk_whose_server_is_stopped_says_so_and_goes_on_when_it_does(postgres, postgres_url, monkeypatch):
    """Without HTTP: the connection is given up, and what was acknowledged is there."""
    with closing(open_store(postgres_url)) as store, Desk(store) as desk:
        experiment = create(desk)
        desk.ask(experiment, 2).result()
        desk.tell(experiment, [(0, None)]).result()
        monkeypatch.setattr("linkedbandits.service.lines._ROUND_SECONDS", 0.1)
        with postgres.stopped_in_its_tracks(), monkeypatch.context() as patch:
            patch.setattr("linkedbandits.service.lines.SECONDS_FOR_AN_ANSWER", 2.0)  # sooner than in production
            with pytest.raises(
                lb.StoreUnavailable, match="did not answer within 2 s; is its server up, and not stopped"
            ):
                desk.tell(experiment, [(1, None)]).result()
            assert desk.figures().plays_in_flight in (0, 1)  # it was forgotten, and is read again
        until(lambda: desk.record(experiment).exception() is None, "the server to be back")
        again = until(
            lambda: (one := desk.tell(experiment, [(1, None), (0, None)])).exception() is None and one, "a word"
        )
        receipts = again.result().receipts
        assert receipts[0] in ("counted", "repeated")
        assert receipts[1] == "repeated"
