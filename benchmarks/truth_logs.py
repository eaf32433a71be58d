"""What verdicts from logs claim, measured: cut-off requests, told differences, policies without a bound, second looks.

Claims: duels of a log with requests that were cut off are refused by every door; what was told is listed; a report is
proved only with an error bound; and two looks at one log are wrong no more often than the bound that covers them says.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import linkedbandits as lb
from tools.claims import Claims, Row

LOGS = 25
REQUESTS = 4_000
DELTA = 0.05
CUT_OFF = 0.3
"""Of the failures of option a, where it is first."""
LEVEL = 0.1
"""Of each of two looks,"""
RUNS = 300
MEANS = (0.5, 0.499)
"""at these options: which is better is hardly ever found out, so what is named is mostly chance."""
LOGGED = 1_000
LIVE = 3_000
"""Plays at most."""
Plays = list[tuple[tuple[str, ...], str | None]]


def plays_of(means: tuple[float, float], requests: int, seed: int) -> Plays:
    """Two options in random orders; whether one works says nothing of the other."""
    rng = np.random.default_rng(seed)
    found: Plays = []
    for works, first in zip(rng.random((requests, 2)) < means, rng.integers(2, size=requests).tolist(), strict=True):
        order = (first, 1 - first)
        hit = next((option for option in order if works[option]), None)
        found.append((("ab"[order[0]], "ab"[order[1]]), None if hit is None else "ab"[hit]))
    return found


def cut_off(plays: Plays, seed: int) -> Plays:
    """The same, but some failures of a end their request."""
    chance = np.random.default_rng(seed).random(len(plays))
    return [
        (("a",), None) if order[0] == "a" != hit and drawn < CUT_OFF else (order, hit)
        for (order, hit), drawn in zip(plays, chance, strict=True)
    ]


def of_cut_off_requests(claims: Claims) -> Iterator[Row]:
    """Ties at .5: how often a is named, from duels and from first attempts, by a verdict and by an experiment."""
    left_out = refused = begun = first = warm = 0
    for seed in range(LOGS):
        plays = cut_off(plays_of((0.5, 0.5), REQUESTS, seed), 1_000 + seed)
        log = lb.Attempts.from_plays(plays, options="ab")
        rest = lb.Attempts.from_plays([play for play in plays if len(play[0]) > 1], options="ab")
        left_out += _names_a(rest.verdict(delta=DELTA, attempts="duels").verdict)
        refused += _refuses(partial(log.verdict, delta=DELTA, attempts="duels"))
        begun += not _refuses(partial(lb.Experiment, "ab", lb.LinkedDuels(DELTA), log=log, log_attempts="duels"))
        first += _names_a(log.verdict(delta=DELTA).verdict)
        exp = lb.Experiment("ab", lb.LinkedElimination(DELTA), linkage="single", log=log)
        warm += exp.done and exp.recommend().arm == "a"
    claims.check(left_out > LOGS / 2, "to leave out requests that were cut off misleads duels, or nothing is measured")
    claims.check(refused == LOGS and begun == 0, "duels are refused where requests were cut off")
    claims.check(first + warm <= 2 * DELTA * LOGS + 6, "first attempts are not touched by requests that were cut off")
    yield "cut-off requests left out, duels: a is named", f"21 of {LOGS}", f"{left_out} of {LOGS}, if done by hand"
    yield "duels from such a log, verdict", "read", f"refused {refused} of {LOGS}"
    yield "duels from such a log, experiment", "read", f"begun {begun} of {LOGS}"
    yield "first attempts of it, verdict: a is named", "-", f"{first} of {LOGS}"
    yield "first attempts of it, experiment: a is named", "-", f"{warm} of {LOGS}"


def of_told_differences(claims: Claims) -> Iterator[Row]:
    """Ties, and a gap of .3 is told."""
    decided = listed = 0
    for seed in range(LOGS):
        log = lb.Attempts.from_plays(plays_of((0.5, 0.5), REQUESTS, seed), options="ab")
        report = log.verdict(lb.LinkedDuels(DELTA, gap=0.3), attempts="duels")
        decided += report.verdict is not None
        listed += report.verdict is not None and "told difference" in report.verdict.assumes
    claims.check(listed == decided > 0, "a told difference is listed in what a verdict assumes")
    yield "duels told a gap of .3, ties: it is listed", "never", f"{listed} of {decided} verdicts"


def of_policies_without_a_bound(claims: Claims) -> Iterator[Row]:
    """On a log that is easily decided."""
    plays = plays_of((0.95, 0.2), 30_000, seed=1)
    log = lb.Attempts.from_plays(plays, options="ab")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.csv"
        path.write_text("order,hit\n" + "".join(f"{'>'.join(order)},{hit or ''}\n" for order, hit in plays))
        for written, policy in (
            ("lil-ucb", lb.LilUCB(DELTA)),
            ("linked-ege", lb.LinkedEGE(DELTA)),
            ("uniform-sampling:calibration=plain", lb.UniformSampling(delta=DELTA, calibration="plain")),
        ):
            report = log.verdict(policy)
            status = _status_of("verdict", str(path), "--policy", written)
            named = report.verdict is not None and report.verdict.status == "confident"
            claims.check(named and not report.proved and status == 3, f"{written} proves nothing")
            yield f"{written}: proved, exit status", "True, 0", f"{report.proved}, {status}"


def of_second_looks(claims: Claims) -> Iterator[Row]:
    """A verdict is asked of a log, and where it does not decide an experiment goes on from it."""
    wrong = 0
    stated: set[float | None] = set()
    for seed in range(RUNS):
        log = lb.Attempts.from_plays(plays_of(MEANS, LOGGED, seed), options="ab")
        verdict = log.verdict(delta=LEVEL).verdict
        if verdict is None:
            exp = lb.Experiment("ab", lb.LinkedElimination(LEVEL), linkage="single", log=log, max_plays=LIVE)
            rng = np.random.default_rng(10_000 + seed)
            while not exp.done:
                play = exp.ask()
                exp.tell(play.id, next((arm for arm in play.arms if rng.random() < MEANS["ab".index(arm)]), None))
            verdict = exp.recommend()
            stated |= {verdict.error_bound} if verdict.proved else set()
        wrong += verdict.proved and verdict.arm != "a"
    bound = max(each for each in stated if each is not None)
    claims.check(stated == {2 * LEVEL}, "the error bound covers both looks")
    claims.check(wrong <= bound * RUNS, "two looks are wrong no more often than their bound says")
    yield "two looks at a log: bound stated, wrong", f"{LEVEL:g}", f"{bound:g}, {100 * wrong / RUNS:.1f} % of {RUNS}"
    log = lb.Attempts.from_plays(plays_of((0.9, 0.3), LOGGED, seed=0), options="ab")
    log.verdict(lb.LinkedElimination(LEVEL))
    same = lb.Experiment("ab", lb.LinkedElimination(LEVEL), linkage="single", log=log).recommend().error_bound
    claims.check(same == LEVEL, "the same rule goes on with the same look")
    yield "the same rule goes on: bound stated", f"{LEVEL:g}", f"{same:g}"


def _refuses(call: Callable[[], object]) -> bool:
    try:
        call()
    except lb.InvalidAttempts:
        return True
    return False


def _names_a(verdict: lb.Verdict | None) -> bool:
    return verdict is not None and verdict.arm == "a"


def _status_of(*arguments: str) -> int:
    command = [sys.executable, "-m", "linkedbandits", *arguments]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False, timeout=120).returncode


MEASURES = (of_cut_off_requests, of_told_differences, of_policies_without_a_bound, of_second_looks)
