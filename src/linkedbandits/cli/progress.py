"""A progress bar on a terminal, and nothing at all in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

Advance = Callable[[str, int], None]


@contextmanager
def progress_bar(total: int | None, unit: str | None = None) -> Iterator[Advance]:
    """Show how much of ``total`` is done, in percent if it has no unit that people count in; None: it is not known.

    Yields a function to call with a description and an amount.
    """
    amount = (TaskProgressColumn(),) if unit is None else (MofNCompleteColumn(), TextColumn(unit))
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), *amount, TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=total)

        def advance(description: str, amount: int) -> None:
            bar.update(task, description=description, advance=amount)

        yield advance
