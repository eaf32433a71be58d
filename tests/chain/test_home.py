"""Every home has what a chain needs of it."""

from __future__ import annotations

from linkedbandits.chain.home import Condition


def test_a_home_that_has_done_nothing_is_in_good_condition():
    assert Condition() == Condition(told=0, out=0, waiting=0, dropped=0, expired=0)
