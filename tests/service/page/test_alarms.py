"""The block of alarms on an experiment's page: only where there is something to say, and said to all readers."""

from __future__ import annotations

import pytest

import linkedbandits as lb

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect

STRANGE = "<img src=x onerror=alert(1)>"


def play(exp, plays, works):
    for _ in range(plays // 100):
        exp.tell_many([(one.id, one.arms[0] if works else None) for one in exp.ask_many(100)])


@pytest.mark.slow
def test_an_alarm_is_shown_and_announced_and_before_it_there_is_nothing(service, client, open_page):
    exp = client.create("drifting", [STRANGE, "east"], lb.UniformSampling(samples=5000), linkage="single")
    page = open_page(service.address_of(exp))
    block = page.get_by_role("region", name="alarm")
    expect(page.get_by_role("heading", level=1)).to_have_text("drifting")
    play(exp, 500, works=True)
    expect(page).to_have_title("500 plays · drifting")
    expect(block).to_have_count(0)
    expect(page.locator("#announcements")).to_be_empty()

    play(exp, 500, works=False)
    expect(block).to_be_visible()
    first = block.get_by_role("listitem").first
    expect(first).to_contain_text(f"Since request 500 '{STRANGE}' works less often: 0.00 instead of 1.00.")
    expect(first).to_contain_text("Drift, since request 500")
    expect(first).to_contain_text("Noticed at request 5")
    expect(first).to_contain_text("where 3,200 is enough for an alarm.")
    picture = first.get_by_role("img")
    expect(picture).to_have_accessible_name(
        f"How often {STRANGE} works as the first tried, over time. Since request 500 '{STRANGE}' works less often: "
        "0.00 instead of 1.00."
    )
    expect(picture.locator("text.threshold")).to_have_text("since request 500")
    assert picture.bounding_box()["width"] > 300
    expect(first).to_contain_text("Use the part of the log behind the request at which it was noticed")
    expect(page.locator("#announcements")).to_contain_text(f"Alarm: Since request 500 '{STRANGE}' works less often")
    assert page.locator("img[src=x]").count() == 0

    page.reload()
    expect(block).to_be_visible()
