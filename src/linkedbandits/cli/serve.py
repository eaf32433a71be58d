"""``linkedbandits serve``: the live service and its page."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Annotated

import typer

from linkedbandits.cli import service_options as opt
from linkedbandits.errors import InvalidParameter
from linkedbandits.signals import leave_signals_to_the_server


def serve(
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    host: Annotated[str, typer.Option(help="The address to listen on; all but loopback need tokens.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 picks a free one.")] = 8000,
    requests_per_second: Annotated[
        float, typer.Option(min=1, help="How many requests per second each token may make.")
    ] = 1000.0,
    require_tokens: Annotated[
        bool | None,
        typer.Option(
            help="Require tokens from the start, or open a service again whose tokens were all revoked. "
            "By default tokens are required once one was made.",
            show_default=False,
        ),
    ] = None,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log every request, not only those that fail.")
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Let simulated users play a demonstration.")] = False,
) -> None:
    """Serve live experiments over HTTP, with a page to watch them.

    An experiment whose policy takes something for granted says so in the answer to its creation and on its page.

    Stops on Ctrl-C or SIGTERM: requests that are under way have three seconds to finish, and nothing that was
    acknowledged is lost. A second signal stops it at once.
    """
    with opt.service_extra():
        from linkedbandits.service.http.logs import start_logging  # an extra
        from linkedbandits.service.http.server import make_server
        from linkedbandits.service.http.service import Settings

    with opt.opened_store(store) as opened:
        with opened.reading() as reading:
            closed = reading.tokens() or (reading.ever_had_tokens() and require_tokens is not False)
            if demo and (closed or require_tokens):
                raise InvalidParameter(
                    f"--demo plays without a token, and {without_password(store)} is closed to those who have none; "
                    "leave it out and run 'linkedbandits demo-traffic --token TOKEN', or name another --store"
                )
        start_logging()
        settings = Settings(
            open_without_tokens=require_tokens is not True,
            reopen=require_tokens is False,
            requests_per_second=requests_per_second,
            log_requests=log_requests,
        )
        on_ready = _announce_and_play(store) if demo else _announce(store)
        server = make_server(opened, settings, host, port, on_ready)
        leave_signals_to_the_server(server.stop_early)
        server.run()
        typer.echo(f"Stopped; all that was acknowledged is in {without_password(store)}, and the same command goes on.")


def _announce(store: str) -> Callable[[str], None]:
    def announce(url: str) -> None:
        typer.echo(f"Live page: {url}/   API: {url}/openapi.json   store: {without_password(store)}")
        typer.echo("Ctrl-C stops it.")

    return announce


def without_password(store: str) -> str:
    """A store's address as it may be shown: of a database, nothing but user, host, port and name."""
    if not store.startswith(("postgresql://", "postgres://")):
        return store
    from psycopg.conninfo import conninfo_to_dict  # an extra

    known = conninfo_to_dict(store)
    user = f"{known['user']}@" if "user" in known else ""
    port = f":{known['port']}" if "port" in known else ""
    return f"postgresql://{user}{known.get('host', '')}{port}/{known.get('dbname', '')}"


def _announce_and_play(store: str) -> Callable[[str], None]:
    announce = _announce(store)
    playing: list[asyncio.Task[None]] = []  # the loop itself keeps no hold of its tasks

    def on_ready(url: str) -> None:
        announce(url)
        playing.append(asyncio.get_running_loop().create_task(_play(url)))

    return on_ready


async def _play(url: str) -> None:
    from linkedbandits.service.async_client import AsyncClient  # an extra
    from linkedbandits.service.demo import BAD_CARDS, GATEWAYS, Traffic, open_demo

    async with AsyncClient(url) as client:
        exp = await open_demo(client)
        typer.echo(f"Simulated users are playing: {url}/#/experiments/{exp.id}")
        await Traffic(exp, GATEWAYS, opt.DEMO_RATE, opt.DEMO_LOST, random.Random(), hopeless=BAD_CARDS).run()
        verdict = await exp.recommend()
        typer.echo(f"The demonstration is decided: {verdict.arm} is best, after {verdict.plays:,} plays.")
