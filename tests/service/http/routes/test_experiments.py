"""Create, list, pause and archive experiments over HTTP."""

from __future__ import annotations

import pytest

from tests.support.problem_documents import check_problem

NEW = {"name": "directions", "arms": ["north", "east"]}


def costs_of(costs):
    return {"name": "linked-elimination", "parameters": {"delta": 0.05, "costs": costs}}


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
        ({"policy": costs_of([1, 2, 3])}, "invalid-parameter", "3 costs for 2 arms"),
        ({"policy": costs_of([1, 0])}, "invalid-parameter", "cost 0.0 of arm 1"),
        ({"policy": costs_of([1, "2"])}, "invalid-request", "costs"),
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


def test_paused_and_archived_experiments_say_so(service):
    experiment = service.create()
    assert service.http.post(f"/v1/experiments/{experiment}/pause").json()["status"] == "paused"
    check_problem(service.http.post(f"/v1/experiments/{experiment}/ask"), 409, "urn:linkedbandits:experiment-paused")
    assert service.http.post(f"/v1/experiments/{experiment}/resume").json()["status"] == "running"
    assert service.http.post(f"/v1/experiments/{experiment}/ask").status_code == 200
    assert service.http.post(f"/v1/experiments/{experiment}/archive").json()["status"] == "archived"
    response = service.http.post(f"/v1/experiments/{experiment}/resume")
    check_problem(response, 409, "urn:linkedbandits:experiment-archived")


def test_an_experiment_is_found_where_it_was_said_to_be_as_it_was_opened(service):
    wanted = NEW | {"seed": 7, "max_plays": 100, "parallel": 3, "lease_seconds": 5.5, "linkage": "free"}
    created = service.http.post("/v1/experiments", json=wanted)
    found = service.http.get(created.headers["location"])
    assert (created.status_code, found.json()) == (201, created.json())
    policy = {"name": "linked-elimination", "parameters": {"delta": 0.05}}
    assert found.json().items() >= (wanted | {"policy": policy, "status": "running", "head": 0}).items()


def test_experiments_are_listed_oldest_first_and_by_their_state(own_service):
    first, second, third = (own_service.create(name=name) for name in "abc")
    own_service.http.post(f"/v1/experiments/{second}/pause")

    def listed(**only):
        found = own_service.http.get("/v1/experiments", params=only).json()["experiments"]
        return [(one["id"], one["status"]) for one in found]

    assert listed() == [(first, "running"), (second, "paused"), (third, "running")]
    assert listed(status="running") == [(first, "running"), (third, "running")]
    assert listed(status="paused") == [(second, "paused")]
    assert listed(status="archived") == []
    check_problem(
        own_service.http.get("/v1/experiments", params={"status": "asleep"}), 422, "urn:linkedbandits:invalid-request"
    )


def test_an_experiment_for_most_successes_per_cost_is_opened_and_shown_as_such(service):
    policy = {"name": "linked-elimination", "parameters": {"delta": 0.05, "costs": [1, 2.5]}}
    created = service.http.post("/v1/experiments", json=NEW | {"policy": policy})
    assert (created.status_code, created.json()["policy"]) == (201, policy)
    view = service.http.get(f"{created.headers['location']}/view").json()
    assert view["goal"]["costs"] == [1.0, 2.5]
