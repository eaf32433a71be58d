"""One document, two renderings."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from linkedbandits.study.reproduction.document import Grid, Heading, Items, Paragraph, Picture, to_html, to_markdown


@pytest.fixture
def blocks(tmp_path):
    svg = tmp_path / "figure.svg"
    svg.write_text('<svg xmlns="http://www.w3.org/2000/svg"></svg>', encoding="utf-8")
    return [
        Heading(1, "A < B"),
        Paragraph("plays & plays"),
        Items(["one", "two"]),
        Grid(["claim", "verdict", "n"], [["a|b", "holds", "3"], ["c", "", "10"]], strong=1, numeric=2),
        Picture("figure.png", svg, 'a "picture"'),
    ]


class Outline(HTMLParser):
    """Which elements a page has, in order, with their attributes; complains of those left open."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_markdown(blocks):
    assert to_markdown(blocks) == (
        "# A < B\n\nplays & plays\n\n- one\n- two\n\n"
        "| claim | verdict | n |\n|---|---|--:|\n| a\\|b | **holds** | **3** |\n| c |  | **10** |\n\n"
        '![a "picture"](figure.png)\n'
    )


def test_html_is_well_formed_and_escaped(blocks):
    page = to_html(blocks)
    outline = Outline(page)
    assert "<title>A &lt; B</title>" in page
    assert "<p>plays &amp; plays</p>" in page
    assert '<td class="number"><strong>10</strong></td>' in page
    assert [tag for tag, _ in outline.elements].count("tr") == 3
    (image,) = [attributes for tag, attributes in outline.elements if tag == "img"]
    assert image["alt"] == 'a "picture"'
    assert image["src"].startswith("data:image/svg+xml;base64,")


def test_html_needs_nothing_from_elsewhere(blocks):
    page = to_html(blocks)
    for tag, attributes in Outline(page).elements:
        assert tag not in ("link", "script", "iframe")
        assert "href" not in attributes
        assert attributes.get("src", "data:").startswith("data:")
    assert "http" not in page
    assert "url(" not in page
    assert "prefers-color-scheme: dark" in page
