"""Tables of a file: every key by name and kind, with messages that say where it is and what would do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.study.reading import Keys

READERS = {
    "text": lambda keys: keys.text("x"),
    "whole": lambda keys: keys.whole("x"),
    "number": lambda keys: keys.number("x"),
    "wholes": lambda keys: keys.wholes("x"),
    "numbers": lambda keys: keys.numbers("x"),
    "texts": lambda keys: keys.texts("x", ["default"]),
    "table": lambda keys: keys.table("x"),
    "tables": lambda keys: [row.place("y") for row in keys.tables("x")],
}
SCALARS = {
    "bool": st.booleans(),
    "whole": st.integers(1),
    "small": st.integers(max_value=0),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "endless": st.sampled_from([math.nan, math.inf, -math.inf]),
    "beyond numbers": st.sampled_from([10**400, 2**1024]),
    "text": st.text(min_size=1).filter(str.strip),
    "blank": st.sampled_from(["", " ", "\t\n"]),
    "table": st.just({"y": 1}),
}
ACCEPTED = {
    "text": {"text"},
    "whole": {"whole", "beyond numbers"},
    "number": {"whole", "small", "float"},
    "table": {"table"},
    "wholes": {"whole", "beyond numbers"},
    "numbers": {"whole", "small", "float"},
    "texts": {"text", "blank"},
    "tables": set(),
}
"""The kinds of value that each reader takes: those of the first four as they are, the others as a list of one, too."""


def said_of(reader, value):
    """What a reader says of a value that it refuses."""
    try:
        READERS[reader](Keys({"x": value}))
    except lb.InvalidStudy as error:
        return str(error)
    return ""


def accepts(reader, value):
    said = said_of(reader, value)
    assert said == "" or said.startswith("x = ")
    return not said


@given(st.data(), st.sampled_from(list(READERS)), st.sampled_from(list(SCALARS)))
def test_a_reader_takes_its_own_kind_and_refuses_every_other_by_the_name_of_the_key(data, reader, kind):
    value = data.draw(SCALARS[kind])
    assert accepts(reader, value) == (kind in ACCEPTED[reader])
    if reader == "tables":
        assert accepts(reader, [value]) == (kind == "table")
    else:
        assert accepts(reader, [value]) == (reader in ("wholes", "numbers", "texts") and kind in ACCEPTED[reader])


@given(st.lists(st.integers(1, 20), min_size=1, max_size=5))
def test_a_list_of_wholes_comes_back_in_order_and_has_none_twice(values):
    if len(set(values)) == len(values):
        assert Keys({"x": values}).wholes("x") == values
        return
    with pytest.raises(lb.InvalidStudy, match=r"x = \d+ is in the list twice; leave one out"):
        Keys({"x": values}).wholes("x")


def test_numbers_may_be_there_twice_unless_said_otherwise():
    assert Keys({"x": [0.5, 0.5]}).numbers("x") == [0.5, 0.5]
    with pytest.raises(lb.InvalidStudy, match=r"x = 0\.5 is in the list twice"):
        Keys({"x": [0.5, 0.5]}).numbers("x", once=True)
    with pytest.raises(lb.InvalidStudy, match="x = 'a' is in the list twice"):
        Keys({"x": ["a", "a"]}).texts("x", [])


@pytest.mark.parametrize("reader", ["wholes", "numbers", "texts", "tables"])
def test_an_empty_list_is_refused(reader):
    with pytest.raises(lb.InvalidStudy, match=r"^x = \[\] is "):
        READERS[reader](Keys({"x": []}))


def test_whole_numbers_become_numbers_where_numbers_are_meant():
    for value in (Keys({"x": 3}).number("x"), *Keys({"x": [3]}).numbers("x")):
        assert isinstance(value, float)
        assert value == 3


@pytest.mark.parametrize(("value", "least", "fits"), [(0, 0, True), (1, 2, False), (2, 2, True)])
def test_the_least_that_a_whole_number_may_be_can_be_said(value, least, fits):
    for read in (Keys({"x": value}).whole, Keys({"x": value}).wholes):
        if fits:
            assert read("x", least=least) in (value, [value])
        else:
            with pytest.raises(lb.InvalidStudy, match=f"x = {value} is no whole number of at least {least}"):
                read("x", least=least)


def test_a_key_that_is_not_there_has_its_default_or_is_missing():
    keys = Keys({}, "policies[2]")
    assert keys.text("x", "a") == "a"
    assert (keys.whole("x", 0, least=0), keys.number("x", 0.0)) == (0, 0.0)
    assert (keys.numbers("x", [0.1]), keys.texts("x", ["b"]), keys.table("x")) == ([0.1], ["b"], {})
    for reader in ("text", "whole", "number", "wholes", "numbers", "tables"):
        with pytest.raises(lb.InvalidStudy, match=r"^policies\[2\]\.x is missing; (give|add|write) "):
            READERS[reader](keys)


def test_one_row_that_is_no_table_is_enough_to_refuse_a_list_of_them():
    with pytest.raises(lb.InvalidStudy, match=r"is no list of tables; write each under its own \[\[x\]\]"):
        Keys({"x": [{"y": 1}, 3]}).tables("x")


def test_tables_know_their_place_in_the_file_counted_from_one():
    first, second = Keys({"rows": [{"x": 1}, {"x": "b"}]}, "outer").tables("rows")
    assert (first.place("x"), first.whole("x")) == ("outer.rows[1].x", 1)
    with pytest.raises(lb.InvalidStudy, match=r"^outer\.rows\[2\]\.x = 'b' is no whole number"):
        second.whole("x")


def test_a_key_that_was_not_read_is_refused_with_the_nearest_one_that_was():
    keys = Keys({"trials": 3, "trails": 4}, "")
    keys.whole("trials")
    keys.text("name", "n")
    assert keys.has("trails")
    with pytest.raises(lb.InvalidStudy, match=r"^trails is no key of a study; did you mean 'trials'\?$"):
        keys.finish()
    other = Keys({"zzz": 4}, "policies[1]")
    other.text("policy", "n")
    other.text("label", "n")
    with pytest.raises(lb.InvalidStudy, match=r"^policies\[1\]\.zzz is no key of a study; known here: label, policy$"):
        other.finish()


def test_what_was_read_is_no_surplus():
    keys = Keys({"a": "1", "b": [0.2], "c": {}})
    keys.text("a")
    keys.numbers("b")
    keys.table("c")
    keys.finish()


def test_what_the_library_refuses_about_a_value_gets_the_name_of_its_key():
    keys = Keys({}, "policies[1]")
    for error in (lb.InvalidParameter("delta=2 is too much"), TypeError("no such argument")):
        with pytest.raises(lb.InvalidStudy) as caught, keys.meaning("parameters"):
            raise error
        assert str(caught.value) == f"policies[1].parameters: {error}"
        assert caught.value.__cause__ is error


def test_what_has_the_name_of_a_key_already_keeps_it():
    refused = lb.InvalidStudy("policies[1].x is wrong")
    with pytest.raises(lb.InvalidStudy) as caught, Keys({}).meaning("y"):
        raise refused
    assert caught.value is refused
    with pytest.raises(ZeroDivisionError), Keys({}).meaning("y"):
        _ = 1 / 0


def test_a_missing_key_may_be_there_in_another_spelling():
    keys = Keys({"nmae": "x", "count": 3}, "rows[2]")
    keys.whole("count")
    with pytest.raises(lb.InvalidStudy, match=r"^rows\[2\]\.nmae is no key of a study; did you mean 'name'\?$"):
        keys.text("name")
    with pytest.raises(lb.InvalidStudy, match="counts is missing"):
        keys.whole("counts")  # count is a key of its own, and was read
