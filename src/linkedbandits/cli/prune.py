"""``linkedbandits prune``: delete what is old."""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from linkedbandits.cli import options
from linkedbandits.cli import service_options as opt
from linkedbandits.cli.delete import SPACE, delete_all
from linkedbandits.cli.service_options import shown, time_of
from linkedbandits.cli.tables import standard_report
from linkedbandits.errors import InvalidParameter


def prune(
    archived_before: Annotated[
        str | None,
        typer.Option(help="Delete experiments archived longer ago than this: 90d, 12h, or a day.", show_default=False),
    ] = None,
    audit_before: Annotated[
        str | None,
        typer.Option(help="Remove entries of the audit that are older than this.", show_default=False),
    ] = None,
    store: opt.StoreUrl = opt.DEFAULT_STORE,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this it only says what it would do.")] = False,
    as_json: options.Json = False,
) -> None:
    """Delete experiments that have been archived for long, and old entries of the audit.

    It says what it would delete, and does so with --yes. What a deletion that was interrupted has left is erased, too.
    """
    from linkedbandits.service.audit import new_entry  # other commands need not wait for it

    if archived_before is None and audit_before is None:
        raise InvalidParameter("say what is old, with --archived-before 90d or --audit-before 400d")
    now = time.time()
    with opt.opened_store(store, to_read=not yes) as opened:
        with opened.reading() as reading:
            limit = None if archived_before is None else time_of("--archived-before", archived_before, now)
            archived = [head.id for head in reading.heads() if limit is not None and head.status == "archived"]
            found = {one: (reading.name_and_status(one)[0], reading.archived_at(one)) for one in archived}
        old = {
            one: (name, at) for one, (name, at) in found.items() if limit is not None and at is not None and at < limit
        }
        oldest = None if audit_before is None else time_of("--audit-before", audit_before, now)
        rows = entries = 0
        if yes:
            rows = delete_all(opened, dict.fromkeys(old), force=False)
            if oldest is not None:
                with opened.writing() as writing:
                    entries = writing.forget_audit(oldest)
                    by = opt.at_the_command_line()
                    writing.add_audit(new_entry("prune-audit", by, now, before=oldest, entries=entries))
    if as_json:
        deleted = [{"id": one, "name": name, "archived_at": at} for one, (name, at) in old.items()]
        typer.echo(json.dumps({"done": yes, "experiments": deleted, "rows": rows, "audit_entries": entries}))
        return
    report = standard_report()
    if old:
        listed = [(one, name, shown(at)) for one, (name, at) in old.items()]
        report.table(("id", "name", "archived"), listed, names=3)
    if not yes:
        also = "" if oldest is None else f", and the audit from before {shown(oldest)}"
        report.print(f"{len(old):,} experiments would be deleted{also}; nothing was. Add --yes to do it.")
        return
    report.print(f"Deleted {len(old):,} experiments, {rows:,} rows, and {entries:,} entries of the audit. {SPACE}")
