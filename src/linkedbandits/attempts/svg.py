"""Markup without a library: elements with everything in them escaped, scales, and ticks on them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import NewType

Markup = NewType("Markup", str)
"""Text that is markup already. Any other text is escaped where it goes into an element."""

Attribute = str | float | None

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;", "\n": "&#10;"})
_BIDIRECTIONAL = re.compile("[\u202a-\u202e\u2066-\u2069]")


def text(value: object) -> Markup:
    """Text as markup. What no document may have in it, or what would turn round what follows, is shown as a box.

    >>> text("<script> & co")
    '&lt;script&gt; &amp; co'
    """
    return Markup(_plain(value).translate(_TEXT))


def tag(name: str, *inside: Markup, **attributes: Attribute) -> Markup:
    """An element. Names of attributes are written with underscores for hyphens, and one at the end of ``class_``.

    >>> tag("text", text("a < b"), x=1 / 3, text_anchor="end", class_=None)
    '<text x="0.33" text-anchor="end">a &lt; b</text>'
    >>> tag("br")
    '<br/>'
    """
    written = "".join(
        f' {key.removesuffix("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{join(*inside)}</{name}>" if inside else f"<{name}{written}/>")


def join(*parts: Markup) -> Markup:
    """One after the other."""
    return Markup("".join(parts))


def shortened(label: object, most: int) -> str:
    """A label in as many letters at most.

    >>> shortened("a long label", 8)
    'a long …'
    """
    whole = str(label)
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` on a line from ``start`` to ``end``; what is beyond is at its ends.

    >>> Scale(0, 10, 100, 200)(5), Scale(0, 1, 50, 0)(2)
    (150.0, 0)
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value is."""
        if self.high == self.low or value <= self.low:
            return self.start
        if value >= self.high:
            return self.end
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def ticks(low: float, high: float, about: int) -> list[float]:
    """Round numbers within limits, 1, 2 or 5 times a power of ten apart, about so many.

    >>> ticks(0, 1, 5), ticks(0, 795, 4)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 200.0, 400.0, 600.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = min((size * power for size in (1, 2, 5, 10)), key=lambda size: abs(math.log(size / rough)))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _plain(value: object) -> str:
    return _BIDIRECTIONAL.sub("\ufffd", _NOT_IN_XML.sub("\ufffd", str(value)))


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return _plain(value).translate(_QUOTED)
    return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
