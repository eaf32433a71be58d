"""A new experiment from the page: what is sent, and where refusals are said."""

from __future__ import annotations

import json
import re

import pytest

from linkedbandits.linkage import LINKAGES
from linkedbandits.policies import make_policy, parameter_names, policy_class
from linkedbandits.service.client import Client
from linkedbandits.service.records import Setup

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect

OFFERED = """
async () => {
  const { LINKAGES, POLICIES } = await import("/static/policies.js");
  return { linkages: Object.keys(LINKAGES), policies: POLICIES };
}
"""


def refusal_of(field):
    """What is said at a field."""
    return field.locator("xpath=ancestor::div[contains(@class, 'field')][1]").locator(".refusal").first


def test_the_list_leads_to_the_form_and_the_form_to_the_new_experiment(service, client, open_page, tmp_path):
    log = tmp_path / "log.jsonl"
    lines = [{"order": ["north", "east"], "hit": "east"}, {"order": ["south"], "hit": None}]
    log.write_text("\n".join(json.dumps(line) for line in lines))
    page = open_page(service.url)
    page.get_by_role("link", name="New experiment").click()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.get_by_label("Name", exact=True).fill("from the page")
    page.get_by_label("Options, one a line").fill("north\n east \n\nsouth\n")
    page.get_by_role("radio", name="The best option, of independent options Needs").check()
    page.get_by_label("Chance of a wrong answer").fill("0.01")
    page.get_by_label("Costs").fill("1, 2.5\n3")
    page.get_by_label("How options may be tried").select_option("free")
    page.get_by_label("Tags").fill("cards, eu")
    page.get_by_label("A log to begin with").set_input_files(log)
    page.get_by_label("Delta of verdicts asked of it before").fill("0.05")
    page.get_by_text("More settings").click()
    page.get_by_label("Plays at most").fill("5000")
    with page.expect_request(lambda request: request.method == "POST") as sent:
        page.get_by_role("button", name="Create the experiment").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("from the page")
    made = client.experiment(page.url.rpartition("/")[2])
    view = client._http.get(f"/v1/experiments/{made.id}/view").json()
    assert view["arms"]["label"] == ["north", "east", "south"]
    assert view["policy"]["parameters"].items() >= {"delta": 0.01, "costs": [1, 2.5, 3], "k": 1}.items()
    assert (view["linkage"], view["tags"], view["max_plays"]) == ("free", ["cards", "eu"], 5000)
    assert (view["from_log"]["requests"], view["from_log"]["attempts"]) == (2, "first")
    assert sent.value.post_data_json["log_judged"] == 0.05


def test_what_is_wrong_is_said_at_its_field(service, open_page, tmp_path):
    page = open_page(f"{service.url}/#/new")
    create = page.get_by_role("button", name="Create the experiment")
    create.click()
    name, arms = page.get_by_label("Name", exact=True), page.get_by_label("Options, one a line")
    expect(name).to_be_focused()
    expect(refusal_of(name)).to_have_text("Give it a name.")
    expect(refusal_of(arms)).to_have_text("Give at least two options, one a line.")
    name.fill("x")
    arms.fill("a\nb\na")
    delta = page.get_by_label("Chance of a wrong answer")
    delta.fill("often")
    create.click()
    expect(refusal_of(name)).to_have_text("")
    expect(refusal_of(arms)).to_contain_text("a is there twice")
    expect(refusal_of(delta)).to_contain_text("often is not a number")
    # From here on it is the service that refuses.
    arms.fill("a\nb")
    delta.fill("2")
    create.click()
    expect(refusal_of(delta)).to_contain_text("Delta=2 is not between 0 and 1")
    expect(delta).to_be_focused()
    delta.fill("0.05")
    page.get_by_role("radio", name=re.compile("told what difference matters")).check()
    create.click()
    expect(page.get_by_role("alert").filter(visible=True)).to_contain_text("told no difference")
    page.get_by_label("Told lift").fill("-1")
    create.click()
    expect(refusal_of(page.get_by_label("Told lift"))).to_contain_text("Lift=-1 is not positive")
    page.get_by_label("Told lift").fill("0.2")
    tags = page.get_by_label("Tags")
    tags.fill("x" * 60)
    create.click()
    expect(refusal_of(tags)).to_contain_text("at most 50 characters")
    tags.fill("")
    other = tmp_path / "other.json"
    other.write_text('[{"order": ["a", "z"], "hit": "z"}]')
    log = page.get_by_label("A log to begin with")
    log.set_input_files(other)
    create.click()
    expect(refusal_of(log)).to_contain_text("'z'")
    other.write_text("when,what")
    log.set_input_files([])
    log.set_input_files(other)
    create.click()
    expect(refusal_of(log)).to_contain_text("Line 1 is no JSON.")


def test_what_is_offered_is_what_the_library_has(service, open_page):
    offered = open_page(service.url).evaluate(OFFERED)
    assert set(offered["linkages"]) == set(LINKAGES)
    given = {"delta": 0.05, "plays": 100, "lift": 0.2}
    for policy in offered["policies"]:
        parameters = [parameter["name"] for parameter in policy["parameters"]]
        assert set(parameters) <= set(parameter_names(policy_class(policy["name"])))
        chosen = {name: given[name] for name in parameters if name in given}
        assert make_policy(policy["name"], chosen)
        for linkage in LINKAGES:
            setup = Setup(("a", "b"), {"name": policy["name"], "parameters": chosen}, linkage=linkage)
            if linkage in policy["linkages"]:
                setup.begin()


def test_who_may_not_create_is_told_so(own_service, open_page):
    own_service.make_token("admin")
    token = own_service.make_token("viewer")
    page = open_page(f"{own_service.url}/#/new")
    page.get_by_role("textbox", name="Token").fill(token)
    page.get_by_role("button", name="Show the experiments").click()
    expect(page.get_by_text("Your token may look, and not create.")).to_be_visible()
    page.get_by_role("link", name="All experiments").click()
    expect(page.get_by_role("link", name="New experiment")).to_be_hidden()
    with Client(own_service.url, token=token) as client:
        assert client.experiments() == []
