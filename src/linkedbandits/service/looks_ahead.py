"""Looks ahead of experiments, apart from the desk: only those who ask of the same experiment wait for one.

A look follows a policy into its futures and takes tenths of a second. What it finds depends on nothing but where the
experiment stands, so it is all the same whether it is taken here or where a journal is replayed. While it is taken,
nothing is changed in its experiment: what comes for that waits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.jobs import Change

THREADS = 2

_logger = logging.getLogger("linkedbandits.service")


class LooksAhead:
    """The looks that are being taken, each with the changes that wait for it. For one thread, that of the desk."""

    def __init__(self, on_done: Callable[[str], None]) -> None:
        """``on_done`` is told, in another thread, in which experiment a look is done."""
        self._on_done = on_done
        self._workers = ThreadPoolExecutor(THREADS, thread_name_prefix="look-ahead")
        self._waiting: dict[str, list[Change]] = {}
        self.closed = False

    def __contains__(self, experiment: object) -> bool:
        return experiment in self._waiting

    def begin(self, hosted: HostedExperiment, job: Change) -> None:
        """Take a look for a change that needs it; if one is taken, the change waits with the others."""
        experiment, is_new = job.experiment, job.experiment not in self._waiting
        self._waiting.setdefault(experiment, []).append(job)
        if not is_new:
            return
        try:
            self._workers.submit(self._look, hosted, experiment)
        except RuntimeError:  # no thread can be started: it is taken where the play is handed out
            _logger.warning("look-ahead-failed", exc_info=True)
            self._on_done(experiment)

    def wait(self, job: Change) -> None:
        """It waits for the look that is being taken in its experiment."""
        self._waiting[job.experiment].append(job)

    def end(self, experiment: str) -> list[Change]:
        """The changes that have waited for a look, in order; the one that it was taken for is the first.

        If that finds that the look was in vain, it takes another one on the spot: no change is put off twice.
        """
        waited = self._waiting.pop(experiment, [])
        for job in waited[:1]:
            job.looked = True
        return waited

    def close(self) -> list[Change]:
        """Take none any more; all changes that have waited, which are not to be put off again."""
        self.closed = True
        self._workers.shutdown(wait=True, cancel_futures=True)
        waited = [job for jobs in self._waiting.values() for job in jobs]
        self._waiting.clear()
        for job in waited:
            job.looked = True
        return waited

    def _look(self, hosted: HostedExperiment, experiment: str) -> None:
        try:
            hosted.experiment.run.foresee()
        except Exception:  # whatever it is, it comes again where the play is handed out, and is told to who asked
            _logger.debug("look-ahead-failed", exc_info=True)
        finally:
            self._on_done(experiment)
