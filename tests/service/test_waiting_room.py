"""Jobs that wait for experiments which somebody else holds: when they are tried again, and when they are refused."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.service.jobs import Change, Sweep
from linkedbandits.service.waiting_room import FIRST_PAUSE, LONGEST_PAUSE, SECONDS_TO_WAIT, WaitingRoom
from tests.support.service_parts import ManualClock


def change(experiment="held"):
    return Change(experiment, lambda *_: None)


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def room(clock):
    return WaitingRoom(clock)


def test_as_long_as_nothing_is_held_everything_is_done_at_once(room):
    jobs = [change(), Sweep(), change("free")]
    assert room.next_jobs(jobs) == jobs
    room.take_back(jobs, [])
    assert (room.experiments, room.jobs, room.seconds_to_next()) == (0, 0, None)


def test_who_comes_later_queues_behind_those_who_wait_and_others_pass(room, clock):
    first, second, free = change(), change(), change("free")
    room.take_back([first, free], [first])
    assert room.next_jobs([second, free]) == [free]
    assert (room.experiments, room.jobs) == (1, 2)
    assert room.seconds_to_next() == pytest.approx(FIRST_PAUSE)
    clock.now += FIRST_PAUSE
    third = change()
    assert room.next_jobs([third, free]) == [first, second, third, free]
    room.take_back([first, second, third, free], [])
    assert (room.experiments, room.seconds_to_next()) == (0, None)
    assert not first.future.done()


def test_pauses_grow_up_to_a_limit(room, clock):
    job = change()
    tries, pauses = [job], []
    while len(pauses) < 8:
        room.take_back(tries, tries)
        pauses.append(room.seconds_to_next())
        clock.now += pauses[-1] + 1e-9
        tries = room.next_jobs([])
        assert tries == [job]
    assert pauses[:3] == pytest.approx([FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE])
    assert pauses[-1] == pytest.approx(LONGEST_PAUSE)


def test_whose_time_is_up_is_refused_and_so_is_who_comes_later_until_it_was_free(room, clock):
    job, late = change(), change()
    room.take_back([job], [job])
    clock.now += SECONDS_TO_WAIT + 1e-9
    assert room.next_jobs([late]) == [job, late]
    room.take_back([job, late], [job, late])
    for refused in (job, late):
        with pytest.raises(lb.StoreUnavailable, match="somebody else holds experiment 'held'; try again"):
            refused.future.result()
    assert room.experiments == 0
    another = change()
    assert room.next_jobs([another]) == [another]
    room.take_back([another], [another])
    assert isinstance(another.future.exception(), lb.StoreUnavailable)
    free = change()
    room.take_back([free], [])  # it was not held
    again = change()
    room.take_back([again], [again])
    assert not again.future.done()
    assert room.jobs == 1
