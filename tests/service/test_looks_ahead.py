"""A look ahead in one experiment is waited for by those who ask of it, and by nobody else; it changes no play."""

from __future__ import annotations

import random
import threading

import pytest

import linkedbandits as lb
from linkedbandits.live import run as live_run
from linkedbandits.service.background import Background
from linkedbandits.service.desk import Desk
from tests.support.service_parts import SETUP, create, state_of
from tools.waiting import SECONDS, until

MEANS = {"north": 0.4, "east": 0.85, "south": 0.3}
LOST = 0  # the play that is never answered


class Slow:
    """Looks ahead that take until they are let go on; where each was taken."""

    def __init__(self, monkeypatch):
        self.threads = []
        self.begun, self.go_on = threading.Event(), threading.Event()
        look_ahead = live_run.look_ahead

        def slow(*of):
            self.threads.append(threading.current_thread().name)
            self.begun.set()
            assert self.go_on.wait(SECONDS)
            return look_ahead(*of)

        monkeypatch.setattr(live_run, "look_ahead", slow)


@pytest.fixture
def slow(monkeypatch):
    return Slow(monkeypatch)


def hit_of(play, chance):
    return next((arm for arm in play.arms if chance.random() < MEANS[arm]), None)


def ask_until_it_looks(desk, experiment, slow, chance):
    """Play until an ask takes a look ahead, which waits; that ask, and the plays before it."""
    plays = []
    for _ in range(2_000):
        asked = desk.ask(experiment)
        until(lambda asked=asked: asked.done() or slow.begun.is_set(), "a play, or a look for one")
        if slow.begun.is_set():
            return asked, plays
        (play,) = asked.result().plays
        plays.append(play)
        if play.id != LOST:
            desk.tell(experiment, [(play.id, hit_of(play, chance))]).result()
    raise AssertionError("there was no look")


def test_only_those_who_ask_of_the_same_experiment_wait_for_a_look(desk, slow):
    experiment, other = create(desk), create(desk)
    asked, plays = ask_until_it_looks(desk, experiment, slow, random.Random(1))
    told = desk.tell(experiment, [(plays[-1].id, "east"), (LOST, "east")])
    for _ in range(3):  # the desk is free
        (play,) = desk.ask(other).result().plays
        desk.tell(other, [(play.id, "north")]).result()
        assert desk.read(experiment, lambda hosted: hosted.head).result() > 0
        desk.expire().result()
    assert not asked.done()
    assert not told.done()
    assert slow.threads == ["background_0"]
    slow.go_on.set()
    assert asked.result().plays[0].id == len(plays)
    assert told.result().receipts
    assert "desk" not in slow.threads


def test_plays_are_those_of_an_experiment_in_process_and_of_the_journal(store, clock, slow):
    slow.go_on.set()
    here = lb.Experiment(SETUP.arms, lb.LinkedElimination(delta=0.05))
    chance = random.Random(2)
    with Desk(store, clock=clock) as desk:
        experiment = create(desk)
        desk.ask(experiment).result()
        here.ask()
        asked = 1
        while asked < 400 and not here.done:
            plays = desk.ask(experiment, 25).result().plays
            assert plays == tuple(here.ask() for _ in plays)
            asked += len(plays)
            answers = [(play.id, hit_of(play, chance)) for play in plays if play.id != LOST]
            if answers:
                receipts = desk.tell(experiment, answers).result().receipts
                assert receipts == tuple(here.tell(play, hit) for play, hit in answers)
        state = state_of(desk, experiment)
    assert any(name.startswith("background") for name in slow.threads)
    assert "desk" not in slow.threads  # also where a batch takes several looks
    with Desk(store, clock=clock) as desk:  # by the snapshot
        assert state_of(desk, experiment) == state
    with store.writing() as tables:
        tables._run("DELETE FROM snapshots")
        tables._run("DELETE FROM answers")
    with Desk(store, clock=clock) as desk:  # by the whole journal
        assert state_of(desk, experiment) == state


def test_a_look_in_vain_is_taken_again_where_the_play_is_handed_out(desk, monkeypatch):
    experiment, vain = create(desk), []
    monkeypatch.setattr(live_run.Run, "foresee", lambda run: vain.append(1))
    chance = random.Random(1)
    for number in range(60):
        (play,) = desk.ask(experiment).result().plays
        assert play.id == number
        if play.id != LOST:
            desk.tell(experiment, [(play.id, hit_of(play, chance))]).result()
    assert vain


def test_one_that_fails_is_told_to_who_asked(desk, monkeypatch):
    experiment, chance = create(desk), random.Random(1)
    look_ahead = live_run.look_ahead

    def fail(*_):
        raise ZeroDivisionError("futures")

    def play_on():
        for _ in range(2_000):
            (play,) = desk.ask(experiment).result().plays
            if play.id != LOST:
                desk.tell(experiment, [(play.id, hit_of(play, chance))]).result()

    monkeypatch.setattr(live_run, "look_ahead", fail)
    with pytest.raises(ZeroDivisionError):
        play_on()
    monkeypatch.setattr(live_run, "look_ahead", look_ahead)
    assert desk.ask(experiment).result().plays


def test_a_desk_that_stops_meanwhile_answers_all_who_wait(store, slow):
    desk = Desk(store)
    desk.start()
    experiment = create(desk)
    asked, plays = ask_until_it_looks(desk, experiment, slow, random.Random(1))
    more = [desk.ask(experiment, 3) for _ in range(3)]
    stopping = threading.Thread(target=desk.stop)
    stopping.start()
    slow.go_on.set()
    stopping.join(SECONDS)
    assert asked.result().plays[0].id == len(plays)
    assert all(future.result().plays for future in more)


def test_with_nothing_to_wait_for_there_is_nothing_to_end():
    looks = Background(lambda _: None)
    assert "x" not in looks
    assert looks.end("x") == []
    assert looks.close() == []
