"""The engine on a Dask cluster: the same trials, whatever happens to the workers."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.study import on_dask, run_study
from linkedbandits.study.chunks import cut
from linkedbandits.study.engines import dask
from tests.support.small_study import in_this_process, same_trials


def test_a_cluster_that_is_not_there_is_named(tmp_path, study, monkeypatch):
    monkeypatch.setattr(dask, "_PATIENCE", "0.3s")
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


class Future:
    """A task that is run when its result is asked for."""

    def __init__(self, work):
        self.result = lambda timeout: work()
        self.released = False

    def release(self):
        self.released = True


class Cluster:
    """A cluster of one worker with two threads, in this process; it stands in for the module ``distributed``, too."""

    class KilledWorker(Exception):
        pass

    class CancelledError(Exception):
        pass

    def __init__(self):
        self.versions = {"tcp://worker:1": lb.__version__}
        self.workers = 1
        self.asked_for_workers = 0
        self.submitted: list[tuple[str, dict]] = []
        self.futures: list[Future] = []
        self.timeouts = 0
        self.clients: list[tuple[tuple, dict]] = []
        self.refusal: BaseException | None = None
        self.deploy = SimpleNamespace(spec=SimpleNamespace(close_clusters=lambda: None))

    def Client(self, *given, **options):
        self.clients.append((given, options))
        if self.refusal is not None:
            raise self.refusal
        return nullcontext(self)

    def wait_for_workers(self, count, timeout):
        self.asked_for_workers += 1
        if self.workers < count:
            raise TimeoutError

    def run(self, function):
        return self.versions

    def nthreads(self):
        return {"tcp://worker:1": 2}

    def submit(self, work, chunk, key, **options):
        self.submitted.append((key, options))
        self.futures.append(Future(lambda: work(chunk)))
        return self.futures[-1]

    def wait(self, futures, timeout, return_when):
        if self.timeouts:
            self.timeouts -= 1
            raise TimeoutError
        return SimpleNamespace(done=futures[:1])


@pytest.fixture
def stand_in(monkeypatch):
    made = Cluster()
    monkeypatch.setitem(sys.modules, "distributed", made)
    monkeypatch.setattr(dask, "run_chunk", lambda chunk: f"how {chunk.lanes} ended")
    return made


def chunks_of(study, count):
    return list(cut(study.cells[0], study.seed, [range(1024 * n, 1024 * (n + 1)) for n in range(count)]))


def test_every_chunk_comes_back_once_with_how_it_ended_and_is_let_go(study, stand_in):
    chunks = chunks_of(study, 20)
    finished = list(on_dask("tcp://here:1")(iter(chunks)))
    assert finished == [(chunk, f"how {chunk.lanes} ended") for chunk in chunks]
    assert all(future.released for future in stand_in.futures)
    assert stand_in.clients == [(("tcp://here:1",), {"timeout": "20s"})]


def test_only_a_few_chunks_a_thread_wait_at_the_cluster(study, stand_in):
    running = on_dask("tcp://here:1")(iter(chunks_of(study, 20)))
    next(running)
    assert len(stand_in.submitted) == 2 * 4 + 1  # two threads, and the one that took the first one's place
    next(running)
    assert len(stand_in.submitted) == 2 * 4 + 2


def test_tasks_have_names_of_their_own_in_every_run_and_are_tried_again(study, stand_in):
    for _ in range(2):
        list(on_dask("tcp://here:1")(iter(chunks_of(study, 3))))
    keys = [key for key, _ in stand_in.submitted]
    assert len(set(keys)) == 6
    assert all(key.startswith(f"{study.cells[0].key}-") for key in keys)
    assert [options for _, options in stand_in.submitted] == [{"pure": False, "retries": 5}] * 6


def test_a_worker_of_another_version_is_named(study, stand_in):
    stand_in.versions["tcp://old:2"] = "0.0.1"
    with pytest.raises(lb.EngineFailure) as caught:
        list(on_dask("tcp://here:1")(iter(chunks_of(study, 1))))
    said = f"the worker tcp://old:2 has linkedbandits 0.0.1, not {lb.__version__}; install the same"
    assert str(caught.value) == said
    assert stand_in.submitted == []


def test_a_cluster_without_workers_is_not_waited_for_without_end(study, stand_in):
    stand_in.workers = 0
    with pytest.raises(lb.EngineFailure, match="the Dask cluster has no worker after 20s; start some and run it again"):
        list(on_dask("tcp://here:1")(iter(chunks_of(study, 1))))


def test_while_nothing_ends_it_is_asked_whether_workers_are_left(study, stand_in):
    stand_in.timeouts = 3
    assert len(list(on_dask("tcp://here:1")(iter(chunks_of(study, 2))))) == 2
    assert stand_in.asked_for_workers == 1 + 3


def test_workers_that_are_lost_in_the_middle_are_not_waited_for_without_end(study, stand_in):
    running = on_dask("tcp://here:1")(iter(chunks_of(study, 2)))
    next(running)
    stand_in.timeouts, stand_in.workers = 1, 0
    with pytest.raises(lb.EngineFailure, match="has no worker"):
        next(running)


@pytest.mark.parametrize("error", [Cluster.KilledWorker("x"), Cluster.CancelledError("x"), OSError("x")], ids=repr)
def test_a_chunk_that_is_lost_is_named_by_its_cell(study, stand_in, error):
    def lost(timeout):
        raise error

    running = on_dask("tcp://here:1")(iter(chunks_of(study, 2)))
    next(running)
    stand_in.futures[1].result = lost
    with pytest.raises(lb.EngineFailure) as caught:
        next(running)
    assert caught.value.__cause__ is error
    assert f"every worker that took {study.cells[0].key}, was lost; finished chunks are kept" in str(caught.value)


def test_an_error_of_a_chunk_itself_is_not_taken_for_a_lost_worker(study, stand_in, monkeypatch):
    def wrong(chunk):
        raise ZeroDivisionError

    monkeypatch.setattr(dask, "run_chunk", wrong)
    with pytest.raises(ZeroDivisionError):
        list(on_dask("tcp://here:1")(iter(chunks_of(study, 1))))


@pytest.mark.parametrize(("workers", "processes"), [(3, 3), (None, 17)])
def test_a_local_cluster_has_a_process_for_every_worker_and_listens_to_this_machine_alone(
    study, stand_in, monkeypatch, workers, processes
):
    monkeypatch.setattr(dask, "usable_cores", lambda: 17)
    list(on_dask(workers=workers)(iter(chunks_of(study, 1))))
    ((given, options),) = stand_in.clients
    assert given == ()
    assert (options["n_workers"], options["threads_per_worker"], options["processes"]) == (processes, 1, True)
    assert (options["host"], options["dashboard_address"]) == ("127.0.0.1", "127.0.0.1:0")


@pytest.mark.parametrize("error", [OSError("refused"), ValueError("refused"), RuntimeError("refused")], ids=repr)
@pytest.mark.parametrize(("scheduler", "named"), [(None, "a local cluster"), ("tcp://here:1", "tcp://here:1")])
def test_a_cluster_that_cannot_be_had_is_named(study, stand_in, scheduler, named, error):
    stand_in.refusal = error
    with pytest.raises(lb.EngineFailure) as caught:
        list(on_dask(scheduler)(iter(chunks_of(study, 1))))
    assert str(caught.value) == f"no Dask cluster at {named} (refused); start it, or check --scheduler"


def test_a_cluster_that_was_interrupted_as_it_began_is_not_closed_in_order(study, stand_in, monkeypatch):
    """Closing it would hang at the end of the process."""
    unregistered = []
    monkeypatch.setattr(dask, "atexit", SimpleNamespace(unregister=unregistered.append))
    stand_in.refusal = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        list(on_dask()(iter(chunks_of(study, 1))))
    assert unregistered == [stand_in.deploy.spec.close_clusters]


def test_without_dask_the_extra_is_named(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(lb.MissingExtra, match=r"--engine dask needs distributed; .*linkedbandits\[cluster\]"):
        list(on_dask()(iter(chunks_of(study, 1))))
