"""Errors travel under types, and come back as themselves."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits import errors
from linkedbandits.service.problem_types import error_for, title_of, type_of

ERRORS = [
    *(found("m") for found in vars(errors).values() if isinstance(found, type) and issubclass(found, Exception)),
    *(kind("m", reason=reason) for reason, kind in errors.REASONS.items()),
]


@pytest.mark.parametrize("error", ERRORS, ids=title_of)
def test_a_type_leads_back_to_its_error_and_has_the_words_of_its_title(error):
    again = error_for(type_of(error), "m")
    assert (type(again), again.reason, str(again)) == (type(error), error.reason, "m")
    assert title_of(error).lower().split() == type_of(error).rpartition(":")[2].split("-")


@pytest.mark.parametrize("unknown", ["urn:linkedbandits:no-such-thing", "unknown-play", "about:blank", ""])
def test_a_type_that_is_not_ours_leads_nowhere(unknown):
    assert error_for(unknown, "m") is None


def test_the_types_that_are_documented_stay():
    """Clients of other versions know them by these names."""
    assert type_of(lb.TooManyInFlight("m")) == "urn:linkedbandits:too-many-in-flight"
    assert type_of(lb.WrongState("m", reason="experiment_paused")) == "urn:linkedbandits:experiment-paused"
