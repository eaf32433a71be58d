"""Webhooks over HTTP, from a real service to a real receiver: what happens arrives, whoever is killed in between."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import closing, contextmanager

import httpx
import pytest

from linkedbandits.service.audit import SERVICE
from linkedbandits.service.desk import Desk
from linkedbandits.service.http.service import Settings
from linkedbandits.service.store import open_store
from linkedbandits.service.webhook_keeping import keep
from linkedbandits.service.webhooks import make_webhook, verify
from tests.support.http_servers import serving
from tests.support.live_service import LiveService
from tests.support.running_service import running_service
from tests.support.service_parts import create, held_up
from tools.waiting import SECONDS, until

SETTINGS = Settings(webhooks_to_private=True)
ONE_PLAY = {"max_plays": 1}


@pytest.fixture(scope="module")
def hooked(tmp_path_factory):
    """A service that may send to this machine."""
    with running_service(str(tmp_path_factory.mktemp("hooked") / "experiments.sqlite3"), SETTINGS) as running:
        yield running


def make(service, receiver, **wanted):
    response = service.http.post("/v1/webhooks", json={"url": f"{receiver.address}/hook", **wanted})
    assert response.status_code == 201, response.text
    return response.json()


def decide(service, experiment):
    """Play an experiment that ends after one play."""
    play = service.post(experiment, "ask", {}).json()["plays"][0]
    told = service.post(experiment, "tell", {"answers": [{"play": play["id"], "hit": "east"}]})
    assert told.json()["done"]


def bodies(receiver):
    return [json.loads(body) for _, _, body in receiver.asked]


def headers_of(receiver, number):
    return {name.lower(): value for name, value in receiver.headers[number].items()}


def test_a_verdict_is_told_signed_with_the_secret_that_was_shown_once(hooked):
    with serving(lambda *_: 200) as receiver:
        webhook = make(hooked, receiver)
        experiment = hooked.create(**ONE_PLAY)
        decide(hooked, experiment)
        until(lambda: receiver.asked, "the message")
        (said,) = bodies(receiver)
        assert said["type"] == "experiment.verdict"
        assert (said["data"]["experiment"], said["data"]["arm"], said["data"]["plays"]) == (experiment, "east", 1)
        assert verify(webhook["secret"], headers_of(receiver, 0), receiver.asked[0][2], time.time())
        until(lambda: listed(hooked, webhook)["deliveries"][0]["state"] == "sent", "the outcome")
        assert "secret" not in listed(hooked, webhook)
        assert webhook["secret"] not in hooked.http.get("/v1/webhooks").text
        remove(hooked, webhook)
    figures = hooked.figures()
    assert figures["linkedbandits_verdicts_total", ("status", "exhausted")] >= 1
    assert figures["linkedbandits_happenings_total", ("kind", "verdict")] >= 1
    assert figures["linkedbandits_webhook_attempts_total", ("outcome", "sent")] >= 1


def listed(service, webhook):
    found = {one["id"]: one for one in service.http.get("/v1/webhooks").json()["webhooks"]}
    return found.get(webhook["id"])


def remove(service, webhook):
    assert service.http.delete(f"/v1/webhooks/{webhook['id']}").status_code == 204


def test_who_wants_other_events_of_another_experiment_hears_of_those_alone(hooked):
    with serving(lambda *_: 200) as receiver:
        one, other = hooked.create(**ONE_PLAY), hooked.create()
        webhook = make(hooked, receiver, events=["paused", "resumed", "archived"], experiment=other)
        hooked.http.post(f"/v1/experiments/{one}/pause")
        decide(hooked, hooked.create(**ONE_PLAY))
        for verb in ("pause", "pause", "resume", "archive"):
            hooked.http.post(f"/v1/experiments/{other}/{verb}")
        until(lambda: len(receiver.asked) == 3, "three messages")
        assert [said["type"] for said in bodies(receiver)] == [
            f"experiment.{what}" for what in ("paused", "resumed", "archived")
        ]
        assert {said["data"]["experiment"] for said in bodies(receiver)} == {other}
        remove(hooked, webhook)


def test_a_verdict_that_a_log_gave_at_once_is_told(hooked):
    with serving(lambda *_: 200) as receiver:
        webhook = make(hooked, receiver)
        order = [
            {"order": ["east"], "hit": "east"},
            {"order": ["north"], "hit": None},
            {"order": ["south"], "hit": None},
        ]
        decided = hooked.create(log=order * 300)
        until(lambda: receiver.asked, "the message")
        assert bodies(receiver)[0]["data"]["experiment"] == decided
        remove(hooked, webhook)


def test_a_trial_shows_what_the_receiver_says(hooked):
    with serving(lambda *_: 418) as receiver:
        webhook = make(hooked, receiver)
        trial = hooked.http.post(f"/v1/webhooks/{webhook['id']}/test")
        assert trial.status_code == 202
        until(lambda: listed(hooked, webhook)["deliveries"][0]["said"], "the outcome")
        (sent,) = listed(hooked, webhook)["deliveries"]
        assert (sent["id"], sent["kind"], sent["said"]) == (trial.json()["id"], "test", "answered 418")
        assert sent["state"] == "waiting"
        remove(hooked, webhook)


def test_what_is_refused_says_why(service):
    def refused(body, status=422):
        response = service.http.post("/v1/webhooks", json=body)
        assert response.status_code == status
        return response.json()["detail"]

    assert "--webhooks-to-private" in refused({"url": "http://127.0.0.1:1/"})
    assert "events" in refused({"url": "https://example.org/", "events": ["lunch"]})
    assert "nobody" in refused({"url": "https://example.org/", "experiment": "nobody"}, 404)
    for method, path in (("DELETE", "/v1/webhooks/nobody"), ("POST", "/v1/webhooks/nobody/test")):
        response = service.http.request(method, path)
        assert (response.status_code, response.json()["type"]) == (404, "urn:linkedbandits:unknown-webhook")


def test_they_are_for_admins(tmp_path):
    with running_service(str(tmp_path / "experiments.sqlite3"), Settings(open_without_tokens=False)) as service:
        for role, status in (("viewer", 403), ("player", 403), ("admin", 200)):
            signed = {"Authorization": f"Bearer {service.make_token(role)[0]}"}
            until(lambda signed=signed: service.http.get("/v1/me", headers=signed).status_code == 200, "the token")
            assert service.http.get("/v1/webhooks", headers=signed).status_code == status


def test_a_receiver_that_hangs_holds_up_neither_the_desk_nor_the_end(tmp_path):
    go_on = threading.Event()
    with serving(lambda *_: 200 if go_on.wait(SECONDS) else 500) as receiver:
        with running_service(str(tmp_path / "experiments.sqlite3"), SETTINGS) as service:
            make(service, receiver)
            decide(service, service.create(**ONE_PLAY))
            until(lambda: receiver.asked, "the message")
            for _ in range(5):
                service.play(service.create())
        said = {headers_of(receiver, number)["webhook-id"] for number in range(len(receiver.asked))}
        assert len(said) == 1  # on a slow machine it may have been given up, and sent again
        go_on.set()


def test_a_verdict_whose_process_ended_before_it_could_send_is_told_by_the_next(tmp_path):
    """As if it was killed between the commit and the delivery: nothing but the transaction is left of it."""
    with serving(lambda *_: 200) as receiver:
        path = str(tmp_path / "experiments.sqlite3")
        with closing(open_store(path)) as store:
            keep(store, make_webhook(receiver.address, private=True, clock=time.time), SERVICE)
            with Desk(store) as desk:
                experiment = create(desk, **ONE_PLAY)
                (play,) = desk.ask(experiment).result().plays
                desk.tell(experiment, [(play.id, "east")]).result()
        assert receiver.asked == []
        with running_service(path, SETTINGS):
            until(lambda: receiver.asked, "the message")
        assert bodies(receiver)[0]["data"]["experiment"] == experiment


def senders():
    return {thread for thread in threading.enumerate() if thread.name == "webhooks"}


def test_a_service_that_is_to_send_nothing_leaves_it_for_another(tmp_path):
    """As on a store that was restored to look at it."""
    path = str(tmp_path / "experiments.sqlite3")
    with serving(lambda *_: 200) as receiver:
        before = senders()
        with running_service(path, Settings(webhooks_to_private=True, send_webhooks=False)) as service:
            webhook = make(service, receiver)
            decide(service, service.create(**ONE_PLAY))
            assert senders() <= before  # of services before this one, whose threads may end meanwhile
            assert [one["state"] for one in listed(service, webhook)["deliveries"]] == ["waiting"]
        assert receiver.asked == []
        with running_service(path, SETTINGS):
            until(lambda: receiver.asked, "the message")


def test_a_tell_that_was_not_committed_is_not_told(tmp_path, monkeypatch):
    """The group is undone and run again without the job that failed: one verdict, one message."""
    with serving(lambda *_: 200) as receiver, closing(open_store(str(tmp_path / "e.sqlite3"))) as store:
        webhook = make_webhook(receiver.address, private=True, clock=time.time)
        keep(store, webhook, SERVICE)
        with Desk(store) as desk:
            news = []
            desk._groups._on_news = news.extend
            experiment, other = create(desk, **ONE_PLAY), create(desk)
            (play,) = desk.ask(experiment).result().plays
            with held_up(desk, other):
                told = desk.tell(experiment, [(play.id, "east")])
                broken = desk.keep_expenses(other, "x", None)
            assert told.result().done
            assert isinstance(broken.exception(), Exception)
        with store.reading() as reading:
            assert len(reading.deliveries(webhook.id, 9)) == 1
        assert [one.kind for one in news] == ["verdict"]


def test_an_alarm_is_told_though_nobody_looks(tmp_path, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.http.service.SURVEY_SECONDS", 0.05)
    policy = {"name": "linked-elimination", "parameters": {"delta": 1e-12}}
    with serving(lambda *_: 200) as receiver, running_service(str(tmp_path / "e.sqlite3"), SETTINGS) as service:
        experiment = service.create(policy=policy)
        coin = random.Random(1)
        for mean in (0.7, 0.7, 0.2, 0.2):
            plays = service.post(experiment, "ask", {"count": 200}).json()["plays"]
            hits = [next((arm for arm in play["arms"] if coin.random() < mean), None) for play in plays]
            answers = [{"play": play["id"], "hit": hit} for play, hit in zip(plays, hits, strict=True)]
            assert not service.post(experiment, "tell", {"answers": answers}).json()["done"]
        make(service, receiver)  # not sooner: the time between two looks grows with what they take
        until(lambda: receiver.asked, "the alarm")
        assert service.figures()["linkedbandits_alarms_up", ("kind", "drift")] > 0
    said = bodies(receiver)[0]
    assert (said["type"], said["data"]["experiment"]) == ("experiment.alarm", experiment)
    assert said["data"]["alarm"] in {"drift", "memory", "dependence"}
    assert said["data"]["option"] in {"north", "east", "south"}


@pytest.mark.slow
def test_of_two_services_on_one_database_one_sends_each_message(postgres_url):
    with (
        serving(lambda *_: 200) as receiver,
        running_service(postgres_url, SETTINGS) as one,
        running_service(postgres_url, SETTINGS) as other,
    ):
        webhook = make(one, receiver)
        experiments = []
        for service in (one, other) * 6:
            experiments.append(service.create(**ONE_PLAY))
            decide(service, experiments[-1])
        until(lambda: len(receiver.asked) >= len(experiments), "all messages")
        until(lambda: {sent["state"] for sent in listed(other, webhook)["deliveries"]} == {"sent"}, "their outcomes")
        assert sorted(said["data"]["experiment"] for said in bodies(receiver)) == sorted(experiments)


@contextmanager
def killed_service(folder):
    service = LiveService(folder / "store.sqlite3", "--webhooks-to-private")
    try:
        yield service
    finally:
        service.kill()


@pytest.mark.slow
def test_a_message_that_was_refused_is_sent_again_by_the_process_after_the_one_that_was_killed(tmp_path):
    answers = [500]
    with serving(lambda *_: answers.pop() if answers else 200) as receiver, killed_service(tmp_path) as service:
        service.start()
        with httpx.Client(base_url=service.url, timeout=SECONDS) as http:
            webhook = http.post("/v1/webhooks", json={"url": receiver.address}).json()
            made = http.post("/v1/experiments", json={"name": "n", "arms": ["north", "east"], **ONE_PLAY}).json()
            path = f"/v1/experiments/{made['id']}"
            play = http.post(f"{path}/ask", json={}).json()["plays"][0]
            http.post(f"{path}/tell", json={"answers": [{"play": play["id"], "hit": "east"}]})
            until(lambda: http.get("/v1/webhooks").json()["webhooks"][0]["deliveries"][0]["said"], "the refusal")
        service.kill()
        service.start()
        until(lambda: len(receiver.asked) >= 2, "the second attempt")
    first, second = headers_of(receiver, 0), headers_of(receiver, 1)
    assert first["webhook-id"] == second["webhook-id"]
    assert verify(webhook["secret"], second, receiver.asked[1][2], time.time())
    assert receiver.asked[0] == receiver.asked[1]
