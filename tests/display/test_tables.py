"""Tables for notebooks: whole, escaped, and without colours of their own."""

from __future__ import annotations

import base64
from html.parser import HTMLParser

import pytest

from linkedbandits.display import MOST_ROWS, facts, paragraph, picture, table

HOSTILE = "<script>alert('x')</script>&\""


class Balanced(HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.texts, self.seen = [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def read(html):
    parser = Balanced()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return parser


MADE = {
    "facts": facts(HOSTILE, {HOSTILE: HOSTILE}),
    "table": table(HOSTILE, ["name", HOSTILE], [(HOSTILE, 1.0)]),
    "paragraph": paragraph(HOSTILE),
    "picture": picture(b"x", HOSTILE, 10),
}


@pytest.mark.parametrize("html", MADE.values(), ids=MADE)
def test_what_people_named_is_text_and_never_a_tag(html):
    assert "script" not in read(html).seen
    assert "<script" not in html


@pytest.mark.parametrize("html", MADE.values(), ids=MADE)
def test_colours_are_those_of_the_page(html):
    assert html.replace("background:none", "").count("background") == 0
    assert "color:" not in html.replace("color:inherit", "")
    assert html.count("<table") == html.count("color:inherit")


def test_facts_have_both_columns():
    assert read(facts("Runs", {"plays": 3, "wrong": "1 %"})).texts == ["Runs", "plays", "3", "wrong", "1 %"]


def test_a_long_table_is_cut_and_says_so():
    texts = read(table("t", ["n"], [(number,) for number in range(MOST_ROWS + 1200)])).texts
    assert texts[2:-1] == [str(number) for number in range(MOST_ROWS)]
    assert texts[-1] == "and 1,200 more"
    assert "more" not in table("t", ["n"], [(1,)] * MOST_ROWS)


def test_names_are_on_the_left_and_numbers_on_the_right():
    html = table("t", ["a", "b"], [("x", 1)])
    assert html.count("text-align:left") == html.count("text-align:right") == 2


def test_a_picture_is_within_the_page():
    html = picture(b"\x89PNG", "depth", 240)
    assert base64.b64encode(b"\x89PNG").decode() in html
    assert 'alt="depth"' in html
    assert "width:240px" in html
