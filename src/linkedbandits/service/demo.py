"""Simulated users for a running service, so that there is something to watch."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from linkedbandits.errors import ExperimentFinished, TooManyInFlight
from linkedbandits.model import Label
from linkedbandits.policies.linked_duels import LinkedDuels
from linkedbandits.service.async_client import AsyncClient, AsyncRemoteExperiment

NAME = "Demo: which payment gateway works?"
GATEWAYS: dict[Label, float] = {
    "Amber": 0.55,
    "Basalt": 0.60,
    "Cedar": 0.52,
    "Delta": 0.62,
    "Ember": 0.58,
    "Fjord": 0.80,
    "Garnet": 0.70,
    "Harbour": 0.61,
    "Indigo": 0.50,
    "Juniper": 0.57,
}
"""How often each succeeds. Fjord is best, which the experiment is not told."""
BAD_CARDS = 0.15
"""The share of users whose card no gateway takes: that is how options fail together."""

_MEAN_SECONDS_TO_ANSWER = 0.3
_SECONDS_WITHOUT_PLAYS = 0.2


async def open_demo(client: AsyncClient) -> AsyncRemoteExperiment:
    """The demonstration that is under way, or a new one; plays that are not answered in twenty seconds go back."""
    for listed in await client.experiments():
        if (listed.name, listed.status) == (NAME, "running"):
            exp = client.experiment(listed.id)
            if not await exp.done():
                return exp
    return await client.create(NAME, list(GATEWAYS), LinkedDuels(delta=0.05), linkage="free", lease_seconds=20.0)


@dataclass
class Traffic:
    """Users who come at a rate, try what they are given, and sometimes leave without a word.

    ``means`` are over all users, the share ``hopeless`` included whom no option can serve. ``on_told`` is called after
    every answer.
    """

    exp: AsyncRemoteExperiment
    means: Mapping[Label, float]
    per_second: float
    lost: float
    rng: random.Random
    on_told: Callable[[], None] = lambda: None
    hopeless: float = 0.0
    done: bool = False

    async def run(self) -> None:
        """Until there is a verdict; the first error that a user meets ends it, too."""
        try:
            async with asyncio.TaskGroup() as users:
                while not self.done:
                    # A generator of their own, so that what they do depends on the seed and not on who comes first.
                    users.create_task(self._visit(random.Random(self.rng.getrandbits(64))))
                    await asyncio.sleep(self.rng.expovariate(self.per_second))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from failed

    async def _visit(self, rng: random.Random) -> None:
        try:
            play = await self.exp.ask()
        except ExperimentFinished:
            self.done = True
            return
        except TooManyInFlight:
            await asyncio.sleep(_SECONDS_WITHOUT_PLAYS)
            return
        await asyncio.sleep(rng.expovariate(1 / _MEAN_SECONDS_TO_ANSWER))
        if rng.random() < self.lost:
            return
        served = rng.random() >= self.hopeless
        works = (arm for arm in play.arms if rng.random() * (1 - self.hopeless) < self.means[arm])
        hit = next(works, None) if served else None
        told = await self.exp.tell_many([(play.id, hit)])
        self.done = self.done or told.done
        self.on_told()
