"""Kill processes with a chain in a file, again and again, and look whether anything that they acknowledged is gone."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import linkedbandits as lb
from linkedbandits.chain.in_file import BEGUN, LOST, NONE_WORKED
from linkedbandits.live.answers import NO_HIT
from tools.chain_worker import MEANS, open_chain
from tools.waiting import SECONDS, killed_in_the_end

ROOT = Path(__file__).resolve().parent.parent
MOST_ANSWERS = 40
"""A process is killed after fewer answers than this."""


@dataclass(frozen=True)
class Killed:
    """What is known after a kill: answers acknowledged so far, and the order that was served before and is after."""

    answers: int
    before: tuple[str, ...]
    after: tuple[str, ...]


def start(path: Path, seed: int, calls: int, pause: float = 0.0) -> subprocess.Popen[str]:
    """A worker."""
    return subprocess.Popen(
        [sys.executable, "-m", "tools.chain_worker", str(path), str(seed), str(calls), str(pause)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        cwd=ROOT,
    )


def take(line: str, told: dict[int, str]) -> None:
    """Note what a worker says."""
    kind, *words = line.split()
    if kind == "told":
        assert int(words[0]) not in told, f"play {words[0]} was handed out twice"
        told[int(words[0])] = words[1]


def check(chain: lb.Chain, told: dict[int, str]) -> None:
    """Everything that was acknowledged is on record, as it was told."""
    experiment = chain._home._experiment  # type: ignore[attr-defined]
    labels, answers = list(MEANS), experiment.answers
    lost = {
        play: hit for play, hit in told.items() if answers.of(play) != (NO_HIT if hit == "-" else labels.index(hit))
    }
    assert not lost, f"acknowledged and lost: {lost}"
    assert chain.order == tuple(experiment.order), "the order is not that of what is on record"
    again = lb.Experiment.from_json(experiment.to_json())
    assert again.order == chain.order, "the order is another one when it is read again"


def rounds_of_kills(path: Path, rounds: int, seed: int) -> Iterator[Killed]:
    """Kill a worker at a random moment so many times; all go on with the same file."""
    rng, told = random.Random(seed), dict[int, str]()
    for number in range(rounds):
        before = len(told)
        doomed = rng.randrange(MOST_ANSWERS)
        process = start(path, number, 1_000_000)
        with killed_in_the_end(process):
            assert process.stdout is not None
            for line in process.stdout:
                take(line, told)
                if len(told) - before >= doomed:
                    # Not just when something was acknowledged: in the middle of whatever comes next.
                    threading.Timer(rng.uniform(0.0, 0.05), process.kill).start()
                    break
            for line in process.stdout:
                take(line, told)
            process.stdout.close()
        left = left_on_disk(path)
        with open_chain(str(path)) as chain:
            check(chain, told)
            after = tuple(map(str, chain.order))
            assert after == left.with_answers, f"{after} is served after a restart, and {left} was there before"
            yield Killed(len(told), left.order, after)


@dataclass(frozen=True)
class OnDisk:
    """What a dead process has left: the order on record, and the one with all answers that were not applied yet."""

    order: tuple[str, ...]
    with_answers: tuple[str, ...]


def left_on_disk(path: Path) -> OnDisk:
    """Read what is there without a chain: the experiment, then the answers of the dead, then their plays given up."""
    first, _, text = path.read_text(encoding="utf-8").partition("\n")
    head, experiment = json.loads(first), lb.Experiment.from_json(text)
    order = tuple(map(str, experiment.order))
    out = set(map(int, head["out"]))
    prefix = f"{path.name}.answers-"
    for answers in sorted(path.parent.glob(f"{prefix}*")):
        applied = head["read"].get(answers.name.removeprefix(prefix), 0)
        for line in answers.read_bytes()[applied:].splitlines(keepends=True):
            if line.endswith(b"\n"):  # else it was not acknowledged
                play, arm, _ = map(int, line.split())
                if arm not in (BEGUN, LOST):  # what is lost is given up below
                    experiment.tell(play, None if arm == NONE_WORKED else experiment.arms[arm])
                    out.discard(play)
    for play in sorted(out):
        experiment.abandon(play)
    return OnDisk(order, tuple(map(str, experiment.order)))


def several_at_once(path: Path, processes: int, calls: int, seed: int, killed: int = 0) -> dict[int, str]:
    """Let workers share a file, and kill some of them half-way; what all of them have acknowledged."""
    told: dict[int, str] = {}
    guard = threading.Lock()
    workers = [start(path, seed + number, calls, 0.002) for number in range(processes)]

    def listen(number: int) -> None:
        process, heard = workers[number], 0
        assert process.stdout is not None
        for line in process.stdout:
            with guard:
                take(line, told)
            heard += line.startswith("told")
            if number < killed and heard >= 20:
                process.kill()

    threads = [threading.Thread(target=listen, args=(number,)) for number in range(processes)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join(SECONDS)
            assert not thread.is_alive(), "a worker did not end"
    finally:
        for process in workers:
            process.kill()
            process.wait(SECONDS)
            assert process.stdout is not None
            process.stdout.close()
    return told
