"""The page of a report: whole by itself, the same figures as the report, and names that are nothing but names."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import linkedbandits as lb
from linkedbandits.attempts import Attempts, SetAside
from linkedbandits.attempts.page import Made, page_of
from linkedbandits.version import __version__
from tests.support.logs import HOSTILE, log_of

MADE = Made("attempts.csv", "linkedbandits verdict attempts.csv", 0.01, "2024-05-01 12:00 UTC")
TAGS = {
    *(
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "main",
        "header",
        "section",
        "article",
        "div",
        "p",
        "span",
        "b",
    ),
    *("h1", "h2", "h3", "ul", "ol", "li", "dl", "dt", "dd", "figure", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "svg", "text", "line", "rect", "circle", "polyline"),
}


def tree_of(page: str) -> ElementTree.Element:
    """As XML, which it is as well."""
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def names_of(page: str) -> set[str]:
    return {each.tag.rpartition("}")[2] for each in tree_of(page).iter()}


def words_of(page: str) -> str:
    tree = tree_of(page)
    tree.find("head").clear()
    return " ".join(" ".join(tree.itertext()).replace("\u00a0", " ").split())


class Seen(HTMLParser):
    """What a browser would make of it: elements and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


@pytest.fixture
def decided():
    return log_of([0.9, 0.5, 0.3], 900).verdict()


def test_the_sentence_is_the_headline(decided):
    tree = tree_of(page_of(decided, MADE))
    assert [each.text for each in tree.iter("h1")] == [decided.sentence]
    assert tree.find("head/title").text == "attempts.csv: decided"
    assert next(each for each in tree.iter("span")).attrib["class"] == "state decided"


def test_everything_is_in_the_page_and_nothing_comes_from_elsewhere(decided):
    page = page_of(decided, MADE)
    seen = Seen(page).found
    assert {name for name, _ in seen} <= TAGS
    assert not [name for name, attributes in seen if {"src", "href", "style", "srcset", "action"} & attributes.keys()]
    assert "url(" not in page
    assert "@import" not in page
    assert re.findall(r"https?://[^\"]*", page) == ["http://www.w3.org/2000/svg"] * page.count("<svg")


def test_it_has_both_themes_a_narrow_width_and_paper(decided):
    page = page_of(decided, MADE)
    for wanted in ("prefers-color-scheme: dark", "max-width: 30rem", "@media print", "width=device-width"):
        assert wanted in page


def test_every_colour_has_its_counterpart_in_the_dark(decided):
    style = tree_of(page_of(decided, MADE)).find("head/style").text
    light, dark = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)[:2]
    colours = [set(re.findall(r"(--[\w-]+):", part)) for part in (light, dark)]
    assert colours[0] == colours[1]
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= colours[0]


def test_the_figures_of_every_option_are_there(decided):
    rows = [[cell.text for cell in row] for row in tree_of(page_of(decided, MADE)).iter("tr")]
    for each in decided.estimates:
        assert [
            each.option,
            f"{each.mean:.3f}",
            f"{each.low:.3f} to {each.high:.3f}",
            f"{each.samples:,}",
            f"{each.attempts:,}",
            "best" if each.option == "a" else "out",
        ] in rows


def test_how_it_was_made(decided):
    said = words_of(page_of(decided, MADE))
    for wanted in (MADE.command, f"linkedbandits {__version__}", "delta 0.05", "alpha of alarms 0.01", MADE.at):
        assert wanted in said
    assert "made 2024" not in words_of(page_of(decided, replace(MADE, at=None)))


def test_hostile_names_are_shown_and_are_nothing_but_names():
    log = log_of([0.9, 0.5, 0.4, 0.3], 1200, labels=HOSTILE, since=800, then=[0.5, 0.5, 0.4, 0.3])
    torn = SetAside("unknown outcome '</li><script>'", "why & <how>", 3, (1, 2))
    log = replace(log, set_aside=(torn,), columns=(("request", "<b>req</b>"),))
    report = log.verdict()
    assert report.alarms
    page = page_of(report, Made("</title><script>.csv", "linkedbandits '<b>'", 0.01))
    assert names_of(page) <= TAGS
    assert not [name for name, attributes in Seen(page).found if name == "script" or "onload" in attributes]
    said = words_of(page)
    for wanted in (HOSTILE[0], " ".join(HOSTILE[1].split()), HOSTILE[2], torn.what, "<b>req</b>", "why & <how>"):
        assert wanted in said
    assert not {"\x00", "\x1b", "\u202e"} & set(page)


def test_an_alarm_has_its_picture_and_its_remedy():
    report = log_of([0.9, 0.5], 2000, since=1200, then=[0.5, 0.5]).verdict()
    page = page_of(report, MADE)
    articles = list(tree_of(page).iter("article"))
    assert len(articles) == len(report.alarms) > 0
    assert all("{http://www.w3.org/2000/svg}svg" in {each.tag for each in article.iter()} for article in articles)
    said = words_of(page)
    assert "decided, but with an alarm" in said
    for alarm in report.alarms:
        assert alarm.sentence in said
    assert report.alarms[0].remedy in said


def test_what_does_not_speak_against_the_verdict_is_set_apart():
    page = page_of(log_of([0.9, 0.7, 0.5], 3000, difficulty=0.3).verdict(), MADE)
    assert "What follows does not touch a verdict from first attempts" in words_of(page)
    assert {each.attrib["class"] for each in tree_of(page).iter("article")} == {"alarm no-matter"}
    assert tree_of(page).find("head/title").text == "attempts.csv: decided"


def test_not_yet_says_what_is_missing():
    report = log_of([0.5, 0.55], 60).verdict()
    said = words_of(page_of(report, MADE))
    assert "not yet" in said
    for each in report.missing:
        assert f"{each.option}: about {each.samples:,} more first attempts" in said


def test_where_there_is_no_evidence_the_page_says_why(decided):
    assert "The policy keeps no evidence." in words_of(
        page_of(decided.log.verdict(lb.UniformSampling(samples=9)), MADE)
    )
    nothing = Attempts.from_plays([(("a", "b"), "b")] * 40).verdict()
    assert "Too little could be read for any evidence." in words_of(page_of(nothing, MADE))


@pytest.mark.parametrize("which", ["first", "duels", "all"])
@pytest.mark.parametrize(
    "log",
    [
        log_of([0.9, 0.5], 300),
        Attempts.from_plays([(("a", "b"), "b")] * 400),
        Attempts.from_plays([(("a", "b"), "a")]),
        Attempts.from_plays([(("a", "b"), None)] * 30),
        log_of([0.5] * 26, 100),
    ],
    ids=["plain", "one order", "one request", "all failed", "many options"],
)
def test_every_shape_of_log_makes_a_page(log, which):
    page = page_of(log.verdict(attempts=which), MADE)
    assert {"h1", "svg"} <= names_of(page)
    assert "nan" not in words_of(page).split()


def test_an_answer_without_a_guarantee_is_not_called_a_verdict():
    page = words_of(page_of(log_of([0.9, 0.5, 0.3], 900).verdict(lb.UniformSampling(samples=50)), MADE))
    assert "the answer of the policy, without a guarantee" in page
    assert "A guarantee: the policy stopped without one" in page
    assert "The answer is from the first attempt" in page
    assert "decided" not in page


def test_the_words_and_the_picture_of_the_order_give_one_share():
    report = log_of([0.8, 0.7, 0.6], 2000, difficulty=0.3).verdict()
    page = page_of(report, MADE).replace("\u00a0", " ")
    shares = re.findall(r"([\d.]+) % (?:of requests )?succeed", page)
    assert shares == [f"{100 * report.order.success:.1f}"] * 4


def test_where_options_fail_together_a_table_says_by_how_much_and_no_notes():
    report = log_of([0.9, 0.7, 0.5], 3000, difficulty=0.3).verdict()
    page = words_of(page_of(report, MADE))
    assert len(report.offsets) == 3
    assert all(f"{each.difference:+.3f} ± {each.standard_error:.3f}" in page for each in report.offsets)
    assert page.count("in all less first") == 1
    assert not any(str(each) in page for each in report.offsets)
