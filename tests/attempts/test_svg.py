"""Markup: whatever goes in comes out as text, and scales are straight."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.attempts.svg import Scale, join, shortened, tag, text, ticks


@given(st.text(), st.text())
def test_any_text_makes_an_element_that_can_be_read_back(inside, attribute):
    element = ElementTree.fromstring(tag("text", text(inside), title=attribute))
    assert element.tag == "text"
    assert list(element) == []
    seen = element.text or ""
    assert len(seen.replace("\n", "")) == len(inside.replace("\r\n", "\n").replace("\r", "\n").replace("\n", ""))
    assert len(element.attrib["title"]) <= len(attribute)


@pytest.mark.parametrize("bad", ["\x00", "\x1b", "\ud800", "\u202e", "\uffff"])
def test_what_no_document_may_have_is_shown_as_a_box(bad):
    assert text(f"a{bad}b") == "a\ufffdb"


def test_attributes_are_written_short_and_left_out_if_there_are_none():
    assert tag("a", x=1.0, y=2 / 3, class_="b", d=None, stroke_width=float("nan")) == (
        '<a x="1" y="0.67" class="b" stroke-width="0"/>'
    )
    assert tag("g", tag("a"), tag("b")) == "<g><a/><b/></g>"
    assert join(tag("a"), tag("b")) == "<a/><b/>"


def test_quotes_cannot_end_an_attribute():
    element = ElementTree.fromstring(tag("a", title="\" onload='x' \n<&>"))
    assert element.attrib == {"title": "\" onload='x' \n<&>"}


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.floats(0, 1))
def test_a_scale_is_straight(low, length, share):
    scale = Scale(low, low + length, 10, 430)
    assert scale(low + share * length) == pytest.approx(10 + 420 * share, abs=0.01)
    assert scale(low - 1) == 10
    assert scale(low + length + 1) == 430


def test_a_scale_may_go_up_or_be_empty():
    assert Scale(0, 1, 100, 0)(0.25) == 75
    assert Scale(3, 3, 10, 20)(3) == 10


@given(st.floats(-1e4, 1e4), st.floats(1e-3, 1e6), st.integers(2, 8))
def test_ticks_are_evenly_within_limits_and_about_as_many(low, length, about):
    found = ticks(low, low + length, about)
    assert all(low - 1e-6 * length <= tick <= low + length + 1e-6 * length for tick in found)
    assert len({round(after - before, 6) for before, after in pairwise(found)}) <= 1
    assert about / 2 - 1 <= len(found) <= 2 * about + 1


def test_ticks_of_nothing():
    assert ticks(2.0, 2.0, 4) == [2.0]


def test_a_label_is_shortened_to_what_fits():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcd", 3) == "ab…"
    assert shortened(7, 3) == "7"
