"""The stream behind the page: services that restart, and services that want a token."""

from __future__ import annotations

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.client import Client
from tests.support.live_service import play
from tools.waiting import SECONDS

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")
expect = sync_api.expect

MEANS = {"a": 0.2, "b": 0.3}

FOLLOW = """
async (path) => {
  const { follow } = await import("/static/stream.js");
  const { History } = await import("/static/history.js");
  const history = new History();
  window.seen = { heads: [], times: [], plays: [], states: [] };
  follow(path, {
    onState: (state) => window.seen.states.push(state),
    onEvent: ({ id, data }) => {
      history.add(JSON.parse(data).history);
      window.seen.heads.push(Number(id));
      window.seen.times = history.times;
      window.seen.plays = history.plays;
    },
  });
}
"""


@pytest.mark.slow
def test_a_reconnect_after_a_restart_misses_nothing(own_service, open_page):
    with Client(own_service.url) as client:
        exp = client.create("survivor", list(MEANS), lb.LinkedElimination(delta=1e-12))
        play(exp, MEANS, 30)
        page = open_page(own_service.address_of(exp))
        page.evaluate(FOLLOW, f"/v1/experiments/{exp.id}/events")
        plays = page.locator("[data-part=plays]")
        expect(plays).to_have_text("30")
        page.wait_for_function("() => window.seen.heads.length > 0")
        before = page.evaluate("window.seen.heads.at(-1)")

        own_service.kill()
        expect(page.get_by_role("status").first).to_have_text("Connection lost, trying again")
        again = []
        page.on("request", lambda request: again.append(request.all_headers().get("last-event-id")))
        own_service.start()
        play(exp, MEANS, 30, seed=2)
        expect(plays).to_have_text("60")
        expect(page.get_by_role("status").first).to_have_text("Live")

        page.wait_for_function("() => window.seen.plays.at(-1) === 60")
        seen = page.evaluate("window.seen")
        assert str(before) in again
        assert "lost" in seen["states"]
        assert seen["states"][-1] == "live"
        recorded = httpx.get(f"{own_service.url}/v1/experiments/{exp.id}/view", timeout=SECONDS).json()["history"]
        assert list(zip(seen["times"], seen["plays"], strict=True)) == [(at, count) for _, at, count in recorded]


@pytest.mark.slow
def test_a_token_is_asked_for_once_and_kept_in_the_tab(own_service, open_page):
    admin, viewer = own_service.make_token("admin"), own_service.make_token("viewer")
    with Client(own_service.url, token=admin) as client:
        exp = client.create("guarded", list(MEANS), lb.LinkedElimination(delta=0.01))
    page = open_page(own_service.address_of(exp))
    form = page.get_by_role("region", name="A token is needed")
    expect(form.get_by_label("Token")).to_be_focused()

    page.keyboard.type("lb_wrong")
    page.keyboard.press("Enter")
    expect(form.get_by_role("alert")).to_contain_text("That token was not accepted")
    expect(form.get_by_label("Token")).to_have_value("")
    page.keyboard.type(viewer)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1, name="guarded")).to_be_visible()
    expect(form).to_be_hidden()
    assert viewer not in page.url
    assert page.evaluate("JSON.stringify(localStorage)") == "{}"

    manage = page.get_by_role("group", name="Manage this experiment")
    expect(manage.get_by_role("button")).to_have_text(["Export JSONL", "Export Parquet"])
    page.reload()
    expect(page.get_by_role("heading", level=1, name="guarded")).to_be_visible()
    page.get_by_role("button", name="Forget token").click()
    expect(form.get_by_label("Token")).to_be_focused()
    page.keyboard.type(admin)
    page.keyboard.press("Enter")
    expect(manage.get_by_role("button")).to_have_text(["Pause", "Archive", "Export JSONL", "Export Parquet"])


@pytest.mark.slow
def test_whoever_is_not_known_may_try_and_is_told_why_not(own_service, open_page):
    admin, viewer = own_service.make_token("admin"), own_service.make_token("viewer")
    with Client(own_service.url, token=admin) as client:
        exp = client.create("guarded", list(MEANS), lb.LinkedElimination(delta=0.01))
    page = open_page("about:blank")
    page.route("**/v1/me", lambda route: route.abort())
    page.goto(own_service.address_of(exp))
    page.get_by_role("region", name="A token is needed").get_by_label("Token").fill(viewer)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("[data-part=control-message]")).to_contain_text("a viewer may not do this")
