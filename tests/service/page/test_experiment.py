"""The page of one experiment: what it shows, and that it moves."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.linkage import LINKAGES
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.store import open_store
from linkedbandits.version import __version__
from tests.support.live_service import play, running_service

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect

PLACES = """
(track) => {
  const { left, width } = track.getBoundingClientRect();
  const at = (part, side) => (track.querySelector(part).getBoundingClientRect()[side] - left) / width;
  return { low: at(".whisker", "left"), high: at(".whisker", "right"), mean: at(".bar", "right") };
}
"""
MEANS = {"north": 0.1, "east": 0.9, "south": 0.2}


def figure(page, name):
    """The figure that stands under a term."""
    return page.get_by_role("term").filter(has_text=re.compile(f"^{name}$")).locator("xpath=following-sibling::dd")


def arm_row(page, arm):
    return page.get_by_role("row").filter(has=page.locator(".label", has_text=re.compile(f"^{re.escape(arm)}$")))


def chart(page, name):
    return page.get_by_role("img", name=re.compile(name))


@pytest.mark.slow
def test_the_page_moves_and_announces_the_verdict(service, client, open_page):
    exp = client.create("gateways", list(MEANS), lb.LinkedElimination(delta=1e-3))
    page = open_page(service.address_of(exp))
    expect(page.get_by_role("heading", level=1)).to_have_text("gateways")
    expect(page.get_by_role("heading", level=2, name="Not begun")).to_be_visible()
    expect(page.get_by_text("Which of 3 arms is best?")).to_be_visible()
    expect(arm_row(page, "east")).to_contain_text("no samples yet")

    assert not play(exp, MEANS, 10)
    expect(figure(page, "Plays so far")).to_have_text("10")
    expect(page).to_have_title("10 plays · gateways")
    expect(page.get_by_role("heading", level=2, name="Begun")).to_be_visible()
    expect(arm_row(page, "east")).not_to_contain_text("leads")
    expect(chart(page, "Plays over time: 10 in")).to_be_visible()
    announcements = page.locator("#announcements")
    expect(announcements).to_be_empty()

    assert play(exp, MEANS, 5_000, seed=2)
    verdict = exp.recommend()
    expect(announcements).to_have_text(f"Decided after {verdict.plays} plays: east is best")
    expect(page).to_have_title("✓ east is best · gateways")
    expect(page.get_by_role("heading", level=2, name=f"Verdict after {verdict.plays} plays")).to_be_visible()
    expect(
        page.get_by_text("Wrong with probability at most 0.1\u00a0%, if the options of a play are independent.")
    ).to_be_visible()
    expect(arm_row(page, "east")).to_contain_text("In")
    expect(arm_row(page, "north")).to_contain_text("Out")
    expect(arm_row(page, "south")).to_contain_text("Out")


def test_what_is_shown_is_what_the_service_says(service, client, open_page):
    exp = client.create("compare", list(MEANS), lb.LinkedElimination(delta=1e-3))
    play(exp, MEANS, 40)
    page = open_page(service.address_of(exp))
    for estimate in exp.estimates():
        row = arm_row(page, estimate.arm)
        expect(row.get_by_role("cell").nth(0)).to_have_text(str(estimate.samples))
        expect(row.get_by_role("cell").nth(1)).to_have_text(f"{100 * estimate.mean:.1f}\u00a0%")
    expect(page.get_by_role("columnheader", name="Evidence against")).to_be_visible()
    expect(page.get_by_text("out at 1,000", exact=True)).to_be_visible()
    expect(page.get_by_role("img", name=re.compile(r"^40 plays so far; the lower bound is about"))).to_be_visible()
    expect(figure(page, "Lower bound")).to_have_text(re.compile(r"^\d+$"))
    expect(figure(page, "Left, about")).to_have_text(re.compile(r"^\d+$"))


def test_where_arms_may_fail_together_it_says_that_estimates_are_of_first_tries(service, client, open_page):
    exp = client.create("duels", list(MEANS), lb.LinkedDuels(delta=1e-6), linkage="free")
    play(exp, MEANS, 60)
    page = open_page(service.address_of(exp))
    expect(page.get_by_role("columnheader", name="First tries")).to_be_visible()
    for estimate in exp.estimates():
        expect(arm_row(page, estimate.arm).get_by_role("cell").nth(0)).to_have_text(str(estimate.samples))
    assert sum(estimate.samples for estimate in exp.estimates()) == 60
    leads = next(estimate for estimate in exp.estimates() if estimate.arm == exp.recommend().arm)
    worked = rf"^Worked in {100 * leads.mean:.1f}\u00a0% of {leads.samples} first tries \("
    expect(page.locator("[data-part=answer-detail]")).to_have_text(re.compile(worked))


def test_whiskers_and_bars_are_drawn_to_scale(service, client, open_page):
    exp = client.create("scale", ["a", "b"], lb.LinkedElimination(delta=1e-9))
    play(exp, {"a": 0.1, "b": 0.5}, 40)
    page = open_page(service.address_of(exp))
    expect(arm_row(page, "b")).to_contain_text("leads")
    drawn = arm_row(page, "b").locator("[data-part=interval]").evaluate(PLACES)
    shown = [float(share) for share in re.findall(r"[\d.]+(?=\u00a0%)", arm_row(page, "b").inner_text())]
    mean, low, high = (share / 100 for share in shown)
    end = float(page.locator("[data-part=interval-end]").inner_text().removesuffix("\u00a0%")) / 100
    assert drawn == pytest.approx({"low": low / end, "high": high / end, "mean": mean / end}, abs=0.02)
    assert low < mean < high <= end


def test_a_label_is_never_read_as_html(service, client, open_page):
    hostile = '<img src=x onerror="window.taken=1">'
    exp = client.create(hostile, [hostile, "<b>bold</b>", True, 3.5], lb.LinkedElimination(delta=1e-9))
    for seed in range(16):
        play(exp, {hostile: 0.9, "<b>bold</b>": 0.3, True: 0.3, 3.5: 0.3}, 5, seed)
    page = open_page(service.address_of(exp))
    expect(page.get_by_role("heading", level=1)).to_have_text(hostile)
    expect(page.get_by_role("heading", level=2, name="Leading so far")).to_be_visible()
    expect(page.locator("[data-part=answer]")).to_have_text(hostile)
    expect(arm_row(page, hostile)).to_contain_text("leads")
    expect(arm_row(page, "true")).to_be_visible()
    page.get_by_role("link", name="All experiments").click()
    expect(page.get_by_role("link", name=hostile)).to_be_visible()
    assert page.locator("#page img, #page b").count() == 0
    assert page.evaluate("window.taken") is None


def test_running_out_of_plays_is_no_verdict(service, client, open_page):
    exp = client.create("short", ["a", "b"], lb.LinkedElimination(delta=0.01), max_plays=20)
    play(exp, {"a": 0.5, "b": 0.5}, 20)
    page = open_page(service.address_of(exp))
    expect(page.locator(".title")).to_contain_text("Out of plays")
    expect(page.locator("[data-part=answer]")).to_have_text(re.compile("led at the end$"))
    expect(page.get_by_text("no chance of error is stated")).to_be_visible()


def test_a_policy_without_evidence_has_no_column_for_it(service, client, open_page):
    exp = client.create("uniform", ["a", "b"], lb.UniformSampling(delta=0.05))
    page = open_page(service.address_of(exp))
    expect(page.get_by_text("This policy keeps no evidence arm by arm.")).to_be_visible()
    expect(page.get_by_role("columnheader")).to_have_count(5)


@pytest.mark.parametrize("linkage", LINKAGES.values(), ids=LINKAGES)
def test_how_arms_are_tried_is_said_in_the_words_of_the_linkage(linkage, service, client, open_page):
    exp = client.create("words", ["a", "b"], lb.UniformSampling(delta=0.05), linkage=linkage.name)
    page = open_page(service.address_of(exp))
    expect(page.get_by_text(f"Which of 2 arms is best? Arms are tried {linkage.words}")).to_be_visible()


def test_the_k_best_are_named_together(service, client, open_page):
    means = {"a": 0.9, "b": 0.05, "c": 0.9}
    exp = client.create("two best", list(means), lb.LinkedElimination(delta=0.05, k=2))
    assert play(exp, means, 20_000)
    page = open_page(service.address_of(exp))
    expect(page.get_by_text("Which 2 of 3 arms are best?")).to_be_visible()
    expect(page.locator("[data-part=answer]")).to_have_text(re.compile("^(a, c|c, a) are the 2 best$"))
    expect(page.locator(".tag:not(:empty)")).to_have_count(2)


@pytest.mark.slow
def test_an_admin_pauses_resumes_exports_and_archives(service, client, open_page):
    exp = client.create("managed", ["a", "b"], lb.LinkedElimination(delta=1e-9))
    play(exp, {"a": 0.2, "b": 0.8}, 10)
    page = open_page(service.address_of(exp))
    badge = page.locator(".title .badge")
    page.get_by_role("button", name="Pause").click()
    expect(badge).to_have_text("Paused")
    expect(page.locator("#announcements")).to_have_text("This experiment is now: Paused")
    page.get_by_role("button", name="Resume").click()
    expect(badge).to_have_text("Running")

    with page.expect_download() as download:
        page.get_by_role("button", name="Export JSONL").click()
    assert download.value.suggested_filename == "journal.jsonl"
    assert len(download.value.path().read_text().splitlines()) >= 2

    page.get_by_role("button", name="Archive").click()
    dialog = page.get_by_role("dialog", name="Archive this experiment?")
    dialog.get_by_role("button", name="Keep it").click()
    expect(badge).to_have_text("Running")
    page.get_by_role("button", name="Archive").click()
    dialog.get_by_role("button", name="Archive").click()
    expect(badge).to_have_text("Archived")
    expect(page.get_by_role("button", name="Archive")).to_be_hidden()


def test_the_page_says_that_the_evidence_of_another_version_is_kept(tmp_path, monkeypatch, open_page):
    with monkeypatch.context() as patch, closing(open_store(str(tmp_path / "store.sqlite3"))) as store:
        patch.setattr("linkedbandits.policies.linked_elimination.GROWTH", 0.04)
        with Desk(store) as desk:
            policy = {"name": "linked-elimination", "parameters": {"delta": 1e-9}}
            experiment = desk.create(Setup(("north", "east"), policy), "gateways").result().id
            plays = desk.ask(experiment, 40).result().plays
            desk.tell(experiment, [(each.id, None) for each in plays]).result()
    with running_service(tmp_path) as service, Client(service.url) as client:
        page = open_page(service.address_of(client.experiment(experiment)))
        said = f"Goes on with version {__version__}, with the evidence of 40 plays before that."
        expect(page.get_by_text(said)).to_be_visible()
        expect(figure(page, "Plays so far")).to_have_text("40")


@pytest.mark.parametrize("width", [360, 1200])
def test_what_the_policy_takes_for_granted_is_seen_without_a_click(service, client, open_page, width):
    exp = client.create("linked", ["a", "b"], lb.LinkedElimination(delta=0.05))
    page = open_page(service.address_of(exp), width=width, height=740)
    assumed = page.get_by_role("region", name="Not begun").locator("[data-part=assumed]")
    expect(assumed).to_have_text(f"{INDEPENDENT_OPTIONS.sentence} {INDEPENDENT_OPTIONS.remedy}")
    expect(assumed).to_be_in_viewport()


def test_a_verdict_that_assumes_nothing_has_no_if(service, client, open_page):
    exp = client.create("one at a time", list(MEANS), lb.LinkedElimination(delta=0.05), linkage="single")
    assert play(exp, MEANS, 5_000)
    page = open_page(service.address_of(exp))
    expect(page.locator("[data-part=answer-note]")).to_have_text("Wrong with probability at most 5\u00a0%.")
    expect(page.locator("[data-part=assumed]")).to_be_hidden()


def test_a_verdict_on_what_was_told_and_is_not_so_says_it_to_all(service, client, open_page):
    """Every option works on each second of its tries, and one was told to be far ahead."""
    exp = client.create("told", ["north", "east", "south"], lb.LinkedLead(1e-6, gap=0.6))
    tries = dict.fromkeys(["north", "east", "south"], 0)
    while not exp.done:
        asked = exp.ask()
        hit = None
        for arm in asked.arms:
            tries[arm] += 1
            if tries[arm] % 2 == 0:
                hit = arm
                break
        exp.tell(asked.id, hit)
    assert exp.recommend().contradicted == ("told difference",)
    note = open_page(service.address_of(exp)).locator("[data-part=answer-note]")
    expect(note).to_contain_text("the best option is ahead of every other by at least 0.6.")
    expect(note).to_contain_text("But what was seen speaks against the told difference: do not rely on that bound.")
