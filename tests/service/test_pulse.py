"""How the desk is doing, seen by others while it is at work, stuck, or has no store."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.service.driver_errors import HELD
from linkedbandits.service.jobs import Change, Errand, Sweep
from linkedbandits.service.pulse import A_MINUTE, Pulse, Waiting
from tests.support.service_parts import create, held_up


def job(clock, kind=Change):
    made = {Change: lambda: Change("e", None), Errand: lambda: Errand(None), Sweep: Sweep}[kind]()
    made.since = clock()
    return made


def ended(pulse, *jobs, error=None):
    for one in jobs:
        if error is None:
            one.future.set_result(None)
        else:
            one.future.set_exception(error)
    pulse.changed(jobs)


@pytest.fixture
def pulse(clock):
    return Pulse(clock)


def test_the_oldest_job_is_the_first_of_the_group_at_work(pulse, clock):
    jobs = [job(clock)]
    clock.now += 2
    jobs.append(job(clock))
    clock.now += 3
    pulse.begin(jobs, lambda: 7)
    assert pulse.waiting() == Waiting(9, 5.0)
    pulse.end()
    assert pulse.waiting() == Waiting(0, 0.0)
    pulse.begin([], lambda: 0)  # all were cancelled
    assert pulse.waiting() == Waiting(0, 0.0)


def test_while_the_desk_is_stuck_its_queue_is_seen_to_grow(desk):
    experiment = create(desk)
    with held_up(desk, experiment):
        for _ in range(3):
            desk.ask(experiment)
        waiting = desk.pulse.waiting()
        assert waiting.jobs == 4
        assert desk.pulse.waiting().seconds > waiting.seconds >= 0
    desk.ask(experiment).result()
    assert desk.pulse.waiting().jobs <= 1


def test_a_commit_is_as_old_as_the_last_transaction_that_the_store_took(pulse, clock):
    clock.now += 10
    assert pulse.seconds_since_commit() == 10
    ended(pulse, job(clock, Sweep))
    assert pulse.seconds_since_commit() == 0
    clock.now += 4
    ended(pulse, job(clock), error=lb.StoreUnavailable("gone"))
    assert pulse.seconds_since_commit() == 4
    ended(pulse, job(clock), error=lb.WrongState("it is", reason="experiment_paused"))  # the store took what there was
    assert pulse.seconds_since_commit() == 0


def test_a_store_that_takes_no_change_has_failed_until_it_takes_one(pulse, clock):
    gone = lb.StoreUnavailable("gone")
    ended(pulse, job(clock), error=gone)
    ended(pulse, job(clock, Sweep))
    assert pulse.failure is gone  # a full disk lets pass what writes nothing
    ended(pulse, job(clock, Errand), job(clock, Sweep))
    assert pulse.failure is None
    ended(pulse, job(clock), error=gone)
    clock.now += A_MINUTE
    ended(pulse, job(clock, Sweep))
    assert pulse.failure is None


def test_one_that_others_hold_and_one_that_is_not_answered_say_nothing_against_the_store(pulse, clock):
    ended(pulse, job(clock), error=lb.StoreUnavailable("held", HELD))
    assert pulse.failure is None
    clock.now += 3
    pulse.changed([job(clock)])
    assert (pulse.failure, pulse.seconds_since_commit()) == (None, 3)


def test_the_desk_tells_its_pulse_when_the_store_is_away(desk, store, monkeypatch):
    experiment = create(desk)

    def away():
        raise lb.StoreUnavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(store, "writing", away)
        assert isinstance(desk.ask(experiment).exception(), lb.StoreUnavailable)
        desk.read(experiment, lambda _: None).result()  # the group before has ended
        assert str(desk.pulse.failure) == "gone"
    desk.ask(experiment).result()
    desk.read(experiment, lambda _: None).result()
    assert desk.pulse.failure is None
