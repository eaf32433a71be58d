"""Make, try and remove the webhooks of a store: the same for the command line and for HTTP."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.service.audit import Actor, new_entry
from linkedbandits.service.store import Store
from linkedbandits.service.webhooks import MOST_WEBHOOKS, Delivery, Webhook, trial_delivery

SHOWN = 20
"""Messages that are listed of each webhook, the latest first."""


def keep(store: Store, webhook: Webhook, by: Actor) -> None:
    """Write down a webhook that somebody has made; UnknownExperiment if it is to hear of one that is not there."""
    with store.writing() as writing:
        if len(writing.webhooks()) >= MOST_WEBHOOKS:
            raise InvalidParameter(f"there are {MOST_WEBHOOKS} webhooks, and no more may be; delete some")
        if webhook.experiment is not None:
            writing.lock(webhook.experiment)  # who deletes it meanwhile takes this webhook along
        writing.add_webhook(webhook)
        # The rest of an address is often a secret.
        about = {
            "host": urlsplit(webhook.url).hostname,
            "experiment": webhook.experiment,
            "events": list(webhook.events),
        }
        writing.add_audit(new_entry("webhook-create", by, webhook.created_at, webhook.id, **about))


def put_trial(store: Store, identifier: str, now: float) -> Delivery:
    """Put out a message to a webhook that says nothing."""
    with store.writing() as writing:
        for webhook in writing.webhooks():
            if webhook.id == identifier:
                delivery = trial_delivery(webhook, now)
                writing.add_delivery(delivery)
                return delivery
        raise UnknownName(_unknown(identifier), reason="unknown_webhook")


def remove(store: Store, identifier: str, by: Actor, now: float) -> None:
    """Send it nothing more, not even what waits."""
    with store.writing() as writing:
        if not writing.remove_webhook(identifier):
            raise UnknownName(_unknown(identifier), reason="unknown_webhook")
        writing.add_audit(new_entry("webhook-delete", by, now, identifier))


def listed(store: Store) -> list[dict[str, Any]]:
    """All webhooks, oldest first, ready for JSON: without their secrets, with the last messages to each."""
    with store.reading() as reading:
        return [
            {**shown(webhook), "deliveries": [delivery_shown(sent) for sent in reading.deliveries(webhook.id, SHOWN)]}
            for webhook in reading.webhooks()
        ]


def shown(webhook: Webhook) -> dict[str, Any]:
    """A webhook, ready for JSON, without its secret."""
    return {
        "id": webhook.id,
        "url": webhook.url,
        "experiment": webhook.experiment,
        "events": list(webhook.events),
        "created_at": webhook.created_at,
    }


def delivery_shown(sent: Delivery) -> dict[str, Any]:
    """A message, ready for JSON, without its body."""
    return {
        "id": sent.id,
        "kind": sent.kind,
        "experiment": sent.experiment,
        "at": sent.at,
        "state": sent.state,
        "attempts": sent.attempts,
        "said": sent.said,
    }


def _unknown(identifier: str) -> str:
    return f"there is no webhook {identifier!r}; list those there are"
