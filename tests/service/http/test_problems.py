"""Every refusal is a problem document (RFC 9457)."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.service.desk import Desk
from linkedbandits.service.http.limits import LARGEST_BODY
from linkedbandits.service.http.logs import JsonLines
from linkedbandits.service.http.problems import problem_of, status_of
from linkedbandits.service.problem_types import class_of, type_of

NEW = {"name": "directions", "arms": ["north", "east"]}


def check_problem(response, status, problem_type="about:blank"):
    assert (response.status_code, response.headers["content-type"]) == (status, "application/problem+json")
    problem = response.json()
    assert (problem["status"], problem["type"]) == (status, problem_type)
    assert problem["title"]
    assert problem["detail"]
    assert problem["instance"] == response.request.url.path
    return problem


def test_paths_and_methods_that_do_not_exist(service):
    check_problem(service.http.get("/v1/nothing"), 404)
    response = service.http.delete("/v1/experiments")
    check_problem(response, 405)
    assert response.headers["allow"]


def test_an_experiment_that_does_not_exist(service):
    for method, path in (("GET", "view"), ("GET", "events"), ("GET", "journal"), ("POST", "ask"), ("POST", "pause")):
        response = service.http.request(method, f"/v1/experiments/nobody/{path}")
        check_problem(response, 404, "urn:linkedbandits:unknown-experiment")


@pytest.mark.parametrize(
    ("change", "problem_type", "words"),
    [
        ({"arms": ["one"]}, "invalid-request", "arms"),
        ({"arms": ["same", "same"]}, "invalid-labels", "'same'"),
        ({"arms": ["a\x00b", "c"]}, "invalid-request", "pattern"),
        ({"arms": [[1], "c"]}, "invalid-request", "arms"),
        ({"name": ""}, "invalid-request", "name"),
        ({"surprise": 1}, "invalid-request", "surprise"),
        ({"lease_seconds": 0}, "invalid-request", "lease_seconds"),
        ({"lease_seconds": "60"}, "invalid-request", "lease_seconds"),
        ({"policy": {"name": "best-of-all"}}, "unknown-name", "linked-elimination"),
        ({"policy": {"name": "linked-elimination", "parameters": {"delta": 2}}}, "invalid-parameter", "delta=2"),
        ({"policy": {"name": "linked-elimination", "parameters": {"zeta": 2}}}, "invalid-parameter", "'zeta'"),
        ({"policy": {"name": "linked-elimination", "parameters": {"k": 2}}}, "invalid-parameter", "delta"),
        ({"policy": {"name": "cascade-bai", "parameters": {"delta": 0.1, "k": 1}}}, "linkage-mismatch", "free"),
        (
            {"policy": {"name": "cascade-bai", "parameters": {"delta": 0.1, "k": 1}}, "linkage": "suffix"},
            "linkage-mismatch",
            "use linkage 'free'",
        ),
    ],
    ids=str,
)
def test_a_set_up_that_makes_no_sense_says_why(service, change, problem_type, words):
    response = service.http.post("/v1/experiments", json=NEW | change)
    assert words in check_problem(response, 422, f"urn:linkedbandits:{problem_type}")["detail"]


def test_the_schema_names_every_linkage(service):
    schemas = service.http.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["NewExperiment"]["properties"]["linkage"]["enum"] == list(LINKAGES)


def test_what_was_sent_is_not_repeated(service):
    response = service.http.post("/v1/experiments", json=NEW | {"linkage": "secret word"})
    problem = check_problem(response, 422, "urn:linkedbandits:invalid-request")
    assert problem["errors"][0]["at"] == ["body", "linkage"]
    assert "secret word" not in response.text


def test_a_body_that_is_no_json(service):
    as_json = {"Content-Type": "application/json"}
    for body in (b"{", b"\xff\xfe", b'{"name": NaN}', b'"\\ud800"'):
        response = service.http.post("/v1/experiments", content=body, headers=as_json)
        check_problem(response, 422, "urn:linkedbandits:invalid-request")


def test_json_has_to_be_announced_as_json(service):
    """A foreign page may send plain text to any address without asking; JSON it may not."""
    response = service.http.post("/v1/experiments", content=b"{}", headers={"Content-Type": "text/plain"})
    assert "application/json" in check_problem(response, 415)["detail"]


def test_a_body_that_is_too_large_whether_it_says_so_or_not(service):
    def pieces():
        for _ in range(20):
            yield b" " * (LARGEST_BODY // 10)

    for body in (b" " * (LARGEST_BODY + 1), pieces()):
        response = service.http.post("/v1/experiments", content=body, headers={"Content-Type": "application/json"})
        check_problem(response, 413, "urn:linkedbandits:request-too-large")


def announced(body):
    return body  # httpx sends the length of bytes


def in_chunks(body):
    """Of something that has no length httpx announces none, and sends it in chunks."""
    return (body[start : start + 70_001] for start in range(0, len(body), 70_001))


@pytest.mark.parametrize("sent", [announced, in_chunks])
@pytest.mark.parametrize(
    ("path", "content", "accepted"), [("", NEW, 201), ("/{experiment}/ask", {"count": 2}, 200)], ids=["long", "short"]
)
def test_a_body_may_be_as_large_as_the_limit_and_not_a_byte_larger(service, path, content, accepted, sent):
    """On the long and on the short way, whether the length was announced or not."""
    url = "/v1/experiments" + path.format(experiment=service.create())
    for size, status in ((LARGEST_BODY - 1, accepted), (LARGEST_BODY, accepted), (LARGEST_BODY + 1, 413)):
        body = json.dumps(content).encode().ljust(size)
        response = service.http.post(url, content=sent(body), headers={"Content-Type": "application/json"})
        assert ("content-length" in response.request.headers) == (sent is announced)
        assert response.status_code == status, size


def test_a_batch_that_is_too_large(service):
    experiment = service.create()
    response = service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": 1001})
    check_problem(response, 422, "urn:linkedbandits:invalid-request")


def test_paused_and_archived_experiments_say_so(service):
    experiment = service.create()
    assert service.http.post(f"/v1/experiments/{experiment}/pause").json()["status"] == "paused"
    check_problem(service.http.post(f"/v1/experiments/{experiment}/ask"), 409, "urn:linkedbandits:experiment-paused")
    assert service.http.post(f"/v1/experiments/{experiment}/resume").json()["status"] == "running"
    assert service.http.post(f"/v1/experiments/{experiment}/ask").status_code == 200
    assert service.http.post(f"/v1/experiments/{experiment}/archive").json()["status"] == "archived"
    response = service.http.post(f"/v1/experiments/{experiment}/resume")
    check_problem(response, 409, "urn:linkedbandits:experiment-archived")


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


@pytest.mark.parametrize(("verb", "body"), [("ask", {}), ("abandon", {"plays": [0]})])
def test_a_mistake_of_the_service_is_a_500_that_gives_nothing_away(own_service, monkeypatch, verb, body):
    experiment = own_service.create()

    def fail(*arguments):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Desk, verb, fail)
    response = own_service.http.post(f"/v1/experiments/{experiment}/{verb}", json=body)
    assert "secret" not in check_problem(response, 500)["detail"]
    assert own_service.http.get(f"/v1/experiments/{experiment}").status_code == 200


def test_types_lead_back_to_their_errors():
    assert class_of(type_of(lb.ConflictingTell)) is lb.ConflictingTell
    assert class_of("urn:linkedbandits:no-such-thing") is None
    assert problem_of(lb.UnknownPlay("no play 3"))["detail"] == "no play 3"


def test_an_error_that_no_request_should_cause_is_the_service_s_own():
    assert status_of(lb.JournalMismatch("entry 3")) == 500
