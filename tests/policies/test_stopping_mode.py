"""Either so much effort or so much confidence: never both, never neither, and a promise only where one is proved."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.policies.stopping_mode import EffortOrConfidence
from linkedbandits.stopping.lil import Calibration


@dataclass(frozen=True)
class Mine(EffortOrConfidence):
    delta: float | None = None
    pulls: int | None = None
    calibration: Calibration = "proved"

    def __post_init__(self) -> None:
        self.check_stopping("pulls", self.pulls)


@given(st.floats(1e-9, 1, exclude_max=True), st.sampled_from(["proved", "plain"]))
def test_until_confident_it_promises_delta_where_that_is_proved(delta, calibration):
    mine = Mine(delta=delta, calibration=calibration)
    assert mine.status_at_stop == "confident"
    assert mine.error_bound == (delta if calibration == "proved" else None)


@given(st.integers(1, 2**62), st.sampled_from(["proved", "plain"]))
def test_after_an_effort_it_promises_nothing(pulls, calibration):
    mine = Mine(pulls=pulls, calibration=calibration)
    assert (mine.status_at_stop, mine.error_bound) == ("exhausted", None)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "Mine takes either delta or pulls; got neither"),
        ({"delta": 0.1, "pulls": 3}, "Mine takes either delta or pulls; got delta and pulls"),
        ({"pulls": 0}, "pulls=0 is not a whole number of at least 1"),
        ({"delta": 1.0}, "delta=1.0 is not between 0 and 1"),
        ({"delta": 0.1, "calibration": "loose"}, "calibration='loose' is unknown"),
        ({"pulls": 3, "calibration": "loose"}, "calibration='loose' is unknown"),
    ],
)
def test_what_makes_no_sense_is_refused_in_the_words_of_the_policy(parameters, said):
    with pytest.raises(lb.InvalidParameter, match=f"^{said}"):
        Mine(**parameters)
