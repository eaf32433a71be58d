"""What the commands around the live service have in common."""

from __future__ import annotations

import getpass
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from linkedbandits.errors import InvalidParameter, MissingExtra

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


_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}
_AGO = re.compile(r"(\d{1,6})([mhdw])")


def time_of(option: str, text: str, now: float) -> float:
    """What ``90d``, ``12h``, ``4w``, ``30m`` ago was, or when a day such as ``2026-01-31`` began, in UTC.

    >>> time_of("--since", "2h", 10_000.0)
    2800.0
    """
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _SECONDS[ago[2]]
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InvalidParameter(
            f"{option} {text!r} is no time; say how long ago, as 90d, 12h, 4w or 30m, or a day, as 2026-01-31"
        ) from None


def shown(at: float) -> str:
    """A time for people."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
