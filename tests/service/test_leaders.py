"""When a leader is named."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.service.leaders import LEAST_SAMPLES, names_a_leader

arms = st.lists(st.tuples(st.integers(0, 2 * LEAST_SAMPLES), st.booleans()), min_size=2, max_size=6)


@given(arms)
def test_all_that_are_still_in_need_ten_samples_until_there_is_a_verdict(arms):
    samples, still_in = [count for count, _ in arms], [kept for _, kept in arms]
    least = min((count for count, kept in arms if kept), default=LEAST_SAMPLES)
    assert names_a_leader(samples, still_in, done=False) == (least >= LEAST_SAMPLES)
    assert names_a_leader(samples, still_in, done=True)
