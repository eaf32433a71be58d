"""Who may do what: bearer tokens with roles, and users whom a proxy has signed in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from linkedbandits.errors import AccessDenied, StoreUnavailable
from linkedbandits.service.audit import Actor
from linkedbandits.service.http.limits import RateLimit
from linkedbandits.service.http.proxy_sign_in import TrustedProxy
from linkedbandits.service.http.sign_ins import RefusedSignIns
from linkedbandits.service.records import Role, TokenRecord
from linkedbandits.service.scopes import EVERYTHING, Scope
from linkedbandits.service.tokens import ROLES, digest_of

REFRESH_SECONDS = 2.0
"""Tokens are read from the store this often, so that a request is not a query; a revoked one lives that much longer."""
RETRY_SECONDS = 0.5
"""A token that is not known yet may have been made a moment ago: the store is asked again, but not more often."""
PATIENCE_SECONDS = 1.0
"""How long a request waits for tokens to be read again; while that takes longer, those that are known count."""
KNOWN_SECONDS = 900.0
"""But not for ever: a token may have been revoked meanwhile."""

_LOCAL_HOST = re.compile(r"(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:\d+)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a request; ``token`` is the identifier of a token, or None on loopback without tokens.

    ``name`` is that of the token, or of a ``user`` whom a proxy has signed in. ``scope`` is what they may see.
    """

    token: str | None
    role: Role
    name: str | None = None
    user: bool = False
    scope: Scope = EVERYTHING

    @property
    def actor(self) -> Actor:
        """For the audit."""
        if self.user:
            return Actor("user", name=self.name)
        return Actor("anyone") if self.token is None else Actor("token", self.token, self.name)


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
        run: Callable[[Callable[[], list[TokenRecord]]], Awaitable[list[TokenRecord]]] = asyncio.to_thread,
        proxy: TrustedProxy | None = None,
        sign_ins: RefusedSignIns | None = None,
    ) -> None:
        """``run`` is where tokens are read: in a thread that does nothing else, since every request may wait for it."""
        self._load = load
        self._run = run
        self._rate = rate
        self._clock = clock
        self._open = open_without_tokens
        self._proxy = proxy
        self._sign_ins = sign_ins or RefusedSignIns(clock)
        self._by_digest: dict[str, TokenRecord] = {}
        self._ids: frozenset[str] = frozenset()
        self._loaded_at = float("-inf")
        self._reading: asyncio.Future[None] | None = None
        self._reading_since = float("-inf")
        self._meanwhile: asyncio.Task[None] | None = None

    async def admit(
        self,
        headers: Mapping[str, str],
        needed: Role,
        client: str | None = None,
        *,
        patient: bool = True,
        counts: bool = True,
    ) -> Caller:
        """Who is calling, from the address ``client``; refuses one without the role.

        One who calls too often is refused as well, if this time ``counts``.
        Without patience the tokens that were last read from the store have to do, and are read again meanwhile: nobody
        waits for a store that is away but those whose token is not known, and they not for long.
        """
        if not patient:
            self._refresh_meanwhile()
            async with _at_most(PATIENCE_SECONDS):
                return await self._admit(headers, needed, client, counts)
        if not self._is_younger_than(REFRESH_SECONDS):
            await self._refresh(REFRESH_SECONDS)
        return await self._admit(headers, needed, client, counts)

    async def _admit(self, headers: Mapping[str, str], needed: Role, client: str | None, counts: bool) -> Caller:
        if self._open:
            check_same_origin(headers)
            return Caller(None, "admin")
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            user = self._named_by_the_proxy(headers, client)
            if user is not None and self._proxy is not None:
                if counts:
                    self._rate.spend(f"user {user}")
                return self._with_role(Caller(None, self._proxy.role, user, user=True), needed, headers, client)
            raise AccessDenied(
                "this service wants a token; send the header 'Authorization: Bearer TOKEN' with one that "
                "'linkedbandits token create' made",
                reason="missing_token",
            )
        try:
            record = await self._find(digest_of(token.strip()))
        except AccessDenied:
            self.refused("unknown token", headers, client)
            raise
        if counts:
            self._rate.spend(record.id)
        caller = Caller(record.id, record.role, record.name, scope=record.scope)
        return self._with_role(caller, needed, headers, client)

    def _named_by_the_proxy(self, headers: Mapping[str, str], client: str | None) -> str | None:
        try:
            return None if self._proxy is None else self._proxy.user_of(headers, client)
        except AccessDenied:
            self.refused("header of the proxy", headers, client)
            raise

    def _with_role(self, caller: Caller, needed: Role, headers: Mapping[str, str], client: str | None) -> Caller:
        if ROLES.index(caller.role) < ROLES.index(needed):
            self.refused("role too low", headers, client)
            raise AccessDenied(f"a {caller.role} may not do this; it takes a token with the role {needed}")
        return caller

    def refused(self, reason: str, headers: Mapping[str, str], client: str | None) -> None:
        """Somebody wanted to do what they may not."""
        address = client if self._proxy is None else self._proxy.address_of(headers, client)
        self._sign_ins.refused(reason, address)

    def know(self, records: list[TokenRecord]) -> None:
        """These are the tokens as they were a moment ago; they are read again before anybody patient is admitted."""
        self._by_digest = {record.digest: record for record in records}
        self._ids = frozenset(record.id for record in records)
        self._open = self._open and not records

    def _refresh_meanwhile(self) -> None:
        if self._is_younger_than(REFRESH_SECONDS) or (self._meanwhile is not None and not self._meanwhile.done()):
            return

        async def refresh() -> None:
            with suppress(StoreUnavailable):
                await self._refresh(REFRESH_SECONDS)

        self._meanwhile = asyncio.create_task(refresh())

    async def still_admits(self, caller: Caller) -> bool:
        """May a caller who was admitted before stay? While the store is away, as before: there is nothing to see."""
        with suppress(StoreUnavailable):
            await self._refresh(REFRESH_SECONDS)
        if caller.user:
            return True  # whether they still are signed in, the proxy alone knows
        if caller.token is None:
            return self._open
        return caller.token in self._ids

    async def _find(self, digest: str) -> TokenRecord:
        if digest not in self._by_digest:
            await self._refresh(RETRY_SECONDS)
        try:
            return self._by_digest[digest]
        except KeyError:
            raise AccessDenied(
                "the token is not known, or was revoked; make one with 'linkedbandits token create'",
                reason="missing_token",
            ) from None

    async def _refresh(self, age: float) -> None:
        """Read the tokens again if that was last done longer than ``age`` ago; one reading serves all who wait.

        Those who were known before are not kept waiting by a store that is away, nor refused.
        """
        if self._is_younger_than(age):
            return
        now = self._clock()
        if self._reading is None or (self._reading.done() and now - self._reading_since >= min(age, RETRY_SECONDS)):
            self._reading, self._reading_since = asyncio.ensure_future(self._read()), now
            self._reading.add_done_callback(lambda read: read.cancelled() or read.exception())  # somebody may look
        if not self._is_younger_than(KNOWN_SECONDS):
            await asyncio.shield(self._reading)
            return
        if not self._reading.done():
            await asyncio.wait({self._reading}, timeout=max(0.0, PATIENCE_SECONDS - (now - self._reading_since)))
        failed = self._reading.exception() if self._reading.done() else None
        if failed is not None and not isinstance(failed, StoreUnavailable):
            raise failed

    async def _read(self) -> None:
        self.know(await self._run(self._load))
        self._loaded_at = self._clock()

    def _is_younger_than(self, age: float) -> bool:
        return self._clock() - self._loaded_at <= age


@asynccontextmanager
async def _at_most(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise StoreUnavailable("the store does not say whether the token is known; try again") from None


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
