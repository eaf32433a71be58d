"""A log in the hands of its users."""

from __future__ import annotations

import pytest

import linkedbandits as lb

ROWS = [
    {"trace_id": 7, "model": "a", "ok": False},
    {"trace_id": 7, "model": "b", "ok": True},
    {"trace_id": 8, "model": "b", "ok": True},
]


def test_rows_are_read_as_files_are():
    log = lb.Attempts.from_rows(ROWS)
    assert isinstance(log, lb.Attempts)
    assert (log.options, log.requests, log.success.tolist()) == (("a", "b"), 2, [False, True, True])
    named = lb.Attempts.from_rows(
        [tuple(row.values()) for row in ROWS], columns=["x", "y", "z"], request="x", option="y", outcome="z"
    )
    assert named.option.tolist() == log.option.tolist()


def test_a_log_from_plays_can_be_asked_for_a_verdict():
    log = lb.Attempts.from_plays([(("a",), "a"), (("b",), None)] * 60)
    assert log.verdict(delta=0.05).verdict.arm == "a"
    assert repr(log) == "Attempts(120 attempts of 2 options on 120 requests)"


def test_rows_without_an_option_are_refused():
    with pytest.raises(lb.InvalidAttempts, match="option"):
        lb.Attempts.from_rows([{"request": 1, "ok": True}])


def test_a_meaning_that_does_not_exist_is_refused():
    with pytest.raises(lb.InvalidParameter, match="provider='model' is unknown; columns are request, option, outcome"):
        lb.Attempts.from_rows(ROWS, provider="model")
