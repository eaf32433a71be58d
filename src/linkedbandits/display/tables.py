"""Small tables for notebooks. They take their colours from the page, so that they are readable in light and in dark."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape

MOST_ROWS = 50
"""That a table shows."""
_LINE = "border-bottom:1px solid rgba(128,128,128,0.4);"
"""Seen on white and on black."""
_TABLE = "border-collapse:collapse;color:inherit"
"""Where a page has no doctype, tables do not inherit its colour unless they are told."""
_CELL = "padding:0.15em 0.9em 0.15em 0;background:none;"


def facts(title: str, entries: Mapping[str, object], *more: str) -> str:
    """A table of two columns: what is asked, and the answer. ``more`` is HTML that goes below."""
    rows = "".join(
        f'<tr style="background:none"><th style="{_CELL}text-align:left;font-weight:normal;opacity:0.75">'
        f'{escape(name)}</th><td style="{_CELL}text-align:left">{escape(str(value))}</td></tr>'
        for name, value in entries.items()
    )
    return _whole(title, f'<table style="{_TABLE}">{rows}</table>' if rows else "", *more)


def table(title: str, headings: Sequence[str], rows: Iterable[Sequence[object]], *more: str) -> str:
    """A table with a row for each thing; the first column has their names."""
    everything = list(rows)
    head = "".join(
        f'<th style="{_CELL}{_LINE}white-space:nowrap;text-align:{_side(at)}">{escape(heading)}</th>'
        for at, heading in enumerate(headings)
    )
    body = "".join(
        '<tr style="background:none">'
        + "".join(
            f'<td style="{_CELL}{"white-space:nowrap;" if at else ""}text-align:{_side(at)}">{escape(str(value))}</td>'
            for at, value in enumerate(row)
        )
        + "</tr>"
        for row in everything[:MOST_ROWS]
    )
    left = len(everything) - MOST_ROWS
    rest = paragraph(f"and {left:,} more") if left > 0 else ""
    return _whole(title, f'<table style="{_TABLE}"><thead><tr>{head}</tr></thead>{body}</table>{rest}', *more)


def paragraph(text: str) -> str:
    """A sentence."""
    return f'<p style="margin:0.3em 0">{escape(text)}</p>'


def picture(png: bytes, alt: str, width: int) -> str:
    """A small picture within the page; its pixels stay sharp."""
    content = base64.b64encode(png).decode("ascii")
    style = f"width:{width}px;max-width:100%;image-rendering:pixelated;background:none"
    return f'<img alt="{escape(alt)}" style="{style}" src="data:image/png;base64,{content}">'


def _side(column: int) -> str:
    return "left" if column == 0 else "right"


def _whole(title: str, *parts: str) -> str:
    return f'<div><p style="margin:0.3em 0"><strong>{escape(title)}</strong></p>{"".join(parts)}</div>'
