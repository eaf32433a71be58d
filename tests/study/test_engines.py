"""Engines: the same trials on processes and on a Dask cluster, whatever happens to the workers."""

from __future__ import annotations

import multiprocessing
import os
import signal
from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.study import on_dask, on_processes, run_study
from linkedbandits.study.chunks import Chunk, cut, run_chunk
from linkedbandits.study.engines import processes
from tests.support.small_study import small_study

STUDY = small_study(400)


def here(chunks):
    for chunk in chunks:
        yield chunk, run_chunk(chunk)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return run_study(STUDY, tmp_path_factory.mktemp("expected"), engine=here, chunk_blocks=1)


def same_trials(one, other) -> bool:
    return one.cells.keys() == other.cells.keys() and all(
        one.trials(key).equals(other.trials(key)) for key in one.cells
    )


def kill_once(pids):
    """A listener that kills a worker as soon as two chunks are kept."""
    seen: list[Chunk] = []

    def kept(chunk: Chunk) -> None:
        seen.append(chunk)
        if len(seen) == 2:
            os.kill(pids()[0], signal.SIGKILL)

    return kept


@pytest.mark.slow
def test_a_dead_process_is_replaced_and_its_chunks_run_again(tmp_path, expected):
    kill = kill_once(lambda: [process.pid for process in multiprocessing.active_children()])
    results = run_study(STUDY, tmp_path, engine=on_processes(2), on_kept=kill, chunk_blocks=1)
    assert same_trials(results, expected)


def die(_chunk):
    os._exit(1)


@pytest.mark.slow
def test_workers_that_always_die_end_the_study_with_a_clear_message(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "run_chunk", die)
    with pytest.raises(lb.EngineFailure, match=r"over the chunk with trials .* status 1; finished chunks are kept"):
        run_study(STUDY, tmp_path, engine=on_processes(1))


def test_a_cluster_that_is_not_there_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("linkedbandits.study.engines.dask._PATIENCE", "0.3s")
    with pytest.raises(lb.EngineFailure, match=r"no Dask cluster at tcp://127\.0\.0\.1:9"):
        run_study(STUDY, tmp_path, engine=on_dask("tcp://127.0.0.1:9"))


@pytest.fixture(scope="module")
def cluster():
    """Real processes, which restart when they are killed, behind a real address."""
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'linkedbandits[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=":0", silence_logs=50
    ) as made:
        yield made


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing_on_a_cluster(tmp_path, cluster, expected):
    kill = kill_once(lambda: [nanny.pid for nanny in cluster.workers.values()])
    results = run_study(STUDY, tmp_path, engine=on_dask(cluster.scheduler_address), on_kept=kill, chunk_blocks=1)
    assert same_trials(results, expected)


@pytest.mark.slow
def test_two_studies_with_one_scheduler_do_not_take_each_others_trials(tmp_path, cluster, expected):
    """Another client holds chunks of the same cells under another seed while this study runs."""
    other = replace(STUDY, seed=STUDY.seed + 1)
    its_own = run_study(other, tmp_path / "other", engine=here)
    held = begin_elsewhere(other, cluster.scheduler_address)
    results = run_study(STUDY, tmp_path / "mine", engine=on_dask(cluster.scheduler_address), chunk_blocks=1)
    assert same_trials(results, expected)
    assert not same_trials(results, its_own)
    held.close()


def begin_elsewhere(study, scheduler):
    """Begin a study on the cluster and keep its tasks there."""
    chunks = [chunk for cell in study.cells for chunk in cut(cell, study.seed, [range(min(cell.trials, 1024))])]
    engine = on_dask(scheduler)(iter(chunks))
    next(engine)
    return engine


@pytest.mark.slow
def test_a_study_begun_on_processes_goes_on_on_a_cluster(tmp_path, cluster, expected):
    def some(chunks):
        for number, pair in enumerate(here(chunks)):
            if number == 6:
                return
            yield pair

    run_study(STUDY, tmp_path, engine=some, chunk_blocks=1)
    results = run_study(STUDY, tmp_path, engine=on_dask(cluster.scheduler_address), chunk_blocks=2)
    assert same_trials(results, expected)


@pytest.mark.slow
def test_without_an_address_a_local_cluster_is_made_and_ended(tmp_path, expected):
    results = run_study(STUDY, tmp_path, engine=on_dask(workers=1))
    assert same_trials(results, expected)
