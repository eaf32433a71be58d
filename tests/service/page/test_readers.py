"""For every reader: with a keyboard, a screen reader, a phone, in the dark, without motion."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.option_estimates import FirstAttempts
from tests.support.live_service import play

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="needs axe: pip install axe-playwright-python"
)
expect = sync_api.expect

LONG = "a label that goes on: /api/v2/providers/eu-west-1/fallback-without-a-break-" + "x" * 60
MEANS = {"north": 0.3, LONG: 0.8, "עברית": 0.1}
HARD_TO_READ = (Path(__file__).parent / "contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def experiments(service):
    """One that runs, one that is decided, one paused: all that a page can look like."""
    from linkedbandits.service.client import Client

    with Client(service.url) as client:
        running = client.create("Running " + LONG, list(MEANS), lb.LinkedElimination(delta=1e-12))
        play(running, MEANS, 40)
        tried = FirstAttempts()
        for number in range(120):
            tried.add(number % 2 == 0, 0.001 * number, 1234.5 * number)
        running.report_expenses("web1", dict.fromkeys(MEANS, tried))
        decided = client.create("Decided", ["a", "b", "c"], lb.LinkedElimination(delta=0.01))
        assert play(decided, {"a": 0.1, "b": 0.9, "c": 0.2}, 5_000)
        paused = client.create("Paused", ["a", "b"], lb.LinkedElimination(delta=0.01))
        paused.pause()
    return {"running": running, "decided": decided, "paused": paused}


def addresses(service, experiments):
    first, second, *_ = experiments.values()
    others = [f"{service.url}/#/new", f"{service.url}/#/compare/{first.id}/{second.id}"]
    return [service.url, *(service.address_of(experiment) for experiment in experiments.values()), *others]


def wait_until_drawn(page):
    expect(page.locator("#connection")).to_have_text(re.compile("Live|Connecting" if "#/new" in page.url else "Live"))
    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")


def go(page, address):
    page.goto("about:blank")
    page.goto(address)
    wait_until_drawn(page)


SOME_OF_EVERY_SECTION = """
() => document.querySelectorAll("main section").forEach((section) => {
  for (const one of [...section.children].slice(4)) one.remove();
})
"""


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "width"), [("light", 1200), ("dark", 360)])
def test_axe_finds_nothing_and_all_text_can_be_read(service, experiments, open_page, scheme, width):
    page = open_page(service.url, color_scheme=scheme, width=width)
    for address in addresses(service, experiments):
        go(page, address)
        if "#/experiments" in address:
            page.get_by_text("What am I looking at?").click()
        assert found_by_axe(page) == []
        assert page.evaluate(HARD_TO_READ) == []
    page.goto(f"{service.url}/docs")
    if scheme == "dark":  # all of it once is enough; in other colours some of every kind
        page.evaluate(SOME_OF_EVERY_SECTION)
    assert found_by_axe(page) == []


@pytest.mark.slow
def test_axe_finds_nothing_where_a_token_is_asked_for(own_service, open_page):
    own_service.make_token("admin")
    page = open_page(own_service.url, color_scheme="dark", width=360)
    page.get_by_role("region", name="A token is needed").wait_for()
    assert found_by_axe(page) == []


def found_by_axe(page):
    """What axe calls a violation, and where."""
    found = axe.Axe().run(page).response["violations"]
    return [(rule["id"], node["html"], node["failureSummary"]) for rule in found for node in rule["nodes"]]


def background(page):
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(int(part) for part in re.findall(r"\d+", colour))


def test_the_theme_follows_the_system_until_the_reader_chooses(service, open_page):
    page = open_page(service.url, color_scheme="light")
    toggle = page.get_by_role("button", name="Dark theme")
    expect(toggle).to_have_attribute("aria-pressed", "false")
    light = background(page)
    page.emulate_media(color_scheme="dark")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    dark = background(page)
    assert dark < 120 < 600 < light
    toggle.click()
    assert background(page) == light
    page.reload()
    assert background(page) == light


def test_charts_are_drawn_again_when_the_theme_changes(service, experiments, open_page):
    page = open_page(service.address_of(experiments["decided"]), color_scheme="light")
    wait_until_drawn(page)
    assert page.evaluate(CHART_CHANGES_WITH_THE_THEME)


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 768])
def test_nothing_needs_sideways_scrolling(service, experiments, open_page, width):
    page = open_page(service.url, width=width, height=740)
    for address in addresses(service, experiments):
        go(page, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT_OFF) == []


CHART_CHANGES_WITH_THE_THEME = """
async () => {
  const picture = () => document.querySelector("[data-part=plays-chart] canvas").toDataURL();
  const before = picture();
  document.getElementById("theme").click();
  await new Promise(requestAnimationFrame); // too soon for a view that would draw it anyway
  return picture() !== before;
}
"""

CUT_OFF = """
() => [...document.querySelectorAll("#page :not(thead *)")]
  .filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > innerWidth + 1)
  .map((element) => element.outerHTML.slice(0, 80))
"""


FOCUS = """
() => {
  const element = document.activeElement;
  const shown = element.matches(".segmented input") ? element.nextElementSibling : element;
  const name = element.getAttribute("aria-label") ?? (element.labels?.[0] ?? element).textContent.trim();
  return { name, outline: parseFloat(getComputedStyle(shown).outlineWidth) };
}
"""


def test_everything_can_be_reached_with_the_keyboard_and_seen_there(service, experiments, open_page):
    page = open_page(service.address_of(experiments["running"]))
    wait_until_drawn(page)
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if reached and focus["name"] == reached[0]:
            break
        assert focus["outline"] >= 2, f"the focus on {focus['name']!r} cannot be seen"
        reached.append(focus["name"])
    wanted = ["Skip to the content", "linkedbandits", "Dark theme", "All experiments", "What am I looking at?"]
    wanted += ["Over time", "In order", "Still in only", "Pause", "Archive", "Export JSONL", "Export Parquet"]
    wanted += ["Tags, with commas between them", "Save tags", "Python", "Code", "Copy"]
    assert [name for name in reached if name in wanted] == wanted


def test_a_keyboard_goes_from_the_list_to_the_arms_by_estimate(service, experiments, open_page):
    page = open_page(service.url)
    wait_until_drawn(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the skip link
    assert page.evaluate("document.activeElement.id") == "main"
    link = page.get_by_role("link", name="Decided", exact=True)
    for _ in range(40):
        page.keyboard.press("Tab")
        if link.evaluate("(link) => link === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Decided")).to_be_focused()
    labels = page.locator("[data-part=arms-rows] .label")
    expect(labels).to_have_text(["a", "b", "c"])
    page.get_by_role("radio", name="In order").focus()
    page.keyboard.press("ArrowRight")
    expect(labels).to_have_text(["b", "c", "a"])
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(labels.filter(visible=True)).to_have_text(["b"])


def test_a_screen_reader_finds_its_way(service, experiments, open_page):
    page = open_page(service.address_of(experiments["decided"]))
    wait_until_drawn(page)
    expect(page.get_by_role("banner")).to_have_count(1)
    expect(page.get_by_role("main")).to_have_count(1)
    expect(page.get_by_role("navigation", name="Breadcrumb")).to_be_visible()
    expect(page.locator("#announcements")).to_have_attribute("aria-live", "polite")
    table = page.get_by_role("table", name=re.compile(r"^Arms 1 to 3 of 3"))
    columns = ["Arm", "Samples", "Estimate", "95\u00a0% interval", "Evidence against", "State"]
    for header, column in zip(table.get_by_role("columnheader").all(), columns, strict=True):
        expect(header).to_have_accessible_name(re.compile(f"^{column}"))
    expect(table.get_by_role("rowheader")).to_have_count(3)
    expect(table.get_by_role("rowheader").nth(1)).to_have_accessible_name("2 b best")
    expect(page.get_by_role("img", name=re.compile("^Plays over time: "))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("plays so far"))).to_be_visible()
    sections = ["Plays so far", "Plays over time", "Estimates and evidence over time", "Arms 1 of 3 still in", "Setup"]
    for section in [*sections, "Play it from your code"]:
        expect(page.get_by_role("region", name=section)).to_be_visible()
    headings = page.get_by_role("main").get_by_role("heading")
    expect(headings).to_have_count(8)
    expect(page.get_by_role("main").get_by_role("heading", level=2)).to_have_count(7)
    nameless = page.get_by_role("button").filter(has_not_text=re.compile(r"\w"))
    expect(nameless).to_have_count(0)


def test_a_phone_keeps_the_table_a_table(service, experiments, open_page):
    page = open_page(service.address_of(experiments["decided"]), width=360, height=740)
    wait_until_drawn(page)
    expect(page.get_by_role("table").get_by_role("row")).to_have_count(4)
    expect(page.get_by_role("table").get_by_role("cell")).to_have_count(15)


def test_nothing_is_animated(service, experiments, open_page):
    """For readers whom motion makes ill, and because twice a second it would keep the page busy all the time."""
    page = open_page(service.address_of(experiments["running"]))
    wait_until_drawn(page)
    styles = "[...document.querySelectorAll('*')].map((element) => getComputedStyle(element))"
    moving = f"{styles}.filter((s) => parseFloat(s.transitionDuration) > 0 || s.animationName !== 'none').length"
    assert page.evaluate(moving) == 0
