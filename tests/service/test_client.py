"""The clients: the names and the errors of the in-process experiment, through any weather."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.live import Upgrade
from linkedbandits.service.async_client import AsyncClient
from linkedbandits.service.client import Client
from tests.support.coin_flips import play_to_the_end
from tests.support.weather import ARMS, Weather, asked, client_in
from tools.waiting import run_async


def test_the_same_programme_runs_on_a_service_and_in_process(service):
    here = play_to_the_end(lb.Experiment(ARMS, lb.LinkedElimination(delta=0.1)), seed=3)
    with Client(service.url) as client:
        there = play_to_the_end(client.create("directions", ARMS, lb.LinkedElimination(delta=0.1)), seed=3)
        assert there.recommend() == here.recommend()
        assert there.estimates() == here.estimates()
        assert there.plays == here.plays
        assert isinstance(there.recommend(), lb.Verdict)
        with pytest.raises(lb.ExperimentFinished):
            there.ask()


def test_refusals_are_the_errors_of_the_library(service):
    with Client(service.url) as client:
        exp = client.create("directions", ARMS, lb.LinkedElimination(delta=0.1), parallel=2)
        play = exp.ask()
        assert exp.tell(play.id, "east") == "counted"
        assert exp.tell(play.id, "east") == "repeated"
        with pytest.raises(lb.ConflictingTell, match="'east'"):
            exp.tell(play.id, None)
        with pytest.raises(lb.UnknownPlay):
            exp.tell(99, None)
        with pytest.raises(lb.HitNotInPlay):
            exp.tell(play.id, "west")
        plays = exp.ask_many(5)
        assert len(plays) == 2
        with pytest.raises(lb.TooManyInFlight):
            exp.ask()
        exp.abandon(plays[0].id)
        told = exp.tell_many([(plays[0].id, None), (99, None)])
        assert told.receipts[0] == "late"
        assert isinstance(told.receipts[1], lb.UnknownPlay)
        exp.pause()
        with pytest.raises(lb.ExperimentPaused):
            exp.ask()
        exp.resume()
        exp.archive()
        with pytest.raises(lb.ExperimentArchived):
            exp.ask()
        with pytest.raises(lb.UnknownExperiment):
            client.experiment("nobody").ask()
        with pytest.raises(lb.InvalidParameter, match="arms"):
            client.create("one", ["a"], lb.LinkedElimination(delta=0.1))
        with pytest.raises(lb.LinkageMismatch):
            client.create("two", ["a", "b"], lb.CascadeBAI(delta=0.1, k=1))


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("hung up"),
        httpx.Response(502, text="bad gateway"),
        httpx.Response(503, json={"type": "urn:linkedbandits:store-unavailable", "detail": "gone", "status": 503}),
        httpx.Response(504, text="timeout"),
    ],
    ids=repr,
)
def test_an_ask_is_tried_again_with_the_same_key(failure):
    slept = []
    weather = Weather(failure, failure, asked(4))
    with client_in(weather, slept) as client:
        assert client.experiment("x").ask() == lb.Play(4, tuple(ARMS))
    assert slept == [1.0, 2.0]
    assert {json.loads(body)["key"] for body in weather.bodies} == {"key 0"}


def test_after_the_last_attempt_the_reason_is_raised():
    slept = []
    away = Weather(*[httpx.ConnectError("refused")] * 4)
    with client_in(away, slept) as client, pytest.raises(lb.ServiceUnavailable, match="is the service running"):
        client.experiment("x").ask()
    assert slept == [1.0, 2.0, 3.0]
    busy = Weather(*[httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"})] * 4)
    with client_in(busy, []) as client, pytest.raises(lb.TooManyRequests):
        client.experiment("x").ask()


@pytest.mark.slow
def test_twenty_thousand_plays_through_the_service_end_as_in_process(service):
    """Same plays, same receipts, same verdict; some answers get lost and are told late."""
    rng = random.Random(11)
    arms = [f"arm {number}" for number in range(10)]
    means = {arm: 0.13 if arm == "arm 6" else 0.1 for arm in arms}
    here = lb.Experiment(arms, lb.LinkedElimination(delta=0.05), max_plays=20_000)
    with Client(service.url) as client:
        there = client.create("twins", arms, lb.LinkedElimination(delta=0.05), max_plays=20_000)
        given_up = []
        while not here.done:
            plays = there.ask_many(500)
            assert plays == [here.ask() for _ in plays]
            some = 3 if len(plays) == 500 else 0  # the last of the budget are all told, or it would never be used up
            lost, kept = plays[:some], plays[some:]
            for play in lost:
                there.abandon(play.id)
                here.abandon(play.id)
            answers = [(play.id, next((arm for arm in play.arms if rng.random() < means[arm]), None)) for play in kept]
            answers += given_up
            rng.shuffle(answers)
            assert there.tell_many(answers).receipts == [here.tell(play, hit) for play, hit in answers]
            given_up = [(play.id, None) for play in lost]
        assert there.recommend() == here.recommend()
        assert there.estimates() == here.estimates()
        assert there.done
    assert here.plays > 10_000


def test_many_workers_share_an_experiment_and_no_play_is_handed_out_twice(service):
    with Client(service.url) as client:
        created = client.create("shared", ARMS, lb.UniformSampling(samples=150), parallel=8)
        handed_out = []

        def work(number):
            rng = random.Random(number)
            with Client(service.url) as own:
                exp = own.experiment(created.id)
                while True:
                    try:
                        plays = exp.ask_many(rng.randint(1, 3))
                    except lb.ExperimentFinished:
                        return
                    except lb.TooManyInFlight:
                        continue
                    handed_out.extend(play.id for play in plays)
                    exp.tell_many([(play.id, play.arms[0] if rng.random() < 0.3 else None) for play in plays])

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
        assert sorted(handed_out) == list(range(len(handed_out)))
        assert created.plays == len(handed_out)
        assert created.recommend().plays <= len(handed_out)


def test_both_clients_say_what_a_policy_takes_for_granted_as_the_experiment_does(service):
    policy = lb.LinkedElimination(delta=0.05)

    async def awaited(experiment):
        async with AsyncClient(service.url) as client:
            exp = client.experiment(experiment)
            return await exp.assumptions(), (await exp.recommend()).assumes

    for linkage, names in (("ordered", ("independent options",)), ("single", ())):
        expected = lb.Experiment(ARMS, policy, linkage=linkage).assumptions
        with Client(service.url) as client:
            exp = client.create("assumes", ARMS, policy, linkage=linkage)
            assert (exp.assumptions, exp.recommend().assumes) == (expected, names)
        assert run_async(awaited(exp.id)) == (expected, names)


def test_both_clients_say_with_which_version_an_experiment_goes_on():
    """An older service does not say it, and a later one may say more."""
    upgrade = {"version": "0.2.0", "before": "0.1.0", "plays": 300, "others": 2}

    said = ({"upgrade": upgrade | {"since": 9}}, {"upgrade": None}, {})

    def answers():
        return Weather(*(httpx.Response(200, json={"plays": 7} | each) for each in said))

    exp = client_in(answers(), []).experiment("x")
    assert [exp.upgrade for _ in range(3)] == [Upgrade("0.2.0", "0.1.0", 300, 2), None, None]

    async def awaited():
        async with AsyncClient("http://service", transport=httpx.MockTransport(answers())) as client:
            return [await client.experiment("x").upgrade() for _ in range(3)]

    assert run_async(awaited()) == [Upgrade("0.2.0", "0.1.0", 300, 2), None, None]


def test_a_client_reads_of_a_new_experiment_that_it_was_not_upgraded(service):
    with Client(service.url) as client:
        assert client.create("new", ARMS, lb.LinkedElimination(delta=0.05)).upgrade is None


def test_of_a_service_that_does_not_say_the_client_assumes_the_worst_or_finds_out():
    """An older service says neither with a verdict nor with an experiment; a later one may say more than is known."""
    verdict = {"arm": "east", "top": [], "status": "confident", "plays": 3, "error_bound": 0.05}
    older = {"policy": {"name": "linked-elimination", "parameters": {"delta": 0.05}}, "linkage": "single"}
    said = {"name": "luck", "condition": "luck holds", "sentence": "Luck holds.", "remedy": "Stop.", "since": 9}
    answers = ({"done": True, "verdict": verdict}, older, older | {"linkage": "free"}, older | {"assumptions": [said]})
    exp = client_in(Weather(*(httpx.Response(200, json=answer) for answer in answers)), []).experiment("x")
    assert exp.recommend().assumes == ("independent options",)
    assert exp.assumptions == ()
    assert [each.name for each in exp.assumptions] == ["independent options"]
    assert [each.remedy for each in exp.assumptions] == ["Stop."]
