"""Webhooks: what happens to experiments, who is told of it, and how a receiver knows who sent it.

Messages are signed as the Standard Webhooks specification has it, for which there are libraries in many languages: an
HMAC with SHA-256 over the message's id, the time of sending and the body, in three headers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from linkedbandits.errors import InvalidParameter
from linkedbandits.model import Verdict

EventKind = Literal["verdict", "alarm", "paused", "resumed", "archived"]
EVENTS: tuple[EventKind, ...] = get_args(EventKind)
"""What can be told."""
DeliveryState = Literal["waiting", "sent", "failed"]

MOST_WEBHOOKS = 100
"""In a store."""
LONGEST_URL = 2_000
LARGEST_BODY = 64_000
"""Bytes of a message. A verdict of very many long labels leaves some of them out, and says so."""
_SECRET_PREFIX = "whsec_"  # by which the libraries of the specification know it
_LEFT_OUT = ("top", "assumes", "contradicted")
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # addresses of the old kind, for networks that have only the new
_NEVER_PUBLIC = tuple(ipaddress.ip_network(one) for one in ("64:ff9b:1::/48", "fec0::/10", "::/96"))
"""Translated within a network, site-local, and a way to write an address of the old kind that nothing routes."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where to send what happens to one experiment, or to all."""

    id: str
    url: str
    secret: str
    experiment: str | None
    events: tuple[EventKind, ...]
    created_at: float


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to an experiment.

    ``key`` tells it from all others of the experiment: the same happening, found twice, has the same one.
    """

    experiment: str
    name: str
    kind: EventKind
    key: str
    at: float
    data: dict[str, Any]

    @property
    def id(self) -> str:
        """The id of its message, the same whoever sends it however often."""
        return "msg_" + hashlib.sha256(f"{self.experiment} {self.key}".encode()).hexdigest()[:32]

    def body(self) -> str:
        """The message."""
        data = {"experiment": self.experiment, "name": self.name, **self.data}
        return _message(f"experiment.{self.kind}", self.at, data)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message on its way to a webhook. ``next_at`` is when to try; None once it was sent or given up.

    ``said`` is what came of the last attempt.
    """

    webhook: str
    id: str
    kind: str
    experiment: str | None
    at: float
    body: str
    attempts: int = 0
    next_at: float | None = None
    state: DeliveryState = "waiting"
    said: str | None = None


def make_webhook(
    url: str,
    events: Sequence[str] = EVENTS,
    experiment: str | None = None,
    *,
    private: bool = False,
    clock: Callable[[], float],
) -> Webhook:
    """A new webhook, or InvalidParameter. It has its secret, which is to be shown this once."""
    check_url(url, private)
    unknown = [event for event in events if event not in EVENTS]
    if unknown or not events:
        said = repr(unknown[0]) if unknown else "nothing"
        raise InvalidParameter(f"{said} is no event; choose some of {', '.join(EVENTS)}")
    chosen = tuple(event for event in EVENTS if event in events)
    secret = _SECRET_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    return Webhook(f"wh_{secrets.token_hex(8)}", url, secret, experiment, chosen, clock())


def trial_delivery(webhook: Webhook, now: float) -> Delivery:
    """A message that says nothing, to see whether it arrives."""
    body = _message("webhook.test", now, {"webhook": webhook.id})
    return Delivery(webhook.id, f"msg_{secrets.token_hex(16)}", "test", None, now, body, next_at=0.0)


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    """A verdict, ready for JSON."""
    return {
        "arm": verdict.arm,
        "top": list(verdict.top),
        "status": verdict.status,
        "plays": verdict.plays,
        "error_bound": verdict.error_bound,
        "proved": verdict.proved,
        "assumes": list(verdict.assumes),
        "contradicted": list(verdict.contradicted),
    }


def check_url(url: str, private: bool) -> SplitResult:
    """The parts of an address to which messages may go, or InvalidParameter with what is wrong with it.

    >>> check_url("https://example.org/hook?of=us", private=False).hostname
    'example.org'
    >>> check_url("http://10.0.0.7/hook", private=False)
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidParameter: 10.0.0.7 is no public address; start the service with --webhooks-to-private \
if messages may go to this machine and its network
    """
    if len(url) > LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidParameter(
            f"a webhook's address has at most {LONGEST_URL} ASCII characters, no blanks; write others as %20 and so on"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidParameter(f"{url} is no address ({error}); give one such as https://example.org/hook") from error
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise InvalidParameter(f"{url} is no address of a web server; give one such as https://example.org/hook")
    try:
        parts.hostname.encode("idna")  # as it is when the name is looked up
    except UnicodeError as error:
        raise InvalidParameter(
            f"{parts.hostname} is no name of a server: between its dots are 1 to 63 characters; give an address such "
            "as https://example.org/hook"
        ) from error
    if parts.username is not None or parts.fragment:
        raise InvalidParameter(
            "a webhook's address has neither a user nor a '#'; messages are signed, so the receiver needs no password"
        )
    if not private:
        _check_written_address(parts.hostname)
    return parts


def _check_written_address(host: str) -> None:
    """Refuse what is private as it is written; where a name leads is looked at when there is something to send."""
    if host == "localhost" or host.endswith(".localhost"):
        raise InvalidParameter(_not_public(host))
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return  # a name
    check_address(host)


def check_address(address: str) -> None:
    """Refuse an address that is not public."""
    if not _is_public(ipaddress.ip_address(address.partition("%")[0])):
        raise InvalidParameter(_not_public(address))


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        if any(address in network for network in _NEVER_PUBLIC):
            return False
        inside = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inside is None and address in _TRANSLATED:
            inside = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inside is not None:
            return _is_public(inside)
    return address.is_global and not address.is_multicast


def _not_public(host: str) -> str:
    return (
        f"{host} is no public address; start the service with --webhooks-to-private if messages may go to this "
        "machine and its network"
    )


def signed_headers(secret: str, message: str, at: int, body: bytes) -> dict[str, str]:
    """The three headers of a message that is sent at a Unix time."""
    key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX))
    signature = hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float, tolerance: float = 300.0) -> bool:
    """Was the message signed with the secret, within ``tolerance`` seconds of now? For receivers.

    Header names are looked up in lower case.

    >>> secret = "whsec_" + "c2VjcmV0"
    >>> headers = signed_headers(secret, "msg_1", 1_700_000_000, b"{}")
    >>> verify(secret, headers, b"{}", now=1_700_000_010), verify(secret, headers, b"[]", now=1_700_000_010)
    (True, False)
    """
    try:
        at = int(headers["webhook-timestamp"])
        expected = signed_headers(secret, headers["webhook-id"], at, body)["webhook-signature"]
        given = headers["webhook-signature"].split()
    except (KeyError, ValueError, binascii.Error):
        return False
    return abs(now - at) <= tolerance and any(hmac.compare_digest(one.encode(), expected.encode()) for one in given)


def _message(kind: str, at: float, data: dict[str, Any]) -> str:
    said: dict[str, Any] = {
        "type": kind,
        "timestamp": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds"),
        "data": data,
    }
    text = json.dumps(said)
    if len(text) > LARGEST_BODY:  # json.dumps writes ASCII: characters are bytes
        less = {name: value for name, value in data.items() if name not in _LEFT_OUT}
        text = json.dumps({**said, "data": {**less, "shortened": True}})
    return text
