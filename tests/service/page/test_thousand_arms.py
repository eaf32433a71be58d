"""A thousand arms: all of them shown, and the page hardly busy."""

from __future__ import annotations

import re
import threading

import pytest

import linkedbandits as lb
from linkedbandits.service.client import Client
from tests.support.live_service import play
from tools.waiting import join

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect

MEANS = {f"bin {number}": 0.002 + 0.03 * (number == 620) for number in range(1000)}

WATCH = """
() => {
  const rows = document.querySelector("[data-part=arms-rows]");
  window.watched = { rows: [...rows.children], changes: 0, longTasks: 0, views: 0 };
  new MutationObserver((all) => { window.watched.changes += all.length; })
    .observe(rows, { subtree: true, childList: true, attributes: true, characterData: true });
  new MutationObserver(() => { window.watched.views += 1; })
    .observe(document.querySelector("[data-part=plays]"), { subtree: true, childList: true, characterData: true });
  new PerformanceObserver((all) => { window.watched.longTasks += all.getEntries().length; })
    .observe({ type: "longtask" });
}
"""
REPORT = """
() => ({
  sameRows: window.watched.rows.every((row) => row.isConnected),
  changes: window.watched.changes,
  longTasks: window.watched.longTasks,
  views: window.watched.views,
  elements: document.querySelectorAll("*").length,
})
"""


@pytest.fixture(scope="module")
def thousand(service):
    with Client(service.url) as client:
        exp = client.create("Depth sensor", list(MEANS), lb.LinkedElimination(delta=1e-12))
        play(exp, MEANS, 300)
    return exp


def processor_and_wall_seconds(devtools):
    metrics = {metric["name"]: metric["value"] for metric in devtools.send("Performance.getMetrics")["metrics"]}
    return metrics["ThreadTime"], metrics["Timestamp"]


@pytest.mark.slow
def test_only_what_changed_is_written(service, thousand, open_page, capsys):
    """Counts changes rather than time; the time is printed beside them."""
    page = open_page(service.address_of(thousand))
    expect(page.get_by_role("img", name=re.compile("^Estimates of 1,000 arms; bin"))).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Evidence against 1,000 arms"))).to_be_visible()
    page.get_by_role("radio", name="By estimate").check()
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable")
    page.evaluate(WATCH)

    enough = threading.Event()

    def keep_playing():
        with Client(service.url) as client:
            seed = 2
            while not enough.is_set():
                play(client.experiment(thousand.id), MEANS, 20, seed)
                seed += 1
                enough.wait(0.1)

    player = threading.Thread(target=keep_playing)
    player.start()
    try:
        before = processor_and_wall_seconds(devtools)
        page.wait_for_function("() => window.watched.views >= 6")
        after = processor_and_wall_seconds(devtools)
    finally:
        enough.set()
        join(player)

    report = page.evaluate(REPORT)
    with capsys.disabled():
        share = (after[0] - before[0]) / (after[1] - before[1])
        print(f"\n1,000 arms: main thread busy {share:.1%} of the time, {report['longTasks']} long tasks, {report}")
    assert report["sameRows"]
    assert report["elements"] < 1_500
    # A row has at most a dozen things to write; all thousand arms together have changed in every view.
    assert report["changes"] < 25 * 12 * (report["views"] + 1)


def test_the_table_goes_through_all_arms_page_by_page(service, thousand, client, open_page):
    page = open_page(service.address_of(thousand))
    pages = page.get_by_role("navigation", name="Pages of the arms table")
    labels = page.locator("[data-part=arms-rows] .label").filter(visible=True)
    expect(pages).to_contain_text("1 to 25 of 1,000")
    expect(labels).to_have_count(25)
    previous, following = pages.get_by_role("button", name="Previous"), pages.get_by_role("button", name="Next")
    expect(previous).to_have_attribute("aria-disabled", "true")
    previous.click(force=True)
    expect(pages).to_contain_text("1 to 25 of 1,000")
    following.click()
    expect(pages).to_contain_text("26 to 50 of 1,000")
    expect(labels.first).to_have_text("bin 25")
    expect(following).to_be_focused()
    page.get_by_role("radio", name="By estimate").check()
    expect(pages).to_contain_text("1 to 25 of 1,000")
    estimates = client.experiment(thousand.id).estimates()
    by_estimate = sorted(estimates, key=lambda estimate: -1 if estimate.mean is None else estimate.mean, reverse=True)
    expect(labels).to_have_text([estimate.arm for estimate in by_estimate[:25]])


def test_the_overview_says_which_arm_is_under_the_pointer(service, thousand, open_page):
    page = open_page(service.address_of(thousand))
    area = page.locator("[data-part=estimates-chart] .u-over")
    box = area.bounding_box()
    area.hover(position={"x": box["width"] * 620.5 / 1000, "y": box["height"] / 2})
    readout = page.locator("[data-part=readout]")
    expect(readout).to_have_text(re.compile(r"^bin 6(19|20|21): .* samples, evidence against .*, in$"))
