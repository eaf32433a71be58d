"""What the OpenAPI document says of every route's refusals, and of what can be done with an answer."""

from __future__ import annotations

import pytest

from linkedbandits import errors
from linkedbandits.service.http.problems import status_of
from linkedbandits.service.http.routes.documented import AFTER_ASKING, ALWAYS, refusals


def test_every_operation_is_documented(service):
    document = service.http.get("/openapi.json").json()
    operations = [
        operation for path in document["paths"].values() for method, operation in path.items() if method != "parameters"
    ]
    assert len(operations) == 33
    for operation in operations:
        assert operation["description"]
        assert {"401", "403", "429", "503"} <= operation["responses"].keys() or operation["tags"] == ["operating"]


def test_a_route_s_refusals_are_its_own_and_those_of_every_route_each_a_problem():
    found = refusals(404, 409, 404)
    assert list(found) == [401, 403, 404, 409, 429, 503]
    assert list(refusals()) == list(ALWAYS)
    for refusal in found.values():
        assert refusal["description"].endswith(".")
        assert list(refusal["content"]) == ["application/problem+json"]


def test_a_status_without_a_reason_cannot_be_documented():
    with pytest.raises(KeyError):
        refusals(418)


def test_every_status_that_an_error_may_have_is_documented_somewhere(service):
    documented = {
        int(status)
        for path in service.http.get("/openapi.json").json()["paths"].values()
        for operation in path.values()
        for status in operation["responses"]
    }
    caused = {status_of(error("why")) for error in vars(errors).values() if isinstance(error, type)} - {500}
    assert caused <= documented


def test_links_lead_to_operations_that_there_are_with_parameters_that_these_have(service):
    """For those who walk along them: from an experiment to a play and its answer."""
    document = service.http.get("/openapi.json").json()
    operations = {
        operation["operationId"]: operation for path in document["paths"].values() for operation in path.values()
    }
    links = [
        (name, status, step, link)
        for name, operation in operations.items()
        for status, response in operation["responses"].items()
        for step, link in response.get("links", {}).items()
    ]
    for _, status, _, link in links:
        taken = {parameter["name"] for parameter in operations[link["operationId"]]["parameters"]}
        assert link["parameters"].keys() <= taken
        assert status in ("200", "201")
    steps = {(name.partition("_v1_")[0], step) for name, _, step, _ in links}
    assert {("create", "ask"), ("ask", "tell"), ("ask", "abandon"), ("tell", "verdict"), ("create", "delete")} <= steps


def test_along_the_links_a_play_is_answered(service):
    """As the document has it, each step out of the answer before."""
    experiment = service.create(arms=["a", "b"])
    asked = service.post(experiment, "ask", {}).json()
    body = AFTER_ASKING[200]["links"]["tell"]["requestBody"]
    found = {"$response.body#/plays/0/id": asked["plays"][0]["id"], "$response.body#/plays/0/arms/0": "a"}
    (answer,) = body["answers"]
    told = service.post(experiment, "tell", {"answers": [{name: found[said] for name, said in answer.items()}]})
    assert told.json()["receipts"] == ["counted"]


def test_limits_of_whole_numbers_are_written_as_what_they_are(service):
    """As a fraction the largest is another number, beyond what is taken."""
    answer = service.http.get("/openapi.json")
    assert answer.json()["components"]["schemas"]["Answer"]["properties"]["play"]["maximum"] == 2**62
    assert "4611686018427387904" in answer.text
    assert "e+18" not in answer.text
