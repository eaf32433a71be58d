"""Messages from the store to receivers: tried again, given up, sent by one process, and never in anybody's way."""

from __future__ import annotations

import random
import threading
from contextlib import contextmanager
from itertools import pairwise

import pytest

import linkedbandits as lb
from linkedbandits.service.deliverer import AT_ONCE, FIRST_PAUSE, GIVE_UP_SECONDS, TAKEN_SECONDS, Deliverer
from linkedbandits.service.posting import Posted
from linkedbandits.service.store import open_store
from linkedbandits.service.webhooks import Happening, make_webhook
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, until


class Receiver:
    """Stands for a post and what is behind it."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.sent = []

    def send(self, webhook, delivery):
        self.sent.append((webhook.id, delivery.id))
        return self.answers.pop(0) if self.answers else Posted(True, "answered 200")


NO = Posted(False, "answered 500")


@pytest.fixture
def webhook(store, clock):
    return add(store)


def add(store, url="https://example.org/"):
    made = make_webhook(url, ["verdict", "paused"], clock=ManualClock())
    with store.writing() as writing:
        writing.add_webhook(made)
    return made


def happen(store, *names, at=1_000.0):
    with store.writing() as writing:
        for name in names:
            writing.put_out(Happening(name, name, "verdict", "verdict", at, {}))


def states(store, webhook):
    with store.reading() as reading:
        return [(sent.state, sent.attempts, sent.said) for sent in reading.deliveries(webhook.id, 9)]


def deliver_all(deliverer, store, clock):
    """What is due, one after the other, in this thread."""
    with store.reading() as reading:
        due = reading.due_deliveries(clock())
    return [deliverer.deliver(webhook, delivery) for webhook, delivery in due]


@contextmanager
def at_work(deliverer):
    deliverer.start()
    try:
        yield
    finally:
        deliverer.stop()


def test_a_message_is_sent_once(store, clock, webhook):
    happen(store, "e")
    receiver, told = Receiver(), []
    deliverer = Deliverer(store, receiver, clock=clock, on_outcome=told.append)
    deliver_all(deliverer, store, clock)
    clock.now += 1e6
    assert deliver_all(deliverer, store, clock) == []
    assert states(store, webhook) == [("sent", 1, "answered 200")]
    assert [(one.posted.arrived, one.given_up) for one in told] == [(True, False)]


def test_pauses_grow_up_to_an_hour_until_it_is_given_up(store, clock, webhook):
    happen(store, "e")
    receiver, told = Receiver(*[NO] * 1_000), []
    deliverer = Deliverer(store, receiver, clock=clock, on_outcome=told.append, coin=random.Random(1))
    pauses, before = [], clock.now
    while not (told and told[-1].given_up):
        deliver_all(deliverer, store, clock)
        with store.reading() as reading:
            (sent,) = reading.deliveries(webhook.id, 1)
        if sent.next_at is not None:
            pauses.append(sent.next_at - clock.now)
            clock.now = sent.next_at
    assert 0.8 * FIRST_PAUSE <= pauses[0] <= FIRST_PAUSE
    assert all(later > 1.5 * sooner for sooner, later in pairwise(pauses[:10]))
    assert all(0.8 * 3_600 <= pause <= 3_600 for pause in pauses[12:])
    assert GIVE_UP_SECONDS <= clock.now - before <= GIVE_UP_SECONDS + 3_600
    assert states(store, webhook) == [("failed", len(receiver.sent), "answered 500")]
    clock.now += 1e6
    assert deliver_all(deliverer, store, clock) == []


def test_whatever_goes_wrong_was_an_attempt(store, clock, webhook):
    """Else it would be tried every minute, without end."""

    class Broken(Receiver):
        def send(self, webhook, delivery):
            super().send(webhook, delivery)
            raise UnicodeError("label empty or too long")

    happen(store, "e", at=clock.now)
    failures, told = [], []
    deliverer = Deliverer(store, Broken(), clock=clock, on_failure=failures.append, on_outcome=told.append)
    deliver_all(deliverer, store, clock)
    assert states(store, webhook) == [("waiting", 1, "it could not be sent (UnicodeError)")]
    with store.reading() as reading:
        (sent,) = reading.deliveries(webhook.id, 1)
    assert sent.next_at <= clock.now + FIRST_PAUSE
    clock.now += GIVE_UP_SECONDS + 1
    deliver_all(deliverer, store, clock)
    assert states(store, webhook) == [("failed", 2, "it could not be sent (UnicodeError)")]
    assert (len(failures), [one.given_up for one in told]) == (2, [False, True])


def test_of_two_processes_one_sends_it(each_store, store_url, clock):
    webhook = add(each_store)
    happen(each_store, "e")
    other = open_store(store_url)
    try:
        receiver = Receiver()
        one, two = (Deliverer(place, receiver, clock=clock) for place in (each_store, other))
        with each_store.reading() as reading:
            ((_, delivery),) = reading.due_deliveries(clock())
        assert one.deliver(webhook, delivery) is not None
        assert two.deliver(webhook, delivery) is None  # it had looked before the other took it
        assert len(receiver.sent) == 1
    finally:
        other.close()


def test_one_that_was_killed_while_it_sent_is_replaced_after_a_minute(store, clock, webhook):
    happen(store, "e")

    class Killed(BaseException):
        pass

    class Dying(Receiver):
        def send(self, webhook, delivery):
            super().send(webhook, delivery)
            raise Killed

    dying, receiver = Dying(), Receiver()
    with pytest.raises(Killed):
        deliver_all(Deliverer(store, dying, clock=clock), store, clock)
    another = Deliverer(store, receiver, clock=clock)
    clock.now += TAKEN_SECONDS - 1
    assert deliver_all(another, store, clock) == []
    clock.now += 1
    deliver_all(another, store, clock)
    assert receiver.sent == dying.sent  # with the same id, by which the receiver knows
    assert states(store, webhook) == [("sent", 2, "answered 200")]


def test_a_receiver_that_refuses_one_message_gets_the_others(store, clock, webhook):
    happen(store, "a", at=1.0)
    happen(store, "b", at=2.0)
    receiver = Receiver(NO)
    deliverer = Deliverer(store, receiver, clock=clock)
    for _ in range(3):
        deliver_all(deliverer, store, clock)
        clock.now += 10
    assert [state for state, *_ in states(store, webhook)] == ["sent", "sent"]
    assert receiver.sent[1] != receiver.sent[0] == receiver.sent[2]


def test_receivers_that_hang_hold_up_no_more_threads_than_there_may_be_and_no_other_receiver_twice(store, clock):
    webhooks = [add(store, f"https://example.org/{number}") for number in range(AT_ONCE + 2)]
    happen(store, "e", "f")
    release, begun = threading.Event(), threading.Semaphore(0)

    class Hanging(Receiver):
        def send(self, webhook, delivery):
            super().send(webhook, delivery)
            begun.release()
            release.wait(SECONDS)
            return Posted(True, "answered 200")

    receiver = Hanging()
    deliverer = Deliverer(store, receiver, clock=clock)
    with at_work(deliverer):
        for _ in range(AT_ONCE):
            assert begun.acquire(timeout=SECONDS)
        deliverer.send_what_is_due()
        assert len(receiver.sent) == AT_ONCE
        assert len({webhook for webhook, _ in receiver.sent}) == AT_ONCE
        release.set()
        until(lambda: len(receiver.sent) == 2 * len(webhooks), "all messages")
        until(lambda: all(state == "sent" for hook in webhooks for state, *_ in states(store, hook)), "their outcomes")
    assert len(set(receiver.sent)) == 2 * len(webhooks)


def test_a_mistake_in_it_is_told_and_is_not_its_end(store, clock, webhook):
    happen(store, "e")

    class Broken(Receiver):
        def send(self, webhook, delivery):
            super().send(webhook, delivery)
            if len(self.sent) == 1:
                raise ZeroDivisionError
            return Posted(True, "answered 200")

    receiver, failed = Broken(), []
    deliverer = Deliverer(store, receiver, clock=clock, on_failure=failed.append)
    with at_work(deliverer):
        until(lambda: states(store, webhook)[0][2], "the mistake to be on record")
        clock.now += TAKEN_SECONDS
        deliverer.look()
        until(lambda: states(store, webhook)[0][0] == "sent", "the second attempt")
    assert [type(error) for error in failed] == [ZeroDivisionError]


def test_while_the_store_is_away_it_waits(store, clock, webhook, monkeypatch):
    happen(store, "e")
    receiver, tried = Receiver(), threading.Event()

    def away():
        tried.set()
        raise lb.StoreUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(store, "reading", away)
        deliverer = Deliverer(store, receiver, clock=clock)
        deliverer.start()
        assert tried.wait(SECONDS)
    try:
        deliverer.look()
        until(lambda: receiver.sent, "the message")
    finally:
        deliverer.stop()


def test_what_happens_here_is_sent_without_waiting_for_the_next_look(store, clock, webhook, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.deliverer.POLL_SECONDS", SECONDS)
    receiver = Receiver()
    deliverer = Deliverer(store, receiver, clock=clock)
    with at_work(deliverer):
        happen(store, "e")
        deliverer.look()
        until(lambda: receiver.sent, "the message")


def test_old_messages_are_forgotten_now_and_then(store, clock, webhook, monkeypatch):
    forgotten = []
    monkeypatch.setattr(
        "linkedbandits.service.tables.Tables.forget_deliveries", lambda self, before: forgotten.append(before)
    )
    deliverer = Deliverer(store, Receiver(), clock=clock)
    for _ in range(3):
        deliverer.send_what_is_due()
        clock.now += 1_800
    deliverer.send_what_is_due()
    assert forgotten == [1_000 + 3_600 - 30 * 24 * 3_600]


def test_a_thread_that_cannot_be_started_takes_no_place(store, clock, webhook, monkeypatch):
    """The message is sent at the next look, and as many as before are sent at a time."""
    happen(store, "e")
    receiver, told, start = Receiver(), [], threading.Thread.start
    deliverer = Deliverer(store, receiver, clock=clock, on_outcome=told.append)

    def fail(thread):
        if thread.name == "webhook":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as full:
        full.setattr(threading.Thread, "start", fail)
        for _ in range(AT_ONCE + 1):
            with pytest.raises(RuntimeError):
                deliverer.send_what_is_due()
    deliverer.send_what_is_due()
    until(lambda: told, "the message")
    assert len(receiver.sent) == 1
