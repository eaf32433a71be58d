"""Ask, tell and abandon as routes: what they take besides a body, and what they give back."""

from __future__ import annotations

import pytest

from linkedbandits.service.http.service import Settings
from tests.support.running_service import running_service


def test_an_ask_needs_no_body_and_says_until_when(service):
    response = service.http.post(f"/v1/experiments/{service.create(lease_seconds=5)}/ask")
    assert response.status_code == 200
    assert set(response.json()) == {"plays", "expires_at"}


def test_the_same_key_gets_the_same_plays_from_body_or_header(service):
    experiment = service.create()
    first = service.post(experiment, "ask", {"count": 3, "key": "k1"}).json()
    again = service.post(experiment, "ask", {"count": 3}, **{"Idempotency-Key": "k1"}).json()
    other = service.post(experiment, "ask", {"count": 3, "key": "k2"}).json()
    assert first == again
    assert {play["id"] for play in other["plays"]} == {3, 4, 5}


def test_plays_given_back_are_counted_once_and_their_answers_are_late(service):
    experiment = service.create()
    service.post(experiment, "ask", {"count": 2})
    assert service.post(experiment, "abandon", {"plays": [0]}).json() == {"abandoned": 1}
    assert service.post(experiment, "abandon", {"plays": [0]}).json() == {"abandoned": 0}
    assert service.post(experiment, "abandon", {"plays": [9]}).status_code == 404
    told = service.post(experiment, "tell", {"answers": [{"play": 0, "hit": None}]})
    assert told.json()["receipts"] == ["late"]


def test_a_key_in_the_body_goes_before_one_in_the_header(service):
    experiment = service.create()
    first = service.post(experiment, "ask", {"key": "body"}, **{"Idempotency-Key": "header"}).json()
    assert service.post(experiment, "ask", {"key": "body"}).json() == first
    assert service.post(experiment, "ask", {"key": "header"}).json() != first


NORTH = {"option": "north", "tries": 2, "successes": 1}
SECONDS_OF_NORTH = {"most": 2.0, "count": 2, "total": 0.5, "squares": 0.8125}


def put(service, experiment, source="web1", **changes):
    body = {"options": [{**NORTH, "seconds": SECONDS_OF_NORTH, **changes}]}
    return service.http.put(f"/v1/experiments/{experiment}/expenses/{source}", json=body)


def test_expenses_are_kept_and_added_up(service):
    experiment = service.create()
    nothing = service.http.get(f"/v1/experiments/{experiment}/expenses").json()
    assert (nothing["sources"], nothing["at"], [found["tries"] for found in nothing["options"]]) == (0, None, [0, 0, 0])
    for source in ("web1", "web1", "web2"):
        assert put(service, experiment, source).json() == {"kept": True, "sources": int(source[-1])}
    found = service.http.get(f"/v1/experiments/{experiment}/expenses", params={"confidence": 0.9}).json()
    assert (found["sources"], found["confidence"], found["costs"], found["order"]) == (2, 0.9, None, None)
    north = found["options"][0]
    assert (north["option"], north["tries"], north["successes"], north["seconds"]["mean"]) == ("north", 4, 2, 0.25)
    assert north["seconds"]["proved"]
    assert service.http.get(f"/v1/experiments/{experiment}/view").json()["expenses"]["sources"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"option": "west"},
        {"tries": -1},
        {"tries": 2.5},
        {"successes": 3},
        {"successes": "1"},
        {"seconds": {**SECONDS_OF_NORTH, "count": 3}},
        {"seconds": {**SECONDS_OF_NORTH, "total": 4.5}},
        {"seconds": {**SECONDS_OF_NORTH, "squares": -1.0}},
        {"seconds": {**SECONDS_OF_NORTH, "most": 0.0}},
        {"seconds": {**SECONDS_OF_NORTH, "most": 1e300}},
        {"seconds": {**SECONDS_OF_NORTH, "median": 0.2}},
        {"cost": {"count": 3, "total": 1.0, "squares": 0.0}},
        {"price": 3},
    ],
    ids=str,
)
def test_expenses_that_make_no_sense_are_refused(service, changes):
    experiment = service.create()
    assert put(service, experiment, **changes).status_code == 422
    assert service.http.get(f"/v1/experiments/{experiment}/expenses").json()["sources"] == 0


def test_numbers_that_are_none_and_names_that_are_too_long_are_refused(service):
    experiment = service.create()
    path = f"/v1/experiments/{experiment}/expenses/web1"
    body = '{"options": [{"option": "north", "tries": 1, "successes": 1, "seconds": {"count": 1, "total": NaN}}]}'
    headers = {"Content-Type": "application/json"}
    assert service.http.put(path, content=body, headers=headers).status_code == 422
    assert service.http.put(path, content=body.replace("NaN", "1e999"), headers=headers).status_code == 422
    assert put(service, experiment, "x" * 65).status_code == 422
    assert put(service, "unknown").status_code == 404


def test_expenses_take_the_right_to_tell(tmp_path):
    with running_service(str(tmp_path / "a.sqlite"), Settings().closed()) as closed:
        given = {role: f"Bearer {closed.make_token(role)[0]}" for role in ("viewer", "player", "admin")}
        closed.http.headers["Authorization"] = given["admin"]
        experiment = closed.create()
        for role, allowed in (("viewer", 403), ("player", 200)):
            closed.http.headers["Authorization"] = given[role]
            assert put(closed, experiment).status_code == allowed
            assert closed.http.get(f"/v1/experiments/{experiment}/expenses").status_code == 200
        del closed.http.headers["Authorization"]
        assert put(closed, experiment).status_code == 401
