"""The clients: the names and the errors of the in-process experiment, through any weather."""

from __future__ import annotations

import itertools
import json
import random
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.service.calls import error_of
from linkedbandits.service.client import AsyncClient, Client
from linkedbandits.service.retries import Retries
from tests.support.running_service import running_service
from tools.waiting import run_async

ARMS = ["north", "east", "south"]
QUICK = Retries(times=3, first_seconds=1.0, longest_seconds=3.0, draw=lambda: 1.0)


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running_service(str(tmp_path_factory.mktemp("client") / "experiments.sqlite3")) as running:
        yield running


def play_to_the_end(exp, seed):
    rng = random.Random(seed)
    means = {"north": 0.1, "east": 0.5, "south": 0.2}
    while not exp.done:
        play = exp.ask()
        exp.tell(play.id, next((arm for arm in play.arms if rng.random() < means[arm]), None))
    return exp


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


def test_the_asynchronous_client_does_the_same(service):
    here = play_to_the_end(lb.Experiment(ARMS, lb.LinkedElimination(delta=0.1)), seed=3)

    async def play():
        rng = random.Random(3)
        means = {"north": 0.1, "east": 0.5, "south": 0.2}
        async with AsyncClient(service.url) as client:
            exp = await client.create("directions", ARMS, lb.LinkedElimination(delta=0.1))
            assert (exp.id, "directions", "running") in await client.experiments()
            while not await exp.done():
                play = await exp.ask()
                await exp.tell(play.id, next((arm for arm in play.arms if rng.random() < means[arm]), None))
            assert await exp.plays() == here.plays
            await exp.pause()
            await exp.resume()
            await exp.archive()
            return await exp.recommend(), await exp.estimates()

    assert run_async(play()) == (here.recommend(), here.estimates())


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


class Weather:
    """A service that fails in a given way, and then answers; remembers what it was sent."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.bodies = []

    def __call__(self, request):
        self.bodies.append(request.content)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def asked(play=0):
    return httpx.Response(200, json={"plays": [{"id": play, "arms": ARMS}], "expires_at": 1.0})


def client_in(weather, slept):
    keys = (f"key {number}" for number in itertools.count())
    return Client(
        "http://service",
        "lb_token",
        retries=QUICK,
        sleep=slept.append,
        new_key=lambda: next(keys),
        transport=httpx.MockTransport(weather),
    )


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


def test_a_service_that_says_when_to_come_back_is_listened_to():
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": "7"})
    odd = httpx.Response(503, text="", headers={"Retry-After": "Fri, 31 Dec 2027 23:59:59 GMT"})
    with client_in(Weather(busy, odd, asked()), slept) as client:
        client.experiment("x").ask()
    assert slept == [7.0, 2.0]


@pytest.mark.parametrize(("wanted", "waited"), [("86400", 60.0), ("inf", 60.0), ("nan", 1.0), ("-3", 1.0)])
def test_nobody_waits_for_ever(wanted, waited):
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": wanted})
    with client_in(Weather(busy, asked()), slept) as client:
        client.experiment("x").ask()
    assert slept == [waited]


@pytest.mark.parametrize("name", ["../x", "..", "x/y", "x?y", "x#y"])
def test_a_name_stays_in_its_place(name):
    seen = []

    def service(request):
        seen.append(request.url)
        return asked()

    with Client("http://service", transport=httpx.MockTransport(service)) as client:
        client.experiment(name).ask()
    (url,) = seen
    assert url.path == f"/v1/experiments/{name}/ask"
    assert url.raw_path.count(b"/") == 4
    assert (url.query, url.fragment) == (b"", "")


def test_after_the_last_attempt_the_reason_is_raised():
    slept = []
    away = Weather(*[httpx.ConnectError("refused")] * 4)
    with client_in(away, slept) as client, pytest.raises(lb.ServiceUnavailable, match="is the service running"):
        client.experiment("x").ask()
    assert slept == [1.0, 2.0, 3.0]
    busy = Weather(*[httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"})] * 4)
    with client_in(busy, []) as client, pytest.raises(lb.TooManyRequests):
        client.experiment("x").ask()


def test_a_refusal_is_not_tried_again():
    problem = {"type": "urn:linkedbandits:access-denied", "detail": "a viewer may not", "status": 403}
    weather = Weather(httpx.Response(403, json=problem))
    with client_in(weather, []) as client, pytest.raises(lb.AccessDenied, match="a viewer may not"):
        client.experiment("x").ask()


def test_an_experiment_is_not_created_twice_by_accident():
    created = httpx.Response(201, json={"id": "x9"})
    away = {"type": "urn:linkedbandits:store-unavailable", "detail": "gone", "status": 503}
    for unclear in (httpx.ReadTimeout("slow"), httpx.Response(502, text=""), httpx.Response(503, json=away)):
        weather = Weather(unclear, created)
        with client_in(weather, []) as client, pytest.raises(lb.LinkedBanditError):
            client.create("directions", ARMS, lb.LinkedElimination(delta=0.1))
        assert len(weather.bodies) == 1
    for harmless in (httpx.ConnectError("refused"), httpx.Response(429, text="")):
        with client_in(Weather(harmless, created), []) as client:
            assert client.create("directions", ARMS, lb.LinkedElimination(delta=0.1)).id == "x9"


def test_the_token_goes_along():
    seen = []

    def service(request):
        seen.append(request.headers.get("authorization"))
        return asked()

    for token in ("lb_secret", None):
        with Client("http://service", token, transport=httpx.MockTransport(service)) as client:
            client.experiment("x").ask()
    assert seen == ["Bearer lb_secret", None]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json={"other": 1}),
        httpx.Response(404, text="nginx"),
        httpx.Response(418, json={"type": "about:blank", "detail": "teapot"}),
    ],
    ids=repr,
)
def test_an_address_that_is_something_else_is_noticed(answer):
    with client_in(Weather(answer), []) as client, pytest.raises(lb.UnexpectedAnswer):
        client.experiment("x").ask()


def test_a_url_that_is_none_is_not_tried_again():
    slept = []
    with Client("ftp://service", retries=QUICK, sleep=slept.append) as client, pytest.raises(lb.ServiceUnavailable):
        client.experiment("x").ask()
    assert slept == []


def test_jitter_is_drawn_anew_every_time():
    draws = iter([0.5, 0.25, 1.0])
    assert list(Retries(times=3, first_seconds=1.0, draw=lambda: next(draws)).pauses()) == [0.5, 0.5, 4.0]


def test_unknown_problems_keep_their_words():
    assert "500 it broke" in str(error_of({"type": "about:blank", "status": 500, "detail": "it broke"}))


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
