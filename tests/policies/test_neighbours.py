"""Which arms are near all that are left."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from linkedbandits.policies.neighbours import within_reach_of_all


@given(still_in=arrays(np.bool_, (3, 9)), places=st.integers(1, 4))
def test_an_arm_is_within_reach_if_no_arm_left_is_farther(still_in, places):
    found = within_reach_of_all(still_in, places)
    arms = np.arange(9)
    for lane in np.flatnonzero(still_in.any(axis=1)):
        farthest = np.abs(arms[:, np.newaxis] - arms[still_in[lane]]).max(axis=1)
        assert (found[lane] == (farthest <= places)).all()
