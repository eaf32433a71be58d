"""Which methods a path takes."""

from __future__ import annotations

import pytest

from linkedbandits.service.http.allowed_methods import AllowedMethods


def test_what_a_document_says_besides_of_a_path_is_no_method():
    assert AllowedMethods({"/a.b": ["get", "parameters", "summary"]}).of("/a.b") == "GET"
    assert AllowedMethods({"/a.b": ["get"]}).of("/axb") is None


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/experiments", "GET, POST"),
        ("/v1/experiments/x", "DELETE, GET"),
        ("/v1/experiments/x/expenses", "DELETE, GET"),
        ("/v1/experiments/x/expenses/web1", "DELETE, PUT"),
        ("/v1/experiments/x/expenses/sources", "GET"),
        ("/v1/webhooks", "GET, POST"),
        ("/healthz", "GET"),
    ],
)
def test_a_method_that_a_path_does_not_take_is_answered_with_all_that_it_does(service, path, methods):
    """Routes have a method each, and the framework names those of one."""
    answer = service.http.request("PATCH", path)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)
    assert answer.json()["status"] == 405


def test_a_path_that_is_not_documented_has_what_the_framework_says(service):
    answer = service.http.post("/openapi.json")
    assert (answer.status_code, "GET" in answer.headers["allow"]) == (405, True)
