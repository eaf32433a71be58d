"""The list of experiments."""

from __future__ import annotations

import json

import pytest

import linkedbandits as lb
from tests.support.live_service import play

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect


def row_of(page, name):
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def test_an_empty_service_says_how_to_begin(service, open_page):
    page = open_page("about:blank")
    nothing = "id: 0\nevent: experiments\ndata: []\n\n"
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
    names = page.get_by_role("rowheader").get_by_role("link").all_text_contents()
    assert names.index("running") < names.index("decided") < names.index("archived")

    play(running, {"left": 0.0, "right": 1.0, "straight": 0.0}, 12)
    expect(row_of(page, "running").get_by_role("cell").nth(2)).to_have_text("12")
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
    known = {"id": "x", "name": "broken", "arms": 3, "done": False, "created_at": 0.0}
    damaged = json.dumps([known | {"status": "damaged", "plays": None, "leading": None}])
    events = f"id: 1\nevent: experiments\ndata: {damaged}\n\n"
    page.route("**/v1/events", lambda route: route.fulfill(content_type="text/event-stream", body=events))
    page.goto(service.url)
    row = row_of(page, "broken")
    expect(row).to_contain_text("Damaged")
    expect(row.get_by_role("cell").nth(1)).to_have_text("3")
    expect(row.get_by_role("cell").nth(2)).to_have_text("\N{EN DASH}")
    expect(row.get_by_role("cell").nth(3)).to_have_text("\N{EN DASH}")


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
