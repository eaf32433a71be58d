"""What callers may send: the limits of every field, and no field that does not exist."""

from __future__ import annotations

from linkedbandits.linkage import LINKAGES
from tests.support.problem_documents import check_problem


def test_the_schema_names_every_linkage(service):
    schemas = service.http.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["NewExperiment"]["properties"]["linkage"]["enum"] == list(LINKAGES)


def test_a_batch_that_is_too_large(service):
    experiment = service.create()
    response = service.http.post(f"/v1/experiments/{experiment}/ask", json={"count": 1001})
    check_problem(response, 422, "urn:linkedbandits:invalid-request")
