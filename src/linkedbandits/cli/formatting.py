"""Numbers as people read them."""

from __future__ import annotations

from linkedbandits.model import COUNT_LIMIT


def count(value: float) -> str:
    """A number of plays: whole and with separators while that is readable.

    >>> count(28962.4), count(5144000000.0), count(2.0**62)
    ('28,962', '5.14e+09', '> 4.6e+18')
    """
    if value >= COUNT_LIMIT:
        return "> 4.6e+18"
    return f"{value:,.0f}" if value < 1e7 else f"{value:.3g}"


def percent(share: float) -> str:
    """A share in percent, with the digits that small shares need.

    >>> percent(0.1), percent(0.00368), percent(0.995), percent(1.0)
    ('10 %', '0.37 %', '99.5 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.1 else f"{round(100 * share, 1):g} %"


def interval(low: float, high: float) -> str:
    """An interval of shares, as tables have it.

    >>> interval(0.0, 0.00368), interval(0.013, 0.25)
    ('(0 to 0.37 %)', '(1.3 to 25 %)')
    """
    return f"({percent(low).removesuffix(' %')} to {percent(high)})"


def times(ratio: float) -> str:
    """A ratio.

    >>> times(1.0), times(1.234), times(2641.0)
    ('1.0', '1.2', '2,641')
    """
    return f"{ratio:.1f}" if ratio < 100 else count(ratio)


def duration(seconds: float) -> str:
    """A time to wait.

    >>> duration(0.4), duration(75), duration(7300)
    ('1 s', '1 min 15 s', '2 h 1 min')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
