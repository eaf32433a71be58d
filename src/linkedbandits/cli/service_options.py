"""What the commands around the live service have in common."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from linkedbandits.errors import MissingExtra

if TYPE_CHECKING:
    from linkedbandits.service.audit import Actor
    from linkedbandits.service.store import Store

DEFAULT_STORE = "linkedbandits-experiments.sqlite3"
DEFAULT_URL = "http://127.0.0.1:8000"


def _warn_of_password(url: str) -> str:
    from linkedbandits.service.store_address import has_password  # other commands need not wait for it

    if any(url in argument for argument in sys.argv) and has_password(url):
        typer.echo(
            "linkedbandits: other users of this machine can read the password in this command line; give the address "
            "in LINKEDBANDITS_STORE, or leave the password to ~/.pgpass",
            err=True,
        )
    return url


StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LINKEDBANDITS_STORE",
        callback=_warn_of_password,
        help="Where experiments are kept: a file, or postgresql://user@host/database.",
    ),
]
DEMO_RATE = 20.0
DEMO_LOST = 0.03


@contextmanager
def service_extra() -> Iterator[None]:
    """Say what to install where something that the service is made of is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"the live service needs {error.name}; install it with: pip install 'linkedbandits[service]'"
        ) from error


@contextmanager
def opened_store(url: str, *, create: bool = False, to_read: bool = False) -> Iterator[Store]:
    """The store, closed in the end. Without ``create`` one that is not there is refused: a mistake in its name, or in
    that of a database, must not make another one.

    One that is opened ``to_read`` is changed in no way; if it is of an earlier version that is said.
    """
    from linkedbandits.service.store import open_store  # other commands need not wait for it

    store = open_store(url, create, as_it_is=to_read)
    try:
        yield store
    finally:
        store.close()


def at_the_command_line() -> Actor:
    """Who runs a command, for the audit."""
    from linkedbandits.service.audit import Actor

    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # a number that the system has no name for; Windows has no numbers
        name = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return Actor("command-line", name=name)
