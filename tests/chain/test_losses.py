"""An alarm where options differ in how often their attempts are lost."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.attempts.losses import Losses, loss_alarms
from linkedbandits.chain.in_order import InOrder
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


def test_a_play_is_lost_in_the_option_that_it_tried_last():
    losses = Losses("abc")
    losses.add(("a", "b"), lost=True)
    losses.add(("b",), lost=False)
    losses.add((), lost=True)
    assert (losses.attempts, losses.lost) == ({"a": 1, "b": 2, "c": 0}, {"a": 0, "b": 1, "c": 0})


def hanging_runs(rng: np.random.Generator, in_order: bool) -> bool:
    """Is there an alarm? One in twenty plays hangs, whatever it tries; "b" is tried from the 3,000th second on.

    A play begins each second, and one that hangs is lost after 500. They are looked at every 100 seconds.
    """
    clock, losses = ManualClock(0.0), Losses("ab")
    order: InOrder[str] = InOrder(lambda option, in_time: losses.add(option, lost=not in_time), 500.0, clock)
    late: list[tuple[float, str]] = []
    for second in range(3600):
        clock.now = float(second)
        option = "b" if second >= 3000 else "a"
        hangs = rng.random() < 0.05
        if in_order:
            ticket = order.begin(option)
            if not hangs:
                order.end(ticket)
        elif hangs:  # what would be if it counted when it is lost
            late.append((second + 500.0, option))
        else:
            losses.add(option, lost=False)
        while late and late[0][0] <= second:
            losses.add(late.pop(0)[1], lost=True)
        if second % 100 == 0 and loss_alarms(losses.attempts, losses.lost, 0.2):
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


KILLED = """
import asyncio, os, random, sys
import linkedbandits as lb

luck, failing = random.Random(int(sys.argv[2])), []

async def slow():  # its failures take until the process is killed
    if luck.random() < 0.6:
        return "slow"
    failing.append(None)
    if len(failing) == 5:
        os.kill(os.getpid(), 9)
    await asyncio.Event().wait()

async def quick():
    return "quick"

chain = lb.Chain({"slow": slow, "quick": quick}, state=sys.argv[1], delta=1e-9, reopen=None)

async def calls():
    running = []
    while True:
        chain.settle()
        running.append(asyncio.ensure_future(chain.acall()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

asyncio.run(calls())
"""


def run_until_killed(path, program: str, seed: int = 1) -> int:
    return subprocess.run(
        [sys.executable, "-c", program, str(path), str(seed)], timeout=SECONDS, check=False
    ).returncode


def test_plays_of_a_killed_process_reach_the_alarm_for_losses(tmp_path):
    """Each process dies in failures of one option, and leaves no word of them but that the plays had begun."""
    path = tmp_path / "chain.json"
    assert {run_until_killed(path, KILLED, seed) for seed in range(5)} == {-9}
    options = {"slow": lambda: "slow", "quick": lambda: "quick"}
    with lb.Chain(options, state=path, delta=1e-9, reopen=None) as chain:
        found = {alarm.option: alarm for alarm in chain.alarms() if alarm.kind == "losses"}
        plays, lost = chain._home.losses()
    assert lost == {"slow": 25, "quick": 0}
    assert sum(plays.values()) > 80
    assert found["slow"].sentence.startswith("Plays that begin with 'slow' are lost more often")


def test_plays_that_a_killed_process_had_asked_ahead_are_not_lost(tmp_path):
    path = tmp_path / "chain.json"
    assert run_until_killed(path, KILLED.replace("asyncio.run(calls())", "os.kill(os.getpid(), 9)")) == -9
    head = json.loads(path.read_text().partition("\n")[0])
    assert len(head["out"]) >= 4
    with lb.Chain({"slow": str, "quick": str}, state=path, delta=1e-9, reopen=None) as chain:
        assert chain._home.losses() == ({"slow": 0, "quick": 0}, {"slow": 0, "quick": 0})
