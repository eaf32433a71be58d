"""The page of an experiment whose chains tell what attempts took and cost."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.intervals import RunningMean
from linkedbandits.option_estimates import FirstAttempts

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect

TITLE = "Cost and time"


def tried(times: int, seconds: float, cost: float | None = None, most: float | None = 2.0) -> FirstAttempts:
    kept = FirstAttempts(RunningMean(most), RunningMean())
    for number in range(times):
        kept.add(number % 4 > 0, seconds, cost)
    return kept


def region(page):
    return page.get_by_role("region", name=TITLE)


def texts(page, arm):
    return region(page).get_by_role("row").filter(has_text=arm).get_by_role("cell").all_inner_texts()


def test_nothing_told_is_nothing_shown_and_what_is_told_comes_by_itself(service, client, open_page):
    exp = client.create("quick", ["north", "east"], lb.LinkedDuels(0.05), linkage="free", whole_chains=True)
    page = open_page(service.address_of(exp))
    expect(page.get_by_role("heading", level=2, name="Not begun")).to_be_visible()
    expect(region(page)).to_be_hidden()
    exp.report_expenses("web1", {"north": tried(40, 0.5), "east": tried(8, 0.25)})
    expect(region(page)).to_be_visible()
    expect(region(page).get_by_text("Measured by 1 process of chains, in the attempts that calls")).to_be_visible()
    expect(region(page).get_by_text("proved at all times together.")).to_be_visible()
    expect(region(page).get_by_role("columnheader")).to_have_count(4)
    north = exp.option_estimates()[0]
    assert texts(page, "north")[0] == "40"
    assert "75.0" in texts(page, "north")[1]
    assert texts(page, "north")[2] == f"0.5\n{north.seconds.low:.3g} to {north.seconds.high:.3g}"
    exp.report_expenses("web2", {"north": tried(2, 0.5)})
    expect(region(page).get_by_text("Measured by 2 processes")).to_be_visible()
    expect(region(page).get_by_role("row").filter(has_text="north").get_by_role("cell").first).to_have_text("42")


def test_measured_costs_come_with_the_order_and_say_that_limits_are_asymptotic(service, client, open_page):
    exp = client.create("dear", ["dear", "cheap", "rare"], lb.LinkedDuels(0.05), linkage="free", whole_chains=True)
    costs = {"dear": tried(200, 0.5, 3.0), "cheap": tried(200, 0.5, 1.0, most=None), "rare": tried(10, 0.5, 2.0)}
    exp.report_expenses("web1", costs)
    page = open_page(service.address_of(exp))
    expect(region(page).get_by_text("By success per cost: cheap, then rare, then dear")).to_be_visible()
    expect(region(page).get_by_text("they are asymptotic: they hold for those who begin")).to_be_visible()
    expect(region(page).get_by_role("columnheader", name="Per cost")).to_be_visible()
    assert texts(page, "dear")[3] == "3\n3 to 3, asymptotic"
    assert texts(page, "dear")[2].startswith("0.5\n")
    assert "asymptotic" not in texts(page, "dear")[2]
    assert "asymptotic" in texts(page, "cheap")[2]
    assert texts(page, "rare")[3] == "2\ntoo few for limits"
    assert texts(page, "cheap")[4].startswith("0.75\n")


def test_known_costs_stay_in_the_table_of_arms(service, client, open_page):
    policy = lb.LinkedElimination(0.05, costs=(0.5, 0.25))
    exp = client.create("known", ["dear", "cheap"], policy, linkage="single", whole_chains=True)
    exp.report_expenses("web1", {"dear": tried(20, 0.5), "cheap": tried(20, 0.5)})
    page = open_page(service.address_of(exp))
    expect(region(page).get_by_role("row")).to_have_count(3)
    expect(region(page).get_by_role("columnheader", name="Cost")).to_be_hidden()
    expect(region(page).get_by_text("By success per cost:")).to_be_hidden()
    expect(page.get_by_role("columnheader", name="Per cost").first).to_be_visible()


def test_a_phone_has_every_figure_with_its_name_and_nothing_to_scroll_sideways(service, client, open_page):
    exp = client.create("phone", ["north", "east"], lb.LinkedDuels(0.05), linkage="free", whole_chains=True)
    exp.report_expenses("web1", {"north": tried(150, 0.5, 3.0), "east": tried(150, 0.25, 1.0)})
    page = open_page(service.address_of(exp), width=360, height=740)
    expect(region(page).get_by_role("row")).to_have_count(3)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    names = region(page).get_by_role("row").nth(1).get_by_role("cell")
    before = "(cells) => cells.map((cell) => getComputedStyle(cell, '::before').content)"
    assert names.evaluate_all(before)[1:] == ['"works "', '"takes "', '"costs "', '"per cost "']


def test_of_very_many_arms_the_best_are_shown(service, client, open_page):
    labels = [f"arm {number}" for number in range(60)]
    exp = client.create("many", labels, lb.LinkedElimination(0.05))
    exp.report_expenses("web1", {label: tried(20, 0.5, 1.0 + number) for number, label in enumerate(labels)})
    page = open_page(service.address_of(exp))
    expect(region(page).get_by_text("The best 25 of 60 arms are shown.")).to_be_visible()
    expect(region(page).get_by_role("row")).to_have_count(26)
    expect(region(page).get_by_text("arm 0, then arm 1, then")).to_contain_text("then arm 9, and 50 more")


LIMITS = """
async (estimated) => (await import("/static/expenses.js")).limitsOf(estimated, (value) => `<${value}>`)
"""


def test_limits_in_words(service, open_page):
    page = open_page(service.url)
    for limits, said in [
        ({"low": 1, "high": 2, "proved": True}, "<1> to <2>"),
        ({"low": 1, "high": 2, "proved": False}, "<1> to <2>, asymptotic"),
        ({"low": 1, "high": None, "proved": True}, "<1> or more"),
        ({"low": None, "high": None, "proved": False}, "too few for limits"),
    ]:
        assert page.evaluate(LIMITS, limits) == said
