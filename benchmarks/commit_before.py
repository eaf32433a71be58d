"""Is this tree as fast as an earlier commit? Simulation, ask and tell, depth and the service, both trees in one run.

    make bench SECTION=commit-before REV=HEAD~3 ONLY=service

Each tree is imported by a process of its own. The two are asked in turn for a short piece of the same work, some dozens
of times, and each piece is held against the one of the other tree beside it: what else the machine does changes both.
What is compared are times of the processor; for the service it is those of the server's process, over a few rounds. The
figure is the median of the ratios.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Self

import numpy as np

import linkedbandits as lb
from benchmarks.service_http import ARMS, HARDLY_EVER, Connection, Player
from linkedbandits.policy import AnyPolicy
from linkedbandits.service.client import Client

SLICES = 40
ROUNDS = 5
ALLOWED = 1.05
ROOT = Path(__file__).parents[1]
SECONDS_OF_MEASURING = 300.0


def main() -> None:
    """Print a table of ratios."""
    revision = os.environ.get("REV", "HEAD~1")
    with tempfile.TemporaryDirectory() as folder:
        packed = ["git", "archive", revision, "src"]
        archive = subprocess.run(packed, cwd=ROOT, check=True, capture_output=True, timeout=60)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True, timeout=60)
        print(f"time of the processor, this tree over {revision} (allowed: {ALLOWED}), with the middle half")
        with Tree(ROOT / "src") as now, Tree(Path(folder) / "src") as before:
            for what in (what for what in WORK if what.startswith(os.environ.get("ONLY", ""))):
                times = 1 if what.startswith("frame") else ROUNDS if what.startswith(("service", "depth")) else SLICES
                ratios = sorted(ratio_of_a_slice(what, number, now, before) for number in range(times))
                low, middle, high = ratios[times // 4], median(ratios), ratios[-1 - times // 4]
                note = "" if middle <= ALLOWED else "   more than allowed"
                print(f"  {what:44} {middle:5.2f}   ({low:.2f} to {high:.2f}){note}", flush=True)


def ratio_of_a_slice(what: str, number: int, now: Tree, before: Tree) -> float:
    """The second may find the machine warmer or busier: they take turns in being it."""
    if number % 2:
        after = now.seconds(what)
        return after / before.seconds(what)
    earlier = before.seconds(what)
    return now.seconds(what) / earlier


class Tree:
    """A process that imports the library from a folder, and measures what it is told."""

    def __init__(self, source: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.commit_before", str(source)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.communicate(timeout=SECONDS_OF_MEASURING)  # it ends with its input

    def seconds(self, what: str) -> float:
        """Of the processor, for one piece of this work."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(what, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())


def serve_seconds(source: Path) -> None:
    """Measure what is read from the standard input. Uses public names alone, which earlier commits have, too."""
    assert Path(lb.__file__).is_relative_to(source), f"{lb.__file__} is not in {source}"
    for line in sys.stdin:
        print(WORK[line.strip()](), flush=True)


def simulation(policy: AnyPolicy, trials: int) -> Callable[[], float]:
    def seconds() -> float:
        begun = time.process_time()
        lb.simulate(lb.scenarios.one_sparse(100), policy, trials=trials, seed=1)
        return time.process_time() - begun

    return seconds


def plays(linkage: str, arms: int) -> float:
    """Some thousand plays of an experiment in this process."""
    means = np.full(arms, 0.1)
    means[-2:] = 0.3  # a tie, so that the run does not end
    heads = (np.random.default_rng(1).random((1000, arms)) < means).tolist()
    experiment = lb.Experiment(range(arms), lb.LinkedElimination(delta=1e-12), linkage=linkage)
    begun = time.process_time()
    for number in range(3_000):
        play = experiment.ask()
        coin = heads[number % 1000]
        experiment.tell(play.id, next((arm for arm in play.arms if coin[arm]), None))
    return time.process_time() - begun


def frame_seconds(scene: str, side: int) -> float:
    """A depth frame, adaptive and with a guarantee, in this process."""
    from linkedbandits.lidar import Scene, Sensor, Task, capture  # nothing else here needs it

    generator = np.random.default_rng(2)
    depth = generator.uniform(2.0, 5.0, (side, side)) if scene == "random" else np.full((side, side), 3.3)
    task = Task(Sensor(bins=500, reach=6.0, ambient=10.0), signal=0.5, cycles=1000, delta=0.05)
    begun = time.process_time()
    capture(Scene(scene, depth, np.ones_like(depth)), task, "pulse")
    return time.process_time() - begun


def service_seconds(batch: int, pairs: int) -> float:
    """Time of the processor that a server takes for that many plays, asked for and told over HTTP by 32 clients."""
    clients = 32

    async def load(url: str, experiment: str, share: int) -> None:
        connections = [await Connection.open(url) for _ in range(clients)]
        players = [Player(connection, experiment, batch, seed) for seed, connection in enumerate(connections)]

        async def play(player: Player) -> None:
            while player.pairs < share / clients:
                await player.play()

        await asyncio.gather(*map(play, players))
        for connection in connections:
            connection.close()

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "linkedbandits", "serve", "--port", "0", "--store", f"{folder}/s.sqlite3"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().split()[2].rstrip("/")
            try:
                with Client(url) as client:
                    experiment = client.create(
                        "load", ARMS, lb.LinkedElimination(delta=HARDLY_EVER), parallel=clients * batch
                    )
                asyncio.run(load(url, experiment.id, pairs // 4))  # warm up
                begun = processor_seconds(server.pid)
                asyncio.run(load(url, experiment.id, pairs))
                return processor_seconds(server.pid) - begun
            finally:
                server.send_signal(signal.SIGTERM)


def processor_seconds(process: int) -> float:
    """What a process has used so far, in all its threads."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


WORK: dict[str, Callable[[], float]] = {
    "simulate, uniform-sampling, n=100": simulation(lb.UniformSampling(delta=0.1), 100),
    "simulate, linked-ege, n=100": simulation(lb.LinkedEGE(delta=0.1, gap=0.05), 2_000),
    "simulate, linked-elimination, n=100": simulation(lb.LinkedElimination(delta=0.1), 500),
    "simulate, linked-track-and-stop, n=100": simulation(lb.LinkedTrackAndStop(delta=0.1), 60),
    **{
        f"ask and tell, {linkage}, n={arms}": partial(plays, linkage, arms)
        for linkage in ("ordered", "free", "single")
        for arms in (10, 1000)
    },
    "depth, 16 x 16 pixels of a wall in 500 bins": partial(frame_seconds, "wall", 16),
    "depth, 16 x 16 pixels at random in 500 bins": partial(frame_seconds, "random", 16),
    "frame, 128 x 128 pixels at random in 500 bins": partial(frame_seconds, "random", 128),
    "service, batches of 1": partial(service_seconds, 1, 3_000),
    "service, batches of 100": partial(service_seconds, 100, 80_000),
}
"""What is measured, and how many seconds of the processor one piece of it takes."""

if __name__ == "__main__":
    serve_seconds(Path(sys.argv[1]))
