"""The list of experiments."""

from __future__ import annotations

import json
import re

import pytest

import linkedbandits as lb
from linkedbandits.service.client import Client
from tests.support.live_service import play

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect


def row_of(page, name):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def a_page(rows):
    order = [row["id"] for row in rows]
    return {"total": len(rows), "matching": len(rows), "pages": 1, "page": 1, "order": order, "experiments": rows}


def names(page):
    return page.get_by_role("rowheader").get_by_role("link")


def test_an_empty_service_says_how_to_begin(service, open_page):
    page = open_page("about:blank")
    nothing = f"id: 0\nevent: list\ndata: {json.dumps(a_page([]))}\n\n"
    page.route("**/v1/events", lambda route: route.fulfill(content_type="text/event-stream", body=nothing))
    page.goto(service.url)
    expect(page.get_by_role("heading", name="No experiments yet")).to_be_visible()
    expect(page.get_by_role("table")).to_be_hidden()


def test_the_list_shows_where_each_experiment_stands_and_moves(service, client, open_page):
    decided = client.create("decided", ["a", "b"], lb.LinkedElimination(delta=0.05))
    assert play(decided, {"a": 0.1, "b": 0.9}, 2_000)
    archived = client.create("archived", ["a", "b"], lb.LinkedElimination(delta=0.05))
    archived.archive()
    running = client.create("running", ["left", "right", "straight"], lb.LinkedElimination(delta=1e-9))

    page = open_page(service.url)
    expect(page.get_by_role("status")).to_have_text("Live")
    expect(row_of(page, "decided")).to_contain_text("Decided")
    expect(row_of(page, "decided")).to_contain_text("b is best")
    expect(row_of(page, "archived")).to_contain_text("Archived")
    expect(row_of(page, "running").get_by_role("cell").nth(1)).to_have_text("3")
    expect(row_of(page, "running").get_by_role("cell").nth(2)).to_have_text("0")
    shown = names(page).all_text_contents()
    assert shown.index("running") < shown.index("decided") < shown.index("archived")

    play(running, {"left": 0.0, "right": 1.0, "straight": 0.0}, 3)
    expect(row_of(page, "running").get_by_role("cell").nth(2)).to_have_text("3")
    expect(row_of(page, "running")).to_contain_text("too early to say")
    for seed in range(9):
        play(running, {"left": 0.2, "right": 0.7, "straight": 0.2}, 11, seed)
    expect(row_of(page, "running").get_by_role("cell").nth(2)).to_have_text("102")
    expect(row_of(page, "running")).to_contain_text("right leads")
    running.pause()
    expect(row_of(page, "running")).to_contain_text("Paused")

    page.get_by_role("link", name="running", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("running")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.get_by_role("link", name="All experiments").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Experiments")


def test_a_damaged_experiment_is_shown_without_figures(service, open_page):
    page = open_page("about:blank")
    known = {"id": "x", "name": "broken", "arms": None, "done": False, "created_at": 0.0, "tags": []}
    damaged = json.dumps(
        a_page([known | {"status": "damaged", "plays": None, "leading": None, "detail": "restore it"}])
    )
    events = f"id: 1\nevent: list\ndata: {damaged}\n\n"
    page.route("**/v1/events", lambda route: route.fulfill(content_type="text/event-stream", body=events))
    page.goto(service.url)
    row = row_of(page, "broken")
    expect(row).to_contain_text("Damaged")
    expect(row.get_by_title("restore it")).to_be_visible()
    for cell in (1, 2, 3):
        expect(row.get_by_role("cell").nth(cell)).to_have_text("\N{EN DASH}")


def test_an_experiment_that_is_not_there_is_said_to_be_missing(service, open_page):
    page = open_page(f"{service.url}/#/experiments/nosuchthing")
    expect(page.get_by_role("heading", name="Nothing here")).to_be_visible()
    expect(page.locator("main")).to_contain_text("nosuchthing")


def test_the_list_and_the_page_say_that_an_arm_has_most_successes_per_cost(client, service, open_page):
    experiment = client.create("worth it", ["cheap", "dear"], lb.LinkedElimination(delta=0.05, costs=[1, 9]))
    assert play(experiment, {"cheap": 0.5, "dear": 0.9}, 2_000)
    page = open_page(service.url)
    expect(row_of(page, "worth it")).to_contain_text("cheap has most successes per cost")
    page.get_by_role("link", name="worth it", exact=True).click()
    expect(page.get_by_text("Which of 2 arms has most successes per cost?")).to_be_visible()
    expect(page.get_by_text("cheap has most successes per cost", exact=True)).to_be_visible()


def test_the_list_is_searched_filtered_sorted_and_paged(own_service, open_page):
    with Client(own_service.url) as client:
        for number in range(52):
            client.create(
                f"gateway-{number:02}", ["a", "b"], lb.LinkedElimination(delta=0.05), tags=[["even", "odd"][number % 2]]
            )
    page = open_page(own_service.url)
    pages = page.get_by_role("navigation", name="Pages of the list")
    expect(pages).to_contain_text("1 to 50 of 52")
    expect(names(page)).to_have_count(50)
    pages.get_by_role("button", name="Next").click()
    expect(names(page)).to_have_text(["gateway-01", "gateway-00"])
    expect(pages.get_by_role("button", name="Next")).to_be_focused()
    page.locator("select[name=sort]").select_option("name")
    expect(names(page).first).to_have_text("gateway-00")
    search = page.get_by_role("searchbox", name="Search")
    search.fill("Gateway-1")
    expect(names(page)).to_have_count(10)
    expect(page.get_by_text("10 of 52 experiments")).to_be_visible()
    expect(search).to_be_focused()
    row_of(page, "gateway-11").get_by_role("button", name="Only those with the tag odd").click()
    expect(names(page)).to_have_text([f"gateway-1{number}" for number in (1, 3, 5, 7, 9)])
    page.locator("select[name=status]").select_option("archived")
    expect(page.get_by_text("No experiment matches.")).to_be_visible()
    page.locator("select[name=status]").select_option("open")
    row_of(page, "gateway-13").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("gateway-13")
    page.go_back()  # what was looked for is in the address
    expect(names(page)).to_have_count(5)
    page.get_by_role("button", name="Any tag").click()
    expect(names(page)).to_have_count(10)
    search.fill("")
    expect(pages).to_contain_text("1 to 50 of 52")


def test_two_that_are_picked_are_compared(service, client, open_page):
    means = {"a": 0.2, "b": 0.8}
    first = client.create("one half", list(means), lb.LinkedElimination(delta=0.05), tags=["x1"])
    second = client.create("other half", [*means, "c"], lb.LinkedElimination(delta=1e-9), tags=["x1"])
    play(first, means, 500)
    play(second, means | {"c": 0.1}, 60)
    page = open_page(f"{service.url}/#/?tag=x1")
    for name in ("one half", "other half"):
        page.get_by_role("checkbox", name=f"Compare {name}").check()
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare two experiments")
    facts = page.get_by_role("table", name="What the two experiments are")
    expect(facts.get_by_role("row", name="Answer")).to_contain_text("b is best")
    expect(facts.get_by_role("row", name="Plays")).to_contain_text("60")
    expect(facts.get_by_role("link")).to_have_text(["one half", "other half"])
    arms = page.get_by_role("table", name="Estimates of every arm")
    expect(arms.get_by_role("rowheader")).to_have_text(["a", "b", "c"])
    expect(arms.get_by_role("row", name=re.compile("^c "))).to_contain_text("\N{EN DASH}")
    expect(page.get_by_role("img", name="Plays since each was created: one half")).to_be_visible()
