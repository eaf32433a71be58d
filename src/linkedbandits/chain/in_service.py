"""An experiment in the service, for processes on any machines.

A call takes a play that was asked ahead, and leaves its answer in a queue. A thread in the background sends answers and
asks for plays. While the service is away calls are served in the last order known, and answers wait in memory; to send
them twice is harmless, for the service knows them by their plays. If more wait than there is room for the oldest are
dropped, and counted.

What waits in memory is lost with the process; the service gives up its plays when their lease is over.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.chain import forks
from linkedbandits.chain.ahead import Ahead
from linkedbandits.chain.home import Condition
from linkedbandits.chain.rounds import Rounds
from linkedbandits.chain.troubles import Troubles
from linkedbandits.errors import ExperimentFinished, InvalidParameter, LinkedBanditError, TooManyInFlight
from linkedbandits.live import Learning, Play
from linkedbandits.model import Label, Verdict

MOST_WAITING = 100_000
"""Answers that wait for the service. Then the oldest are dropped."""
AT_A_TIME = 1000
"""Answers in one request."""
LOOK_AFTER = 5.0
"""Seconds after which the order is asked for again, while there are answers."""


class Told(Protocol):
    """What the service says to answers."""

    @property
    def receipts(self) -> Sequence[object]:
        """Of each answer what became of it, or the error with which it was refused."""
        ...

    @property
    def done(self) -> bool:
        """Is there a verdict?"""
        ...


class Remote(Protocol):
    """An experiment of a service: :class:`linkedbandits.service.client.RemoteExperiment`."""

    def ask_many(self, count: int) -> list[Play]:
        """Up to so many plays."""
        ...

    def tell_many(self, answers: Sequence[tuple[int, Label | None]]) -> Told:
        """Say how plays ended."""
        ...

    def abandon(self, play_id: int) -> None:
        """Give a play back."""
        ...

    def recommend(self) -> Verdict:
        """The verdict, or what leads."""
        ...

    def alarms(self) -> tuple[Alarm, ...]:
        """Alarms that the service has raised."""
        ...

    @property
    def done(self) -> bool:
        """Is there a verdict?"""
        ...

    @property
    def order(self) -> tuple[Label, ...]:
        """All options in the best order known."""
        ...

    @property
    def learning(self) -> Learning | None:
        """What the plays have cost."""
        ...

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the policy takes for granted."""
        ...


class Answer(NamedTuple):
    """How a play ended; ``lost`` if there is no answer."""

    play: int
    hit: Label | None
    lost: bool


class InService:
    """The home of an experiment in the service. Nothing is sent before the first call."""

    def __init__(
        self,
        remote: Remote,
        labels: tuple[Label, ...],
        lease: float,
        clock: Callable[[], float],
        troubles: Troubles,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self.order = labels
        self.verdict: Verdict | None = None
        self.reads: Which = "duels"
        self._remote = remote
        self._labels = labels
        self._lease = lease
        self._clock = clock
        self._troubles = troubles
        self._most_waiting = most_waiting
        self._refused: str | None = None  # why nothing can be learned here
        self._whole_chains = True
        self._met = False  # has the service been asked what this experiment is?
        self._in_contact = False
        self._told = 0
        self._learning: Learning | None = None
        self._be_a_new_process()
        forks.register(self)

    def take(self) -> Play | None:
        """A play that was asked ahead."""
        if self.verdict is not None or self._refused is not None:
            return None
        play = self._ahead.take()
        self._rounds.wake()
        if play is not None and not play.rest and len(play.arms) < len(self._labels):
            # An experiment without whole chains: the rest is tried all the same, and not told.
            self._whole_chains = False
            return play._replace(rest=tuple(option for option in self.order if option not in play.arms))
        return play

    def tell(self, play: Play, hit: Label | None) -> None:
        """Leave the answer to the thread."""
        self._leave(Answer(play.id, hit if self._whole_chains or hit in play.arms else None, lost=False))

    def lose(self, play: Play) -> None:
        """Leave it to the thread to say that there is no answer."""
        self._leave(Answer(play.id, None, lost=True))

    def _leave(self, answer: Answer) -> None:
        self._answers.append(answer)
        if len(self._answers) > self._most_waiting:
            with self._dropping, suppress(IndexError):  # they may just have been sent
                self._answers.popleft()
                self._dropped += 1
        self._rounds.wake()

    def settle(self) -> None:
        """Wait until the answers are sent, or the service is found to be away."""
        self._rounds.wait_for(self._rounds.made + 2)  # one may be under way that began before

    def attempts(self) -> AttemptLog | None:
        """The service has them."""
        return None

    def alarms(self, alpha: float) -> tuple[Alarm, ...]:
        """Those of the service, at its own level; none if it is away."""
        try:
            return self._remote.alarms()
        except (LinkedBanditError, OSError) as error:
            self._troubles.note("the service", error)
            return ()

    def learning(self) -> Learning | None:
        """What the plays of all callers have cost, when it was last asked for."""
        return self._learning

    def condition(self) -> Condition:
        """How it is: answers of this process."""
        return Condition(
            self._told,
            len(self._ahead),
            len(self._answers) + len(self._sending),
            self._dropped,
        )

    def close(self) -> None:
        """Send what is left, for some seconds at most."""
        self._rounds.stop()
        forks.forget(self)

    def before_fork(self) -> None:
        """Nothing: the child does not use what it was given."""

    def after_fork_in_parent(self) -> None:
        """Go on."""

    def after_fork_in_child(self) -> None:
        """Begin with nothing; and without the service, if the parent has connections to it, which are its own."""
        if self._in_contact:
            self._refuse(
                InvalidParameter(
                    f"process {os.getpid()} was forked from one that was talking to the service, and cannot use its "
                    "connections; make the client and the chain after the fork"
                )
            )
        self._be_a_new_process()

    def _be_a_new_process(self) -> None:
        self._ahead = Ahead(self._lease, self._clock)
        self._answers: deque[Answer] = deque()
        self._sending: list[Answer] = []
        self._dropped = 0
        self._dropping = threading.Lock()
        self._look_at = 0.0
        self._rounds = Rounds("the service", self._round, self._troubles, self._last_round)

    def _refuse(self, error: LinkedBanditError) -> None:
        self._refused = str(error)
        self._troubles.note("the service", error)

    # --------------------------------------------------------------------------------------------- in the background

    def _round(self) -> None:
        if self._refused is not None:
            return
        self._in_contact = True
        if not self._met and not self._meet():
            return
        done = self._send()
        given_back = self._ahead.unused()
        for play in given_back:
            self._remote.abandon(play.id)
        if self.verdict is None and (done or self._remote_is_done(bool(given_back))):
            self._look()
            self.verdict = self._remote.recommend()
            self._ahead.clear()  # the service gives them up itself
        elif self._clock() >= self._look_at and self._told:
            self._look()

    def _last_round(self) -> None:
        if self._refused is None and self._in_contact:
            self._send()
            for play in self._ahead.clear():
                self._remote.abandon(play.id)

    def _meet(self) -> bool:
        order = self._remote.order
        if sorted(map(repr, order)) != sorted(map(repr, self._labels)):
            self._refuse(
                InvalidParameter(
                    f"the options of the experiment in the service are {', '.join(map(repr, order))}, and not "
                    f"{', '.join(map(repr, self._labels))}; nothing is learned from these calls"
                )
            )
            return False
        assumptions = [assumption.name for assumption in self._remote.assumptions]
        self.reads = "all" if INDEPENDENT_OPTIONS.name in assumptions else "duels"
        self.order = order
        self._met = True
        return True

    def _send(self) -> bool:
        """Send all answers; does the service say that there is a verdict?"""
        done = False
        while self._sending or self._answers:
            while self._answers and len(self._sending) < AT_A_TIME:
                self._sending.append(self._answers.popleft())
            told = [(answer.play, answer.hit) for answer in self._sending if not answer.lost]
            if told:
                said = self._remote.tell_many(told)
                done = said.done
                for receipt in said.receipts:
                    if isinstance(receipt, LinkedBanditError):
                        self._troubles.note("the service", receipt)
            for answer in self._sending:
                if answer.lost:
                    self._remote.abandon(answer.play)
            self._told += len(told)
            self._sending.clear()
        return done

    def _remote_is_done(self, given_back: bool) -> bool:
        """Ask for plays; is the experiment done?"""
        wanted = self._ahead.wanted(given_back)
        if wanted:
            try:
                self._ahead.put(self._remote.ask_many(min(wanted, AT_A_TIME)))
            except TooManyInFlight:
                return False
            except ExperimentFinished:
                return True
        return False

    def _look(self) -> None:
        self.order = self._remote.order
        self._learning = self._remote.learning
        self._look_at = self._clock() + LOOK_AFTER
