"""Many threads on one experiment: every play is handed out once, and every answer counted once."""

from __future__ import annotations

import copy
import pickle
import sys
import threading
from contextlib import suppress

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.live.answers import NO_HIT, WAITING
from tools.waiting import join, within

THREADS = 8
MEANS = (0.2, 0.45, 0.4, 0.3)


@pytest.fixture(autouse=True)
def threads_take_turns_often():
    """A thread may lose its turn after any instruction, so that what is not guarded goes wrong soon."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Player(threading.Thread):
    """Asks and tells until the verdict; gives up one play in ten, and looks at the experiment now and then."""

    def __init__(self, exp: lb.Experiment, number: int) -> None:
        super().__init__(daemon=True)
        self.exp = exp
        self.coins = np.random.default_rng(number)
        self.asked: list[int] = []
        self.told: list[tuple[lb.Play, object, str]] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.exp.done:
                with suppress(lb.ExperimentFinished, lb.TooManyInFlight):
                    self.play_once()
        except BaseException as error:
            self.error = error

    def play_once(self) -> None:
        play = self.exp.ask()
        self.asked.append(play.id)
        if len(self.asked) % 10 == 3:
            self.exp.abandon(play.id)
            return
        hit = next((arm for arm in play.arms if self.coins.random() < MEANS[arm]), None)
        self.told.append((play, hit, self.exp.tell(play.id, hit)))
        if len(self.asked) % 25 == 7:
            assert sum(estimate.successes for estimate in self.exp.estimates()) <= self.exp.plays
            read = lb.Experiment.from_json(self.exp.to_json())
            assert read.recommend().plays <= self.exp.plays


@pytest.mark.parametrize("linkage", list(LINKAGES))
def test_eight_threads_play_one_experiment_to_its_verdict(linkage):
    exp = lb.Experiment(range(4), lb.LinkedElimination(delta=1e-9), linkage=linkage, max_plays=600)
    players = [Player(exp, number) for number in range(THREADS)]
    for player in players:
        player.start()
    join(*players)
    assert [player.error for player in players] == [None] * THREADS
    asked = [play for player in players for play in player.asked]
    assert sorted(asked) == list(range(len(asked)))
    told = [each for player in players for each in player.told]
    expected = np.zeros((4, 2), dtype=int)
    for play, hit, _ in told:
        tried = play.arms if hit is None else play.arms[: play.arms.index(hit) + 1]
        expected[list(tried), 0] += 1
        if hit is not None:
            expected[hit, 1] += 1
    assert [[estimate.samples, estimate.successes] for estimate in exp.estimates()] == expected.tolist()
    assert exp.plays == len(told)
    assert exp.late == sum(receipt == "late" for _, _, receipt in told)
    assert exp.recommend().plays == exp.plays - exp.late == 600
    assert exp.in_flight == 0


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda exp: pickle.loads(pickle.dumps(exp))], ids=["copy", "pickle"])
def test_a_copy_made_while_others_play_is_whole(copied):
    exp = lb.Experiment(range(4), lb.LinkedElimination(delta=1e-9), max_plays=2_000)
    players = [Player(exp, number) for number in range(4)]
    for player in players:
        player.start()
    for _ in within(iter(lambda: any(player.is_alive() for player in players), False), "the end of the experiment"):
        other = copied(exp)
        answers = [other.answers[play] for play in range(len(other.answers))]
        assert other.plays == sum(answer >= NO_HIT for answer in answers)
        assert other.in_flight == answers.count(WAITING)
        assert sum(each.successes for each in other.estimates()) <= other.plays
    join(*players)
    assert [player.error for player in players] == [None] * 4
    assert copied(exp).to_json() == exp.to_json()
