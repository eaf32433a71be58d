"""Results for people: short texts, small tables for notebooks, and frames of polars and pandas.

Texts round: the fields of a result keep all their digits. Tables take their colours from the page, so that they are
readable in light and in dark. Polars and pandas are imported with the first frame.
"""

from __future__ import annotations

import base64
import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from linkedbandits.errors import MissingExtra
from linkedbandits.extras import need_polars
from linkedbandits.model import COUNT_LIMIT, Verdict

if TYPE_CHECKING:
    import polars as pl

_DIGITS = 4
"""That are shown of a number which is no count."""
MOST_SHOWN = 6
"""Entries of a list or a mapping."""
_MOST_LETTERS = 60
_READABLE_DIGITS = 9
"""Of a measured number in JSON: a share of ten million pixels keeps its last one."""
_EXACT_DIGITS = 12
"""Of a computed number; the digits behind them come of binary sums."""
_MANY = 1e9
"""Larger numbers are shown with a power of ten."""


def rounded(value: float) -> float:
    """A number with as many digits as people read; whole units are kept while they can be read.

    >>> rounded(0.0010000000000000009), rounded(123.4567), rounded(28962.4), rounded(float("inf"))
    (0.001, 123.5, 28962.0, inf)
    """
    if not math.isfinite(value) or value == 0:
        return value
    if abs(value) >= _MANY:
        return float(f"{value:.{_DIGITS}g}")
    before_the_point = math.floor(math.log10(abs(value))) + 1
    return round(value, max(_DIGITS - before_the_point, 0))


def readable(value: float, digits: int = _READABLE_DIGITS) -> float:
    """A number without the digits that only come of computing.

    >>> readable(0.0010000000000000009), readable(541.9215686274509), readable(123456789012.0), readable(float("nan"))
    (0.001, 541.921569, 123456789012.0, nan)
    """
    if not math.isfinite(value) or value == int(value):
        return value
    return float(f"{value:.{digits}g}") if abs(value) < 10**digits else float(round(value))


def tidied(data: Any) -> Any:
    """What is about to become JSON, without the tails that sums of fractions have; nothing that was measured is lost.

    >>> tidied({"error_rate": 0.0010000000000000009, "means": [0.1, 0.30000000000000004], "plays": 7})
    {'error_rate': 0.001, 'means': [0.1, 0.3], 'plays': 7}
    """
    match data:
        case dict():
            return {key: tidied(value) for key, value in data.items()}
        case list() | tuple():
            return [tidied(value) for value in data]
        case float():
            return readable(data, _EXACT_DIGITS)
        case _:
            return data


def number(value: float) -> str:
    """A number in a sentence or a table.

    >>> number(28962.4), number(0.25), number(3.0), number(5.144e12), number(float("nan"))
    ('28,962', '0.25', '3', '5.144e+12', '-')
    """
    if math.isnan(value):
        return "-"
    if abs(value) >= _MANY:
        return f"{value:.{_DIGITS}g}"
    shown = rounded(value)
    return f"{shown:,.0f}" if shown == int(shown) else f"{shown:,g}"


def plays(value: float) -> str:
    """A number of plays: a whole one.

    >>> plays(811.6), plays(2.0**62), plays(5.144e9)
    ('812', 'over 4.6e+18', '5.144e+09')
    """
    if value >= COUNT_LIMIT:
        return "over 4.6e+18"
    return number(value) if value >= _MANY else f"{value:,.0f}"


def percent(share: float) -> str:
    """A share, with the digits that small ones need; 100 % and 0 % only where all or none are meant.

    >>> percent(0.1), percent(0.00368), percent(0.9996), percent(1.0), percent(0.0), percent(float("nan"))
    ('10 %', '0.37 %', '99.96 %', '100 %', '0 %', '-')
    """
    if math.isnan(share):
        return "-"
    if share < 0.1:
        return f"{100 * share:.2g} %"
    if 0.9995 <= share < 1:
        return f"{100 * share:.2f} %" if share < 0.99995 else "over 99.99 %"
    return f"{round(100 * share, 1):g} %"


def counted(amount: int, one: str, many: str = "") -> str:
    """So many of something.

    >>> counted(1, "arm"), counted(1000, "arm"), counted(2, "play that is out", "plays that are out")
    ('1 arm', '1,000 arms', '2 plays that are out')
    """
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]], most: int = 20) -> str:
    """Rows below headings, names on the left and numbers on the right; not more than ``most`` of them.

    >>> print(text_table(["arm", "plays"], [["a", "1,000"], ["b", "7"]], most=1))
    arm   plays
    a     1,000
    and 1 more
    """
    lines = [headings, *rows[:most]]
    widths = [max(len(line[at]) for line in lines) for at in range(len(headings))]
    texts = [
        "   ".join([name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))])
        for name, *cells in lines
    ]
    left = len(rows) - most
    return "\n".join([*texts, f"and {left:,} more"] if left > 0 else texts)


def shown(value: Any) -> str:
    """Any value of a field, short.

    >>> shown(0.30000000000000004), shown((1.0, 0.0010000000000000009)), shown(np.zeros((1000, 3)))
    ('0.3', '(1.0, 0.001)', 'float64 array, 1000 x 3')
    >>> shown(list(range(1000))), shown({"a": 0.1 + 0.2})
    ('[0, 1, 2, 3, 4, 5, ... 1,000 in all]', "{'a': 0.3}")
    """
    match value:
        case bool() | np.bool_():
            text = repr(bool(value))
        case np.generic():
            text = shown(value.item())
        case float() if type(value) is float:
            text = repr(rounded(value))
        case np.ndarray():
            text = _array(value)
        case str():
            text = repr(value if len(value) <= _MOST_LETTERS else f"{value[:_MOST_LETTERS]}...")
        case list() | tuple() if not hasattr(value, "_fields"):
            text = _listed(value)
        case Mapping():
            pairs = [f"{key!r}: {shown(entry)}" for key, entry in list(value.items())[:MOST_SHOWN]]
            text = f"{{{', '.join(pairs)}{_rest(len(value))}}}"
        case _:
            text = repr(value)
    return text


def _array(array: np.ndarray[Any, Any]) -> str:
    if array.ndim == 1 and array.size <= MOST_SHOWN:
        return f"[{', '.join(shown(entry) for entry in array.tolist())}]"
    return f"{array.dtype} array, {' x '.join(map(str, array.shape))}"


def _listed(entries: Sequence[Any]) -> str:
    inside = ", ".join(shown(entry) for entry in entries[:MOST_SHOWN])
    if isinstance(entries, tuple):
        return f"({inside}{',' if len(entries) == 1 else ''}{_rest(len(entries))})"
    return f"[{inside}{_rest(len(entries))}]"


def _rest(entries: int) -> str:
    return "" if entries <= MOST_SHOWN else f", ... {entries:,} in all"


def told_repr(result: Any) -> str:
    """The ``__repr__`` of a dataclass with many settings: those that are not as they would be without a word.

    What has to be given by place is always there. A class says so with ``__repr__ = told_repr``.
    """
    told = [
        f"{field.name}={shown(getattr(result, field.name))}"
        for field in fields(result)
        if field.repr and ((not field.kw_only and field.default is MISSING) or not _is_default(result, field))
    ]
    return f"{type(result).__name__}({', '.join(told)})"


def _is_default(result: Any, field: Field[Any]) -> bool:
    return field.default is not MISSING and bool(getattr(result, field.name) == field.default)


def short_repr(result: Any) -> str:
    """The ``__repr__`` of a dataclass or a named tuple: its fields by name, each of them short.

    A class says so with ``__repr__ = short_repr``.
    """
    if hasattr(result, "_fields"):
        names = list(result._fields)
    else:
        names = [field.name for field in fields(result) if field.repr]
    return f"{type(result).__name__}({', '.join(f'{name}={shown(getattr(result, name))}' for name in names)})"


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


def verdict_table(verdict: Verdict) -> str:
    """A verdict with all that it rests on."""
    entries = {
        "status": f"{verdict.status}{'' if verdict.proved else ', not proved'}",
        "plays": plays(verdict.plays),
    }
    if verdict.proved:
        entries["wrong with probability at most"] = f"{verdict.error_bound:g}"
    if verdict.top:
        entries["in order"] = ", ".join(map(str, verdict.top))
    entries["assumes"] = ", ".join(verdict.assumes) or "nothing of how options depend on each other"
    if verdict.contradicted:
        entries["what was seen speaks against"] = ", ".join(verdict.contradicted)
    return facts(f"Verdict: {verdict.arm}", entries)


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


Columns = dict[str, Any]
"""Arrays or lists of one length, by name."""


class WithFrames:
    """What has columns has frames."""

    __slots__ = ()

    @abstractmethod
    def _columns(self) -> Columns:
        """Arrays or lists of one length, by name."""

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars frame; ``pip install 'linkedbandits[study]'`` brings polars."""
        return polars_frame(self._columns())

    def to_pandas(self) -> Any:
        """The rows as a pandas frame; ``pip install pandas`` brings pandas, which is no part of any extra."""
        return pandas_frame(self._columns())


def polars_frame(columns: Mapping[str, Any]) -> pl.DataFrame:
    """A polars frame with these columns."""
    need_polars("to_polars()")
    import polars as pl

    return pl.DataFrame(dict(columns))


def pandas_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas frame with these columns."""
    try:
        pandas = import_module("pandas")
    except ModuleNotFoundError as error:
        raise MissingExtra("to_pandas() needs pandas; install it with: pip install pandas") from error
    return pandas.DataFrame(dict(columns))


def labels(values: Iterable[object]) -> list[Any]:
    """Labels for a column: as they are if they are of one kind, and else as text.

    >>> labels(["a", "b"]), labels([1, 2]), labels(["a", 1])
    (['a', 'b'], [1, 2], ['a', '1'])
    """
    listed = list(values)
    return listed if len({type(value) for value in listed}) <= 1 else [str(value) for value in listed]


def pixels(images: Mapping[str, np.ndarray[Any, Any]]) -> Columns:
    """Images of one shape as columns, a row for each pixel, with its row and column in the images first."""
    high, wide = next(iter(images.values())).shape
    row, column = np.divmod(np.arange(high * wide), wide)
    return {"row": row, "column": column, **{name: image.reshape(-1) for name, image in images.items()}}
