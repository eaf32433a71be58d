"""How a command ends at Ctrl-C, or at SIGTERM from a supervisor, and says what is kept.

The first signal raises ``Interrupted`` in the main thread, so that everything unwinds in order. A thread ends the
process at the second signal, and ``SECONDS_TO_END`` after the first: a library deep in a computation of its own, or
code that swallows the exception, cannot hold up the end.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_TO_END = 4.0
"""From the first signal to the end of the process, at the latest."""

_kept: list[str] = []
"""What of the work is kept, the outermost first: of one command at a time."""


class Interrupted(KeyboardInterrupt):
    """A signal asked the process to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_status(stopped: KeyboardInterrupt) -> int:
    """The status that a shell expects of a process that a signal ended."""
    return 128 + (stopped.number if isinstance(stopped, Interrupted) else signal.SIGINT)


@contextmanager
def what_is_kept(text: str) -> Iterator[None]:
    """Say at an interruption within this what of the work is kept, and how to go on."""
    _kept.append(text)
    try:
        yield
    except KeyboardInterrupt as stopped:
        stopped.add_note(text)
        raise  # the text stays in the list: a second signal may come while everything unwinds
    except BaseException:
        _kept.pop()
        raise
    else:
        _kept.pop()


def farewell(stopped: KeyboardInterrupt) -> str:
    """One line for the person who stopped a command."""
    notes = getattr(stopped, "__notes__", ["nothing is kept, and the same command begins anew"])
    return f"linkedbandits: interrupted; {notes[-1]}"


class _RaisedOnce:
    """The handler of both signals; a second exception would cut short the cleaning up after the first."""

    was_raised = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self.was_raised:
            self.was_raised = True
            raise Interrupted(number)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Within this, SIGINT and SIGTERM end the process as said above. For the main thread, once, at its beginning."""
    handler = _RaisedOnce()
    # The system writes a signal's number into this pair at once, even if the main thread is busy in foreign code.
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    # Begun before the handlers are set: an exception raised meanwhile would not be watched.
    threading.Thread(target=_see_to_the_end, args=(reading,), name="sees to the end", daemon=True).start()
    # A signal that is ignored, as by jobs that a shell runs in the background, stays ignored.
    heard = [number for number in _STOP_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    woken_before = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        if handler.was_raised:  # the process is about to end, and is watched until then: this end stays open
            writing.detach()
        else:
            signal.set_wakeup_fd(woken_before)
            for number, handler_before in before.items():
                signal.signal(number, handler_before or signal.SIG_DFL)  # None: not set by Python
            writing.close()  # which ends the thread


def _see_to_the_end(signals: socket.socket) -> None:
    """Wait for a first signal, and then for a second or for the time to be up."""
    with signals:
        first = _next_stop(signals)
        if first:
            signals.settimeout(SECONDS_TO_END)
            with suppress(TimeoutError):
                first = _next_stop(signals) or first
            end_now(first)


def _next_stop(signals: socket.socket) -> int:
    """The number of the next signal to stop; 0 when the other end is closed."""
    while (arrived := signals.recv(1)) and arrived[0] not in _STOP_SIGNALS:
        pass
    return arrived[0] if arrived else 0


@contextmanager
def ended_with_a_line() -> Iterator[None]:
    """The same for a whole command: an interruption ends it with one line and the status that a shell expects."""
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


@contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Keep Ctrl-C from this thread, and for good from the processes and threads that it begins meanwhile.

    A terminal sends Ctrl-C to all processes of a command. The first one alone reacts, and ends the others; a worker
    that began to ignore it by itself would do so too late.
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
    """Undo what polars does to Ctrl-C when it is imported, within :func:`ended_by_signals` alone.

    Its hook ends the call under way with a KeyboardInterrupt, and the interpreter then raises another one, wherever
    the first has led by then. Handlers that are not the command's stay as they are.
    """
    if threading.current_thread() is threading.main_thread():
        for number in _STOP_SIGNALS:
            if isinstance(handler := signal.getsignal(number), _RaisedOnce):
                signal.signal(number, handler)


def leave_signals_to_the_server(stop: Callable[[int, FrameType | None], None]) -> None:
    """For a server that has handlers of its own; ``stop`` is told of signals that come before and after those."""
    signal.set_wakeup_fd(-1)
    for number in _STOP_SIGNALS:
        signal.signal(number, stop)


def end_in_time(number: int) -> None:
    """End the process when it has not ended by itself in time; for handlers of the server's own."""
    last_resort = threading.Timer(SECONDS_TO_END, end_now, [number])
    last_resort.daemon = True
    last_resort.start()


def end_now(number: int) -> None:
    """End the process and leave everything as it is. Workers end with the pipes that lead to them."""
    with suppress(OSError):  # past the interpreter's buffers, which the main thread may hold
        if os.isatty(2):
            os.write(2, b"\r\n\x1b[?25h")  # a progress bar has hidden the cursor
        os.write(2, "; ".join(["linkedbandits: ended at once", *_kept[:1]]).encode() + b"\n")
    os._exit(128 + number)
