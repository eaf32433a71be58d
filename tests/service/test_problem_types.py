"""Errors travel under types, and come back as themselves."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits import errors
from linkedbandits.service.problem_types import class_of, title_of, type_of

ERRORS = [found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, Exception)]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: error.__name__)
def test_a_type_leads_back_to_its_error_and_has_the_words_of_its_title(error):
    assert class_of(type_of(error)) is error
    assert title_of(error).lower().split() == type_of(error).rpartition(":")[2].split("-")
    assert title_of(error).replace(" ", "").lower() == error.__name__.lower()  # no word of the name was lost


@pytest.mark.parametrize("unknown", ["urn:linkedbandits:no-such-thing", "unknown-play", "about:blank", ""])
def test_a_type_that_is_not_ours_leads_nowhere(unknown):
    assert class_of(unknown) is None


def test_the_types_that_are_documented_stay():
    """Clients of other versions know them by these names."""
    assert type_of(lb.TooManyInFlight) == "urn:linkedbandits:too-many-in-flight"
