"""An alarm where options differ in how often their attempts are lost."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.chain.losses import Losses, loss_alarms
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, until


def alarmed(lost: np.ndarray, option: np.ndarray, alpha: float) -> bool:
    """Is there an alarm at any of many looks?"""
    for end in np.unique(np.geomspace(10, lost.size, 25).astype(int)):
        attempts = {label: int((option[:end] == label).sum()) for label in range(3)}
        gone = {label: int(lost[:end][option[:end] == label].sum()) for label in range(3)}
        if loss_alarms(attempts, gone, alpha):
            return True
    return False


@pytest.mark.statistical
def test_false_alarms_are_at_most_alpha_at_any_time():
    """At 0.2: of 100 runs more than 31 with an alarm have probability 0.003 if each has 0.2; it is far below."""
    rng = np.random.default_rng(1)
    runs = 100
    false = sum(alarmed(rng.random(2000) < 0.1, rng.integers(3, size=2000), 0.2) for _ in range(runs))
    assert false <= 31


@pytest.mark.statistical
def test_options_that_differ_are_noticed():
    """With 1, 1 and 5 percent lost of 3,000 attempts the evidence is 10^10 or so; it fails with less than 10^-4."""
    rng = np.random.default_rng(2)
    option = rng.integers(3, size=9000)
    lost = rng.random(9000) < np.array([0.01, 0.01, 0.05])[option]
    attempts = {label: int((option == label).sum()) for label in range(3)}
    gone = {label: int(lost[option == label].sum()) for label in range(3)}
    found = {alarm.option: alarm for alarm in loss_alarms(attempts, gone, 0.01)}
    assert "more often" in found[2].sentence
    assert found[2].kind == "losses"
    assert found[2].lost.mean > 0.03 > found[2].others.mean
    assert str(found[2]).startswith(found[2].sentence)
    assert "timeout" in str(found[2])


def test_the_level_is_shared_among_the_options():
    attempts, gone = {"a": 400, "b": 400}, {"a": 0, "b": 40}
    (one, other) = loss_alarms(attempts, gone, 0.01)
    assert one.level == other.level == 200
    assert loss_alarms(attempts, gone, 2 * 10**-one.log10_evidence / 1.01) == ()
    assert loss_alarms(attempts, gone, 2 * 10**-one.log10_evidence * 1.01) != ()


def test_nothing_lost_is_no_alarm():
    assert loss_alarms({"a": 0, "b": 0}, {"a": 0, "b": 0}, 0.01) == ()
    assert loss_alarms({"a": 1000, "b": 10}, {"a": 0, "b": 0}, 0.01) == ()


def test_attempts_count_in_the_order_in_which_plays_began():
    losses = Losses("ab", 60.0, ManualClock())
    first, second, third = (losses.begin([option]) for option in "aab")
    losses.end(second, lost=True)
    losses.end(third, lost=False)
    assert losses.counts() == ({"a": 0, "b": 0}, {"a": 0, "b": 0})
    losses.end(first, lost=False)
    assert losses.counts() == ({"a": 2, "b": 1}, {"a": 1, "b": 0})


def test_a_play_that_is_out_for_longer_than_its_lease_is_lost_in_what_it_is_at():
    clock = ManualClock()
    losses = Losses("abc", 60.0, clock)
    tried = ["a"]
    play = losses.begin(tried)
    tried.append("b")
    clock.now += 61.0
    assert losses.counts() == ({"a": 1, "b": 1, "c": 0}, {"a": 0, "b": 1, "c": 0})
    tried.append("c")
    losses.end(play, lost=False)  # it has come back after all, too late
    assert losses.counts() == ({"a": 1, "b": 1, "c": 0}, {"a": 0, "b": 1, "c": 0})


def test_what_ends_after_its_lease_is_lost_though_it_was_not_noticed_before():
    clock = ManualClock()
    losses = Losses("ab", 60.0, clock)
    play = losses.begin(["a"])
    clock.now += 61.0
    losses.end(play, lost=False)
    assert losses.counts() == ({"a": 1, "b": 0}, {"a": 1, "b": 0})


def test_a_call_does_not_count_all_that_waited_behind_one_that_hung():
    clock = ManualClock()
    losses = Losses("ab", 60.0, clock)
    losses.begin(["a"])
    for _ in range(1000):
        losses.end(losses.begin(["b"]), lost=False)
    clock.now += 61.0
    losses.end(losses.begin(["b"]), lost=False)
    assert len(losses._plays) > 900
    assert losses.counts() == ({"a": 1, "b": 1001}, {"a": 1, "b": 0})


def hanging_runs(rng: np.random.Generator, in_order: bool) -> bool:
    """Is there an alarm? One in twenty plays hangs, whatever it tries; "b" is tried from the 3,000th second on.

    A play begins each second, and one that hangs is lost after 500. They are looked at every 100 seconds.
    """
    clock = ManualClock(0.0)
    losses = Losses("ab", 500.0 if in_order else 1e9, clock)
    late: list[tuple[float, object]] = []
    for second in range(3600):
        clock.now = float(second)
        play = losses.begin(["b" if second >= 3000 else "a"])
        if rng.random() < 0.05:
            if not in_order:  # what would be if it counted when it is lost: it leaves the line now, and comes later
                late.append((second + 500.0, losses._plays.pop()))
        else:
            losses.end(play, lost=False)
        while late and late[0][0] <= second:
            losses._plays.append(late[0][1])
            losses.end(late.pop(0)[1], lost=True)
        if second % 100 == 0 and loss_alarms(*losses.counts(), 0.2):
            return True
    return False


@pytest.mark.statistical
def test_options_that_hang_as_often_as_others_raise_no_alarm_though_losses_come_late():
    """At 0.2: of 25 runs more than 12 with an alarm have probability 0.0004 if each has 0.2; it is far below.

    In the order in which plays end there would be an alarm in nearly all of them: 500 attempts of "b" with no loss.
    """
    rng = np.random.default_rng(3)
    assert sum(hanging_runs(rng, in_order=True) for _ in range(25)) <= 12
    assert sum(hanging_runs(rng, in_order=False) for _ in range(5)) >= 4


@pytest.mark.parametrize("where", ["memory", "file"])
def test_an_option_that_hangs_for_ever_raises_an_alarm(where, tmp_path):
    """Where its calls never come back: 40 of them, each in a thread, and "b" works at once."""
    clock, hang = ManualClock(), threading.Event()
    begun = []

    def hangs():
        begun.append(None)
        hang.wait(SECONDS)
        raise ConnectionError

    state = None if where == "memory" else tmp_path / "chain.json"
    options = {"a": hangs, "b": lambda: "b"}
    with lb.Chain(options, state=state, clock=clock, parallel=200, reopen=None) as chain:
        threads: list[threading.Thread] = []

        def call():
            before = len(begun)
            thread = threading.Thread(target=chain, daemon=True)
            thread.start()
            until(lambda: not thread.is_alive() or len(begun) > before, "a call to begin")
            threads.append(thread)

        until(lambda: call() or (len(begun) >= 40 and chain.status().plays >= 40), "plays")
        assert not [alarm for alarm in chain.alarms() if alarm.kind == "losses"]
        clock.now += 61.0
        found = {alarm.option: alarm for alarm in chain.alarms() if alarm.kind == "losses"}
        hang.set()
        for thread in threads:
            thread.join(SECONDS)
    assert found["a"].lost.mean > 0.9
    assert "'a' are lost more often" in found["a"].sentence


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_wait_for_plays_of_its_parent():
    losses = Losses("ab", 60.0, ManualClock())
    losses.begin(["a"])
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        losses.end(losses.begin(["b"]), lost=True)
        os.write(writing, str(losses.counts()).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 100) == b"({'a': 0, 'b': 1}, {'a': 0, 'b': 1})"
    os.close(reading)
    os.close(writing)
