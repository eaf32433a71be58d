"""The page of an experiment that began with a log says what was read of it."""

from __future__ import annotations

import pytest

import linkedbandits as lb

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect


@pytest.mark.slow
def test_what_was_read_of_a_log_is_said(service, client, open_page):
    log = lb.Attempts.from_plays([(("north", "east"), "east"), (("east", "north"), "east")] * 4)
    exp = client.create("warm", ["north", "east"], lb.UniformSampling(samples=6), linkage="single", log=log)
    page = open_page(service.address_of(exp))
    note = page.get_by_text("Began with a log of 8 requests: 8 of its 8 first tries were used.")
    expect(note).to_be_visible()
    expect(page.get_by_role("heading", level=2, name="Begun")).to_be_visible()
    exp.tell_many([(play.id, None) for play in exp.ask_many(4)])
    expect(page.get_by_role("heading", level=2, name="after 4")).to_be_visible()
    expect(note).to_be_visible()


@pytest.mark.slow
def test_a_verdict_from_a_log_alone_is_shown(service, client, open_page):
    log = lb.Attempts.from_plays([(("north", "east"), "east")] * 100)
    exp = client.create(
        "by its log",
        ["north", "east"],
        lb.LinkedElimination(0.05),
        linkage="single",
        log=log,
        log_attempts="all",
        log_independent=True,
    )
    page = open_page(service.address_of(exp))
    expect(page.get_by_role("heading", level=2, name="Verdict after 0 plays")).to_be_visible()
    expect(page).to_have_title("✓ east is best · by its log")
    expect(page.get_by_text("It has one order, which cannot show whether options are independent")).to_be_visible()
