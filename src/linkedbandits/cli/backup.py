"""``linkedbandits backup``: all of a store in one file, while it is in use."""

from __future__ import annotations

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.service_options import shown
from linkedbandits.cli.tables import progress_bar
from linkedbandits.errors import InvalidParameter
from linkedbandits.signals import what_is_kept

if TYPE_CHECKING:
    from linkedbandits.service.backups import Contents

_NAMED_BY_US = re.compile(r"linkedbandits-\d{8}T\d{6}Z\.sqlite3")


def backup(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="The file to write, or a folder; by default a file in the current folder, named by the time.",
            show_default=False,
        ),
    ] = None,
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file of that name.")] = False,
    keep: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="In a folder: afterwards remove all but the newest so many of the backups named by the time.",
            show_default=False,
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write all experiments, tokens and the audit into one file, while services go on.

    Whatever was acknowledged before is in the file. It is complete and was checked, or it is not there. A plain copy of
    the store's file is neither: what was written lately is in the log beside it. 'linkedbandits restore' brings it
    back, into a file or into PostgreSQL.
    """
    from linkedbandits.service.backups import WHOLE, back_up  # other commands need not wait for it

    folder = target is None or os.path.isdir(target)  # noqa: PTH112 - the other raises where it may not look
    if keep is not None and (target is None or not folder):
        raise InvalidParameter("--keep is about a folder of backups; name one instead of a file")
    place = target or Path()
    written = place / f"linkedbandits-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.sqlite3" if folder else place
    with what_is_kept("no backup was written"), progress_bar(WHOLE) as advance:
        found = back_up(store, written, overwrite=overwrite, advance=advance)
    removed = _remove_all_but(place, keep) if keep is not None else []
    if as_json:
        content = {"backup": str(written), **found.to_json(), "removed": [str(path) for path in removed]}
        typer.echo(json.dumps(content))
        return
    typer.echo(f"{written}: {in_words(found)}, {found.bytes:,} bytes, checked.")
    if removed:
        typer.echo(f"{len(removed)} older backups were removed.")


def _remove_all_but(folder: Path, keep: int) -> list[Path]:
    """The oldest ones, of those that are named by their time."""
    named = sorted(path for path in folder.iterdir() if _NAMED_BY_US.fullmatch(path.name))
    for path in named[:-keep]:
        path.unlink()
    return named[:-keep]


def in_words(found: Contents) -> str:
    """What is in a backup or store, in one phrase."""
    total = sum(found.experiments.values())
    states = ", ".join(f"{count} {status}" for status, count in sorted(found.experiments.items()))
    last = "" if found.last_entry_at is None else f", up to {shown(found.last_entry_at)}"
    return (
        f"{total:,} experiments{f' ({states})' if states else ''}, {found.journal_entries:,} journal entries{last}, "
        f"{found.tokens:,} tokens"
    )
