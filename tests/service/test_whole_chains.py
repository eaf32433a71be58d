"""Whole chains through a real service: both clients, the journal, a restart, and a version that asks otherwise."""

from __future__ import annotations

import json

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.live.run import Run
from linkedbandits.service.async_client import AsyncClient
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import journal_lines
from linkedbandits.service.records import Setup
from tests.support.coin_flips import play_to_the_end
from tools.waiting import run_async

ARMS = ("north", "east", "south")
POLICIES = [
    (lb.LinkedElimination(0.1), "ordered"),
    (lb.LinkedDuels(0.2), "free"),
    (lb.LinkedElimination(0.1), "single"),
]
SETUPS = [
    Setup(ARMS, {"name": "linked-elimination", "parameters": {"delta": 1e-6}}, whole_chains=True),
    Setup(ARMS, {"name": "linked-duels", "parameters": {"delta": 1e-6}}, linkage="free", whole_chains=True),
]


@pytest.mark.parametrize(("policy", "linkage"), POLICIES, ids=["independent", "duels", "single"])
def test_the_same_programme_runs_on_a_service_and_in_process(service, policy, linkage):
    here = play_to_the_end(lb.Experiment(ARMS, policy, linkage=linkage, whole_chains=True), seed=3)
    with Client(service.url) as client:
        there = play_to_the_end(client.create("chains", ARMS, policy, linkage=linkage, whole_chains=True), seed=3)
        assert there.recommend() == here.recommend()
        assert there.estimates() == here.estimates()
        assert (there.order, there.learning) == (here.order, here.learning)

    async def look():
        async with AsyncClient(service.url) as client:
            experiment = client.experiment(there.id)
            return await experiment.order(), await experiment.learning()

    assert run_async(look()) == (here.order, here.learning)


def test_the_asynchronous_client_has_the_rest(service):
    async def play():
        async with AsyncClient(service.url) as client:
            exp = await client.create("chains", ARMS, lb.LinkedDuels(0.1), linkage="free", whole_chains=True)
            asked = await exp.ask()
            return asked, await exp.tell(asked.id, asked.rest[0])

    asked, receipt = run_async(play())
    assert sorted(asked.arms + asked.rest) == sorted(ARMS)
    assert receipt == "counted"


def play_on(desk: Desk, experiment: str, rng: np.random.Generator, times: int) -> None:
    for _ in range(times):
        (play,) = desk.ask(experiment).result().plays
        works = dict(zip(ARMS, (rng.random(3) < 0.4).tolist(), strict=True))
        hit = next((arm for arm in play.arms + play.rest if works[arm]), None)
        desk.tell(experiment, [(play.id, hit)]).result()


@pytest.mark.parametrize("setup", SETUPS, ids=["independent", "duels"])
@pytest.mark.parametrize("snapshot_every", [1, 1_000_000])
def test_it_is_the_same_after_a_restart(store, clock, setup, snapshot_every):
    with Desk(store, clock=clock, snapshot_every=snapshot_every) as desk:
        experiment = desk.create(setup, "x").result().id
        play_on(desk, experiment, np.random.default_rng(1), 70)
        asked = desk.ask(experiment, 4, key="k").result().plays
        before = desk.read(experiment, lambda hosted: hosted.experiment.to_json()).result()
    with Desk(store, clock=clock) as desk:
        assert desk.read(experiment, lambda hosted: hosted.experiment.to_json()).result() == before
        assert desk.ask(experiment, 4, key="k").result().plays == asked
        assert all(play.rest for play in asked)


def test_the_journal_has_the_rest(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = desk.create(SETUPS[1], "x").result().id
        (play,) = desk.ask(experiment).result().plays
        desk.tell(experiment, [(play.id, play.rest[0])]).result()
    asked, told = (json.loads(line) for line in "".join(journal_lines(store, experiment)).splitlines())
    assert (tuple(asked["arms"]), tuple(asked["rest"])) == (play.arms, play.rest)
    assert told["hit"] == play.rest[0]


@pytest.mark.parametrize("setup", SETUPS, ids=["independent", "duels"])
def test_a_version_that_asks_otherwise_goes_on_with_what_was_played(store, clock, monkeypatch, setup):
    with Desk(store, clock=clock) as desk:
        experiment = desk.create(setup, "x").result().id
        play_on(desk, experiment, np.random.default_rng(1), 70)
        before = desk.read(experiment, lambda hosted: hosted.experiment).result()
    monkeypatch.setattr(Run, "asks", lambda _: "otherwise")
    with Desk(store, clock=clock) as desk:
        after = desk.read(experiment, lambda hosted: hosted.experiment).result()
        assert after.upgrade is not None
        assert after.estimates()[0].samples == before.estimates()[0].samples
        assert (after.learning.attempts, after.learning.failed) == (before.learning.attempts, before.learning.failed)
        play_on(desk, experiment, np.random.default_rng(2), 30)


def test_an_experiment_without_them_says_so(service):
    with Client(service.url) as client:
        exp = client.create("no chains", ARMS, lb.LinkedElimination(0.1))
        assert exp.ask().rest == ()
        assert exp.learning is None
        assert sorted(exp.order) == sorted(ARMS)
