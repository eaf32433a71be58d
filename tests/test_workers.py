"""Workers: every piece gets its result, whatever happens to the processes."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import random
import resource
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
from linkedbandits.workers import MOST_DEATHS, run_pieces, usable_cores
from tests.support.command_line import environment_of_scripts
from tests.support.processes import descendants, parent_of
from tools.waiting import SECONDS, join, killed_in_the_end, until


def run(function, pieces, count=2, name_of=str, remedy="the remedy"):
    return run_pieces(function, pieces, workers=count, name_of=name_of, remedy=remedy)


def square(piece):
    return piece * piece


@pytest.mark.parametrize("count", [1, 3])
def test_every_piece_comes_back_once_with_its_result(count):
    assert sorted(run(square, range(40), count)) == [(piece, piece * piece) for piece in range(40)]


def test_no_pieces_begin_no_process():
    assert list(run(square, [])) == []


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


def test_arrays_of_every_kind_come_back_as_they_are():
    """Large parts of a result travel beside it; their types, shapes and what may be written to must not get lost."""
    square_of_numbers = np.arange(10_000.0).reshape(100, 100)
    read_only = np.arange(5)
    read_only.flags.writeable = False
    kinds = [
        square_of_numbers,
        np.asfortranarray(square_of_numbers),
        square_of_numbers[::3, ::-7],
        np.zeros((0, 4), np.int8),
        np.array(7, ">i2"),
        np.array([None, "ö"]),
        read_only,
    ]
    ((_, back),) = run(as_it_is, [kinds])
    for sent, received in zip(kinds, back, strict=True):
        assert (received.dtype, received.shape) == (sent.dtype, sent.shape)
        assert received.flags.f_contiguous == sent.flags.f_contiguous
        assert received.flags.writeable == sent.flags.writeable
        assert (received == sent).all()


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


def die_first(piece):
    """Piece 1 dies when it is told to, and piece 2 ends after that; those behind say that they have begun, and wait."""
    number, folder = piece
    if number == 1:
        until((folder / "begin").exists, "the word to begin")
        os._exit(1)
    if number == 2:
        until((folder / "end").exists, "the word to end")
    if number > 2:
        (folder / f"{number} began").touch()
        until((folder / "never").exists, "to be killed")
    return number


def test_what_has_come_in_is_given_back_before_the_error(tmp_path, monkeypatch):
    """The reader is away while a worker dies for the last time, and another one finishes.

    A piece that begins shows that the one before it, of the same worker, has come in.
    """
    monkeypatch.setattr(workers, "MOST_DEATHS", 1)
    results = run(die_first, [(number, tmp_path) for number in range(5)], name_of=lambda piece: f"piece {piece[0]}")
    assert next(results)[1] == 0
    for word, following in (("begin", "3 began"), ("end", "4 began")):
        (tmp_path / word).touch()
        until((tmp_path / following).exists, following)
    assert next(results)[1] == 2
    with pytest.raises(lb.EngineFailure, match="a worker died over piece 1, the last ended"):
        next(results)


def large(piece):
    return piece, bytes(8_000_000)


def test_a_worker_killed_with_its_result_half_sent_is_replaced(monkeypatch):
    """Eight megabytes do not fit into a socket: when their first bytes are there, the rest is still on its way."""
    killed = []

    class Killed(workers._Worker):
        def _received(self):
            if len(killed) < 4:
                until(self._line.has_something, "the beginning of a result")
                killed.append(self._process.pid)
                os.kill(self._process.pid, signal.SIGKILL)
            return super()._received()

    monkeypatch.setattr(workers, "_Worker", Killed)
    assert sorted(piece for piece, _ in run(large, range(5))) == [0, 1, 2, 3, 4]
    assert len(set(killed)) >= 4


def test_who_dies_between_two_pieces_is_replaced_and_no_piece_is_blamed(monkeypatch, caplog):
    do = workers._Worker.do
    killed = []

    def finish_and_die(self, message):
        result = do(self, message)
        os.kill(self._process.pid, signal.SIGKILL)
        killed.append(self._process.pid)
        until(self._line.has_something, "the end of the line")
        return result

    monkeypatch.setattr(workers._Worker, "do", finish_and_die)
    assert len(list(run(square, range(MOST_DEATHS + 5), 1))) == MOST_DEATHS + 5
    assert len(set(killed)) == MOST_DEATHS + 5
    assert caplog.text == ""


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


def test_a_worker_that_cannot_be_started_is_tried_again_without_blame(monkeypatch, caplog):
    """As while the system has no process to spare for a moment."""
    refused = []

    class Refusing(workers._Worker):
        def __init__(self, context):
            if len(refused) < 3 * MOST_DEATHS:
                refused.append(1)
                raise BlockingIOError("no process to spare")
            super().__init__(context)

    monkeypatch.setattr(workers, "_Worker", Refusing)
    assert list(run(square, [3], 1)) == [(3, 9)]
    assert caplog.text == ""


def test_where_no_worker_can_be_started_at_all_that_is_said(monkeypatch):
    monkeypatch.setattr(workers, "_SECONDS_BETWEEN_STARTS", 0.0)
    monkeypatch.setattr(workers, "_Worker", lambda context: Path("/nowhere").read_bytes())
    with pytest.raises(lb.EngineFailure, match=r"over 3, the last not even started \(.*No such file"):
        list(run(square, [3], 1))


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


def die_of_a_signal_without_a_name(marker):
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGRTMIN + 6)
    return marker.name


def test_a_signal_without_a_name_is_said_by_its_number(tmp_path, caplog):
    marker = tmp_path / "marker"
    assert list(run(die_of_a_signal_without_a_name, [marker])) == [(marker, "marker")]
    assert f"killed by signal {signal.SIGRTMIN + 6}" in caplog.text


def allow_little_memory(piece):
    resource.setrlimit(resource.RLIMIT_DATA, (400_000_000, 400_000_000))
    return len(piece)


def test_a_worker_without_the_memory_for_its_piece_is_replaced_and_the_piece_named(caplog):
    """The first piece sets the limit, and the second does not fit; a new worker has no such limit, and takes it."""
    results = run(allow_little_memory, [b"x", bytes(500_000_000)], 1, name_of=lambda piece: f"{len(piece)} bytes")
    assert sorted(size for _, size in results) == [1, 500_000_000]
    assert "a worker died over 500000000 bytes, which is run again: ended by itself, with status 1" in caplog.text


def test_a_generator_that_is_never_closed_keeps_no_process_from_ending(tmp_path):
    script = tmp_path / "unclosed.py"
    script.write_text(
        textwrap.dedent(f"""
        from pathlib import Path
        from tests.test_workers import run, say_so_and_never_end
        if __name__ == "__main__":
            kept = run(say_so_and_never_end, [Path({str(tmp_path)!r}) / name for name in ("quick", *"abcdefgh")])
            next(kept)
        """),
        encoding="utf-8",
    )
    ended = subprocess.run([sys.executable, str(script)], env=environment_of_scripts(), timeout=SECONDS, check=False)
    assert ended.returncode == 0


class Unreadable:
    """What a worker can send and no process can read."""

    def __reduce__(self):
        return (int, ("no number",))


def make_unreadable(piece):
    return Unreadable()


def run_within(piece):
    return list(run(square, [piece], 1))


@pytest.mark.parametrize(
    ("function", "said"),
    [(make_unreadable, "3 could not be run .*no number"), (run_within, "daemonic processes are not allowed")],
)
def test_what_cannot_be_done_names_the_piece_and_the_remedy(function, said):
    with pytest.raises(lb.EngineFailure, match=f"{said}.*; the remedy"):
        list(run(function, [3], 1))


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raise_it(piece):
    match piece:
        case "refused":
            raise lb.InvalidParameter("no such thing; try another")
        case "large":
            raise MemoryError
        case "unpicklable":
            raise Unpicklable("this", "that")
        case "lambda":
            return lambda: None
    return piece


def test_what_a_piece_raises_is_raised_here_with_where_it_was():
    with pytest.raises(lb.InvalidParameter, match="no such thing; try another") as raised:
        list(run(raise_it, ["refused"]))
    (note,) = raised.value.__notes__
    assert "in a worker process, over refused" in note
    assert "in raise_it" in note


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ("large", "a worker ran out of memory over large; the remedy"),
        ("unpicklable", "Unpicklable: this and that"),
        ("lambda", "lambda"),
    ],
)
def test_what_cannot_travel_is_told_in_words(piece, said):
    with pytest.raises((lb.EngineFailure, AttributeError, pickle.PicklingError), match=said):
        list(run(raise_it, [piece]))


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


def test_the_end_of_the_interpreter_ends_the_workers_first(monkeypatch, tmp_path):
    """Before multiprocessing waits for them: threads that tend workers replace those that it ends."""
    at_exit = []
    monkeypatch.setattr(workers.atexit, "register", at_exit.append)
    piece = tmp_path / "endless"
    results = run(say_so_and_never_end, [tmp_path / "quick", piece])
    next(results)
    endless = int(until(lambda: piece.exists() and piece.read_text(), "a worker"))
    (end,) = at_exit
    end()
    until(lambda: parent_of(endless) is None, "the worker to be gone")
    results.close()


def test_there_is_a_core_to_use(monkeypatch):
    assert usable_cores() >= 1
    monkeypatch.delattr(workers.os, "sched_getaffinity", raising=False)
    for cores, usable in ((8, 8), (None, 1)):
        monkeypatch.setattr(workers.os, "cpu_count", lambda cores=cores: cores)
        assert usable_cores() == usable


class LeavesWhenRead:
    """What ends the thread that reads it."""

    def __reduce__(self):
        return (sys.exit, (3,))


def make_what_leaves(piece):
    return LeavesWhenRead() if piece == 1 else piece


def test_a_result_that_ends_the_thread_that_reads_it_is_an_error_and_no_wait():
    with pytest.raises(lb.EngineFailure, match=r"1 could not be run \(SystemExit\(3\)\); the remedy"):
        list(run(make_what_leaves, [0, 1]))


def raise_stop(piece):
    raise StopIteration(piece)


def test_a_piece_may_not_end_the_generator():
    with pytest.raises(lb.EngineFailure, match=r"3 raised StopIteration\(3\); the remedy"):
        list(run(raise_stop, [3]))


@pytest.mark.parametrize("fault", ["the source", "a piece that cannot be sent"])
def test_what_is_handed_out_is_finished_before_an_error_of_who_makes_the_pieces(fault):
    def source():
        yield from range(8)
        if fault == "the source":
            raise lb.InvalidParameter("no more")
        yield lambda: None
        yield 9

    finished = []
    with pytest.raises((lb.InvalidParameter, AttributeError, pickle.PicklingError), match=r"no more|lambda"):
        finished.extend(piece for piece, _ in run(square, source()))
    assert sorted(finished) == list(range(8))


def test_no_workers_at_all_are_refused():
    with pytest.raises(lb.InvalidParameter, match="0 workers can do nothing"):
        list(run(square, [1], 0))


def test_a_worker_that_begins_when_the_run_is_over_is_ended_at_once(monkeypatch):
    """The run ends while a worker takes long to begin: longer than its end waits for it."""
    begin, begun = threading.Event(), []

    class Slow(workers._Worker):
        def __init__(self, context):
            assert begin.wait(60)
            super().__init__(context)
            begun.append(self._process.pid)

    monkeypatch.setattr(workers, "_Worker", Slow)
    monkeypatch.setattr(workers, "_SECONDS_TO_END", 0.2)
    ended = []

    def close_soon():
        results = run(say_so_and_never_end, [Path("never")], 1)
        crew_began = threading.Timer(0.2, lambda: ended.append(results.gi_frame.f_locals["crew"].end()))
        crew_began.start()
        with pytest.raises(lb.EngineFailure):
            next(results)

    closing_thread = threading.Thread(target=close_soon, daemon=True)
    closing_thread.start()
    until(lambda: ended, "the end of the run")
    begin.set()
    until(lambda: begun and parent_of(begun[0]) is None, "the worker that was late to be gone")
    join(closing_thread)
