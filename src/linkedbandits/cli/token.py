"""``linkedbandits token``: make, list and revoke the tokens of a service."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.report import report_console
from linkedbandits.errors import InvalidParameter
from linkedbandits.service.tokens import ROLES, make_token

token = typer.Typer(help="Make, list and revoke the tokens of a live service.", no_args_is_help=True)


@token.command()
def create(
    name: Annotated[str, typer.Option(help="Who the token is for; the list of tokens shows it.")],
    role: Annotated[str, typer.Option(help="viewer reads; player also asks and tells; admin also creates.")] = "player",
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    as_json: options.Json = False,
) -> None:
    """Make a token and print it. It is shown this once; the store keeps only a digest of it."""
    if role not in ROLES:
        raise InvalidParameter(f"--role {role!r} is no role; choose one of {', '.join(ROLES)}")
    text, record = make_token(name, role, time.time)
    with opt.opened_store(store) as opened, opened.writing() as writing:
        writing.add_token(record)
    if as_json:
        typer.echo(json.dumps({"token": text, "id": record.id, "name": name, "role": role}))
        return
    typer.echo(text)
    typer.echo(f"Token {record.id} for {name}, {role}. It is not shown again; anyone who has it can use it.", err=True)


@token.command(name="list")
def list_tokens(store: opt.StoreUrl = opt.DEFAULT_STORE, as_json: options.Json = False) -> None:
    """List the tokens: not themselves, but whose they are and what they may do."""
    with opt.opened_store(store) as opened, opened.reading() as reading:
        records = reading.tokens()
    if as_json:
        rows = [
            {"id": record.id, "name": record.name, "role": record.role, "created_at": record.created_at}
            for record in records
        ]
        typer.echo(json.dumps(rows))
        return
    table = Table(box=SIMPLE_HEAD)
    for heading in ("id", "name", "role", "made"):
        table.add_column(heading)
    for record in records:
        made = datetime.fromtimestamp(record.created_at, UTC)
        table.add_row(record.id, record.name, record.role, f"{made:%Y-%m-%d %H:%M} UTC")
    report_console().print(table if records else "There are no tokens.")


@token.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As 'linkedbandits token list' shows it.")],
    store: opt.StoreUrl = opt.DEFAULT_STORE,
) -> None:
    """Revoke a token; a running service refuses it within two seconds."""
    with opt.opened_store(store) as opened, opened.writing() as writing:
        if not writing.remove_token(token_id):
            raise InvalidParameter(f"there is no token {token_id!r}; 'linkedbandits token list' shows those there are")
    typer.echo(f"Token {token_id} is revoked.", err=True)
