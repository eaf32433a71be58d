"""Sends the messages that wait in the store, in threads of its own: nothing else waits for it.

Every process with a store looks for messages that are due, and takes one before it sends it. One that is killed in
between has taken it for a minute; then another sends it, perhaps for the second time. So a message arrives at least
once, and its id tells the receiver which are the same.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from linkedbandits.errors import StoreUnavailable
from linkedbandits.service.outbox_tables import LONGEST_PAUSE
from linkedbandits.service.posting import SECONDS_TO_ANSWER, Post, Posted
from linkedbandits.service.store import Store
from linkedbandits.service.webhooks import Delivery, Webhook

POLL_SECONDS = 2.0
"""How often the store is asked; what happens in this process is sent at once."""
AT_ONCE = 4
"""Messages that are being sent at the same time, one to each webhook at most."""
TAKEN_SECONDS = 6 * SECONDS_TO_ANSWER
"""For how long a message is one process's: longer than any attempt."""
FIRST_PAUSE = 2.0
"""Seconds after the first attempt in vain; each pause is twice the one before, up to an hour."""
GIVE_UP_SECONDS = 24 * 3600.0
"""After what happened. Then a message is given up, and shown as failed."""
KEEP_SECONDS = 30 * 24 * 3600.0
"""How long messages that were sent are kept for those who look at them."""
SECONDS_TO_STOP = 1.0
_FORGET_EVERY = 3600.0


class Outcome(NamedTuple):
    """What came of an attempt: has the message arrived, was it given up, or is it tried again?"""

    webhook: Webhook
    delivery: Delivery
    posted: Posted
    given_up: bool


class Deliverer:
    """Runs from :meth:`start` to :meth:`stop`; ``on_outcome`` is told of every attempt, in the thread that made it."""

    def __init__(
        self,
        store: Store,
        post: Post,
        *,
        on_outcome: Callable[[Outcome], None] = lambda _: None,
        on_failure: Callable[[Exception], None] = lambda _: None,
        clock: Callable[[], float] = time.time,
        coin: random.Random | None = None,
    ) -> None:
        self._store = store
        self._post = post
        self._on_outcome = on_outcome
        self._on_failure = on_failure
        self._clock = clock
        self._coin = coin or random.Random()
        self._wake = threading.Event()
        self._stopping = False
        self._lock = threading.Lock()
        self._sending: dict[str, threading.Thread] = {}
        self._in_vain: dict[str, int] = {}  # attempts since the last that arrived, by webhook
        self._thread = threading.Thread(target=self._work, name="webhooks", daemon=True)
        self._forgotten_at = clock()

    def start(self) -> None:
        """Begin to send; once."""
        self._thread.start()

    def look(self) -> None:
        """Something may be due: do not wait for the next look."""
        self._wake.set()

    def stop(self) -> None:
        """Begin nothing more, and wait a moment for what is being sent. What is not sent stays in the store."""
        self._stopping = True
        self._wake.set()
        end = time.monotonic() + SECONDS_TO_STOP
        with self._lock:
            at_work = [self._thread, *self._sending.values()]
        for thread in at_work:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while not self._stopping:
            try:
                self.send_what_is_due()
            except StoreUnavailable:
                pass  # others say so; what waits can wait
            except Exception as error:  # whatever it is, it must not be the last look
                self._on_failure(error)
            self._wake.wait(POLL_SECONDS)
            self._wake.clear()

    def send_what_is_due(self) -> None:
        """Begin to send as many messages as may be under way."""
        now = self._clock()
        if now >= self._forgotten_at + _FORGET_EVERY:
            with self._store.writing() as writing:
                writing.forget_deliveries(now - KEEP_SECONDS)
            self._forgotten_at = now
        with self._store.reading() as reading:
            due = reading.due_deliveries(now)
        # Those that have waited longest first, so that many webhooks that do not answer cannot keep out the others.
        for webhook, delivery in sorted(due, key=lambda one: one[1].next_at or 0.0):
            with self._lock:
                if self._stopping or len(self._sending) >= AT_ONCE:
                    return
                if webhook.id in self._sending:
                    continue
                thread = threading.Thread(target=self._send, args=(webhook, delivery), name="webhook", daemon=True)
                self._sending[webhook.id] = thread
            try:
                thread.start()
            except RuntimeError:  # there is none to be had: the message is still due, and others are, too
                with self._lock:
                    del self._sending[webhook.id]
                raise

    def _send(self, webhook: Webhook, delivery: Delivery) -> None:
        try:
            self.deliver(webhook, delivery)
        except StoreUnavailable:
            pass  # it is sent again when the store is back: nothing says yet that it was
        except Exception as error:  # it would end in this thread unheard; the message is due again in a minute
            self._on_failure(error)
        finally:
            with self._lock:
                del self._sending[webhook.id]
            self._wake.set()

    def deliver(self, webhook: Webhook, delivery: Delivery) -> Outcome | None:
        """Take a message, send it, and write down what came of it. None if another process has taken it."""
        with self._store.writing() as writing:
            if not writing.claim_delivery(delivery, self._clock() + TAKEN_SECONDS):
                return None
        posted = self._attempt(webhook, delivery)
        now = self._clock()
        in_vain = 0 if posted.arrived else max(self._in_vain.get(webhook.id, 0), delivery.attempts) + 1
        self._in_vain[webhook.id] = in_vain
        given_up = not posted.arrived and now >= delivery.at + GIVE_UP_SECONDS
        with self._store.writing() as writing:
            if posted.arrived:
                writing.delivery_sent(delivery, posted.said)
            elif given_up:
                writing.delivery_given_up(delivery, posted.said)
            else:
                writing.delivery_postponed(delivery, now + self._pause(in_vain), posted.said)
        outcome = Outcome(webhook, delivery, posted, given_up)
        self._on_outcome(outcome)
        return outcome

    def _attempt(self, webhook: Webhook, delivery: Delivery) -> Posted:
        """Whatever goes wrong, it was an attempt: a message that cannot be sent is given up in the end."""
        try:
            return self._post.send(webhook, delivery)
        except Exception as error:  # the address may make any library on the way raise anything
            self._on_failure(error)
            return Posted(False, f"it could not be sent ({type(error).__name__})")

    def _pause(self, in_vain: int) -> float:
        """Seconds until the next attempt, after so many in vain."""
        return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(in_vain - 1, 20)) * self._coin.uniform(0.8, 1.0)
