"""Estimates and evidence over time, code to copy, and tags, on the page of an experiment."""

from __future__ import annotations

import re
import subprocess
import sys
import time

import pytest

import linkedbandits as lb
from tests.support.live_service import play
from tools.waiting import SECONDS

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect

MEANS = {"north": 0.1, "east": 0.8, "south": 0.3}


@pytest.fixture(scope="module")
def played(service):
    from linkedbandits.service.client import Client

    with Client(service.url) as client:
        experiment = client.create("played", list(MEANS), lb.LinkedElimination(delta=1e-6), tags=["eu"])
        for seed in range(3):
            time.sleep(1.05)  # points are a second apart
            play(experiment, MEANS, 40, seed)
    return experiment


def test_estimates_and_evidence_are_drawn_over_time_and_over_plays(service, played, open_page):
    page = open_page(service.address_of(played))
    section = page.get_by_role("region", name="Estimates and evidence over time")
    estimates = section.get_by_role("img", name=re.compile("^Estimates of 3 arms; east is at .* since "))
    expect(estimates).to_be_visible()
    expect(section.get_by_role("img", name=re.compile("^Evidence against 3 arms, logarithmic"))).to_be_visible()
    expect(section.get_by_role("listitem")).to_have_text(["east", re.compile("south|north"), re.compile("south|north")])
    expect(section).to_contain_text(re.compile("Who led: .*east since"))
    marks = [mark.inner_html() for mark in section.locator("li svg").all()]
    assert len(set(marks)) == 3  # without their colours, which the style sheet gives
    section.get_by_role("radio", name="Over plays").check()
    expect(section.get_by_role("img", name=re.compile("^Estimates of 3 arms; .* over 120 plays"))).to_be_visible()
    area = section.locator("[data-part=estimates-over-time] .u-over")
    area.hover(position={"x": area.bounding_box()["width"] - 2, "y": 20})
    expect(section.locator("[data-part=curve-readout]")).to_have_text(re.compile("120 plays: east "))


def test_an_experiment_of_which_nothing_was_kept_says_so(service, client, open_page):
    experiment = client.create("quick", list(MEANS), lb.LinkedElimination(delta=1e-6))
    page = open_page(service.address_of(experiment))
    section = page.get_by_role("region", name="Estimates and evidence over time")
    expect(section).to_contain_text("The first answers will show here.")
    play(experiment, MEANS, 5)
    expect(page.get_by_text("Too early to say who leads")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="leads")).to_have_count(0)


def test_code_is_copied_and_plays_the_experiment(service, client, open_page, tmp_path):
    experiment = client.create("to play", list(MEANS), lb.LinkedHalving(plays=12))
    page = open_page(service.address_of(experiment), permissions=["clipboard-read", "clipboard-write"])
    section = page.get_by_role("region", name="Play it from your code")
    kinds = {}
    for kind in ("Python, async", "curl", "Python"):
        section.get_by_role("radio", name=kind, exact=True).check()
        section.get_by_role("button", name="Copy").click()
        expect(section.get_by_role("status")).to_have_text("Copied.")
        kinds[kind] = page.evaluate("navigator.clipboard.readText()")
        assert experiment.id in kinds[kind]
        assert service.url in kinds[kind]
        assert "TOKEN" not in kinds[kind]
    assert kinds["curl"].count("curl -s ") == 3
    script = tmp_path / "player.py"
    script.write_text(kinds["Python"].replace("raise NotImplementedError", 'return arm == "east"'))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=SECONDS, check=True)
    assert "east" in done.stdout
    compile(kinds["Python, async"], "player", "exec")


def test_an_admin_changes_tags_and_all_see_it(service, client, played, open_page):
    page = open_page(service.address_of(played))
    tags = page.get_by_label("Tags, with commas between them")
    expect(tags).to_have_value("eu")
    tags.fill("us, cards")
    page.get_by_role("button", name="Save tags").click()
    expect(page.locator("[data-part=setup]")).to_contain_text("us, cards")
    assert client._http.get(f"/v1/experiments/{played.id}").json()["tags"] == ["us", "cards"]
