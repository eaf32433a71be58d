"""``linkedbandits serve``: the live service and its page."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from linkedbandits.cli import service_options as opt
from linkedbandits.errors import InvalidParameter
from linkedbandits.service.addresses import is_loopback
from linkedbandits.service.store_address import without_password
from linkedbandits.service.tokens import ROLES
from linkedbandits.signals import leave_signals_to_the_server, what_is_kept

if TYPE_CHECKING:
    from linkedbandits.service.http.proxy_sign_in import TrustedProxy


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
    trust_header: Annotated[
        str | None,
        typer.Option(
            help="A header in which a proxy says which user it has signed in, such as X-Forwarded-User. Such users "
            "need no token; all others do.",
            show_default=False,
        ),
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(
            help="The address, or network, of the proxy: what it says in the header, and in X-Forwarded-For, is "
            "believed from there alone. May be given several times. With --trust-header on loopback by default this "
            "machine; without that header it is about where refused sign-ins come from, and all need a token.",
            show_default=False,
        ),
    ] = None,
    proxy_role: Annotated[
        str, typer.Option(help="The role of users whom the proxy has signed in: viewer, player or admin.")
    ] = "viewer",
    metrics_experiments: Annotated[
        int,
        typer.Option(
            min=0, max=100, help="How many experiments under way have series of their own in /metrics, youngest first."
        ),
    ] = 0,
    watch_alarms: Annotated[
        bool,
        typer.Option(
            "--watch-alarms", help="Look for alarms also where nobody watches and no webhook wants to hear of them."
        ),
    ] = False,
    webhooks_to_private: Annotated[
        bool,
        typer.Option("--webhooks-to-private", help="Let webhooks send to this machine and to private addresses."),
    ] = False,
    no_webhooks: Annotated[
        bool,
        typer.Option(
            "--no-webhooks", help="Send nothing to webhooks, as on a store that was restored to look at it; it waits."
        ),
    ] = False,
    url_for_others: Annotated[
        str | None,
        typer.Option(
            help="Where other servers of the same PostgreSQL store reach this one, such as http://10.0.0.1:8000. "
            "By default where it listens.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            envvar="LINKEDBANDITS_POLICIES",
            help="A policy of your own that experiments may name, as package.module:Class; may be given several times. "
            "No code is ever loaded because a caller names it.",
            show_default=False,
        ),
    ] = None,
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
        from linkedbandits.service.owner_tables import SharedStore
        from linkedbandits.service.owners import check_url_for_others

    start_logging()  # what is said of migrations is among it
    own = load_policies(policy or [])
    proxy = _proxy(trust_header, trusted_proxy, proxy_role, host)
    with opt.opened_store(store, create=True) as opened:
        with opened.reading() as reading:
            closed = reading.tokens() or (reading.ever_had_tokens() and require_tokens is not False)
            if demo and (closed or require_tokens or proxy):
                raise InvalidParameter(
                    f"--demo plays without a token, and {without_password(store)} is closed to those who have none; "
                    "leave it out and run 'linkedbandits demo-traffic --token TOKEN', or name another --store"
                )
        if url_for_others is not None and not isinstance(opened, SharedStore):
            raise InvalidParameter(
                f"--url-for-others is for servers that share a PostgreSQL store, and {store} is a file for one; "
                "leave it out, or name another --store"
            )
        settings = Settings(
            open_without_tokens=require_tokens is not True,
            reopen=require_tokens is False,
            requests_per_second=requests_per_second,
            log_requests=log_requests,
            proxy=proxy,
            experiments_in_metrics=metrics_experiments,
            watch_alarms=watch_alarms,
            webhooks_to_private=webhooks_to_private,
            send_webhooks=not no_webhooks,
            url_for_others=None if url_for_others is None else check_url_for_others(url_for_others),
        )
        on_ready = _announce_and_play(store, own) if demo else _announce(store, own)
        server = make_server(opened, settings, host, port, on_ready)
        leave_signals_to_the_server(server.stop_early)
        _let_memory_settle()
        with what_is_kept(f"all that was acknowledged is in {without_password(store)}, and the same command goes on"):
            server.run()
        typer.echo(f"Stopped; all that was acknowledged is in {without_password(store)}, and the same command goes on.")


def load_policies(texts: Sequence[str]) -> list[str]:
    """Load the operator's own policies; the names that experiments know them by."""
    from linkedbandits.policies import policy_named
    from linkedbandits.policies.registry import names_code

    names = []
    for text in texts:
        if not names_code(text):
            raise InvalidParameter(f"--policy {text!r} names no code; write --policy package.module:Class")
        name, parameters = policy_named(text)
        if parameters:
            raise InvalidParameter(
                f"--policy {text!r} has parameters, which each experiment gives its own policy; leave them out"
            )
        names.append(name)
    return names


def _let_memory_settle() -> None:
    """What was loaded stays for good: the collector need not look at it again, nor after every few requests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _proxy(header: str | None, addresses: list[str] | None, role: str, host: str) -> TrustedProxy | None:
    """The proxy that is trusted to say who its users are, or at least where they are."""
    from linkedbandits.service.http.proxy_sign_in import TrustedProxy  # an extra

    if role not in ROLES:
        raise InvalidParameter(f"--proxy-role {role!r} is no role; choose one of {', '.join(ROLES)}")
    if header is None:
        return TrustedProxy.of(None, addresses, role) if addresses else None
    if not addresses and not is_loopback(host):
        raise InvalidParameter(
            f"--host {host} can be reached from elsewhere, and any caller could send {header}; say which address is "
            "the proxy's with --trusted-proxy, or listen on 127.0.0.1"
        )
    return TrustedProxy.of(header, addresses or ["127.0.0.1", "::1"], role)


def _announce(store: str, own: Sequence[str]) -> Callable[[str], None]:
    def announce(url: str) -> None:
        typer.echo(f"Live page: {url}/   API: {url}/docs   store: {without_password(store)}")
        if own:
            typer.echo(f"Experiments may also have the policies {', '.join(own)}.")
        typer.echo("Ctrl-C stops it.")

    return announce


def _announce_and_play(store: str, own: Sequence[str]) -> Callable[[str], None]:
    announce = _announce(store, own)
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
