"""``linkedbandits compact``: give back the room that deleted experiments took."""

from __future__ import annotations

import json

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.errors import InvalidParameter


def compact(store: opt.StoreUrl = opt.DEFAULT_STORE, as_json: options.Json = False) -> None:
    """Make a store's SQLite file as small as what is in it.

    It takes as much room again while it works. Nothing can be written meanwhile: services answer 503 to what has waited
    for ten seconds. In PostgreSQL autovacuum sees to it.
    """
    from linkedbandits.service.sqlite_store import SqliteStore  # other commands need not wait for it

    with opt.opened_store(store) as opened:
        if not isinstance(opened, SqliteStore):
            raise InvalidParameter("compact is for SQLite files; PostgreSQL's autovacuum does it there")
        before, after = opened.compact()
    if as_json:
        typer.echo(json.dumps({"bytes_before": before, "bytes": after}))
        return
    typer.echo(f"{before:,} bytes before, {after:,} now.")
