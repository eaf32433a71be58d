"""Which column means what."""

from __future__ import annotations

import pytest

from linkedbandits.attempts.columns import layout_of, seconds_in_one
from linkedbandits.errors import InvalidAttempts


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        (["request_id", "provider", "success"], ("request_id", "provider", "success")),
        (["Trace ID", "Back-End", "HTTP Status Code"], ("Trace ID", "Back-End", "HTTP Status Code")),
        (["correlationId", "upstream", "exception"], ("correlationId", "upstream", "exception")),
        (["note", "vendor", "order_id", "result"], ("order_id", "vendor", "result")),
        (["session", "model", "ok"], ("session", "model", "ok")),
        (["req", "gateway", "http.status_code"], ("req", "gateway", "http.status_code")),
    ],
)
def test_names_that_people_use(columns, found):
    layout = layout_of(columns, {}, "log")
    assert not layout.a_row_a_request
    assert layout.names == dict(zip(("request", "option", "outcome"), found, strict=True))


def test_what_is_beside_an_attempt():
    columns = ["req", "target", "ok", "Retry", "created_at", "price", "latency_ms", "user"]
    layout = layout_of(columns, {}, "log")
    assert layout.pairs[3:] == (
        ("position", "Retry"),
        ("time", "created_at"),
        ("cost", "price"),
        ("seconds", "latency_ms"),
    )
    assert "cost" in layout
    assert layout["time"] == "created_at"
    assert "hit" not in layout


def test_what_is_beside_a_request():
    layout = layout_of(["request", "providers", "served_by", "ts", "cost"], {}, "log")
    assert layout.a_row_a_request
    assert layout.names == {"order": "providers", "hit": "served_by", "time": "ts", "cost": "cost"}


def test_two_candidates_are_named():
    with pytest.raises(InvalidAttempts, match="2 columns that could be the option: 'model' and 'provider'; say which"):
        layout_of(["req", "model", "provider", "ok"], {}, "log")
    assert layout_of(["req", "model", "provider", "ok"], {"option": "provider"}, "log")["option"] == "provider"


def test_the_very_name_goes_before_a_guess():
    assert layout_of(["request", "session", "option", "outcome", "error"], {}, "log").names == {
        "request": "request",
        "option": "option",
        "outcome": "outcome",
    }


def test_a_column_that_is_given_for_one_thing_is_not_guessed_for_another():
    layout = layout_of(["req", "model", "ok", "hit"], {"option": "model", "outcome": "hit"}, "log")
    assert layout["outcome"] == "hit"
    layout = layout_of(["req", "session", "ok", "model"], {"request": "session", "position": "req"}, "log")
    assert layout["request"] == "session"
    assert layout["position"] == "req"
    assert layout_of(["req", "session", "ok", "model"], {"position": "session"}, "log")["request"] == "req"


def test_a_column_can_be_left_out():
    assert "time" not in layout_of(["req", "model", "ok", "ts"], {"time": ""}, "log")
    with pytest.raises(InvalidAttempts, match="no column whose name says that it is the outcome"):
        layout_of(["req", "model", "ok"], {"outcome": ""}, "log")


def test_parameters_of_the_other_shape():
    with pytest.raises(InvalidAttempts, match="position='n' has no meaning in a log with a row for each request"):
        layout_of(["order", "hit", "n"], {"position": "n"}, "log")


def test_a_list_of_what_was_tried_with_outcomes():
    layout = layout_of(["tried", "status", "ts"], {}, "log")
    assert layout.a_row_a_request
    assert layout.has_what_was_tried
    assert layout.names == {"order": "tried", "outcome": "status", "time": "ts"}
    with pytest.raises(InvalidAttempts, match="say so with order='chain' and outcome='status'"):
        layout_of(["chain", "status"], {}, "log")
    assert layout_of(["chain", "status"], {"order": "chain", "outcome": "status"}, "log").has_what_was_tried
    assert not layout_of(["chain", "winner"], {}, "log").has_what_was_tried
    with pytest.raises(InvalidAttempts, match="or order and outcome, if a row has a list"):
        layout_of(["chain", "winner", "status"], {"hit": "winner", "outcome": "status"}, "log")


def test_the_columns_of_nginx():
    columns = ["request_id", "upstream_addr", "status", "upstream_status", "request_time", "upstream_response_time"]
    names = layout_of(columns, {}, "log").names
    assert names == {"order": "upstream_addr", "outcome": "upstream_status", "seconds": "upstream_response_time"}
    assert layout_of(columns, {"seconds": ""}, "log").names.keys() == {"order", "outcome"}
    assert layout_of(columns, {"outcome": "status", "option": "upstream_addr"}, "log")["request"] == "request_id"


def test_both_shapes_in_one_table():
    columns = ["req", "model", "ok", "order", "winner"]
    with pytest.raises(InvalidAttempts, match="say which with order= and hit=, or with option= and outcome="):
        layout_of(columns, {}, "log")
    assert layout_of(columns, {"order": "order"}, "log").a_row_a_request
    assert not layout_of(columns, {"option": "model"}, "log").a_row_a_request
    assert not layout_of(columns, {"hit": ""}, "log").a_row_a_request


def test_a_name_that_two_columns_have():
    with pytest.raises(InvalidAttempts, match="has 2 columns 'ok'"):
        layout_of(["req", "model", "ok", "ok"], {"outcome": "ok"}, "log")


def test_very_many_columns_are_not_all_listed():
    with pytest.raises(InvalidAttempts, match="'c29' and 70 more"):
        layout_of([f"c{number}" for number in range(100)], {}, "log")


@pytest.mark.parametrize(
    ("name", "scale"),
    [("latency_ms", 1e-3), ("latencyMs", 1e-3), ("duration (us)", 1e-6), ("took.ns", 1e-9), ("seconds", 1.0)],
)
def test_units_of_durations(name, scale):
    assert seconds_in_one(name) == scale


def test_an_id_is_the_request_and_what_does_not_matter_is_left_out_where_two_could_be_it():
    columns = ["request", "request_id", "upstream", "status", "request_time", "upstream_response_time", "time_local"]
    assert layout_of(columns, {}, "log.csv").names == {
        "request": "request_id",
        "option": "upstream",
        "outcome": "status",
        "time": "time_local",
    }


def test_a_column_with_nothing_in_it_is_not_the_option_unless_it_is_given():
    columns = ["request", "provider", "model", "ok"]
    assert layout_of(columns, {}, "log", {"model"})["option"] == "provider"
    assert layout_of(columns, {"option": "model"}, "log", {"model"})["option"] == "model"
    with pytest.raises(InvalidAttempts, match="2 columns that could be the option"):
        layout_of(columns, {}, "log", {"ok"})
