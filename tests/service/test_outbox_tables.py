"""Webhooks and their messages in both stores; the contract of stores has the rest."""

from __future__ import annotations

from dataclasses import replace

import pytest

from linkedbandits.service.webhooks import Delivery, Happening, make_webhook
from tests.support.service_parts import ManualClock


@pytest.fixture
def webhook(each_store):
    made = make_webhook("https://example.org/", clock=ManualClock())
    with each_store.writing() as writing:
        writing.add_webhook(made)
    return made


def delivery(webhook, name, at=1.0, **changes):
    return Delivery(webhook.id, name, "paused", "e", at, "{}", next_at=0.0, **changes)


def put(store, *deliveries):
    with store.writing() as writing:
        for one in deliveries:
            writing.add_delivery(one)


def due(store, now):
    with store.reading() as reading:
        return [sent.id for _, sent in reading.due_deliveries(now)]


def test_the_oldest_of_those_tried_least_often_comes_first(each_store, webhook):
    """One that the receiver refuses must not keep back the others."""
    put(
        each_store,
        delivery(webhook, "a", at=1.0, attempts=1),
        delivery(webhook, "b", at=3.0),
        delivery(webhook, "c", at=2.0),
    )
    assert due(each_store, 10.0) == ["c"]


def test_a_failure_puts_off_all_that_waits_for_the_webhook_and_nothing_else(each_store, webhook):
    other = make_webhook("https://example.com/", clock=ManualClock(2_000.0))
    with each_store.writing() as writing:
        writing.add_webhook(other)
    put(each_store, delivery(webhook, "a"), delivery(webhook, "b"), delivery(other, "a"))
    with each_store.writing() as writing:
        writing.claim_delivery(delivery(webhook, "a"), 70.0)
        writing.delivery_postponed(delivery(webhook, "a"), 20.0, "answered 500")
    assert due(each_store, 19.0) == ["a"]  # of the other
    assert due(each_store, 20.0) == ["b", "a"]


def test_what_was_given_up_is_not_sent_and_not_forgotten_at_once(each_store, webhook):
    put(each_store, delivery(webhook, "a"))
    with each_store.writing() as writing:
        writing.delivery_given_up(delivery(webhook, "a"), "answered 404")
        writing.delivery_postponed(delivery(webhook, "a"), 5.0, "by one who was slow")
        writing.forget_deliveries(before=1.0)
    assert due(each_store, 1e9) == []
    with each_store.reading() as reading:
        (sent,) = reading.deliveries(webhook.id, 5)
        assert (sent.state, sent.said) == ("failed", "answered 404")
        assert reading.outbox_counts() == (0, None)


def test_old_messages_are_forgotten_but_for_those_that_could_be_found_again(each_store, webhook):
    kinds = ("paused", "verdict", "alarm", "test")
    put(each_store, *(replace(delivery(webhook, kind), kind=kind, next_at=None, state="sent") for kind in kinds))
    put(each_store, delivery(webhook, "waiting"))
    with each_store.writing() as writing:
        writing.forget_deliveries(before=2.0)
    with each_store.reading() as reading:
        assert sorted(sent.id for sent in reading.deliveries(webhook.id, 9)) == ["alarm", "verdict", "waiting"]


def test_messages_of_a_webhook_that_is_gone_are_not_due(each_store, webhook):
    """One may be put out while another process removes the webhook."""
    put(each_store, replace(delivery(webhook, "a"), webhook="gone"), delivery(webhook, "b", at=7.0))
    assert due(each_store, 1e9) == ["b"]
    with each_store.reading() as reading:
        assert reading.outbox_counts() == (1, 7.0)
    with each_store.writing() as writing:
        writing.forget_deliveries(before=0.0)
    with each_store.reading() as reading:
        assert reading.deliveries("gone", 5) == []
        assert len(reading.deliveries(webhook.id, 5)) == 1


def test_nothing_is_put_out_by_a_transaction_that_fails(each_store, webhook):
    def write():
        with each_store.writing() as writing:
            assert writing.put_out(Happening("e", "", "verdict", "verdict", 1.0, {})) == 1
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert due(each_store, 1e9) == []
