"""``linkedbandits demo-traffic``: simulated users for a running service."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from typing import Annotated

import typer

from linkedbandits.cli import service_options as opt
from linkedbandits.cli.options import time_in


def demo_traffic(
    url: Annotated[str, typer.Option(help="Where the service is.")] = opt.DEFAULT_URL,
    token: Annotated[
        str | None, typer.Option(envvar="LINKEDBANDITS_TOKEN", help="A token with the role admin, if it wants one.")
    ] = None,
    rate: Annotated[float, typer.Option(min=0.1, max=1000, help="Users per second.")] = opt.DEMO_RATE,
    lost: Annotated[float, typer.Option(min=0, max=0.9, help="The share of users who never answer.")] = opt.DEMO_LOST,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="TIME", parser=time_in("s", 0.1), help="Stop after this many seconds, decided or not."),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same users.")] = None,
) -> None:
    """Play simulated users against a running service, until there is a verdict.

    Ten payment gateways, tried until one works; some users never say how it went.

    As real ones do, they fail together: some cards no gateway takes. The policy, linked-duels, does not mind.
    """
    asyncio.run(_play(url, token, rate, lost, seconds, random.Random(seed)))


async def _play(
    url: str, token: str | None, rate: float, lost: float, seconds: float | None, rng: random.Random
) -> None:
    with opt.service_extra():
        from linkedbandits.service.async_client import AsyncClient  # an extra
        from linkedbandits.service.demo import BAD_CARDS, GATEWAYS, Traffic, open_demo

    async with AsyncClient(url, token) as client:
        exp = await open_demo(client)
        typer.echo(f"Watch it: {url}/#/experiments/{exp.id}")
        told = 0

        def count() -> None:
            nonlocal told
            told += 1
            if told % 100 == 0:
                typer.echo(f"{told:,} plays told", err=True)

        traffic = Traffic(exp, GATEWAYS, rate, lost, rng, count, hopeless=BAD_CARDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await traffic.run()
        verdict = await exp.recommend()
        word = "is best" if traffic.done else "leads"
        typer.echo(f"{verdict.arm} {word}, after {verdict.plays:,} plays.")
