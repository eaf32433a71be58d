"""A fallback chain in front of three real servers that fail, each in its own way; which should be tried first?

    python examples/chain_of_servers.py --requests 3000
    python examples/chain_of_servers.py --state chain.json    # goes on where it was, also after Ctrl-C

The servers are those of faulty_servers.py: one is busy now and then, one is often too slow, one hangs up, and two fail
together on long requests. Several threads send requests, as web workers would. No request waits for the experiment, and
a request fails only when all three servers have failed on it.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from faulty_servers import SERVERS, attempt, running

import linkedbandits as lb

WORKERS = 8


def server_at(port: int) -> Callable[[str], int]:
    """An option: a request to one of the servers. It gives up when its patience is over, which is a failure."""
    return lambda path: attempt(port, path)


def main() -> None:
    """Send requests, and say what was learned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=3000, help="how many requests are made")
    parser.add_argument("--state", help="a file to keep the experiment in; in memory without it")
    parser.add_argument("--seed", type=int, default=1, help="of the lengths of requests and the faults")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    paths = ["/" + "x" * int(chance.expovariate(1 / 500)) for _ in range(given.requests)]
    with ExitStack() as stack:
        ports = {name: stack.enter_context(running(name, chance.randrange(2**32))) for name in SERVERS}
        chain = stack.enter_context(
            lb.Chain(
                {name: server_at(port) for name, port in ports.items()},
                delta=0.05,
                worked=lambda status: status == 200,
                state=given.state,
                on_verdict=lambda verdict: print(f"verdict: {verdict}"),
                on_alarm=lambda alarm: print(f"alarm: {alarm}"),
            )
        )

        def request(path: str) -> str:
            try:
                return str(chain(path).option)
            except lb.ChainFailed as failed:
                return "none, after " + ", ".join(map(str, failed.tried))

        with ThreadPoolExecutor(WORKERS) as pool:
            answered_by = Counter(pool.map(request, paths))
        chain.settle()
        print(f"answered by: {dict(answered_by.most_common())}")
        print(f"order now: {', '.join(map(str, chain.order))}")
        status = chain.status()
        print(
            f"{status.calls} calls, {status.plays} of them plays, {status.plain} without a play; {status.failed} failed"
        )
        print(f"learning has cost {status.attempts_above_best:.0f} attempts above those of the best order")


if __name__ == "__main__":
    main()
