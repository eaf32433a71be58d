"""The places behind the first, after the verdict: what to try when the option that was proved best has failed.

The experiment proves which option comes first. Of the others it has seen little behind failures of that one, and it
ends with the verdict. Calls go on, and each of them that the first option fails shows what the one behind it does
there. But only the option in the second place is seen so: if another would do better nobody would ever know. So in a
share of calls, drawn before anything is known of them, another option is second, each as likely as any. A call that the
first option serves does not notice.

What is counted is of this process. The order stays that of the experiment until it is seen to be wrong.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from linkedbandits.model import Label

ENOUGH = 10
"""Tries behind failures of the first option that two others need, for one to pass the other."""
STANDARD_ERRORS = 1.0
"""By which it has to do better. Nothing is proved by that: it keeps the order from changing with every call."""


@dataclass
class SecondTries:
    """How often options have worked as the second of calls, by the option that had failed before.

    >>> tries = SecondTries()
    >>> for number in range(100):
    ...     tries.add("north", "east", number % 4 == 0)
    ...     tries.add("north", "south", number % 2 == 0)
    >>> tries.order("north", ("east", "south", "west"))
    ('south', 'east', 'west')
    >>> tries.order("north", ("east", "south"), {"east": 1.0, "south": 5.0})
    ('east', 'south')
    """

    counts: dict[tuple[Label, Label], tuple[int, int]] = field(default_factory=dict)

    def add(self, first: Label, second: Label, worked: bool) -> None:
        """The first of a call has failed; this is what the second did."""
        tries, hits = self.counts.get((first, second), (0, 0))
        self.counts[first, second] = tries + 1, hits + worked

    def forget(self, options: Iterable[Label]) -> None:
        """What was seen of these says nothing any more."""
        gone = set(options)
        self.counts = {pair: count for pair, count in self.counts.items() if gone.isdisjoint(pair)}

    def order(
        self, first: Label, usual: tuple[Label, ...], costs: Mapping[Label, float] | None = None
    ) -> tuple[Label, ...]:
        """The options behind ``first``: in the usual order, but that what does better there (for its cost) goes first.

        An option passes those before it as long as both were tried often enough behind ``first``, and it did better.
        """
        found: list[Label] = []
        for option in usual:
            place = len(found)
            while place and self._better(first, option, found[place - 1], costs):
                place -= 1
            found.insert(place, option)
        return tuple(found)

    def _better(self, first: Label, one: Label, other: Label, costs: Mapping[Label, float] | None) -> bool:
        worth, variance = [], 0.0
        for option in (one, other):
            tries, hits = self.counts.get((first, option), (0, 0))
            if tries < ENOUGH:
                return False
            rate, cost = (hits + 1) / (tries + 2), 1.0 if costs is None else costs[option]
            worth.append(rate / cost)
            variance += rate * (1 - rate) / (tries + 3) / cost**2
        return worth[0] - worth[1] > STANDARD_ERRORS * math.sqrt(variance)


class OthersSecond:
    """Chooses in which calls another option is second, and which. ``draw`` gives random numbers from 0 to 1.

    >>> draws = iter([0.3, 0.05, 0.15])
    >>> others = OthersSecond(0.2, draws.__next__)
    >>> [others.order_for(("a", "b", "c", "d")) for _ in range(3)]
    [('a', 'b', 'c', 'd'), ('a', 'c', 'b', 'd'), ('a', 'd', 'b', 'c')]
    """

    def __init__(self, share: float, draw: Callable[[], float]) -> None:
        self._share = share
        self._draw = draw

    @classmethod
    def seeded(cls, share: float, seed: int) -> OthersSecond:
        """With random numbers from a seed, which are not those that choose the calls to watch."""
        return cls(share, random.Random(f"others second {seed}").random)

    def order_for(self, order: tuple[Label, ...]) -> tuple[Label, ...]:
        """The order of a call: mostly this one."""
        others = len(order) - 2
        if others < 1 or not self._share:
            return order
        drawn = self._draw()
        if drawn >= self._share:
            return order
        place = 2 + min(int(drawn / self._share * others), others - 1)
        return (order[0], order[place], *order[1:place], *order[place + 1 :])
