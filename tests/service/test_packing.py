"""What is packed comes back, and is small."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkedbandits.service.packing import pack_arms, pack_json, unpack_arms, unpack_json


@pytest.mark.parametrize("arms", [[0], [7], [0, 1, 2], [5, 3, 900], list(range(0, 1000, 7)), [2, 1]])
def test_packed_arms_come_back(arms):
    assert unpack_arms(pack_arms(np.array(arms))).tolist() == arms


@given(st.lists(st.integers(0, 2_000), unique=True))
def test_any_tuple_of_arms_comes_back_in_its_order(arms):
    unpacked = unpack_arms(pack_arms(np.array(arms, dtype=np.int64)))
    assert unpacked.tolist() == arms
    assert unpacked.dtype == np.int64  # the bytes of an array are compared with those of an experiment's own


@given(st.integers(1, 3_000))
def test_all_arms_in_order_take_a_bit_each(arms):
    assert len(pack_arms(np.arange(arms))) == 1 + -(-arms // 8)


numbers_and_words = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)


@given(st.dictionaries(st.text(max_size=5), st.lists(numbers_and_words, max_size=3), max_size=3))
@settings(max_examples=50)
def test_json_comes_back_exactly(data):
    assert repr(unpack_json(pack_json(data))) == repr(data)


def test_json_that_repeats_itself_is_small():
    data = {"leases": [[1_700_000_000.5, list(range(100))]] * 50}
    assert len(pack_json(data)) < len(repr(data)) / 10
