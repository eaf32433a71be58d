"""Webhooks and the messages on their way to them, in the tables of a store.

A message is written in the transaction in which that happened what it tells of, so none is lost and none is sent of
what did not happen. Who sends one first moves the time at which it is due: of several processes on a store one gets it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from linkedbandits.service.webhooks import Delivery, EventKind, Happening, Webhook

_WEBHOOK = "SELECT id, url, secret, experiment, events, created_at FROM webhooks"
_DELIVERY = "SELECT webhook, id, kind, experiment, at, body, attempts, next_at, state, said FROM deliveries"
AT_ONCE = 0.0
"""When a new message is due: whatever the clock says, which may be set back."""
LONGEST_PAUSE = 3_600.0
"""Between two attempts. What is due later than that was put off by a clock that ran ahead, and is due now."""
_DUE = "(next_at <= ? OR next_at > ?)"
_ORPHANED = "webhook NOT IN (SELECT id FROM webhooks)"
_KEPT = ("verdict", "alarm")  # with their rows it is known that they were told, and need not be again


class OutboxCounts(NamedTuple):
    """How many messages wait, and since when the oldest of them does."""

    waiting: int
    oldest_at: float | None


class OutboxTables(ABC):
    """The part of a transaction's hands on the tables that is about webhooks."""

    def webhooks(self) -> list[Webhook]:
        """All webhooks, oldest first."""
        return [_webhook(row) for row in self._rows(f"{_WEBHOOK} ORDER BY created_at, id")]

    def add_webhook(self, webhook: Webhook) -> None:
        """A new webhook."""
        self._run(
            "INSERT INTO webhooks (id, url, secret, experiment, events, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            webhook.id,
            webhook.url,
            webhook.secret,
            webhook.experiment,
            f" {' '.join(webhook.events)} ",
            webhook.created_at,
        )

    def remove_webhook(self, webhook: str) -> bool:
        """Was there one to remove? What is on its way to it is forgotten."""
        self._run("DELETE FROM deliveries WHERE webhook = ?", webhook)
        return self._changed("DELETE FROM webhooks WHERE id = ?", webhook) > 0

    def put_out(self, happening: Happening) -> int:
        """A message to every webhook that is to hear of it and was not told before. How many?"""
        rows = self._rows(
            f"{_WEBHOOK} WHERE (experiment IS NULL OR experiment = ?) AND events LIKE ?",
            happening.experiment,
            f"% {happening.kind} %",
        )
        if not rows:
            return 0
        body = happening.body()
        return sum(
            self.add_delivery(
                Delivery(
                    _webhook(row).id,
                    happening.id,
                    happening.kind,
                    happening.experiment,
                    happening.at,
                    body,
                    next_at=AT_ONCE,
                )
            )
            for row in rows
        )

    def add_delivery(self, delivery: Delivery) -> bool:
        """A message to a webhook; False if it has one of this id."""
        changed = self._changed(
            "INSERT INTO deliveries (webhook, id, kind, experiment, at, body, attempts, next_at, state, said) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (webhook, id) DO NOTHING",
            delivery.webhook,
            delivery.id,
            delivery.kind,
            delivery.experiment,
            delivery.at,
            delivery.body,
            delivery.attempts,
            delivery.next_at,
            delivery.state,
            delivery.said,
        )
        return changed > 0

    def due_deliveries(self, now: float) -> list[tuple[Webhook, Delivery]]:
        """Of each webhook to which something is due, the message that was tried least often, the oldest of these."""
        when = (now, now + 2 * LONGEST_PAUSE)
        rows = self._rows(f"SELECT DISTINCT webhook FROM deliveries WHERE {_DUE}", *when)
        if not rows:
            return []
        due = {webhook for (webhook,) in rows}
        statement = f"{_DELIVERY} WHERE webhook = ? AND {_DUE} ORDER BY attempts, at, id LIMIT 1"
        return [
            (webhook, Delivery(*row))
            for webhook in self.webhooks()
            if webhook.id in due
            for row in self._rows(statement, webhook.id, *when)
        ]

    def deliveries(self, webhook: str, most: int) -> list[Delivery]:
        """The last messages to a webhook, the latest first."""
        statement = f"{_DELIVERY} WHERE webhook = ? ORDER BY at DESC, id LIMIT {int(most)}"
        return [Delivery(*row) for row in self._rows(statement, webhook)]

    def outbox_counts(self) -> OutboxCounts:
        """What waits to be sent to a webhook that there is."""
        statement = f"SELECT COUNT(*), MIN(at) FROM deliveries WHERE next_at IS NOT NULL AND NOT {_ORPHANED}"
        return OutboxCounts(*self._rows(statement)[0])

    def claim_delivery(self, delivery: Delivery, until: float) -> bool:
        """Take a message to send it: nobody else does before ``until``. False if somebody has."""
        changed = self._changed(
            "UPDATE deliveries SET attempts = attempts + 1, next_at = ? WHERE webhook = ? AND id = ? AND next_at = ?",
            until,
            delivery.webhook,
            delivery.id,
            delivery.next_at,
        )
        return changed > 0

    def delivery_sent(self, delivery: Delivery, said: str) -> None:
        """It has arrived."""
        self._end(delivery, "sent", said)

    def delivery_given_up(self, delivery: Delivery, said: str) -> None:
        """It is not tried again."""
        self._end(delivery, "failed", said)

    def delivery_postponed(self, delivery: Delivery, next_at: float, said: str) -> None:
        """It did not arrive. It, and whatever else waits for the same webhook, is not tried before ``next_at``."""
        self._run(
            "UPDATE deliveries SET said = ?, next_at = ? WHERE webhook = ? AND id = ? AND next_at IS NOT NULL",
            said,
            next_at,
            delivery.webhook,
            delivery.id,
        )
        self._run(
            "UPDATE deliveries SET next_at = ? WHERE webhook = ? AND next_at < ?", next_at, delivery.webhook, next_at
        )

    def forget_deliveries(self, before: float) -> None:
        """Forget messages from before a time that were sent or given up, but for those that could be found again.

        Also those to webhooks that are gone: they may be put out while another process removes the webhook.
        """
        self._run(
            "DELETE FROM deliveries WHERE next_at IS NULL AND at < ? AND kind NOT IN (?, ?)",
            before,
            *_KEPT,
        )
        self._run(f"DELETE FROM deliveries WHERE {_ORPHANED}")

    def _end(self, delivery: Delivery, state: str, said: str) -> None:
        self._run(
            "UPDATE deliveries SET state = ?, said = ?, next_at = NULL WHERE webhook = ? AND id = ?",
            state,
            said,
            delivery.webhook,
            delivery.id,
        )

    @abstractmethod
    def _run(self, statement: str, *parameters: object) -> None: ...

    @abstractmethod
    def _rows(self, statement: str, *parameters: object) -> list[Any]: ...

    @abstractmethod
    def _changed(self, statement: str, *parameters: object) -> int: ...


def _webhook(row: Sequence[Any]) -> Webhook:
    identifier, url, secret, experiment, events, created_at = row
    chosen: tuple[EventKind, ...] = tuple(events.split())
    return Webhook(identifier, url, secret, experiment, chosen, created_at)
