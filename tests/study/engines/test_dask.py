"""The engine on a Dask cluster: the same trials, whatever happens to the workers."""

from __future__ import annotations

from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.study import on_dask, run_study
from linkedbandits.study.chunks import cut
from tests.support.small_study import in_this_process, same_trials


def test_a_cluster_that_is_not_there_is_named(tmp_path, study, monkeypatch):
    monkeypatch.setattr("linkedbandits.study.engines.dask._PATIENCE", "0.3s")
    with pytest.raises(lb.EngineFailure, match=r"no Dask cluster at tcp://127\.0\.0\.1:9"):
        run_study(study, tmp_path, engine=on_dask("tcp://127.0.0.1:9"))


@pytest.fixture(scope="module")
def cluster():
    """Real processes, which restart when they are killed, behind a real address."""
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'linkedbandits[cluster]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address=":0", silence_logs=50
    ) as made:
        yield made


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_changes_nothing_on_a_cluster(tmp_path, study, cluster, expected, kill_once):
    kill = kill_once(lambda: [nanny.pid for nanny in cluster.workers.values()])
    results = run_study(study, tmp_path, engine=on_dask(cluster.scheduler_address), on_kept=kill, chunk_blocks=1)
    assert same_trials(results, expected)


@pytest.mark.slow
def test_two_studies_with_one_scheduler_do_not_take_each_others_trials(tmp_path, study, cluster, expected):
    """Another client holds chunks of the same cells under another seed while this study runs."""
    other = replace(study, seed=study.seed + 1)
    its_own = run_study(other, tmp_path / "other", engine=in_this_process)
    held = begin_elsewhere(other, cluster.scheduler_address)
    results = run_study(study, tmp_path / "mine", engine=on_dask(cluster.scheduler_address), chunk_blocks=1)
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
def test_a_study_begun_on_processes_goes_on_on_a_cluster(tmp_path, study, cluster, expected):
    def some(chunks):
        for number, pair in enumerate(in_this_process(chunks)):
            if number == 6:
                return
            yield pair

    run_study(study, tmp_path, engine=some, chunk_blocks=1)
    results = run_study(study, tmp_path, engine=on_dask(cluster.scheduler_address), chunk_blocks=2)
    assert same_trials(results, expected)


@pytest.mark.slow
def test_without_an_address_a_local_cluster_is_made_and_ended(tmp_path, study, expected):
    results = run_study(study, tmp_path, engine=on_dask(workers=1))
    assert same_trials(results, expected)
