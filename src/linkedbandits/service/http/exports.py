"""Downloads of journals: each is written by a process of its own, and there are few at once.

That process shares no lock, no thread and no memory with those who play. What it writes goes on to the caller as fast
as that reads; one who reads nothing, or too slowly, loses the download, and the process is ended.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, aclosing, contextmanager, nullcontext
from typing import IO, Literal, Protocol

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from linkedbandits.errors import LinkedBanditError, ServiceUnavailable, StoreUnavailable
from linkedbandits.service.audit import Actor
from linkedbandits.service.export_process import write_journal
from linkedbandits.service.exporting import check_parquet
from linkedbandits.service.http.access import Caller
from linkedbandits.service.http.logs import log_event
from linkedbandits.service.http.pools import Pool
from linkedbandits.service.http.problems import error_response
from linkedbandits.service.http.unread import cut
from linkedbandits.service.store import Store

MOST = 2
"""Downloads at once in a service process;"""
MOST_A_CALLER = 1
"""and with one token, or for one user of a proxy, so that one caller does not take the place of all others."""
PIECE = 256 * 1024
"""Bytes read at a time."""
PATIENCE = 60.0
"""Seconds that a caller may let a download wait, in all,"""
SECONDS_TO_END = 10.0
"""How long a process may take to end that has written all, or was killed."""
LEAST_BYTES_A_SECOND = 50_000
"""and as long as it takes to read it at this speed."""

_KIND_OF_ERROR = re.compile(r"([A-Za-z_][\w.]*)(:|$)")  # begins the last line of a traceback
_ABOUT_THE_STORE = {"StoreUnavailable", "DamagedRecord"}  # as the process names them

Form = Literal["jsonl", "parquet"]
MEDIA_TYPES: dict[Form, str] = {"jsonl": "application/x-ndjson", "parquet": "application/vnd.apache.parquet"}


class _Source(Protocol):
    """Where the bytes of a download come from; its methods may take a while."""

    def read(self) -> bytes:
        """The next piece, nothing at the end."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class _Process:
    """A process that writes a journal."""

    def __init__(self, address: str, experiment: str, form: Form) -> None:
        command = [sys.executable, "-P", "-m", "linkedbandits.service.export_process"]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the rest
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {"store": address, "experiment": experiment, "form": form}
        with self._process.stdin as stdin:
            stdin.write(json.dumps(order).encode())
        self._written: IO[bytes] = self._process.stdout
        self._reading = threading.Lock()

    def read(self) -> bytes:
        with self._reading:
            piece = self._written.read(PIECE)
            if not piece and self._process.wait(SECONDS_TO_END) != 0:
                raise StoreUnavailable(f"the process that writes a journal has failed: {self._what_failed()}")
            return piece

    def _what_failed(self) -> str:
        """The kind of the error that it ended with; what one says that is not about the store may name labels."""
        self._errors.seek(0)
        last = self._errors.read()[-10_000:].decode(errors="replace").strip().rpartition("\n")[2]
        kind = _KIND_OF_ERROR.match(last)
        if kind is None:
            return f"status {self._process.returncode}"
        return last[:500] if kind[1] in _ABOUT_THE_STORE else kind[1]

    def close(self) -> None:
        self._process.kill()
        with self._reading:  # whoever reads sees the end now
            self._process.wait(SECONDS_TO_END)
            self._written.close()
            self._errors.close()


class _File:
    """A journal written by this process, for a store that no other one can open."""

    def __init__(self, store: Store, experiment: str, form: Form) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the rest
        write_journal(store, experiment, form, self._file)
        self._file.seek(0)

    def read(self) -> bytes:
        return self._file.read(PIECE)

    def close(self) -> None:
        self._file.close()


class Exports:
    """The downloads of a service: counted, limited in number, each with a source of its own.

    ``running`` says how many there are. Each is within ``counting`` as long as it takes.
    """

    def __init__(
        self,
        store: Store,
        pool: Pool,
        clock: Callable[[], float],
        counting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._counting = counting
        self._store = store
        self._pool = pool
        self._clock = clock
        self._callers: Counter[Actor] = Counter()

    @property
    def running(self) -> int:
        """How many downloads there are at this moment."""
        return self._callers.total()

    def download(self, experiment: str, form: Form, caller: Caller) -> Download:
        """The journal of an experiment, as an answer."""
        if form == "parquet":
            check_parquet()
        return Download(self, experiment, form, caller)

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """One of the few places, or ServiceUnavailable."""
        who = caller.actor
        if who.kind != "anyone" and self._callers[who] >= MOST_A_CALLER:
            raise ServiceUnavailable(
                f"a journal is being sent to this {who.kind} already, and more than {MOST_A_CALLER} at once are not; "
                "read that first, or come back in a while"
            )
        if self.running >= MOST:
            raise ServiceUnavailable(f"{MOST} journals are being sent, and no more at once; come back in a while")
        self._callers[who] += 1
        try:
            with self._counting():
                yield
        finally:
            self._callers[who] -= 1
            self._callers += Counter()  # those with none are not kept

    async def pieces(self, experiment: str, form: Form, on_slow: Callable[[], None]) -> AsyncGenerator[bytes]:
        """What is written, piece by piece; ``on_slow`` is called, and it ends, if the caller takes too long."""
        source = await self._opened(experiment, form)
        waited, sent = 0.0, 0
        try:
            while piece := await self._pool.run(source.read):
                since = self._clock()
                yield piece
                waited, sent = waited + self._clock() - since, sent + len(piece)
                if waited > PATIENCE + sent / LEAST_BYTES_A_SECOND:
                    log_event("download-too-slow", experiment=experiment, bytes=sent, seconds=round(waited, 1))
                    on_slow()
                    return
        finally:
            _end(source)

    async def _opened(self, experiment: str, form: Form) -> _Source:
        """It is ended also if the one who wants it is gone before it has begun."""
        opening = asyncio.ensure_future(self._pool.run(self._open, experiment, form))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            opening.add_done_callback(_end_opened)
            raise

    def _open(self, experiment: str, form: Form) -> _Source:
        address = getattr(self._store, "address", None)
        if address is None:
            return _File(self._store, experiment, form)
        return _Process(address, experiment, form)


class Download(StreamingResponse):
    """The answer with a journal. It takes a place when it begins, so that one which never begins keeps none."""

    def __init__(self, exports: Exports, experiment: str, form: Form, caller: Caller) -> None:
        headers = {
            "Content-Disposition": f'attachment; filename="{experiment}.{form}"',
            "Cache-Control": "no-store",
            "X-Accel-Buffering": "no",
        }
        super().__init__(_nothing(), media_type=MEDIA_TYPES[form], headers=headers)
        self._exports, self._experiment, self._form, self._caller = exports, experiment, form, caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, or why not. What fails before the first piece is said; behind that the connection is cut."""
        try:
            with self._exports.place(self._caller):
                pieces = self._exports.pieces(self._experiment, self._form, lambda: cut(scope))
                async with aclosing(pieces):
                    first = await _unless_gone(anext(pieces, b""), receive)
                    if first is None:
                        return
                    self.body_iterator = _behind(first, pieces, scope)
                    await super().__call__(scope, receive, send)
        except LinkedBanditError as error:
            await error_response(error, scope["path"])(scope, receive, send)


def _end(source: _Source) -> None:
    """It may take a moment until a process has ended, and nothing waits for that."""
    threading.Thread(target=source.close, name="export-end").start()


def _end_opened(opening: asyncio.Future[_Source]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        _end(opening.result())


async def _unless_gone(coming: Awaitable[bytes], receive: Receive) -> bytes | None:
    """What comes, which may take long; None if the caller has hung up before."""
    waiting, leaving = asyncio.ensure_future(coming), asyncio.ensure_future(_hung_up(receive))
    try:
        await asyncio.wait({waiting, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else None
    finally:
        for task in (waiting, leaving):
            task.cancel()
        await asyncio.gather(waiting, leaving, return_exceptions=True)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _nothing() -> AsyncGenerator[bytes]:
    return
    yield b""


async def _behind(first: bytes, pieces: AsyncGenerator[bytes], scope: Scope) -> AsyncGenerator[bytes]:
    yield first
    try:
        async for piece in pieces:
            yield piece
    except LinkedBanditError as error:
        log_event("download-failed", reason=str(error))
        cut(scope)  # an end would look like that of the journal
