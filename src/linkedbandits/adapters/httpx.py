"""Mirrors behind an httpx client: a request to the first of them is answered by any that works.

    transport = MirrorTransport(["https://a.example/simple", "https://b.example/simple"], delta=0.05)
    with httpx.Client(transport=transport) as client:
        client.get("https://a.example/simple/numpy/")

The code that makes requests stays as it is. ``docs/chains-with-httpx.md`` says what counts as a failure, and what a
client gets if all mirrors fail.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from linkedbandits.chain import Chain, Result
from linkedbandits.errors import AttemptTimedOut, ChainFailed, InvalidParameter, MissingExtra
from linkedbandits.model import Label

try:
    import httpx
except ModuleNotFoundError as missing:
    raise MissingExtra("mirrors need httpx; install it with: pip install 'linkedbandits[httpx]'") from missing

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"})
"""Methods that do the same if they are done twice, by RFC 9110."""
MIRROR, TRIED = "linkedbandits.mirror", "linkedbandits.tried"
"""Where the extensions of a response have the mirror that gave it, and all that were asked, in order."""
BUSY = frozenset({408, 425, 429})
"""Statuses below 500 that speak of the server and not of the request."""


class MirrorFailed(httpx.HTTPError):
    """A response of a mirror that counts as a failure; ``response`` has been read."""

    def __init__(self, response: httpx.Response) -> None:
        super().__init__(f"the mirror answered with status {response.status_code}")
        self.response = response


def status_fails(response: httpx.Response) -> bool:
    """Is it the mirror's fault? That is said of 408, 425, 429 and all from 500 on.

    >>> [status_fails(httpx.Response(status)) for status in (200, 304, 404, 429, 503)]
    [False, False, False, True, True]
    """
    return response.status_code >= 500 or response.status_code in BUSY


class MirrorTransport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport, for ``httpx.Client`` and ``httpx.AsyncClient``, that asks mirrors until one works.

    ``mirrors`` are their addresses, in a list or by name. Requests to addresses that begin with that of the first
    mirror may go to any; all others are sent as they are. A mirror fails with a transport error, such as a timeout, or
    if ``fails`` says so of its response: the next is tried then. If all fail the client gets what came of the last.

    Methods that may not be done twice, such as POST, are refused; allow them with ``methods=IDEMPOTENT | {"POST"}``.
    With ``whole=True`` the body is read in the attempt, so that one that ends too early is a failure of the mirror.

    ``transport`` and ``async_transport`` send the requests, by default those of httpx. All else goes to
    :class:`~linkedbandits.Chain`, which is the attribute ``chain``.
    """

    def __init__(
        self,
        mirrors: Sequence[str] | Mapping[str, str],
        *,
        fails: Callable[[httpx.Response], bool] = status_fails,
        methods: Collection[str] = IDEMPOTENT,
        whole: bool = False,
        transport: httpx.BaseTransport | None = None,
        async_transport: httpx.AsyncBaseTransport | None = None,
        **chain: Any,
    ) -> None:
        addresses = check_mirrors(mirrors)
        self._base = next(iter(addresses.values()), httpx.URL())
        self._methods = frozenset(method.upper() for method in methods)
        self._transport = transport
        self._async_transport = async_transport
        self._making = threading.Lock()  # of those two, by the first request
        for name in ("failures", "worked"):
            if name in chain:
                raise InvalidParameter(f"{name} is given; say what fails with fails=lambda response: ...")
        options: dict[Label, Callable[..., Any]] = {
            name: Mirror(self, address, fails, whole) for name, address in addresses.items()
        }
        self.chain = Chain(options, failures=(httpx.TransportError, MirrorFailed), **chain)

    @property
    def transport(self) -> httpx.BaseTransport:
        """What sends requests without ``await``."""
        with self._making:
            if self._transport is None:
                self._transport = httpx.HTTPTransport()
            return self._transport

    @property
    def async_transport(self) -> httpx.AsyncBaseTransport:
        """What sends requests that are awaited."""
        with self._making:
            if self._async_transport is None:
                self._async_transport = httpx.AsyncHTTPTransport()
            return self._async_transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the first mirror that works."""
        if not self._mirrored(request):
            return self.transport.handle_request(request)
        request.read()  # a body that can be sent more than once
        try:
            return with_names(self.chain(request))
        except ChainFailed as failed:
            last = last_cause(failed)
        try:
            return response_of(last)
        finally:
            del last  # which knows this frame if it was raised

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the first mirror that works."""
        if not self._mirrored(request):
            return await self.async_transport.handle_async_request(request)
        await request.aread()
        try:
            return with_names(await self.chain.acall(request))
        except ChainFailed as failed:
            last = last_cause(failed)
        try:
            return response_of(last)
        finally:
            del last  # which knows this frame if it was raised

    def close(self) -> None:
        """Let go of connections and of what the chain holds; what was learned is kept."""
        self.chain.close()
        if self._transport is not None:
            self._transport.close()

    async def aclose(self) -> None:
        """The same, for an async client."""
        self.chain.close()
        if self._async_transport is not None:
            await self._async_transport.aclose()

    def _mirrored(self, request: httpx.Request) -> bool:
        """Is it for all mirrors? Refuse methods that may not be done twice."""
        if below(request.url, self._base) is None:
            return False
        if request.method.upper() not in self._methods:
            raise InvalidParameter(
                f"{request.method} may be done twice if a mirror does it and its answer is lost; if that does no harm "
                f"allow it with methods=IDEMPOTENT | {{{request.method!r}}}, else use a client without mirrors"
            )
        return True

    def _moved(self, request: httpx.Request, address: httpx.URL) -> httpx.Request:
        """The same request to a mirror."""
        path = below(request.url, self._base) or b""
        url = address.copy_with(raw_path=address.raw_path.rstrip(b"/") + path)
        headers = request.headers.copy()
        headers["Host"] = url.netloc.decode("ascii")
        return httpx.Request(
            request.method, url, headers=headers, stream=request.stream, extensions=dict(request.extensions)
        )


class Mirror:
    """An option of the chain: a request, sent to one of the mirrors."""

    def __init__(
        self, transport: MirrorTransport, address: httpx.URL, fails: Callable[[httpx.Response], bool], whole: bool
    ) -> None:
        self._owner = transport
        self._address = address
        self._fails = fails
        self._whole = whole

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Its response, or an error if that counts as a failure."""
        moved = self._owner._moved(request, self._address)
        response = self._owner.transport.handle_request(moved)
        response.request = moved
        unread = False
        try:
            failed = self._fails(response)
            unread = not failed and not self._whole
            body = b"" if unread else b"".join(response.iter_raw())
        finally:
            if not unread:
                response.close()
        return finished(response if unread else with_body(response, body), failed)

    def drop(self, response: httpx.Response) -> None:
        """Close a response that has come too late, or its connection would be taken for good."""
        response.close()

    async def acall(self, request: httpx.Request) -> httpx.Response:
        """The same, awaited."""
        moved = self._owner._moved(request, self._address)
        response = await self._owner.async_transport.handle_async_request(moved)
        response.request = moved
        unread = False
        try:
            failed = self._fails(response)
            unread = not failed and not self._whole
            body = b"" if unread else b"".join([chunk async for chunk in response.aiter_raw()])
        finally:
            if not unread:
                await response.aclose()
        return finished(response if unread else with_body(response, body), failed)


def check_mirrors(mirrors: Sequence[str] | Mapping[str, str]) -> dict[str, httpx.URL]:
    """The addresses by name, or an error that says which is none."""
    if isinstance(mirrors, str):
        raise InvalidParameter(f"mirrors={mirrors!r} is one address; give a list of at least two")
    named = mirrors if isinstance(mirrors, Mapping) else {address: address for address in mirrors}
    addresses = {}
    for name, address in named.items():
        url = httpx.URL(address)
        if not url.host or url.scheme not in ("http", "https") or url.query or url.fragment:
            raise InvalidParameter(
                f"mirror {address!r} is no address with a host; give one such as 'https://a.example/simple'"
            )
        addresses[name] = url
    return addresses


def below(url: httpx.URL, base: httpx.URL) -> bytes | None:
    """What of an address comes behind that of the first mirror, with its slash; None if it is somewhere else.

    >>> below(httpx.URL("https://a.example/simple/numpy/?q=1"), httpx.URL("https://a.example/simple"))
    b'/numpy/?q=1'
    >>> below(httpx.URL("https://a.example/simpler"), httpx.URL("https://a.example/simple"))
    """
    if (url.scheme, url.host, url.port) != (base.scheme, base.host, base.port):
        return None
    prefix = base.raw_path.rstrip(b"/")
    path, query, rest = url.raw_path.partition(b"?")
    if path != prefix and not path.startswith(prefix + b"/"):
        return None
    return path[len(prefix) :] + query + rest


def with_body(response: httpx.Response, body: bytes) -> httpx.Response:
    """The same response with a body that was read from the wire, and not decoded."""
    return httpx.Response(
        response.status_code,
        headers=response.headers,
        stream=httpx.ByteStream(body),
        extensions=response.extensions,
        request=response.request,
    )


def finished(response: httpx.Response, failed: bool) -> httpx.Response:
    """The response of an attempt; raises it if it counts as a failure."""
    if failed:
        raise MirrorFailed(response)
    if "Location" in response.headers:  # which a client would look for at the first mirror
        response.headers["Location"] = str(response.request.url.join(response.headers["Location"]))
    return response


def with_names(result: Result) -> httpx.Response:
    """The response of a call, with the names of mirrors in its extensions."""
    response: httpx.Response = result.value
    response.extensions[MIRROR] = result.option
    response.extensions[TRIED] = result.tried
    return response


def last_cause(failed: ChainFailed) -> Exception:
    """The error of the last mirror that was tried, which says that all have failed."""
    cause = failed.causes[failed.tried[-1]]
    if isinstance(cause, AttemptTimedOut):  # as a client without mirrors would say it
        cause = httpx.ReadTimeout(str(cause))
    cause.add_note(f"{failed}; this is what came of the last")
    if isinstance(cause, MirrorFailed):
        cause.response.extensions[TRIED] = failed.tried
    return cause


def response_of(last: Exception) -> httpx.Response:
    """The response of the last mirror, if there is one; else its error is raised."""
    if isinstance(last, MirrorFailed):
        return last.response
    try:
        raise last
    finally:
        del last
