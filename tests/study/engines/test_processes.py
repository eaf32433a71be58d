"""The engine on processes: the same trials whatever happens to the workers, and messages that name the chunk."""

from __future__ import annotations

import multiprocessing
import os

import pytest

import linkedbandits as lb
from linkedbandits.study import on_processes, run_study
from linkedbandits.study.engines import processes
from tests.support.small_study import same_trials


@pytest.mark.slow
def test_a_dead_process_is_replaced_and_its_chunks_run_again(tmp_path, study, expected, kill_once):
    kill = kill_once(lambda: [process.pid for process in multiprocessing.active_children()])
    results = run_study(study, tmp_path, engine=on_processes(2), on_kept=kill, chunk_blocks=1)
    assert same_trials(results, expected)


def die(_chunk):
    os._exit(1)


@pytest.mark.slow
def test_workers_that_always_die_end_the_study_with_a_clear_message(tmp_path, study, monkeypatch):
    monkeypatch.setattr(processes, "run_chunk", die)
    with pytest.raises(lb.EngineFailure, match=r"over the chunk with trials .* status 1; finished chunks are kept"):
        run_study(study, tmp_path, engine=on_processes(1))
