"""Bearer tokens: made once, shown once, kept as digests."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

from linkedbandits.service.records import Role, TokenRecord, check_text
from linkedbandits.service.scopes import EVERYTHING, Scope

ROLES: tuple[Role, ...] = ("viewer", "player", "admin")
"""Each may do what those before it may: look; also ask, tell and give back; also create, pause and archive."""

_PREFIX = "lb_"  # so that scanners and people recognise a token that has leaked


def make_token(name: str, role: Role, clock: Callable[[], float], scope: Scope = EVERYTHING) -> tuple[str, TokenRecord]:
    """A new token, and what to keep of it."""
    check_text("name", name)
    text = _PREFIX + secrets.token_urlsafe(32)
    return text, TokenRecord(secrets.token_hex(4), name, role, digest_of(text), clock(), scope)


def digest_of(token: str) -> str:
    """What is kept of a token.

    One round of SHA-256 is right here, unlike for passwords: a token has 256 random bits, so that no one can try them
    all, and a slow digest would only slow down every request. Tokens are looked up by digest, so that the time a
    look-up takes tells nothing about the tokens that exist.
    """
    return hashlib.sha256(token.encode()).hexdigest()
