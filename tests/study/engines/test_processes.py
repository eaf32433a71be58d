"""The engine on processes: the same trials whatever happens to the workers, and messages that name the chunk."""

from __future__ import annotations

import multiprocessing
import os

import pytest

import linkedbandits as lb
from linkedbandits.study import on_processes, run_study
from linkedbandits.study.chunks import cut
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


@pytest.fixture
def pieces(monkeypatch):
    """What the engine hands on to the workers, as they would get it."""
    handed = []

    def run_pieces(work, pieces, **options):
        handed.append(options)
        return ((piece, work(piece)) for piece in pieces)

    monkeypatch.setattr(processes, "run_pieces", run_pieces)
    return handed


def test_all_cores_work_unless_a_number_is_given(pieces, monkeypatch):
    monkeypatch.setattr(processes, "usable_cores", lambda: 17)
    assert [list(on_processes(count)([])) for count in (None, 3)] == [[], []]
    assert [options["workers"] for options in pieces] == [17, 3]


def test_a_chunk_is_called_by_its_trials_and_its_cell_and_the_remedy_says_what_is_kept(study, pieces):
    (chunk,) = cut(study.cells[0], 5, [range(1024, 1500)])
    assert [piece for piece, _ in on_processes(1)([chunk])] == [chunk]
    (options,) = pieces
    assert options["name_of"](chunk) == f"the chunk with trials 1024 to 1499 of {study.cells[0].key}"
    assert options["remedy"].startswith("finished chunks are kept, and the same study goes on from there: ")
