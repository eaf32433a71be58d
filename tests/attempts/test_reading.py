"""Logs of attempts from files: shapes, formats, what is set aside and with which line numbers, and what is refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts, read_attempts
from linkedbandits.attempts.set_aside import SetAside
from linkedbandits.errors import CannotRead, InvalidAttempts
from tools.waiting import SECONDS

PLAIN = """request,option,outcome
r1,a,failed
r1,b,ok
r2,b,ok
r3,a,failed
r3,b,failed
"""


@pytest.fixture
def read(tmp_path):
    """Read what is in a text, or in bytes."""

    def read_it(content, name="log.csv", **given):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_attempts(path, **given)

    return read_it


def plays_of(log):
    """The attempts of each request: (option, whether it worked)."""
    found = [[] for _ in range(log.requests)]
    for request, option, success in zip(log.request, log.option, log.success, strict=True):
        found[request].append((log.options[option], bool(success)))
    return found


def aside(log):
    """What was set aside: how many rows, and their lines."""
    return {found.what: (found.rows, found.lines) for found in log.set_aside}


def same(one, other):
    assert one.options == other.options
    for name in ("request", "option", "success", "second", "time", "cost", "seconds"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None), name
        if left is not None:
            np.testing.assert_array_equal(left, right, err_msg=name)


def test_a_row_for_each_attempt(read):
    log = read(PLAIN)
    assert plays_of(log) == [[("a", False), ("b", True)], [("b", True)], [("a", False), ("b", False)]]
    assert log.second.tolist() == [1, -1, 1]
    assert log.columns == (("request", "request"), ("option", "option"), ("outcome", "outcome"))
    assert log.set_aside == ()
    assert log.time is None
    assert log.cost is None


def test_a_row_for_each_request(read):
    log = read("id,order,hit\n1,a>b,a\n2,b>a,a\n3,a>b,\n4,c,none\n")
    assert plays_of(log) == [[("a", True)], [("b", False), ("a", True)], [("a", False), ("b", False)], [("c", False)]]
    assert log.second.tolist() == [1, 0, 1, -1]  # also where the first one worked
    assert log.columns == (("order", "order"), ("hit", "hit"))


@pytest.mark.parametrize(
    "order", ['"[""a"", ""b""]"', "\"['a' 'b']\"", "a|b", "a;b", '"a, b"', "a > b", "a b", "a->b", '"[a, b]"']
)
def test_an_order_may_be_written_in_many_ways(read, order):
    log = read(f"order,hit\n{order},b\n")
    assert plays_of(log) == [[("a", False), ("b", True)]]


def test_names_with_blanks_stay_whole_where_something_else_is_between_them(read):
    assert read("order,hit\nold box > new box,new box\n").options == ("old box", "new box")
    log = read('{"order": ["a, b", "c > d"], "hit": "c > d"}\n', "log.jsonl")
    assert log.options == ("a, b", "c > d")
    assert log.success.tolist() == [False, True]


def test_requests_that_are_interleaved_are_collected(read):
    log = read("request,option,ok\nx,a,0\ny,b,0\nx,b,1\nz,a,1\ny,a,1\n")
    assert plays_of(log) == [[("a", False), ("b", True)], [("b", False), ("a", True)], [("a", True)]]


def test_attempts_are_in_the_order_of_their_positions(read):
    log = read("request,attempt,option,ok\nx,2,b,1\ny,1,b,1\nx,1,a,0\n")
    assert plays_of(log) == [[("a", False), ("b", True)], [("b", True)]]


def test_requests_and_attempts_are_in_the_order_of_their_times(read):
    log = read("request,option,ok,ts\nx,b,1,30\ny,b,1,15\nx,a,0,20\nz,a,1,20\n")
    assert plays_of(log) == [[("b", True)], [("a", False), ("b", True)], [("a", True)]]
    assert log.time.tolist() == [15.0, 20.0, 20.0]


def test_positions_go_before_times_within_a_request(read):
    log = read("request,option,ok,ts,try\nx,b,1,20,1\nx,a,0,30,0\ny,a,1,25,0\n")
    assert plays_of(log) == [[("a", True)], [("a", False), ("b", True)]]
    assert log.time.tolist() == [25.0, 30.0]  # when the first attempt was


def test_requests_by_row_are_in_the_order_of_their_times(read):
    log = read("order,hit,time\na>b,b,2024-05-17T10:00:01Z\nb,b,2024-05-17T10:00:00Z\n")
    assert plays_of(log) == [[("b", True)], [("a", False), ("b", True)]]
    assert np.diff(log.time).tolist() == [1.0]


def test_cost_and_seconds_of_attempts(read):
    log = read("request,option,ok,usd,latency_ms\nx,a,0,0.5,1500\nx,b,1,,20\n")
    np.testing.assert_array_equal(log.cost, [0.5, np.nan])
    assert log.seconds.tolist() == [1.5, 0.02]


def test_rows_that_were_offered_and_not_tried_say_what_was_second(read):
    log = read("request,option,outcome\n1,a,ok\n1,b,\n2,b,failed\n2,a,\n3,b,ok\n")
    assert plays_of(log) == [[("a", True)], [("b", False)], [("b", True)]]
    assert log.second.tolist() == [1, -1, -1]  # behind a failure it was not tried, and is no second attempt
    assert log.set_aside == ()


def test_what_was_offered_second_is_another_option_and_one_that_is_known(read):
    log = read("request,option,outcome\n1,a,ok\n1,a,\n2,a,ok\n2,x,\n3,b,ok\n3,,\n4,b,ok\n", options=["a", "b"])
    assert log.second.tolist() == [-1, -1, -1, -1]


def test_lines_are_those_of_the_file_in_whatever_order_rows_are_used(read):
    log = read("request,option,ok,try,ts\nx,b,1,1,50\ny,a,hm,0,10\nx,a,0,0,40\ny,b,1,1,20\nz,a,1,0,30\nx,c,1,2,60\n")
    assert plays_of(log) == [[("a", True)], [("a", False), ("b", True)]]
    assert aside(log) == {"after a success": (1, (7,)), "unknown outcome 'hm'": (2, (3, 5))}
    untimed = read("request,option,ok,try\nx,b,1,1\ny,a,hm,0\nx,a,0,0\ny,b,1,1\nz,a,1,0\nx,c,1,2\n")
    assert untimed.set_aside == log.set_aside


def test_lines_before_the_header_and_between_rows_are_counted(read):
    log = read(" \n\nrequest,option,outcome\n1,a,ok\n\n2,a,hm\n3,a,ok\n")
    assert aside(log) == {"unknown outcome 'hm'": (1, (6,))}
    lines = '{"request": 1, "option": "a", "ok": 1}\n\n{"request": 2, "option": "a", "ok": "hm"}\n'
    assert aside(read(lines)) == {"unknown outcome 'hm'": (1, (3,))}


def test_torn_rows(read):
    log = read("request,option,outcome\n1,a,ok\n2,b\n3,b,ok,more\n\n4,b,ok\n5,b,ok\n6,")
    assert aside(log) == {"torn rows": (3, (3, 4, 8))}
    assert log.requests == 3


def test_rows_in_windows_1252_are_read_and_said(read):
    said = "rows that are not in UTF-8: 1 row, first in line 3; they were read as Windows-1252; save the file in UTF-8"
    log = read(b"request,option,outcome\n1,a,ok\n2,\xfc,ok\n3,\xc3\xbc,ok\n")
    assert log.options == ("a", "ü")  # a file may have both
    assert log.set_aside == ()
    assert log.noticed == (f"{said} if names look wrong",)
    lines = '{"request": 1, "option": "Z\u00fcrich", "ok": 1}\n\n{"request": 2, "option": "\u20ac", "ok": 0}\n'
    log = read(lines.encode("cp1252"))
    assert log.options == ("Zürich", "€")
    assert log.noticed[0].startswith("rows that are not in UTF-8: 2 rows, first in line 1;")
    assert read("request,Größe,outcome\n1,ß,ok\n".encode("latin-1"), option="Größe").options == ("ß",)


def test_torn_rows_are_refused_where_they_could_be_those_of_one_option(read):
    whole, torn = "{},a,ok\n", "{},b,with a comma,ok\n"
    rows = "".join((torn if number < 20 else whole).format(number) for number in range(1500))
    assert aside(read(f"request,option,outcome\n{rows}"))["torn rows"][0] == 20
    with pytest.raises(InvalidAttempts, match=r"21 of 1,501 rows of .* are torn, and if that depends on their option"):
        read(f"request,option,outcome\n{rows}" + torn.format("x"))


def test_a_quote_that_is_never_closed_costs_one_row(read):
    rows = "".join(f"{number},a,ok\n" for number in range(100))
    log = read(f'request,option,outcome\n1000,"a,ok\n{rows}')
    assert aside(log) == {"torn rows": (1, (2,))}
    assert log.requests == 100


def test_fields_over_several_lines_are_one_row(read):
    log = read('request,option,error\n1,a,"boom, at\nline 3\nline 4"\n1,b,\n2,"b",\n3,a\n')
    assert plays_of(log) == [[("a", False), ("b", True)], [("b", True)]]
    assert aside(log) == {"torn rows": (1, (7,))}


def test_a_torn_quote_before_a_field_over_several_lines(read):
    log = read('request,option,error\n0,"a\n1,a,"x\ny"\n2,a,\n3,a,"u ""v""\n"\n4,b,\n')
    assert aside(log) == {"torn rows": (1, (2,))}
    assert [tries[0][1] for tries in plays_of(log)] == [False, True, False, True]


def test_quotes_in_odd_places(read):
    log = read('request,option,outcome\n1,the "big" one,ok\n2,"small",ok\n')
    assert log.options == ('the "big" one', "small")
    assert log.set_aside == ()


def test_json_that_is_torn(read):
    whole = [json.dumps({"req": number, "backend": "a", "ok": True}) for number in range(4)]
    lines = [whole[0], '{"req": 1, "bac', "", whole[1], "17", whole[2], b"\xff".decode("latin-1"), whole[3], '{"req"']
    log = read("\n".join(lines).encode("latin-1"), "log.jsonl")
    assert aside(log) == {"torn rows": (4, (2, 5, 7, 9))}
    assert log.requests == 4


def test_rows_without_a_request(read):
    log = read("request,option,outcome\n1,a,ok\n,a,ok\n  ,a,ok\n2,b,ok\n3,b,ok\n")
    assert aside(log) == {"no request": (2, (3, 4))}
    assert log.requests == 3


def test_rows_without_an_option_end_their_request(read):
    log = read("request,option,outcome\n1,a,failed\n1,,failed\n1,b,ok\n2,b,ok\n2,,\n3,,ok\n4,a,ok\n4,b,\n")
    assert aside(log) == {"no option": (3, (3, 4, 7))}
    assert plays_of(log) == [[("a", False)], [("b", True)], [("a", True)]]
    assert log.second.tolist() == [-1, -1, 1]


def test_unknown_outcomes_end_their_request(read):
    log = read("request,option,outcome\n1,a,failed\n1,b,maybe\n1,c,ok\n2,a,hm\n3,b,ok\n3,a,maybe\n4,a,ok\n5,a,ok\n")
    assert aside(log) == {
        "unknown outcome 'maybe'": (2, (3, 4)),
        "unknown outcome 'hm'": (1, (5,)),
        "after a success": (1, (7,)),
    }
    assert plays_of(log) == [[("a", False)], [("b", True)], [("a", True)], [("a", True)]]


def test_very_many_unknown_words(read):
    rows = "".join(f"u{number},a,word {number}\n" for number in range(15))
    good = "".join(f"g{number},a,ok\n" for number in range(300))
    log = read(f"request,option,outcome\nw,a,often\n{rows}w2,a,often\n{good}")
    assert [found.rows for found in log.set_aside if found.what == "unknown outcome 'often'"] == [2]
    assert sum(found.rows for found in log.set_aside) == 17
    assert len(log.set_aside) == 6


def test_a_missing_outcome_before_others_ends_its_request(read):
    log = read("request,option,outcome\n1,a,failed\n1,b,\n1,c,ok\n2,a,ok\n3,a,\n3,b,\n4,a,ok\n5,a,ok\n6,a,ok\n")
    assert aside(log) == {"no outcome": (4, (3, 4, 6, 7))}
    assert plays_of(log)[0] == [("a", False)]


def test_attempts_after_a_success(read):
    log = read("request,option,outcome\n1,a,ok\n1,b,failed\n1,c,ok\n2,b,failed\n2,a,ok\n")
    assert aside(log) == {"after a success": (2, (3, 4))}
    assert plays_of(log) == [[("a", True)], [("b", False), ("a", True)]]
    assert log.second.tolist() == [-1, 0]


def test_an_option_tried_twice(read):
    log = read("request,option,outcome\n1,a,failed\n1,a,failed\n1,b,ok\n2,a,failed\n2,b,failed\n2,a,ok\n3,a,ok\n")
    assert aside(log) == {"an option tried twice": (2, (3, 7))}
    assert plays_of(log) == [[("a", False), ("b", True)], [("a", False), ("b", False)], [("a", True)]]
    assert log.second.tolist() == [1, 1, -1]


def test_what_follows_a_success_at_the_second_try_is_after_a_success(read):
    log = read("request,option,outcome\n1,a,failed\n1,a,ok\n1,b,ok\n2,a,ok\n")
    assert aside(log) == {"after a success": (1, (4,)), "an option tried twice": (1, (3,))}
    assert plays_of(log)[0] == [("a", False)]


def test_an_option_tried_twice_in_a_long_request(read):
    names = [f"o{number}" for number in range(20)]
    rows = "".join(f"1,{name},failed\n" for name in [*names, "o0", "o19"])
    log = read(f"request,option,outcome\n{rows}2,o3,ok\n")
    assert aside(log) == {"an option tried twice": (2, (22, 23))}
    assert len(log) == 21


def test_times_that_cannot_be_read(read):
    log = read("request,option,ok,ts\n1,a,0,10\n1,b,1,soon\n2,a,1,20\n3,b,1,\n4,a,1,30\n5,a,1,31\n6,a,1,32\n7,a,1,33\n")
    assert aside(log) == {"a time that cannot be read": (3, (2, 3, 5))}  # the order of request 1 is not known
    assert log.time.tolist() == [20.0, 30.0, 31.0, 32.0, 33.0]
    by_request = read("order,hit,ts\na,a,10\nb,b,soon\na,,11\n")
    assert aside(by_request) == {"a time that cannot be read": (1, (3,))}


def test_with_positions_only_what_follows_an_unreadable_time_is_lost(read):
    log = read("request,option,ok,ts,attempt\n1,a,0,10,1\n1,b,1,soon,2\n2,a,1,20,1\n")
    assert aside(log) == {"a time that cannot be read": (1, (3,))}
    assert plays_of(log) == [[("a", False)], [("a", True)]]


def test_positions_that_cannot_be_read_or_are_missing(read):
    log = read("request,option,ok,attempt\n1,a,0,1\n1,b,1,last\n2,b,1,2\n3,a,0,1\n3,b,1,3\n4,a,1,1\n5,a,0,1\n5,b,1,2\n")
    assert aside(log) == {"a position that cannot be read": (2, (2, 3)), "attempts missing before it": (2, (4, 6))}
    assert plays_of(log) == [[("a", False)], [("a", True)], [("a", False), ("b", True)]]


def test_positions_that_count_something_else_only_put_in_order(read):
    log = read("request,option,ok,rank\n1,b,1,20\n1,a,0,10\n2,a,1,40\n")
    assert plays_of(log) == [[("a", False), ("b", True)], [("a", True)]]
    assert log.set_aside == ()


def test_a_hit_that_is_not_in_the_order(read):
    log = read("order,hit\na>b,a\na>b,c\n,a\nb>a,\na>a>b,b\na>a>b,a\n" + "b>a,a\n" * 9)
    assert aside(log) == {
        "no order": (1, (4,)),
        "a hit that is not in the order": (1, (3,)),
        "an option twice in an order": (2, (6, 7)),  # whatever worked
    }
    assert plays_of(log)[:3] == [[("a", True)], [("b", False), ("a", False)], [("b", False), ("a", True)]]


@pytest.mark.parametrize(
    "text",
    ["tried,hit\na>b,b\na>a>b,b\na>c,c\na>a,a\nb,b\nb,b\n", "tried,ok\na>b,1\na>a>b,1\na>c,1\na>a,1\nb,1\nb,1\n"],
)
def test_first_attempts_of_lists_of_what_was_tried_are_kept_whatever_came_behind_them(read, text):
    """A retry, or an option that is not one of those given, comes behind a failure alone: to drop the row selects."""
    log = read(text, options=["a", "b"])
    assert plays_of(log) == [*[[("a", False), ("b", True)]] * 2, *[[("a", False)]] * 2, *[[("b", True)]] * 2]
    assert aside(log) == {
        "an option twice in an order": (2, (3, 5)),
        "an option that is not one of those given": (1, (4,)),
    }


def test_rows_that_are_not_in_the_order_of_attempts_are_refused(read):
    """Sorted by option within their requests: a success before a failure says so."""
    rows = "".join(f"{number},a,ok\n{number},b,failed\n" for number in range(30))
    with pytest.raises(InvalidAttempts, match="30 rows come after a success of their request"):
        read("request,option,outcome\n" + rows)
    placed = "".join(f"{number},a,ok,2\n{number},b,failed,1\n" for number in range(30))
    assert read("request,option,outcome,position\n" + placed).set_aside == ()


@pytest.mark.parametrize(
    ("text", "wrong", "said"),
    [
        ("order,hit\n", "a>b,c\n", "a hit that is not in the order"),
        ("tried,status\n", 'a>b,"502, 502, 200"\n', "outcomes that are not as many as the options"),
    ],
)
def test_many_rows_that_contradict_themselves_are_refused(read, text, wrong, said):
    """They have failures of the options that they name: without them these look better than they are."""
    right = "a>b,b\n" if "hit" in text else 'a>b,"502, 200"\n'
    assert read(text + right * 80 + wrong * 20).requests == 80
    with pytest.raises(InvalidAttempts, match=f"21 of 101 rows of .* have {said}"):
        read(text + right * 80 + wrong * 21)


def test_many_words_that_are_not_known_are_refused(read):
    rows = "".join(f"{number},a,{'ok' if number % 2 else 'kaputt'}\n" for number in range(100))
    with pytest.raises(InvalidAttempts, match=r"50 of 100 rows have an outcome that is not known .*'kaputt'"):
        read("request,option,outcome\n" + rows)


def test_objects_inside_of_objects_have_columns_of_their_own(read):
    log = read(
        '{"trace": {"id": "t1"}, "llm": {"provider": "a"}, "ok": false}\n'
        '{"trace": {"id": "t1"}, "llm": {"provider": "b"}, "ok": true}\n{"llm": 3, "ok": true}\n'
    )
    assert dict(log.columns) == {"request": "trace.id", "option": "llm.provider", "outcome": "ok"}
    assert plays_of(log) == [[("a", False), ("b", True)]]
    assert aside(log) == {"no request": (1, (3,))}


def test_options_that_are_given(read):
    log = read(PLAIN + "4,x,ok\n", options=["b", "a", "never"])
    assert log.options == ("b", "a", "never")
    assert aside(log) == {"an option that is not one of those given": (1, (7,))}
    assert log.option.tolist() == [1, 0, 0, 1, 0]
    by_request = read("order,hit\na>b,a\nx>b,b\nb,b\n", options=["b", "a"])
    assert aside(by_request) == {"an option that is not one of those given": (1, (3,))}


def test_five_lines_are_shown_of_many(read):
    good = "".join(f"{number},a,ok\n" for number in range(50))
    log = read("request,option,outcome\n" + good + "x,a\n" * 20)
    assert log.set_aside[0].rows == 20
    assert log.set_aside[0].lines == (52, 53, 54, 55, 56)
    assert str(log.set_aside[0]).startswith("torn rows: 20 rows, first in line 52; ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("request,option,outcome\n", "no rows"),
        ("request,option\n1,a\n", r"no column .* outcome; it has 'request', 'option': say which with outcome="),
        ("a,b,c\n1,2,3\n", "no column .* request"),
        ("order,result_of_it\na,b\n", "no column"),
        ("request,option,status,success\n1,a,200,1\n", "'status' and 'success'; say which with outcome="),
        ("request,option,outcome,ts,date\n1,a,1,1,1\n", "'ts' and 'date'.*or time=\"\" for none"),
        ("request,option,outcome,order,hit\n1,a,1,a,a\n", "a row for each request .* or for each attempt"),
        ("request,option,outcome\n1,a,maybe\n2,a,ok\n3,b,perhaps\n", "2 of 3 rows .*'maybe'.*'perhaps'"),
        ("request,option,outcome\n1,a,\n", "1 of 1 rows"),
        ("request,option,score\n1,a,1\n", "no column .* outcome"),
        ("request,option,outcome\n1,a,0.5\n2,a,0.25\n3,a,1.0\n", "2 of 3 outcomes in 'outcome' .* zeros and ones"),
    ],
)
def test_what_is_refused(read, content, said):
    with pytest.raises(InvalidAttempts, match=f"(?s){said}"):
        read(content)


def test_too_many_options_are_probably_another_column(read):
    rows = "".join(f"{number},o{number},ok\n" for number in range(1001))
    with pytest.raises(InvalidAttempts, match="more than 1,000 options, such as 'o1000'"):
        read("request,option,outcome\n" + rows)
    assert len(read("request,option,outcome\n" + rows.rsplit("\n", 2)[0] + "\n").options) == 1000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"option": "provider"}, "no column 'provider', which was given as option; it has 'request'"),
        ({"option": "option", "order": "request"}, "give one or the other"),
        ({"outcome": "outcome", "hit": "option"}, "give one or the other"),
        ({"separator": "::"}, "separator='::'"),
    ],
)
def test_parameters_that_make_no_sense(read, given, said):
    with pytest.raises(InvalidAttempts, match=said):
        read(PLAIN, **given)


def test_files_that_cannot_be_read(read, tmp_path):
    with pytest.raises(CannotRead, match="there is no such file"):
        read_attempts(tmp_path / "missing.csv")
    with pytest.raises(CannotRead, match="cannot read"):
        read_attempts(tmp_path)
    with pytest.raises(CannotRead, match="no text in UTF-8"):
        read(PLAIN.encode("utf-32"))
    with pytest.raises(CannotRead, match="zstd -d"):
        read(b"\x28\xb5\x2f\xfd0000")
    with pytest.raises(CannotRead, match="end lines with a line feed"):
        read(PLAIN.replace("\n", "\r"))
    with pytest.raises(CannotRead, match="jq -c"):
        read('[{"request": 1}]', "log.json")
    with pytest.raises(CannotRead, match="Parquet"):
        read(b"PAR1 and nothing else")
    with pytest.raises(CannotRead, match="ends in the middle"):
        read(gzip.compress(PLAIN.encode() * 100)[:-20], "log.csv.gz")


def test_columns_that_are_given_are_not_guessed(read):
    log = read(
        "who,what,done,request,ts\n1,a,1,7,x\n1,b,1,8,y\n", request="who", option="what", outcome="done", time=""
    )
    assert aside(log) == {"after a success": (1, (3,))}
    assert dict(log.columns) == {"request": "who", "option": "what", "outcome": "done"}


@pytest.mark.parametrize("separator", ["\t", ";", "|", ","])
def test_separators_are_seen_from_the_header(read, separator):
    same(read(PLAIN.replace(",", separator), "log.txt"), read(PLAIN))


def test_a_separator_that_is_given(read):
    same(read(PLAIN.replace(",", "~"), separator="~"), read(PLAIN))


def test_windows_files_with_a_mark_and_umlauts(read):
    content = b"\xef\xbb\xbf" + 'Request ID,"Anbieter; gro\u00df",Status\n1,M\u00fcller,ok\n1,,\n'.encode().replace(
        b"\n", b"\r\n"
    )
    log = read(content, option="Anbieter; gro\u00df")
    assert log.options == ("M\u00fcller",)
    assert log.success.tolist() == [True]


def test_a_mark_before_json(read):
    assert read(b'\xef\xbb\xbf{"request": 1, "option": "a", "ok": true}\n').requests == 1


def test_blanks_around_cells_do_not_matter(read):
    same(read(PLAIN.replace(",", " , ")), read(PLAIN))


def test_one_option_only(read):
    log = read("request,option,outcome\n1,a,ok\n2,a,failed\n")
    assert log.options == ("a",)
    assert log.success.tolist() == [True, False]


def test_a_last_line_without_an_end(read):
    same(read(PLAIN.rstrip("\n")), read(PLAIN))


def test_gzip_around_each_format(read, tmp_path):
    lines = "\n".join(json.dumps(row) for row in csv.DictReader(io.StringIO(PLAIN)))
    parquet = io.BytesIO()
    pl.read_csv(PLAIN.encode()).write_parquet(parquet)
    for name, content in (("log.csv", PLAIN.encode()), ("log.jsonl", lines.encode()), ("log.pq", parquet.getvalue())):
        same(read(content, name), read(PLAIN))
        same(read(gzip.compress(content), f"{name}.gz"), read(PLAIN))
        same(read(content, "log"), read(PLAIN))  # what it is called does not matter


def test_rows_of_parquet_are_counted_from_one(read):
    content = io.BytesIO()
    rows = {"request": [1, 1, None, 2], "option": ["a", "b", "a", "b"], "success": [True, False, True, True]}
    pl.DataFrame(rows).write_parquet(content)
    assert aside(read(content.getvalue())) == {"after a success": (1, (2,)), "no request": (1, (3,))}


def test_an_error_that_only_failures_have(read):
    log = read(
        '{"req": 1, "model": "a", "error": {"code": 7}}\n{"req": 1, "model": "b"}\n'
        '{"req": 2, "model": "b", "error": null}\n'
    )
    assert plays_of(log) == [[("a", False), ("b", True)], [("b", True)]]


def test_progress_is_told(read):
    told = []
    read(PLAIN, progress=told.append)
    assert told == [5]


@pytest.mark.parametrize("block", [16, 40, 64, 1000])
def test_blocks_end_anywhere(read, monkeypatch, block):
    content = (
        'request,option,error,n\n1,a,"x,\ny",1\n\n1,b,,2\n2,"b\n3,b\n4,"c ""q""",\u00e4\u00f6\u00fc,3\n'
        '5,a,,"4\n4"\n6,b,,5\r\n7,b,,'
    )
    whole = read(content)
    monkeypatch.setattr("linkedbandits.attempts.sources.BLOCK", block)
    parts = read(content)
    same(parts, whole)
    assert parts.set_aside == whole.set_aside
    assert aside(whole) == {"torn rows": (2, (6, 7))}
    lines = '{"request": 1, "option": "a", "ok": 0}\n{"req\n\n{"request": 1, "option": "\u00e4", "ok": 1}'
    cut = read(lines)
    assert aside(cut) == {"torn rows": (1, (2,))}
    assert plays_of(cut) == [[("a", False), ("ä", True)]]


def test_a_table_in_batches(monkeypatch):
    rows = [{"request": number // 2, "option": "ab"[number % 2], "ok": number % 2} for number in range(20)]
    whole = Attempts.from_rows(rows)
    monkeypatch.setattr("linkedbandits.attempts.sources.BATCH", 3)
    same(Attempts.from_rows(rows), whole)
    assert whole.requests == 10


# Round trips, and files that grow.

LABELS = st.sampled_from(["a", "b", "\u00fc c", 'd"e', "f,g", "h\ni"])


@st.composite
def plays(draw):
    order = draw(st.lists(LABELS, min_size=1, max_size=6, unique=True))
    return tuple(order), draw(st.sampled_from([None, *order]))


def as_attempts(asked):
    """A row for each option that was offered, with a blank outcome if it was not tried."""
    rows = []
    for number, (order, hit) in enumerate(asked):
        tried = order if hit is None else order[: order.index(hit) + 1]
        rows += [
            {
                "request": f"r{number}",
                "option": name,
                "outcome": {True: "ok", False: "failed"}[name == hit] if name in tried else None,
            }
            for name in order
        ]
    return rows


def as_requests(asked):
    return [{"order": list(order), "hit": hit} for order, hit in asked]


def in_csv(rows):
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {name: json.dumps(cell) if isinstance(cell, list) else cell for name, cell in row.items()} for row in rows
    )
    return file.getvalue().encode()


def in_json(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def in_parquet(rows):
    file = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(file)
    return file.getvalue()


@pytest.mark.parametrize("written", [in_csv, in_json, in_parquet], ids=["csv", "json", "parquet"])
@pytest.mark.parametrize("shaped", [as_attempts, as_requests], ids=["attempts", "requests"])
@given(asked=st.lists(plays(), min_size=1, max_size=12))
def test_what_was_written_is_read_back(tmp_path_factory, written, shaped, asked):
    path = tmp_path_factory.getbasetemp() / f"{written.__name__}-{shaped.__name__}"
    path.write_bytes(written(shaped(asked)))
    log = read_attempts(path)
    assert log.set_aside == ()
    same(log, Attempts.from_plays(asked))


ROWS = st.tuples(
    st.integers(0, 5), st.sampled_from(["a", "b", "c", ""]), st.sampled_from(["ok", "failed", "maybe", "", "failed"])
)


@given(rows=st.lists(ROWS, min_size=1, max_size=25), later=st.lists(ROWS, max_size=10))
def test_rows_added_to_a_file_change_no_request_before_them(rows, later):
    """Requests that get no attempt later are read as before, and in the same order."""
    more = [(number + 6, option, outcome) for number, option, outcome in later]
    names = {"columns": ["request", "option", "outcome"], "options": ["a", "b", "c"]}
    good = [(100 + number, "a", "ok") for number in range(40)]  # so that less than half is set aside
    short, grown = (Attempts.from_rows([*good, *table], **names) for table in (rows, [*rows, *more]))
    attempts = len(short)
    np.testing.assert_array_equal(grown.request[:attempts], short.request)
    np.testing.assert_array_equal(grown.option[:attempts], short.option)
    np.testing.assert_array_equal(grown.success[:attempts], short.success)
    np.testing.assert_array_equal(grown.second[: short.requests], short.second)


def by_hand(rows):
    """The rules, row by row."""
    requests = {}
    for request, option, outcome in rows:
        requests.setdefault(request, []).append((option, outcome))
    found = []
    for tries in requests.values():
        last = max((place for place, (_, outcome) in enumerate(tries) if outcome), default=-1)
        kept, worked = [], False
        for place, (option, outcome) in enumerate(tries):
            if worked or (not outcome and place > last and option) or not option or outcome in ("maybe", ""):
                break
            worked = outcome == "ok"
            if option not in [name for name, _ in kept]:
                kept.append((option, worked))
        found += [kept] if kept else []
    return found


@given(rows=st.lists(ROWS, max_size=40))
def test_the_rules_are_those_that_are_stated(rows):
    good = [(100 + number, "a", "ok") for number in range(60)]
    log = Attempts.from_rows([*good, *rows], columns=["request", "option", "outcome"])
    assert plays_of(log)[60:] == by_hand(rows)
    offered = sum(outcome == "" for _, _, outcome in rows)
    left_out = len(rows) + 60 - len(log)
    assert left_out - offered <= sum(found.rows for found in log.set_aside) <= left_out


def test_what_is_set_aside_reads_as_a_sentence():
    assert str(SetAside("torn rows", "mend them", 1)) == "torn rows: 1 row; mend them"


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_other_encodings(read, encoding):
    text = PLAIN + "r4,Z\u00fcrich \u2603,ok\n"
    same(read(text.encode(encoding)), read(text))
    lines = '{"request": 1, "option": "\u2603", "outcome": "ok"}\n'
    assert read(lines.encode(encoding), "log.jsonl").options == ("\u2603",)


def test_several_files_are_one_log_and_lines_name_their_file(read, tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("request,option,outcome\nr1,a,failed\nr2,b,ok\nr3,\n")
    two.write_text("outcome,option,request\nok,b,r1\nhm,b,r4\n,,\nok,a\nok,a,r5\n")
    log = read_attempts([one, two])
    assert plays_of(log) == [[("a", False), ("b", True)], [("b", True)], [("a", True)]]
    assert {found.what: (found.lines, found.files) for found in log.set_aside} == {
        "torn rows": ((4, 5), (str(one), str(two))),
        "no request": ((4,), (str(two),)),
        "unknown outcome 'hm'": ((3,), (str(two),)),
    }
    assert str(log.set_aside[0]).startswith(f"torn rows: 2 rows, first in line 4 of {one}; ")
    assert log.noticed[0].startswith(f"rows behind the beginning of a later request: 1 row, first in line 2 of {two}")


def test_several_files_of_several_kinds_need_the_same_columns(read, tmp_path):
    read(PLAIN, "a.csv")
    read('{"request": "r9", "option": "c", "outcome": 1}\n{"request": "r8", "option": "c", "outcome": 0}\n', "b.jsonl")
    log = read_attempts([str(tmp_path / "a.csv"), tmp_path / "b.jsonl"])
    assert log.requests == 5
    (tmp_path / "c.csv").write_text("request,provider,outcome\n1,a,ok\n")
    with pytest.raises(InvalidAttempts, match=r"c\.csv has no column 'option', which .*a\.csv has; give files with"):
        read_attempts([tmp_path / "a.csv", tmp_path / "c.csv"])
    with pytest.raises(InvalidAttempts, match="no file"):
        read_attempts([])


def test_a_dash_is_an_attempt_without_an_outcome(read):
    log = read("request,option,status\n1,a,502\n1,b,-\n2,a,-\n2,b,200\n3,b,200\n3,a,-\n4,b,200\n5,-,200\n")
    assert plays_of(log) == [[("a", False)], [("b", True)], [("b", True)]]
    assert aside(log) == {"no outcome": (3, (3, 4, 5)), "no option": (1, (9,))}


def test_rows_that_were_put_into_order_are_counted(read):
    log = read("request,option,ok\nx,a,0\ny,b,0\nx,b,1\nz,a,1\ny,a,1\n")
    assert log.noticed == (
        "rows behind the beginning of a later request: 2 rows, first in line 4; they were put with the others of their "
        "request",
    )
    placed = read("request,attempt,option,ok,ts\nx,2,b,1,5\nx,1,a,0,6\ny,1,b,1,3\n")
    assert [said.split(";")[0] for said in placed.noticed] == [
        "rows in another order than their positions: 1 row, first in line 3",
        "requests behind later ones: 1 row, first in line 4",
    ]
    assert read(PLAIN).noticed == ()
    assert any("put with the others" in note for note in log.verdict().notes)


def test_options_with_nearly_the_same_name_are_said(read):
    log = read("request,option,ok\n1,Adyen,1\n2,adyen,0\n3,b,1\n4, b ,1\n")
    assert log.options == ("Adyen", "adyen", "b")
    assert log.noticed == (
        "'b' and ' b ' differ only in blanks at the ends, and are taken for one option",
        "'Adyen' and 'adyen' differ only in case, and are two options; --ignore-case (ignore_case=True) makes them one",
    )
    assert read("request, option, ok\n1, a, 1\n2, b, 1\n").noticed == ()


MIXED = "request,option,ok\n1,OpenAI,0\n1,azure,1\n2,openai,1\n3,openai,0\n3,Azure,1\n4,openai,0\n4,OPENAI,1\n"


def test_names_that_differ_in_case_are_one_option_where_it_is_ignored(read):
    log = read(MIXED, ignore_case=True)
    assert log.options == ("openai", "azure")
    assert plays_of(log)[3] == [("openai", False)]  # and the second try is no sample
    assert log.noticed == (
        "'OpenAI' and 'openai' and 'OPENAI' differ only in case, and are taken for one option, 'openai'",
        "'azure' and 'Azure' differ only in case, and are taken for one option, 'azure'",
    )
    assert read(MIXED).options == ("OpenAI", "azure", "openai", "Azure", "OPENAI")


def test_case_is_ignored_in_lists_as_well(read):
    rows = "order,hit\na>B,A\nA>b,B\nA>b,none\nA>B,A\n"
    log = read(rows, ignore_case=True)
    assert log.options == ("A", "B")  # b and B are as many, and B came first
    assert plays_of(log)[0] == [("A", True)]
    assert plays_of(log)[1] == [("A", False), ("B", True)]
    tried = read("tried,ok\na>B,1\nA>b,0\nA>b,1\n", ignore_case=True)
    assert tried.options == ("A", "b")


def test_options_that_are_given_are_called_so_whatever_their_case(read):
    log = read(MIXED, ignore_case=True, options=["OPENAI", "Azure"])
    assert log.options == ("OPENAI", "Azure")
    assert len(log) == 6
    with pytest.raises(InvalidAttempts, match=r"'Azure' and 'azure' differ only in case, which is to be ignored"):
        read(MIXED, ignore_case=True, options=["Azure", "azure"])


def test_an_option_of_rows_that_are_set_aside_keeps_its_name_out_where_case_is_ignored(read):
    log = read("request,option,ok\n1,x,hm\n2,A,1\n3,a,1\n4,a,0\n4,b,1\n", ignore_case=True)
    assert log.options == ("a", "b")


def test_an_option_that_is_a_list_of_options_is_said(read):
    log = read('request,upstream_addr,status\n1,"a, b",200\n2,b,200\n')
    assert log.noticed == (
        "'a, b' look like lists, and are taken for one option each; if a row lists what was tried, name its columns "
        "with order= and outcome=",
    )


@pytest.mark.parametrize("path", [5, None, [None]])
def test_what_is_no_file_is_refused(path):
    with pytest.raises(InvalidAttempts, match="is no file; give a path, or a list of them"):
        read_attempts(path)


def test_what_nginx_writes(read):
    log = read(
        "time_iso8601|request|upstream_addr|status|upstream_status|request_time|upstream_response_time\n"
        "2024-05-17T10:00:00+00:00|GET / HTTP/1.1|10.0.0.1:80, 10.0.0.2:80|200|502, 200|0.3|0.1, 0.2\n"
        "2024-05-17T10:00:01+00:00|GET / HTTP/1.1|10.0.0.2:80|200|200|0.3|0.3\n"
        "2024-05-17T10:00:02+00:00|GET / HTTP/1.1|-|304|-|0.0|-\n"
        "2024-05-17T10:00:03+00:00|GET / HTTP/1.1|10.0.0.1:80 : 10.0.0.2:80|200|504 : 200|0.9|0.5 : 0.4\n"
    )
    first, second = "10.0.0.1:80", "10.0.0.2:80"
    assert plays_of(log) == [[(first, False), (second, True)], [(second, True)], [(first, False), (second, True)]]
    assert log.seconds.tolist() == [0.1, 0.2, 0.3, 0.5, 0.4]
    assert aside(log) == {"no order": (1, (4,))}
    assert dict(log.columns)["outcome"] == "upstream_status"


def test_an_error_inside_of_an_object_is_read_like_any_other(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(
        '{"id": "1", "up": {"provider": "a", "model": null}, "result": {"error": "Timeout"}}\n'
        '{"id": "1", "up": {"provider": "b", "model": null}, "result": {"error": null}}\n'
    )
    log = read_attempts(path, request="id")
    assert log.columns == (("request", "id"), ("option", "up.provider"), ("outcome", "result.error"))
    assert log.success.tolist() == [False, True]


def test_lists_of_objects_get_a_hint_how_to_flatten_them(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"id": 1, "attempts": [{"provider": "a", "ok": true}]}\n')
    with pytest.raises(InvalidAttempts, match=r"list of objects in 'attempts': .* jq -c '.attempts\[\] \+ del"):
        read_attempts(path)


A_HOST = """
import faulthandler, os, signal, sys, threading
import linkedbandits as lb

faulthandler.register(signal.SIGTERM, file=open(os.devnull, "w"))  # a handler that Python's own table does not have
signal.signal(signal.SIGINT, mine := lambda *_: print("mine"))
table = lambda: [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
before, during = table(), []
replaced = []
set_handler = signal.signal
signal.signal = lambda *given: replaced.append(given) or set_handler(*given)
lb.read_attempts(sys.argv[1], progress=lambda rows: during.append(table()))
reader = threading.Thread(target=lambda: lb.read_attempts(sys.argv[1], progress=lambda rows: during.append(table())))
reader.start()
reader.join()
assert during and all(seen == before for seen in [*during, table()])
assert replaced == []
os.kill(os.getpid(), signal.SIGTERM)
os.kill(os.getpid(), signal.SIGINT)
print("goes on")
"""


def test_reading_a_log_leaves_the_signal_handlers_of_the_process_alone(tmp_path):
    """Also those that libraries in C have: to install Python's again would take SIGTERM from them."""
    path = tmp_path / "log.csv"
    path.write_text("request,option,outcome\n1,a,ok\n2,b,failed\n")
    done = subprocess.run(
        [sys.executable, "-c", A_HOST, str(path)], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "mine\ngoes on\n", "")
