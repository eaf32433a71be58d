"""Fallback chains: what a call costs, that none waits and none is lost, and that killed processes lose nothing.

Requests are rows of a table of eight real solvers, drawn at random, so that options fail together as they really did.
``CALLS=1000000`` makes that many instead of fewer.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from time import perf_counter, sleep

import numpy as np
from scipy.stats import beta

import linkedbandits as lb
from tools.chain_kills import rounds_of_kills
from tools.claims import CONFIDENCE, Claims

CALLS = int(os.environ.get("CALLS", "40000"))
ROUNDS = int(os.environ.get("ROUNDS", "100"))
DELTA = 0.05
THREADS = 64
AT_ONCE = 1000
PAUSE = 0.002
"""Seconds that an attempt takes in threads and tasks."""
RUNS = int(os.environ.get("RUNS", "100"))
VERDICT_DELTA = 0.1
IN_FLIGHT = 32
CLEAR = 0.04
MOST_OPTIONS = 8
MOST_CALLS = 300_000
"""Runs until a verdict: how many for each table, of which options, and how long at most."""
NEVER = 1e-150
"""A delta that is not reached, so that all calls are plays."""


def table() -> lb.OutcomeTable:
    """Eight solvers, without two near copies of others."""
    whole = lb.OutcomeTable.read(Path(__file__).parent / "data" / "smt-solvers-nra.csv")
    return whole.only([option for option in whole.options if option not in ("Z3++-fixed", "2019-Par4")])


def requests(of: lb.OutcomeTable, seed: int) -> Iterator[list[bool]]:
    """What every option does on a request: random rows, without end."""
    rng = np.random.default_rng(seed)
    rows, weights = of.chances.astype(bool), of.counts / of.counts.sum()
    while True:
        yield from rows[rng.choice(len(rows), size=10_000, p=weights)].tolist()


def options(of: lb.OutcomeTable, pause: float = 0.0) -> dict[str, Callable[[list[bool]], str]]:
    """The options as functions of a request."""

    def option(number: int, label: str) -> Callable[[list[bool]], str]:
        def attempt(request: list[bool]) -> str:
            if pause:
                sleep(pause)
            if not request[number]:
                raise ConnectionError(label)
            return label

        return attempt

    return {str(label): option(number, str(label)) for number, label in enumerate(of.options)}


def overhead(calls: int = 20_000, block: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of every ask with its tell, and of every call of a chain, in turns of some hundreds each."""
    of = table()
    rows = requests(of, 1)
    experiment = lb.Experiment(of.options, lb.LinkedDuels(NEVER), linkage="free", whole_chains=True)
    chain = lb.Chain(options(of), delta=NEVER)
    number = {label: place for place, label in enumerate(of.options)}
    plays, whole = [], []
    for _ in range(calls // block):
        for request in (next(rows) for _ in range(block)):
            start = perf_counter()
            play = experiment.ask()
            asked = perf_counter()
            hit = next((arm for arm in play.arms + play.rest if request[number[arm]]), None)
            answered = perf_counter()
            experiment.tell(play.id, hit)
            plays.append(asked - start + perf_counter() - answered)
        for request in (next(rows) for _ in range(block)):
            start = perf_counter()
            with suppress(lb.ChainFailed):
                chain(request)
            whole.append(perf_counter() - start)
    return np.array(plays), np.array(whole)


def in_threads(calls: int) -> None:
    of = table()
    rows, guard = requests(of, 2), threading.Lock()
    chain = lb.Chain(options(of, PAUSE), delta=DELTA, parallel=THREADS)
    served: Counter[str] = Counter()

    def work(_: int) -> tuple[int, int]:
        failed = hopeless = 0
        for _ in range(calls // THREADS):
            with guard:
                request = next(rows)
            hopeless += not any(request)
            try:
                served[chain(request).role] += 1
            except lb.ChainFailed:
                failed += 1
        return failed, hopeless

    start = perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        failed, hopeless = np.sum(list(pool.map(work, range(THREADS))), axis=0).tolist()
    report(f"{THREADS} threads", chain, failed, hopeless, perf_counter() - start)


async def at_once(calls: int) -> None:
    of = table()
    rows = requests(of, 3)
    plain = options(of)

    def awaited(attempt: Callable[[list[bool]], str]) -> Callable[[list[bool]], object]:
        async def wait_and_attempt(request: list[bool]) -> str:
            await asyncio.sleep(PAUSE)
            return attempt(request)

        return wait_and_attempt

    chain = lb.Chain({label: awaited(attempt) for label, attempt in plain.items()}, delta=DELTA, parallel=AT_ONCE)
    failed = hopeless = 0

    async def work() -> None:
        nonlocal failed, hopeless
        for _ in range(calls // AT_ONCE):
            request = next(rows)
            hopeless += not any(request)
            try:
                await chain.acall(request)
            except lb.ChainFailed:
                failed += 1

    start = perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    report(f"{AT_ONCE} tasks", chain, failed, hopeless, perf_counter() - start)


def report(name: str, chain: lb.Chain, failed: int, hopeless: int, seconds: float) -> None:
    chain.close()
    status = chain.status()
    verdict = status.verdict
    best = table()
    found = "none yet" if verdict is None else f"{verdict.arm} after {verdict.plays:,} plays"
    first = best.options[int(np.argmax(best.means))]
    assert status.in_flight == status.waiting == status.lost == status.errors == 0
    assert failed == hopeless, "a customer failed whom some option would have served"
    print(
        f"  {name:12} {status.calls:9,} calls in {seconds:5.1f} s: {status.plays:8,} plays, {status.plain:8,} plain, "
        f"{status.served + status.watched:8,} after the verdict; {failed:,} failed, the full chain {hopeless:,}; "
        f"verdict: {found} (truly best: {first})",
        flush=True,
    )


def main() -> None:
    plays, whole = overhead()
    print(
        "an ask with its tell, and a call of a chain with all that it tries, in microseconds (claim: at most 5 times)"
    )
    for name, figure in {
        "median": np.median,
        "mean": np.mean,
        "99.9 %": lambda seconds: np.quantile(seconds, 0.999),
        "longest": np.max,
    }.items():
        play, call = (1e6 * float(figure(seconds)) for seconds in (plays, whole))
        print(f"  {name:8} {play:9.1f} {call:9.1f}   {call / play:.2f} times")
    print("eight solvers that fail together; no call is lost, and those fail that fail with every option")
    in_threads(CALLS)
    asyncio.run(at_once(CALLS))


def tables() -> dict[str, lb.OutcomeTable]:
    """The real systems, each without the options that a run would take very long to tell from the best."""
    found = {}
    for path in sorted((Path(__file__).parent / "data").glob("*.csv")):
        whole = lb.OutcomeTable.read(path)
        best = whole.means.max()
        clear = [
            option for option, mean in zip(whole.options, whole.means, strict=True) if not best - CLEAR < mean < best
        ]
        found[path.stem] = whole.only(clear[:MOST_OPTIONS])
    return found


async def calls_until_verdict(of: lb.OutcomeTable, seed: int) -> tuple[lb.Verdict | None, int]:
    """Calls of many tasks at once, where failures come later than successes: the verdict, and how many it took."""
    rows, chance = requests(of, seed), Random(seed)

    def option(number: int, label: str) -> Callable[[list[bool]], object]:
        async def attempt(request: list[bool]) -> str:
            for _ in range(chance.randrange(2 if request[number] else 20)):
                await asyncio.sleep(0)
            if not request[number]:
                raise ConnectionError(label)
            return label

        return attempt

    chain = lb.Chain(
        {str(label): option(number, str(label)) for number, label in enumerate(of.options)},
        delta=VERDICT_DELTA,
        parallel=IN_FLIGHT,
        seed=seed,
    )
    calls = 0

    async def work() -> None:
        nonlocal calls
        while chain.verdict() is None and calls < MOST_CALLS:
            calls += 1
            with suppress(lb.ChainFailed):
                await chain.acall(next(rows))

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    chain.close()
    return chain.verdict(), calls


def verdicts() -> None:
    print(f"chains in front of real systems that fail together, {IN_FLIGHT} calls in flight, failures later than")
    print(f"successes, {RUNS} runs each, delta {VERDICT_DELTA:g}: wrong verdicts, with the {CONFIDENCE:.0%} limit")
    claims = Claims()
    for name, of in tables().items():
        best = str(of.options[int(np.argmax(of.means))])
        calls, wrong, ended = [], 0, 0
        for seed in range(RUNS):
            verdict, made = asyncio.run(calls_until_verdict(of, seed))
            calls.append(made)
            ended += verdict is not None
            wrong += verdict is not None and verdict.arm != best
        limit = float(beta.ppf(CONFIDENCE, wrong + 1, RUNS - wrong))
        print(
            f"  {name:18} {len(of.options):2} options: {wrong:3} of {RUNS} wrong (below {limit:.3f}), {ended} ended, "
            f"median {int(np.median(calls)):,} calls",
            flush=True,
        )
        claims.check(limit < VERDICT_DELTA, f"{name}: {wrong} of {RUNS} verdicts are wrong")
        claims.check(ended == RUNS, f"{name}: {RUNS - ended} of {RUNS} runs had no verdict in {MOST_CALLS:,} calls")
    claims.report()


def kills() -> None:
    print(
        f"{ROUNDS} rounds of kill -9 at a random moment, with the state of the chain in a file: every answer of a call"
    )
    print("that had returned is on record, and the order after the restart is the one before, and of all of that")
    start, same = perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        for number, killed in enumerate(rounds_of_kills(Path(folder) / "chain.json", ROUNDS, seed=1), start=1):
            same += killed.before == killed.after
            if number % 20 == 0:
                print(
                    f"  {number:4} kills, {killed.answers:7,} answers acknowledged, none lost; the order was the same "
                    f"as on record before {same} times, and else changed by answers that were not applied yet",
                    flush=True,
                )
    print(f"  took {perf_counter() - start:.0f} s")
