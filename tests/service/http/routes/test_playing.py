"""Ask, tell and abandon as routes: what they take besides a body, and what they give back."""

from __future__ import annotations


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
