"""Clients of the service, with the names of the in-process experiment.

    client = Client("http://127.0.0.1:8000", token="lb_...")
    exp = client.create("directions", ["north", "east"], lb.LinkedElimination(delta=0.05))
    for play in exp.until_decided():
        exp.tell(play.id, hit="east")

What fails on the way is tried again, for half a minute unless told otherwise. That is safe: telling twice is harmless,
and to ask or to create carries a key by which the service knows it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from linkedbandits.assumptions import Assumption
from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.checks import check_positive
from linkedbandits.errors import ExperimentFinished, TooManyInFlight
from linkedbandits.live import Before, Estimate, FromLog, Learning, Play, Receipt, Upgrade
from linkedbandits.live.warm_start import Others
from linkedbandits.model import Label, Verdict
from linkedbandits.option_estimates import FirstAttempts, OptionEstimates
from linkedbandits.policy import AnyPolicy
from linkedbandits.service import calls
from linkedbandits.service.async_client import AsyncClient, AsyncRemoteExperiment
from linkedbandits.service.calls import Call, Listed, Told
from linkedbandits.service.retries import DEFAULT_RETRIES, WHILE_ALL_ARE_OUT, Patience, Retries
from linkedbandits.service.sending import (
    LONGEST_TIMEOUT,
    SECONDS_FOR_AN_ANSWER,
    Again,
    NewKey,
    address_of,
    after_answer,
    after_failure,
    after_the_last,
    headers_for,
    httpx,
    named,
    random_key,
    random_request_id,
    request_of,
)

T = TypeVar("T")


class Client:
    """A client of a service; every call waits for its answer.

    An attempt may take ``timeout`` seconds; further ones are made as ``retries`` says. The rest is for tests.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = SECONDS_FOR_AN_ANSWER,
        retries: Retries = DEFAULT_RETRIES,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        new_key: NewKey = random_key,
        new_request_id: NewKey = random_request_id,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        check_positive("timeout", timeout, LONGEST_TIMEOUT)
        self._http = httpx.Client(base_url=address_of(url), headers=headers_for(token), transport=transport)
        self._timeout = timeout
        self._retries = retries
        self._sleep = sleep
        self._clock = clock
        self._new_key = new_key
        self._new_request_id = new_request_id

    def create(
        self,
        name: str,
        arms: Sequence[Label],
        policy: AnyPolicy,
        *,
        linkage: str | None = None,
        seed: int = 0,
        max_plays: int | None = None,
        parallel: int | None = None,
        lease_seconds: float = 60.0,
        whole_chains: bool = False,
        log: AttemptLog | None = None,
        log_attempts: Which = "first",
        log_others: Others = "refuse",
        log_independent: bool = False,
        log_judged: float | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
    ) -> RemoteExperiment:
        """Open an experiment. With a log it goes on from there, as :class:`linkedbandits.Experiment` does; every
        verdict that was asked of it in this process counts, unless ``log_judged`` says otherwise.

        The same ``key`` gets the same experiment, however often and by whomever it is created; without one a new one is
        made. InvalidParameter if it was used for another name or set-up, or other tags.
        """
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
            log_judged,
            self._new_key() if key is None else key,
            tags,
        )
        return self.experiment(self.send(call))

    def experiment(self, experiment: str) -> RemoteExperiment:
        """An experiment that is there already."""
        return RemoteExperiment(self, experiment, self._new_key, self._sleep)

    def experiments(self) -> list[Listed]:
        """All experiments, oldest first."""
        return self.send(calls.experiments())

    def send(self, call: Call[T]) -> T:
        """Send a request until it is answered, or was tried for long enough."""
        call = named(call, self._new_request_id())
        patience = Patience(self._retries, self._timeout, self._clock)
        perhaps_done = False
        while True:
            try:
                response = self._http.send(request_of(self._http, call, patience.attempt()))
            except httpx.RequestError as error:
                outcome: T | Again = after_failure(call, error)
            else:
                outcome = after_answer(call, response, perhaps_done)
            if not isinstance(outcome, Again):
                return outcome
            perhaps_done |= outcome.perhaps_done
            pause = patience.pause(outcome.least_pause)
            if pause is None:
                raise after_the_last(outcome.error, patience)
            self._sleep(pause)

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

    def __init__(self, client: Client, experiment: str, new_key: NewKey, sleep: Callable[[float], None]) -> None:
        self.id = experiment
        self._client = client
        self._new_key = new_key
        self._sleep = sleep

    def ask(self) -> Play:
        """The next play to make."""
        return self.ask_many(1)[0]

    def ask_many(self, count: int) -> list[Play]:
        """Up to ``count`` plays, at least one."""
        return self._client.send(calls.ask(self.id, count, self._new_key()))

    def until_decided(self) -> Iterator[Play]:
        """Plays to make and tell, one after the other, until there is a verdict; in any number of threads at once.

        As long as so many plays are out that there is none to have, it waits for those to be told or given up.
        """
        for plays in self.batches_until_decided(1):
            yield from plays

    def batches_until_decided(self, count: int) -> Iterator[list[Play]]:
        """The same, up to ``count`` plays at a time, to be told with :meth:`tell_many`."""
        pauses = WHILE_ALL_ARE_OUT.pauses()
        while True:
            try:
                plays = self.ask_many(count)
            except ExperimentFinished:
                return
            except TooManyInFlight:
                self._sleep(next(pauses))
                continue
            yield plays
            pauses = WHILE_ALL_ARE_OUT.pauses()

    def tell(self, play_id: int, hit: Label | None) -> Receipt:
        """Say how a play ended: the label of the arm that succeeded, or None."""
        return calls.only_receipt(self.tell_many([(play_id, hit)]))

    def tell_many(self, answers: Sequence[tuple[int, Label | None]]) -> Told:
        """Say how plays ended; a refused answer does not spoil the others."""
        return self._client.send(calls.tell(self.id, answers))

    def abandon(self, play_id: int) -> None:
        """Give a play back that will not be answered."""
        self.abandon_many([play_id])

    def abandon_many(self, plays: Sequence[int], unused: bool = False) -> int:
        """Give plays back that will not be answered; how many of them were out?

        They count as lost, unless they are ``unused``: asked for, and nothing of them was tried.
        """
        return self._client.send(calls.abandon(self.id, plays, unused))

    def recommend(self) -> Verdict:
        """The verdict; before there is one, the arm that leads, with status ``"running"``."""
        return self._client.send(calls.recommend(self.id))[1]

    def estimates(self) -> list[Estimate]:
        """Every arm's samples and successes, and whether it can still be the answer."""
        return self._client.send(calls.estimates(self.id))[1]

    def option_estimates(self, confidence: float = 0.95) -> OptionEstimates:
        """How often every arm works, how long it takes and what it costs, from first attempts of all chains that have
        the experiment here; as :meth:`linkedbandits.Chain.estimates` has it for one process.
        """
        return self._client.send(calls.option_estimates(self.id, confidence))

    def report_expenses(self, source: str, firsts: Mapping[Label, FirstAttempts]) -> int:
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

    def delete(self, force: bool = False) -> None:
        """Delete it with all that it was told, for good. It has to be archived before, unless by ``force``."""
        self._client.send(calls.delete(self.id, force))


__all__ = ["AsyncClient", "AsyncRemoteExperiment", "Client", "RemoteExperiment"]
