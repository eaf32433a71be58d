"""The client for event loops: the same names as the other, and the same through any weather."""

from __future__ import annotations

import random

import linkedbandits as lb
from linkedbandits.service.async_client import AsyncClient
from tests.support.coin_flips import play_to_the_end
from tests.support.weather import ARMS
from tools.waiting import run_async


def test_the_asynchronous_client_does_the_same(service):
    here = play_to_the_end(lb.Experiment(ARMS, lb.LinkedElimination(delta=0.1)), seed=3)

    async def play():
        rng = random.Random(3)
        means = {"north": 0.1, "east": 0.5, "south": 0.2}
        async with AsyncClient(service.url) as client:
            exp = await client.create("directions", ARMS, lb.LinkedElimination(delta=0.1))
            assert (exp.id, "directions", "running") in await client.experiments()
            while not await exp.done():
                play = await exp.ask()
                await exp.tell(play.id, next((arm for arm in play.arms if rng.random() < means[arm]), None))
            assert await exp.plays() == here.plays
            await exp.pause()
            await exp.resume()
            await exp.archive()
            return await exp.recommend(), await exp.estimates()

    assert run_async(play()) == (here.recommend(), here.estimates())
