"""Simulated users: they play to the verdict, and the seed says what they do."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.async_client import AsyncClient
from linkedbandits.service.calls import Listed
from linkedbandits.service.demo import BAD_CARDS, GATEWAYS, NAME, Traffic, open_demo
from tools.waiting import run_async


def test_a_demonstration_under_way_is_gone_on_with(service):
    async def open_twice():
        async with AsyncClient(service.url) as client:
            return (await open_demo(client)).id, (await open_demo(client)).id

    first, second = run_async(open_twice())
    assert first == second


def test_users_play_to_the_verdict_and_some_never_answer(service):
    means = {"no": 0.0, "yes": 0.9, "perhaps": 0.1}
    told = []

    async def play():
        async with AsyncClient(service.url) as client:
            exp = await client.create("quick", list(means), lb.LinkedElimination(delta=0.2), lease_seconds=0.5)
            traffic = Traffic(exp, means, 200.0, 0.2, random.Random(2), on_told=lambda: told.append(1))
            await traffic.run()
            return exp.id, await exp.recommend()

    experiment, verdict = run_async(play())
    assert (verdict.arm, verdict.status) == ("yes", "confident")
    view = service.http.get(f"/v1/experiments/{experiment}/view").json()
    assert view["plays"] == len(told)
    assert view["abandoned"] + view["in_flight"] > 0


def test_a_service_that_goes_away_ends_it_with_the_reason():
    class Gone:
        async def ask(self):
            raise lb.ServiceUnavailable("not answered; is the service running?")

    with pytest.raises(lb.ServiceUnavailable, match="is the service running"):
        run_async(Traffic(Gone(), GATEWAYS, 100.0, 0.0, random.Random(1)).run())


class Experiments:
    """What a client finds: experiments with names and states, some of which have a verdict."""

    def __init__(self, *listed, done=()):
        self.listed, self.finished = [Listed(*one) for one in listed], done
        self.created = None

    async def experiments(self):
        return self.listed

    def experiment(self, experiment):
        async def done():
            return experiment in self.finished

        return SimpleNamespace(id=experiment, done=done)

    async def create(self, name, arms, policy, *, linkage, lease_seconds):
        self.created = (name, arms, policy, linkage, lease_seconds)
        return SimpleNamespace(id="new")


def test_a_demonstration_that_is_paused_or_decided_is_not_gone_on_with_nor_what_has_another_name():
    others = [("a", "payment", "running"), ("b", NAME, "paused"), ("c", NAME, "running"), ("d", NAME, "archived")]
    client = Experiments(*others, done={"c"})
    assert run_async(open_demo(client)).id == "new"
    assert client.created == (NAME, list(GATEWAYS), lb.LinkedDuels(delta=0.05), "free", 20.0)
    going_on = Experiments(*others, ("e", NAME, "running"), ("f", NAME, "running"), done={"c"})
    assert run_async(open_demo(going_on)).id == "e"
    assert going_on.created is None


class HandsOutPlays:
    """Hands out plays, with no room for some, until there is a verdict; remembers what it was told."""

    def __init__(self, plays, full=()):
        self.plays, self.full = plays, full
        self.asked = 0
        self.told = {}

    async def ask(self):
        self.asked += 1
        if self.asked > self.plays:
            raise lb.ExperimentFinished("decided")
        if self.asked in self.full:
            raise lb.TooManyInFlight("wait")
        return lb.Play(self.asked, tuple(GATEWAYS))

    async def tell_many(self, answers):
        self.told.update(answers)
        return SimpleNamespace(done=False)


@pytest.fixture
def quick_users(monkeypatch):
    monkeypatch.setattr("linkedbandits.service.demo._MEAN_SECONDS_TO_ANSWER", 1e-6)
    monkeypatch.setattr("linkedbandits.service.demo._SECONDS_WITHOUT_PLAYS", 1e-6)


def users_of(seed, plays=40, lost=0.3, full=(), means=GATEWAYS, hopeless=0.0):
    desk = HandsOutPlays(plays, full)
    heard = []
    said = {"on_told": lambda: heard.append(1), "hopeless": hopeless}
    traffic = Traffic(desk, means, 1e6, lost, random.Random(seed), **said)
    run_async(traffic.run())
    assert traffic.done
    assert len(heard) == len(desk.told)
    return desk.told


def test_what_users_do_is_their_seed_s_and_not_that_of_who_comes_first(quick_users):
    assert users_of(1) == users_of(1) != users_of(2)


def test_the_share_that_is_lost_never_answers(quick_users):
    assert users_of(3, lost=1.0) == {}
    assert sorted(users_of(3, lost=0.0)) == list(range(1, 41))


def test_users_for_whom_there_is_no_play_leave_and_the_others_go_on(quick_users):
    full = {2, 3, 7}
    assert sorted(users_of(4, lost=0.0, full=full)) == sorted(set(range(1, 41)) - full)


def test_gateways_fail_together_on_users_whom_none_can_serve(quick_users):
    """Ten gateways that serve all others: only the share of hopeless users has no hit. P(false alarm) < 1e-6."""
    told = users_of(5, plays=1000, lost=0.0, means=dict.fromkeys(GATEWAYS, 0.75), hopeless=0.25)
    unserved = sum(hit is None for hit in told.values())
    assert 180 < unserved < 325
    assert set(told.values()) == {None, "Amber"}
    assert max(GATEWAYS.values()) <= 1 - BAD_CARDS
