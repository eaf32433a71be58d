"""Work shared out to processes of this machine, any of which may die at any moment.

A worker has a pipe of its own, and a thread of this process tends it: hands it a piece of work, waits for what comes
back, and hands it the next. Workers share nothing, so one that is killed in the middle of a message leaves half a
message in its own pipe and nothing else. That pipe then ends, which is noticed at once; a new worker takes its place,
and the piece is run again.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, Generic, TypeVar

from linkedbandits.errors import EngineFailure
from linkedbandits.signals import ctrl_c_blocked

MOST_DEATHS = 5
"""Workers that may die over one piece before the fault is taken to be the piece's."""

_AHEAD = 2
"""Pieces that wait for each worker, so that a slow reader of results keeps no worker idle."""
_SECONDS_TO_END = 2.0
"""How long a killed process, or the thread that tended it, may take to be gone."""
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
    is run again; when ``MOST_DEATHS`` have died over the same one, everything that is finished is given back first,
    and then an error names that piece, how the last worker ended, and the ``remedy``. Close the generator to end the
    workers before all is done.
    """
    source = iter(pieces)
    crew: _Crew[P] = _Crew(function, workers)
    unfinished = 0
    try:
        for piece in islice(source, workers * (1 + _AHEAD)):
            crew.hand_out(piece)
            unfinished += 1
        while unfinished:
            errand, outcome = crew.next_outcome()
            if isinstance(outcome, _Death):
                errand.deaths += 1
                if errand.deaths == MOST_DEATHS:
                    for finished, late in crew.outcomes_so_far():
                        if isinstance(late, bytes):
                            yield finished.piece, _result(late, name_of(finished.piece), remedy)
                    raise EngineFailure(
                        f"{errand.deaths} workers died over {name_of(errand.piece)}, the last {outcome.how}; {remedy}"
                    )
                _log.warning("a worker died over %s, which is run again: %s", name_of(errand.piece), outcome.how)
                crew.hand_out_again(errand)
                continue
            unfinished -= 1
            for piece in islice(source, 1):
                crew.hand_out(piece)
                unfinished += 1
            yield errand.piece, _result(outcome, name_of(errand.piece), remedy)
    finally:
        crew.end()


def _result(reply: bytes, name: str, remedy: str) -> Any:
    """What a worker sent: a result, or what was raised instead."""
    succeeded, content, where = pickle.loads(reply)
    if succeeded:
        return content
    if isinstance(content, MemoryError):
        raise EngineFailure(f"a worker ran out of memory over {name}; {remedy}") from content
    content.add_note(f"Raised in a worker process, over {name}:\n{where}")
    raise content


@dataclass(eq=False)
class _Errand(Generic[P]):
    """A piece on its way to a worker, and how many workers have died over it."""

    piece: P
    message: bytes
    deaths: int = 0


@dataclass(frozen=True)
class _Death:
    """A worker that ended before it had sent a whole result."""

    how: str


class _Crew(Generic[P]):
    """The workers of one run, each with the thread that tends it. Nothing but the two queues is shared."""

    def __init__(self, function: Callable[[P], Any], workers: int) -> None:
        self._function = function
        # Forking this process would copy the locks of its threads, held as they happen to be. A fork server has none.
        methods = multiprocessing.get_all_start_methods()
        self._context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        if "forkserver" in methods:
            self._context.set_forkserver_preload([function.__module__])
        self._todo: queue.SimpleQueue[_Errand[P] | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[tuple[_Errand[P], bytes | _Death | Exception]] = queue.SimpleQueue()
        self._starting = threading.Lock()
        self._running: set[_Worker] = set()
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._tend, name=f"tends worker {number}", daemon=True) for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def hand_out(self, piece: P) -> None:
        """Let the next worker that has nothing to do take this piece."""
        self._todo.put(_Errand(piece, pickle.dumps((self._function, piece), pickle.HIGHEST_PROTOCOL)))

    def hand_out_again(self, errand: _Errand[P]) -> None:
        """The same for a piece whose worker died."""
        self._todo.put(errand)

    def next_outcome(self) -> tuple[_Errand[P], bytes | _Death]:
        """Wait for a worker to finish or to die."""
        while True:
            try:
                return self._checked(self._outcomes.get(timeout=_SECONDS_BETWEEN_LOOKS))
            except queue.Empty:
                continue

    def outcomes_so_far(self) -> Iterable[tuple[_Errand[P], bytes | _Death]]:
        """What has come in already."""
        while not self._outcomes.empty():
            yield self._checked(self._outcomes.get(timeout=_SECONDS_BETWEEN_LOOKS))

    @staticmethod
    def _checked(
        arrived: tuple[_Errand[P], bytes | _Death | Exception],
    ) -> tuple[_Errand[P], bytes | _Death]:
        errand, outcome = arrived
        if isinstance(outcome, Exception):
            raise outcome
        return errand, outcome

    def end(self) -> None:
        """Kill the workers, whatever they are doing, and let the threads go."""
        with self._starting:  # from here on none is started
            self._ended.set()
            for worker in self._running:
                worker.kill()
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join(_SECONDS_TO_END)

    def _tend(self) -> None:
        """Keep one worker at work, and replace it when it dies. Each piece that is taken gives one outcome."""
        worker: _Worker | None = None
        while (errand := self._todo.get()) is not None:  # end() puts the None
            outcome: bytes | _Death | Exception
            try:
                if worker is not None and worker.is_gone():  # died between two pieces: neither is to blame
                    self._dismiss(worker)
                    worker = None
                worker = worker or self._start()
                outcome = worker.do(errand.message)
            except (EOFError, OSError) as error:
                outcome = _Death(self._dismiss(worker) if worker else f"not even started ({error})")
                worker = None
            except Exception as error:
                outcome = error
            if self._ended.is_set():
                break
            self._outcomes.put((errand, outcome))
        if worker is not None:
            self._dismiss(worker)

    def _start(self) -> _Worker:
        """A new worker. Where the fork server has just died, it takes a moment until another one can be begun."""
        for _ in range(_STARTS - 1):
            with suppress(EOFError, OSError):
                return self._start_once()
            if self._ended.wait(_SECONDS_BETWEEN_STARTS):
                break
        return self._start_once()

    def _start_once(self) -> _Worker:
        with self._starting:
            if self._ended.is_set():
                raise EOFError("the run is over")
            with ctrl_c_blocked():
                worker = _Worker(self._context)
            self._running.add(worker)
            return worker

    def _dismiss(self, worker: _Worker) -> str:
        # Under the lock, because a process that starts looks after all others of multiprocessing, and two threads that
        # ask at once how one ended take the answer from each other.
        with self._starting:
            self._running.discard(worker)
            return worker.end()


class _Worker:
    """A process and this end of its pipe."""

    def __init__(self, context: Any) -> None:
        self._pipe, theirs = context.Pipe()
        try:
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
        except BaseException:
            self._pipe.close()
            raise
        finally:
            theirs.close()  # with this end open here, the pipe would not end when the worker does

    def do(self, message: bytes) -> bytes:
        """Send a piece of work and wait for the whole of its result; an error if the worker dies first."""
        self._pipe.send_bytes(message)
        reply: bytes = self._pipe.recv_bytes()
        return reply

    def is_gone(self) -> bool:
        """Did it die while it had nothing to do? Only the end of its pipe can be read then."""
        ready: bool = self._pipe.poll(0)
        return ready

    def kill(self) -> None:
        """End the process at once; whoever waits for its result gets the end of the pipe."""
        self._process.kill()

    def end(self) -> str:
        """Be rid of the process and the pipe, and say how the process ended."""
        self._pipe.close()  # a worker ends when its pipe does
        self._process.join(_SECONDS_TO_END)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            return "stuck, and its pipe closed"
        if code >= 0:
            return f"ended by itself, with status {code}"
        name = signal.Signals(-code).name
        return f"killed by {name}" + (", as the system does when memory runs out" if name == "SIGKILL" else "")


def _serve(pipe: Connection) -> None:
    """What a worker does until its pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, inbox), daemon=True).start()
    while True:
        reply = _reply(inbox.get())  # ends with the process, which ends with the pipe
        try:
            pipe.send_bytes(reply)
        except OSError:
            os._exit(0)


def _listen(pipe: Connection, inbox: queue.SimpleQueue[bytes]) -> None:
    """Take in messages even while a piece is being worked on, so that the end of the pipe ends that work."""
    while True:
        try:
            inbox.put(pipe.recv_bytes())
        except (EOFError, OSError):  # the process that wanted the results is gone, or wants no more
            os._exit(0)


def _reply(message: bytes) -> bytes:
    """Do what a message asks; what is raised is sent, too."""
    try:
        function, piece = pickle.loads(message)
        return pickle.dumps((True, function(piece), ""), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        where = traceback.format_exc()
        try:
            reply = pickle.dumps((False, error, where))
            pickle.loads(reply)
        except Exception:  # an error that cannot travel is told in words
            reply = pickle.dumps((False, EngineFailure(f"{type(error).__name__}: {error}"), where))
        return reply


__all__ = ["MOST_DEATHS", "run_pieces", "usable_cores"]
