"""What the OpenAPI document says of every route's refusals."""

from __future__ import annotations

import pytest

from linkedbandits import errors
from linkedbandits.service.http.problems import status_of
from linkedbandits.service.http.routes.documented import ALWAYS, refusals


def test_every_operation_is_documented(service):
    document = service.http.get("/openapi.json").json()
    operations = [
        operation for path in document["paths"].values() for method, operation in path.items() if method != "parameters"
    ]
    assert len(operations) == 22
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
