"""An experiment in memory: nobody waits, nothing is lost."""

from __future__ import annotations

import os
import threading

import pytest

import linkedbandits as lb
from linkedbandits.chain import in_memory
from linkedbandits.chain.in_memory import InMemory
from linkedbandits.chain.troubles import Troubles
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, join


def home_of(policy=None, lease: float = 60.0, clock=None) -> InMemory:
    policy = policy or lb.LinkedDuels(0.05)
    experiment = lb.Experiment(["a", "b", "c"], policy, linkage="free", whole_chains=True)
    return InMemory(experiment, lease, clock or ManualClock(), Troubles())


def play_until_done(home: InMemory, best: str = "b") -> None:
    while home.verdict is None:
        play = home.take()
        home.tell(play, best if best in play.arms else None)


def test_it_plays_like_an_experiment_of_its_own():
    home, plain = home_of(), lb.Experiment(["a", "b", "c"], lb.LinkedDuels(0.05), linkage="free", whole_chains=True)
    while not plain.done:
        mine, its = plain.ask(), home.take()
        assert mine == its
        hit = "b" if "b" in mine.arms and mine.id % 4 else None
        plain.tell(mine.id, hit)
        home.tell(its, hit)
    assert home.verdict == plain.recommend()
    assert home.order[0] == "b"
    assert home.take() is None


def test_while_another_is_at_it_there_is_no_play_and_answers_are_left_behind():
    home = home_of()
    first, second = home.take(), home.take()
    assert home._answers.hold()
    found = []

    def call():
        found.append(home.take())
        home.tell(first, "a" if "a" in first.arms else None)
        home.lose(second)

    thread = threading.Thread(target=call)
    thread.start()
    join(thread)
    assert found == [None]
    assert (home.condition().waiting, home.experiment.plays, home.experiment.in_flight) == (2, 0, 2)
    home._answers.release()
    assert (home.condition().waiting, home.experiment.plays, home.experiment.in_flight) == (0, 1, 0)


def test_a_play_that_is_out_for_too_long_is_given_up_and_its_answer_is_late():
    clock = ManualClock()
    home = home_of(lease=10.0, clock=clock)
    slow = home.take()
    clock.now += 9.0
    quick = home.take()
    assert (home.condition().out, home.condition().expired) == (2, 0)
    clock.now += 1.5
    home.take()
    assert (home.condition().out, home.condition().expired) == (2, 1)
    home.tell(slow, None)
    home.tell(quick, None)
    assert home.experiment.late == 1


def test_plays_of_a_budget_run_out_without_an_error():
    home = home_of(lb.UniformSampling(samples=2))
    plays = []
    while (play := home.take()) is not None and len(plays) < 1000:
        plays.append(play)
    for play in plays:
        home.tell(play, None)
    assert home.verdict is None or home.verdict.status == "exhausted"


def test_an_answer_that_the_experiment_refuses_is_noted(caplog):
    home = home_of()
    play = home.take()
    home.tell(play, None)
    home.tell(play, play.arms[0])
    assert home._troubles.last.startswith("the experiment: ConflictingTell")
    assert home.take() is not None


def test_an_experiment_that_is_done_has_its_verdict_at_once():
    home = home_of()
    play_until_done(home)
    again = InMemory(home.experiment, 60.0, ManualClock(), Troubles())
    assert again.verdict == home.verdict
    assert again.order[0] == "b"


def test_the_order_follows_what_was_told():
    home = home_of(lb.LinkedDuels(1e-9))
    for _ in range(30):
        play = home.take()
        home.tell(play, "c" if "c" in play.arms else None)
    assert home.order[0] == "c"
    home.settle()
    assert home.attempts().requests == 30
    assert home.alarms() == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_goes_on_with_a_copy_of_its_own():
    home = home_of()
    out = home.take()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = b"failed"
        try:
            given_up = home.experiment.in_flight == 0
            play = home.take()
            home.tell(play, None)
            said = b"learned" if given_up and home.experiment.plays == 1 else b"did not"
        finally:
            os.write(writing, said)
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 100) == b"learned"
    os.close(reading)
    os.close(writing)
    home.tell(out, None)
    assert (home.experiment.plays, home.experiment.late) == (1, 0)


def test_a_fork_waits_for_whoever_is_at_it():
    home = home_of()
    assert home._answers.hold()
    began, ended = threading.Event(), threading.Event()

    def fork():
        began.set()
        home.before_fork()
        ended.set()

    thread = threading.Thread(target=fork)
    thread.start()
    assert began.wait(SECONDS)
    assert not ended.is_set()
    home._answers.release()
    join(thread)
    assert home.take() is None
    home.after_fork_in_parent()
    assert home.take() is not None


def taken_while_busy(home: InMemory) -> lb.Play | None:
    """What a call gets while another is at the experiment."""
    assert home._answers.hold()
    try:
        return home.take()
    finally:
        home._answers.release()


def test_plays_are_asked_ahead_where_calls_have_found_none():
    home = home_of()
    assert taken_while_busy(home) is None
    first = home.take()
    assert (first.id, len(home._ahead), home.experiment.in_flight) == (0, 0, 1)  # the one asked ahead is taken first
    for _ in range(4):
        taken_while_busy(home)
    out = [first, home.take()]
    assert len(home._ahead) == in_memory.AT_A_TIME - 1
    out.append(taken_while_busy(home))
    assert out[-1].id == 2
    out += [home.take() for _ in range(20)]
    assert 15 < len(home._ahead) <= 31  # 1, 3, 7, 15 and 31 were wanted
    for play in out:
        home.tell(play, None)
    for _ in range(40 * in_memory.FEWER_AFTER):
        home.tell(home.take(), None)
    assert len(home._ahead) == 0


def test_plays_that_were_asked_ahead_and_given_up_are_not_handed_out():
    clock = ManualClock()
    home = home_of(lease=10.0, clock=clock)
    for _ in range(4):
        taken_while_busy(home)
    home.take()
    old = [play.id for play in home._ahead]
    clock.now += 11.0
    assert home.take().id not in old
    assert home.condition().expired == 1 + len(old)


def test_closing_gives_back_what_was_asked_ahead():
    home = home_of()
    for _ in range(4):
        taken_while_busy(home)
    home.tell(home.take(), None)
    assert home.experiment.in_flight > 0
    home.close()
    assert home.experiment.in_flight == 0
