"""Whole numbers as JSON Schema has them."""

from __future__ import annotations

import json
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from linkedbandits.service.http.whole_numbers import LARGEST_EXACT, Whole

LARGEST = 2**62
SEED = TypeAdapter(Annotated[int, Whole(0, LARGEST)])


@given(st.integers(0, LARGEST))
def test_what_is_written_without_a_point_is_exact(number):
    assert SEED.validate_json(str(number)) == SEED.validate_python(number) == number


@given(st.integers(0, LARGEST_EXACT))
def test_what_is_written_with_one_is_the_same_number(number):
    for taken in (SEED.validate_json(json.dumps(float(number))), SEED.validate_python(float(number))):
        assert (taken, type(taken)) == (number, int)


@pytest.mark.parametrize("said", ["7.5", '"7"', "true", "null", "-1", "-1.0", "1e300", str(LARGEST + 1), "NaN", "[7]"])
def test_others_are_refused_with_the_limits(said):
    with pytest.raises(ValidationError) as caught:
        SEED.validate_json(said)
    (mistake,) = caught.value.errors()
    assert mistake["msg"] == f"Input should be a whole number from 0 to {LARGEST}"
    assert mistake["loc"] == ()
