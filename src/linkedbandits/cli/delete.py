"""``linkedbandits delete``: experiments, for good."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.tables import progress_bar
from linkedbandits.signals import what_is_kept

if TYPE_CHECKING:
    from linkedbandits.service.store import Store

SPACE = "The room in a SQLite file is used for what comes; 'linkedbandits compact' gives it back."


def delete(
    experiments: Annotated[
        list[str], typer.Argument(metavar="ID...", help="As the page and the list of the API show.")
    ],
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    force: Annotated[bool, typer.Option("--force", help="Also if they are not archived.")] = False,
    as_json: options.Json = False,
) -> None:
    """Delete archived experiments with all that they were told, for good. All of those named, or none.

    Services that have them open notice with the next request: they answer 404, and event streams end.
    """
    with opt.opened_store(store) as opened:
        rows = delete_all(opened, dict.fromkeys(experiments), force)
    if as_json:
        typer.echo(json.dumps({"deleted": list(dict.fromkeys(experiments)), "rows": rows}))
        return
    typer.echo(f"Deleted {', '.join(dict.fromkeys(experiments))}: {rows:,} rows. {SPACE}")


def delete_all(store: Store, experiments: dict[str, None], force: bool) -> int:
    """Hide these experiments, all or none, and erase what is hidden; the number of rows."""
    from linkedbandits.service.deletion import erase_all, hide  # other commands need not wait for it

    by = opt.at_the_command_line()
    with store.writing() as writing:
        for experiment in sorted(experiments):
            hide(writing, experiment, force, by, time.time())
    rest = "they are deleted; what is left of them is erased by the service, or with the next 'linkedbandits prune'"
    with what_is_kept(rest), progress_bar(None, "rows") as advance:
        return erase_all(store, lambda rows: advance("erasing", rows))
