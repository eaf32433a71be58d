"""Ask, tell and abandon over HTTP."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from linkedbandits.live import Play
from linkedbandits.service.http.playing import encode_asked
from linkedbandits.service.replies import AskReply
from tools.waiting import until


def post(service, experiment, verb, body, **headers):
    return service.http.post(f"/v1/experiments/{experiment}/{verb}", json=body, headers=headers)


def test_ask_and_tell_go_on_as_in_process(service):
    experiment = service.create(policy={"name": "uniform-sampling", "parameters": {"samples": 2}})
    here = lb.Experiment(["north", "east", "south"], lb.UniformSampling(samples=2))
    done = False
    while not done:
        play = here.ask()
        asked = post(service, experiment, "ask", {}).json()
        assert asked["plays"] == [{"id": play.id, "arms": list(play.arms)}]
        told = post(service, experiment, "tell", {"answers": [{"play": play.id, "hit": play.arms[-1]}]}).json()
        done = told["done"]
        assert told == {"receipts": [here.tell(play.id, play.arms[-1])], "done": here.done}


def test_an_ask_needs_no_body_and_says_until_when(service):
    response = service.http.post(f"/v1/experiments/{service.create(lease_seconds=5)}/ask")
    assert response.status_code == 200
    assert set(response.json()) == {"plays", "expires_at"}


def test_the_same_key_gets_the_same_plays_from_body_or_header(service):
    experiment = service.create()
    first = post(service, experiment, "ask", {"count": 3, "key": "k1"}).json()
    again = post(service, experiment, "ask", {"count": 3}, **{"Idempotency-Key": "k1"}).json()
    other = post(service, experiment, "ask", {"count": 3, "key": "k2"}).json()
    assert first == again
    assert {play["id"] for play in other["plays"]} == {3, 4, 5}


def test_a_key_with_another_count_is_refused(service):
    experiment = service.create()
    post(service, experiment, "ask", {"count": 3, "key": "k1"})
    response = post(service, experiment, "ask", {"count": 2, "key": "k1"})
    assert (response.status_code, response.json()["type"]) == (422, "urn:linkedbandits:key-reused")


def test_a_conflicting_answer_is_refused_with_what_is_on_record(service):
    experiment = service.create()
    post(service, experiment, "ask", {})
    for hit, receipt in (("east", "counted"), ("east", "repeated")):
        told = post(service, experiment, "tell", {"answers": [{"play": 0, "hit": hit}]})
        assert told.json()["receipts"] == [receipt]
    response = post(service, experiment, "tell", {"answers": [{"play": 0, "hit": None}]})
    assert response.status_code == 409
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"] == "urn:linkedbandits:conflicting-tell"
    assert (problem["play"], problem["on_record"], problem["status"]) == (0, "east", 409)
    assert problem["instance"] == f"/v1/experiments/{experiment}/tell"


def test_one_bad_answer_does_not_spoil_its_batch(service):
    experiment = service.create()
    post(service, experiment, "ask", {"count": 3})
    post(service, experiment, "tell", {"answers": [{"play": 0, "hit": None}]})
    answers = [
        {"play": 0, "hit": "east"},
        {"play": 1, "hit": "south"},
        {"play": 2, "hit": "west"},
        {"play": 77, "hit": None},
    ]
    response = post(service, experiment, "tell", {"answers": answers})
    assert response.status_code == 200
    conflict, counted, nowhere, unknown = response.json()["receipts"]
    assert (conflict["status"], conflict["play"], conflict["on_record"]) == (409, 0, None)
    assert counted == "counted"
    assert (nowhere["status"], nowhere["play"]) == (422, 2)
    assert (unknown["status"], unknown["play"]) == (404, 77)


def test_plays_given_back_are_counted_once_and_their_answers_are_late(service):
    experiment = service.create()
    post(service, experiment, "ask", {"count": 2})
    assert post(service, experiment, "abandon", {"plays": [0]}).json() == {"abandoned": 1}
    assert post(service, experiment, "abandon", {"plays": [0]}).json() == {"abandoned": 0}
    assert post(service, experiment, "abandon", {"plays": [9]}).status_code == 404
    told = post(service, experiment, "tell", {"answers": [{"play": 0, "hit": None}]})
    assert told.json()["receipts"] == ["late"]


def test_a_finished_experiment_hands_out_nothing(service):
    experiment = service.create(max_plays=1)
    post(service, experiment, "ask", {})
    full = post(service, experiment, "ask", {})
    assert (full.status_code, full.json()["type"]) == (409, "urn:linkedbandits:too-many-in-flight")
    assert post(service, experiment, "tell", {"answers": [{"play": 0, "hit": None}]}).json()["done"] is True
    response = post(service, experiment, "ask", {})
    assert (response.status_code, response.json()["type"]) == (409, "urn:linkedbandits:experiment-finished")


@pytest.mark.parametrize(
    "labels",
    [["ümlaut", '"quoted" \\ <b>', "smile 🙂"], [1, 2, 3], [True, False], [0.5, 1.5], ["1", 1]],
    ids=str,
)
def test_labels_come_back_as_they_were_given(service, labels):
    experiment = service.create(arms=labels)
    arms = post(service, experiment, "ask", {}).json()["plays"][0]["arms"]
    assert json.dumps(arms) == json.dumps(labels)
    assert post(service, experiment, "tell", {"answers": [{"play": 0, "hit": labels[-1]}]}).status_code == 200


def test_arms_are_encoded_for_each_run_of_plays():
    one, two = ("a", "b"), ("b",)
    asked = AskReply((Play(0, one), Play(1, one), Play(2, two), Play(3, one)), 12.5, repeated=False)
    assert json.loads(encode_asked(asked)) == {
        "plays": [{"id": play.id, "arms": list(play.arms)} for play in asked.plays],
        "expires_at": 12.5,
    }


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("ask", {"count": 2}),
        ("ask", {"count": 0}),
        ("ask", {"count": 2, "more": 1}),
        ("tell", {"answers": [{"play": 0, "hit": "east"}]}),
        ("tell", {"answers": [{"play": 0, "hit": "west"}]}),
        ("tell", {"answers": [{"play": 5, "hit": None}, {"play": 1, "hit": "south"}]}),
        ("tell", {"answers": []}),
    ],
    ids=str,
)
def test_the_short_and_the_long_way_lead_to_the_same_answer(service, verb, body):
    answers = []
    for content_type in ("application/json", "application/json; charset=utf-8"):
        experiment = service.create()
        post(service, experiment, "ask", {"count": 2})
        response = post(service, experiment, verb, body, **{"Content-Type": content_type})
        content = response.json()
        content.pop("expires_at", None)
        told = json.dumps(content).replace(experiment, "ID")
        answers.append((response.status_code, response.headers["content-type"], told))
    assert answers[0] == answers[1]


def test_a_play_that_is_not_answered_in_its_time_goes_back_and_its_answer_is_late(service):
    experiment = service.create(lease_seconds=0.2, parallel=1)
    post(service, experiment, "ask", {})
    assert post(service, experiment, "ask", {}).status_code == 409
    until(lambda: service.http.get(f"/v1/experiments/{experiment}/view").json()["abandoned"], "the play to go back")
    again = post(service, experiment, "ask", {}).json()["plays"][0]
    assert (again["id"], again["arms"]) == (1, ["north", "east", "south"])
    late = post(service, experiment, "tell", {"answers": [{"play": 0, "hit": "north"}]})
    assert late.json()["receipts"] == ["late"]
    view = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert (view["late"], view["plays"], view["arms"]["successes"]) == (1, 1, [1, 0, 0])
