"""An experiment in the service, for processes on any machines.

A call takes a play that was asked ahead, and leaves its answer in a queue. A thread in the background sends answers and
asks for plays. While the service is away calls are served in the last order known, and answers wait in memory; to send
them twice is harmless, for the service knows them by their plays. If more wait than there is room for the oldest are
dropped, and counted.

What waits in memory is lost with the process; the service gives up its plays when their lease is over.

The service is also told what first attempts took and cost, as sums of this process (:mod:`reporting
<linkedbandits.chain.reporting>`). It decides nothing, so it comes last in a round, and nothing waits for it.

Where another experiment goes on from this one the service says so when it is asked for plays, or for how things stand,
and the chains of all processes go on with that one.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, Protocol, Self

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.chain import forks
from linkedbandits.chain.ahead import Ahead
from linkedbandits.chain.expenses import Spent
from linkedbandits.chain.history import Era, Move, options_changed, same_options
from linkedbandits.chain.home import Condition
from linkedbandits.chain.reporting import Reporting
from linkedbandits.chain.rounds import Pause, Rounds
from linkedbandits.chain.troubles import Troubles
from linkedbandits.errors import (
    ExperimentFinished,
    InvalidParameter,
    LinkedBanditError,
    ServiceUnavailable,
    TooManyInFlight,
    UnexpectedAnswer,
    WrongState,
)
from linkedbandits.live import Before, Learning, Play
from linkedbandits.model import Label, Verdict
from linkedbandits.option_estimates import FirstAttempts

MOST_WAITING = 100_000
"""Answers that wait for the service. Then the oldest are dropped."""
AT_A_TIME = 1000
"""Answers in one request."""
LOOK_AFTER = 5.0
"""Seconds after which the order is asked for again, while there are answers, and new expenses are told."""
NO_SUCH_ROUTE = (404, 405)
"""How a service answers that is too old to take expenses."""


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

    def abandon_many(self, plays: Sequence[int], unused: bool = False) -> int:
        """Give plays back, lost or never begun; how many of them were out?"""
        ...

    def report_expenses(self, source: str, firsts: Mapping[Label, FirstAttempts]) -> int:
        """Say what first attempts of a process have come to; how many processes have? 0 to begin anew."""
        ...

    def recommend(self) -> Verdict:
        """The verdict, or what leads."""
        ...

    def alarms(self) -> tuple[Alarm, ...]:
        """Alarms that the service has raised."""
        ...

    def successor(self, arms: Sequence[Label] | None = None, *, keep: bool = True, why: str = "changed") -> Self:
        """The experiment that goes on from this one: the same one, however often it is asked for."""
        ...

    @property
    def following(self) -> Self | None:
        """The experiment that goes on from this one, if there is one."""
        ...

    @property
    def previous(self) -> Self | None:
        """The experiment that this one goes on from."""
        ...

    @property
    def before(self) -> Before | None:
        """What that came to, and why another one goes on."""
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
    """The home of an experiment in the service. Nothing is sent before the first call.

    Where the experiment has other options than the ``labels``, and none goes on from it, one with these does, if it is
    to ``change_options``; else nothing is learned.
    """

    def __init__(
        self,
        remote: Remote,
        labels: tuple[Label, ...],
        lease: float,
        clock: Callable[[], float],
        troubles: Troubles,
        most_waiting: int = MOST_WAITING,
        change_options: bool = False,
        nothing_tried: Callable[[Label], FirstAttempts] = lambda label: FirstAttempts(),
    ) -> None:
        """``nothing_tried`` says with which sums an option begins: they know the most that an attempt can take."""
        self._nothing_tried = nothing_tried
        self.order = self.arms = labels
        self.eras: tuple[Era, ...] = ()
        self.era = Era(labels, began=time.time())
        self.successor: InService | None = None
        self._move: Move | None = None
        self._change_options = change_options
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
        self._reports = True  # does the service take expenses?
        self._be_a_new_process()
        forks.register(self)

    @property
    def share(self) -> float:
        """Of the level: less for each process that has told the service of itself, so that all have 1 at most."""
        return 1 / (self._number * (self._number + 1)) if self._number else 0.0

    def go_on(self, move: Move, seconds: float = 0.0) -> None:
        """In the next round; the service has one successor for an experiment, whoever asks for it.

        If it refuses, those who wait for it ask at once again. Others do after a pause, which is twice as long each
        time.
        """
        if self.successor is not None or self._refused is not None:
            return
        if seconds:
            self._successor_pause.over()
        elif self._successor_pause.lasts:
            return
        self._move = move
        self._rounds.wake()
        if seconds:
            self.settle()

    def take(self) -> Play | None:
        """A play that was asked ahead."""
        if self._refused is not None:
            return None
        if self.verdict is not None or self.successor is not None:
            self._rounds.begin()  # to hear of a successor
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

    def spend(self, first: Spent) -> None:
        """Leave it to the thread to tell what it took and cost."""
        if self._refused is None and self._reports:
            self._reporting.add(first)

    def settle(self) -> None:
        """Wait until the answers are sent, or the service is found to be away."""
        self._rounds.wait_for(self._rounds.made + 2)  # one may be under way that began before

    def attempts(self) -> AttemptLog | None:
        """The service has them."""
        return None

    def alarms(self) -> tuple[Alarm, ...]:
        """Those of the service, at its own level; none if it is away."""
        try:
            return self._remote.alarms()
        except (LinkedBanditError, OSError) as error:
            self._troubles.note("the service", error)
            return ()

    def losses(self) -> tuple[Mapping[Label, int], Mapping[Label, int]]:
        """The service counts them, and has the alarm."""
        return {}, {}

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
        """Send what is left, for some seconds at most: answers, plays to give back and expenses, a request for each."""
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
        self._reporting = Reporting(self._nothing_tried)
        self._number = 0  # how many processes had told of themselves when this one did, itself included
        self._report_at = 0.0
        self._report_pause = Pause(self._clock, LOOK_AFTER)
        self._successor_pause = Pause(self._clock)
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
        move, self._move = self._move, None
        if move is not None and self.successor is None:
            try:
                if move.keep:  # the log of the successor waits for the first play that is out
                    self._give_back(self._ahead.clear())
                self._follow(self._remote.successor(move.arms, keep=move.keep, why=move.why), move)
            except LinkedBanditError as error:  # such as for a token that may not: all else goes on
                self._successor_pause.begin()
                self._troubles.note("the service (successor)", error)
        if self.successor is not None:
            return
        given_back = self._ahead.unused()
        self._give_back(given_back)
        if self.verdict is None and (done or self._remote_is_done(bool(given_back))):
            self._look()
            verdict = self._remote.recommend()
            self.era = replace(self.era, verdict=verdict, decided=time.time())
            self.verdict = verdict
            self._give_back(self._ahead.clear())
        elif self._clock() >= self._look_at and (self._told or self.verdict is not None):
            self._look()
            if self.verdict is not None:
                self._follow_if_there_is_one()
        if self._clock() >= self._report_at and not self._report_pause.lasts:
            self._report()

    def _last_round(self) -> None:
        if self._refused is None and self._in_contact:
            self._send()
            self._give_back(self._ahead.clear())
            self._report()

    def _give_back(self, plays: Sequence[Play]) -> None:
        for begin in range(0, len(plays), AT_A_TIME):
            self._remote.abandon_many([play.id for play in plays[begin : begin + AT_A_TIME]], unused=True)

    def _report(self) -> None:
        """Tell what attempts took and cost, if there is news. Whatever the service says to it, all else goes on."""
        if not self._reports or not self._met or not (self._reporting.changed or not self._number):
            return
        firsts = self._reporting.now()
        self._report_at = self._clock() + LOOK_AFTER
        if not firsts and self._number:
            return
        try:
            kept = self._remote.report_expenses(self._reporting.source, firsts)
        except ServiceUnavailable:  # it is away, as for all else
            self._report_pause.begin()
            raise
        except LinkedBanditError as error:
            if isinstance(error, UnexpectedAnswer) and error.status in NO_SUCH_ROUTE:
                self._reports = False
                self._troubles.once(
                    "no route for expenses",
                    "the service does not take what attempts took and cost; it may be an older version. Estimates are "
                    "those of this process alone, and nothing else changes",
                )
                return
            self._report_pause.begin()
            self._troubles.note("the service (expenses)", error)
            return
        self._report_pause.over()
        if kept:
            self._number = self._number or kept
            self._reporting.sent(sum(first.tries for first in firsts.values()))
        else:
            self._reporting.begin_anew()

    def _meet(self) -> bool:
        order = self._remote.order
        if not same_options(order, self._labels):
            if self._follow_if_there_is_one(wanted=self._labels):
                return False
            if self._change_options:
                move = Move(self._labels, True, "options", options_changed(order, self._labels))
                self._follow(self._remote.successor(move.arms, keep=move.keep, why=move.why), move)
                return False
            self._refuse(
                InvalidParameter(
                    f"the options of the experiment in the service are {', '.join(map(repr, order))}, and not "
                    f"{', '.join(map(repr, self._labels))}; nothing is learned from these calls. Give the chain the "
                    "same ones, or say change_options=True to go on with these"
                )
            )
            return False
        if not self.eras:
            self.eras = self._eras_before()
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
            lost = [answer.play for answer in self._sending if answer.lost]
            if lost:
                self._remote.abandon_many(lost)
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
            except WrongState as error:
                if error.reason != "experiment_paused" or not self._follow_if_there_is_one():
                    raise
        return False

    def _eras_before(self) -> tuple[Era, ...]:
        """What the service knows of the experiments before."""
        eras: list[Era] = []
        arms, one = self._labels, self._remote
        while (before := one.before) is not None and (previous := one.previous) is not None:
            eras.insert(0, Era.before(before, arms))
            arms, one = before.arms, previous
        return tuple(eras)

    def _follow_if_there_is_one(self, wanted: tuple[Label, ...] | None = None) -> bool:
        following = self._remote.following
        if following is None:
            return False
        self._follow(following, None, wanted)
        return True

    def _follow(self, remote: Remote, move: Move | None, wanted: tuple[Label, ...] | None = None) -> None:
        """Go on with another experiment, which this process or another one has asked for.

        It has the options that it has, unless others are ``wanted``, as this process never had those of this one.
        """
        order, before = remote.order, remote.before
        said = Era.before(before, order) if before is not None else Era(self._labels)
        labels, change = (order, False) if wanted is None else (wanted, self._change_options)
        new = type(self)(
            remote,
            labels,
            self._lease,
            self._clock,
            self._troubles,
            self._most_waiting,
            change,
            self._nothing_tried,
        )
        known = self.eras or self._eras_before()
        reason, why = said.reason or "options", said.why
        if move is not None and move.why == why:
            reason = move.reason
        new.eras = (*known, replace(self.era, verdict=self.era.verdict or said.verdict).over(time.time(), reason, why))
        self._give_back(self._ahead.clear())
        self.successor = new

    def _look(self) -> None:
        self.order = self._remote.order
        self._learning = self._remote.learning
        self._look_at = self._clock() + LOOK_AFTER
