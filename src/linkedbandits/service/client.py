"""Clients of the service, with the names of the in-process experiment.

    client = Client("http://127.0.0.1:8000", token="lb_...")
    exp = client.create("directions", ["north", "east"], lb.LinkedElimination(delta=0.05))
    play = exp.ask()
    exp.tell(play.id, hit="east")

What fails on the way is tried again. That is safe: telling twice is harmless, and an ask carries a key by which the
service knows it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from linkedbandits.assumptions import Assumption
from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.live import Before, Estimate, FromLog, Learning, Play, Receipt, Upgrade
from linkedbandits.live.warm_start import Others
from linkedbandits.model import Label, Verdict
from linkedbandits.option_estimates import FirstAttempts, OptionEstimate
from linkedbandits.policy import AnyPolicy
from linkedbandits.service import calls
from linkedbandits.service.async_client import AsyncClient, AsyncRemoteExperiment
from linkedbandits.service.calls import Call, Listed, Told
from linkedbandits.service.retries import DEFAULT_RETRIES, Retries
from linkedbandits.service.sending import (
    Again,
    NewKey,
    after_answer,
    after_failure,
    headers_for,
    httpx,
    random_key,
    request_of,
)

T = TypeVar("T")


class Client:
    """A client of a service; every call waits for its answer. ``transport`` and the rest are for tests."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: Retries = DEFAULT_RETRIES,
        sleep: Callable[[float], None] = time.sleep,
        new_key: NewKey = random_key,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(base_url=url, headers=headers_for(token), timeout=timeout, transport=transport)
        self._retries = retries
        self._sleep = sleep
        self._new_key = new_key

    def create(
        self,
        name: str,
        arms: Sequence[Label],
        policy: AnyPolicy,
        *,
        linkage: str = "ordered",
        seed: int = 0,
        max_plays: int | None = None,
        parallel: int | None = None,
        lease_seconds: float = 60.0,
        whole_chains: bool = False,
        log: AttemptLog | None = None,
        log_attempts: Which = "first",
        log_others: Others = "refuse",
        log_independent: bool = False,
    ) -> RemoteExperiment:
        """Open an experiment. With a log it goes on from there, as :class:`linkedbandits.Experiment` does."""
        call = calls.create(
            name,
            arms,
            policy,
            linkage,
            seed,
            max_plays,
            parallel,
            lease_seconds,
            whole_chains,
            log,
            log_attempts,
            log_others,
            log_independent,
        )
        return self.experiment(self.send(call))

    def experiment(self, experiment: str) -> RemoteExperiment:
        """An experiment that is there already."""
        return RemoteExperiment(self, experiment, self._new_key)

    def experiments(self) -> list[Listed]:
        """All experiments, oldest first."""
        return self.send(calls.experiments())

    def send(self, call: Call[T]) -> T:
        """Send a request until it is answered, or was tried often enough."""
        pauses = self._retries.pauses()
        while True:
            try:
                response = self._http.send(request_of(self._http, call))
            except httpx.TransportError as error:
                outcome: T | Again = after_failure(call, error)
            else:
                outcome = after_answer(call, response)
            if not isinstance(outcome, Again):
                return outcome
            pause = next(pauses, None)
            if pause is None:
                raise outcome.error
            self._sleep(max(pause, outcome.least_pause))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class RemoteExperiment:
    """An experiment of a service, used like :class:`linkedbandits.Experiment`."""

    def __init__(self, client: Client, experiment: str, new_key: NewKey) -> None:
        self.id = experiment
        self._client = client
        self._new_key = new_key

    def ask(self) -> Play:
        """The next play to make."""
        return self.ask_many(1)[0]

    def ask_many(self, count: int) -> list[Play]:
        """Up to ``count`` plays, at least one."""
        return self._client.send(calls.ask(self.id, count, self._new_key()))

    def tell(self, play_id: int, hit: Label | None) -> Receipt:
        """Say how a play ended: the label of the arm that succeeded, or None."""
        return calls.only_receipt(self.tell_many([(play_id, hit)]))

    def tell_many(self, answers: Sequence[tuple[int, Label | None]]) -> Told:
        """Say how plays ended; a refused answer does not spoil the others."""
        return self._client.send(calls.tell(self.id, answers))

    def abandon(self, play_id: int) -> None:
        """Give a play back that will not be answered."""
        self.abandon_many([play_id])

    def abandon_many(self, plays: Sequence[int]) -> int:
        """Give plays back that will not be answered; how many of them were out?"""
        return self._client.send(calls.abandon(self.id, plays))

    def recommend(self) -> Verdict:
        """The verdict; before there is one, the arm that leads, with status ``"budget"``."""
        return self._client.send(calls.recommend(self.id))[1]

    def estimates(self) -> list[Estimate]:
        """Every arm's samples and successes, and whether it can still be the answer."""
        return self._client.send(calls.estimates(self.id))[1]

    def option_estimates(self, confidence: float = 0.95) -> tuple[OptionEstimate, ...]:
        """How often every arm works, how long it takes and what it costs, from first attempts of all chains that have
        the experiment here; as :meth:`linkedbandits.Chain.estimates` has it for one process.
        """
        return self._client.send(calls.option_estimates(self.id, confidence))

    def report_expenses(self, source: str, firsts: Mapping[Label, FirstAttempts]) -> bool:
        """Say what first attempts of one process, the ``source``, have come to, all of them so far; chains do so.

        False if they were added to those of others before: the process has to begin anew, under another name.
        """
        return self._client.send(calls.report_expenses(self.id, source, firsts))

    @property
    def order(self) -> tuple[Label, ...]:
        """All arms in the best order known: what to serve after the verdict."""
        return self._client.send(calls.order(self.id))

    @property
    def learning(self) -> Learning | None:
        """What the plays told so far have cost, against the best order known; None without whole chains."""
        return self._client.send(calls.learning(self.id))

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What the policy takes for granted, with what to use where that does not hold."""
        return self._client.send(calls.assumptions(self.id))

    @property
    def upgrade(self) -> Upgrade | None:
        """Set where the experiment went on with a version of the library that would have asked otherwise."""
        return self._client.send(calls.upgrade(self.id))

    @property
    def from_log(self) -> FromLog | None:
        """What was read so far of the log that the experiment began with; None if there was none."""
        return self._client.send(calls.from_log(self.id))

    def alarms(self) -> tuple[Alarm, ...]:
        """What is on record that a verdict could not bear, as far as the service has looked: it does now and then."""
        return self._client.send(calls.alarms(self.id))

    @property
    def plays(self) -> int:
        """Plays told so far."""
        return self._client.send(calls.estimates(self.id))[0]

    @property
    def done(self) -> bool:
        """Is there a verdict?"""
        return self._client.send(calls.recommend(self.id))[0]

    def successor(
        self, arms: Sequence[Label] | None = None, *, keep: bool = True, why: str = "changed"
    ) -> RemoteExperiment:
        """The experiment that goes on from this one, which is paused; as :meth:`linkedbandits.Experiment.successor`.

        There is one for good: asked again, it is the same.
        """
        return self._client.experiment(self._client.send(calls.successor(self.id, arms, keep, why)))

    @property
    def before(self) -> Before | None:
        """The experiment that it goes on from, and why; None if there is none."""
        return self._client.send(calls.before(self.id))

    @property
    def previous(self) -> RemoteExperiment | None:
        """The experiment that it goes on from; None if there is none."""
        found = self._client.send(calls.previous(self.id))
        return None if found is None else self._client.experiment(found)

    @property
    def following(self) -> RemoteExperiment | None:
        """The experiment that goes on from it; None if there is none."""
        found = self._client.send(calls.following(self.id))
        return None if found is None else self._client.experiment(found)

    def pause(self) -> None:
        """Hand out no plays for now."""
        self._client.send(calls.set_status(self.id, "pause"))

    def resume(self) -> None:
        """Hand out plays again."""
        self._client.send(calls.set_status(self.id, "resume"))

    def archive(self) -> None:
        """Close it for good."""
        self._client.send(calls.set_status(self.id, "archive"))


__all__ = ["AsyncClient", "AsyncRemoteExperiment", "Client", "RemoteExperiment"]
