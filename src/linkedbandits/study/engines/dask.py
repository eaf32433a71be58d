"""Chunks on a Dask cluster: one made for the occasion on this machine, or one that is already running."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Generator, Iterable
from itertools import islice
from typing import Any
from uuid import uuid4

from linkedbandits.errors import EngineFailure, MissingExtra
from linkedbandits.signals import ctrl_c_blocked
from linkedbandits.study.chunks import Chunk, Finished, run_chunk
from linkedbandits.study.engines import Engine
from linkedbandits.version import __version__
from linkedbandits.workers import usable_cores

_AHEAD = 4
"""Chunks a worker has waiting: more than on one machine, because the way there is longer."""
_RETRIES = 5
"""How often a chunk is tried again when its worker is lost."""
_PATIENCE = "20s"


def on_dask(scheduler: str | None = None, workers: int | None = None) -> Engine:
    """An engine on the cluster at the address ``scheduler``, or on a local cluster of ``workers`` processes."""
    return lambda chunks: _run(chunks, scheduler, workers)


def _run(
    chunks: Iterable[Chunk], scheduler: str | None, workers: int | None
) -> Generator[tuple[Chunk, Finished], None, None]:
    distributed = _import_distributed()
    todo = iter(chunks)
    # A scheduler takes tasks with the same key for the same task, also if two clients sent them.
    run = uuid4().hex
    with _connected(distributed, scheduler, workers) as client:
        _check_workers(client)
        running: dict[Any, Chunk] = {}

        def submit(chunk: Chunk) -> None:
            key = f"{chunk.cell}-{chunk.lanes.start}-{chunk.lanes.stop}-{run}"
            future = client.submit(run_chunk, chunk, key=key, pure=False, retries=_RETRIES)
            running[future] = chunk

        room = _AHEAD * max(1, sum(client.nthreads().values()))
        for chunk in islice(todo, room):
            submit(chunk)
        while running:
            chunk = next(iter(running.values()))
            try:
                for future in _some_finished(distributed, client, running):
                    chunk = running.pop(future)
                    finished = future.result(_PATIENCE)
                    future.release()
                    for following in islice(todo, 1):
                        submit(following)
                    yield chunk, finished
            except (distributed.KilledWorker, distributed.CancelledError, OSError) as error:
                raise EngineFailure(
                    f"the scheduler, or every worker that took {chunk.cell}, was lost; finished chunks are kept: "
                    "look at the cluster's logs and run the study again"
                ) from error


def _some_finished(distributed: Any, client: Any, running: Iterable[Any]) -> list[Any]:
    """The tasks that have ended by now, at least one; a look now and then at whether any worker is left to end them."""
    while True:
        try:
            return list(distributed.wait(list(running), timeout=_PATIENCE, return_when="FIRST_COMPLETED").done)
        except TimeoutError:
            _check_workers(client)


def _check_workers(client: Any) -> None:
    """Refuse to wait for workers without a limit, and to mix the trials of two versions."""
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise EngineFailure(f"the Dask cluster has no worker after {_PATIENCE}; start some and run it again") from None
    for worker, version in client.run(_library_version).items():
        if version != __version__:
            raise EngineFailure(f"the worker {worker} has linkedbandits {version}, not {__version__}; install the same")


def _library_version() -> str:
    return __version__


def _import_distributed() -> Any:
    try:
        import distributed  # only who has a cluster needs it
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "--engine dask needs distributed; install it with: pip install 'linkedbandits[cluster]'"
        ) from error
    return distributed


def _connected(distributed: Any, scheduler: str | None, workers: int | None) -> Any:
    """A client; closing it also ends a cluster that was made for it."""
    try:
        if scheduler is not None:
            return distributed.Client(scheduler, timeout=_PATIENCE)
        # What its parts say of each other when all of them are ended is of no use to anyone.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        with ctrl_c_blocked():  # for the thread that begins the workers, and so for them
            # One thread a process: policies are numpy loops, which hold the interpreter's lock.
            return distributed.Client(
                n_workers=workers or usable_cores(),
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.CRITICAL,
            )
    except KeyboardInterrupt:
        # A cluster that has only half begun cannot be closed in order; its workers end with this process.
        atexit.unregister(distributed.deploy.spec.close_clusters)
        raise
    except (OSError, ValueError, RuntimeError) as error:
        where = scheduler or "a local cluster"
        raise EngineFailure(f"no Dask cluster at {where} ({error}); start it, or check --scheduler") from error
