"""An experiment as the service has it, without a service, and the home of a chain in it."""

from __future__ import annotations

import linkedbandits as lb
from linkedbandits.chain.in_service import InService
from linkedbandits.chain.troubles import Troubles
from linkedbandits.option_estimates import FirstAttempts
from linkedbandits.service.calls import Told
from tests.support.service_parts import ManualClock

LABELS = ("a", "b", "c")


class Remote:
    """An experiment as the service has it, that can be away."""

    def __init__(self, whole_chains: bool = True, policy=None) -> None:
        self.experiment = lb.Experiment(
            LABELS, policy or lb.LinkedDuels(0.05), linkage="free", whole_chains=whole_chains
        )
        self.away = False
        self.loses_answers = False
        self.refuses_expenses: Exception | None = None
        self.expenses: dict[str, dict[str, FirstAttempts]] = {}
        self.gone: set[str] = set()
        self.requests: list[str] = []
        self.following: Remote | None = None
        self.previous: Remote | None = None

    @property
    def before(self):
        return self.experiment.before

    def successor(self, arms=None, *, keep=True, why="changed"):
        self._come("successor")
        if self.following is None:
            self.following = Remote()
            self.following.experiment = self.experiment.successor(arms, keep=keep, why=why)
            self.following.previous = self
        return self.following

    def _come(self, what: str) -> None:
        self.requests.append(what)
        if self.away:
            raise lb.ServiceUnavailable("no answer")

    def ask_many(self, count):
        self._come("ask")
        if self.following is not None:
            raise lb.WrongState("another one goes on", reason="experiment_paused")
        return [self.experiment.ask() for _ in range(count)]

    def tell_many(self, answers):
        self._come("tell")
        receipts = []
        for play, hit in answers:
            try:
                receipts.append(self.experiment.tell(play, hit))
            except lb.LinkedBanditError as error:
                receipts.append(error)
        if self.loses_answers:
            raise lb.ServiceUnavailable("the connection broke when all was done")
        return Told(receipts, self.experiment.done)

    def abandon_many(self, plays, unused=False):
        self._come("abandon")
        for play in plays:
            self.experiment.abandon(play)
        return len(plays)

    def report_expenses(self, source, firsts):
        self._come("expenses")
        if self.refuses_expenses is not None:
            raise self.refuses_expenses
        if source in self.gone:
            return 0
        self.expenses[source] = firsts
        return len(self.expenses)

    def recommend(self):
        return self.experiment.recommend()

    def alarms(self):
        self._come("alarms")
        return ()

    @property
    def done(self):
        return self.experiment.done

    @property
    def order(self):
        self._come("order")
        return self.experiment.order

    @property
    def learning(self):
        return self.experiment.learning

    @property
    def assumptions(self):
        return self.experiment.assumptions


class Still(InService):
    """A home without a thread: rounds are made by the test."""

    def _be_a_new_process(self) -> None:
        super()._be_a_new_process()
        self._rounds.wake = lambda: None


def home_of(remote: Remote, clock=None, labels=LABELS, **changes) -> Still:
    return Still(remote, labels, 60.0, clock or ManualClock(), Troubles(), **changes)
