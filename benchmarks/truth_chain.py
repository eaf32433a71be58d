"""What a chain claims of its options while calls are slow, lost and killed, and options come and go.

What it was before is as it was when calls were read in the order in which they ended.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import linkedbandits as lb
from linkedbandits.intervals import anytime_interval
from tools.claims import Claims, Row
from tools.slow_failures import SlowFailures, named_after_many_successors


def slow_failures(claims: Claims, runs: int = 40, calls: int = 4000) -> Iterator[Row]:
    """Means .8 and .6 that never change; failures take the time of 1,500 calls. Looked at every 250 calls."""
    alarmed = missed = looks = 0
    highest = 0.0

    async def run(seed: int) -> bool:
        nonlocal missed, looks, highest
        made = SlowFailures({"a": 0.8, "b": 0.6}, {"a", "b"}, 1500, seed, delta=0.05, parallel=4000, watch=0.2)
        heard = False
        for number in range(1, calls + 1):
            await made.call()
            if number % 250 == 0:
                heard |= bool(made.chain.alarms(0.01)) or made.chain.status().reopened > 0
                for estimate, mean in zip(made.chain.estimates(), (0.8, 0.6), strict=True):
                    if estimate.success is not None and estimate.tries >= 100:
                        looks += 1
                        missed += not estimate.success.low <= mean <= estimate.success.high
                        highest = max(highest, estimate.success.mean if mean == 0.8 else 0.0)
        await made.end()
        return heard

    for seed in range(runs):
        alarmed += asyncio.run(run(seed))
    claims.check(alarmed <= 2, "slow failures of options that never change raise no alarm")
    claims.check(missed == 0, "limits of estimates hold while slow failures are out")
    yield "slow failures: runs with a false alarm", "100 of 100", f"{alarmed} of {runs}"
    shown = f"at most {highest:.3f}; {missed} of {looks} limits miss"
    yield "slow failures: a true .8 is shown as", "1.0, limits .967 to 1.0, proved", shown


def killed(path: Path, seed: int, calls: int) -> None:
    """A process that makes so many calls and is killed, with what is running then."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return

    async def run() -> None:
        made = SlowFailures({"slow": 0.8, "quick": 0.8}, {"slow"}, 40, seed, state=path, delta=1e-9, reopen=None)
        for number in range(calls):
            if number % 2 == 0:
                made.chain.settle()
            await made.call()

    with suppress(BaseException):
        asyncio.run(run())
    os.kill(os.getpid(), signal.SIGKILL)


def estimates_of_an_experiment(claims: Claims) -> Iterator[Row]:
    """A thousand plays out at once; all successes are told, and no failure yet. The mean is .8."""
    exp = lb.Experiment("ab", lb.LinkedElimination(1e-9), linkage="single", parallel=4000)
    luck, plays = random.Random(1), [exp.ask() for _ in range(1000)]
    for play in plays:
        if luck.random() < 0.8:
            exp.tell(play.id, play.arms[0])
    limits = [anytime_interval(each.successes, each.samples, 0.05) for each in exp.estimates()]
    claims.check(all(low <= 0.8 <= high for low, high in limits), "estimates of an experiment leave out what is behind")
    shown = " and ".join(f"{low:.2f} to {high:.2f}" for low, high in limits)
    yield "an experiment with slow failures: limits of a true .8", ".99 to 1", shown


def kills(claims: Claims, most: int = 60) -> Iterator[Row]:
    """Two options that both work in .8; failures of one are slow. A process is killed every 100 calls."""
    with tempfile.TemporaryDirectory() as folder:
        path, spoke = Path(folder) / "chain.json", 0
        for number in range(1, most + 1):
            killed(path, number, 100)
            options = {"slow": str, "quick": str}
            if number % 5 == 0:
                with lb.Chain(options, state=path, delta=1e-9, reopen=None) as chain:
                    if any(alarm.kind == "losses" for alarm in chain.alarms()):
                        spoke = number
                        break
    claims.check(spoke > 0, "the alarm for losses speaks of killed processes")
    now = f"after {spoke} kills" if spoke else f"not within {most} kills"
    yield "killed every 100 calls: the alarm for losses speaks", "never", now


Loses = Callable[[int, random.Random, bool, bool], bool]
"""Is a play lost? From its number, luck, whether "slow" was tried and whether it failed."""


def named_though_they_tie(seed: int, loses: Loses) -> object:
    """Which of two equal options is named, if one is, where plays are lost by this rule?"""
    luck = random.Random(seed)
    exp = lb.Experiment(["slow", "quick"], lb.LinkedDuels(0.05), linkage="free", seed=seed)
    while not exp.done and exp.plays < 2000:
        play = exp.ask()
        hit, tried, failed = None, False, False
        for arm in play.arms:
            tried |= arm == "slow"
            if luck.random() < 0.8:
                hit = arm
                break
            failed |= arm == "slow"
        if loses(play.id, luck, tried, failed):
            exp.abandon(play.id)
        else:
            exp.tell(play.id, hit)
    return exp.recommend().arm if exp.done else None


def losses(claims: Claims, runs: int = 60) -> Iterator[Row]:
    """What stays so, and is said in the documents: a verdict where plays are lost because of how they went."""
    rules: dict[str, tuple[str, Loses]] = {
        "killed every 100 plays, failures of one take 20: one is named": (
            "27 %, called harmless",
            lambda play, luck, tried, failed: play % 100 >= 80 and failed,
        ),
        "one option loses 30 % of its attempts: one is named": (
            "47 %",
            lambda play, luck, tried, failed: tried and luck.random() < 0.3,
        ),
        "30 % of plays are lost whatever they do: one is named": (
            "-",
            lambda play, luck, tried, failed: luck.random() < 0.3,
        ),
    }
    for what, (before, loses) in rules.items():
        named = sum(named_though_they_tie(seed, loses) is not None for seed in range(runs))
        if before == "-":
            claims.check(named <= 0.05 * runs + 5, "losses that do not depend on outcomes do no harm")
        yield f"tie .8/.8, delta 5 %, {what}", before, f"{named / runs:.0%}"


def levels(claims: Claims, experiments: int = 5) -> Iterator[Row]:
    """One option is lost in each of several experiments of a chain: what level is spent on its alarms in all?"""

    def lost() -> None:
        raise KeyError

    def fails() -> None:
        raise ConnectionError

    chain, spent = lb.Chain({"a": lost, "b": fails, "c": fails}, failures=OSError, delta=1e-9), 0.0
    for number in range(experiments):
        for _ in range(300):
            with suppress(lb.ChainFailed, KeyError):
                chain()
        found = [alarm.level for alarm in chain.alarms(0.01) if isinstance(alarm, lb.chain.LossAlarm)]
        spent += len(chain.options) / found[0] if found else 0.0
        chain.add(f"new {number}", fails, keep=False)
    claims.check(0 < spent <= 0.01, "a chain has one alarm level over all its experiments")
    yield f"level of the alarm for losses over {experiments} experiments", "0.005 in each", f"{spent:.4f} in all"


def successors(claims: Claims, runs: int = 40) -> Iterator[Row]:
    """.5 against .55 at delta .1; after every five plays another experiment goes on; failures of one are slow."""

    wrong = sum(named_after_many_successors(seed, {"slow": 0.5, "quick": 0.55}) == "slow" for seed in range(runs))
    claims.check(wrong <= 0.1 * runs + 4, "successors are wrong no more often than their delta")
    yield (
        "successors: the worse option is named (delta 10 %)",
        "80 % (16 of 20)",
        f"{wrong / runs:.0%} ({wrong} of {runs})",
    )


MEASURES = (slow_failures, estimates_of_an_experiment, kills, losses, levels, successors)
