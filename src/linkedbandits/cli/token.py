"""``linkedbandits token``: make, list and revoke the tokens of a service."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.tables import standard_report
from linkedbandits.errors import InvalidParameter
from linkedbandits.service.audit import new_entry
from linkedbandits.service.records import TokenRecord
from linkedbandits.service.scopes import Scope
from linkedbandits.service.tokens import ROLES, make_token

token = typer.Typer(help="Make, list and revoke the tokens of a live service.", no_args_is_help=True)


@token.command()
def create(
    name: Annotated[str, typer.Option(help="Who the token is for; the list of tokens shows it.")],
    role: Annotated[str, typer.Option(help="viewer reads; player also asks and tells; admin also creates.")] = "player",
    experiments: Annotated[
        list[str] | None,
        typer.Option(
            "--experiment",
            help="The token sees this experiment, and those that go on from it, alone; may be given several times.",
            show_default=False,
        ),
    ] = None,
    prefixes: Annotated[
        list[str] | None,
        typer.Option(
            "--name-prefix",
            help="The token sees experiments whose names begin like this alone; may be given several times.",
            show_default=False,
        ),
    ] = None,
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    as_json: options.Json = False,
) -> None:
    """Make a token and print it. It is shown this once; the store keeps only a digest of it."""
    if role not in ROLES:
        raise InvalidParameter(f"--role {role!r} is no role; choose one of {', '.join(ROLES)}")
    scope = Scope(frozenset(experiments or ()), tuple(sorted(set(prefixes or ()))))
    if "" in scope.prefixes:
        raise InvalidParameter("--name-prefix '' is how all names begin; leave it out for a token without limits")
    text, record = make_token(name, role, time.time, scope)
    by = opt.at_the_command_line()
    limits = _limits(record)
    with opt.opened_store(store, create=True) as opened, opened.writing() as writing:
        for experiment in sorted(scope.experiments):
            writing.record(experiment)  # or it says that there is none
        writing.add_token(record)
        entry = new_entry("token-create", by, record.created_at, record.id, name=name, role=role, **limits)
        writing.add_audit(entry)
    if as_json:
        typer.echo(json.dumps({"token": text, "id": record.id, "name": name, "role": role, **limits}))
        return
    typer.echo(text)
    only = " It sees some experiments alone." if limits else ""
    typer.echo(
        f"Token {record.id} for {name}, {role}.{only} It is not shown again; anyone who has it can use it.", err=True
    )


@token.command(name="list")
def list_tokens(store: opt.StoreUrl = opt.DEFAULT_STORE, as_json: options.Json = False) -> None:
    """List the tokens: not themselves, but whose they are and what they may do."""
    with opt.opened_store(store, to_read=True) as opened, opened.reading() as reading:
        records = reading.tokens()
    if as_json:
        rows = [
            {
                "id": record.id,
                "name": record.name,
                "role": record.role,
                "created_at": record.created_at,
                **_limits(record),
            }
            for record in records
        ]
        typer.echo(json.dumps(rows))
        return
    report = standard_report()
    if not records:
        report.print("There are no tokens.")
        return
    listed = [(record.id, record.name, record.role, _sees(record), _made(record)) for record in records]
    report.table(("id", "name", "role", "sees", "made"), listed, names=5, prose="sees")


@token.command()
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As 'linkedbandits token list' shows it.")],
    store: opt.StoreUrl = opt.DEFAULT_STORE,
) -> None:
    """Revoke a token; a running service refuses it within two seconds."""
    with opt.opened_store(store) as opened, opened.writing() as writing:
        if not writing.remove_token(token_id):
            raise InvalidParameter(f"there is no token {token_id!r}; 'linkedbandits token list' shows those there are")
        writing.add_audit(new_entry("token-revoke", opt.at_the_command_line(), time.time(), token_id))
    typer.echo(f"Token {token_id} is revoked.", err=True)


def _made(record: TokenRecord) -> str:
    return f"{datetime.fromtimestamp(record.created_at, UTC):%Y-%m-%d %H:%M} UTC"


def _limits(record: TokenRecord) -> dict[str, list[str]]:
    """What it is limited to, if it is."""
    if not record.scope.limited:
        return {}
    return {"experiments": sorted(record.scope.experiments), "name_prefixes": list(record.scope.prefixes)}


def _sees(record: TokenRecord) -> str:
    if not record.scope.limited:
        return "everything"
    return ", ".join([*sorted(record.scope.experiments), *(f"{prefix}*" for prefix in record.scope.prefixes)])
