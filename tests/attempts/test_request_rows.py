"""Logs with a row for each request; whole files of them are in test_reading.py."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.cells import Labels, Outcomes
from linkedbandits.attempts.request_rows import (
    AFTER_SUCCESS,
    HIT_IS_A_FLAG,
    HIT_NOT_IN_ORDER,
    NO_OPTION,
    NO_ORDER,
    NO_OUTCOME,
    ORDER_TWICE,
    OTHER_LENGTH,
    OTHER_OPTION,
    OTHER_TRIED,
    TWICE,
    Play,
    order_of,
    play_of,
    play_of_what_was_tried,
)
from linkedbandits.errors import InvalidAttempts


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
        ("-", ()),
        ("10.0.0.1:80, 10.0.0.2:80 : unix:/run/c.sock", ("10.0.0.1:80", "10.0.0.2:80", "unix:/run/c.sock")),
        ("[::1]:80, [::2]:80", ("[::1]:80", "[::2]:80")),
    ],
)
def test_orders(text, order):
    assert order_of(text) == order


def test_plays():
    labels = Labels("log", ("a", "b", "c"))
    assert play_of("a>b>c", "b", labels) == Play((0, 1), True, 1, (0, 1), 2)
    assert play_of("c>a", "c", labels) == Play((2,), True, 0, (0,), 1)
    for nothing in (None, "None", "-", "null", "failed"):
        assert play_of("c>a", nothing, labels) == Play((2, 0), False, 0, (0, 1), 2)
    assert play_of("c", None, labels) == Play((2,), False, -1, (0,), 1)
    for hit in ("c", "b", None):  # not by what worked
        assert play_of("c>c>b", hit, labels).why_not == ORDER_TWICE
    assert play_of("c>a", "b", labels).why_not == HIT_NOT_IN_ORDER
    assert play_of("c>x", "c", labels).why_not == OTHER_OPTION
    assert play_of(None, "c", labels).why_not == NO_ORDER


def test_an_option_may_be_called_none():
    assert play_of("none>b", "none", Labels("log")) == Play((0,), True, 1, (0,), 1)


def test_options_are_numbered_as_they_turn_up_in_the_rows():
    rows = [{"order": order, "hit": None} for order in ("z>y", "c>a", "z>y", "b")]
    assert Attempts.from_rows(rows).options == ("z", "y", "c", "a", "b")


@pytest.mark.parametrize(
    ("order", "outcome", "play"),
    [
        ("a, b", "502, 200", Play((0, 1), True, 1, (0, 1), 2)),
        ("a, b", "502, 504", Play((0, 1), False, 1, (0, 1), 2)),
        ("a", "503 Service Unavailable, again", Play((0,), False, -1, (0,), 1)),
        ("a", "502, 200", Play(why_not=OTHER_LENGTH)),
        ("a", "[200]", Play((0,), True, -1, (0,), 1)),
        ("a, b", "true", Play((0, 1), True, 1, (0, 1), 2)),
        ("a, b", "timed out", Play((0, 1), False, 1, (0, 1), 2)),
        ("a, b : c", "502, 504 : 200", Play((0, 1, 2), True, 1, (0, 1, 2), 3)),
        ("a : b", "200 : 200", Play((0,), True, -1, (0,), 2, (AFTER_SUCCESS,))),
        ("a, a, b", "502, 200, 200", Play((0, 1), True, 1, (0, 2), 3, (TWICE,))),
        ("a, b, c", "502, -, 200", Play((0,), False, -1, (0,), 3, (NO_OUTCOME,))),
        ("a, b", "502, -", Play((0,), False, -1, (0,), 2, (NO_OUTCOME,))),
        ('["a", "b"]', '["ok", null]', Play((0,), True, 1, (0,), 2)),
        ('["a", "b"]', '["failed", null]', Play((0,), False, -1, (0,), 2)),
        ("a, -", "502, 502", Play((0,), False, -1, (0,), 2, (NO_OPTION,))),
        ("a", "-", Play(why_not=NO_OUTCOME)),
        ("-", "-", Play(why_not=NO_ORDER)),
        ("a, b, c", "502, 200", Play(why_not=OTHER_LENGTH)),
        ("a, z", "502, 200", Play((0,), False, -1, (0,), 2, (OTHER_TRIED,))),
        ("z, a", "502, 200", Play(why_not=OTHER_TRIED)),
    ],
)
def test_what_was_tried_has_an_outcome_each_or_one_for_the_last(order, outcome, play):
    assert play_of_what_was_tried(order, outcome, Labels("log", ("a", "b", "c")), Outcomes("status")) == play


def test_a_column_of_errors_says_nothing_of_what_worked():
    labels, errors = Labels("log"), Outcomes("error")
    assert play_of_what_was_tried("a, b", None, labels, errors).worked
    assert not play_of_what_was_tried("a, b", "reset by peer", labels, errors).worked


def test_words_that_are_not_known_are_named():
    found = play_of_what_was_tried("a, b", "502, hm", Labels("log"), Outcomes("status"))
    assert (found.tried, found.partly[0][0]) == ((0,), "unknown outcome 'hm'")
    scores = play_of_what_was_tried("a, b", "0, 0.3", Labels("log"), Outcomes("status"))
    assert scores.partly[0][0] == "an outcome that is a score"


def test_a_flag_is_no_hit_unless_the_order_has_what_was_tried():
    assert play_of("a>b", "true", Labels("log")).why_not == HIT_IS_A_FLAG
    rows = [{"tried": ["a", "b"], "served": served} for served in (True, 0, "b", None)]
    log = Attempts.from_rows(rows)
    assert log.success.tolist() == [False, True, False, False, False, True, False, False]
    with pytest.raises(InvalidAttempts, match="give the column as outcome, and not as hit"):
        Attempts.from_rows([{"providers": ["a", "b"], "served": True}])


def test_costs_and_seconds_are_those_of_each_attempt():
    rows = [
        {
            "upstream_addr": "a, a, b",
            "upstream_status": "502, 502, 200",
            "cost": "1, 2, 4",
            "upstream_response_time": 3,
        },
        {"upstream_addr": "b", "upstream_status": "200", "cost": "8", "upstream_response_time": 0.5},
    ]
    log = Attempts.from_rows(rows)
    assert log.cost.tolist() == [1, 4, 8]
    assert log.seconds is None
    assert log.noticed == (
        "'upstream_response_time' does not have one seconds for each attempt: 1 row, first in line 1; it is not used",
    )
    with pytest.raises(InvalidAttempts, match=r'write one for each, as 0\.1, 0\.2, or leave them out with seconds=""'):
        Attempts.from_rows(rows, seconds="upstream_response_time")
    rows[0]["upstream_response_time"] = "0.1, -, 0.3"
    np.testing.assert_array_equal(Attempts.from_rows(rows).seconds, [0.1, 0.3, 0.5])


def test_one_cost_for_a_request_with_several_attempts_is_refused():
    with pytest.raises(InvalidAttempts, match="give costs, what an attempt of each option costs, to the verdict"):
        Attempts.from_rows([{"order": "a>b", "hit": "b", "cost": 3}], cost="cost")
    assert Attempts.from_rows([{"order": "a>b", "hit": "b", "cost": 3}]).cost is None
    assert Attempts.from_rows([{"order": "a>b", "hit": "a", "cost": 3}]).cost.tolist() == [3]
    rows = [{"order": "a>b", "hit": "b", "cost": None}, {"order": "a>b", "hit": "a", "cost": 3}]
    np.testing.assert_array_equal(Attempts.from_rows(rows, cost="cost").cost, [np.nan, np.nan, 3])


def test_requests_that_were_put_where_their_times_belong_are_counted():
    rows = [{"order": "a", "hit": "a", "time": time} for time in (1, 5, 3, 4, 6)]
    assert Attempts.from_rows(rows).noticed == (
        "requests behind later ones: 2 rows, first in line 3; they were put where their times belong",
    )


def test_an_option_of_what_is_set_aside_alone_is_none():
    rows = [("z, a", "502, 200, 200"), ("a, y", "200, 200"), ("b, a", "502, 200"), ("b, c", "200, -")]
    log = Attempts.from_rows(rows, columns=["upstream_addr", "upstream_status"])
    assert log.options == ("a", "b", "c")
    assert (log.option.tolist(), log.second.tolist()) == ([0, 1, 0, 1], [-1, 0, 2])
    assert Attempts.from_rows([("a>b>c", "a"), ("a>x", "z")], columns=["order", "hit"]).options == ("a", "b", "c")
