"""How a command ends when it is asked to: Ctrl-C, or SIGTERM from whatever supervises it.

The first signal raises ``Interrupted`` in the main thread, once, so that everything unwinds in order: workers are let
go, files are closed. A thread of its own sees to it that this does not last: it ends the process at the second signal,
and when the first has not led to the end in time, be it that some library is deep in a computation of its own. It also
has the exception raised again where it was lost: there is code, mostly in C, that asks for an attribute or compares two
keys and takes any exception for a "no".
"""

from __future__ import annotations

import _thread
import os
import select
import signal
import socket
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_TO_END = 4.0
"""From the first signal to the end of the process, at the latest."""
SECONDS_BETWEEN_LOOKS = 0.2
"""How often it is looked whether the exception was lost."""


_kept: list[str] = []
"""What of the work is kept, the outermost first: of one command at a time."""


class Interrupted(KeyboardInterrupt):
    """A signal asked the process to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_status(stopped: KeyboardInterrupt) -> int:
    """What a shell expects of a process that a signal ended."""
    return 128 + (stopped.number if isinstance(stopped, Interrupted) else signal.SIGINT)


@contextmanager
def what_is_kept(text: str) -> Iterator[None]:
    """Say with an interruption, or an end at once, what of the work is kept, and how to go on."""
    _kept.append(text)
    try:
        yield
    except KeyboardInterrupt as stopped:
        stopped.add_note(text)
        raise  # what is kept stays to be said: a second signal may come while all unwinds
    except BaseException:
        _kept.pop()
        raise
    else:
        _kept.pop()


def farewell(stopped: KeyboardInterrupt) -> str:
    """One line for the person who stopped a command."""
    notes = getattr(stopped, "__notes__", ["nothing is kept, and the same command begins anew"])
    return f"linkedbandits: interrupted; {notes[-1]}"


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within this, SIGINT and SIGTERM end the process as said above. For the main thread, once, at its beginning."""
    exception = _RaisedOnce()
    # The system writes a signal's number into this pair at once, even if the main thread is busy in foreign code.
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    watching = threading.Thread(target=_see_to_the_end, args=(reading, exception), name="sees to the end", daemon=True)
    watching.start()  # before the handlers: it takes a while, and what is raised meanwhile would find nobody
    # What was told to ignore a signal, as a shell tells jobs in the background, goes on ignoring it.
    heard = [number for number in STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, exception.raise_it) for number in heard}
    woken_before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        exception.arrived = True
        if exception.was_raised:  # the process is about to end, and is watched until then: this end stays open
            writing.detach()
        else:
            signal.set_wakeup_fd(woken_before)
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)  # None: it was set by something else than Python
            writing.close()  # which ends the thread


@contextmanager
def ended_with_a_line() -> Iterator[None]:
    """The same for a whole command: what a signal interrupts ends with one line and the status that a shell expects."""
    try:
        with ended_by_signals():
            yield
    except SystemExit:
        raise
    except BaseException as error:
        stopped = interruption_behind(error)
        if stopped is None:
            raise
        print(farewell(stopped), file=sys.stderr)
        sys.exit(exit_status(stopped))


def interruption_behind(error: BaseException) -> KeyboardInterrupt | None:
    """The interruption that led to an error, if one did: some code (that makes a class, say) wraps all it catches."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__cause__ or found.__context__
    return found


class _RaisedOnce:
    """The exception that the first signal raises, and whether it is still on its way.

    As long as it is, something refers to it: the interpreter that unwinds, or what cleans up meanwhile. ``arrived`` is
    set when everything has unwound.
    """

    def __init__(self) -> None:
        self.arrived = False
        self._raised: weakref.ref[Interrupted] | None = None

    @property
    def was_raised(self) -> bool:
        """Has there been a signal?"""
        return self._raised is not None

    @property
    def was_lost(self) -> bool:
        """Was it caught and forgotten on its way?"""
        return self._raised is not None and self._raised() is None and not self.arrived

    def raise_it(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal; a second exception would cut short the cleaning up after the first."""
        if not self.was_raised or self.was_lost:
            stopped = Interrupted(number)
            self._raised = weakref.ref(stopped)
            try:
                raise stopped
            finally:
                del stopped  # else this frame, which it refers to, would keep it


@contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Keep Ctrl-C from this thread, and from the processes and threads that it begins meanwhile, for good.

    A terminal sends it to all processes of a command; the first one alone is to hear it, and lets the others go. For
    them to ignore it by themselves would come too late for those that are just beginning.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker  # needs what only such systems have

    resource_tracker.ensure_running()  # else it begins with the first process, and unblocks Ctrl-C just then
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def take_back_signals() -> None:
    """Undo what libraries do to Ctrl-C when they are imported, within :func:`ended_by_signals` alone.

    polars puts a hook of its own before the interpreter's: it ends the call that is under way with a KeyboardInterrupt,
    and the interpreter then raises another one, wherever the first has led by then. Call this right after the import.
    Handlers that are not the command's stay as they are: they belong to the process that uses the library.
    """
    if threading.current_thread() is threading.main_thread():
        for number in STOP_SIGNALS:
            handler = signal.getsignal(number)
            if handler is not None and isinstance(getattr(handler, "__self__", None), _RaisedOnce):
                signal.signal(number, handler)


def leave_signals_to_the_server(stop: Callable[[int, FrameType | None], None]) -> None:
    """For a server that listens to signals itself, and says with ``end_in_time`` and ``end_now`` what they do.

    ``stop`` is told of those that come before it listens, and of those that it passes on when it has stopped.
    """
    signal.set_wakeup_fd(-1)
    for number in STOP_SIGNALS:
        signal.signal(number, stop)


def end_in_time(number: int) -> None:
    """End the process when it has not ended by itself in time; for who has handlers of signals of its own."""
    last_resort = threading.Timer(SECONDS_TO_END, end_now, [number])
    last_resort.daemon = True
    last_resort.start()


def _see_to_the_end(signals: socket.socket, exception: _RaisedOnce) -> None:
    """Wait for a first signal, and then for a second or for the time to be up."""
    first: int | None = None
    deadline = 0.0
    our_own = 0  # what we send ourselves comes back like the others
    with signals:
        while True:
            something = select.select([signals], [], [], None if first is None else SECONDS_BETWEEN_LOOKS)[0]
            if first is not None and time.monotonic() >= deadline:
                end_now(first)
            if not something:
                if first is not None and exception.was_lost and our_own == 0:
                    our_own = 1
                    _send_to_main_thread(first)
                continue
            arrived = signals.recv(1)
            if not arrived:  # the other end is closed: the process goes on without being watched
                return
            if arrived[0] not in STOP_SIGNALS:
                continue
            if our_own > 0 and arrived[0] == first:
                our_own -= 1
                continue
            if first is not None:
                end_now(arrived[0])
            first, deadline = arrived[0], time.monotonic() + SECONDS_TO_END


def _send_to_main_thread(number: int) -> None:
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, number)  # which also wakes it up
    else:
        _thread.interrupt_main(signal.Signals(number))


def end_now(number: int) -> None:
    """End the process and leave everything as it is. Workers end with the pipes that lead to them."""
    with suppress(OSError):  # past the interpreter's buffers, which the main thread may hold
        if os.isatty(2):
            os.write(2, b"\r\n\x1b[?25h")  # a progress bar has hidden the cursor
        os.write(2, "; ".join(["linkedbandits: ended at once", *_kept[:1]]).encode() + b"\n")
    os._exit(128 + number)


__all__ = [
    "STOP_SIGNALS",
    "Interrupted",
    "ctrl_c_blocked",
    "end_in_time",
    "end_now",
    "ended_by_signals",
    "ended_with_a_line",
    "exit_status",
    "farewell",
    "interruption_behind",
    "leave_signals_to_the_server",
    "take_back_signals",
    "what_is_kept",
]
