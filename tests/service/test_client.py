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
from tools.waiting import SECONDS, run_async


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
        with pytest.raises(lb.UnknownName):
            exp.tell(99, None)
        with pytest.raises(lb.InvalidParameter):
            exp.tell(play.id, "west")
        plays = exp.ask_many(5)
        assert len(plays) == 2
        with pytest.raises(lb.TooManyInFlight):
            exp.ask()
        exp.abandon(plays[0].id)
        told = exp.tell_many([(plays[0].id, None), (99, None)])
        assert told.receipts[0] == "late"
        assert isinstance(told.receipts[1], lb.UnknownName)
        exp.pause()
        with pytest.raises(lb.WrongState):
            exp.ask()
        exp.resume()
        with pytest.raises(lb.WrongState):
            exp.delete()
        exp.archive()
        with pytest.raises(lb.WrongState):
            exp.ask()
        exp.delete()
        with pytest.raises(lb.UnknownName):
            exp.ask()
        with pytest.raises(lb.UnknownName):
            client.experiment("nobody").ask()
        with pytest.raises(lb.InvalidParameter, match="arms"):
            client.create("one", ["a"], lb.LinkedElimination(delta=0.1))
        with pytest.raises(lb.InvalidParameter):
            client.create("two", ["a", "b"], lb.LinkedDuels(0.1), linkage="ordered")
        assert client.create("three", ["a", "b"], lb.LinkedDuels(0.1)).ask().arms in (("a", "b"), ("b", "a"))


@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        httpx.RemoteProtocolError("hung up"),
        httpx.Response(502, text="bad gateway"),
        httpx.Response(503, json={"type": "urn:linkedbandits:store-unavailable", "detail": "gone", "status": 503}),
        httpx.Response(504, text="timeout"),
        httpx.Response(502, json={"message": "bad gateway"}),
        httpx.Response(408, text=""),
        httpx.DecodingError("no gzip"),
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
    with client_in(busy, []) as client, pytest.raises(lb.ServiceUnavailable):
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


def test_the_loop_ends_in_four_threads_when_there_is_a_verdict(service):
    """To look whether it is done, and then to ask, would meet the verdict of another thread in between."""
    with Client(service.url) as client:
        exp = client.create("shared", ARMS, lb.UniformSampling(samples=100), parallel=3)
        told = []

        def work(number):
            rng = random.Random(number)
            for play in exp.until_decided():
                receipt = exp.tell(play.id, play.arms[0] if rng.random() < 0.3 else None)
                told.append((play.id, receipt))

        def work_in_batches(number):
            for plays in exp.batches_until_decided(2):
                receipts = exp.tell_many([(play.id, None) for play in plays]).receipts
                told.extend((play.id, receipt) for play, receipt in zip(plays, receipts, strict=True))

        with ThreadPoolExecutor(4) as pool:
            for worker in [
                pool.submit(work, 1),
                pool.submit(work, 2),
                *(pool.submit(work_in_batches, n) for n in "ab"),
            ]:
                worker.result(SECONDS)
        assert exp.done
        assert [play for play, _ in sorted(told)] == list(range(exp.plays))
        assert {receipt for _, receipt in told} <= {"counted", "spare", "late"}


def test_while_all_plays_are_out_a_worker_waits_and_asks_again():
    full = httpx.Response(409, json={"type": "urn:linkedbandits:too-many-in-flight", "status": 409})
    over = httpx.Response(409, json={"type": "urn:linkedbandits:experiment-finished", "status": 409})
    slept = []
    with client_in(Weather(full, full, asked(0), full, asked(1), over), slept) as client:
        assert [play.id for play in client.experiment("x").until_decided()] == [0, 1]
    assert len(slept) == 3
    assert all(0 <= pause <= limit for pause, limit in zip(slept, (0.05, 0.1, 0.05), strict=True))


def test_what_else_ends_the_loop_is_raised():
    paused = httpx.Response(409, json={"type": "urn:linkedbandits:experiment-paused", "status": 409})
    with client_in(Weather(paused), []) as client, pytest.raises(lb.WrongState):
        next(client.experiment("x").until_decided())


def test_a_conflicting_answer_comes_back_with_what_is_on_record(service):
    with Client(service.url) as client:
        exp = client.create("directions", ARMS, lb.LinkedElimination(delta=0.1))
        one, two = exp.ask_many(2)
        exp.tell_many([(one.id, "east"), (two.id, None)])
        with pytest.raises(lb.ConflictingTell, match="'east'") as caught:
            exp.tell(one.id, None)
        told = exp.tell_many([(one.id, "north"), (two.id, "east")])
        assert [receipt.on_record for receipt in (caught.value, *told.receipts)] == ["east", "east", None]


class LosesAnswers(httpx.HTTPTransport):
    """What is sent arrives, and of the first requests nothing comes back."""

    def __init__(self, lost):
        super().__init__()
        self.lost = lost

    def handle_request(self, request):
        response = super().handle_request(request)
        if self.lost:
            self.lost -= 1
            response.close()
            raise httpx.ReadError("the connection broke when all was done")
        return response


def test_to_create_where_the_answer_is_lost_makes_one_experiment(service):
    with Client(service.url, transport=LosesAnswers(2)) as client:
        exp = client.create("whose answer is lost", ARMS, lb.LinkedElimination(delta=0.1))
        assert [found.id for found in client.experiments() if found.name == "whose answer is lost"] == [exp.id]


def test_workers_that_create_with_one_key_share_an_experiment(service):
    policy = lb.LinkedElimination(delta=0.1)

    def create(_):
        with Client(service.url) as client:
            return client.create("of all workers", ARMS, policy, key="of all workers, 1").id

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(create, range(4)))) == 1
    with Client(service.url) as client:
        with pytest.raises(lb.InvalidParameter, match="another name or set-up"):
            client.create("of all workers", ARMS, policy, seed=1, key="of all workers, 1")
        assert client.create("of all workers", ARMS, policy).id != create(0)


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
    upgrade = {"version": "0.2.0", "before": "0.1.0", "plays": 300, "evidence": [1.5, -0.5], "spent": 0.05}

    said = ({"upgrade": upgrade | {"since": 9}}, {"upgrade": None}, {})

    def answers():
        return Weather(*(httpx.Response(200, json={"plays": 7} | each) for each in said))

    exp = client_in(answers(), []).experiment("x")
    assert [exp.upgrade for _ in range(3)] == [Upgrade("0.2.0", "0.1.0", 300, (1.5, -0.5), 0.05), None, None]

    async def awaited():
        async with AsyncClient("http://service", transport=httpx.MockTransport(answers())) as client:
            return [await client.experiment("x").upgrade() for _ in range(3)]

    assert run_async(awaited()) == [Upgrade("0.2.0", "0.1.0", 300, (1.5, -0.5), 0.05), None, None]


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
