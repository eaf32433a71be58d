"""The client for event loops: the same names as the other, and the same through any weather."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import random

import httpx
import pytest

import linkedbandits as lb
from linkedbandits.intervals import RunningMean
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service.async_client import AsyncClient, AsyncRemoteExperiment
from linkedbandits.service.client import Client, RemoteExperiment
from tests.support.coin_flips import play_to_the_end
from tests.support.weather import ARMS, QUICK, Weather, asked
from tools.waiting import run_async


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


def signatures(kind) -> dict[str, list[tuple[str, object]]]:
    """The parameters of every public method, with their defaults; a property takes none."""
    found = {}
    for name, member in vars(kind).items():
        if not name.startswith("_"):
            function = member.fget if isinstance(member, property) else member
            parameters = inspect.signature(function).parameters.values()
            found[name] = [(parameter.name, parameter.default) for parameter in parameters]
    return found


@pytest.mark.parametrize(
    ("waiting", "awaited"), [(Client, AsyncClient), (RemoteExperiment, AsyncRemoteExperiment)], ids=["client", "remote"]
)
def test_both_clients_have_the_same_names_and_parameters(waiting, awaited):
    assert signatures(waiting) == signatures(awaited)


def asynchronous_client_in(weather, slept):
    async def sleep(seconds):
        slept.append(seconds)

    keys = (f"key {number}" for number in itertools.count())
    return AsyncClient(
        "http://service",
        retries=QUICK,
        sleep=sleep,
        new_key=lambda: next(keys),
        transport=httpx.MockTransport(weather),
    )


def test_what_failed_is_asked_again_with_the_same_key_after_a_pause():
    slept = []
    busy = httpx.Response(429, json={"type": "urn:linkedbandits:too-many-requests"}, headers={"Retry-After": "7"})
    weather = Weather(httpx.ReadTimeout("slow"), busy, asked(4), asked(5))

    async def ask_twice():
        async with asynchronous_client_in(weather, slept) as client:
            exp = client.experiment("x")
            return [(await exp.ask()).id, (await exp.ask()).id]

    assert run_async(ask_twice()) == [4, 5]
    assert slept == [1.0, 7.0]
    assert [json.loads(body)["key"] for body in weather.bodies] == ["key 0", "key 0", "key 0", "key 1"]


def test_after_the_last_attempt_the_reason_is_raised():
    slept = []
    weather = Weather(*[httpx.ConnectError("refused")] * 4)

    async def ask():
        async with asynchronous_client_in(weather, slept) as client:
            await client.experiment("x").ask()

    with pytest.raises(lb.ServiceUnavailable, match="is the service running"):
        run_async(ask())
    assert slept == [1.0, 2.0, 3.0]


VERDICT = {"arm": "a", "top": ["a"], "status": "exhausted", "plays": 1, "error_bound": None}
ANY_ANSWER = {
    "id": "x",
    "experiments": [{"id": "x", "name": "n", "status": "running"}],
    "plays": [{"id": 3, "arms": ["a", "b"]}],
    "receipts": ["late"],
    "done": True,
    "abandoned": 1,
    "status": "paused",
    "verdict": VERDICT,
    "estimates": [{"arm": "a", "samples": 2, "successes": 1, "mean": 0.5, "still_in": True}],
    "assumptions": [{"name": "luck", "condition": "luck holds", "sentence": "Luck holds.", "remedy": "Stop."}],
    "upgrade": {"version": "0.2.0", "before": None, "plays": 3, "evidence": [0.5, 0.0], "spent": 0.0},
    "before": {
        "experiment": "w",
        "why": "drift",
        "arms": ["a"],
        "plays": 3,
        "arm": "a",
        "status": "exhausted",
        "kept": 0,
    },
    "order": ["b", "a"],
    "learning": {
        "plays": 3,
        "attempts": 5,
        "failed": 1,
        "of_best_order": 4.5,
        "cost": None,
        "cost_of_best_order": None,
    },
    "from_log": {"attempts": "first", "requests": 5, "samples": 4, "read": 2},
    "kept": True,
    "sources": 2,
    "options": [
        {
            "option": "a",
            "tries": 2,
            "successes": 1,
            "success": {"mean": 0.5, "low": 0.1, "high": 0.9, "proved": True},
            "seconds": {"mean": 0.5, "low": None, "high": None, "proved": False},
            "cost": None,
            "success_per_cost": None,
        }
    ],
    "alarms": [
        {
            "kind": "drift",
            "option": "a",
            "log10_evidence": 7.5,
            "level": 800.0,
            "since": 3,
            "noticed": 9,
            "before": {"successes": 1, "attempts": 2},
            "after": {"successes": 2, "attempts": 3},
            "sentence": "It drifts.",
            "remedy": "Wait.",
            "evidence": "Noticed at request 9.",
            "picture": None,
        }
    ],
}
FIRSTS = {"a": FirstAttempts(RunningMean(2.0, 1, 0.5, 0.25), RunningMean(), 1, 1)}
OF_AN_EXPERIMENT = {
    "ask": (),
    "ask_many": (2,),
    "tell": (3, "a"),
    "tell_many": ([(3, None)],),
    "abandon": (3,),
    "abandon_many": ([3, 4],),
    "option_estimates": (0.9,),
    "report_expenses": ("web1", FIRSTS),
    "recommend": (),
    "estimates": (),
    "assumptions": (),
    "upgrade": (),
    "from_log": (),
    "order": (),
    "learning": (),
    "before": (),
    "alarms": (),
    "plays": (),
    "done": (),
    "pause": (),
    "resume": (),
    "archive": (),
    "delete": (True,),
}


@pytest.mark.parametrize(("name", "arguments"), OF_AN_EXPERIMENT.items())
def test_both_clients_send_the_same_and_read_the_same(name, arguments):
    sent = []

    def answer(request):
        sent.append((request.method, request.url.path, request.content))
        return httpx.Response(200, json=ANY_ANSWER)

    transport = httpx.MockTransport(answer)

    async def ask():
        async with AsyncClient("http://service", transport=transport, new_key=lambda: "k") as client:
            return await getattr(client.experiment("x"), name)(*arguments)

    with Client("http://service", transport=transport, new_key=lambda: "k") as client:
        member = getattr(client.experiment("x"), name)
        read = member(*arguments) if callable(member) else member
    assert run_async(ask()) == read
    assert sent[0] == sent[1]


def test_all_that_an_experiment_does_was_compared():
    """But for the successor and its like, which are experiments of the same client, and what is gone through."""
    others = {"successor", "following", "previous", "until_decided", "batches_until_decided"}
    assert OF_AN_EXPERIMENT.keys() | others == signatures(AsyncRemoteExperiment).keys()


def test_workers_of_one_loop_end_when_there_is_a_verdict_and_wait_while_all_plays_are_out(service):
    async def play_all():
        async with AsyncClient(service.url) as client:
            exp = await client.create("shared", ARMS, lb.UniformSampling(samples=40), parallel=2)
            told = []

            async def work():
                async for play in exp.until_decided():
                    receipt = await exp.tell(play.id, None)
                    told.append((play.id, receipt))
                assert [plays async for plays in exp.batches_until_decided(5)] == []

            async with asyncio.TaskGroup() as workers:
                for _ in range(4):
                    workers.create_task(work())
            return told, await exp.plays(), await exp.done()

    told, plays, done = run_async(play_all())
    assert sorted(told) == [(number, receipt) for number, (_, receipt) in enumerate(sorted(told))]
    assert {receipt for _, receipt in told} <= {"counted", "spare", "late"}
    assert (plays, done) == (len(told), True)


def test_a_conflicting_answer_comes_back_with_what_is_on_record(service):
    async def conflict():
        async with AsyncClient(service.url) as client:
            exp = await client.create("directions", ARMS, lb.LinkedElimination(delta=0.1))
            one, two = await exp.ask_many(2)
            await exp.tell_many([(one.id, "east"), (two.id, None)])
            told = await exp.tell_many([(one.id, None), (two.id, "east")])
            with pytest.raises(lb.ConflictingTell) as caught:
                await exp.tell(one.id, "north")
            return [receipt.on_record for receipt in (*told.receipts, caught.value)]

    assert run_async(conflict()) == ["east", None, "east"]


def test_to_create_is_tried_again_with_the_same_key():
    sent = []

    def answer(request):
        sent.append(request.headers["idempotency-key"])
        if len(sent) == 1:
            raise httpx.ReadTimeout("slow")
        return httpx.Response(201, json={"id": "x9"})

    async def create():
        async with asynchronous_client_in(answer, []) as client:
            policy = lb.LinkedElimination(delta=0.1)
            first = await client.create("directions", ARMS, policy)
            return first.id, (await client.create("directions", ARMS, policy, key="mine")).id

    assert run_async(create()) == ("x9", "x9")
    assert sent == ["key 0", "key 0", "mine"]
