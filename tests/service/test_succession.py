"""Experiments of the service that go on from others."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

import linkedbandits as lb
from linkedbandits.service import succession
from linkedbandits.service.async_client import AsyncClient
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import journal_lines
from linkedbandits.service.records import Setup
from linkedbandits.service.succession import succeed
from tests.support.coin_flips import play_to_the_end
from tools.waiting import SECONDS, run_async

ARMS = ("north", "east")
WIDER = ("north", "east", "south")
POLICIES = [
    (lb.LinkedElimination(0.1), "ordered"),
    (lb.LinkedElimination(0.1), "single"),
    (lb.LinkedDuels(0.2), "free"),
]


@pytest.mark.parametrize(
    ("policy", "linkage", "keep"),
    [(*policy, keep) for policy, keep in zip(POLICIES, [True, False, True], strict=True)],
    ids=["independent", "single, anew", "duels"],
)
def test_it_goes_on_as_an_experiment_in_process_does(service, policy, linkage, keep):
    here = play_to_the_end(lb.Experiment(ARMS, policy, linkage=linkage, whole_chains=True), seed=3)
    new_here = play_to_the_end(here.successor(WIDER, keep=keep, why="a new provider"), seed=4)
    with Client(service.url) as client:
        there = play_to_the_end(client.create("chains", ARMS, policy, linkage=linkage, whole_chains=True), seed=3)
        new_there = there.successor(WIDER, keep=keep, why="a new provider")
        play_to_the_end(new_there, seed=4)
        assert new_there.before == new_here.before
        assert new_there.recommend() == new_here.recommend()
        assert new_there.estimates() == new_here.estimates()
        assert new_there.from_log == new_here.from_log
        assert there.before is None


def test_there_is_one_successor_for_good_and_answers_are_still_taken(service):
    with Client(service.url) as client:
        exp = client.create("x", ARMS, lb.LinkedElimination(0.1))
        play = exp.ask()
        new = exp.successor(keep=False, why="drift")
        assert exp.successor(WIDER).id == new.id
        assert (exp.following.id, exp.previous, new.previous.id, new.following) == (new.id, None, exp.id, None)
        assert exp.tell(play.id, "east") == "counted"
        with pytest.raises(lb.WrongState):
            exp.ask()
        assert new.ask().id == 0
        assert [each.id for each in client.experiments()[-2:]] == [exp.id, new.id]

    async def again():
        async with AsyncClient(service.url) as client:
            again = await client.experiment(exp.id).successor()
            following, previous = await client.experiment(exp.id).following(), await again.previous()
            assert (following.id, previous.id, await again.following()) == (again.id, exp.id, None)
            return again.id

    assert run_async(again()) == new.id


def test_of_many_that_want_one_at_once_all_get_the_same(store, clock):
    with Desk(store, clock=clock) as desk, ThreadPoolExecutor(8) as threads:
        old = desk.create(Setup(ARMS, {"name": "linked-elimination", "parameters": {"delta": 0.1}}), "x").result().id
        found = list(threads.map(lambda _: succeed(store, desk, old, WIDER, True, "more"), range(8)))
        assert len({record.id for record in found}) == 1
        others = [record for record in desk.records().result() if record.id not in (old, found[0].id)]
        assert all(record.status == "archived" for record in others)


@pytest.mark.parametrize("snapshot_every", [1, 1_000_000])
def test_it_is_known_after_a_restart_and_in_the_journal(store, clock, snapshot_every):
    with Desk(store, clock=clock, snapshot_every=snapshot_every) as desk:
        old = desk.create(Setup(ARMS, {"name": "linked-elimination", "parameters": {"delta": 0.1}}), "x").result().id
        (play,) = desk.ask(old).result().plays
        desk.tell(old, [(play.id, "east")]).result()
        new = succeed(store, desk, old, WIDER, keep=True, why="a new provider")
    with Desk(store, clock=clock) as desk:
        assert desk.read(old, lambda hosted: (hosted.successor, hosted.status)).result() == (new.id, "paused")
        before = desk.record(new.id).result().setup.before
        assert (before.experiment, before.why, before.plays, before.kept) == (old, "a new provider", 1, 1)
        assert desk.record(new.id).result().setup.log.samples == 2
        assert succeed(store, desk, old, None, keep=True, why="again").id == new.id
    last = json.loads("".join(journal_lines(store, old)).splitlines()[-1])
    assert last["status"] == f"paused; goes on as {new.id} (a new provider)"


def test_what_is_wrong_with_it_is_said(service):
    with Client(service.url) as client:
        exp = client.create("x", ARMS, lb.LinkedElimination(0.1, costs=(1.0, 2.0)))
        with pytest.raises(lb.InvalidParameter, match="costs"):
            exp.successor(WIDER)
        with pytest.raises(lb.InvalidParameter):
            exp.successor(("north", "north"))
        assert exp.ask().id == 0
        with pytest.raises(lb.UnknownName):
            client.experiment("nobody").successor()
        exp.archive()
        known = len(client.experiments())
        with pytest.raises(lb.WrongState):
            exp.successor()
        assert len(client.experiments()) == known


def test_costs_stay_with_their_arms(service):
    with Client(service.url) as client:
        exp = client.create("x", ARMS, lb.LinkedElimination(0.1, costs=[1.0, 2.0]), linkage="single")
        new = exp.successor(ARMS[::-1], keep=False, why="drift")
        assert service.http.get(f"/v1/experiments/{new.id}/view").json()["goal"]["costs"] == [2.0, 1.0]


@pytest.mark.parametrize("ends", ["told", "given up"])
def test_the_first_play_that_is_out_belongs_to_the_log_and_is_waited_for(service, ends):
    with Client(service.url) as client, ThreadPoolExecutor(1) as pool:
        exp = client.create("x", ARMS, lb.LinkedElimination(0.1), whole_chains=True)
        plays = exp.ask_many(4)
        exp.tell_many([(plays[0].id, None), (plays[2].id, None)])
        asked = pool.submit(client.experiment(exp.id).successor, WIDER)
        assert not wait([asked], timeout=0.3).done
        if ends == "told":
            exp.tell(plays[1].id, "east")
        else:
            exp.abandon(plays[1].id)
        new = asked.result(SECONDS)
        assert new.before.kept == (2 if ends == "told" else 1)
        assert exp.tell(plays[3].id, None) == "counted"


def test_a_play_that_does_not_come_back_is_named(store, monkeypatch):
    monkeypatch.setattr(succession, "LONGEST_WAIT_FOR_A_PLAY", 0.05)
    with Desk(store) as desk:
        experiment = (
            desk.create(Setup(ARMS, {"name": "linked-elimination", "parameters": {"delta": 0.1}}), "x").result().id
        )
        desk.ask(experiment, 1).result()
        with pytest.raises(lb.TooManyInFlight, match="play 0 is still out"):
            succeed(store, desk, experiment, None, keep=True, why="more")
        assert succeed(store, desk, experiment, None, keep=False, why="anew").setup.before.kept == 0
