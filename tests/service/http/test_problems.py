"""Every refusal is a problem document (RFC 9457)."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from linkedbandits.service.http.logs import JsonLines
from linkedbandits.service.http.problems import problem_of, status_of
from linkedbandits.service.store_errors import JournalMismatch
from tests.support.problem_documents import check_problem

NEW = {"name": "directions", "arms": ["north", "east"]}


def test_an_experiment_that_does_not_exist(service):
    for method, path in (("GET", "view"), ("GET", "events"), ("GET", "journal"), ("POST", "ask"), ("POST", "pause")):
        response = service.http.request(method, f"/v1/experiments/nobody/{path}")
        check_problem(response, 404, "urn:linkedbandits:unknown-experiment")


def test_what_was_sent_is_not_repeated(service):
    response = service.http.post("/v1/experiments", json=NEW | {"linkage": "secret word"})
    problem = check_problem(response, 422, "urn:linkedbandits:invalid-request")
    assert problem["errors"][0]["at"] == ["body", "linkage"]
    assert "secret word" not in response.text


@pytest.mark.parametrize(("method", "path"), [("GET", "/readyz"), ("POST", "/v1/experiments/x/ask")])
def test_a_store_that_is_away_is_a_503_with_when_to_come_back_and_the_reason_is_in_the_log(
    own_service, caplog, method, path
):
    own_service.http.get("/v1/experiments")  # the tokens are known
    own_service.store.close()
    response = own_service.http.request(method, path, json={})
    problem = check_problem(response, 503, "urn:linkedbandits:store-unavailable")
    assert response.headers["retry-after"] == "1"
    assert own_service.http.get("/healthz").status_code == 200
    assert "sqlite" not in problem["detail"]
    (logged,) = [json.loads(JsonLines().format(record)) for record in caplog.records if record.msg == "request-failed"]
    assert (logged["error"], logged["level"]) == ("StoreUnavailable", "error")
    assert "experiments.sqlite3" in logged["reason"]
    assert logged["traceback"]


def test_a_problem_has_the_words_of_its_error():
    assert problem_of(lb.UnknownName("no play 3", reason="unknown_play"))["detail"] == "no play 3"


def test_an_error_that_no_request_should_cause_is_the_service_s_own():
    assert status_of(JournalMismatch("entry 3")) == 500
