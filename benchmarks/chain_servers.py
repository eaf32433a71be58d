"""Fallback chains in front of eight real providers that fail together, are slow, cut connections and are killed.

Each provider is a process behind HTTP that replays its column of a table of real outcomes. Half of the calls are made
by 64 threads, half by 1,000 tasks at once; ``CALLS=1000000`` makes that many instead of fewer, and ``ONLY=threads``
or ``ONLY=tasks`` one of the halves. All the while providers are killed and begun again.
One request in ten is also made by a plain loop over all providers, just before or after.

Claims: every call ends in a value or in ChainFailed, and its value is the answer to its own request; a call fails only
if every provider failed on it, each by the table, by a fault that was injected, or because it was down just then; of
the requests that the plain loop made, too, the share that failed lies within the 99 % interval of the loop's; calls are
served while the experiment is held by someone else; a verdict names the best provider.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import socket
import subprocess
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

import numpy as np
from scipy.stats import beta

import linkedbandits as lb
from benchmarks.chain import AT_ONCE, DELTA, THREADS, overhead, table
from linkedbandits.chain.in_memory import InMemory
from tools.claims import CONFIDENCE, Claims, mark_over
from tools.provider_server import PATIENCE, READY, quick_runner, works
from tools.waiting import SECONDS, killed_in_the_end

CALLS = int(os.environ.get("CALLS", "60000"))
ONLY = os.environ.get("ONLY", "")
BOTH_OF = 10
"""One request of so many is made by the chain and by the plain loop."""
BETWEEN_KILLS = 4.0
DOWN = 0.2
"""Seconds between two kills, and until a provider is begun again; that takes a moment, too."""
HELD = 2.0
"""Seconds that the experiment is held by someone else, twice in a run."""
MOST_OVER_ASK_AND_TELL = 5.0


class Refused(Exception):
    """A provider that said 503."""


class CutOff(ConnectionError):
    """A connection that could not be made, or broke, in an attempt that lasted from then to then."""

    def __init__(self, error: OSError, began: float) -> None:
        super().__init__(str(error))
        self.began, self.ended = began, perf_counter()


Asked = tuple[int, int]
"""A row of the table, and the number of the request."""


class Providers:
    """The processes of the providers, which can be killed."""

    def __init__(self, of: lb.OutcomeTable) -> None:
        self.labels = [str(option) for option in of.options]
        self.outcomes = [[bool(chance) for chance in column] for column in of.chances.T.tolist()]
        self.ports = free_ports(len(self.labels))
        self.down: list[list[list[float]]] = [[] for _ in self.labels]
        """Of each provider since when and until when it was down; the last may have no end yet."""
        self._stack = ExitStack()
        self._running: dict[int, subprocess.Popen[str]] = {}

    def __enter__(self) -> Providers:
        for option in range(len(self.labels)):
            self.begin(option)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begin(self, option: int) -> None:
        outcomes = "".join("1" if works else "0" for works in self.outcomes[option])
        process = subprocess.Popen(
            [sys.executable, "-m", "tools.provider_server", str(self.ports[option]), str(option), outcomes],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.enter_context(killed_in_the_end(process, seconds=24 * 3600))
        assert process.stdout is not None
        assert process.stdout.readline().strip() == READY
        self._running[option] = process
        if self.down[option]:
            self.down[option][-1].append(perf_counter())

    def kill(self, option: int) -> None:
        self.down[option].append([perf_counter()])
        self._running[option].kill()
        self._running[option].wait(SECONDS)

    @contextmanager
    def dying(self, seed: int) -> Iterator[None]:
        """Until the context ends one of them is killed now and then, each as likely as any."""
        chance, over = random.Random(seed), threading.Event()

        def work() -> None:
            while not over.wait(chance.uniform(0, 2 * BETWEEN_KILLS)):
                option = chance.randrange(len(self.labels))
                self.kill(option)
                over.wait(DOWN)
                self.begin(option)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join(SECONDS)

    def was_down(self, option: int, began: float, ended: float) -> bool:
        """Was it down at some time between the two?"""
        return any(since <= ended and (not until or began <= until[0]) for since, *until in self.down[option])

    def hopeless(self, asked: Asked) -> bool:
        """Would all of them fail on it, if none were killed?"""
        return not any(works(outcomes, *asked, option) for option, outcomes in enumerate(self.outcomes))


@dataclass
class Seen:
    """What came of calls, in one thread or one event loop."""

    ended: Counter[str] = field(default_factory=Counter)
    unexplained: list[str] = field(default_factory=list)

    def add(self, of: Providers, asked: Asked, way: str, causes: dict[str, BaseException] | None) -> None:
        """A call is over; ``causes`` are there if all providers failed."""
        hopeless = of.hopeless(asked)
        self.ended[f"{way} calls"] += 1
        self.ended[f"{way} hopeless"] += hopeless
        if causes is None:
            if hopeless:
                self.unexplained.append(f"{asked} was served, and no provider could")
            return
        self.ended[f"{way} failed"] += 1
        self.ended[f"{way} failed, both"] += asked[1] % BOTH_OF == 0
        if hopeless and len(causes) == len(of.labels):
            return
        self.ended[f"{way} by kills"] += 1
        for option, label in enumerate(of.labels):
            if label not in causes:
                self.unexplained.append(f"{asked} failed without {label}")
            elif works(of.outcomes[option], *asked, option):
                cause = causes[label]
                if not (isinstance(cause, CutOff) and of.was_down(option, cause.began, cause.ended)):
                    self.unexplained.append(f"{asked} failed, and {label} with {cause!r}, though it was up")


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        found = []
        for _ in range(count):
            taken = stack.enter_context(socket.socket())
            taken.bind(("127.0.0.1", 0))
            found.append(taken.getsockname()[1])
        return found


def message(asked: Asked) -> bytes:
    return b"GET /%d/%d HTTP/1.1\r\nHost: provider\r\n\r\n" % asked


def read_answer(answer: bytes, asked: Asked, label: str) -> str:
    """The provider, if it answered this request with a success."""
    head, _, body = answer.partition(b"\r\n\r\n")
    if int(body) != asked[1]:
        raise AssertionError(f"{label} answered {body!r} to {asked}")
    if not head.startswith(b"HTTP/1.1 200"):
        raise Refused(label)
    return label


def is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    return bool(end) and len(body) >= int(head.rpartition(b": ")[2])


def by_sockets(of: Providers) -> dict[str, Callable[[Asked], str]]:
    """The providers as functions, with a connection for each thread that is kept while the provider lives."""
    kept = threading.local()

    def option(number: int, label: str, port: int) -> Callable[[Asked], str]:
        def attempt(asked: Asked) -> str:
            connections = kept.__dict__.setdefault("connections", {})
            life, began = len(of.down[number]), perf_counter()
            connection, its_life = connections.pop(port, (None, life))
            if connection is not None and its_life != life:
                connection = connection.close()
            try:
                if connection is None:
                    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.sendall(message(asked))
                answer = b""
                while not is_whole(answer):
                    part = connection.recv(4096)
                    if not part:
                        raise ConnectionResetError(label)
                    answer += part
            except OSError as error:
                if connection is not None:
                    connection.close()
                if isinstance(error, ConnectionError):
                    raise CutOff(error, began) from error
                raise
            connections[port] = connection, life
            return read_answer(answer, asked, label)

        return attempt

    return {label: option(number, label, of.ports[number]) for number, label in enumerate(of.labels)}


def by_streams(of: Providers) -> dict[str, Callable[[Asked], object]]:
    """The same to be awaited, with connections that are kept for all tasks."""

    def option(number: int, label: str, port: int) -> Callable[[Asked], object]:
        idle: deque[tuple[int, asyncio.StreamReader, asyncio.StreamWriter]] = deque()

        async def attempt(asked: Asked) -> str:
            life, began = len(of.down[number]), perf_counter()
            writer = None
            try:
                async with asyncio.timeout(PATIENCE):
                    while idle and writer is None:
                        its_life, reader, writer = idle.pop()
                        if its_life != life:
                            writer = writer.close()
                    if writer is None:
                        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
                    writer.write(message(asked))
                    answer = b""
                    while not is_whole(answer):
                        part = await reader.read(4096)
                        if not part:
                            raise ConnectionResetError(label)
                        answer += part
            except OSError as error:
                if writer is not None:
                    writer.close()
                if isinstance(error, ConnectionError):
                    raise CutOff(error, began) from error
                raise
            idle.append((life, reader, writer))
            return read_answer(answer, asked, label)

        return attempt

    return {label: option(number, label, of.ports[number]) for number, label in enumerate(of.labels)}


Way = TypeVar("Way")
FAILURES = (Refused, ConnectionError, TimeoutError)


def requests(of: lb.OutcomeTable, seed: int) -> Iterator[Asked]:
    """Random rows, with numbers."""
    rng = np.random.default_rng(seed)
    weights, number = of.counts / of.counts.sum(), 0
    while True:
        for row in rng.choice(len(weights), size=10_000, p=weights).tolist():
            yield row, number
            number += 1


def plain_loop(options: dict[str, Callable[[Asked], str]], asked: Asked) -> dict[str, BaseException] | None:
    """What the chain takes the place of: the errors of all, or None if one worked."""
    causes: dict[str, BaseException] = {}
    for label, attempt in options.items():
        try:
            attempt(asked)
        except FAILURES as error:
            causes[label] = error
        else:
            return None
    return causes


async def plain_loop_awaited(
    options: dict[str, Callable[[Asked], object]], asked: Asked
) -> dict[str, BaseException] | None:
    causes: dict[str, BaseException] = {}
    for label, attempt in options.items():
        try:
            await attempt(asked)  # type: ignore[misc]
        except FAILURES as error:
            causes[label] = error
        else:
            return None
    return causes


def ways(asked: Asked, by_chain: Way, by_loop: Way) -> tuple[Way, ...]:
    """Who makes a request: the chain, or the chain and the loop, in one order or in the other."""
    number, left = divmod(asked[1], BOTH_OF)
    if left:
        return (by_chain,)
    return (by_chain, by_loop) if number % 2 else (by_loop, by_chain)


@dataclass
class Hold:
    """Someone else who has the experiment at times, and the calls that began and ended meanwhile."""

    since: float = float("inf")
    served: int = 0

    def call_ended(self, began: float) -> None:
        self.served += began > self.since


@contextmanager
def held_by_someone_else(chain: lb.Chain, calls: int) -> Iterator[tuple[Hold, list[int]]]:
    """Twice in the run the experiment's lock is taken; the list has the calls that began and ended meanwhile.

    A time in which the last of the ``calls`` were made does not count.
    """
    home, tally = chain._home, chain._tally
    assert isinstance(home, InMemory)
    hold, served = Hold(), list[int]()
    over = threading.Event()

    def work() -> None:
        for _ in range(2):
            if over.wait(HELD / 2) or not home._answers.hold(SECONDS):
                return
            try:
                hold.served, hold.since = 0, perf_counter()
                over.wait(HELD)
                if calls - tally.ended > AT_ONCE:
                    served.append(hold.served)
            finally:
                hold.since = float("inf")
                home._answers.release()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield hold, served
    finally:
        over.set()
        thread.join(SECONDS)


def in_threads(of: Providers, world: lb.OutcomeTable, calls: int, claims: Claims) -> Counter[str]:
    rows, guard = requests(world, 2), threading.Lock()
    options = by_sockets(of)
    chain = lb.Chain(options, delta=DELTA, parallel=THREADS, failures=FAILURES)
    seen = [Seen() for _ in range(THREADS)]

    def by_loop(mine: Seen, asked: Asked) -> None:
        mine.add(of, asked, "loop", plain_loop(options, asked))

    def by_chain(mine: Seen, asked: Asked) -> None:
        began = perf_counter()
        try:
            chain(asked)
        except lb.ChainFailed as failed:
            mine.add(of, asked, "chain", dict(failed.causes))
        except BaseException as error:
            mine.unexplained.append(f"{asked} ended with {error!r}")
        else:
            mine.add(of, asked, "chain", None)
        hold.call_ended(began)

    def work(mine: Seen) -> None:
        for _ in range(calls // THREADS):
            with guard:
                asked = next(rows)
            for make in ways(asked, by_chain, by_loop):
                make(mine, asked)

    start = perf_counter()
    threads = [threading.Thread(target=work, args=(mine,)) for mine in seen]
    with held_by_someone_else(chain, calls) as (hold, served), of.dying(seed=1):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(24 * 3600)
    return report(f"{THREADS} threads", chain, seen, served, perf_counter() - start, world, claims)


async def at_once(of: Providers, world: lb.OutcomeTable, calls: int, claims: Claims) -> Counter[str]:
    rows = requests(world, 3)
    options = by_streams(of)
    chain = lb.Chain(options, delta=DELTA, parallel=AT_ONCE, failures=FAILURES)
    seen = Seen()

    async def by_loop(asked: Asked) -> None:
        seen.add(of, asked, "loop", await plain_loop_awaited(options, asked))

    async def by_chain(asked: Asked) -> None:
        began = perf_counter()
        try:
            await chain.acall(asked)
        except lb.ChainFailed as failed:
            seen.add(of, asked, "chain", dict(failed.causes))
        except Exception as error:
            seen.unexplained.append(f"{asked} ended with {error!r}")
        else:
            seen.add(of, asked, "chain", None)
        hold.call_ended(began)

    async def work() -> None:
        for _ in range(calls // AT_ONCE):
            asked = next(rows)
            for make in ways(asked, by_chain, by_loop):
                await make(asked)

    start = perf_counter()
    with held_by_someone_else(chain, calls) as (hold, served), of.dying(seed=2):
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return report(f"{AT_ONCE} tasks", chain, [seen], served, perf_counter() - start, world, claims)


def report(
    name: str,
    chain: lb.Chain,
    seen: list[Seen],
    served: list[int],
    seconds: float,
    world: lb.OutcomeTable,
    claims: Claims,
) -> Counter[str]:
    chain.close()
    total = sum((each.ended for each in seen), Counter[str]())
    unexplained = [said for each in seen for said in each.unexplained]
    status, best = chain.status(), str(world.options[int(np.argmax(world.means))])
    verdict = status.verdict
    found = "none yet" if verdict is None else f"{verdict.arm} after {verdict.plays:,} plays"
    print(
        f"  {name}: {total['chain calls']:,} calls of the chain and {total['loop calls']:,} of the plain loop in "
        f"{seconds:.0f} s, {total['chain calls'] / seconds:,.0f} a second\n"
        f"    {status.plays:,} plays, {status.plain:,} plain, {status.served + status.watched:,} after the verdict: "
        f"{found} (truly best: {best})\n"
        f"    {total['chain failed']:,} failed: {total['chain hopeless']:,} as all providers fail on them, and "
        f"{total['chain by kills']:,} as providers were killed; {len(unexplained)} not explained\n"
        f"    while the experiment was held by someone else, for {HELD:g} s each time, calls that began and ended: "
        f"{', '.join(f'{calls:,}' for calls in served) or 'none, as the run was over before'}",
        flush=True,
    )
    claims.check(not unexplained, f"{name}: {len(unexplained)} calls not explained, such as {unexplained[:3]}")
    counted = (status.calls, status.failed, status.in_flight, status.lost, status.waiting, status.errors)
    claims.check(
        counted == (total["chain calls"], total["chain failed"], 0, 0, 0, 0),
        f"{name}: the chain counts calls, failed, in flight, lost, waiting, errors {counted}; {status.last_error}",
    )
    claims.check(all(served), f"{name}: calls waited for the experiment: {served} began and ended while it was held")
    claims.check(verdict is None or verdict.arm == best, f"{name}: the verdict is {found}, and {best} is best")
    return total


def main() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65536)), hard))
    claims, world = Claims(), table()
    print(
        f"eight providers behind HTTP, processes of their own, of which one is killed every {BETWEEN_KILLS:g} s or so"
    )
    with Providers(world) as of:
        total = Counter[str]()
        if ONLY != "tasks":
            total += in_threads(of, world, CALLS // 2, claims)
        if ONLY != "threads":
            with quick_runner() as runner:
                total += runner.run(at_once(of, world, CALLS // 2, claims))
        print(f"  providers were killed {sum(map(len, of.down))} times")
    calls, failed = total["loop calls"], total["loop failed"]
    tail = (1 - CONFIDENCE) / 2
    low = float(beta.ppf(tail, failed, calls - failed + 1)) if failed else 0.0
    high = float(beta.ppf(1 - tail, failed + 1, calls - failed)) if failed < calls else 1.0
    share = total["chain failed, both"] / calls
    print(
        f"of {calls:,} requests that both made {total['chain failed, both']:,} failed with the chain ({share:.3%}), "
        f"and {failed:,} with the plain loop ({failed / calls:.3%}, 99 % interval {low:.3%} to {high:.3%})"
    )
    claims.check(low <= share <= high, "the share of failed calls is outside of the plain loop's 99 % interval")
    plays, whole = overhead(calls=6000)
    ratio = float(np.median(whole) / np.median(plays))
    print(
        f"a call of a chain in memory takes {ratio:.2f} times an ask with its tell (claim: at most "
        f"{MOST_OVER_ASK_AND_TELL:g} times){mark_over(ratio, MOST_OVER_ASK_AND_TELL)}"
    )
    claims.report()
