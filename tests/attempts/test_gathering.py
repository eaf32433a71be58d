"""From rows to a log; whole files are in test_reading.py."""

from __future__ import annotations

import pytest

from linkedbandits.attempts import Attempts
from linkedbandits.attempts.gathering import gather
from linkedbandits.attempts.sources import source_of
from linkedbandits.errors import InvalidAttempts, InvalidParameter


def rows_with(good, bad):
    return [(number, "a", "ok") for number in range(good)] + [(-number, "a", "hm") for number in range(1, bad + 1)]


def test_half_of_the_rows_may_be_set_aside_and_no_more():
    names = ["request", "option", "outcome"]
    found = gather(source_of(rows_with(5, 5), names), {})
    assert found["request"].size == 5
    assert found["set_aside"][0].rows == 5
    with pytest.raises(InvalidAttempts, match=r"(?s)6 of 11 rows of the table cannot be used.*unknown outcome 'hm'"):
        gather(source_of(rows_with(5, 6), names), {})


def test_progress_counts_rows():
    told = []
    gather(source_of(rows_with(5, 1), ["request", "option", "outcome"]), {}, progress=told.append)
    assert told == [6]


def test_options_may_be_given_as_numbers():
    found = gather(source_of([(1, 7, 1), (2, 8, 0)], ["request", "option", "outcome"]), {}, [8, 7])
    assert found["options"] == ("8", "7")
    assert found["option"].tolist() == [1, 0]


ATTEMPTS = [
    *((number, "solid", "ok" if number % 5 else "503") for number in range(200)),
    *((1000 + number, "cheap", "ok" if number % 2 else None) for number in range(200)),
]
"""Where cheap fails, it has no outcome."""


def test_many_blank_outcomes_are_refused_until_the_user_says_what_they_are():
    columns = ["request", "option", "status"]
    with pytest.raises(InvalidAttempts, match=r"100 of 400 rows have no outcome in 'status'.*blank='failure'"):
        Attempts.from_rows(ATTEMPTS, columns=columns)
    rates = {}
    for blank in ("failure", "success", "aside"):
        log = Attempts.from_rows(ATTEMPTS, columns=columns, blank=blank)
        rates[blank] = log.success[log.option == log.number_of("cheap")].mean()
        assert sum(found.rows for found in log.set_aside) == (100 if blank == "aside" else 0)
    assert rates == {"failure": 0.5, "success": 1.0, "aside": 1.0}


def test_a_column_that_may_tell_what_a_blank_is_is_named():
    rows = [(*row, None if row[2] else "timeout") for row in ATTEMPTS]
    columns = ["request", "option", "status", "error"]
    with pytest.raises(
        InvalidAttempts, match=r"'status' and 'error'; say which with outcome=\.\.\., one that tells every"
    ):
        Attempts.from_rows(rows, columns=columns)
    with pytest.raises(InvalidAttempts, match=r"without an outcome is \('error' may tell\)"):
        Attempts.from_rows(rows, columns=columns, outcome="status")


def test_a_blank_behind_a_success_stays_one_that_was_not_needed():
    rows = [(1, "a", "ok"), (1, "b", None), (2, "b", None), (2, "a", "ok")]
    log = Attempts.from_rows(rows, columns=["request", "option", "status"], blank="failure")
    assert (log.option.tolist(), log.success.tolist()) == ([0, 1, 0], [True, False, True])
    assert log.second.tolist() == [1, 0]
    assert log.set_aside == ()


def test_what_a_blank_is_in_lists_and_in_columns_of_errors():
    tried = [("a, b", "502, -"), ("b, a", "200, -")]
    log = Attempts.from_rows(tried, columns=["tried", "status"], blank="failure")
    assert log.success.tolist() == [False, False, True]
    errors = [(1, "a", None), (2, "a", "boom"), (3, "a", "-")]
    log = Attempts.from_rows(errors, columns=["request", "option", "error"], blank="failure")
    assert log.success.tolist() == [False, False, True]


def test_words_for_blanks_that_mean_nothing():
    with pytest.raises(InvalidParameter, match="blank='x' is unknown; choose failure, success, aside"):
        Attempts.from_rows(ATTEMPTS, columns=["request", "option", "status"], blank="x")
    with pytest.raises(InvalidParameter, match="says which option worked, with nothing for none; leave it out"):
        Attempts.from_rows([("a>b", "a")], columns=["order", "hit"], blank="failure")


TIMED = ["request", "option", "outcome", "time"]


def timed(*times):
    return [(number, "ab"[number % 2], 1, time) for number, time in enumerate(times)]


@pytest.mark.parametrize("wrong", ["01/05/2024 00:00:02", "May 01 00:00:02", "01.05.2024 00:00:02", None])
@pytest.mark.filterwarnings("error")
def test_a_guessed_column_of_times_that_are_none_is_left_out_and_said(wrong):
    found = gather(source_of(timed("2024-05-01 00:00", wrong, wrong), TIMED), {})
    assert found["request"].size == 3
    assert found["time"] is None
    assert "time" not in dict(found["columns"])
    shown = "a blank" if wrong is None else repr(wrong)
    assert found["noticed"] == (
        f"most of 'time' cannot be read as times, such as {shown}; it is not used, and requests are in the order of "
        "the file",
    )


@pytest.mark.filterwarnings("error")
def test_a_few_times_that_are_none_cost_their_rows_alone():
    found = gather(source_of(timed("2024-05-01 00:00", "2024-05-01 00:01", "soon", "soon"), TIMED), {})
    assert found["request"].size == 2
    assert found["time"].tolist() == [1714521600.0, 1714521660.0]


def test_a_column_of_times_that_was_named_has_to_be_one():
    with pytest.raises(InvalidAttempts, match=r"such as '1/5/24'; write times as 2024-05-01 .*, or .* with time=\"\""):
        gather(source_of(timed("1/5/24", "1/5/24"), TIMED), {"time": "time"})


def test_unknown_outcomes_that_are_too_many_are_named_with_their_lines():
    with pytest.raises(InvalidAttempts, match=r"21 of 121 rows .*unknown outcome 'hm', first in line 101\)"):
        gather(source_of(rows_with(100, 21), ["request", "option", "outcome"]), {})


GERMAN = [(number, "a", ("erledigt", "Abgelehnt", "ok")[number % 3]) for number in range(90)]


def test_words_of_another_language_are_a_success_or_a_failure_by_the_users_word():
    columns = ["request", "option", "status"]
    with pytest.raises(InvalidAttempts, match=r"with success='erledigt' or failure='erledigt', or write"):
        Attempts.from_rows(GERMAN, columns=columns)
    log = Attempts.from_rows(GERMAN, columns=columns, success="Erledigt", failure=["abgelehnt"])
    assert (len(log), int(log.success.sum()), log.set_aside) == (90, 60, ())
    assert log.taken_for_success == ("erledigt", "ok")
    turned = Attempts.from_rows(GERMAN, columns=columns, success="erledigt", failure=["abgelehnt", "ok"])
    assert int(turned.success.sum()) == 30  # the user's word goes before what a word means elsewhere
    errors = Attempts.from_rows(GERMAN, columns=["request", "option", "error"], success="erledigt")
    assert int(errors.success.sum()) == 60


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"success": "gut", "failure": "GUT"}, "'GUT' is given as a success and as a failure"),
        ({"success": " "}, "success=' ' is no word"),
        ({"failure": [3]}, "failure=3 is no word"),
    ],
)
def test_words_that_say_nothing_are_refused(given, said):
    with pytest.raises(InvalidParameter, match=said):
        Attempts.from_rows(GERMAN, columns=["request", "option", "status"], **given)


def test_words_are_refused_where_a_log_says_which_option_worked():
    with pytest.raises(InvalidParameter, match="success='a' is about outcomes, and the table says which option worked"):
        Attempts.from_rows([("a>b", "a")], columns=["order", "hit"], success="a")
