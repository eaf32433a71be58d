"""Work shared out to processes of this machine, any of which may die at any moment.

Every worker has a pipe of its own, so a worker that is killed in the middle of a message spoils no other's. Its death
ends the pipe and shows at its sentinel: a new worker takes its place, and the piece is run again.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Generic, TypeVar

from linkedbandits.errors import EngineFailure, InvalidParameter
from linkedbandits.signals import ctrl_c_blocked

MOST_DEATHS = 5
"""Workers that may die over one piece before the fault is taken to be the piece's."""

_SECONDS_TO_END = 2.0
"""How long a killed process may take to be gone."""
_STARTS = 20
_SECONDS_BETWEEN_STARTS = 0.1
"""How often to try to start a worker: where the fork server has just died, another takes a moment to begin."""

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
    ended, and the ``remedy``. Results that have come in are given back before the error. Close the generator to end
    the workers before all is done.
    """
    if workers < 1:
        raise InvalidParameter(f"{workers} workers can do nothing; give at least one")
    crew = _Crew(function, iter(pieces), workers, name_of, remedy)
    try:
        while ready := crew.ready():
            yield from crew.results_of(ready)
        if crew.failure is not None:
            raise crew.failure
    finally:
        crew.end()


@dataclass(eq=False)
class _Job(Generic[P]):
    """A piece, pickled when it was taken, since the caller may change it; and how many workers died over it."""

    piece: P
    name: str
    message: bytes
    deaths: int = 0


class _Crew(Generic[P]):
    """The workers of one run. Each has one job at a time; a worker for which there is none is let go."""

    def __init__(
        self, function: Callable[[P], Any], source: Iterator[P], most: int, name_of: Callable[[P], str], remedy: str
    ) -> None:
        self.failure: Exception | None = None
        self._function, self._source, self._most, self._name_of, self._remedy = function, source, most, name_of, remedy
        self._again: deque[_Job[P]] = deque()
        self._workers: list[_Worker[P]] = []
        # Forking this process would copy the locks of its threads, held as they happen to be. A fork server has none.
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        self._context.set_forkserver_preload([function.__module__])

    def ready(self) -> dict[_Worker[P], bool]:
        """Give jobs out and wait for workers that have sent something or died; is there anything to read from them?

        After a failure, only those that are ready by now.
        """
        while len(self._workers) < self._most and (job := self._next_job()) is not None:
            self._workers.append(self._started())
            self._workers[-1].begin(job)
        ends = {end: worker for worker in self._workers for end in (worker.pipe, worker.process.sentinel)}
        ready = wait(list(ends), timeout=None if self.failure is None else 0) if ends else []
        return {ends[end]: ends[end].pipe in ready for end in ready}

    def results_of(self, ready: dict[_Worker[P], bool]) -> list[tuple[P, Any]]:
        """The pieces that have come in with their results, after their workers got the next ones."""
        results = []
        for worker, readable in ready.items():
            job = worker.job
            try:
                if not readable:  # the process is gone, and perhaps a child of it holds the other end
                    raise EOFError
                content = _content(worker.pipe.recv_bytes(), job.name, self._remedy)
            except (EOFError, OSError):
                self._take_note_of_death(job, self._let_go(worker))
                continue
            if isinstance(content, _Raised):
                self.failure = content.error
            else:
                results.append((job.piece, content))
            following = self._next_job()
            if following is None:
                self._let_go(worker)
            else:
                worker.begin(following)
        return results

    def end(self) -> None:
        """Kill the workers, whatever they are doing."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.end()

    def _next_job(self) -> _Job[P] | None:
        if self.failure is not None:
            return None
        if self._again:
            return self._again.popleft()
        for piece in self._source:
            return _Job(piece, self._name_of(piece), pickle.dumps((self._function, piece), -1))
        return None

    def _started(self) -> _Worker[P]:
        for _ in range(_STARTS):
            try:
                return _Worker(self._context)
            except (EOFError, OSError) as error:
                why = error
                time.sleep(_SECONDS_BETWEEN_STARTS)
        raise EngineFailure(f"no worker can be started ({why}); {self._remedy}") from why

    def _let_go(self, worker: _Worker[P]) -> str:
        self._workers.remove(worker)
        return worker.end()

    def _take_note_of_death(self, job: _Job[P], how: str) -> None:
        job.deaths += 1
        if job.deaths < MOST_DEATHS:
            _log.warning("a worker died over %s, which is run again: %s", job.name, how)
            self._again.append(job)
        else:
            workers = "a worker" if job.deaths == 1 else f"{job.deaths} workers"
            self.failure = EngineFailure(f"{workers} died over {job.name}, the last {how}; {self._remedy}")


class _Worker(Generic[P]):
    """A process, this end of its pipe, and the job that it is at."""

    job: _Job[P]

    def __init__(self, context: Any) -> None:
        self.pipe, theirs = context.Pipe()
        with closing(theirs), ctrl_c_blocked():  # with that end open here, the pipe would not end with the worker
            self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self.process.start()

    def begin(self, job: _Job[P]) -> None:
        """Send a job. That the worker is gone shows when its result is waited for."""
        self.job = job
        try:
            self.pipe.send_bytes(job.message)
        except OSError:
            self.process.kill()

    def end(self) -> str:
        """Let the process end with its pipe, and say how it ended."""
        self.pipe.close()
        self.process.join(_SECONDS_TO_END)
        code = self.process.exitcode
        if code is None:
            self.process.kill()
            return "stuck, and its pipe closed"
        if code >= 0:
            return f"ended by itself, with status {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:  # most of the real-time signals have none
            name = f"signal {-code}"
        return f"killed by {name}" + (", as the system does when memory runs out" if name == "SIGKILL" else "")


@dataclass(frozen=True)
class _Raised:
    """An error instead of a result."""

    error: Exception


def _content(message: bytes, name: str, remedy: str) -> Any:
    """The result that a worker sent, or the error instead."""
    try:
        content, where = pickle.loads(message)
    except Exception as error:
        failure = EngineFailure(f"the result of {name} cannot be read ({error!r}); {remedy}")
        failure.__cause__ = error
        return _Raised(failure)
    if isinstance(content, _Raised):
        if isinstance(content.error, MemoryError):
            return _Raised(EngineFailure(f"a worker ran out of memory over {name}; {remedy}"))
        content.error.add_note(f"Raised in a worker process, over {name}:\n{where}")
    return content


def _serve(pipe: Connection) -> None:
    """The life of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(pipe, inbox), daemon=True).start()
    while True:
        reply = _reply(inbox.get())
        try:
            pipe.send_bytes(reply)
        except OSError:
            os._exit(0)


def _listen(pipe: Connection, inbox: queue.SimpleQueue[bytes]) -> None:
    """Take in jobs in a thread of their own, so that the end of the pipe ends a job that is under way."""
    try:
        while True:
            inbox.put(pipe.recv_bytes())
    except (EOFError, OSError):  # the process that wants the results has ended, or wants no more
        os._exit(0)
    finally:  # no memory for the message: to go on would be to wait without end
        os._exit(1)


def _reply(message: bytes) -> bytes:
    """Run a piece; what it raises is sent, too."""
    try:
        function, piece = pickle.loads(message)
        return pickle.dumps((function(piece), ""), -1)
    except Exception as error:
        where = traceback.format_exc()
        try:
            reply = pickle.dumps((_Raised(error), where))
            pickle.loads(reply)
        except Exception:  # an error that cannot travel is told in words
            reply = pickle.dumps((_Raised(EngineFailure(f"{type(error).__name__}: {error}")), where))
        return reply
