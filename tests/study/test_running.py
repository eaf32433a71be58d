"""A study that is stopped, killed, changed and continued: nothing finished is lost, nothing is run twice."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from linkedbandits.study import on_processes, open_results, run_study
from linkedbandits.study.chunks import run_chunk
from tests.support.command_line import environment
from tests.support.small_study import TEXT, same_trials, small_study
from tools.waiting import SECONDS, killed_in_the_end, until

STUDY = small_study(800)


class Recorder:
    """Runs chunks here, and remembers which."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.ran: list[tuple[str, range]] = []
        self.stop_after = stop_after

    def __call__(self, chunks):
        for chunk in chunks:
            if len(self.ran) == self.stop_after:
                raise KeyboardInterrupt
            self.ran.append((chunk.cell, chunk.lanes))
            yield chunk, run_chunk(chunk)


@pytest.fixture(scope="module")
def heard():
    """What is said while the whole study runs."""
    return []


@pytest.fixture(scope="module")
def whole(tmp_path_factory, heard):
    return run_study(
        STUDY,
        tmp_path_factory.mktemp("whole"),
        engine=Recorder(),
        on_begin=lambda missing, damaged: heard.append(f"{len(missing)} {len(damaged)}"),
        on_kept=lambda chunk: heard.append(chunk.cell),
    )


def test_only_what_was_missing_runs(tmp_path, whole):
    first, second, third = Recorder(stop_after=5), Recorder(), Recorder()
    with pytest.raises(KeyboardInterrupt):
        run_study(STUDY, tmp_path, engine=first)
    resumed = run_study(STUDY, tmp_path, engine=second)
    run_study(STUDY, tmp_path, engine=third)
    assert (len(first.ran), third.ran) == (5, [])
    assert not set(first.ran) & set(second.ran)
    assert same_trials(resumed, whole)


@pytest.mark.parametrize("blocks", [1, 7])
def test_results_do_not_depend_on_the_chunks(tmp_path, whole, blocks):
    assert same_trials(run_study(STUDY, tmp_path, engine=Recorder(), chunk_blocks=blocks), whole)


def test_results_do_not_depend_on_the_number_of_processes(tmp_path, whole):
    assert same_trials(run_study(STUDY, tmp_path, engine=on_processes(3)), whole)


def test_more_trials_go_on_from_the_whole_blocks(tmp_path, whole):
    cells = {cell.key: cell.instance.means.size for cell in STUDY.cells}
    shutil.copytree(whole.path, tmp_path / "longer")
    more = Recorder()
    longer = run_study(small_study(1100), tmp_path / "longer", engine=more, merge=True)
    # 256 lanes make a block with 100 arms, 1024 with few: three blocks of 800 trials are whole, or none.
    assert {min(lanes.start for key, lanes in more.ran if key == cell) for cell in cells} == {768, 0}
    assert set(longer.table()["trials"]) == {1100}
    assert same_trials(longer, run_study(small_study(1100), tmp_path / "anew", engine=Recorder()))


def test_who_is_told_hears_of_every_chunk(whole, heard):
    assert heard[0] == "20 0"  # two chunks a cell with 100 arms, of which there are four
    assert set(heard[1:]) == {cell.key for cell in STUDY.cells}


@pytest.mark.slow
def test_kill_minus_nine_at_any_moment_loses_nothing(tmp_path, whole):
    """Killed with all its workers at random moments, time and again, it ends with the same trials."""
    file, out = tmp_path / "small.toml", tmp_path / "results"
    file.write_text(TEXT.format(trials=800), encoding="utf-8")
    command = [sys.executable, "-m", "linkedbandits", "study", str(file), "--out", str(out), "--no-figures", "--json"]
    moments = random.Random(4)
    kept: set[str] = set()
    killed = 0
    for _ in range(2):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, env=environment()
        )
        with process, killed_in_the_end(process, 2 * SECONDS):
            until(lambda: process.poll() is not None or names_in(out) - kept, "a chunk to be kept")  # noqa: B023
            time.sleep(moments.uniform(0, 0.03))
            if process.poll() is None:  # a fast machine may have come to the end
                os.killpg(process.pid, signal.SIGKILL)
                killed += 1
        assert kept <= names_in(out)
        kept = names_in(out)
    assert killed > 0
    subprocess.run(command, check=True, capture_output=True, timeout=SECONDS, env=environment())
    assert kept <= names_in(out)
    assert same_trials(open_results(out), whole)


def names_in(folder) -> set[str]:
    return {path.name for path in folder.rglob("*.parquet")}
