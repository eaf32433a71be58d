"""After the verdict: a share of calls that begin with another option, to see whether the verdict still holds.

Of every call it is decided by chance alone, before anything is known of it, whether it begins with one of the other
options, each as likely as any. What the calls show is for :mod:`linkedbandits.chain.drift`, which reads the first
attempts of all calls.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from linkedbandits.model import Label


class Watch:
    """Chooses which calls begin with another option. ``draw`` gives random numbers from 0 to 1."""

    def __init__(self, share: float, draw: Callable[[], float]) -> None:
        self._share = share
        self._draw = draw

    @classmethod
    def seeded(cls, share: float, seed: int) -> Watch:
        """With random numbers from a seed."""
        return cls(share, random.Random(seed).random)

    def order_for(self, order: tuple[Label, ...]) -> tuple[Label, ...] | None:
        """The order of a call that begins with another option; None for one that keeps to ``order``."""
        share = self._share
        drawn = self._draw() if share else 1.0
        if drawn >= share:
            return None
        place = 1 + min(int(drawn / share * (len(order) - 1)), len(order) - 2)
        return (order[place], *order[:place], *order[place + 1 :])
