"""``linkedbandits webhook``: make, list, test and delete the webhooks of a service."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.options import time_in
from linkedbandits.cli.tables import standard_report
from linkedbandits.service import webhook_keeping
from linkedbandits.service.webhooks import EVENTS, Delivery, make_webhook

if TYPE_CHECKING:
    from linkedbandits.service.store import Store

SECONDS_BETWEEN_LOOKS = 0.2

webhook = typer.Typer(help="Tell other services what happens to experiments.", no_args_is_help=True)

Identifier = Annotated[str, typer.Argument(metavar="ID", help="As 'linkedbandits webhook list' shows it.")]


@webhook.command()
def create(
    url: Annotated[str, typer.Option(help="Where messages are sent to: https://...")],
    event: Annotated[
        list[str] | None,
        typer.Option(help=f"What is told; may be given several times. One of {', '.join(EVENTS)}.", show_default=False),
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="The id of the experiment; all of them, if it is left out.")
    ] = None,
    webhooks_to_private: Annotated[
        bool,
        typer.Option("--webhooks-to-private", help="The service is started with this, so private addresses will do."),
    ] = False,
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    as_json: options.Json = False,
) -> None:
    """Make a webhook and print its secret, with which the receiver verifies messages. It is shown this once.

    It hears of verdicts and alarms, if no event is named.
    """
    made = make_webhook(url, event or ["verdict", "alarm"], experiment, private=webhooks_to_private, clock=time.time)
    with opt.opened_store(store, create=True) as opened:
        webhook_keeping.keep(opened, made, opt.at_the_command_line())
    if as_json:
        typer.echo(json.dumps({**webhook_keeping.shown(made), "secret": made.secret}))
        return
    typer.echo(made.secret)
    told = ", ".join(made.events)
    typer.echo(f"Webhook {made.id} is told of {told}. The secret above is not shown again.", err=True)


@webhook.command(name="list")
def list_webhooks(store: opt.StoreUrl = opt.DEFAULT_STORE, as_json: options.Json = False) -> None:
    """List the webhooks, without their secrets, and what came of the last message to each."""
    with opt.opened_store(store, to_read=True) as opened:
        found = webhook_keeping.listed(opened)
    if as_json:
        typer.echo(json.dumps(found))
        return
    report = standard_report()
    if not found:
        report.print("There are no webhooks.")
        return
    rows = []
    for one in found:
        made = f"{datetime.fromtimestamp(one['created_at'], UTC):%Y-%m-%d %H:%M} UTC"
        last = one["deliveries"][0] if one["deliveries"] else None
        latest = "none" if last is None else f"{last['kind']}: {last['said'] or last['state']}"
        rows.append((one["id"], one["url"], one["experiment"] or "all", " ".join(one["events"]), made, latest))
    report.table(("id", "address", "of", "events", "made", "last message"), rows, names=6, prose="last message")


@webhook.command()
def delete(identifier: Identifier, store: opt.StoreUrl = opt.DEFAULT_STORE) -> None:
    """Delete a webhook; what waits for it is not sent any more."""
    with opt.opened_store(store) as opened:
        webhook_keeping.remove(opened, identifier, opt.at_the_command_line(), time.time())
    typer.echo(f"Webhook {identifier} is deleted.", err=True)


@webhook.command(name="test")
def send_trial(
    identifier: Identifier,
    seconds: Annotated[
        float, typer.Option(metavar="TIME", parser=time_in("s", 0.0), help="How long to wait for what comes of it.")
    ] = 15.0,
    store: opt.StoreUrl = opt.DEFAULT_STORE,
) -> None:
    """Let the running service send a message that says nothing, and say whether it arrived."""
    with opt.opened_store(store) as opened:
        found = _watch(opened, webhook_keeping.put_trial(opened, identifier, time.time()), seconds)
    if found.state == "sent":
        typer.echo(f"It has arrived: {found.said}.")
        return
    if found.attempts:
        typer.echo(f"It has not arrived: {found.said or 'no answer yet'}. It is tried again.", err=True)
    else:
        typer.echo("It waits: no service on this store has sent it yet. Is one running?", err=True)
    raise typer.Exit(1)


def _watch(store: Store, delivery: Delivery, seconds: float) -> Delivery:
    """What came of the first attempt, or the message as it is when the time is up."""
    end = time.monotonic() + seconds
    while True:
        with store.reading() as reading:
            last = {one.id: one for one in reading.deliveries(delivery.webhook, webhook_keeping.SHOWN)}
        found = last.get(delivery.id, delivery)
        if found.said is not None or time.monotonic() >= end:
            return found
        time.sleep(SECONDS_BETWEEN_LOOKS)
