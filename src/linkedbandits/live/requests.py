"""One request, fulfilled play by play by the caller: what to hand out next, and what has come back.

The plays in flight are *spoken for*: a request never hands out more plays of an arm than it still needs samples of
it, and it is fulfilled only when all of them are back. So no answer can be left out because it was slow, which
matters where slow answers tend to be the failures.

A caller who wants more plays in flight than that gets *spare* plays (:mod:`linkedbandits.live.spares`), which serve the
requests that follow, and this one if one of its plays is given up or brings less.

Where there is a log (:class:`linkedbandits.world.LogWorld`), a request takes from it what it has, and only the rest is
played.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from linkedbandits.linkage import Linkage
from linkedbandits.live.pair_log import PairLog
from linkedbandits.live.spares import ClaimedSpares, Spares
from linkedbandits.model import COUNT_LIMIT, Counts, FloatArray, IntArray, Needs, Repeats, Request, Tuples
from linkedbandits.world import LogWorld


class NeedsInProgress:
    """Needs, played as the linkage plans."""

    def __init__(self, needs: IntArray, linkage: Linkage) -> None:
        self._linkage = linkage
        self._needs = needs
        self._remaining = needs.copy()
        self._free = needs.copy()  # remaining needs that no play in flight speaks for
        self._successes = np.zeros_like(needs)
        self._unmet = int(
            needs.sum(dtype=np.float64)
        )  # exact for any number of plays that can be made, and cannot overflow
        self._order = np.empty(0, dtype=np.int64)
        self._plan_plays = 0
        self._whole = False  # plays try all arms of the order, also those without a need
        self._speaks_for = self._order  # the arms of the next play that are needed
        self.claimed: IntArray | None = None  # the same, where a play has to try others: what those bring is spare
        self._unclaimed = self._unmet  # the sum of what is free
        self._open = self._order  # the arms of the next play,
        self._sure = 0  # and for how many plays they cannot change; below 0 if there is none
        self._spare: IntArray | None = None  # those of a spare play, until something comes back
        self._plays_of_log: int | None = None
        self._plays_saved = 0  # that it would have taken to get what was read
        self.freed = False

    def read(self, log: LogWorld) -> None:
        """Take from the log what it has."""
        taken = np.minimum(self._needs, log.left)
        # A linkage whose plays try more than is needed would use the log up for samples that were not asked for.
        exact = not self._linkage.plan(self._needs[np.newaxis]).whole
        if exact:
            read = self._linkage.fulfil(taken[np.newaxis], np.array([COUNT_LIMIT]), log)
            successes, self._plays_saved = read.counts.successes, int(read.plays[0])
            if (taken == self._needs).all():
                self._plays_of_log = self._plays_saved
        else:
            successes = log.successes(taken[np.newaxis])
            self._plays_saved = int(taken.max(initial=0))
        self._successes += successes[0]
        self._remaining -= taken
        self._free -= taken
        self._unmet -= int(taken.sum())
        self._unclaimed -= int(taken.sum())

    @property
    def fulfilled(self) -> bool:
        """Is every need met?"""
        return self._unmet == 0

    def hand_out(self) -> IntArray | None:
        """The arms of the linkage's plan with a need that no play in flight is to meet."""
        if self._sure <= 0 and (self._sure < 0 or not self._settle_next_play()):
            self._sure = -1  # until something is free again
            return None
        self._sure -= 1
        self._plan_plays -= 1
        self._free[self._speaks_for] -= 1
        self._unclaimed -= self._speaks_for.size
        return self._open

    def _settle_next_play(self) -> bool:
        arms = self._planned_arms() if self._plan_plays else None
        if arms is None or not arms.size:
            if not self._unclaimed:
                return False
            plan = self._linkage.plan(self._free[np.newaxis])
            self._order, self._plan_plays, self._whole = plan.order[0], int(plan.plays[0]), plan.whole
            arms = self._planned_arms()
        opened = self._order if self._whole else arms
        if opened.size != self._open.size or opened.tobytes() != self._open.tobytes():
            self._open = opened  # the same array tells the caller that it is the same play
        self._speaks_for = arms
        self.claimed = None if arms.size == opened.size else arms
        self._sure = min(int(np.minimum.reduce(self._free[arms])), self._plan_plays)
        return True

    def _planned_arms(self) -> IntArray:
        """The arms of the plan that are needed."""
        return np.asarray(self._order[self._free[self._order] > 0])

    def spare_play(self) -> IntArray:
        """The plan for what has not come back yet."""
        if self._spare is None:
            plan = self._linkage.plan(self._remaining[np.newaxis])
            order: IntArray = plan.order[0]
            self._spare = order if plan.whole else np.asarray(order[self._remaining[order] > 0])
        return self._spare

    def bring(self, arms: IntArray, reached: int, hit: bool) -> None:
        """Count the samples; arms that the play did not reach are free to be played again."""
        self._remaining[arms[:reached]] -= 1
        self._unmet -= reached
        self._spare = None
        if hit:
            self._successes[arms[reached - 1]] += 1
            if reached < arms.size:
                self._free[arms[reached:]] += 1
                self._unclaimed += arms.size - reached
                self._sure = 0
                self.freed = True

    def take_back(self, arms: IntArray) -> None:
        """These arms are no longer spoken for."""
        self._free[arms] += 1
        self._unclaimed += arms.size
        self._sure = 0
        self.freed = True

    def replace(self, arms: IntArray, spares: Spares) -> ClaimedSpares | None:
        """Arm by arm, what was handed out first."""
        self.take_back(arms)
        return self.claim(spares)

    def wants(self, arms: IntArray) -> bool:
        """Is one of them free?"""
        return bool((self._free[arms] > 0).any())

    def predicted(self, means: FloatArray, chance: np.random.Generator) -> Counts:
        """The counts of the whole request, where missing samples are drawn with these means."""
        drawn = chance.binomial(self._remaining, means)
        return Counts(self._needs[np.newaxis], (self._successes + drawn)[np.newaxis])

    def claim(self, spares: Spares) -> ClaimedSpares:
        """Arm by arm, as far as there is a need that no play in flight is to meet."""
        self.freed = False
        claim = spares.claim_samples(self._free)
        if not claim.plays:
            return claim
        self._sure, self._spare = 0, None
        self._free -= claim.spoken_for
        self._unclaimed -= int(claim.spoken_for.sum())
        self._remaining -= claim.samples
        self._successes += claim.successes
        self._unmet -= int(claim.samples.sum())
        return claim

    def bring_claimed(self, claimed: IntArray, arms: IntArray, reached: int, hit: bool) -> None:
        """Count the samples of claimed arms; those not reached are free again."""
        came = np.isin(claimed, arms[:reached])
        self.freed |= not came.all()
        self._remaining[claimed[came]] -= 1
        self._free[claimed[~came]] += 1
        self._unclaimed += int((~came).sum())
        self._unmet -= int(came.sum())
        if hit and (claimed == arms[reached - 1]).any():
            self._successes[arms[reached - 1]] += 1
        self._sure, self._spare = 0, None

    def counts(self) -> Counts:
        """What has come back, as one lane."""
        plays = None if self._plays_of_log is None else np.array([self._plays_of_log])
        return Counts((self._needs - self._remaining)[np.newaxis], self._successes[np.newaxis], plays)

    def plays_with_log(self, live: int) -> int:
        """Those made, and those for what was read."""
        return live + self._plays_saved if self._plays_of_log is None else self._plays_of_log

    def to_json(self) -> dict[str, Any]:
        """All of it, for :func:`resume`."""
        return {
            "plays_saved": self._plays_saved,
            "needs": self._needs.tolist(),
            "remaining": self._remaining.tolist(),
            "free": self._free.tolist(),
            "successes": self._successes.tolist(),
            "order": self._order.tolist(),
            "plan_plays": self._plan_plays,
            "whole": self._whole,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], linkage: Linkage) -> NeedsInProgress:
        """What :meth:`to_json` wrote."""
        read = cls(np.array(data["needs"], dtype=np.int64), linkage)
        read._remaining = np.array(data["remaining"], dtype=np.int64)
        read._free = np.array(data["free"], dtype=np.int64)
        read._successes = np.array(data["successes"], dtype=np.int64)
        read._unmet = int(read._remaining.sum(dtype=np.float64))
        read._unclaimed = int(read._free.sum(dtype=np.float64))
        read._order = np.array(data["order"], dtype=np.int64)
        read._plan_plays = int(data["plan_plays"])
        read._whole = data["whole"]
        read._plays_saved = data["plays_saved"]
        return read


AT_A_TIME = 4096
"""Plays of several tuples whose order is drawn together."""


class TuplesInProgress:
    """One tuple or several, each played a given number of times, in an order drawn at random.

    ``_left`` are the plays of every tuple without a place in the order yet, ``_next`` those that have one, the next one
    last. ``_ends`` counts where the plays of every tuple ended: at each place, and behind the last one without a hit.
    """

    def __init__(self, tuples: list[IntArray], times: list[int], arms: int, shuffle: int) -> None:
        self._tuples = tuples
        self._times = list(times)
        self._left = list(times)
        self._arms = arms
        self._shuffle = shuffle
        self._remaining = sum(times)
        self._ends = [[0] * (tried.size + 1) for tried in tuples]
        self._choice_of = {tried.tobytes(): choice for choice, tried in enumerate(tuples)}
        self._asked = [choice for choice, count in enumerate(times) if count]
        self._next: list[int] = []
        self._drawn = 0
        self._further_draws = 0
        self._plays_of_spares: int | None = None
        self._plays_read = 0

    def read(self, log: PairLog) -> None:
        """Take from the log what it has of each tuple, before any of them is played."""
        for choice in self._asked:
            ended = log.take(self._tuples[choice], self._left[choice])
            count = int(ended.sum())
            self._left[choice] -= count
            self._remaining -= count
            self._plays_read += count
            if count:
                self._ends[choice] = (self._ends[choice] + ended).tolist()

    @property
    def fulfilled(self) -> bool:
        """Are all plays back?"""
        return self._remaining == 0

    def hand_out(self) -> IntArray | None:
        """The tuple whose turn it is."""
        if not self._next and not self._draw():
            return None
        return self._tuples[self._next.pop()]

    def _draw(self) -> bool:
        """Put the next plays into an order: all that are left, or a share of each tuple's if there are very many."""
        left = np.array(self._left, dtype=np.float64)
        if not left.any():
            return False
        chance = np.random.default_rng([self._shuffle, self._drawn])
        self._drawn += 1
        taken = self._left
        if left.sum() > AT_A_TIME:
            share = chance.multinomial(AT_A_TIME, left / left.sum()).tolist()
            taken = [min(pair) for pair in zip(share, self._left, strict=True)]
        self._left = [count - now for count, now in zip(self._left, taken, strict=True)]
        self._next = chance.permutation(np.repeat(np.arange(left.size), taken)).tolist()
        return True

    @property
    def claimed(self) -> None:
        """Tuples count as a whole."""

    def spare_play(self) -> IntArray:
        """One of the tuples at random: the next request mostly wants the same."""
        if len(self._asked) == 1:
            return self._tuples[self._asked[0]]
        return self._tuples[self._asked[int(self._further_draw().integers(len(self._asked)))]]

    def bring(self, arms: IntArray, reached: int, hit: bool) -> None:
        """Count the play."""
        self._remaining -= 1
        self._ends[self._choice_of[arms.tobytes()]][reached - 1 if hit else -1] += 1

    def take_back(self, arms: IntArray) -> None:
        """The play has to be made again, at some place among those that have their turn."""
        place = int(self._further_draw().integers(len(self._next) + 1))
        self._next.insert(place, self._choice_of[arms.tobytes()])

    freed: ClassVar[bool] = False

    def replace(self, arms: IntArray, spares: Spares) -> ClaimedSpares | None:
        """A spare play of the same tuple, if there is one."""
        choice = self._choice_of[arms.tobytes()]
        claim = self._claim_of(choice, 1, spares)
        if claim.plays:
            return claim
        self.take_back(arms)
        return None

    def wants(self, arms: IntArray) -> bool:
        """No single arm."""
        return False

    def predicted(self, means: FloatArray, chance: np.random.Generator) -> Counts:
        """The counts of the whole request, where missing plays are drawn with these means."""
        drawn = [
            np.add(ends, drawn_ends(tried, times - sum(ends), means, chance)).tolist()
            for tried, ends, times in zip(self._tuples, self._ends, self._times, strict=True)
        ]
        return counts_of_ends(self._tuples, drawn, self._arms)

    def _further_draw(self) -> np.random.Generator:
        """The randomness of a choice beside the order: nothing about a request may go with the tuple that it gets."""
        self._further_draws += 1
        return np.random.default_rng([self._shuffle, self._drawn, self._further_draws])

    def claim(self, spares: Spares) -> ClaimedSpares:
        """A spare play of one of the tuples counts as one of its plays."""
        total = ClaimedSpares.none(self._arms)
        for choice in self._asked:
            claim = self._claim_of(choice, self._left[choice], spares)
            self._left[choice] -= claim.plays
            total = total.combine(claim)
        if self.fulfilled:
            self._plays_of_spares = total.plays
        return total

    def _claim_of(self, choice: int, most: int, spares: Spares) -> ClaimedSpares:
        tried = self._tuples[choice]
        claim = spares.claim_tuples(tried, most)
        self._remaining -= claim.back
        ends = self._ends[choice]
        hits = claim.successes[tried].tolist()
        for place, count in enumerate([*hits, claim.back - sum(hits)]):
            ends[place] += count
        return claim

    def bring_claimed(self, claimed: IntArray, arms: IntArray, reached: int, hit: bool) -> None:
        """Tuples are claimed as a whole; what was tried behind them is the rest of a whole chain."""
        self.bring(claimed, min(reached, claimed.size), hit and reached <= claimed.size)

    def counts(self) -> Counts:
        """What has come back, as one lane."""
        plays = None if self._plays_of_spares is None else np.array([self._plays_of_spares])
        return counts_of_ends(self._tuples, self._ends, self._arms, plays)

    def plays_with_log(self, live: int) -> int:
        """Those made and those read."""
        return live + self._plays_read

    def to_json(self) -> dict[str, Any]:
        """All of it, for :func:`resume`."""
        return {
            "plays_read": self._plays_read,
            "tuples": [tried.tolist() for tried in self._tuples],
            "times": list(self._times),
            "arms": self._arms,
            "shuffle": self._shuffle,
            "remaining": self._remaining,
            "left": list(self._left),
            "asked": list(self._asked),
            "next": list(self._next),
            "drawn": self._drawn,
            "further_draws": self._further_draws,
            "ends": [list(ends) for ends in self._ends],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TuplesInProgress:
        """What :meth:`to_json` wrote."""
        tuples = [np.array(tried, dtype=np.int64) for tried in data["tuples"]]
        read = cls(tuples, data["times"], data["arms"], data["shuffle"])
        read._plays_read = data["plays_read"]
        read._left = list(data["left"])
        read._remaining = data["remaining"]
        read._asked = list(data["asked"])
        read._next = list(data["next"])
        read._drawn = data["drawn"]
        read._further_draws = data["further_draws"]
        read._ends = [list(ends) for ends in data["ends"]]
        return read


def drawn_ends(tried: IntArray, plays: int, means: FloatArray, chance: np.random.Generator) -> list[int]:
    """Where so many plays of a tuple end if its arms have these means: at each place, and without a hit."""
    ends = []
    for arm in tried.tolist():
        ends.append(int(chance.binomial(plays, means[arm])))
        plays -= ends[-1]
    return [*ends, plays]


def counts_of_ends(
    tuples: Sequence[IntArray], ends: Sequence[Sequence[int]], arms: int, plays: IntArray | None = None
) -> Counts:
    """The counts of one lane, from where the plays of each tuple ended."""
    samples, successes = np.zeros((2, arms), dtype=np.int64)
    hits = np.zeros((len(tuples), max(tried.size for tried in tuples)), dtype=np.int64)
    for choice, (tried, ended) in enumerate(zip(tuples, ends, strict=True)):
        going_on = sum(ended)
        hits[choice, : tried.size] = ended[:-1]
        if going_on:
            for arm, count in zip(tried.tolist(), ended[:-1], strict=True):
                samples[arm] += going_on
                successes[arm] += count
                going_on -= count
    return Counts(samples[np.newaxis], successes[np.newaxis], plays, hits[np.newaxis])


RequestInProgress = NeedsInProgress | TuplesInProgress


def begin(
    request: Request, arms: int, linkage: Linkage, log: LogWorld | None = None, pairs: PairLog | None = None
) -> RequestInProgress:
    """Start to play the request of a single lane, with what the log has, or that of pairs.

    Tuples are never answered by a log with one queue per arm: it has lost which outcomes came in the same play.
    """
    if isinstance(request, Needs):
        needs = NeedsInProgress(request.samples[0], linkage)
        if log is not None:
            needs.read(log)
        return needs
    tuples = TuplesInProgress(*tuples_of(request), arms, int(request.shuffle[0]) if isinstance(request, Tuples) else 0)
    if pairs is not None:
        tuples.read(pairs)
    return tuples


def tuples_of(request: Repeats | Tuples) -> tuple[list[IntArray], list[int]]:
    """The tuples that a single lane asks for, and how often each: repeats are a single tuple."""
    if isinstance(request, Repeats):
        return [request.order[0][request.order[0] >= 0]], request.times.tolist()
    return [tried[tried >= 0] for tried in request.order[0]], request.times[0].tolist()


def resume(data: dict[str, Any], linkage: Linkage) -> RequestInProgress:
    """Go on with a request that was saved by its ``to_json``."""
    return TuplesInProgress.from_json(data) if "tuples" in data else NeedsInProgress.from_json(data, linkage)


def is_of(data: dict[str, Any], request: Request) -> bool:
    """True if this was saved by a request like that one."""
    if isinstance(request, Needs):
        return bool(data.get("needs") == request.samples[0].tolist())
    return bool(data.get("tuples") == [tried.tolist() for tried in tuples_of(request)[0]])


def counts_in(data: dict[str, Any]) -> tuple[IntArray, IntArray]:
    """Samples and successes that a request had brought when it was saved."""
    if "tuples" in data:
        counts = TuplesInProgress.from_json(data).counts()
        return counts.samples[0], counts.successes[0]
    samples = np.subtract(data["needs"], data["remaining"])
    return np.array(samples, dtype=np.int64), np.array(data["successes"], dtype=np.int64)
