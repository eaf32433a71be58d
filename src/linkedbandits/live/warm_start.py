"""A log that a live experiment goes on from.

A policy fixes a request before any of it is read or played, so it sees samples of the same law as in an experiment
without a log, and errs no more often; see :mod:`linkedbandits.attempts.queues` for the proof.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, Self

import numpy as np

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.attempts.log import NOT_OFFERED, AttemptLog, Which
from linkedbandits.attempts.queues import PairQueues, Queues
from linkedbandits.errors import InvalidAttempts, InvalidParameter
from linkedbandits.linkage import Linkage
from linkedbandits.live.saving import pack_marks, pack_numbers, unpack_marks, unpack_numbers
from linkedbandits.model import IntArray, Label, Needs, Repeats, Request, Tuples
from linkedbandits.policy import AnyPolicy

Others = Literal["refuse", "ignore"]
"""What becomes of options in a log that are no arms of the experiment."""


class FromLog(NamedTuple):
    """What an experiment has of the log that it was given.

    ``attempts`` says which attempts may be read, ``requests`` how many requests the log has. It has ``samples`` samples
    of the arms that may be read, pairs of options where these are what is read, and ``read`` of them were.
    """

    attempts: Which
    requests: int
    samples: int
    read: int


@dataclass(frozen=True, eq=False)
class WarmStart:
    """A log whose options are the arms' numbers, and behind them one that stands for all options that are no arm.

    It is ``on_your_word`` where options are taken to be independent and the log, in one order, cannot show it; that is
    for the creation of an experiment, and not saved. ``judged`` is the sum of the error bounds of verdicts that were
    asked of the log before.
    """

    attempts: Which
    log: AttemptLog
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
        arms = len(labels)
        numbers = np.array([known.get(option, arms) for option in log.options] + [NOT_OFFERED], dtype=np.int32)
        second = None
        # Seconds of a log that is refused as duels are selected by outcomes, and a successor must not read them either.
        if log.second is not None and (of_plays or log.why_no_duels is None):
            second = numbers[log.second]  # the last number where no option was offered second
        options = tuple(range(arms + 1))
        return cls(
            attempts, AttemptLog(options, log.request, numbers[log.option], log.success, second), needs_word, judged
        )

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
    def arms(self) -> int:
        """How many arms the experiment has."""
        return len(self.log.options) - 1

    @property
    def requests(self) -> int:
        """Requests of the log."""
        return self.log.requests

    @cached_property
    def assumes_independence(self) -> bool:
        """True if attempts behind failures of others are among what is read."""
        behind = np.ones(len(self.log), dtype=np.bool_)
        behind[self.log.first] = False
        return self.attempts == "all" and bool((behind & (self.log.option < self.arms)).any())

    @cached_property
    def samples(self) -> int:
        """Samples, or pairs, that may be read."""
        pairs = self.pairs()
        return int(self.queues().left.sum()) if pairs is None else int(pairs.left.sum())

    def queues(self) -> Queues:
        """The samples of every arm, in the order of the log; none where pairs are read."""
        chosen: dict[Which, IntArray] = {
            "first": self.log.first,
            "all": np.arange(len(self.log)),
            "duels": np.zeros(0, dtype=np.int64),
        }
        return Queues(self.log, chosen[self.attempts], self.arms)

    def pairs(self) -> PairQueues | None:
        """Requests by the two arms that were offered first, where pairs are read."""
        if self.attempts != "duels" or self.log.second is None:
            return None
        return PairQueues(self.log, self.arms)

    @cached_property
    def first_tries(self) -> tuple[IntArray, IntArray]:
        """How often every arm was the first tried of a request, and worked."""
        option, success = self.log.option[self.log.first], self.log.success[self.log.first]
        tried = np.bincount(option, minlength=self.arms + 1)
        return tried[:-1], np.bincount(option[success], minlength=self.arms + 1)[:-1]

    def as_log(self, labels: Sequence[Label]) -> AttemptLog:
        """The attempts with arms' labels; requests end where an option was tried that is no arm."""
        log = self.log
        strange = log.option == self.arms
        before = np.cumsum(strange)
        kept = before == (before - strange)[log.first][log.request]  # none in its request so far
        whole = kept[log.first]
        second = None if log.second is None else np.where(log.second == self.arms, NOT_OFFERED, log.second)[whole]
        request = (np.cumsum(whole) - 1)[log.request[kept]].astype(np.int32)
        return AttemptLog(tuple(labels), request, log.option[kept], log.success[kept], second)

    def to_json(self) -> dict[str, Any]:
        """All of it, ready for ``json.dumps``."""
        log = self.log
        return {
            "attempts": self.attempts,
            "arms": self.arms,
            "judged": self.judged,
            "request": _pack(log.request),
            "option": _pack(log.option),
            "success": pack_marks(log.success),
            "second": None if log.second is None else _pack(log.second),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """What :meth:`to_json` wrote."""
        option = _unpack(data["option"])
        second = None if data["second"] is None else _unpack(data["second"])
        success = unpack_marks(data["success"], option.size)
        options = tuple(range(data["arms"] + 1))
        log = AttemptLog(options, _unpack(data["request"]), option, success, second)
        return cls(data["attempts"], log, judged=data["judged"])


def may_read(policy: AnyPolicy, linkage: Linkage, arms: int) -> Which:
    """What a policy may read of plays that were made under the same linkage: all that it would have been told."""
    if isinstance(policy.request(policy.start(1, arms, np.zeros(1, dtype=np.uint64))), Tuples):
        return "duels"
    return "all" if INDEPENDENT_OPTIONS in policy.assumptions(linkage) else "first"


def check_attempts(attempts: str) -> None:
    """Refuse what is no choice of attempts."""
    if attempts not in ("first", "duels", "all"):
        raise InvalidParameter(f"log_attempts={attempts!r} is none of 'first', 'duels' and 'all'")


def _pack(numbers: np.ndarray) -> str:
    return pack_numbers(array("i", numbers.astype(np.intc).tobytes()))


def _unpack(text: str) -> np.ndarray:
    return np.array(unpack_numbers(text), dtype=np.int32)
