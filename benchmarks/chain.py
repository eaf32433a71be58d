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
from time import perf_counter, sleep

import numpy as np

import linkedbandits as lb
from tools.chain_kills import rounds_of_kills

CALLS = int(os.environ.get("CALLS", "40000"))
ROUNDS = int(os.environ.get("ROUNDS", "100"))
DELTA = 0.05
THREADS = 64
AT_ONCE = 1000
PAUSE = 0.002
"""Seconds that an attempt takes in threads and tasks."""
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


def kills() -> None:
    print(
        f"{ROUNDS} rounds of kill -9 at a random moment, with the state of the chain in a file: every answer of a call"
    )
    print("that had returned is on record, and the order after the restart is that of what is on record")
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
