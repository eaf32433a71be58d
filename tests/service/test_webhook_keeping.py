"""Webhooks of a store, as the command line and HTTP make them."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from linkedbandits.service import webhook_keeping
from linkedbandits.service.audit import Actor
from linkedbandits.service.webhooks import make_webhook
from tests.support.service_parts import ManualClock, create

BOSS = Actor("token", "t1", "boss")


def new(**changes):
    return make_webhook("https://example.org/", **({"clock": ManualClock()} | changes))


def test_no_more_than_some_may_be_made(store, monkeypatch):
    monkeypatch.setattr(webhook_keeping, "MOST_WEBHOOKS", 2)
    for _ in range(2):
        webhook_keeping.keep(store, new(), BOSS)
    with pytest.raises(lb.InvalidParameter, match="delete some"):
        webhook_keeping.keep(store, new(), BOSS)


def test_one_for_an_experiment_that_is_not_there_is_refused(store, desk):
    with pytest.raises(lb.UnknownName):
        webhook_keeping.keep(store, new(experiment="nobody"), BOSS)
    webhook_keeping.keep(store, new(experiment=create(desk)), BOSS)
    assert len(webhook_keeping.listed(store)) == 1


def test_secrets_are_not_listed_nor_bodies(store):
    webhook = new()
    webhook_keeping.keep(store, webhook, BOSS)
    delivery = webhook_keeping.put_trial(store, webhook.id, 5.0)
    listed = webhook_keeping.listed(store)
    assert [one["id"] for one in listed[0]["deliveries"]] == [delivery.id]
    assert webhook.secret not in json.dumps(listed)
    assert "body" not in listed[0]["deliveries"][0]


def test_what_is_not_there_can_be_neither_tried_nor_removed(store):
    for act in (
        lambda: webhook_keeping.put_trial(store, "w", 1.0),
        lambda: webhook_keeping.remove(store, "w", BOSS, 1.0),
    ):
        with pytest.raises(lb.UnknownName, match="there is no webhook 'w'; list those there are"):
            act()


def test_the_audit_has_who_made_and_removed_it_and_not_where_its_secrets_may_be(store):
    webhook = make_webhook("https://example.org/services/s3cret?key=s3cret", ["verdict"], clock=ManualClock())
    webhook_keeping.keep(store, webhook, BOSS)
    webhook_keeping.remove(store, webhook.id, BOSS, 9_999.0)
    with store.reading() as reading:
        removed, made = reading.audit(10, None)
    assert (made.action, made.by, made.subject) == ("webhook-create", BOSS, webhook.id)
    assert made.details == {"host": "example.org", "experiment": None, "events": ["verdict"]}
    assert (removed.action, removed.by, removed.subject, removed.at) == ("webhook-delete", BOSS, webhook.id, 9_999.0)


def test_what_is_refused_is_not_in_the_audit(store):
    with pytest.raises(lb.UnknownName):
        webhook_keeping.remove(store, "w", BOSS, 1.0)
    with store.reading() as reading:
        assert reading.audit(10, None) == []
