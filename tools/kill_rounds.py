"""Kill a desk at work, again and again, and look whether anything that it had acknowledged is gone.

A *nursery* is a process with everything imported, which forks a worker for every round: a desk with several threads
that ask and tell as fast as they can, and report every answer that was acknowledged. The worker is killed with SIGKILL
a random moment after it has reported a random number of answers. Then the store is opened again and compared with what
the worker had reported.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import journal_lines
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.records import Setup
from linkedbandits.service.store import Store, open_store
from tools.uninterrupted import uninterrupted
from tools.waiting import SECONDS, join

ROOT = Path(__file__).resolve().parent.parent
THREADS = 4
SETUP = Setup(
    tuple("abcdef"), {"name": "linked-elimination", "parameters": {"delta": 1e-60}}, parallel=200, lease_seconds=0.2
)
SNAPSHOT_EVERY = 300
MOST_ANSWERS = 500
"""A worker that is to be killed reports fewer than this before."""


def outcome(play: lb.Play) -> object:
    """How a play ends, the same for every caller."""
    position = play.id * 7919 % 13
    return play.arms[position] if position < len(play.arms) else None


def work(number: int, url: str, experiment: str, seed: int, rounds: int) -> None:
    """The worker: that many rounds in each thread; by far too many if it is to be killed."""
    store = open_store(url)
    desk = Desk(store, snapshot_every=SNAPSHOT_EVERY)
    desk.start()
    os.write(1, f"ready {number} {os.getpid()}\n".encode())

    def ask_and_tell(thread: int) -> None:
        rng = random.Random(f"{seed} {thread}")
        for _ in range(rounds):
            try:
                plays = desk.ask(experiment, rng.randint(1, 12)).result(SECONDS).plays
            except lb.TooManyInFlight:  # those never told are waited for until their lease runs out
                time.sleep(0.02)
                continue
            os.write(1, f"asked {' '.join(str(play.id) for play in plays)}\n".encode())
            if rng.random() < 0.05:
                continue  # never told; the lease runs out
            told = desk.tell(experiment, [(play.id, outcome(play)) for play in plays]).result(SECONDS)
            for play, receipt in zip(plays, told.receipts, strict=True):
                os.write(1, f"told {play.id} {receipt}\n".encode())
            if rng.random() < 0.1:
                desk.expire().result(SECONDS)

    threads = [threading.Thread(target=ask_and_tell, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    join(*threads, seconds=3 * SECONDS)
    desk.stop()
    store.close()


def serve_as_nursery() -> None:
    """Fork workers for every line, the JSON of a list of their arguments, and say when the last of them is gone."""
    with suppress(ImportError):
        importlib.import_module("psycopg")  # once, instead of in every worker
    for line in sys.stdin:
        pids = []
        for number, arguments in enumerate(json.loads(line)):
            pid = os.fork()
            if pid == 0:
                work(number, *arguments)
                os._exit(0)
            pids.append(pid)
        for pid in pids:
            os.waitpid(pid, 0)
        os.write(1, b"gone\n")


@dataclass(frozen=True)
class Worker:
    """What a worker works on, and after how many answers it is killed; None if it is left to finish its rounds."""

    experiment: str
    seed: int
    killed_after: int | None = None

    @property
    def rounds(self) -> int:
        """By far too many for one that is killed."""
        return 40 if self.killed_after is None else 1_000_000


@dataclass
class Reported:
    """What workers have acknowledged: plays handed out, and receipts by play."""

    asked: list[int] = field(default_factory=list)
    told: dict[int, str] = field(default_factory=dict)

    def take(self, kind: str, words: list[str]) -> None:
        """A line that a worker wrote."""
        if kind == "asked":
            self.asked += map(int, words)
        else:
            play, receipt = int(words[0]), words[1]
            assert play not in self.told, f"play {play} was told twice"
            self.told[play] = receipt


class Nursery:
    """Where workers come from."""

    def __init__(self, seed: int = 0) -> None:
        self._moments = random.Random(seed)
        self._workers: list[int] = []

    def __enter__(self) -> Nursery:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tools.kill_rounds"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
            start_new_session=True,  # so that it can be killed with all its workers
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self._process.communicate(timeout=SECONDS)
        finally:
            self._kill()
            for pipe in (self._process.stdin, self._process.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()

    def kill_workers(self) -> None:
        """Now, whatever they have reported. Any thread may ask for it."""
        for pid in self._workers:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(SECONDS)

    def run(self, url: str, workers: Sequence[Worker], reported: Reported) -> None:
        """Let workers work, and write down what they report, until the last of them is gone."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        arguments = [[url, worker.experiment, worker.seed, worker.rounds] for worker in workers]
        process.stdin.write(json.dumps(arguments) + "\n")
        process.stdin.flush()
        watchdog = _later(3 * SECONDS, self._kill)
        before, doomed = len(reported.told), dict[int, int]()
        for line in process.stdout:
            kind, *words = line.split()
            if kind == "ready":
                self._workers.append(int(words[1]))
                worker = workers[int(words[0])]
                if worker.killed_after is not None:
                    doomed[int(words[1])] = worker.killed_after
            elif kind == "gone":
                watchdog.cancel()
                self._workers.clear()
                return
            else:
                reported.take(kind, words)
            for pid in [pid for pid, answers in doomed.items() if len(reported.told) - before >= answers]:
                del doomed[pid]
                # Not just when an answer was acknowledged: in the middle of whatever comes next.
                _later(self._moments.uniform(0.0, 0.01), os.kill, pid, signal.SIGKILL)
        raise RuntimeError("the nursery is gone")


def _later(seconds: float, action: Callable[..., None], *arguments: object) -> threading.Timer:
    timer = threading.Timer(seconds, action, arguments)
    timer.daemon = True
    timer.start()
    return timer


def create(store: Store) -> str:
    """An experiment to work on; its identifier."""
    with Desk(store) as desk:
        return desk.create(SETUP, "nothing lost").result(SECONDS).id


def check(store: Store, experiment: str, reported: Reported) -> int:
    """Everything acknowledged is there, once, and the experiment is what it would be without interruption.

    Returns the answers on record.
    """
    with store.writing() as tables:
        tables.lock(experiment)  # a server may still be at the last commit of a client that is dead
    with store.reading() as tables:
        hosted = HostedExperiment.open(tables, tables.record(experiment))
    handed_out: dict[int, lb.Play] = {}
    receipts: dict[int, str] = {}
    for event in map(json.loads, "".join(journal_lines(store, experiment)).splitlines()):
        play = event.get("play")
        if event["kind"] == "ask":
            assert play == len(handed_out), f"play {play} was handed out out of turn"
            handed_out[play] = lb.Play(play, tuple(event["arms"]))
        elif event["kind"] == "tell":
            assert play not in receipts, f"play {play} is on record twice"
            assert event["hit"] == outcome(handed_out[play]), f"play {play} has another answer"
            receipts[play] = event["receipt"]
    assert len(set(reported.asked)) == len(reported.asked), "a play was handed out twice"
    assert set(reported.asked) <= handed_out.keys(), "a play was handed out that is not on record"
    lost = {play: receipt for play, receipt in reported.told.items() if receipts.get(play) != receipt}
    assert not lost, f"acknowledged and lost: {lost}"

    plain = uninterrupted(store, experiment)
    assert hosted.experiment.to_json() == plain.to_json(), "the state differs from that of an uninterrupted run"
    assert hosted.experiment.ask() == plain.ask(), "the next decision differs"
    return len(receipts)


def rounds_of_kills(url: str, rounds: int, seed: int, rounds_each: int = 5) -> Iterator[int]:
    """Kill a worker ``rounds`` times, with a new experiment every few rounds; yields the answers checked so far."""
    rng = random.Random(seed)
    store = open_store(url)
    answers = 0
    try:
        with Nursery(seed) as nursery:
            for number in range(rounds):
                if number % rounds_each == 0:
                    experiment, reported, before = create(store), Reported(), 0
                nursery.run(url, [Worker(experiment, rng.randrange(2**30), rng.randrange(MOST_ANSWERS))], reported)
                on_record = check(store, experiment, reported)
                answers, before = answers + on_record - before, on_record
                yield answers
    finally:
        store.close()


if __name__ == "__main__":
    serve_as_nursery()
