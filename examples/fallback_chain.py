"""Web workers that share one experiment: which payment gateway works most often?

The gateways here are simulated, and fail independently of each other, which LinkedElimination assumes. Real gateways,
providers and readers mostly do not: what one fails on, the next mostly fails on too. Then use LinkedDuels, with the
linkage "free" as here. The verdict names in ``assumes`` what its policy takes for granted.

Start a service with ``linkedbandits serve``, then run ``python examples/fallback_chain.py`` and watch the page.
"""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor

import linkedbandits as lb
from linkedbandits.service.client import Client, RemoteExperiment

URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000"
GATEWAYS = {"Amber": 0.55, "Basalt": 0.60, "Cedar": 0.80, "Dune": 0.50}  # how often each works, which is not known
WORKERS = 4


def charge(gateway: str, rng: random.Random) -> bool:
    """Stands for the call that may fail."""
    return rng.random() < GATEWAYS[gateway]


def worker(exp: RemoteExperiment, number: int) -> int:
    """Handle customers until the experiment is decided; how many were there?"""
    rng = random.Random(number)
    customers = 0
    while True:
        try:
            play = exp.ask()
        except lb.ExperimentFinished:
            return customers
        # Try the gateways in the order given, and stop at the first that works.
        hit = next((gateway for gateway in play.arms if charge(gateway, rng)), None)
        exp.tell(play.id, hit)
        customers += 1


def main() -> None:
    with Client(URL) as client:
        exp = client.create(
            "gateways", list(GATEWAYS), lb.LinkedElimination(delta=0.05), linkage="free", parallel=WORKERS
        )
        print(f"watch it: {URL}/#/experiments/{exp.id}")
        with ThreadPoolExecutor(WORKERS) as pool:
            customers = sum(pool.map(lambda number: worker(exp, number), range(WORKERS)))
        print(f"{customers} customers: {exp.recommend()}")


if __name__ == "__main__":
    main()
