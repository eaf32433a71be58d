"""Where reports go: the terminal as wide as it is, and a pipe as wide as its tables."""

from __future__ import annotations

import os
import sys

from rich.console import Console
from rich.table import Table

_WIDE = 200
_UNLIMITED = 10_000


def report_console() -> Console:
    """Standard output. Names come from people's files, so nothing in them is taken for markup."""
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE
    return Console(width=width, markup=False, highlight=False)


def fits(console: Console, table: Table) -> bool:
    """Is there room for the table without a break in any of its cells?"""
    unbroken = console.measure(table, options=console.options.update(max_width=_UNLIMITED))
    return unbroken.maximum <= console.width
