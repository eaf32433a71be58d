"""Has an option changed since its experiment began? Asked at every call, with little memory, and answered at a level
that holds for all times.

What is watched are first attempts: the option that a call tries first is chosen before anything is known of the call,
so its outcome is a coin of that option's mean, whatever depends on what. They come in blocks of :data:`BLOCK`.

**A fall.** Let m be the option's mean if nothing changes, and l a lower limit of it from all blocks before, one that
holds at all times together except with probability a/2. For an odds ratio t let q be the mean whose odds are those of
l over t. A block with s successes and f failures multiplies by

    L = (q/l)^s ((1-q)/(1-l))^f.

For one outcome the mean of that is m q/l + (1-m)(1-q)/(1-l), which is 1 at m = l and falls with m. So where l <= m the
mean of L is at most 1, given all that came before. The change may have come with any block j: with weights w_j that add
up to 1

    R = sum over j so far of w_j times the product of L from j on,

and R with the weights still to come is a nonnegative supermartingale from 1. It ever reaches 4/a with probability at
most a/4 (Ville), averaged over some odds ratios as well. R is kept as it is, in one number for each of these:
R <- (R + w_j) L. **A rise** is a fall of failures. Together an option is taken to have changed, though it has not, with
probability at most a/2 + a/4 + a/4.

Limits are never loosened again: what comes after a change would loosen them, and hide it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from linkedbandits.attempts.alarms import Rate
from linkedbandits.display import short_repr
from linkedbandits.intervals import anytime_limits
from linkedbandits.model import Label

BLOCK = 16
"""First attempts of an option that are looked at together."""
ODDS_RATIOS = (1.25, 1.6, 2.2, 3.5, 7.0)
"""Changes that are bet on."""
GROWTH = 0.05
"""Limits are drawn anew when there is as much more."""
MOST = 1e300
"""Evidence is not counted beyond."""

How = Literal["falls", "rises"]


@dataclass(frozen=True)
class DriftAlarm:
    """An option that works less or more often than when its experiment began.

    The evidence is 10 to the power of ``log10_evidence``, and ``level`` was enough. ``after`` is about the first
    attempts since the likeliest time of the change, ``before`` about those before.
    """

    option: Label
    how: How
    log10_evidence: float
    level: float
    before: Rate
    after: Rate
    kind: Literal["drift"] = "drift"

    __repr__ = short_repr

    @property
    def sentence(self) -> str:
        """In words."""
        often = "less" if self.how == "falls" else "more"
        return (
            f"{self.option!r} works {often} often than before: {self.after.mean:.2f} of the last "
            f"{self.after.attempts:,} first attempts instead of {self.before.mean:.2f}."
        )

    def __str__(self) -> str:
        return self.sentence


class Fall:
    """Evidence that a coin has fallen below a limit, whenever that was."""

    def __init__(self) -> None:
        self._wealth = [0.0] * len(ODDS_RATIOS)
        self._factors = [(0.0, 0.0)] * len(ODDS_RATIOS)
        # For each odds ratio how likely it is that the change came where it is likeliest, and outcomes since then.
        self._since = [[0.0, 0, 0] for _ in ODDS_RATIOS]

    def bet_against(self, limit: float) -> None:
        """From now on bet that the mean is below this."""
        if not 0 < limit < 1:
            return
        below = [limit / (limit + ratio * (1 - limit)) for ratio in ODDS_RATIOS]
        self._factors = [(math.log(q / limit), math.log((1 - q) / (1 - limit))) for q in below]

    def add(self, worked: int, failed: int, weight: float) -> None:
        """A block, and the weight of a change at its beginning."""
        share, wealth = weight / len(ODDS_RATIOS), self._wealth
        for number, (success, failure) in enumerate(self._factors):
            gain = worked * success + failed * failure
            wealth[number] = min((wealth[number] + share) * math.exp(gain), MOST)
            since = self._since[number]
            if since[0] <= 0:  # a change that comes now is likelier than any before
                since[:] = 0.0, 0, 0
            since[0] += gain
            since[1] += worked
            since[2] += failed

    @property
    def evidence(self) -> float:
        """So far. Without a change it ever reaches a level with probability at most one over that."""
        return sum(self._wealth)

    @property
    def since(self) -> tuple[int, int]:
        """Successes and failures since the likeliest time of the change."""
        _, worked, failed = self._since[self._wealth.index(max(self._wealth))]
        return int(worked), int(failed)


class Coin:
    """One option: its first attempts, and the evidence that it has changed. False with probability ``alpha`` at most.

    >>> coin = Coin("a", 0.001)
    >>> for _ in range(100):
    ...     coin.add(13, 3)
    >>> coin.alarm("falls")
    >>> for _ in range(15):
    ...     coin.add(8, 8)
    >>> coin.alarm("falls").sentence
    "'a' works less often than before: 0.50 of the last 240 first attempts instead of 0.81."
    """

    def __init__(self, option: Label, alpha: float) -> None:
        self.option = option
        self._alpha = alpha
        self.worked = self.tried = 0
        self._blocks = 0
        self._limits_again_at = BLOCK
        self._low, self._high = 0.0, 1.0
        self._falls, self._rises = Fall(), Fall()

    def know(self, worked: int, tried: int) -> None:
        """What is known of it from before, in which no change is looked for."""
        self.worked += worked
        self.tried += tried
        self._draw_limits()

    def add(self, worked: int, failed: int) -> None:
        """A block of first attempts."""
        self._blocks += 1
        weight = weight_of(self._blocks)
        self._falls.add(worked, failed, weight)
        self._rises.add(failed, worked, weight)
        self.worked += worked
        self.tried += worked + failed
        if self.tried >= self._limits_again_at:
            self._draw_limits()

    def alarm(self, how: How) -> DriftAlarm | None:
        """The alarm for a change of this kind, if there is evidence enough."""
        evidence = self._falls if how == "falls" else self._rises
        level = 4 / self._alpha
        if evidence.evidence < level:
            return None
        kept, lost = evidence.since
        tried, worked = kept + lost, kept if how == "falls" else lost
        before, after = Rate(self.worked - worked, self.tried - tried), Rate(worked, tried)
        return DriftAlarm(self.option, how, math.log10(evidence.evidence), level, before, after)

    def _draw_limits(self) -> None:
        low, high = anytime_limits(self.worked, self.tried, self._alpha / 2)
        self._low, self._high = max(low, self._low), min(high, self._high)
        self._falls.bet_against(self._low)
        self._rises.bet_against(1 - self._high)
        self._limits_again_at = max(self.tried + 1, math.ceil((1 + GROWTH) * self.tried))


class Drift:
    """The ``coins`` of an experiment by option, each with its share of ``alpha``: first attempts in, alarms out."""

    def __init__(self, options: Iterable[Label], alpha: float) -> None:
        labels = tuple(options)
        self.coins = {label: Coin(label, alpha / len(labels)) for label in labels}
        self._block = {label: [0, 0] for label in labels}

    def know(self, counts: Mapping[Label, tuple[int, int]]) -> None:
        """Successes and first attempts from before, by option."""
        for label, (worked, tried) in counts.items():
            self.coins[label].know(worked, tried)

    def add(self, option: Label, worked: bool) -> bool:
        """A first attempt, in the order in which calls began; is a block full with it?"""
        block = self._block[option]
        block[worked] += 1
        if block[0] + block[1] < BLOCK:
            return False
        failed, succeeded = block
        self._block[option] = [0, 0]
        self.coins[option].add(succeeded, failed)
        return True

    def alarm(self, named: tuple[Label, ...], served: Label | None = None) -> DriftAlarm | None:
        """What speaks against a verdict that names these options, best first; without one, any change at all.

        Against it speaks that one of them works less often, or any other but the first more often. So does it if that
        works less often which calls are ``served`` first, where this is another one.
        """
        for label, coin in self.coins.items():
            if not named or label in named or label == served:
                found = coin.alarm("falls")
                if found is not None:
                    return found
            if not named or label != named[0]:
                found = coin.alarm("rises")
                if found is not None:
                    return found
        return None

    def means(self, changed: DriftAlarm | None = None) -> dict[Label, float]:
        """What the means seem to be, of a changed option since then."""
        found = {label: (coin.worked + 1) / (coin.tried + 2) for label, coin in self.coins.items()}
        if changed is not None:
            found[changed.option] = (changed.after.successes + 1) / (changed.after.attempts + 2)
        return found


def weight_of(block: int) -> float:
    """Of a change with the block that has this number, from 1. All of them add up to 1.

    >>> round(sum(weight_of(block) for block in range(1, 1000)), 3)
    0.9
    """
    return 1 / math.log2(block + 1) - 1 / math.log2(block + 2)
