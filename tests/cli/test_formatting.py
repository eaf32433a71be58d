"""Numbers as people read them."""

from __future__ import annotations

import pytest

from linkedbandits.cli import formatting


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.4, "0"),
        (999.6, "1,000"),
        (9_999_999.0, "9,999,999"),
        (1e7, "1e+07"),
        (5.144e9, "5.14e+09"),
        (2.0**62, "> 4.6e+18"),
    ],
)
def test_plays_are_whole_while_that_is_readable(value, shown):
    assert formatting.count(value) == shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0.0, "0 %"),
        (0.00368, "0.37 %"),
        (0.0123, "1.2 %"),
        (0.1, "10 %"),
        (0.2345, "23.4 %"),
        (0.995, "99.5 %"),
        (1, "100 %"),
    ],
)
def test_shares_keep_the_digits_that_matter(share, shown):
    assert formatting.percent(share) == shown


@pytest.mark.parametrize(("ratio", "shown"), [(1.0, "1.0"), (1.26, "1.3"), (99.9, "99.9"), (2641.3, "2,641")])
def test_ratios_have_one_digit_while_they_are_small(ratio, shown):
    assert formatting.times(ratio) == shown
