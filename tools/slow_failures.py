"""A world in which failures take longer than successes, for what a chain and an experiment make of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import linkedbandits as lb


class SlowFailures:
    """Calls that begin one after the other; a failure of a slow option takes as long as so many calls."""

    def __init__(self, means: dict[str, float], slow: set[str], calls_long: int, seed: int, **given: object) -> None:
        self._luck = random.Random(seed)
        self._now, self._calls_long = 0, calls_long
        self._woken: list[tuple[int, asyncio.Event]] = []
        self._running: list[asyncio.Task[object]] = []
        options = {label: self._option(mean, label in slow) for label, mean in means.items()}
        self.chain = lb.Chain(options, seed=seed, **given)  # type: ignore[arg-type]

    def _option(self, mean: float, slow: bool) -> Callable[[], object]:
        async def attempt() -> bool:
            if self._luck.random() < mean:
                return True
            if slow:
                wake = asyncio.Event()
                self._woken.append((self._now + self._calls_long, wake))
                await wake.wait()
            raise ConnectionError

        return attempt

    async def call(self) -> None:
        """One more, and all that end by then."""
        self._now += 1
        self._running.append(asyncio.ensure_future(self.chain.acall()))
        for _ in range(3):
            await asyncio.sleep(0)
        while self._woken and self._woken[0][0] <= self._now:
            self._woken.pop(0)[1].set()
            await asyncio.sleep(0)
        if self._now % 100 == 0:
            for task in [task for task in self._running if task.done()]:
                self._running.remove(task)
                task.exception()

    async def end(self) -> None:
        """Give up what is running."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def named_after_many_successors(seed: int, means: dict[str, float]) -> object:
    """What is named where another experiment goes on after every five plays; failures of "slow" take four plays."""
    luck = random.Random(seed)
    exp = lb.Experiment(list(means), lb.LinkedElimination(0.1), linkage="single", seed=seed)
    out: list[tuple[lb.Experiment, int]] = []
    for number in range(1, 201):
        while not exp.done:
            try:
                play = exp.ask()
                break
            except lb.TooManyInFlight:
                told, failed = out.pop(0)
                told.tell(failed, None)
        if exp.done:
            return exp.recommend().arm
        (arm,) = play.arms
        if luck.random() < means[str(arm)]:
            exp.tell(play.id, arm)
        elif arm == "slow":
            out.append((exp, play.id))
        else:
            exp.tell(play.id, None)
        if len(out) > 3:
            told, failed = out.pop(0)
            told.tell(failed, None)
        if number % 5 == 0 and not exp.done:
            exp = exp.successor()
    return None
