"""The page of an experiment with whole chains: the order to serve in, and what learning has cost."""

from __future__ import annotations

import pytest

import linkedbandits as lb

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect


@pytest.mark.slow
def test_the_order_and_the_price_of_learning_are_shown(service, client, open_page):
    exp = client.create("chains", ["north", "east"], lb.UniformSampling(samples=2), linkage="single", whole_chains=True)
    page = open_page(service.address_of(exp))
    expect(page.get_by_text("The first answers will show what learning costs.")).to_be_visible()
    for play in exp.ask_many(4):
        exp.tell(play.id, "east" if play.id < 3 else None)
    expect(page.get_by_role("heading", level=2, name="Serve in this order")).to_be_visible()
    expect(page.get_by_text("east, then north")).to_be_visible()
    expect(page.get_by_text("7 attempts in 4 plays, about")).to_be_visible()
    expect(page.get_by_text("1 play found nothing (25.00")).to_be_visible()


@pytest.mark.slow
def test_where_costs_are_known_they_are_shown_with_what_learning_costs(service, client, open_page):
    policy = lb.LinkedElimination(0.05, costs=(0.5, 0.25))
    exp = client.create("costs", ["dear", "cheap"], policy, linkage="single", whole_chains=True)
    for _ in range(8):
        play = exp.ask()
        exp.tell(play.id, play.arms[0])
    page = open_page(service.address_of(exp))
    learning = exp.learning
    expect(page.get_by_text(f"They cost {learning.cost:.3g}, about")).to_be_visible()
    expect(page.get_by_text(f"{learning.cost / 8:.3g} a play instead of")).to_be_visible()
    row = page.get_by_role("row").filter(has_text="cheap")
    expect(row.get_by_text("4", exact=True).first).to_be_visible()  # it has always worked, for a quarter
    expect(row.get_by_text("cost 0.25")).to_be_visible()
    page.get_by_role("radio", name="By estimate").check()
    expect(page.get_by_role("row").nth(1)).to_contain_text("cheap")


@pytest.mark.slow
def test_without_costs_nothing_is_said_of_them(service, client, open_page):
    exp = client.create("chains", ["north", "east"], lb.LinkedElimination(0.05), whole_chains=True)
    exp.tell(exp.ask().id, "east")
    page = open_page(service.address_of(exp))
    expect(page.get_by_text("attempts in 1 play")).to_be_visible()
    expect(page.get_by_text("They cost")).to_be_hidden()
    expect(page.get_by_role("columnheader", name="Per cost")).to_be_hidden()


@pytest.mark.slow
def test_without_whole_chains_there_is_nothing_of_it(service, client, open_page):
    exp = client.create("parts", ["north", "east"], lb.UniformSampling(samples=2))
    page = open_page(service.address_of(exp))
    expect(page.get_by_role("heading", level=2, name="Not begun")).to_be_visible()
    expect(page.get_by_text("Best order so far")).to_be_hidden()


@pytest.mark.slow
def test_it_is_said_what_it_goes_on_from_with_a_link(service, client, open_page):
    exp = client.create("before", ["north", "east"], lb.LinkedElimination(0.1))
    exp.tell(exp.ask().id, "east")
    page = open_page(service.address_of(exp))
    expect(page.get_by_role("heading", level=2, name="Begun")).to_be_visible()
    new = exp.successor(["north", "east", "south"], why="a new provider")
    page.get_by_role("link", name="goes on from this one").click()
    expect(page.get_by_text("(a new provider), in which east led after 1 play; 1 play of it is used")).to_be_visible()
    assert page.url == service.address_of(new)
