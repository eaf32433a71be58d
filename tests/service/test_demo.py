"""Simulated users: they play to the verdict, and the seed says what they do."""

from __future__ import annotations

import random

import pytest

import linkedbandits as lb
from linkedbandits.service.async_client import AsyncClient
from linkedbandits.service.demo import GATEWAYS, Traffic, open_demo
from tools.waiting import run_async


def test_a_demonstration_under_way_is_gone_on_with(service):
    async def open_twice():
        async with AsyncClient(service.url) as client:
            return (await open_demo(client)).id, (await open_demo(client)).id

    first, second = run_async(open_twice())
    assert first == second


def test_users_play_to_the_verdict_and_some_never_answer(service):
    means = {"no": 0.0, "yes": 0.9, "perhaps": 0.1}
    told = []

    async def play():
        async with AsyncClient(service.url) as client:
            exp = await client.create("quick", list(means), lb.LinkedElimination(delta=0.2), lease_seconds=0.5)
            traffic = Traffic(exp, means, 200.0, 0.2, random.Random(2), on_told=lambda: told.append(1))
            await traffic.run()
            return exp.id, await exp.recommend()

    experiment, verdict = run_async(play())
    assert (verdict.arm, verdict.status) == ("yes", "confident")
    view = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert view["plays"] == len(told)
    assert view["abandoned"] + view["in_flight"] > 0


def test_a_service_that_goes_away_ends_it_with_the_reason():
    class Gone:
        async def ask(self):
            raise lb.ServiceUnavailable("not answered; is the service running?")

    with pytest.raises(lb.ServiceUnavailable, match="is the service running"):
        run_async(Traffic(Gone(), GATEWAYS, 100.0, 0.0, random.Random(1)).run())
