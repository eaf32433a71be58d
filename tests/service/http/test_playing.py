"""Ask and tell over HTTP."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from linkedbandits.live import Play
from linkedbandits.service.http.playing import encode_asked, encode_tuples
from linkedbandits.service.replies import AskReply


def test_ask_and_tell_go_on_as_in_process(service):
    experiment = service.create(policy={"name": "uniform-sampling", "parameters": {"samples": 2}})
    here = lb.Experiment(["north", "east", "south"], lb.UniformSampling(samples=2))
    done = False
    while not done:
        play = here.ask()
        asked = service.post(experiment, "ask", {}).json()
        assert asked["plays"] == [{"id": play.id, "arms": list(play.arms)}]
        told = service.post(experiment, "tell", {"answers": [{"play": play.id, "hit": play.arms[-1]}]}).json()
        done = told["done"]
        assert told == {"receipts": [here.tell(play.id, play.arms[-1])], "done": here.done}


def test_a_key_with_another_count_is_refused(service):
    experiment = service.create()
    service.post(experiment, "ask", {"count": 3, "key": "k1"})
    response = service.post(experiment, "ask", {"count": 2, "key": "k1"})
    assert (response.status_code, response.json()["type"]) == (422, "urn:linkedbandits:key-reused")


def test_a_conflicting_answer_is_refused_with_what_is_on_record(service):
    experiment = service.create()
    service.post(experiment, "ask", {})
    for hit, receipt in (("east", "counted"), ("east", "repeated")):
        told = service.post(experiment, "tell", {"answers": [{"play": 0, "hit": hit}]})
        assert told.json()["receipts"] == [receipt]
    response = service.post(experiment, "tell", {"answers": [{"play": 0, "hit": None}]})
    assert response.status_code == 409
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert problem["type"] == "urn:linkedbandits:conflicting-tell"
    assert (problem["play"], problem["on_record"], problem["status"]) == (0, "east", 409)
    assert problem["instance"] == f"/v1/experiments/{experiment}/tell"


def test_one_bad_answer_does_not_spoil_its_batch(service):
    experiment = service.create()
    service.post(experiment, "ask", {"count": 3})
    service.post(experiment, "tell", {"answers": [{"play": 0, "hit": None}]})
    answers = [
        {"play": 0, "hit": "east"},
        {"play": 1, "hit": "south"},
        {"play": 2, "hit": "west"},
        {"play": 77, "hit": None},
    ]
    response = service.post(experiment, "tell", {"answers": answers})
    assert response.status_code == 200
    conflict, counted, nowhere, unknown = response.json()["receipts"]
    assert (conflict["status"], conflict["play"], conflict["on_record"]) == (409, 0, None)
    assert counted == "counted"
    assert (nowhere["status"], nowhere["play"]) == (422, 2)
    assert (unknown["status"], unknown["play"]) == (404, 77)


def test_a_finished_experiment_hands_out_nothing(service):
    experiment = service.create(max_plays=1)
    service.post(experiment, "ask", {})
    full = service.post(experiment, "ask", {})
    assert (full.status_code, full.json()["type"]) == (409, "urn:linkedbandits:too-many-in-flight")
    assert service.post(experiment, "tell", {"answers": [{"play": 0, "hit": None}]}).json()["done"] is True
    response = service.post(experiment, "ask", {})
    assert (response.status_code, response.json()["type"]) == (409, "urn:linkedbandits:experiment-finished")


@pytest.mark.parametrize(
    "labels",
    [["ümlaut", '"quoted" \\ <b>', "smile 🙂"], [1, 2, 3], [True, False], [0.5, 1.5], ["1", 1]],
    ids=str,
)
def test_labels_come_back_as_they_were_given(service, labels):
    experiment = service.create(arms=labels)
    arms = service.post(experiment, "ask", {}).json()["plays"][0]["arms"]
    assert json.dumps(arms) == json.dumps(labels)
    assert service.post(experiment, "tell", {"answers": [{"play": 0, "hit": labels[-1]}]}).status_code == 200


def test_arms_are_encoded_for_each_run_of_plays():
    one, two = ("a", "b"), ("b",)
    plays = (Play(0, one), Play(1, one), Play(2, two), Play(3, one))
    asked = AskReply(plays, 12.5, repeated=False, runs=[[4, 2], [5, 1], [4, 1]])
    assert json.loads(encode_asked(asked)) == {
        "plays": [{"id": play.id, "arms": list(play.arms)} for play in asked.plays],
        "expires_at": 12.5,
    }
    assert json.loads(encode_tuples(asked)) == {
        "first": 0,
        "tuples": [{"arms": ["a", "b"]}, {"arms": ["b"]}],
        "plays": [0, 0, 1, 0],
        "expires_at": 12.5,
    }


LONG = [f"{number:03d} " + "x" * 190 for number in range(1_000)]


def test_an_ask_for_a_thousand_plays_of_a_thousand_long_named_arms_is_answered_with_what_fits(service):
    """It was 203 MB."""
    experiment = service.create(arms=LONG)
    response = service.post(experiment, "ask?tuples=true", {"count": 1_000, "key": "k"})
    asked = response.json()
    assert len(response.content) < 1_000_000
    assert asked["plays"] == [0] * 100  # plays times arms are bounded as well
    assert asked["tuples"] == [{"arms": LONG}]
    again = service.post(experiment, "ask?tuples=true", {"count": 1_000, "key": "k"})
    assert again.content == response.content
    too_large = service.post(experiment, "ask", {"count": 1_000, "key": "k"})
    assert (too_large.status_code, too_large.json()["type"]) == (413, "urn:linkedbandits:request-too-large")
    assert "tuples=true" in too_large.json()["detail"]


def test_with_every_arm_spelled_out_there_are_as_many_plays_as_fit(service):
    experiment = service.create(arms=LONG)
    response = service.post(experiment, "ask", {"count": 1_000, "key": "k"})
    plays = response.json()["plays"]
    assert 1 < len(plays) < 10
    assert len(response.content) < 1_000_000
    assert service.post(experiment, "ask", {"count": 1_000, "key": "k"}).json()["plays"] == plays
    following = service.post(experiment, "ask", {"count": 1_000}).json()["plays"]
    assert following[0]["id"] == len(plays)
    few = service.create()
    assert len(service.post(few, "ask", {"count": 1_000}).json()["plays"]) == 1_000


def test_what_tuples_once_means_is_the_same_on_the_long_way(service):
    said = []
    for content_type in ("application/json", "application/json; charset=utf-8"):
        experiment = service.create(whole_chains=True, lease_seconds=50)
        headers = {"Content-Type": content_type}
        content = service.post(experiment, "ask?tuples=true", {"count": 4}, **headers).json()
        content.pop("expires_at")
        said.append(content)
    assert said[0] == said[1]
    assert said[0]["tuples"][0].keys() <= {"arms", "rest"}
