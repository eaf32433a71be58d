"""Experiments that go on from others: with arms added or removed, or anew after a change."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import replace
from time import monotonic, sleep
from typing import TypeVar

from linkedbandits.attempts.log import AttemptLog, joined
from linkedbandits.errors import StoreUnavailable, TooManyInFlight
from linkedbandits.linkage import find_linkage
from linkedbandits.live import WarmStart
from linkedbandits.live.experiment import check_labels, costs_of_successor
from linkedbandits.live.warm_start import may_read
from linkedbandits.model import Label
from linkedbandits.policies import make_policy
from linkedbandits.service.alarms import Record
from linkedbandits.service.audit import SERVICE, Actor
from linkedbandits.service.desk import Desk
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.records import BeforeInSetup, ExperimentRecord, Setup, check_text
from linkedbandits.service.store import Store
from linkedbandits.service.view import Standing, read_standing

T = TypeVar("T")
LONGEST_WAIT = 60.0
"""Seconds that any step may take."""
LONGEST_WAIT_FOR_A_PLAY = 2.0
"""Seconds that the first play that is out has to come back."""
BETWEEN_LOOKS = 0.02


def succeed(
    store: Store, desk: Desk, experiment: str, arms: Sequence[Label] | None, keep: bool, why: str, by: Actor = SERVICE
) -> ExperimentRecord:
    """The successor of an experiment, which is paused then; as :meth:`linkedbandits.Experiment.successor` makes it.

    An experiment has one successor: if there is one, that is it. To read the journal takes its time: call it in a
    thread, with a desk that is at work.
    """
    check_text("why", why)
    standing = _done(desk.read(experiment, _standing_of))
    successor = standing.successor
    if successor is None:
        labels = standing.record.setup.arms if arms is None else check_labels(arms)
        judged = 0.0 if standing.warm is None else standing.warm.judged
        warm = _log_for(labels, _told(store, standing), standing.record.setup, judged) if keep else None
        setup = _setup_of_successor(standing, labels, why, 0 if warm is None else warm.requests)
        created = _done(desk.create(setup, standing.record.name, warm, by, standing.tags)).id
        successor = _done(desk.give_way(experiment, created, why, by))
        if successor != created:  # another one came first
            _done(desk.set_status(created, "archived"))
    return _done(desk.record(successor))


def _done(future: Future[T]) -> T:
    try:
        return future.result(LONGEST_WAIT)
    except TimeoutError as error:
        raise StoreUnavailable(
            f"the store did not answer within {LONGEST_WAIT:g} s; ask again: there is one successor for good"
        ) from error


def _standing_of(hosted: HostedExperiment) -> Standing:
    if hosted.successor is None:
        hosted.check_not_archived()
    return read_standing(hosted)


def _told(store: Store, standing: Standing) -> AttemptLog:
    """What was told in time, behind what the experiment began with: up to the first play that is out, and with it.

    What is slow is most often a failure, so that one has to be told or given up first.
    """
    record = Record()
    record.read(store, standing.record.id)
    last, deadline = record.first_out, monotonic() + LONGEST_WAIT_FOR_A_PLAY
    while last is not None and record.is_out(last):
        if monotonic() > deadline:
            raise TooManyInFlight(
                f"play {last} is still out, and belongs to the log of the successor; tell it or give it up, and ask "
                "again, or say keep=False"
            )
        sleep(BETWEEN_LOOKS)
        record.read(store, standing.record.id)
    played = record.attempts(standing.record.setup.arms, None if last is None else last + 1)
    return played if standing.warm is None else joined(standing.warm.as_log(standing.record.setup.arms), played)


def _log_for(labels: Sequence[Label], told: AttemptLog, setup: Setup, judged: float) -> WarmStart | None:
    if not len(told):
        return None
    linkage = find_linkage(setup.linkage)
    policy = make_policy(setup.policy["name"], setup.policy["parameters"]).fitted_to(linkage, setup.parallel)
    attempts = may_read(policy, linkage, len(labels))
    return WarmStart.of(told, labels, attempts, "ignore", independent=attempts == "all", of_plays=True, judged=judged)


def _setup_of_successor(standing: Standing, labels: Sequence[Label], why: str, kept: int) -> Setup:
    setup, said = standing.record.setup, standing.leading
    policy = setup.policy
    if policy["parameters"].get("costs"):
        costs = costs_of_successor(policy["parameters"]["costs"], setup.arms, labels)
        policy = {**policy, "parameters": {**policy["parameters"], "costs": list(costs)}}
    return replace(
        setup,
        arms=tuple(labels),
        policy=policy,
        # Orders drawn by a coin have to be drawn anew: those of the experiment before are known by now.
        seed=setup.seed + 1,
        log=None,
        before=BeforeInSetup(
            standing.record.id,
            why,
            setup.arms,
            standing.plays,
            said.arm,
            said.status,
            kept,
            number=1 if setup.before is None else setup.before.number + 1,
        ),
    )
