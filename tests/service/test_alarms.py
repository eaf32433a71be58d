"""Alarms of a service's experiments: those of the experiment itself, found apart from all who play."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import Future
from functools import partial

import pytest

import linkedbandits as lb
from linkedbandits.service import alarms
from linkedbandits.service.alarms import MOST_REMEMBERED, NOT_LOOKED_YET, Alarms, Found, Record
from linkedbandits.service.client import Client
from linkedbandits.service.desk import Desk
from linkedbandits.service.succession import succeed
from tests.support.service_parts import SETUP, create
from tools.waiting import SECONDS, until

ARMS = SETUP.arms


def play(desk, experiment, batches, works, first=0):
    """In batches of ten, of which one is given up and one is told late."""
    for batch in range(batches):
        asked = desk.ask(experiment, 10).result().plays
        told = [(play.id, next((arm for arm in play.arms if works(play.id, arm)), None)) for play in asked]
        if batch % 3 == 1 and len(told) > 3:
            desk.abandon(experiment, [told[0][0], told[1][0]]).result()
            told = [*told[2:], told[1]]
        desk.tell(experiment, told).result()


def no_more_than(mean):
    """Outcomes that keep near to a mean, whatever is tried."""
    return lambda play, arm: (play * 7919 + ARMS.index(arm) * 31) % 100 < 100 * mean


def drifting(play, arm):
    return (play * 7919 + ARMS.index(arm) * 31) % 100 < (10 if play < 400 else 70)


SLOW = {"name": "uniform-sampling", "parameters": {"samples": 5000}}


@pytest.mark.parametrize("page", [1, 7, 200])
def test_what_the_journal_has_is_what_the_experiment_has_on_record(desk, store, monkeypatch, page):
    monkeypatch.setattr(alarms, "PAGE", page)
    experiment = create(desk, policy=SLOW, linkage="free")
    alone = lb.Experiment(ARMS, lb.UniformSampling(samples=5000), linkage="free")
    record = Record()
    for step in range(4):
        for _ in range(5):
            asked = desk.ask(experiment, 4).result().plays
            assert [alone.ask() for _ in range(4)] == list(asked)
            desk.abandon(experiment, [asked[1].id]).result()
            alone.abandon(asked[1].id)
            told = [
                (play.id, play.arms[play.id % 2] if play.id % 3 else None) for play in asked[: 3 if step == 3 else 4]
            ]
            desk.tell(experiment, told).result()
            for each, hit in told:
                alone.tell(each, hit)
        record.read(store, experiment)
        found, expected = record.attempts(ARMS), alone.attempts()
        for column in ("request", "option", "success", "second"):
            assert getattr(found, column).tolist() == getattr(expected, column).tolist()


def test_alarms_are_those_of_the_experiment(desk, store):
    experiment = create(desk, policy=SLOW, linkage="free")
    play(desk, experiment, 80, drifting)
    found = Alarms(store)
    assert found.latest(experiment, ARMS, None, 800, False) == NOT_LOOKED_YET
    found.wait_for_the_first(experiment, SECONDS)
    latest = found.latest(experiment, ARMS, None, 800, False)
    first, *_ = latest.alarms
    assert (first.kind, first.option) == ("drift", "north")
    assert 300 < first.since < 420
    assert len(latest.pictures) == len(latest.alarms)
    assert f"since request {first.since}" in latest.pictures[0]
    assert found.up({experiment}) == list(latest.alarms)
    assert found.up(frozenset()) == []  # it was archived, say
    found.close()


def test_what_is_asked_for_is_what_was_known_before_however_fast_the_next_look_is(desk, store, monkeypatch):
    """A look that is over before it was asked for: so fast may another thread be."""
    experiment = create(desk, policy=SLOW, linkage="free")
    play(desk, experiment, 10, drifting)
    found = Alarms(store)

    def at_once(look, *arguments):
        done = Future()
        done.set_result(look(*arguments))
        return done

    monkeypatch.setattr(found._worker, "submit", at_once)
    assert found.latest(experiment, ARMS, None, 100, False) == NOT_LOOKED_YET
    assert found.latest(experiment, ARMS, None, 100, False).plays == 100
    found.close()


def test_a_quiet_experiment_has_none(desk, store):
    experiment = create(desk, policy=SLOW, linkage="single")
    play(desk, experiment, 30, no_more_than(0.3))
    found = Alarms(store)
    found.latest(experiment, ARMS, None, 300, False)
    found.wait_for_the_first(experiment, SECONDS)
    assert found.latest(experiment, ARMS, None, 300, False) == Found((), 300)
    found.close()


def test_there_is_another_look_when_enough_was_told_and_not_all_the_time(store, monkeypatch):
    looks, release, now = [], threading.Event(), [0.0]
    monkeypatch.setattr(Record, "read", lambda self, store, experiment: looks.append(experiment))
    monkeypatch.setattr(alarms, "watch", lambda log, alpha: (release.wait(SECONDS), ())[1])
    found = Alarms(store, lambda: now[0])

    def look(plays, done=False, experiment="x"):
        found.latest(experiment, ARMS, None, plays, done)
        if found._running is not None:
            found._running.result(SECONDS)
        return found.latest(experiment, ARMS, None, plays, done).plays

    assert found.latest("x", ARMS, None, 0, False) == NOT_LOOKED_YET
    found.latest("x", ARMS, None, 100, False)
    found.latest("y", ARMS, None, 100, False)  # one at a time, and nobody waits for it
    assert looks == ["x"]
    found.wait_for_the_first("y", SECONDS)
    release.set()
    assert look(100) == 100
    now[0] += 1e6
    assert look(104) == 100  # not enough more
    assert look(106) == 106
    assert look(200) == 106  # too soon
    now[0] += 1e6
    assert look(200) == 200
    now[0] += 1e6
    assert look(201, done=True) == 201  # the last look
    now[0] += 1e6
    assert look(201, done=True) == 201
    assert looks == ["x"] * 4
    for number in itertools.islice(itertools.count(), MOST_REMEMBERED + 5):
        now[0] += 1e6
        look(10, experiment=f"other {number}")
    assert len(found._kept) <= MOST_REMEMBERED + 1
    found.close()


def test_after_a_failure_it_is_read_anew(desk, store, monkeypatch):
    experiment = create(desk, policy=SLOW, linkage="single")
    play(desk, experiment, 5, no_more_than(0.3))
    now = [0.0]
    found = Alarms(store, lambda: now[0])
    watch = alarms.watch
    monkeypatch.setattr(alarms, "watch", lambda log, alpha: 1 / 0)
    found.latest(experiment, ARMS, None, 50, False)
    with pytest.raises(ZeroDivisionError):
        found._running.result(SECONDS)
    assert found.latest(experiment, ARMS, None, 50, False) == NOT_LOOKED_YET
    monkeypatch.setattr(alarms, "watch", watch)
    now[0] += 1e6
    found.latest(experiment, ARMS, None, 50, False)
    found._running.result(SECONDS)
    assert found.latest(experiment, ARMS, None, 50, False) == Found((), 50)
    found.close()


def test_nobody_who_plays_waits_for_a_look(store, monkeypatch):
    """The desk answers while a look takes as long as it likes."""
    release = threading.Event()
    monkeypatch.setattr(alarms, "watch", lambda log, alpha: (release.wait(SECONDS), ())[1])
    found = Alarms(store)
    with Desk(store) as desk:
        experiment = create(desk, policy=SLOW)
        found.latest(experiment, ARMS, None, 1, False)
        asked = desk.ask(experiment).result().plays[0]
        assert desk.tell(experiment, [(asked.id, None)]).result().receipts == ("counted",)
        assert found.latest(experiment, ARMS, None, 1, False) == NOT_LOOKED_YET
    release.set()
    found.close()


def test_a_view_has_the_alarms_and_so_have_the_clients(service):
    with Client(service.url) as client:
        exp = client.create("drifting", ARMS, lb.UniformSampling(samples=5000), linkage="single")
        assert exp.alarms() == ()
        for _ in range(20):
            asked = exp.ask_many(50)
            exp.tell_many([(play.id, play.arms[0] if play.id < 500 else None) for play in asked])
        until(lambda: exp.alarms() != (), "an alarm")
        first, *_ = exp.alarms()
        assert (first.kind, first.option) == ("drift", "north")
        assert 490 <= first.since <= 510
        assert first.after.successes == 0
        view = service.http.get(f"/v1/experiments/{exp.id}/view").json()
        assert view["alarms"][0]["sentence"] == first.sentence
        assert view["alarms"][0]["evidence"].startswith(f"Noticed at request {first.noticed};")
        assert view["alarms"][0]["picture"].startswith("<svg ")
        assert view["alarms_after"] <= view["plays"] == 1000


DUELS = {"name": "linked-duels", "parameters": {"delta": 1e-9}}


def lose(desk, clock, experiment, plays: int, loses) -> None:
    """Workers that take a play at a time, and some that die with it, of which the service hears nothing."""
    for _ in range(plays):
        (asked,) = desk.ask(experiment, 1).result().plays
        if loses(asked):
            clock.now += 10 * SETUP.lease_seconds
        else:
            desk.tell(experiment, [(asked.id, asked.arms[0])]).result()


def found_in(store, experiment) -> list[tuple[str, object]]:
    record = Record()
    record.read(store, experiment)
    level = alarms.level_of(alarms.ALPHA / 2, 0)
    return [(alarm.kind, alarm.option) for alarm in alarms._of_losses(record, ARMS, level)]


def test_plays_of_workers_that_die_with_them_raise_the_alarm_for_losses(store, clock):
    """A worker that is killed gives nothing back: its lease expires. Here that happens to plays of one arm alone."""
    with Desk(store, clock=clock) as desk:
        experiment = create(desk, policy=DUELS, linkage="free")
        lose(desk, clock, experiment, 200, lambda asked: asked.arms[0] == ARMS[0] and asked.id % 3 == 0)
        assert ("losses", ARMS[0]) in found_in(store, experiment)


def test_plays_that_were_never_begun_are_not_lost(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(desk, policy=DUELS, linkage="free")
        for _ in range(200):
            (asked,) = desk.ask(experiment, 1).result().plays
            if asked.arms[0] == ARMS[0] and asked.id % 2:
                desk.abandon(experiment, [asked.id], unused=True).result()
            else:
                desk.tell(experiment, [(asked.id, asked.arms[0])]).result()
        assert found_in(store, experiment) == []
        record = Record()
        record.read(store, experiment)
        plays, lost = record.losses(ARMS)
        assert (sum(lost.values()), sum(plays.values())) == (
            0,
            desk.read(experiment, lambda it: it.experiment.plays).result(),
        )


def test_what_a_dead_process_had_asked_ahead_for_one_arm_counts_once(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(
            desk, policy={"name": "linked-elimination", "parameters": {"delta": 1e-9}}, linkage="single"
        )
        asked = desk.ask(experiment, 40).result().plays
        clock.now += 10 * SETUP.lease_seconds
        desk.ask(experiment, 1).result()
        record = Record()
        record.read(store, experiment)
        _, lost = record.losses(ARMS)
        runs = sum(one.arms[0] != other.arms[0] for one, other in itertools.pairwise(asked)) + 1
        assert sum(lost.values()) == runs < len(asked)


def test_all_experiments_that_go_on_from_each_other_share_one_level(desk, store, clock):
    """Drift is found in each of three; each has a smaller part of the level, and together they have all of it."""
    experiment, levels = create(desk, policy=SLOW, linkage="free"), []
    for _ in range(3):
        play(desk, experiment, 100, drifting)
        watching = Alarms(store)
        look = partial(watching.latest, experiment, ARMS, None, 1000, False)
        until(lambda look=look: look().alarms, "the alarm")
        levels += {alarm.level for alarm in look().alarms if alarm.kind == "drift"}
        watching.close()
        experiment = succeed(store, desk, experiment, None, keep=False, why="changed").id
    whole = 4 * len(ARMS) / (alarms.ALPHA / 2)
    assert levels == pytest.approx([2 * whole, 6 * whole, 12 * whole])


def test_the_level_of_a_successor_does_not_come_back_when_those_before_it_are_deleted(desk, store):
    experiment = create(desk)
    for number in range(1, 4):
        before, experiment = experiment, succeed(store, desk, experiment, None, keep=False, why="more").id
        desk.set_status(before, "archived").result()
        desk.delete(before).result()
        assert alarms._number_of(store, experiment) == number
