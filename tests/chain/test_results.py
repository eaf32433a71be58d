"""What callers and hooks are given has the names that they type."""

from __future__ import annotations

from linkedbandits.chain.results import Attempt, Result


def test_a_result_says_what_came_from_where():
    result = Result("value", "b", ("a", "b"), {"a": ValueError()}, "play")
    assert (result.value, result.option, result.tried, list(result.causes)) == ("value", "b", ("a", "b"), ["a"])


def test_an_attempt_says_when_it_began_and_how_long_it_took():
    attempt = Attempt("a", 0, "failed", 1e9, 0.5, OSError(), "plain")
    assert (attempt.began, attempt.seconds, attempt.outcome) == (1e9, 0.5, "failed")
