"""Alarms are looked for where a webhook wants to hear of them, and each is put out once."""

from __future__ import annotations

import json

import pytest

from linkedbandits.attempts.alarms import Alarm, Rate
from linkedbandits.service.alarms import Found
from linkedbandits.service.http import lookout
from linkedbandits.service.http.lookout import Lookout
from linkedbandits.service.survey import Played
from linkedbandits.service.webhooks import make_webhook
from tests.support.service_parts import ManualClock
from tools.waiting import run_async

ARMS = ("north", "east")


def played(name, plays=100, done=False):
    return Played(name, f"name of {name}", ARMS, None, plays, done)


def alarm(kind, option):
    return Alarm(kind, option, 4.0, 800.0, 10, 60, Rate(1, 2), Rate(2, 2), "It drifts.", "See to it.")


class Looks:
    """Stands for the alarms of experiments: finds what it is told to."""

    def __init__(self):
        self.found = {}
        self.asked = []

    def latest(self, experiment, labels, warm, plays, done):
        self.asked.append(experiment)
        return Found(self.found.get(experiment, ()), plays)


@pytest.fixture
def looks():
    return Looks()


def add(store, events=("alarm",), experiment=None):
    webhook = make_webhook("https://example.org/", events, experiment, clock=ManualClock())
    with store.writing() as writing:
        writing.add_webhook(webhook)
    return webhook


def messages(store, webhook):
    with store.reading() as reading:
        return [json.loads(sent.body)["data"] for sent in reading.deliveries(webhook.id, 99)]


def test_without_a_webhook_for_alarms_nothing_is_looked_at(store, looks):
    add(store, ["verdict"])
    run_async(Lookout(store, looks, lambda _: None).look([played("a")]))
    assert looks.asked == []
    run_async(Lookout(store, looks, lambda _: None, look_at_all=True).look([played("a")]))
    assert looks.asked == ["a"]


def test_a_webhook_of_one_experiment_hears_of_that_one(store, looks):
    add(store, experiment="b")
    run_async(Lookout(store, looks, lambda _: None).look([played("a"), played("b"), played("c")]))
    assert looks.asked == ["b"]


def test_an_alarm_is_put_out_once_also_by_the_next_process(store, looks):
    webhook, news = add(store), []
    looks.found["a"] = (alarm("drift", "east"),)
    watcher = Lookout(store, looks, news.extend)
    for _ in range(2):
        run_async(watcher.look([played("a")]))
    assert [(one.kind, one.experiment, one.data["alarm"]) for one in news] == [("alarm", "a", "drift")]
    looks.found["a"] += (alarm("drift", "north"), alarm("memory", "east"))
    run_async(watcher.look([played("a")]))
    assert len(news) == 3
    run_async(Lookout(store, looks, lambda _: None).look([played("a")]))
    assert sorted((said["alarm"], said["option"]) for said in messages(store, webhook)) == [
        ("drift", "east"),
        ("drift", "north"),
        ("memory", "east"),
    ]
    assert {(said["name"], said["sentence"], said["remedy"]) for said in messages(store, webhook)} == {
        ("name of a", "It drifts.", "See to it.")
    }


def test_no_more_are_watched_than_can_be_remembered_and_those_under_way_stay(store, looks, monkeypatch):
    monkeypatch.setattr(lookout, "MOST_WATCHED", 2)
    add(store)
    watcher = Lookout(store, looks, lambda _: None)
    run_async(watcher.look([played("a"), played("b"), played("c"), played("nothing yet", plays=0)]))
    assert looks.asked == ["a", "b"]
    looks.asked.clear()
    run_async(watcher.look([played("c"), played("a"), played("b", plays=101, done=True)]))
    assert looks.asked == ["a", "b"]  # the last plays of b were not looked at yet
    looks.asked.clear()
    run_async(watcher.look([played("c"), played("a"), played("b", plays=101, done=True)]))
    assert looks.asked == ["a", "c"]
