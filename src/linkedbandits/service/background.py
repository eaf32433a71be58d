"""Experiments are opened apart from the desk: only jobs of the same experiment wait for it.

To open an experiment may mean to replay its journal. While that lasts, nothing is changed in the experiment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from linkedbandits.service.jobs import OfOne

THREADS = 2
"""Work that may be under way at once; each may need one of the few connections that are kept for the desk."""

_logger = logging.getLogger("linkedbandits.service")


class Background:
    """The work that is under way, by experiment, with the jobs that wait for it. For one thread, that of the desk."""

    def __init__(self, on_done: Callable[[str], None]) -> None:
        """``on_done`` is told, in another thread, the experiment whose work is done."""
        self._on_done = on_done
        self._workers = ThreadPoolExecutor(THREADS, thread_name_prefix="background")
        self._waiting: dict[str, list[OfOne]] = {}
        self.closed = False

    def __contains__(self, experiment: object) -> bool:
        return experiment in self._waiting

    def begin(self, job: OfOne, work: Callable[[], object]) -> None:
        """Do the work that a job needs; if work on its experiment is under way, the job waits with the others."""
        experiment, is_new = job.experiment, job.experiment not in self._waiting
        self._waiting.setdefault(experiment, []).append(job)
        if not is_new:
            return
        try:
            self._workers.submit(self._do, work, experiment)
        except RuntimeError:  # no thread can be started
            _logger.warning("background-failed", exc_info=True)
            self._do(work, experiment)

    def wait(self, job: OfOne) -> None:
        """The job waits for the work that is under way in its experiment."""
        self._waiting[job.experiment].append(job)

    def end(self, experiment: str) -> list[OfOne]:
        """The jobs that have waited, in order."""
        return self._waiting.pop(experiment, [])

    def close(self) -> list[OfOne]:
        """Begin nothing any more; all jobs that have waited, which are not to be put off again."""
        self.closed = True
        self._workers.shutdown(wait=True, cancel_futures=True)
        waited = [job for jobs in self._waiting.values() for job in jobs]
        self._waiting.clear()
        return waited

    def _do(self, work: Callable[[], object], experiment: str) -> None:
        try:
            work()
        except Exception:  # whatever it is, it comes again where the job is done, and is told to its caller
            _logger.debug("background-failed", exc_info=True)
        finally:
            self._on_done(experiment)
