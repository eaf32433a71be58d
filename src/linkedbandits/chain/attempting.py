"""One option of a chain: how it is called, and how long it may take.

Python cannot stop a function that runs. So where an option has a timeout a call without ``await`` runs it in a thread
of its own, and does not wait for it longer than that; the thread goes on until the function returns, and what that
returns is not used. Awaited, an option that is a coroutine function is cancelled.

A plain function is run in a thread of its own whenever it is awaited, so that the event loop goes on meanwhile. An
option that can do both says so as a chain does: it is called without ``await``, and its ``acall`` is awaited. If it has
a method ``drop``, that is given what comes after the timeout, to close it.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from linkedbandits.errors import AttemptTimedOut, InvalidParameter
from linkedbandits.model import Label

Function = Callable[..., Any]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Option:
    """A labelled callable with its timeout in seconds, if it has one."""

    __slots__ = ("acall", "awaited", "drop", "function", "label", "timeout")

    def __init__(self, label: Label, function: Function, timeout: float | None) -> None:
        if not callable(function):
            raise InvalidParameter(f"option {label!r} is {function!r}, which cannot be called; give a function")
        self.label = label
        self.function = function
        self.timeout = timeout
        self.awaited = is_awaited(function)
        acall = getattr(function, "acall", None)
        self.acall: Function | None = acall if acall is not None and is_awaited(acall) else None
        drop = getattr(function, "drop", None)
        self.drop: Function | None = drop if callable(drop) else None

    def run(self, arguments: Arguments) -> Any:
        """Call it and wait. Raises what it raises, or :class:`AttemptTimedOut`."""
        positional, named = arguments
        if self.timeout is None:
            value = self.function(*positional, **named)
        else:
            value = self._in_a_thread(arguments, self.timeout)
        if hasattr(value, "__await__"):
            discard(value)
            raise NeedsAwaiting(needs_acall(self.label))
        return value

    async def arun(self, arguments: Arguments) -> Any:
        """Call it and await. Raises what it raises, or :class:`AttemptTimedOut`."""
        if self.timeout is None:
            return await self._awaited(arguments)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                value = await self._awaited(arguments)
        except Exception as error:
            if limit.expired():
                raise AttemptTimedOut(self._too_long()) from error
            raise
        if limit.expired():  # it held on when it was cancelled, and came back too late
            raise AttemptTimedOut(self._too_long())
        return value

    async def _awaited(self, arguments: Arguments) -> Any:
        positional, named = arguments
        if self.acall is not None:
            return await self.acall(*positional, **named)
        if self.awaited:
            return await self.function(*positional, **named)
        value = await in_a_thread_awaited(self.function, arguments)
        return await value if hasattr(value, "__await__") else value

    def _in_a_thread(self, arguments: Arguments, seconds: float) -> Any:
        done = threading.Event()
        outcome: list[tuple[bool, Any]] = []

        given_up = threading.Lock()  # taken by the one who decides whether the value comes in time

        def keep(ended: tuple[bool, Any]) -> None:
            if given_up.acquire(blocking=False):
                outcome.append(ended)
                done.set()
            elif self.drop is not None and ended[0]:
                self.drop(ended[1])

        start_thread(self.function, arguments, keep)
        if not done.wait(seconds) and given_up.acquire(blocking=False):
            raise AttemptTimedOut(self._too_long())
        done.wait(seconds)  # which is a moment: the value is being kept
        return value_of(outcome.pop())

    def _too_long(self) -> str:
        return f"{self.label!r} took longer than its timeout of {self.timeout:g} s"


class NeedsAwaiting(InvalidParameter):
    """Something that has to be awaited, where nothing is."""


def needs_acall(label: Label) -> str:
    """What to do about an option that has to be awaited."""
    return f"option {label!r} has to be awaited; call the chain as: await chain.acall(...)"


def is_awaited(function: Function) -> bool:
    """Does calling it give something to await? Functions that return a coroutine without saying so are not known."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def discard(value: Any) -> None:
    """Close a coroutine that will not be awaited, so that Python does not warn of it."""
    if inspect.iscoroutine(value):
        value.close()


def start_thread(function: Function, arguments: Arguments, keep: Callable[[tuple[bool, Any]], None]) -> None:
    """Run a function in a daemon thread with the caller's context, and keep what it came to.

    Where the system has no thread left it runs here: to serve late is better than not to serve.
    """
    positional, named = arguments
    context = contextvars.copy_context()

    def work() -> None:
        try:
            ended = (True, context.run(function, *positional, **named))
        except BaseException as error:
            ended = (False, error)
        keep(ended)
        del ended  # an error knows this frame: else both would wait for the collector of reference cycles

    try:
        threading.Thread(target=work, name="linkedbandits-attempt", daemon=True).start()
    except RuntimeError:
        work()


async def in_a_thread_awaited(function: Function, arguments: Arguments) -> Any:
    """What a plain function returns, while the event loop goes on."""
    loop = asyncio.get_running_loop()
    waiting: asyncio.Future[None] = loop.create_future()
    outcome: list[tuple[bool, Any]] = []

    def settle(ended: tuple[bool, Any]) -> None:
        if not waiting.done():
            outcome.append(ended)
            waiting.set_result(None)

    def keep(ended: tuple[bool, Any]) -> None:
        try:
            loop.call_soon_threadsafe(settle, ended)
        except RuntimeError:  # the loop was closed meanwhile, so nothing waits for it any more
            discard(ended[1])

    start_thread(function, arguments, keep)
    await waiting
    return value_of(outcome.pop())


def value_of(ended: tuple[bool, Any]) -> Any:
    """The value that a function returned; raises what it raised."""
    returned, value = ended
    if returned:
        return value
    try:
        raise value
    finally:
        del ended, value  # which know this frame by now
