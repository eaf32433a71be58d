"""A policy of your own, written for one run: try every option in turn, and stop when one is clearly ahead.

``LeadByFive`` goes round the options and stops when the best has five successes more than the next. Nothing is proved
of it, and by its plays of several options it takes these to be independent, as linked-elimination does; where
they can fail together there is LinkedDuels. It is here to be compared with policies of which something is proved:

    python examples/plain_policy.py

The command line takes it from the folder that it is in:

    cd examples
    linkedbandits compare --means 0.2,0.6,0.3 --policy plain_policy:LeadByFive --policy linked-elimination
    linkedbandits compare --means 0.2,0.6,0.3 --policy plain_policy:LeadByFive:lead=10
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import linkedbandits as lb
from linkedbandits.testing import check_policy

MEANS = {"north": 0.2, "east": 0.6, "south": 0.3}


@dataclass
class LeadByFive(lb.PlainPolicy):
    """The first option that is so many successes ahead."""

    lead: int = 5

    def begin(self, arms: int, seed: int) -> None:
        self.next = 0
        self.successes = [0] * arms

    def ask(self) -> tuple[int, ...]:
        """From the next option on to the last: those behind the first success are not tried."""
        return tuple(range(self.next, len(self.successes)))

    def tell(self, arms: tuple[int, ...], hit: int | None) -> None:
        if hit == arms[0]:  # of those behind it nothing is known as often
            self.successes[hit] += 1
        self.next = (self.next + 1) % len(self.successes)

    @property
    def done(self) -> bool:
        second, first = sorted(self.successes)[-2:]
        return self.next == 0 and first >= second + self.lead

    def best(self) -> int:
        return self.successes.index(max(self.successes))


def main() -> None:
    policy = LeadByFive()
    print(check_policy(policy))

    runs = lb.simulate(list(MEANS.values()), policy, trials=1000, seed=1)
    print(f"simulated: {runs.plays.mean():.1f} plays, wrong in {100 * runs.error_rate():.1f} %")

    draw = random.Random(1)
    experiment = lb.Experiment(list(MEANS), policy)
    while not experiment.done:
        play = experiment.ask()
        experiment.tell(play.id, next((option for option in play.arms if draw.random() < MEANS[option]), None))
    print(f"live: {experiment.recommend().arm} after {experiment.plays} plays")


if __name__ == "__main__":
    main()
