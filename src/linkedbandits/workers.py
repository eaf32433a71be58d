"""Work shared out to processes of this machine, any of which may die at any moment.

A worker has a line of its own, a pair of connected sockets, and a thread of this process tends it: hands it a piece of
work, waits for what comes back, and hands it the next. Workers share nothing, so one that is killed in the middle of a
message leaves half a message on its own line and nothing else. That line then ends, which is noticed at once; a new
worker takes its place, and the piece is run again.
"""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import pickle
import queue
import signal
import socket
import struct
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

from linkedbandits.errors import EngineFailure, InvalidParameter
from linkedbandits.signals import ctrl_c_blocked

MOST_DEATHS = 5
"""Workers that may die over one piece before the fault is taken to be the piece's."""

_AHEAD = 2
"""Pieces that wait for each worker, so that a slow reader of results keeps no worker idle."""
_SECONDS_TO_END = 2.0
"""How long killed processes, and the threads that tended them, may take to be gone."""
_SECONDS_BETWEEN_LOOKS = 1.0
_STARTS = 20
_SECONDS_BETWEEN_STARTS = 0.1
"""How often a worker is tried to be started before that counts as a death, and how long to wait in between."""

P = TypeVar("P")
R = TypeVar("R")

_log = logging.getLogger(__name__)


def usable_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_pieces(
    function: Callable[[P], R],
    pieces: Iterable[P],
    *,
    workers: int,
    name_of: Callable[[P], str],
    remedy: str,
) -> Generator[tuple[P, R], None, None]:
    """Run the function on every piece, and give back each piece with its result, in the order they finish.

    The function must be one that another process can import. What it raises is raised here. A piece whose worker dies
    is run again; when ``MOST_DEATHS`` have died over the same one, an error names that piece, how the last worker
    ended, and the ``remedy``. Whatever the error, everything that is finished is given back before it. Close the
    generator to end the workers before all is done.
    """
    if workers < 1:
        raise InvalidParameter(f"{workers} workers can do nothing; give at least one")
    source = iter(pieces)
    crew: _Crew[P] = _Crew(function, workers, name_of, remedy)
    unfinished = 0
    fault: Exception | None = None
    wanted = workers * (1 + _AHEAD)
    try:
        while True:
            try:
                for piece in islice(source, wanted if fault is None else 0):
                    crew.hand_out(piece)
                    unfinished += 1
            except Exception as error:  # of who makes the pieces, or one that cannot be sent: no more are handed out
                fault = error
            if not unfinished:
                break
            errand, outcome = crew.next_outcome()
            unfinished -= 1
            wanted = 1
            if isinstance(outcome, Exception):
                for finished, late in crew.outcomes_so_far():
                    if not isinstance(late, Exception):
                        yield finished.piece, late.result
                raise outcome
            yield errand.piece, outcome.result
        if fault is not None:
            raise fault
    finally:
        crew.end()


@dataclass(eq=False)
class _Errand(Generic[P]):
    """A piece on its way to a worker, and how many workers have died over it."""

    piece: P
    name: str
    message: _Message
    deaths: int = 0


@dataclass(frozen=True)
class _Finished:
    """What the function made of a piece."""

    result: Any


class _WorkerDied(Exception):
    """A worker ended before it had sent a whole result; says how."""


_Outcome = _Finished | Exception


class _Crew(Generic[P]):
    """The workers of one run, each with the thread that tends it. Nothing but the two queues is shared."""

    def __init__(self, function: Callable[[P], Any], workers: int, name_of: Callable[[P], str], remedy: str) -> None:
        self._function = function
        self._owner = os.getpid()
        self._name_of = name_of
        self._remedy = remedy
        # Forking this process would copy the locks of its threads, held as they happen to be. A fork server has none.
        methods = multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            self._context.set_forkserver_preload([function.__module__])
        self._todo: queue.SimpleQueue[_Errand[P] | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[tuple[_Errand[P], _Outcome]] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._running: set[_Worker] = set()
        self._ended = threading.Event()
        # Before multiprocessing's own: that would end the workers, and wait for those that take their place.
        atexit.register(self.end)
        self._threads = [
            threading.Thread(target=self._tend, name=f"tends worker {number}", daemon=True) for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def hand_out(self, piece: P) -> None:
        """Let the next worker that has nothing to do take this piece."""
        # As it is now: the caller may change it before a worker takes it.
        message = [pickle.dumps((self._function, piece), pickle.HIGHEST_PROTOCOL)]
        self._todo.put(_Errand(piece, self._name_of(piece), message))

    def next_outcome(self) -> tuple[_Errand[P], _Outcome]:
        """Wait for a piece to be finished, or given up."""
        while True:
            try:
                return self._outcomes.get(timeout=_SECONDS_BETWEEN_LOOKS)
            except queue.Empty:
                if not any(thread.is_alive() for thread in self._threads):
                    raise EngineFailure(f"no thread tends the workers any more; {self._remedy}") from None

    def outcomes_so_far(self) -> Iterable[tuple[_Errand[P], _Outcome]]:
        """What has come in already."""
        while not self._outcomes.empty():
            yield self._outcomes.get(timeout=_SECONDS_BETWEEN_LOOKS)

    def end(self) -> None:
        """Kill the workers, whatever they are doing, and let the threads go."""
        if os.getpid() != self._owner:  # a fork of the process, whose workers these are not
            return
        self._ended.set()
        deadline = time.monotonic() + _SECONDS_TO_END
        if self._starting.acquire(timeout=_SECONDS_TO_END):  # from here on none is started
            try:
                for worker in self._running:
                    worker.kill()
            finally:
                self._starting.release()
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        atexit.unregister(self.end)

    def _tend(self) -> None:
        """Keep one worker at work, and replace it when it dies."""
        worker: _Worker | None = None
        while (errand := self._todo.get()) is not None:  # end() puts the None
            try:
                if worker is not None and worker.is_gone():  # died between two pieces: neither is to blame
                    self._dismiss(worker)
                    worker = None
                worker = worker or self._start()
                outcome = self._done(errand, worker)
            except _WorkerDied as died:
                how = str(died) if worker is None else self._dismiss(worker)
                worker = None
                errand.deaths += 1
                if errand.deaths < MOST_DEATHS and not self._ended.is_set():
                    _log.warning("a worker died over %s, which is run again: %s", errand.name, how)
                    self._todo.put(errand)
                    continue
                workers = "a worker" if errand.deaths == 1 else f"{errand.deaths} workers"
                outcome = EngineFailure(f"{workers} died over {errand.name}, the last {how}; {self._remedy}")
            except BaseException as error:  # whatever reading a result may do, the thread goes on
                outcome = EngineFailure(f"{errand.name} could not be run ({error!r}); {self._remedy}")
                outcome.__cause__ = error
            self._outcomes.put((errand, outcome))
        if worker is not None:
            self._dismiss(worker)

    def _done(self, errand: _Errand[P], worker: _Worker) -> _Outcome:
        """What comes of a piece: its result, or what was raised instead."""
        succeeded, content, where = _unpacked(worker.do(errand.message))
        if succeeded:
            return _Finished(content)
        if isinstance(content, MemoryError):
            return EngineFailure(f"a worker ran out of memory over {errand.name}; {self._remedy}")
        if isinstance(content, StopIteration):  # which no generator can raise
            return EngineFailure(f"{errand.name} raised {content!r}; {self._remedy}")
        content.add_note(f"Raised in a worker process, over {errand.name}:\n{where}")
        assert isinstance(content, Exception)
        return content

    def _start(self) -> _Worker:
        """A new worker. Where the fork server has just died, it takes a moment until another one can be begun."""
        for _ in range(_STARTS - 1):
            with suppress(EOFError, OSError):
                return self._start_once()
            if self._ended.wait(_SECONDS_BETWEEN_STARTS):
                break
        try:
            return self._start_once()
        except (EOFError, OSError) as error:
            raise _WorkerDied(f"not even started ({error})") from error

    def _start_once(self) -> _Worker:
        with self._starting:
            if self._ended.is_set():
                raise EOFError("the run is over")
            with ctrl_c_blocked():
                worker = _Worker(self._context)
            if self._ended.is_set():  # that took longer than end() has waited for
                worker.kill()
                worker.end()
                raise EOFError("the run is over")
            self._running.add(worker)
            return worker

    def _dismiss(self, worker: _Worker) -> str:
        # Under the lock, because a process that starts looks after all others of multiprocessing, and two threads that
        # ask at once how one ended take the answer from each other.
        with self._starting:
            self._running.discard(worker)
            return worker.end()


class _Worker:
    """A process and this end of its line."""

    def __init__(self, context: Any) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()  # with this end open here, the line would not end when the worker does
        self._line = _Line(ours)
        # Nor would it where a piece has left a child behind, which has a copy of the other end.
        threading.Thread(target=self._hang_up_when_it_dies, name="watches a worker", daemon=True).start()

    def do(self, message: _Message) -> _Message:
        """Send a piece of work and wait for the whole of its result."""
        try:
            self._line.send(message)
            return self._received()
        except (EOFError, OSError) as error:
            raise _WorkerDied from error

    def _received(self) -> _Message:
        return self._line.receive()

    def is_gone(self) -> bool:
        """Did it die while it had nothing to do? Only the end of its line can be read then."""
        return self._line.has_something()

    def kill(self) -> None:
        """End the process at once; a reader that waits for its result gets the end of the line."""
        self._process.kill()
        self._line.hang_up()  # which ends it, too, should the system no longer know it as ours

    def end(self) -> str:
        """Be rid of the process and the line, and say how the process ended."""
        self._line.hang_up()
        self._line.close()
        self._process.join(_SECONDS_TO_END)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            return "stuck, and its line closed"
        if code >= 0:
            return f"ended by itself, with status {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:  # most of the real-time signals have none
            name = f"signal {-code}"
        return f"killed by {name}" + (", as the system does when memory runs out" if name == "SIGKILL" else "")

    def _hang_up_when_it_dies(self) -> None:
        wait([self._process.sentinel])  # until the process ends, and every one does in the end
        self._line.hang_up()


_Message = Sequence[bytes | bytearray | memoryview]
"""Something pickled, followed by its large arrays as they lie in memory: no copy is made of those on the way."""


def _packed(content: object) -> _Message:
    arrays: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(content, pickle.HIGHEST_PROTOCOL, buffer_callback=arrays.append)
    return [pickled, *(array.raw() for array in arrays)]


def _unpacked(message: _Message) -> Any:
    pickled, *arrays = message
    return pickle.loads(pickled, buffers=arrays)


class _Line:
    """One end of a pair of connected sockets, over which whole messages travel.

    Connections of multiprocessing do the same, at about eight times the cost for messages of half a megabyte: they
    allocate, for every bit that has arrived, as much memory as is still to come.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def send(self, message: _Message) -> None:
        """Send a whole message: how many parts, how long they are, and the parts."""
        self._end.sendall(struct.pack(f"!{1 + len(message)}Q", len(message), *map(len, message)))
        for part in message:
            self._end.sendall(part)

    def receive(self) -> _Message:
        """Wait for a whole message; an EOFError if the line ends before."""
        (parts,) = struct.unpack("!Q", self._exactly(8))
        return [self._exactly(length) for length in struct.unpack(f"!{parts}Q", self._exactly(8 * parts))]

    def has_something(self) -> bool:
        """Has anything arrived, be it the end of the line?"""
        return bool(wait([self._end], 0))

    def hang_up(self) -> None:
        """End the line for both sides, even if other processes hold copies; what has arrived can still be read."""
        with suppress(OSError):  # it has ended already, or is closed
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the socket back; the line may not be used any more."""
        self._end.close()

    def _exactly(self, length: int) -> bytearray:
        received = bytearray(length)
        rest = memoryview(received)
        while rest:
            arrived = self._end.recv_into(rest)
            if not arrived:
                raise EOFError("the line has ended")
            rest = rest[arrived:]
        return received


def _serve(end: socket.socket) -> None:
    """What a worker does until its line ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    line = _Line(end)
    inbox: queue.SimpleQueue[_Message] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(line, inbox), daemon=True).start()
    while True:
        reply = _reply(inbox.get())  # ends with the process, which ends with the line
        try:
            line.send(reply)
        except OSError:
            os._exit(0)


def _listen(line: _Line, inbox: queue.SimpleQueue[_Message]) -> None:
    """Take in messages even while a piece is being worked on, so that the end of the line ends that work."""
    try:
        while True:
            inbox.put(line.receive())
    except (EOFError, OSError):  # the process that wanted the results is gone, or wants no more
        os._exit(0)
    except BaseException:  # no memory for the message: to go on would be to wait without end
        os._exit(1)


def _reply(message: _Message) -> _Message:
    """Do what a message asks; what is raised is sent, too."""
    try:
        function, piece = _unpacked(message)
        return _packed((True, function(piece), ""))
    except Exception as error:
        where = traceback.format_exc()
        try:
            reply = _packed((False, error, where))
            _unpacked(reply)
        except Exception:  # an error that cannot travel is told in words
            reply = _packed((False, EngineFailure(f"{type(error).__name__}: {error}"), where))
        return reply


__all__ = ["MOST_DEATHS", "run_pieces", "usable_cores"]
