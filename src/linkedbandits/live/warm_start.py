"""A log that a live experiment goes on from, in numbers.

Imagine for every arm an endless row of coins, tossed beforehand; whoever tries the arm is handed the next coin of its
row. If those who chose what to try in the log used the past alone, the j-th sample of an arm in the log is the j-th
coin of its row, and what is played live are the coins behind it. A policy fixes a request before any of it is read or
played, so it sees coins of the same law as in an experiment without a log, and errs no more often; see
:mod:`linkedbandits.attempts.queues` for the proof.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.attempts.log import NOT_OFFERED, AttemptLog, Numbers, Which
from linkedbandits.errors import InvalidAttempts, InvalidParameter
from linkedbandits.linkage import Linkage
from linkedbandits.live.answer_log import pack_numbers, unpack_numbers
from linkedbandits.live.pair_log import PairLog
from linkedbandits.live.spares import pack_marks, unpack_marks
from linkedbandits.model import BoolArray, IntArray, Label, Needs, Repeats, Request, Tuples
from linkedbandits.policy import AnyPolicy
from linkedbandits.world import LogWorld

Others = Literal["refuse", "ignore"]
"""What becomes of options in a log that are no arms of the experiment."""

NO_ARM = -1


class FromLog(NamedTuple):
    """What an experiment has of the log that it was given.

    ``attempts`` says which attempts may be read, ``requests`` how many requests the log has. It has ``samples`` samples
    of the arms that may be read, pairs of options where these are what is read, and ``read`` of them were.
    """

    attempts: Which
    requests: int
    samples: int
    read: int


class LoggedPlay(NamedTuple):
    """A request of a log: the options as they were offered, None for one that is no arm, and the arm that worked.

    ``another_worked`` where what worked is no arm.
    """

    order: tuple[Label | None, ...]
    hit: Label | None
    another_worked: bool


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Attempts as in :class:`linkedbandits.Attempts`, with the arms' numbers: ``NO_ARM`` for what is none of them.

    ``opens[a]`` says that attempt ``a`` is the first of its request. It is ``on_your_word`` where options are taken to
    be independent and the log, in one order, cannot show it; that is for whoever creates an experiment, and not saved.
    ``judged`` is the sum of the error bounds of verdicts that were asked of the log before.
    """

    attempts: Which
    arms: int
    opens: BoolArray
    option: Numbers
    success: BoolArray
    second: Numbers | None
    on_your_word: bool = False
    judged: float = 0.0

    @classmethod
    def of(
        cls,
        log: AttemptLog,
        labels: Sequence[Label],
        attempts: Which,
        others: Others,
        independent: bool = False,
        of_plays: bool = False,
        judged: float = 0.0,
    ) -> WarmStart:
        """A log for an experiment with these arms, or an error that says why it cannot be used.

        ``independent`` is the user's word that options are, for a log in one order, which cannot show it. The log is
        one ``of_plays`` if it comes from an experiment: where it does not say what was offered second, that was an
        option that is no arm any more, whatever the first one did.
        """
        if not isinstance(log, AttemptLog):
            raise InvalidParameter(
                f"log={log!r} is no log of attempts; make one with Attempts.from_plays, or read_attempts for a file"
            )
        check_attempts(attempts)
        if not 0 <= judged <= 1:
            raise InvalidParameter(f"log_judged={judged!r} is no error bound; give the sum of those of verdicts before")
        if others not in ("refuse", "ignore"):
            raise InvalidParameter(f"log_others={others!r} is neither 'refuse' nor 'ignore'")
        known = {label: number for number, label in enumerate(labels)}
        strange = [option for option in log.options if option not in known]
        if strange and others == "refuse":
            raise InvalidAttempts(
                f"the log has options that are no arms: {', '.join(map(repr, strange[:8]))}; the arms are "
                f"{', '.join(map(repr, labels[:8]))}. Add the missing ones, or say log_others='ignore' to leave out "
                "what was tried of others"
            )
        if attempts == "duels" and not of_plays and log.why_no_duels is not None:
            raise InvalidAttempts(
                f"{log.why_no_duels}: log_attempts='first' with LinkedElimination(0.05) under linkage='single', which "
                "does not assume independent options either"
            )
        needs_word = attempts == "all" and log.in_one_order and len(log) > 0
        if needs_word and not independent:
            raise InvalidAttempts(
                "options are tried in one order in this log, so whether they are independent cannot be checked; use "
                "log_attempts='first', or give your word that they are with log_independent=True"
            )
        numbers = np.array([known.get(option, NO_ARM) for option in log.options] + [NO_ARM], dtype=np.int32)
        opens = np.zeros(len(log), dtype=np.bool_)
        opens[log.first] = True
        second = None
        # Seconds of a log that is refused as duels are selected by outcomes, and a successor must not read them either.
        if log.second is not None and (of_plays or log.why_no_duels is None):
            # The last of the numbers stands for an option that was not offered.
            second = numbers[np.where(log.second == NOT_OFFERED, -1, log.second)]
        return cls(attempts, len(labels), opens, numbers[log.option], log.success, second, needs_word, judged)

    def check_policy(self, policy: AnyPolicy, request: Request) -> None:
        """Refuse a log that does not answer what a policy asks first."""
        kind = type(policy).__name__
        if isinstance(request, Needs):
            if self.attempts == "duels":
                raise InvalidParameter(
                    f"log_attempts='duels' answers pairs, and {kind} asks for none; use log_attempts='first', or "
                    "LinkedDuels"
                )
        elif self.attempts != "duels":
            raise InvalidParameter(
                f"{kind} asks for tuples, which log_attempts={self.attempts!r} cannot answer; "
                "use log_attempts='duels' with LinkedDuels, or a policy that asks for needs, such as "
                "LinkedElimination(0.05) under linkage='single'"
            )
        elif isinstance(request, Repeats) or request.order.shape[2] != 2:
            raise InvalidParameter(
                f"log_attempts='duels' answers pairs, and {kind} asks for other tuples; use LinkedDuels, or no log"
            )

    @property
    def requests(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.opens))

    @cached_property
    def assumes_independence(self) -> bool:
        """Are attempts behind failures of others among what is read?"""
        return self.attempts == "all" and bool((~self.opens & (self.option != NO_ARM)).any())

    @cached_property
    def samples(self) -> int:
        """How many may be read, or pairs."""
        pairs = self.pairs()
        return int(self.totals[0].sum()) if pairs is None else pairs.size

    def queues(self) -> LogWorld:
        """The samples of every arm, in the order of the log; none where pairs are read."""
        if self.attempts == "duels":
            return LogWorld([np.zeros(0, dtype=np.bool_)] * self.arms)
        read = self.opens if self.attempts == "first" else np.ones_like(self.opens)
        return LogWorld(self.success[read & (self.option == arm)] for arm in range(self.arms))

    def pairs(self, read: Sequence[int] = ()) -> PairLog | None:
        """Requests by the two arms that were offered first, where pairs are read; so many were read before."""
        if self.attempts != "duels" or self.second is None:
            return None
        at = np.flatnonzero(self.opens)
        first = self.option[at].astype(np.int64)
        ends = np.full(at.size, 2)
        behind = np.minimum(at + 1, self.opens.size - 1)
        ends[~self.opens[behind] & self.success[behind]] = 1
        ends[self.success[at]] = 0
        whole = (first >= 0) & (self.second >= 0)
        return PairLog(self.arms, first[whole], self.second[whole].astype(np.int64), ends[whole], read)

    @cached_property
    def totals(self) -> tuple[IntArray, IntArray]:
        """Samples and successes of every arm that may be read; none where pairs are."""
        queues = self.queues()
        return queues.left, queues.successes_left

    @cached_property
    def first_tries(self) -> tuple[IntArray, IntArray]:
        """How often every arm was the first tried of a request, and worked."""
        mine = self.opens & (self.option != NO_ARM)
        won = mine & self.success
        return np.bincount(self.option[mine], minlength=self.arms), np.bincount(self.option[won], minlength=self.arms)

    def as_log(self, labels: Sequence[Label]) -> AttemptLog:
        """The attempts with arms' labels; requests end where an option was tried that is no arm."""
        request = np.cumsum(self.opens) - 1
        strange = self.option == NO_ARM
        before = np.cumsum(strange)
        kept = before == (before - strange)[self.opens][request]  # none in its request so far
        whole = np.flatnonzero(kept & self.opens)
        second = None if self.second is None else self.second[request[whole]]
        return AttemptLog(
            tuple(labels),
            (np.cumsum(self.opens[kept]) - 1).astype(np.int32),
            self.option[kept],
            self.success[kept],
            second,
        )

    def plays(self, labels: Sequence[Label]) -> Iterator[LoggedPlay]:
        """Every request of the log, as :meth:`linkedbandits.Attempts.from_plays` takes those without a None."""
        starts = np.flatnonzero(self.opens).tolist()
        option, success = self.option.tolist(), self.success.tolist()
        second = [NO_ARM] * len(starts) if self.second is None else self.second.tolist()
        names = [*labels, None]  # the last one for what is none of them
        ends = [*starts, len(option)][1:]
        for start, end, behind in zip(starts, ends, second, strict=True):
            tried = option[start:end]
            worked = success[end - 1]
            offered = [*tried, behind] if worked and len(tried) == 1 and behind != NO_ARM else tried
            hit = names[tried[-1]] if worked else None
            yield LoggedPlay(tuple(names[arm] for arm in offered), hit, worked and hit is None)

    def to_json(self) -> dict[str, Any]:
        """All of it, ready for ``json.dumps``."""
        return {
            "attempts": self.attempts,
            "arms": self.arms,
            "count": self.option.size,
            "opens": pack_marks(self.opens),
            "option": _pack(self.option),
            "success": pack_marks(self.success),
            "second": None if self.second is None else _pack(self.second),
            "judged": self.judged,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """What :meth:`to_json` wrote."""
        count = data["count"]
        return cls(
            data["attempts"],
            data["arms"],
            unpack_marks(data["opens"], count),
            _unpack(data["option"]),
            unpack_marks(data["success"], count),
            None if data["second"] is None else _unpack(data["second"]),
            judged=data.get("judged", 0.0),
        )


def may_read(policy: AnyPolicy, linkage: Linkage, arms: int) -> Which:
    """What a policy may read of plays that were made under the same linkage: all that it would have been told."""
    if isinstance(policy.request(policy.start(1, arms, np.zeros(1, dtype=np.uint64))), Tuples):
        return "duels"
    return "all" if INDEPENDENT_OPTIONS in policy.assumptions(linkage) else "first"


def check_attempts(attempts: str) -> None:
    """Refuse what is no choice of attempts."""
    if attempts not in ("first", "duels", "all"):
        raise InvalidParameter(f"log_attempts={attempts!r} is none of 'first', 'duels' and 'all'")


def _pack(numbers: Numbers) -> str:
    return pack_numbers(array("i", numbers.astype(np.intc).tobytes()))


def _unpack(text: str) -> Numbers:
    return np.array(unpack_numbers(text), dtype=np.int32)
