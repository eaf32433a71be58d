"""Times as people say them on a command line: so long ago, or a day."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from linkedbandits.errors import InvalidParameter

_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}
_AGO = re.compile(r"(\d{1,6})([mhdw])")


def time_of(option: str, text: str, now: float) -> float:
    """What ``90d``, ``12h``, ``4w``, ``30m`` ago was, or when a day such as ``2026-01-31`` began, in UTC.

    >>> time_of("--since", "2h", 10_000.0)
    2800.0
    """
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now - int(ago[1]) * _SECONDS[ago[2]]
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise InvalidParameter(
            f"{option} {text!r} is no time; say how long ago, as 90d, 12h, 4w or 30m, or a day, as 2026-01-31"
        ) from None


def shown(at: float) -> str:
    """A time for people."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
