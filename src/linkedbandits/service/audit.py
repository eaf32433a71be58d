"""Who did what: entries of the audit, which the store keeps beside what was done.

Neither tokens nor their digests have a place here, nor labels.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

Action = Literal[
    "create",
    "tag",
    "pause",
    "resume",
    "archive",
    "succeed",
    "delete",
    "forget-expenses",
    "token-create",
    "token-revoke",
    "token-widen",
    "webhook-create",
    "webhook-delete",
    "sign-in-refused",
    "restore",
    "prune-audit",
]
ACTIONS: tuple[Action, ...] = get_args(Action)
ActorKind = Literal["token", "user", "command-line", "anyone", "service"]

MOST_REFUSALS = 10_000
"""Entries of refused sign-ins that are kept: whoever guesses cannot fill the store."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something.

    A ``token``, with its identifier and name; a ``user`` whom a proxy has signed in, by name; who works at the
    ``command-line``, by the system's name for them; ``anyone`` on this machine, as long as there are no tokens; or the
    ``service`` itself.
    """

    kind: ActorKind
    id: str | None = None
    name: str | None = None

    def to_json(self) -> dict[str, str]:
        """What is known of them."""
        return {name: value for name, value in asdict(self).items() if value is not None}


SERVICE = Actor("service")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done; ``subject`` is the identifier of an experiment, token or webhook; ``details`` go into
    JSON.

    Identifiers sort by time.
    """

    id: str
    at: float
    action: Action
    by: Actor
    subject: str | None = None
    details: dict[str, Any] = field(default_factory=dict)


def new_entry(action: Action, by: Actor, at: float, subject: str | None = None, **details: Any) -> AuditEntry:
    """An entry to be kept.

    >>> first, second = (new_entry("pause", SERVICE, at, "9f0c") for at in (1_700_000_000.0, 1_700_000_000.001))
    >>> first.id < second.id
    True
    """
    number = f"{max(0, int(at * 1e6)):014x}{secrets.token_hex(4)}"
    return AuditEntry(number, at, action, by, subject, details)
