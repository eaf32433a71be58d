"""A process with a chain whose state is in a file: calls as fast as it can, and what each one came to.

    python -m tools.chain_worker FILE SEED CALLS PAUSE

It prints ``order`` and the order when it has opened the file, ``told`` with the play and the option that worked, or
``-``, for each call that was a play and has returned, and ``done`` at the end. It is made to be killed.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import linkedbandits as lb

MEANS = {"a": 0.3, "b": 0.5, "c": 0.4, "d": 0.35}
DELTA = 1e-60
"""So that no verdict comes while it is tested."""


def options(seed: int | None = None) -> dict[str, Callable[[int], str]]:
    """Coins."""
    luck = random.Random(seed)

    def option(label: str) -> Callable[[int], str]:
        def attempt(number: int) -> str:
            if luck.random() >= MEANS[label]:
                raise ConnectionError(number)
            return label

        return attempt

    return {label: option(label) for label in MEANS}


def open_chain(path: str, seed: int | None = None, **changes: Any) -> lb.Chain:
    """The chain of all workers with this file."""
    return lb.Chain(options(seed), state=path, delta=DELTA, **changes)


def say(*words: object) -> None:
    """One line, with one write."""
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def main(path: str, seed: int, calls: int, pause: float) -> None:
    """Call, and say what came of it."""
    chain = open_chain(path, seed)
    say("order", *chain.order)
    home = chain._home
    tell = home.tell
    told: list[tuple[int, object]] = []

    def noted(play: lb.Play, hit: object) -> None:
        tell(play, hit)
        told.append((play.id, hit))

    home.tell = noted  # type: ignore[method-assign]
    for number in range(calls):
        told.clear()
        with suppress(lb.ChainFailed):
            chain(number)
        for play, hit in told:  # the call has returned
            say("told", play, "-" if hit is None else hit)
        time.sleep(pause)
    chain.close()
    say("done")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
