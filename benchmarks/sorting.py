"""What it costs under the free linkage to settle the order now and then instead of after every play."""

from __future__ import annotations

import numpy as np

import linkedbandits as lb
from linkedbandits.linkage import Free
from linkedbandits.streams import LaneStreams
from linkedbandits.world import CoinFlips

TRIALS = 2000


def mean_plays(needs, means, share: float) -> float:
    linkage = Free()
    linkage.share_between_sorts = share
    world = CoinFlips(np.broadcast_to(means, (TRIALS, means.size)), LaneStreams(1, means.size, range(TRIALS)))
    return float(linkage.fulfil(np.tile(needs, (TRIALS, 1)), np.full(TRIALS, 2**60), world).plays.mean())


def main() -> None:
    print("free linkage: plays with the order settled now and then, over plays with it settled after every play")
    shares = (0.5, Free.share_between_sorts, 0.1)
    print(f"  {'needs':34}" + "".join(f"{share:>8}" for share in shares))
    for name, needs, means in (
        ("50 each, 1-sparse, n=10", np.full(10, 50), lb.scenarios.one_sparse(10)),
        ("300 each, 1-sparse, n=10", np.full(10, 300), lb.scenarios.one_sparse(10)),
        ("300 each, increasing, n=10", np.full(10, 300), lb.scenarios.increasing(10)),
        ("900, 300 and 30, random, n=10", np.repeat([900, 300, 30], [2, 4, 4]), np.linspace(0.05, 0.5, 10)),
    ):
        every_play = mean_plays(needs, means, 1e-9)
        print(f"  {name:34}" + "".join(f"{mean_plays(needs, means, share) / every_play:8.4f}" for share in shares))
