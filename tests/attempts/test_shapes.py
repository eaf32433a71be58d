"""Logs in which no column has a name that requests have."""

from __future__ import annotations

import pytest

from linkedbandits.attempts import Attempts, read_attempts
from linkedbandits.errors import InvalidAttempts

CHAINS = [row for number in range(40) for row in ((number, "a", 0), (number, "b", 1))]
"""Two attempts of each."""


def test_an_id_that_comes_again_with_other_options_is_the_request():
    log = Attempts.from_rows(CHAINS, columns=["id", "provider", "ok"])
    assert log.columns[0] == ("request", "id")
    assert (log.requests, len(log)) == (40, 80)


def test_rows_that_are_looked_at_first_are_counted_once(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("id,provider,ok\n" + "".join(f"{a},{b},{c}\n" for a, b, c in CHAINS) + "torn\n")
    log = read_attempts(path)
    assert [(found.what, found.rows) for found in log.set_aside] == [("torn rows", 1)]


@pytest.mark.parametrize(
    "rows",
    [
        [(number, "a", number % 2) for number in range(40)],
        [(number % 4, "ab"[number % 2], number % 2) for number in range(40)],
    ],
    ids=["the number of a row", "that of a customer"],
)
def test_another_id_is_not_taken_for_the_request_unless_it_is_given(rows):
    with pytest.raises(InvalidAttempts, match=r"no column whose name says that it is the request.*log an id with each"):
        Attempts.from_rows(rows, columns=["id", "provider", "ok"])


def test_an_id_that_is_there_once_is_the_request_if_it_is_given():
    rows = [(number, "a", number % 2) for number in range(40)]
    assert Attempts.from_rows(rows, columns=["id", "provider", "ok"], request="id").requests == 40


def test_an_id_that_was_given_as_something_else_is_not_the_request():
    with pytest.raises(InvalidAttempts, match="no column whose name says that it is the request"):
        Attempts.from_rows(CHAINS, columns=["id", "provider", "ok"], position="id")


def test_advice_for_a_log_without_a_request(tmp_path):
    path = tmp_path / "log.tsv"
    path.write_text("provider;status\na;200\nb;503\n")
    with pytest.raises(
        InvalidAttempts, match=r"If every row is a request of its own.*awk -v OFS=';' '\{print \(NR == 1"
    ):
        read_attempts(path)
    with pytest.raises(InvalidAttempts, match=r"the number of the row can be its id$"):
        Attempts.from_rows([("a", 1), ("b", 0)], columns=["provider", "ok"])


def test_advice_for_a_log_with_a_column_for_each_option():
    rows = [(number, number % 2, None if number % 2 else 1, number % 3 % 2) for number in range(20)]
    rows[2] = (2, 0, 0, 1)
    with pytest.raises(
        InvalidAttempts, match=r"a column of its own, with 0 or 1 in it \('stripe', 'adyen', 'paypal'\)"
    ):
        Attempts.from_rows(rows, columns=["id", "stripe", "adyen", "paypal"])


def test_no_advice_where_neither_is_seen():
    with pytest.raises(InvalidAttempts) as refused:
        Attempts.from_rows([("a", 1.5)], columns=["name", "size"])
    assert "Each option" not in str(refused.value)
    assert "If every row" not in str(refused.value)
