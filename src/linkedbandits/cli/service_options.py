"""What the commands around the live service have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from linkedbandits.errors import MissingExtra

if TYPE_CHECKING:
    from linkedbandits.service.store import Store

DEFAULT_STORE = "linkedbandits-experiments.sqlite3"
DEFAULT_URL = "http://127.0.0.1:8000"

StoreUrl = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="LINKEDBANDITS_STORE",
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
def opened_store(url: str) -> Iterator[Store]:
    """The store, closed in the end."""
    from linkedbandits.service.store import open_store  # other commands need not wait for it

    store = open_store(url)
    try:
        yield store
    finally:
        store.close()
