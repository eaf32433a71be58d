"""Web workers that share one experiment: which payment gateway works most often?

What one gateway fails on, the next mostly fails on too: here, as in life, some cards no gateway takes. LinkedDuels does
not mind. It lets two gateways go first in turn, and so asks for the linkage "free". Policies for options that are
independent of each other, such as LinkedElimination, can be confident and wrong here; their verdicts name in
``assumes`` what they take for granted.

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
BAD_CARDS = 0.15  # the share of customers for whom none of them works
WORKERS = 4


def charge(gateway: str, card_is_good: bool, rng: random.Random) -> bool:
    """Stands for the call that may fail."""
    return card_is_good and rng.random() < GATEWAYS[gateway] / (1 - BAD_CARDS)


def worker(exp: RemoteExperiment, number: int) -> int:
    """Handle customers until the experiment is decided; how many were there?"""
    rng = random.Random(number)
    customers = 0
    for play in exp.until_decided():
        # Try the gateways in the order given, and stop at the first that works.
        card_is_good = rng.random() >= BAD_CARDS
        hit = next((gateway for gateway in play.arms if charge(gateway, card_is_good, rng)), None)
        exp.tell(play.id, hit)
        customers += 1
    return customers


def main() -> None:
    with Client(URL) as client:
        exp = client.create("gateways", list(GATEWAYS), lb.LinkedDuels(delta=0.05), linkage="free", parallel=WORKERS)
        print(f"watch it: {URL}/#/experiments/{exp.id}")
        with ThreadPoolExecutor(WORKERS) as pool:
            customers = sum(pool.map(lambda number: worker(exp, number), range(WORKERS)))
        print(f"{customers} customers: {exp.recommend()}")


if __name__ == "__main__":
    main()
