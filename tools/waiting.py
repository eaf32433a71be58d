"""Waiting in tests and benchmarks: never for ever, and a wait in vain says for what.

The bounds are there for code that is broken. On code that works none is ever reached, however slow the machine is.
"""

from __future__ import annotations

import asyncio
import subprocess
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS = 240.0
"""Less than a test may take in all, so that the test says itself what it waited for."""


def until(condition: Callable[[], T], what: str, seconds: float = SECONDS) -> T:
    """What the condition gives as soon as it holds."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds:g} seconds in vain for {what}"
        time.sleep(0.01)
    return found


def within(items: Iterable[T], what: str, seconds: float = SECONDS) -> Iterator[T]:
    """The items of something that is expected to end, or to bring what is looked for."""
    deadline = time.monotonic() + seconds
    for item in items:
        assert time.monotonic() < deadline, f"waited {seconds:g} seconds in vain for {what}"
        yield item


def join(*threads: threading.Thread, seconds: float = SECONDS) -> None:
    """Wait for threads to end."""
    for thread in threads:
        thread.join(seconds)
        assert not thread.is_alive(), f"waited {seconds:g} seconds in vain for the end of {thread.name}"


def run_async(work: Coroutine[Any, Any, T], seconds: float = SECONDS) -> T:
    """What a coroutine returns, run in an event loop of its own."""

    async def run() -> T:
        async with asyncio.timeout(seconds):
            return await work

    return asyncio.run(run())


@contextmanager
def killed_in_the_end(process: subprocess.Popen[Any], seconds: float = SECONDS) -> Iterator[None]:
    """Kill the process when the context ends, or when the time is up: who reads what it writes then sees an end."""
    watchdog = threading.Timer(seconds, process.kill)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        process.kill()
        process.wait(SECONDS)
