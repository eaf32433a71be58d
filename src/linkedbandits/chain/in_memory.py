"""An experiment in memory, for the calls of one process.

One lock guards it, and no call waits for it. An answer that finds it taken is left in a queue, for whoever has it to
apply. A call that finds it taken, as while the policy plans for another, takes a play that was asked ahead; if there is
none it is served without, and from then on more are asked ahead. Calls that come one after the other ask for their own.
So what a call pays for is its own ``ask`` and ``tell``, and at times those of others that came in meanwhile.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.log import AttemptLog
from linkedbandits.chain import forks
from linkedbandits.chain.backlog import Backlog
from linkedbandits.chain.expenses import Spent
from linkedbandits.chain.history import Era, Move, in_this_order
from linkedbandits.chain.home import LONGEST_WAIT, Condition, what_is_read
from linkedbandits.chain.troubles import Troubles
from linkedbandits.errors import LinkedBanditError, TooManyInFlight
from linkedbandits.live import Experiment, Learning, Play
from linkedbandits.model import Label, Verdict

MOST_AHEAD = 128
"""Plays that are asked ahead at most: they are as good as out, and the policy cannot go on without their answers."""
AT_A_TIME = 8
"""Plays that one call asks ahead for others."""
FEWER_AFTER = 64
"""Calls that ask for their own play, one after the other, until one play less is asked ahead."""


class Answer(NamedTuple):
    """How a play ended; ``lost`` if there is no answer."""

    play: int
    hit: Label | None
    lost: bool


class InMemory:
    """The home of an experiment in this process.

    A play that is out for longer than ``lease`` seconds is given up, so that a call that hangs does not hold up the
    decision; if it is answered after all the answer is late.
    """

    def __init__(
        self,
        experiment: Experiment,
        lease: float,
        clock: Callable[[], float],
        troubles: Troubles,
        eras: tuple[Era, ...] = (),
    ) -> None:
        self.experiment = experiment
        self.eras = eras
        self.era = Era(experiment.arms, began=time.time())
        self.share = 1.0
        self.successor: InMemory | None = None
        self.order: tuple[Label, ...] = experiment.arms
        self.verdict: Verdict | None = None
        self.reads = what_is_read(experiment)
        self._lease = lease
        self._clock = clock
        self._troubles = troubles
        self._answers: Backlog[Answer] = Backlog(self._apply)
        self._out: dict[int, float] = {}  # since when, the oldest first
        self._ahead: deque[Play] = deque()
        self._wanted_ahead = 0
        self._undisturbed = 0
        self._expired = 0
        self._told = 0
        self._order_again_at = 1
        self._held_for_fork = False
        self._previous: InMemory | None = None  # while a play is out there that belongs to the log of this one
        self._look()
        forks.register(self)

    @property
    def arms(self) -> tuple[Label, ...]:
        """The options of the experiment."""
        return self.experiment.arms

    def go_on(self, move: Move, seconds: float = 0.0) -> None:
        """At once, unless another call has the experiment for longer than that."""
        if not self._answers.hold(seconds):
            return
        try:
            if self.successor is None:
                while (play := self._next_ahead()) is not None:  # no call has begun it: its log need not wait for it
                    del self._out[play.id]
                    self._abandon(play.id)
                new = self.experiment.successor(move.arms, keep=move.keep, why=move.why)
                eras = (*self.eras, self.era.over(time.time(), move.reason, move.why))
                self.successor = InMemory(new, self._lease, self._clock, self._troubles, eras)
                if not new.read_log():  # a play is still out that belongs to its log
                    self.successor._previous = self
                    self.successor.order = in_this_order(new.arms, self.order)
        finally:
            self._answers.release()

    def take(self) -> Play | None:
        """The next play; None if there is none to be had at once."""
        if self.verdict is not None or self.successor is not None:
            return None
        return self._next_of_its_own() if self._answers.hold() else self._next_of_others()

    def _next_of_others(self) -> Play | None:
        """A play that was asked ahead; if there is none, more will be."""
        play = self._next_ahead()
        if play is None:
            self._wanted_ahead = min(2 * self._wanted_ahead + 1, MOST_AHEAD)
        return play

    def _next_of_its_own(self) -> Play | None:
        """A play that this call asks for, or an older one that was asked ahead. The lock is given back."""
        try:
            if self.verdict is not None:
                return None
            now = self._clock()
            self._give_up_before(now - self._lease)
            if self.verdict is not None:
                return None
            if self._previous is not None and not self._has_its_log(self._previous):
                return None
            self._ask_ahead(now)
            return self._next_ahead() or self._ask(now)
        except TooManyInFlight:  # as many are out as its policy has plays left
            return self._next_ahead()
        finally:
            self._answers.release()

    def _has_its_log(self, previous: InMemory) -> bool:
        """Has the play that was out in the experiment before ended? Then there may be a verdict at once."""
        if previous._answers.hold():
            previous._give_up_before(self._clock() - self._lease)
            previous._answers.release()
        if not self.experiment.read_log():
            return False
        self._previous = None
        self._look()
        return self.verdict is None

    def tell(self, play: Play, hit: Label | None) -> None:
        """Apply the answer, now or by whoever is at the experiment."""
        self._hand_in(Answer(play.id, hit, lost=False))

    def lose(self, play: Play) -> None:
        """Give the play up, now or by whoever is at the experiment."""
        self._hand_in(Answer(play.id, None, lost=True))

    def _hand_in(self, answer: Answer) -> None:
        self._answers.put(answer)

    def spend(self, first: Spent) -> None:
        """Nothing: the chain itself keeps what attempts of this process cost."""

    def settle(self) -> None:
        """Apply what is left."""
        if self._answers.hold(LONGEST_WAIT):
            try:
                self._look()
            finally:
                self._answers.release()

    def attempts(self) -> AttemptLog | None:
        """The plays on record."""
        return self.experiment.attempts()

    def alarms(self) -> tuple[Alarm, ...]:
        """None but those of the plays on record."""
        return ()

    def losses(self) -> None:
        """The chain itself counts those of this process."""

    def learning(self) -> Learning | None:
        """What the plays have cost."""
        return self.experiment.learning

    def condition(self) -> Condition:
        """How it is."""
        return Condition(self._told, len(self._out), len(self._answers), expired=self._expired)

    def close(self) -> None:
        """Apply what is left, and ask nothing ahead any more."""
        self.settle()
        while (play := self._next_ahead()) is not None:
            self.lose(play)
        forks.forget(self)

    def before_fork(self) -> None:
        """Let no other thread be in the middle of something."""
        self._held_for_fork = self._answers.hold(LONGEST_WAIT)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        if self._held_for_fork:
            self._held_for_fork = False
            self._answers.release()

    def after_fork_in_child(self) -> None:
        """Go on with a copy, which learns on its own: what the parent has out is not answered here."""
        if self._held_for_fork:
            self._give_up_before(float("inf"))
        self.after_fork_in_parent()

    def _apply(self, answer: Answer) -> None:
        play, hit, lost = answer
        self._out.pop(play, None)
        try:
            if lost:
                self._abandon(play)
                return
            self.experiment.tell(play, hit)
        except Exception as error:
            self._troubles.note("the experiment", error)
            return
        self._told += 1
        if self._told >= self._order_again_at or self.experiment.done:
            self._order_again_at = self._told + max(1, self._told // 50)
            self._look()

    def _abandon(self, play: int) -> None:
        """Give a play up; what others have brought may be enough for a verdict then."""
        self.experiment.abandon(play)
        if self.experiment.done:
            self._look()

    def _ask(self, now: float) -> Play:
        play = self.experiment.ask()
        self._out[play.id] = now
        return play

    def _ask_ahead(self, now: float) -> None:
        self._undisturbed += 1
        if self._wanted_ahead and self._undisturbed >= FEWER_AFTER:
            self._undisturbed = 0
            self._wanted_ahead -= 1
        for _ in range(min(self._wanted_ahead - len(self._ahead), AT_A_TIME)):
            self._ahead.append(self._ask(now))

    def _next_ahead(self) -> Play | None:
        """The oldest play that was asked ahead and was not given up since. In any thread, also without the lock."""
        while self._ahead:
            try:
                play = self._ahead.popleft()
            except IndexError:  # another thread was quicker
                return None
            if play.id in self._out:
                return play
        return None

    def _look(self) -> None:
        self.order = self.experiment.order
        if self.verdict is None and self.experiment.done:
            verdict = self.experiment.recommend()
            self.era = replace(self.era, verdict=verdict, decided=time.time())
            self.verdict = verdict

    def _give_up_before(self, time: float) -> None:
        while self._out:
            play, since = next(iter(self._out.items()))
            if since > time:
                return
            del self._out[play]
            self._expired += 1
            try:
                self._abandon(play)
            except LinkedBanditError as error:
                self._troubles.note("the experiment", error)
