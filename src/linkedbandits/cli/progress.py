"""A progress bar on a terminal, and nothing at all in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Advance = Callable[[str, int], None]


@contextmanager
def progress_bar(total: int, unit: str) -> Iterator[Advance]:
    """Show how much of ``total`` is done; yields a function to call with a description and an amount."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=total)

        def advance(description: str, amount: int) -> None:
            bar.update(task, description=description, advance=amount)

        yield advance
