"""Times that pass, as people write them on a command line: with a unit, or in that of the option."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import typer

_SECONDS = {
    "ps": Decimal("1e-12"),
    "ns": Decimal("1e-9"),
    "us": Decimal("1e-6"),
    "\u00b5s": Decimal("1e-6"),
    "\u03bcs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "h": Decimal(3600),
}
"""In one of each. The sign for a millionth is there twice, as a sign and as a Greek letter."""
_CALLED = {"ps": "picoseconds", "ns": "nanoseconds", "us": "microseconds", "s": "seconds"}
_WITH_UNIT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)\s*([a-z\u00b5\u03bc]+)\s*", re.IGNORECASE)


def in_unit(text: str, unit: str) -> float | None:
    """A time with its unit, in another one; None if it is none.

    >>> in_unit("50ns", "ns"), in_unit("0.05 us", "ns"), in_unit("2min", "s"), in_unit("50", "ns")
    (50.0, 50.0, 120.0, None)
    """
    parts = _WITH_UNIT.fullmatch(text)
    size = None if parts is None else _SECONDS.get(parts[2].lower())
    if parts is None or size is None:
        return None
    return float(Decimal(parts[1]) * size / _SECONDS[unit])


def time_in(unit: str, least: float | None = None) -> Callable[[Any], float]:
    """What reads the time of an option that counts by ``unit``: a number of them, or a time with its own unit.

    >>> read = time_in("ns")
    >>> read("50"), read("50ns"), read("0.2us")
    (50.0, 50.0, 200.0)
    """

    def read(text: Any) -> float:
        written = str(text)
        found = in_unit(written, unit)
        if found is None:
            try:
                found = float(written)
            except ValueError:
                raise typer.BadParameter(
                    f"{written!r} is no time; write {_CALLED[unit]}, as 50, or a time with its unit, as 50{unit} "
                    f"({', '.join(name for name in _SECONDS if name.isascii())})"
                ) from None
        if least is not None and not found >= least:
            raise typer.BadParameter(f"{written} is less than {least:g} {_CALLED[unit]}; give a longer time")
        return found

    return read
