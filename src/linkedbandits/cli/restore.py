"""``linkedbandits restore``: a backup, back into a store."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.backup import in_words
from linkedbandits.cli.tables import progress_bar
from linkedbandits.service.store_address import without_password
from linkedbandits.signals import what_is_kept


def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What 'linkedbandits backup' has written.")],
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Also into a store that is not empty; what is in a file is kept beside it."),
    ] = False,
    without_tokens: Annotated[
        bool,
        typer.Option("--without-tokens", help="Revoke the tokens that are in the backup; make new ones afterwards."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Bring a backup back into an empty store: a file, or a PostgreSQL database, whichever it was made from.

    It is brought to the schema of this version. Stop the services that use the store first. All of it is brought back,
    or nothing is changed. With --replace also over a store that is damaged.

    All is as it was: experiments that were deleted since are there again, and tokens that were revoked count again.
    """
    from linkedbandits.service.backups import WHOLE  # other commands need not wait for it
    from linkedbandits.service.backups import restore as bring_back

    by = opt.at_the_command_line()
    with what_is_kept("nothing was changed"), progress_bar(WHOLE) as advance:
        done = bring_back(source, store, by, time.time(), replace=replace, tokens=not without_tokens, advance=advance)
    found, kept = done.contents, None if done.kept is None else str(done.kept)
    if as_json:
        typer.echo(json.dumps({"store": without_password(store), **found.to_json(), "kept": kept}))
        return
    typer.echo(f"{without_password(store)}: {in_words(found)}.")
    if found.experiments:
        typer.echo("Experiments that were deleted since the backup are there again.")
    if found.tokens:
        typer.echo(
            f"Its {found.tokens:,} tokens count, also those that were revoked since: 'linkedbandits token list' shows "
            "them, 'linkedbandits token revoke ID' revokes them again."
        )
    if kept is not None:
        typer.echo(f"What was there before is in {kept}; remove it when you do not need it any more.")
