"""The application: what no route answers, and what no route foresaw, are problem documents too."""

from __future__ import annotations

import pytest

from linkedbandits.service.desk import Desk
from linkedbandits.service.http.app import is_json
from linkedbandits.service.http.service import Settings
from linkedbandits.version import __version__
from tests.support.problem_documents import check_problem
from tests.support.running_service import running_service


def test_paths_and_methods_that_do_not_exist(service):
    check_problem(service.http.get("/v1/nothing"), 404)
    response = service.http.delete("/v1/experiments")
    check_problem(response, 405)
    assert response.headers["allow"]


def test_a_body_that_is_no_json(service):
    as_json = {"Content-Type": "application/json"}
    for body in (b"{", b"\xff\xfe", b'{"name": NaN}', b'"\\ud800"'):
        response = service.http.post("/v1/experiments", content=body, headers=as_json)
        check_problem(response, 422, "urn:linkedbandits:invalid-request")


def test_json_has_to_be_announced_as_json(service):
    """A foreign page may send plain text to any address without asking; JSON it may not."""
    response = service.http.post("/v1/experiments", content=b"{}", headers={"Content-Type": "text/plain"})
    assert "application/json" in check_problem(response, 415)["detail"]


@pytest.mark.parametrize(("verb", "body"), [("ask", {}), ("abandon", {"plays": [0]})])
def test_a_mistake_of_the_service_is_a_500_that_gives_nothing_away(own_service, monkeypatch, verb, body):
    experiment = own_service.create()

    def fail(*arguments):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(Desk, verb, fail)
    response = own_service.http.post(f"/v1/experiments/{experiment}/{verb}", json=body)
    assert "secret" not in check_problem(response, 500)["detail"]
    assert own_service.http.get(f"/v1/experiments/{experiment}").status_code == 200


def test_without_a_token_nothing_is_said_of_what_was_sent(tmp_path):
    as_json = {"Content-Type": "application/json"}
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        signed = as_json | {"Authorization": f"Bearer {service.make_token('admin')[0]}"}
        for path in ("/v1/experiments", "/v1/experiments/x/ask", "/v1/experiments/x/abandon"):
            for body in (b"{", b'{"name": 3}'):
                assert service.http.post(path, content=body, headers=as_json).status_code == 401
                assert service.http.post(path, content=body, headers=signed).status_code == 422


@pytest.mark.parametrize("announced", ["application/json", "Application/JSON; charset=utf-8", " application/json ;x"])
def test_json_may_be_announced_in_several_ways(announced):
    assert is_json(announced)


@pytest.mark.parametrize("announced", ["", "text/plain", "application/jsonp", "text/plain; application/json"])
def test_what_only_looks_like_json_is_none(announced):
    assert not is_json(announced)


def test_the_document_says_that_a_token_may_be_needed_and_names_the_version(service):
    document = service.http.get("/openapi.json").json()
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}
    assert document["security"] == [{"token": []}, {}]
    assert document["info"]["version"] == __version__


def test_pages_that_would_load_scripts_from_elsewhere_are_not_served(service):
    check_problem(service.http.get("/redoc"), 404)
