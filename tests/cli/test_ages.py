"""Times as people say them."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.cli.ages import shown, time_of

NOW = 1_800_000_000.0


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1_800), ("12h", 43_200), ("90d", 7_776_000), ("2w", 1_209_600), ("0d", 0)]
)
def test_so_long_ago(text, seconds):
    assert time_of("--since", text, NOW) == NOW - seconds


def test_a_day_begins_in_utc():
    assert shown(time_of("--since", "2026-01-31", NOW)) == "2026-01-31 00:00:00 UTC"


@pytest.mark.parametrize("text", ["", "90", "d", "-1d", "1.5d", "90 d", "yesterday", "2026-02-30", "9999999d"])
def test_what_is_no_time_is_refused_with_how_to_say_one(text):
    with pytest.raises(lb.InvalidParameter, match=r"--since.*90d, 12h, 4w or 30m"):
        time_of("--since", text, NOW)
