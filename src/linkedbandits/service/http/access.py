"""Who may do what: bearer tokens with roles."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from linkedbandits.errors import AccessDenied, MissingToken, StoreUnavailable
from linkedbandits.service.http.limits import RateLimit
from linkedbandits.service.records import Role, TokenRecord
from linkedbandits.service.tokens import ROLES, digest_of

REFRESH_SECONDS = 2.0
"""Tokens are read from the store this often, so that a request is not a query; a revoked one lives that much longer."""
RETRY_SECONDS = 0.5
"""A token that is not known yet may have been made a moment ago: the store is asked again, but not more often."""

_LOCAL_HOST = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request; ``token`` is the identifier of a token, or None on loopback without tokens."""

    token: str | None
    role: Role


class Guard:
    """Admits requests.

    As long as there are no tokens and ``open_without_tokens`` holds (the service listens on loopback, and none was made
    before), everybody on this machine may do everything. Once there was a token, one is demanded, also after the last
    has been revoked.
    """

    def __init__(
        self,
        load: Callable[[], list[TokenRecord]],
        *,
        open_without_tokens: bool,
        rate: RateLimit,
        clock: Callable[[], float],
    ) -> None:
        self._load = load
        self._rate = rate
        self._clock = clock
        self._open = open_without_tokens
        self._by_digest: dict[str, TokenRecord] = {}
        self._ids: frozenset[str] = frozenset()
        self._loaded_at = float("-inf")
        self._loading = asyncio.Lock()

    async def admit(self, headers: Mapping[str, str], needed: Role) -> Caller:
        """Who is calling; refuses a caller without the role, or one who calls too often."""
        await self._refresh(REFRESH_SECONDS)
        if self._open:
            check_same_origin(headers)
            return Caller(None, "admin")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise MissingToken(
                "this service wants a token; send the header 'Authorization: Bearer TOKEN' with one that "
                "'linkedbandits token create' made"
            )
        record = await self._find(digest_of(token.strip()))
        self._rate.spend(record.id)
        if ROLES.index(record.role) < ROLES.index(needed):
            raise AccessDenied(f"a {record.role} may not do this; it takes a token with the role {needed}")
        return Caller(record.id, record.role)

    async def still_admits(self, caller: Caller) -> bool:
        """May a caller who was admitted before stay? While the store is away, as before: there is nothing to see."""
        with suppress(StoreUnavailable):
            await self._refresh(REFRESH_SECONDS)
        if caller.token is None:
            return self._open
        return caller.token in self._ids

    async def _find(self, digest: str) -> TokenRecord:
        if digest not in self._by_digest:
            await self._refresh(RETRY_SECONDS)
        try:
            return self._by_digest[digest]
        except KeyError:
            raise MissingToken(
                "the token is not known, or was revoked; make one with 'linkedbandits token create'"
            ) from None

    async def _refresh(self, age: float) -> None:
        """Read the tokens again if that was last done longer than ``age`` ago; one reading serves all who wait."""
        if self._is_younger_than(age):
            return
        async with self._loading:
            if self._is_younger_than(age):
                return
            records = await asyncio.to_thread(self._load)
            self._by_digest = {record.digest: record for record in records}
            self._ids = frozenset(record.id for record in records)
            self._open = self._open and not records
            self._loaded_at = self._clock()

    def _is_younger_than(self, age: float) -> bool:
        return self._clock() - self._loaded_at <= age


def check_same_origin(headers: Mapping[str, str]) -> None:
    """Refuse what a foreign web page makes a browser on this machine send.

    Without tokens, being on this machine is what gives access, and a browser is. So the host must be spelt as this
    machine (a name that a foreign page has pointed here is not), and the origin, if there is one, must be the host.
    """
    host = headers.get("host", "")
    if _LOCAL_HOST.fullmatch(host) is None:
        raise AccessDenied("without tokens the service answers to 'localhost' alone; use that name, or make a token")
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != host:
        raise AccessDenied("without tokens the service answers to its own page alone; make a token for others")
