"""Workers: every piece gets its result, whatever happens to the processes."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits import workers
from linkedbandits.workers import MOST_DEATHS, run_pieces
from tests.support.command_line import environment_of_scripts
from tests.support.processes import descendants, parent_of
from tools.waiting import join, killed_in_the_end, until


def run(function, pieces, count=2, name_of=str, remedy="the remedy"):
    return run_pieces(function, pieces, workers=count, name_of=name_of, remedy=remedy)


def square(piece):
    return piece * piece


@pytest.mark.parametrize("count", [1, 3])
def test_every_piece_comes_back_once_with_its_result(count):
    assert sorted(run(square, range(40), count)) == [(piece, piece * piece) for piece in range(40)]


def test_pieces_are_taken_as_they_are_needed():
    """A million pieces must not lie in memory because two workers are at the first ones."""
    taken = []

    def source():
        for piece in range(1000):
            taken.append(piece)
            yield piece

    with closing(run(square, source())) as results:
        next(results)
        assert len(taken) < 20


def as_it_is(piece):
    return piece


def test_a_piece_is_sent_as_it_was_when_it_was_taken():
    """A caller may use one array for all pieces."""
    array = np.zeros(60_000)

    def source():
        for number in range(6):
            array[:] = number
            yield array

    assert sorted(result[-1] for _, result in run(as_it_is, source(), 1)) == [0, 1, 2, 3, 4, 5]


def test_no_open_file_is_left(tmp_path):
    list(run(square, range(3)))  # a fork server, once begun, stays
    before = len(list(Path("/proc/self/fd").iterdir()))
    list(run(die_once, [tmp_path / str(number) for number in range(6)]))
    until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before, "all files to be closed")


def die_once(marker):
    """Kill the process the first time this piece is run."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return marker.name


def test_deaths_over_different_pieces_may_be_as_many_as_they_like(tmp_path, caplog):
    pieces = [tmp_path / str(number) for number in range(3 * MOST_DEATHS)]
    with caplog.at_level(logging.WARNING):
        assert sorted(run(die_once, pieces)) == sorted((piece, piece.name) for piece in pieces)
    assert len(caplog.records) == len(pieces)
    assert "which is run again: killed by SIGKILL, as the system does when memory runs out" in caplog.text


def die_over_three(piece):
    if piece == 3:
        os._exit(7)
    return piece


def test_a_piece_that_kills_every_worker_is_named_and_what_is_finished_comes_first():
    finished = []
    results = run(die_over_three, range(4), 1, name_of=lambda piece: f"piece {piece}", remedy="eat")
    with pytest.raises(lb.EngineFailure, match=r"5 workers died over piece 3, the last ended .* with status 7; eat"):
        finished.extend(piece for piece, _ in results)
    assert finished == [0, 1, 2]
    assert MOST_DEATHS == 5


def large(piece):
    return piece, bytes(8_000_000)


def test_a_worker_killed_with_its_result_half_sent_is_replaced(monkeypatch):
    """Eight megabytes do not fit into a pipe: when their first bytes are there, the rest is still on its way."""
    killed = []

    class Killed(workers._Worker):
        def begin(self, job):
            super().begin(job)
            if len(killed) < 4:
                until(self.pipe.poll, "the beginning of a result")
                killed.append(self.process.pid)
                os.kill(self.process.pid, signal.SIGKILL)

    monkeypatch.setattr(workers, "_Worker", Killed)
    assert sorted(piece for piece, _ in run(large, range(5))) == [0, 1, 2, 3, 4]
    assert len(set(killed)) == 4


def test_a_worker_that_cannot_be_started_is_tried_again_but_not_for_ever(monkeypatch, caplog):
    monkeypatch.setattr(workers, "_SECONDS_BETWEEN_STARTS", 0.0)
    refused = iter(range(2 * MOST_DEATHS))

    class Refusing(workers._Worker):
        def __init__(self, context):
            for _ in refused:
                raise BlockingIOError("no process to spare")
            super().__init__(context)

    monkeypatch.setattr(workers, "_Worker", Refusing)
    assert list(run(square, [3], 1)) == [(3, 9)]
    assert caplog.text == ""
    monkeypatch.setattr(workers, "_Worker", lambda context: Path("/nowhere").read_bytes())
    with pytest.raises(lb.EngineFailure, match=r"no worker can be started \(.*No such file.*; the remedy"):
        list(run(square, [3], 1))


def take_the_server_along(marker):
    """The first time, kill the server that this process was forked by, and then the process."""
    if not marker.exists():
        marker.touch()
        assert "forkserver" in Path(f"/proc/{os.getppid()}/cmdline").read_text()
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return marker.name


def test_the_fork_server_may_die_as_well(tmp_path):
    pieces = [tmp_path / str(number) for number in range(4)]
    assert sorted(run(take_the_server_along, pieces, 1)) == [(piece, piece.name) for piece in pieces]


def leave_a_child_and_die(marker):
    """The child has a copy of the line, and keeps it open for an hour."""
    if not marker.exists():
        child = os.fork()
        if child == 0:
            time.sleep(3600)
        marker.write_text(str(child))
        os.kill(os.getpid(), signal.SIGKILL)
    return marker.name


def test_a_worker_that_leaves_a_child_behind_is_missed_at_once(tmp_path):
    marker = tmp_path / "child"
    try:
        assert list(run(leave_a_child_and_die, [marker])) == [(marker, "child")]
    finally:
        os.kill(int(marker.read_text()), signal.SIGKILL)


class Unreadable:
    """A result that a worker can send and no process can read."""

    def __reduce__(self):
        return (int, ("no number",))


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def misbehave(piece):
    match piece:
        case "refused":
            raise lb.InvalidParameter("no such thing; try another")
        case "large":
            raise MemoryError
        case "unpicklable":
            raise Unpicklable("this", "that")
        case "lambda":
            return lambda: None
        case "unreadable":
            return Unreadable()
    return piece


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ("refused", "no such thing; try another"),
        ("large", "a worker ran out of memory over large; the remedy"),
        ("unpicklable", "Unpicklable: this and that"),
        ("lambda", "lambda"),
        ("unreadable", "the result of unreadable cannot be read .*no number.*; the remedy"),
    ],
)
def test_an_error_of_a_piece_is_raised_here(piece, said):
    with pytest.raises((lb.LinkedBanditError, AttributeError, pickle.PicklingError), match=said) as raised:
        list(run(misbehave, [piece]))
    for note in getattr(raised.value, "__notes__", []):
        assert f"in a worker process, over {piece}" in note
        assert "in misbehave" in note or piece == "lambda"


def say_so_and_never_end(marker):
    if marker.name != "quick":
        marker.write_text(str(os.getpid()))
        while True:
            pass


def test_closing_ends_workers_that_would_never_end(tmp_path):
    pieces = [tmp_path / name for name in ("quick", "one", "two")]
    results = run(say_so_and_never_end, pieces)
    next(results)
    endless = [int(until(lambda piece=piece: piece.exists() and piece.read_text(), piece.name)) for piece in pieces[1:]]
    results.close()
    until(lambda: all(parent_of(pid) is None for pid in endless), "the workers to be gone")


def test_workers_do_not_outlive_a_process_that_is_killed(tmp_path):
    script = tmp_path / "forever.py"
    script.write_text(
        textwrap.dedent(f"""
        from pathlib import Path
        from tests.test_workers import run, say_so_and_never_end
        if __name__ == "__main__":
            list(run(say_so_and_never_end, [Path({str(tmp_path)!r}) / name for name in ("one", "two")]))
        """),
        encoding="utf-8",
    )
    process = subprocess.Popen([sys.executable, str(script)], env=environment_of_scripts())
    with killed_in_the_end(process):
        for name in ("one", "two"):
            until((tmp_path / name).exists, f"worker {name}")
        begun = descendants(process.pid)
    assert len(begun) >= 2
    until(lambda: all(parent_of(pid) is None for pid in begun), "all that it began to be gone")


def noise(seed):
    return np.random.default_rng(seed).random(60_000)


@pytest.mark.slow
def test_dozens_of_workers_killed_at_random_change_no_result(monkeypatch):
    """Half a megabyte a result, so that many die while they send. Random times, a fixed number of kills."""
    monkeypatch.setattr(workers, "MOST_DEATHS", 1000)  # on a busy machine many may hit the same piece
    rng = random.Random(1)
    enough = threading.Event()
    kills = []

    def kill_now_and_then():
        while len(kills) < 40 and not enough.wait(rng.uniform(0.01, 0.05)):
            alive = multiprocessing.active_children()
            with suppress(IndexError, ProcessLookupError):  # none is at work, or it has just ended
                victim = rng.choice(alive)
                os.kill(victim.pid, signal.SIGKILL)
                kills.append(victim.pid)

    def source():
        """Pieces as long as there are kills to come."""
        number = 0
        while len(kills) < 40:
            yield number
            number += 1

    killer = threading.Thread(target=kill_now_and_then, daemon=True)
    killer.start()
    try:
        results = dict(run(noise, source(), 3))
    finally:
        enough.set()
        join(killer)
    assert len(kills) == 40
    assert sorted(results) == list(range(len(results)))
    assert all((result == noise(seed)).all() for seed, result in results.items())


def test_no_workers_at_all_are_refused():
    with pytest.raises(lb.InvalidParameter, match="0 workers can do nothing"):
        list(run(square, [1], 0))
