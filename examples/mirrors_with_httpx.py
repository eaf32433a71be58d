"""An httpx client in front of three mirrors that fail, each in its own way; which should be asked first?

    python examples/mirrors_with_httpx.py --requests 3000
    python examples/mirrors_with_httpx.py --tasks 50        # an async client, with as many requests at once

The mirrors are the servers of faulty_servers.py. The code that makes requests knows one address and nothing of mirrors.
It needs: pip install 'linkedbandits[httpx]'
"""

from __future__ import annotations

import argparse
import asyncio
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
from faulty_servers import PATIENCE, SERVERS, running

from linkedbandits.adapters.httpx import MirrorTransport

WORKERS = 8


def mirrors_fail(response: httpx.Response) -> bool:
    """The mirrors refuse long requests with a 413, which another one may take."""
    return response.status_code != 200


def by_threads(transport: MirrorTransport, addresses: list[str]) -> Counter[str]:
    """What became of each request, with one client for all threads."""
    with httpx.Client(transport=transport, timeout=PATIENCE) as client, ThreadPoolExecutor(WORKERS) as pool:

        def fetch(address: str) -> str:
            try:
                return str(client.get(address).status_code)
            except httpx.TransportError as error:
                return type(error).__name__

        return Counter(pool.map(fetch, addresses))


async def by_tasks(transport: MirrorTransport, addresses: list[str], at_once: int) -> Counter[str]:
    """The same with an async client."""
    seen: Counter[str] = Counter()
    left = iter(addresses)
    async with httpx.AsyncClient(transport=transport, timeout=PATIENCE) as client:

        async def fetch() -> None:
            for address in left:
                try:
                    seen[str((await client.get(address)).status_code)] += 1
                except httpx.TransportError as error:
                    seen[type(error).__name__] += 1

        await asyncio.gather(*(fetch() for _ in range(at_once)))
    return seen


def main() -> None:
    """Send requests, and say what was learned."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=3000, help="how many requests are made")
    parser.add_argument("--tasks", type=int, help="so many at once, with an async client; threads without it")
    parser.add_argument("--seed", type=int, default=1, help="of the lengths of requests and the faults")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with ExitStack() as stack:
        ports = {name: stack.enter_context(running(name, chance.randrange(2**32))) for name in SERVERS}
        mirrors = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
        transport = MirrorTransport(
            mirrors, fails=mirrors_fail, delta=0.05, on_verdict=lambda verdict: print(f"verdict: {verdict}")
        )
        lengths = [int(chance.expovariate(1 / 500)) for _ in range(given.requests)]
        addresses = [f"{mirrors['amber']}/{'x' * length}" for length in lengths]
        if given.tasks is None:
            seen = by_threads(transport, addresses)
        else:
            seen = asyncio.run(by_tasks(transport, addresses, given.tasks))
        status = transport.chain.status()
    print(f"what clients got: {dict(seen.most_common())}")
    print(f"order now: {', '.join(map(str, status.order))}")
    print(f"{status.calls} calls, {status.plays} of them plays; {status.failed} failed with all mirrors")


if __name__ == "__main__":
    main()
