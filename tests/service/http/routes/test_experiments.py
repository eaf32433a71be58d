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
        ({"arms": ["a\x00b", "c"]}, "invalid-request", "U+0000, which cannot be seen; leave it out"),
        ({"name": "a\u202eb"}, "invalid-request", "U+202E RIGHT-TO-LEFT OVERRIDE, which cannot be seen and turns"),
        ({"arms": [[1], "c"]}, "invalid-request", "arms"),
        ({"name": ""}, "invalid-request", "name"),
        ({"surprise": 1}, "invalid-request", "surprise"),
        ({"tags": ["a,b"]}, "invalid-request", "tags"),
        ({"tags": ["a", "a"]}, "invalid-parameter", "tags=['a', 'a'] has one twice"),
        ({"lease_seconds": 0}, "invalid-request", "lease_seconds"),
        ({"lease_seconds": "60"}, "invalid-request", "lease_seconds"),
        ({"policy": {"name": "best-of-all"}}, "unknown-name", "linked-elimination"),
        ({"policy": {"name": "linked-elimination", "parameters": {"delta": 2}}}, "invalid-parameter", "delta=2"),
        ({"policy": {"name": "linked-elimination", "parameters": {"zeta": 2}}}, "invalid-parameter", "'zeta'"),
        ({"policy": {"name": "linked-elimination", "parameters": {"k": 2}}}, "invalid-parameter", "delta"),
        ({"policy": costs_of([1, 2, 3])}, "invalid-parameter", "3 costs for 2 arms"),
        ({"policy": costs_of([1, 0])}, "invalid-parameter", "cost 0.0 of arm 1"),
        ({"policy": costs_of([1, "2"])}, "invalid-request", "costs"),
        (
            {"policy": {"name": "linked-duels", "parameters": {"delta": 0.1}}, "linkage": "suffix"},
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


def test_with_the_same_key_the_same_experiment_is_answered(service, caplog):
    """In the body or in the header, of which the first goes before."""
    caplog.set_level("INFO", logger="linkedbandits.service")
    answers = [
        service.http.post("/v1/experiments", json=NEW | body, headers=headers)
        for body, headers in (
            ({"key": "once"}, {}),
            ({}, {"Idempotency-Key": "once"}),
            ({"key": "once"}, {"Idempotency-Key": "another"}),
            ({}, {"Idempotency-Key": "another"}),
        )
    ]
    assert {answer.status_code for answer in answers} == {201}
    first, *others = [answer.json() for answer in answers]
    assert others[:2] == [first, first]
    assert others[2]["id"] != first["id"]
    assert [answer.headers["location"] for answer in answers[:2]] == [f"/v1/experiments/{first['id']}"] * 2
    assert caplog.messages.count("experiment-created") == 2
    changed = service.http.post("/v1/experiments", json=NEW | {"key": "once", "seed": 4})
    check_problem(changed, 422, "urn:linkedbandits:key-reused")
    assert first["id"] in changed.json()["detail"]


def test_a_list_is_searched_and_comes_in_pages(own_service, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.listing.A_PAGE", 2)
    made = [own_service.create(name=f"gateway {number}", tags=[f"team {number % 2}"]) for number in range(5)]
    own_service.http.post(f"/v1/experiments/{made[4]}/archive")

    def listed(**query):
        found = own_service.http.get("/v1/experiments", params=query).json()
        return [made.index(one["id"]) for one in found["experiments"]], found["matching"], found["pages"]

    assert listed() == ([0, 1, 2, 3, 4], 5, None)
    assert listed(page=1) == ([0, 1], 5, 3)
    assert listed(page=3, sort="-created") == ([4], 5, 3)  # archived ones come last
    assert listed(page=4) == ([], 5, 3)
    assert listed(page=1, search="WAY 3") == ([3], 1, 1)
    assert listed(tag="team 1", sort="-name") == ([3, 1], 2, None)
    assert listed(status="open", page=2, sort="name") == ([2, 3], 4, 2)
    assert listed(search="nothing") == ([], 0, None)
    assert own_service.http.get("/v1/experiments").json()["experiments"][1]["tags"] == ["team 1"]
    for wrong in ({"page": 0}, {"sort": "size"}, {"status": "asleep"}, {"search": "a\x00"}):
        response = own_service.http.get("/v1/experiments", params=wrong)
        check_problem(response, 422, "urn:linkedbandits:invalid-request")


def test_tags_are_replaced_by_admins_alone_and_seen_at_once(own_service):
    experiment = own_service.create(tags=["eu"])
    path = f"/v1/experiments/{experiment}"
    assert own_service.http.get(path).json()["tags"] == ["eu"]
    assert own_service.http.put(f"{path}/tags", json={"tags": ["us", "cards"]}).json()["tags"] == ["us", "cards"]
    assert own_service.http.get(path).json()["tags"] == ["us", "cards"]
    assert own_service.http.get(f"{path}/view").json()["tags"] == ["us", "cards"]
    twice = own_service.http.put(f"{path}/tags", json={"tags": ["us", "us"]})
    check_problem(twice, 422, "urn:linkedbandits:invalid-parameter")
    check_problem(
        own_service.http.put("/v1/experiments/none/tags", json={"tags": []}),
        404,
        "urn:linkedbandits:unknown-experiment",
    )
