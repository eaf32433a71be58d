"""Where rows come from; whole files are in test_reading.py."""

from __future__ import annotations

import csv
import io
import sys
from collections import namedtuple
from datetime import UTC, datetime
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts import Attempts, read_attempts
from linkedbandits.attempts.sources import cut_into_rows, parsed, source_in, source_in_all, source_of
from linkedbandits.errors import CannotRead, InvalidAttempts, MissingExtra

ROWS = [(1, "a", False), (1, "b", True), (2, "b", True)]
NAMES = ["request", "option", "ok"]


class LikePandas:
    """The manners of a pandas frame that are used, where there is no pandas."""

    class Column(list):
        def tolist(self):
            return list(self)

    def __init__(self, table):
        self.columns = list(table)
        self._table = table

    def __getitem__(self, name):
        return self.Column(self._table[name])


def pandas_frame(table):
    if find_spec("pandas"):
        import pandas as pd

        return pd.DataFrame(table)
    return LikePandas(table)


def columns_of(rows):
    return {name: list(values) for name, values in zip(NAMES, zip(*rows, strict=True), strict=True)}


TABLES = {
    "polars": pl.DataFrame(columns_of(ROWS)),
    "lazy": pl.LazyFrame(columns_of(ROWS)),
    "pandas": pandas_frame(columns_of(ROWS)),
    "dicts": [dict(zip(NAMES, row, strict=True)) for row in ROWS],
    "named tuples": [namedtuple("Row", NAMES)(*row) for row in ROWS],
    "generator": (dict(zip(NAMES, row, strict=True)) for row in ROWS),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_tables_of_all_kinds(table):
    log = Attempts.from_rows(table)
    assert log.options == ("a", "b")
    assert log.success.tolist() == [False, True, True]
    assert log.request.tolist() == [0, 0, 1]


def test_tuples_with_names_beside_them():
    assert len(Attempts.from_rows(ROWS, columns=NAMES)) == 3
    with pytest.raises(InvalidAttempts, match=r"is no row with the columns \[\]"):
        Attempts.from_rows(ROWS)
    with pytest.raises(InvalidAttempts, match=r"\(1, 'a'\) is no row"):
        Attempts.from_rows([*ROWS, (1, "a")], columns=NAMES)


def test_cells_of_mixed_kinds():
    rows = [("x", 1, True), (2, "1", "failed"), (2.5, 1, 0), (None, 1, 1), (float("nan"), 1, 1), (3, 1, 200), (4, 1, 1)]
    log = Attempts.from_rows(rows, columns=NAMES)
    assert log.options == ("1",)
    assert log.success.tolist() == [True, False, False, True, True]
    assert [(found.what, found.lines) for found in log.set_aside] == [("no request", (4, 5))]


def test_times_of_a_frame():
    moment = datetime(2024, 5, 17, 10, 30, 15, 250_000, tzinfo=UTC)
    for time in (moment, moment.replace(tzinfo=None)):
        frame = pl.DataFrame({"request": [1], "option": ["a"], "ok": [True], "ts": [time]})
        assert Attempts.from_rows(frame).time.tolist() == [moment.timestamp()]
        assert Attempts.from_rows(frame.to_dicts()).time.tolist() == [moment.timestamp()]


def test_lists_of_a_frame():
    frame = pl.DataFrame({"order": [["a,b", 'c"d\\'], ["e"]], "hit": ['c"d\\', None]})
    assert Attempts.from_rows(frame).options == ("a,b", 'c"d\\', "e")
    assert Attempts.from_rows(frame.to_dicts()).success.tolist() == [False, True, False]
    assert Attempts.from_rows(pl.DataFrame({"order": [[1, 2]], "hit": [2]})).options == ("1", "2")


@pytest.mark.parametrize("table", ["request,option", 7, None])
def test_what_is_no_table(table):
    with pytest.raises(InvalidAttempts, match="is no table"):
        source_of(table)


def test_a_table_without_rows():
    with pytest.raises(InvalidAttempts, match="no rows"):
        source_of([])
    with pytest.raises(InvalidAttempts, match="no rows"):
        Attempts.from_rows(pl.DataFrame(schema=dict.fromkeys(NAMES, pl.String)))


def test_without_polars_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "polars", None)
    for read in (lambda: source_in(tmp_path / "log.csv"), lambda: source_of([])):
        with pytest.raises(MissingExtra, match=r"pip install 'linkedbandits\[study\]'"):
            read()


CELLS = st.text(alphabet='ab",\n\r\u00fc ', max_size=5)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=8))
def test_rows_that_are_well_written_are_all_found(rows):
    file = io.StringIO()
    csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    text = file.getvalue().encode()
    found = cut_into_rows(text, ",", 3, at_end=True)
    assert found.torn.size == 0
    assert found.text == text
    cells, wrong = parsed(found, ",", [0, 1, 2], 3)
    assert not wrong.any()
    assert [tuple(cell or "" for cell in row) for row in cells.rows()] == rows
    lines = [sum(cell.count("\n") for cell in row) + 1 for row in rows]
    assert found.first_lines.tolist() == (np.cumsum(lines) - lines).tolist()


@given(
    st.lists(st.sampled_from(["1,a,x\n", "2,b\n", '3,"a\nb",x\n', "\n", "4,b,y,z\n", "\r\n", '5,"c"\r\n', "6,d,\r\n"]))
)
def test_what_is_torn_costs_no_other_row(lines):
    found = cut_into_rows("".join(lines).encode(), ",", 3, at_end=True)
    good = [line for line in lines if line[0] in "136"]
    assert found.text.decode() == "".join(good)
    assert found.torn.size == sum(line[0] in "245" for line in lines)
    assert np.diff(found.ends, prepend=0).tolist() == [len(line) for line in good]


@given(st.text(alphabet='a",\n', max_size=40), st.integers(0, 40))
def test_no_line_is_lost_however_torn_it_is(text, at):
    """Every line that is not blank is in a row or is torn, wherever a block ends."""
    whole = cut_into_rows(text.encode(), ",", 3, at_end=True)
    first = cut_into_rows(text[:at].encode(), ",", 3)
    second = cut_into_rows(first.rest + text[at:].encode(), ",", 3, at_end=True)
    assert first.text + second.text == whole.text
    torn = [*first.torn.tolist(), *(second.torn + first.lines_used).tolist()]
    assert torn == whole.torn.tolist()
    in_rows = whole.text.count(b"\n")
    blank = sum(not line for line in text.split("\n"))
    assert in_rows + len(torn) >= text.count("\n") + 1 - blank


def test_a_quote_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr("linkedbandits.attempts.sources.LONGEST_ROW", 20)
    found = cut_into_rows(b'1,"a,x\n' + b"2,b,y\n" * 4, ",", 3)
    assert found.torn.tolist() == [0]
    assert found.rest == b""
    assert len(found.ends) == 4
    assert cut_into_rows(b'1,"a,x\n2,b,y\n', ",", 3).rest == b'1,"a,x\n2,b,y\n'


def test_a_header_that_comes_again_is_no_row(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text('request,option,ok\n1,a,1\nrequest,option,ok\n2,option,0\n"request", option,ok\n3,a,1\n')
    log = read_attempts(path)
    assert log.options == ("a", "option")
    assert (log.requests, log.rows, log.set_aside) == (3, 5, ())
    assert log.noticed[0].startswith("lines with the header again: 2 rows, first in line 3;")


def test_columns_with_nothing_in_them_are_known(tmp_path):
    text, lines, table = tmp_path / "log.csv", tmp_path / "log.jsonl", tmp_path / "log.parquet"
    text.write_text("a,b,c\n1,,x\n2, ,\n3,torn\n")
    lines.write_text('{"a": 1, "in": {"b": null}}\n{"a": null, "in": {"b": null, "c": "x"}}\n')
    pl.DataFrame({"a": [1, None], "b": pl.Series([None, None], dtype=pl.String)}).write_parquet(table)
    assert [source_in(path).blank for path in (text, lines, table)] == [{"b"}, {"in.b"}, {"b"}]
    assert source_in_all([text, lines]).blank == set()
    assert source_of([{"a": 1, "b": None}]).blank == {"b"}


def test_binary_files_are_called_that(tmp_path):
    path = tmp_path / "log"
    for content in (b"\x1c" * 100, b"a,b\n\0"):
        path.write_bytes(content)
        with pytest.raises(CannotRead, match="which is binary and no text"):
            source_in(path)
