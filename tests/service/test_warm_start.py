"""Experiments of the service that begin with a log: nothing of it is lost, whoever opens it, and whenever."""

from __future__ import annotations

import dataclasses
import io
import json
import random
from contextlib import closing
from itertools import takewhile

import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits.live import WarmStart
from linkedbandits.policies import describe_policy
from linkedbandits.service.alarms import Alarms
from linkedbandits.service.async_client import AsyncClient
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import journal_lines, write_parquet
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.http.limits import LARGEST_BODY
from linkedbandits.service.records import LogInSetup, Setup
from linkedbandits.service.store import open_store
from linkedbandits.version import __version__
from tests.support.live_service import running_service as process
from tests.support.running_service import running_service
from tests.support.service_parts import SETUP
from tools.waiting import SECONDS, run_async

ARMS = SETUP.arms
POLICY = lb.LinkedElimination(delta=0.05)
MEANS = {"north": 0.2, "east": 0.5, "south": 0.3}


def a_log(requests, seed=1, options=ARMS):
    rng = random.Random(seed)
    made = []
    for _ in range(requests):
        order = tuple(rng.sample(options, 3))
        made.append((order, next((arm for arm in order if rng.random() < MEANS[arm]), None)))
    return lb.Attempts.from_plays(made, options=options)


def warm(log, attempts="first"):
    return WarmStart.of(log, ARMS, attempts, "refuse")


def play(exp, plays, seed):
    rng = random.Random(seed)
    for _ in range(plays):
        if exp.done:
            return
        asked = exp.ask()
        exp.tell(asked.id, next((arm for arm in asked.arms if rng.random() < MEANS[arm]), None))


def same(remote, alone):
    assert remote.from_log == alone.from_log
    assert remote.estimates() == alone.estimates()
    assert remote.recommend() == alone.recommend()
    assert (remote.done, remote.plays, remote.assumptions) == (alone.done, alone.plays, alone.assumptions)


@pytest.mark.parametrize("attempts", ["first", "all"])
def test_an_experiment_with_a_log_is_that_of_the_library(service, attempts):
    log = a_log(40)
    alone = lb.Experiment(ARMS, POLICY, linkage="single", log=log, log_attempts=attempts)
    with Client(service.url) as client:
        remote = client.create("warm", ARMS, POLICY, linkage="single", log=log, log_attempts=attempts)
        same(remote, alone)
        for exp in (remote, alone):
            play(exp, 25, seed=3)
        same(remote, alone)
        info = service.http.get(f"/v1/experiments/{remote.id}").json()
        samples = alone.from_log.samples
        assert info["log"] == {
            "attempts": attempts,
            "requests": 40,
            "samples": samples,
            "assumes_independence": attempts == "all",
            "on_your_word": False,
        }
        view = service.http.get(f"/v1/experiments/{remote.id}/view").json()
        assert view["from_log"] == {**alone.from_log._asdict(), "on_your_word": False}
        assert view["outlook"] == {"lower_bound": None, "estimate_total": None, "estimate_left": None}


def test_duels_and_the_client_for_event_loops(service):
    log = a_log(60)
    alone = lb.Experiment(ARMS, lb.LinkedDuels(0.1), linkage="free", log=log, log_attempts="duels")

    async def create():
        async with AsyncClient(service.url) as client:
            made = await client.create(
                "duels", ARMS, lb.LinkedDuels(0.1), linkage="free", log=log, log_attempts="duels"
            )
            return await made.from_log(), await made.estimates()

    assert run_async(create()) == (alone.from_log, alone.estimates())


def test_a_log_that_decides_everything_is_a_verdict_at_once(service):
    log = a_log(3000)
    with Client(service.url) as client:
        remote = client.create("decided", ARMS, POLICY, linkage="single", log=log)
        assert remote.done
        assert remote.recommend() == lb.Verdict("east", "confident", 0, 0.05)
        with pytest.raises(lb.ExperimentFinished):
            remote.ask()


PAIR = {"order": ["north", "east"], "hit": "north"}
DUELS = {"policy": describe_policy(lb.LinkedDuels(0.05)), "linkage": "free"}


def body(**changes):
    logged = [{"order": ["north", "east"], "hit": "north"}, {"order": ["south"], "hit": None}]
    return {"name": "x", "arms": list(ARMS), "log": logged, **changes}


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        ({"log": [{"order": ["west"], "hit": None}]}, "invalid-attempts", "no arms: 'west'"),
        ({"log": [{"order": ["east"], "hit": "north"}]}, "invalid-attempts", "not in its order"),
        ({"log_attempts": "duels", "log": [PAIR]}, "invalid-parameter", "use log_attempts='first'"),
        ({"log_attempts": "duels", **DUELS}, "invalid-attempts", "1 of 2 requests were cut off"),
        ({"log_attempts": "some"}, "invalid-request", "log_attempts"),
        ({"log": [{"order": [], "hit": None}]}, "invalid-request", "log"),
        ({"log": [{"order": ["east"]}]}, "invalid-request", "hit"),
    ],
)
def test_a_log_that_cannot_be_used_is_refused_with_the_reason_and_nothing_is_created(service, changes, kind, said):
    before = service.http.get("/v1/experiments").json()
    answer = service.http.post("/v1/experiments", json=body(**changes))
    assert (answer.status_code, answer.json()["type"]) == (422, f"urn:linkedbandits:{kind}")
    assert said in answer.text
    assert service.http.get("/v1/experiments").json() == before


def test_options_that_are_no_arms_are_left_out_if_so_asked(service):
    logged = [{"order": ["west", "east"], "hit": "east"}, {"order": ["east"], "hit": "east"}]
    answer = service.http.post("/v1/experiments", json=body(log=logged, log_others="ignore"))
    assert answer.status_code == 201
    assert answer.json()["log"]["samples"] == 1


def test_the_journal_behind_an_empty_log_can_be_downloaded(service):
    experiment = service.http.post("/v1/experiments", json=body(log=[])).json()["id"]
    service.post(experiment, "ask", {})
    for form in ("jsonl", "parquet"):
        answer = service.http.get(f"/v1/experiments/{experiment}/journal", params={"format": form})
        assert (answer.status_code, len(answer.content) > 0) == (200, True)


def test_the_error_bound_covers_verdicts_that_were_asked_of_the_log_before(service):
    log = a_log(3000)
    log.verdict(delta=0.02)
    given = {"linkage": "single", "log": log}
    with Client(service.url) as client:
        remote = client.create("judged", ARMS, POLICY, **given)
        assert remote.recommend().error_bound == pytest.approx(0.07)
        assert client.create("not so", ARMS, POLICY, **given, log_judged=0.0).recommend().error_bound == 0.05
        fewer = remote.successor(["north", "east"])
        assert (fewer.done, fewer.recommend().error_bound) == (True, pytest.approx(0.07))
    judged = {"log": [{"order": ["north"], "hit": "north"}, {"order": ["east"], "hit": None}] * 200, "log_judged": 0.1}
    answer = service.http.post("/v1/experiments", json=body(arms=["north", "east"], linkage="single", **judged)).json()
    assert service.http.get(f"/v1/experiments/{answer['id']}/verdict").json()["verdict"][
        "error_bound"
    ] == pytest.approx(0.15)


@pytest.mark.parametrize(
    "about", [{"log_attempts": "all"}, {"log_others": "ignore"}, {"log_independent": True}, {"log_judged": 0.1}]
)
def test_what_is_said_of_a_log_that_is_not_there_is_refused(service, about):
    answer = service.http.post("/v1/experiments", json=body(log=None, **about))
    assert answer.status_code == 422
    assert f"{next(iter(about))} is about a log, and there is none" in answer.text


def test_a_log_that_is_too_large_is_refused_with_a_remedy(service):
    made = [(ARMS, None)] * (LARGEST_BODY // 20)
    with Client(service.url) as client, pytest.raises(lb.InvalidParameter, match="or the last part of a log"):
        client.create("large", ARMS, POLICY, log=lb.Attempts.from_plays(made))


# ------------------------------------------------------------------------------------------------ nothing is lost


@pytest.mark.slow
def test_a_service_that_is_killed_goes_on_with_the_log(tmp_path):
    log = a_log(40)
    alone = lb.Experiment(ARMS, POLICY, linkage="single", log=log)
    with process(tmp_path) as service, Client(service.url) as client:
        remote = client.create("warm", ARMS, POLICY, linkage="single", log=log)
        for exp in (remote, alone):
            play(exp, 12, seed=0)
        service.kill()
        service.start()
        same(remote, alone)
        for exp in (remote, alone):
            play(exp, 12, seed=1)
        same(remote, alone)


def test_two_services_share_an_experiment_with_a_log(store_url):
    log = a_log(40)
    alone = lb.Experiment(ARMS, POLICY, linkage="single", log=log)
    with (
        running_service(store_url) as one,
        running_service(store_url) as other,
        Client(one.url) as first,
        Client(other.url) as second,
    ):
        remote = first.create("warm", ARMS, POLICY, linkage="single", log=log)
        same(remote, alone)
        elsewhere = second.experiment(remote.id)
        for turn, (here, there) in enumerate([(remote, elsewhere), (elsewhere, remote)] * 2):
            play(here, 7, seed=turn)
            play(alone, 7, seed=turn)
            same(there, alone)


def without_snapshot(store, experiment):
    with store.writing() as tables:
        tables._run("DELETE FROM snapshots WHERE experiment = ?", experiment)


@pytest.mark.parametrize("linkage", ["single", "ordered"])
def test_from_the_journal_alone_it_is_the_same(each_store, linkage):
    with Desk(each_store) as desk:
        setup = dataclasses.replace(SETUP, linkage=linkage)
        record = desk.create(setup, "warm", warm(a_log(30), "all")).result()
        assert record.setup.log == LogInSetup("all", 30, len(a_log(30)), assumes_independence=True)
        for number in range(15):
            asked = desk.ask(record.id, 2).result().plays
            desk.tell(record.id, [(play.id, None if number % 3 else play.arms[-1]) for play in asked]).result()
        before = desk.read(record.id, lambda hosted: hosted.experiment.to_json()).result()
    without_snapshot(each_store, record.id)
    with each_store.reading() as reading:
        opened = HostedExperiment.open(reading, reading.record(record.id))
    assert opened.experiment.to_json() == before


@pytest.mark.parametrize("attempts", ["first", "all", "duels"])
def test_the_exported_journal_has_the_log_and_from_it_the_experiment_begins_again(each_store, attempts):
    log = a_log(30)
    policy = lb.LinkedDuels(0.05) if attempts == "duels" else POLICY
    setup = dataclasses.replace(SETUP, policy=describe_policy(policy), linkage="free")
    with Desk(each_store) as desk:
        record = desk.create(setup, "warm", warm(log, attempts)).result()
        desk.ask(record.id, 2).result()
        begun = desk.read(record.id, lambda hosted: hosted.experiment.from_log).result()
    events = [json.loads(line) for line in "".join(journal_lines(each_store, record.id)).splitlines()]
    assert [event["kind"] for event in events] == ["log"] * 30 + ["ask"] * 2
    assert {(event["seq"], event["status"]) for event in events[:30]} == {(0, attempts)}
    again = lb.Attempts.from_plays([(event["arms"], event["hit"]) for event in events[:30]])
    exp = lb.Experiment(ARMS, policy, linkage="free", seed=setup.seed, log=again, log_attempts=attempts)
    assert exp.from_log == begun
    assert again.plays() == log.plays()


def test_an_exported_log_says_what_is_no_arm(store):
    log = lb.Attempts.from_plays([(("west", "east"), "east"), (("east", "west"), "west"), (("east", "west"), "east")])
    with Desk(store) as desk:
        record = desk.create(SETUP, "warm", WarmStart.of(log, ARMS, "first", "ignore")).result()
    found = [json.loads(line) for line in "".join(journal_lines(store, record.id)).splitlines()]
    assert [(each["arms"], each["hit"], each.get("receipt")) for each in found] == [
        ([None, "east"], "east", None),
        (["east", None], None, "other"),
        (["east"], "east", None),
    ]
    orders = [(tuple(takewhile(lambda arm: arm is not None, each["arms"])), each["hit"]) for each in found]
    again = lb.Attempts.from_plays([(order, hit if hit in order else None) for order, hit in orders if order])
    assert again.plays() == [(("east",), None), (("east",), "east")]
    written = io.BytesIO()
    write_parquet(store, record.id, written)
    table = pl.read_parquet(io.BytesIO(written.getvalue()))
    assert table["arms"].to_list() == ['[null, "east"]', '["east", null]', '["east"]']


def test_all_attempts_of_a_log_in_one_order_take_the_users_word(service):
    log = lb.Attempts.from_plays([(("north", "east"), "east"), (("north", "east"), None)] * 20, options=ARMS)
    given = {"linkage": "single", "log": log, "log_attempts": "all"}
    alone = lb.Experiment(ARMS, POLICY, **given, log_independent=True)
    with Client(service.url) as client:
        with pytest.raises(lb.InvalidAttempts, match="with log_independent=True"):
            client.create("refused", ARMS, POLICY, **given)
        same(client.create("word", ARMS, POLICY, **given, log_independent=True), alone)

    async def create():
        async with AsyncClient(service.url) as client:
            made = await client.create("word", ARMS, POLICY, **given, log_independent=True)
            return made.id, await made.from_log()

    experiment, from_log = run_async(create())
    assert from_log == alone.from_log
    assert service.http.get(f"/v1/experiments/{experiment}/view").json()["from_log"]["on_your_word"]
    assert service.http.get(f"/v1/experiments/{experiment}").json()["log"]["on_your_word"]


def test_the_word_is_kept_in_every_store(each_store):
    log = lb.Attempts.from_plays([(("north", "east"), "east")] * 20, options=ARMS)
    with Desk(each_store) as desk:
        desk.create(SETUP, "word", WarmStart.of(log, ARMS, "all", "refuse", independent=True)).result()
    with Desk(each_store) as desk, each_store.reading() as reading:
        (record,) = reading.records()
        assert record.setup.log == LogInSetup("all", 20, 40, assumes_independence=True, on_your_word=True)
        assert desk.read(record.id, lambda hosted: hosted.experiment.from_log.samples).result() == 40


def test_another_version_that_asks_otherwise_has_the_log_and_the_plays_in_its_estimates(store):
    with Desk(store) as desk:
        record = desk.create(SETUP, "warm", warm(a_log(30))).result()
        for _ in range(10):
            asked = desk.ask(record.id).result().plays
            desk.tell(record.id, [(play.id, None) for play in asked]).result()
        estimates = desk.read(record.id, lambda hosted: hosted.experiment.estimates()).result()
        evidence = desk.read(record.id, lambda hosted: hosted.experiment.evidence()).result()
    with store.writing() as tables:
        tables._run("UPDATE experiments SET written_by = '0.0.1 otherwise'")
    with Desk(store) as desk:
        seen = desk.read(record.id, lambda hosted: hosted.experiment).result()
        assert seen.upgrade == (__version__, "0.0.1", 10, tuple(evidence), 0.0)
        assert seen.from_log.samples == 30
        assert seen.estimates() == estimates
        desk.ask(record.id).result()
    with Desk(store) as desk:  # as it was noted in the journal
        assert desk.read(record.id, lambda hosted: hosted.experiment.estimates()).result() == estimates


def test_a_verdict_that_the_log_gave_stands_whatever_version_looks(store):
    with Desk(store) as desk:
        record = desk.create(SETUP, "warm", warm(a_log(3000))).result()
    with store.writing() as tables:
        tables._run("UPDATE experiments SET written_by = '0.0.1 otherwise'")
    with Desk(store) as desk:
        seen = desk.read(record.id, lambda hosted: hosted.experiment).result()
        assert (seen.done, seen.upgrade, seen.recommend().arm) == (True, None, "east")


def test_a_set_up_without_a_log_is_written_as_before():
    assert "log" not in SETUP.to_json()
    with_log = dataclasses.replace(SETUP, log=LogInSetup("all", 3, 2, assumes_independence=True))
    assert Setup.from_json(with_log.to_json()) == with_log
    assert [each.name for each in dataclasses.replace(with_log, linkage="single").assumptions()] == [
        "independent options"
    ]


def test_alarms_see_the_log_before_the_plays(store):
    log = lb.Attempts.from_plays([(("north",), "north")] * 100, options=ARMS)
    with Desk(store) as desk:
        policy = {"name": "uniform-sampling", "parameters": {"samples": 1000}}
        setup = dataclasses.replace(SETUP, policy=policy, linkage="single")
        record = desk.create(setup, "warm", warm(log)).result()
        asked = desk.ask(record.id, 200).result().plays
        desk.tell(record.id, [(play.id, None) for play in asked]).result()
        found = Alarms(store)
        found.latest(record.id, ARMS, warm(log), 200, False)
        found.wait_for_the_first(record.id, SECONDS)
        first, *_ = found.latest(record.id, ARMS, warm(log), 200, False).alarms
        assert (first.kind, first.option, first.since) == ("drift", "north", 100)
        found.close()


def test_a_store_that_was_made_before_has_no_logs(tmp_path):
    with closing(open_store(str(tmp_path / "a.sqlite"))) as store:
        with Desk(store) as desk:
            record = desk.create(SETUP, "cold").result()
        with store.reading() as reading:
            assert reading.log(record.id) is None
