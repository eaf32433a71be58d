"""``linkedbandits audit``: who did what."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated, get_args

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.service_options import shown, time_of
from linkedbandits.cli.tables import standard_report
from linkedbandits.errors import InvalidParameter
from linkedbandits.service.audit import Action, Actor


def audit(
    since: Annotated[
        str | None, typer.Option(help="Not what is older than this: 7d, 12h, or a day.", show_default=False)
    ] = None,
    action: Annotated[
        str | None, typer.Option(help=f"Only what was done so: {', '.join(get_args(Action))}.", show_default=False)
    ] = None,
    subject: Annotated[
        str | None, typer.Option(help="Only what was done to this experiment or token.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many entries, the newest.")] = 100,
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    as_json: options.Json = False,
) -> None:
    """Say who created, paused, archived and deleted what, and how often sign-ins failed.

    The newest first. Neither tokens nor digests of them are in it.
    """
    chosen = next((known for known in get_args(Action) if known == action), None)
    if action is not None and chosen is None:
        raise InvalidParameter(f"--action {action!r} is none; choose one of {', '.join(get_args(Action))}")
    oldest = 0.0 if since is None else time_of("--since", since, time.time())
    with opt.opened_store(store, to_read=True) as opened, opened.reading() as reading:
        entries = reading.audit(limit, action=chosen, subject=subject, since=oldest)
    if as_json:
        typer.echo(json.dumps([{**asdict(entry), "by": entry.by.to_json()} for entry in entries]))
        return
    report = standard_report()
    if not entries:
        report.print("There is nothing in the audit.")
        return
    rows = [
        (
            shown(entry.at),
            entry.action,
            entry.subject or "",
            _who(entry.by),
            ", ".join(f"{name}: {value}" for name, value in entry.details.items()),
        )
        for entry in entries
    ]
    report.table(("when", "what", "to", "by", "details"), rows, names=5, prose="details")


def _who(by: Actor) -> str:
    known = [part for part in (by.id, by.name) if part is not None]
    return " ".join([by.kind, *known])
