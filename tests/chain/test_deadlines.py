"""A deadline as a timeout for each option."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.chain.deadlines import timeouts_of


def test_without_a_deadline_timeouts_are_as_given():
    assert timeouts_of("ab", None, None) == {"a": None, "b": None}
    assert timeouts_of("ab", 2.0, None) == {"a": 2.0, "b": 2.0}
    assert timeouts_of("ab", {"b": 3.0}, None) == {"a": None, "b": 3.0}


def test_options_share_what_is_left_evenly():
    assert timeouts_of("abcd", None, 6.0) == dict.fromkeys("abcd", 1.5)
    assert timeouts_of("abc", {"a": 3.0}, 6.0) == {"a": 3.0, "b": 1.5, "c": 1.5}
    assert timeouts_of("ab", 3.0, 6.0) == {"a": 3.0, "b": 3.0}
    assert timeouts_of("abc", 0.1, 0.3) == dict.fromkeys("abc", 0.1)  # though 3 * 0.1 is more than 0.3 in floats


@pytest.mark.parametrize(
    ("timeouts", "deadline", "said"),
    [
        (3.0, 5.0, "add up to 6 seconds, so a call could take longer than deadline=5.0"),
        ({"a": 5.0}, 5.0, "add up to 5 seconds, and some options have none yet"),
        ({"a": 5.0}, 4.0, "leave one of the two out"),
        (None, 0.0, "deadline=0.0"),
        (None, -1, "deadline=-1"),
        ({"c": 1.0}, 4.0, "'c', which is no option"),
        ({"a": 0.0}, 4.0, "the timeout of 'a'"),
    ],
)
def test_what_cannot_be_kept_is_refused(timeouts, deadline, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        timeouts_of("ab", timeouts, deadline)
