"""Worlds without chance: rewards that were given beforehand, read in turn."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from linkedbandits.errors import InvalidParameter
from linkedbandits.model import IntArray
from linkedbandits.world import JointWorld


class ReplayedRewards:
    """Arms that succeed as given: sample j of an arm is its reward j, in whichever play it is taken.

    ``rewards[lane, arm, j]`` is 0 or 1; those of one lane may be given without the lane's axis.

    >>> import linkedbandits as lb
    >>> world = ReplayedRewards([[0, 0, 1, 0], [1, 1, 0, 1]])
    >>> runs = lb.simulate([0.25, 0.75], lb.UniformSampling(samples=3), world=world, trials=1)
    >>> runs.plays.tolist(), runs.arm.tolist()
    ([4], [1])
    """

    independent = True

    def __init__(self, rewards: npt.ArrayLike) -> None:
        given = np.array(rewards)
        if given.ndim == 2:
            given = given[np.newaxis]
        if given.ndim != 3 or not np.isin(given, (0, 1)).all():
            raise InvalidParameter(
                f"rewards of shape {given.shape} are no zeros and ones by lane, arm and sample; "
                "fill up rows of unequal length"
            )
        self._rewards = given.astype(np.int64)
        self._so_far = np.pad(self._rewards.cumsum(axis=2), ((0, 0), (0, 0), (1, 0)))
        self._read = np.zeros(given.shape[:2], dtype=np.int64)

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        self._rewards, self._so_far, self._read = self._rewards[lanes], self._so_far[lanes], self._read[lanes]

    def successes(self, samples: IntArray) -> IntArray:
        """The successes among the next samples of every arm."""
        if samples.shape != self._read.shape:
            raise InvalidParameter(
                f"{samples.shape} lanes and arms are asked for samples, and there are rewards for {self._read.shape}; "
                "give as many lanes as there are trials"
            )
        upto = self._read + samples
        beyond = np.argwhere(upto > self._rewards.shape[2])
        if beyond.size:
            lane, arm = beyond[0].tolist()
            raise InvalidParameter(
                f"sample {int(upto[lane, arm])} of arm {arm} was asked for in lane {lane}, and there are rewards for "
                f"{self._rewards.shape[2]}; give more"
            )
        before, after = (np.take_along_axis(self._so_far, at[..., np.newaxis], 2)[..., 0] for at in (self._read, upto))
        self._read = upto
        return np.asarray(after - before)

    def successes_of(self, arms: IntArray, samples: IntArray) -> IntArray:
        """The same for one arm per lane."""
        _check_lanes(arms.size, len(self._read), "rewards")
        lanes = np.arange(arms.size)
        wanted = np.zeros_like(self._read)
        wanted[lanes, arms] = samples
        return np.asarray(self.successes(wanted)[lanes, arms])

    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """Play the tuples, one play after the other."""
        _check_lanes(times.size, len(self._read), "rewards")
        hits = np.zeros_like(order)
        for lane, (arms, plays) in enumerate(zip(order.tolist(), times.tolist(), strict=True)):
            for _ in range(plays):
                for place, arm in enumerate(arms):
                    if arm >= 0 and self._next(lane, arm):
                        hits[lane, place] += 1
                        break
        return hits

    def _next(self, lane: int, arm: int) -> bool:
        one = np.zeros_like(self._read)
        one[lane, arm] = 1
        return bool(self.successes(one)[lane, arm])


class ReplayedRequests(JointWorld):
    """Requests that go as given: play t meets request t, on which every arm does what it does, whichever is tried.

    ``outcomes[lane, request, arm]`` is 0 or 1; those of one lane may be given without the lane's axis. Arms may so fail
    together, which :class:`ReplayedRewards` cannot express.

    >>> import linkedbandits as lb
    >>> world = ReplayedRequests([[0, 0], [0, 1], [1, 1], [0, 1], [0, 0]])
    >>> runs = lb.simulate([0.2, 0.6], lb.UniformSampling(samples=3), linkage="free", world=world, trials=1)
    >>> runs.plays.tolist(), runs.samples.tolist()
    ([4], [[3, 3]])
    """

    def __init__(self, outcomes: npt.ArrayLike) -> None:
        given = np.array(outcomes)
        if given.ndim == 2:
            given = given[np.newaxis]
        if given.ndim != 3 or not np.isin(given, (0, 1)).all():
            raise InvalidParameter(f"outcomes of shape {given.shape} are no zeros and ones by lane, request and arm")
        self._outcomes = given.astype(np.int64)
        self._played = np.zeros(given.shape[0], dtype=np.int64)

    def keep(self, lanes: npt.NDArray[Any]) -> None:
        """Go on with these lanes only (a mask, or increasing positions)."""
        self._outcomes, self._played = self._outcomes[lanes], self._played[lanes]

    def hits(self, order: IntArray, times: IntArray) -> IntArray:
        """Play the tuples, on one request after the other."""
        _check_lanes(times.size, self._played.size, "requests")
        hits = np.zeros_like(order)
        for lane, plays in enumerate(times.tolist()):
            places = np.flatnonzero(order[lane] >= 0)
            upto = int(self._played[lane]) + plays
            if upto > self._outcomes.shape[1]:
                raise InvalidParameter(
                    f"request {upto} was asked for in lane {lane}, and there are {self._outcomes.shape[1]}; give more"
                )
            met = self._outcomes[lane, self._played[lane] : upto][:, order[lane, places]]
            first = places[met.argmax(axis=1)[met.any(axis=1)]] if places.size else places
            np.add.at(hits[lane], first, 1)
            self._played[lane] = upto
        return hits


def _check_lanes(asked: int, given: int, what: str) -> None:
    if asked != given:
        raise InvalidParameter(
            f"{asked} lanes are asked, and there are {what} for {given}; give as many lanes as there are trials"
        )
