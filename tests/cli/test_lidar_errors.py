"""Errors in the words of the command line."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.cli.lidar_errors import in_options, said_in_options


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("give cycles=1000 (--cycles 1000) and bins=2 (--bins 2)", "give --cycles 1000 and --bins 2"),
        ("workers=3: leave them out", "--workers 3: leave them out"),
        ('engine="gpu" does not; use engine="numpy"', "--engine gpu does not; use --engine numpy"),
        ("dead_time=5e-08 is", "--dead-time 50 is"),
        ("bin_seconds=1e-09 is", "--bin-width 1000ps is"),
        ("field_of_view=200.0 is", "--field-of-view 200.0 is"),
        ("unit='h' (--pulse-unit) is no unit", "--pulse-unit is no unit"),
        ("the file a_cycles=3.npy stays", "the file a_cycles=3.npy stays"),
        ("nothing to say", "nothing to say"),
    ],
)
def test_parameters_become_options(said, wanted):
    assert in_options(said) == wanted


@pytest.mark.parametrize("kind", [lb.InvalidParameter, lb.CannotRead, lb.UnknownName, lb.MissingExtra])
def test_an_error_keeps_its_kind(kind):
    with pytest.raises(kind, match="--signal 0 is wrong") as raised, said_in_options():
        raise kind("signal=0 is wrong")
    assert isinstance(raised.value.__cause__, kind)


def test_an_error_that_needs_no_other_words_is_left_as_it_is():
    one = lb.InvalidParameter("there is nothing")
    with pytest.raises(lb.InvalidParameter) as raised, said_in_options():
        raise one
    assert raised.value is one
