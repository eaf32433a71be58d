"""What counts as a success."""

from __future__ import annotations

import pytest

from linkedbandits.attempts.outcomes import (
    BLANK,
    DASH,
    FAILURE,
    FRACTION,
    SUCCESS,
    UNKNOWN,
    is_no_error,
    means_an_error,
    outcome_of,
)

SAID = {
    SUCCESS: "1 1.0 +1 true True YES ok OK! Success succeeded completed APPROVED 200 201.0 204 302 399 "
    "200\u00a0OK HTTP/1.1\u00a0200",
    FAILURE: "0 0.0 -1 false No FAILED error Timeout timed_out Declined rate-limited 100 404 500 599 503\u00a0down "
    "HTTP\u00a0502 ConnectTimeout ValueError json.JSONDecodeException error:\u00a0timeout",
    BLANK: "null None NaN n/a skipped not_tried",
    DASH: "-",
    FRACTION: "0.5 .37 1e-3 -0.2 199.5",
    UNKNOWN: "maybe pending 2 7 -2 600 1000 20 502,\u00a0200 502\u00a0:\u00a0- cancelled 2024-05-17 1e300",
}


@pytest.mark.parametrize(("outcome", "texts"), SAID.items())
def test_words_and_numbers(outcome, texts):
    for text in texts.split(" "):
        assert outcome_of(text.replace("\u00a0", " ")) == outcome, text


def test_nothing_is_blank():
    assert outcome_of(None) == outcome_of("") == outcome_of("  ") == BLANK


WRONG = """error exception failure_reason exit_code is_error error_count num_errors n_errors failures error_flag fault
declined rejected not_ok latency_error has_error errorCount numErrors errormsg haserror nerrors isNotOk notok
upstream.error err is_timed_out http_error_code not_successful unsuccessful TimeoutError"""
RIGHT = """status result outcome ok http_status state no_error error_free not_failed noerror notFailed success isok
http.status_code without_errors merry mirror node_ok"""


@pytest.mark.parametrize("name", [*WRONG.split(), "Error Message"])
def test_columns_that_say_what_went_wrong(name):
    assert means_an_error(name)


@pytest.mark.parametrize("name", RIGHT.split())
def test_columns_that_say_how_it_went(name):
    assert not means_an_error(name)


def test_where_there_is_no_error():
    for text in (None, "", " ", "0", "false", "None", "null", "n/a", "{}"):
        assert is_no_error(text), text
    for text in ("1", "true", "timeout", "ECONNRESET", "404", "no route to host"):
        assert not is_no_error(text), text
