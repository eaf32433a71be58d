"""The two clocks of this machine: one is Unix time, the other does not run backwards."""

from __future__ import annotations

import time

from linkedbandits.service.clocks import CLOCKS, Clocks


def test_the_clocks_of_this_machine():
    assert (CLOCKS.wall, CLOCKS.steady) == (time.time, time.monotonic)
    assert Clocks() == CLOCKS
