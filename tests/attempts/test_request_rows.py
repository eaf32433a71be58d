"""Logs with a row for each request; whole files of them are in test_reading.py."""

from __future__ import annotations

import pytest

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.cells import Labels
from linkedbandits.attempts.request_rows import HIT_NOT_IN_ORDER, NO_ORDER, OTHER_OPTION, Play, order_of, play_of


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("a", ("a",)),
        ("a,b", ("a", "b")),
        ("a , b;c|d>e->f=>g", ("a", "b", "c", "d", "e", "f", "g")),
        ("big a > big b", ("big a", "big b")),
        ("a  b", ("a", "b")),
        ('["a,x", "b\\"y", 3, null]', ("a,x", 'b"y', "3")),
        ("['a' 'b']", ("a", "b")),
        ("('a', 'b')", ("a", "b")),
        ("[a, b]", ("a", "b")),
        ('["M\\u00fcller"]', ("M\u00fcller",)),
        ("a>>b>", ("a", "b")),
        ("[]", ()),
        ("", ()),
    ],
)
def test_orders(text, order):
    assert order_of(text) == order


def test_plays():
    labels = Labels("log", ("a", "b", "c"))
    assert play_of("a>b>c", "b", labels) == Play((0, 1), True, 1)
    assert play_of("c>a", "c", labels) == Play((2,), True, 0)
    for nothing in (None, "None", "-", "null", "failed"):
        assert play_of("c>a", nothing, labels) == Play((2, 0), False, 0)
    assert play_of("c", None, labels) == Play((2,), False, -1)
    assert play_of("c>c>b", "b", labels) == Play((2, 1), True, 1, twice=True)
    assert play_of("c>a", "b", labels).why_not == HIT_NOT_IN_ORDER
    assert play_of("c>x", "c", labels).why_not == OTHER_OPTION
    assert play_of(None, "c", labels).why_not == NO_ORDER


def test_an_option_may_be_called_none():
    assert play_of("none>b", "none", Labels("log")) == Play((0,), True, 1)


def test_options_are_numbered_as_they_turn_up_in_the_rows():
    rows = [{"order": order, "hit": None} for order in ("z>y", "c>a", "z>y", "b")]
    assert Attempts.from_rows(rows).options == ("z", "y", "c", "a", "b")
