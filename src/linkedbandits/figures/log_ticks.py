"""Logarithmic axes with few and plain numbers: 1, 2 and 5 times powers of ten, or powers alone. Needs matplotlib."""

from __future__ import annotations

from math import ceil, floor, log10
from typing import Any

from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

_MOST = 6
"""Numbers on an axis."""
_POINTS = 10.0
"""The size of letters in all figures."""


class OneTwoFive(LogLocator):
    """Ticks at 1, 2 and 5 times powers of ten while they have room, else at powers of ten; all of them have a label."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """The ticks from ``vmin`` to ``vmax``."""
        low, high = sorted((vmin, vmax))
        if low <= 0:  # an axis that has nothing on it yet
            return []
        end = high * (1 + 1e-9)
        powers = range(floor(log10(low)), ceil(log10(high)) + 1)
        all_three = [_exact(digit, power) for power in powers for digit in (1, 2, 5)]
        inside = [tick for tick in all_three if low <= tick <= end]
        of_ten = [power for power in powers if low <= _exact(1, power) <= end]
        decades = self._decades_of_a_label(low, high, [plain_number(tick) for tick in inside])
        if len(of_ten) > 1 and (len(inside) > _MOST or decades > log10(2)):
            every = max(ceil(len(of_ten) / _MOST), ceil(decades))
            return [_exact(1, power) for power in of_ten[::every]]
        # An axis from 210 to 480 has none of these, and needs some number all the same.
        return inside if len(inside) > 1 else MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)

    def _decades_of_a_label(self, low: float, high: float, labels: list[str]) -> float:
        """How much of the axis, in powers of ten, the longest label takes, with room beside it."""
        axis: Any = self.axis
        axes, across = axis.axes, axis.axis_name == "x"
        box = axes.get_window_extent()
        length = (box.width if across else box.height) * 72 / axes.figure.dpi
        size = _POINTS * (0.6 * max(map(len, labels), default=0) + 0.8 if across else 1.2)
        return float(size / max(length, 1.0) * log10(high / low))


def plain_log_ticks(axis: Any) -> None:
    """Plain numbers on an axis that is logarithmic, with small ticks between them that have none."""
    axis.set_major_locator(OneTwoFive())
    axis.set_minor_locator(LogLocator(subs=range(2, 10)))
    axis.set_major_formatter(lambda amount, _: plain_number(amount))
    axis.set_minor_formatter(NullFormatter())


def plain_number(amount: float) -> str:
    """As it stands beside an axis.

    >>> plain_number(20000.0), plain_number(0.05), plain_number(5e9)
    ('20,000', '0.05', '5e+09')
    """
    whole = amount == round(amount) and abs(amount) < 1e7
    return f"{amount:,.0f}" if whole else f"{amount:g}"


def _exact(digit: int, power: int) -> float:
    """As a person writes it: 0.05 and not 0.05000000000000001."""
    return float(f"{digit}e{power}")
