"""What routes take besides a body: who calls, and which event was seen last."""

from __future__ import annotations

import pytest

from linkedbandits.service.http.service import Settings
from tests.support.problem_documents import check_problem
from tests.support.running_service import running_service


def test_roles_over_http(tmp_path):
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        signed = {
            role: {"Authorization": f"Bearer {service.make_token(role)[0]}"} for role in ("viewer", "player", "admin")
        }
        new = {"name": "directions", "arms": ["north", "east"]}
        created = {role: service.http.post("/v1/experiments", json=new, headers=signed[role]) for role in signed}
        assert [response.status_code for response in created.values()] == [403, 403, 201]
        path = created["admin"].headers["location"]
        assert [service.http.get("/v1/me", headers=signed[role]).json() for role in signed] == [
            {"role": role, "name": "somebody", "limited": False} for role in signed
        ]
        for method, route, body, statuses in (
            ("GET", f"{path}/verdict", None, [200, 200, 200]),
            ("POST", f"{path}/ask", None, [403, 200, 200]),
            ("POST", f"{path}/ask", {}, [403, 200, 200]),
            ("POST", f"{path}/tell", {"answers": [{"play": 0, "hit": None}]}, [403, 200, 200]),
            ("POST", f"{path}/abandon", {"plays": [0]}, [403, 200, 200]),
            ("POST", f"{path}/archive", None, [403, 403, 200]),
        ):
            answers = [service.http.request(method, route, json=body, headers=signed[role]) for role in signed]
            assert [answer.status_code for answer in answers] == statuses, route
            assert service.http.request(method, route, json=body).status_code == 401, route


@pytest.mark.parametrize("value", ["-1", "abc", str(2**70)])
def test_an_id_that_no_event_had_is_refused(service, value):
    response = service.http.get(f"/v1/experiments/{service.create()}/events", headers={"Last-Event-ID": value})
    assert response.status_code == 422


@pytest.mark.parametrize("name", ["x" * 65, "a.b", "ü", "a b"])
def test_a_name_that_no_experiment_can_have_is_refused_before_it_is_looked_for(service, name):
    for method, verb in (("GET", "/view"), ("POST", "/pause"), ("POST", "/ask")):
        response = service.http.request(method, f"/v1/experiments/{name}{verb}")
        check_problem(response, 422, "urn:linkedbandits:invalid-request")


def test_a_key_in_the_header_has_the_limits_of_one_in_the_body(service):
    response = service.http.post(f"/v1/experiments/{service.create()}/ask", headers={"Idempotency-Key": "x" * 201})
    check_problem(response, 422, "urn:linkedbandits:invalid-request")
