"""A policy reads a log, and what it read of a shorter one it reads of a longer one."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts
from tests.attempts.test_log import plays
from tests.attempts.test_race import read


@settings(max_examples=25)
@given(plays("abc", most=120), st.integers(1, 120))
def test_what_was_read_of_a_prefix_does_not_change_as_the_log_grows(made, cut):
    """Blocks, bets and evidence, one after the other."""
    for which in ("first", "all"):
        whole = read(Attempts.from_plays(made, options="abc"), which=which)
        part = read(Attempts.from_plays(made[:cut], options="abc"), which=which)
        assert len(part.course) <= len(whole.course)
        for (requests, evidence), (requests_before, evidence_before) in zip(whole.course, part.course, strict=False):
            assert requests == requests_before
            assert np.array_equal(evidence, evidence_before)
        if part.stopped:
            assert (whole.requests, whole.state.arm[0]) == (part.requests, part.state.arm[0])
