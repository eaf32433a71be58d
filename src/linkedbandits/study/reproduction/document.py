"""A short document, written once and rendered twice: as Markdown, and as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["Block", "Grid", "Heading", "Items", "Paragraph", "Picture", "to_html", "to_markdown"]


@dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    level: int
    text: str


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Items:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Grid:
    """A table. Columns from ``strong`` on stand out, those from ``numeric`` on are aligned as numbers."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    strong: int | None = None
    numeric: int | None = None


@dataclass(frozen=True)
class Picture:
    """A picture beside the document, under two names: for Markdown to link, and an SVG for the page to embed."""

    link: str
    svg: Path
    description: str


Block = Heading | Paragraph | Items | Grid | Picture


def to_markdown(blocks: Sequence[Block]) -> str:
    """The document as Markdown.

    >>> print(to_markdown([Heading(2, "Verdicts"), Grid(["claim", "n"], [["a|b", "3"]], strong=0, numeric=1)]), end="")
    ## Verdicts
    <BLANKLINE>
    | claim | n |
    |---|--:|
    | **a\\|b** | **3** |
    """
    return "\n\n".join(map(_markdown, blocks)) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Paragraph(text):
            return text
        case Items(items):
            return "\n".join(f"- {item}" for item in items)
        case Picture(link, _, description):
            return f"![{description}]({link})"
        case Grid():
            rules = ["--:" if _from(block.numeric, column) else "---" for column in range(len(block.headings))]
            lines = [_markdown_row(block.headings), f"|{'|'.join(rules)}|"]
            for row in block.rows:
                cells = [cell.replace("|", "\\|") for cell in row]
                lines.append(
                    _markdown_row(
                        [
                            f"**{cell}**" if cell and _from(block.strong, column) else cell
                            for column, cell in enumerate(cells)
                        ]
                    )
                )
            return "\n".join(lines)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _from(first: int | None, column: int) -> bool:
    return first is not None and column >= first


def to_html(blocks: Sequence[Block]) -> str:
    """The document as a page of its own: style and pictures inside, readable by day and by night."""
    title = next(block.text for block in blocks if isinstance(block, Heading))
    body = "\n".join(map(_html, blocks))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{escape(text)}</h{level}>"
        case Paragraph(text):
            return f"<p>{escape(text)}</p>"
        case Items(items):
            return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"
        case Picture(_, svg, description):
            content = base64.b64encode(svg.read_bytes()).decode("ascii")
            return f'<img alt="{escape(description)}" src="data:image/svg+xml;base64,{content}">'
        case Grid():
            head = "".join(
                f"<th{_kind(block, column)}>{escape(text)}</th>" for column, text in enumerate(block.headings)
            )
            rows = "\n".join(
                "<tr>" + "".join(_html_cell(block, column, cell) for column, cell in enumerate(row)) + "</tr>"
                for row in block.rows
            )
            return f'<div class="wide"><table>\n<tr>{head}</tr>\n{rows}\n</table></div>'


def _html_cell(grid: Grid, column: int, cell: str) -> str:
    text = f"<strong>{escape(cell)}</strong>" if cell and _from(grid.strong, column) else escape(cell)
    return f"<td{_kind(grid, column)}>{text}</td>"


def _kind(grid: Grid, column: int) -> str:
    return ' class="number"' if _from(grid.numeric, column) else ""


_STYLE = """
:root { color-scheme: light dark; --ink: #1d1f21; --paper: #fdfdfc; --line: #d5d5d0; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e0; --paper: #1b1c1e; --line: #45474a; } }
body { max-width: 58rem; margin: 2rem auto; padding: 0 1rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
h1, h2, h3 { line-height: 1.25; }
h3 { margin-bottom: 0.2rem; }
img { display: block; width: 100%; max-width: 40rem; margin: 1.5rem auto; padding: 0.5rem; background: white;
  border: 1px solid var(--line); border-radius: 4px; box-sizing: border-box; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.92rem; }
th, td { padding: 0.3rem 0.7rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td:first-child, td.number, strong { white-space: nowrap; }
"""
