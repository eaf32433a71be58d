"""Jobs: each is itself alone, has a future of its own, and is of a kind that the desk knows what to do with."""

from __future__ import annotations

import typing

import pytest

from linkedbandits.service.jobs import (
    Change,
    Changing,
    Errand,
    Job,
    ReadAll,
    ReadJob,
    ReadOne,
    Removal,
    Sweep,
)


def do_nothing(*_):
    pass


ALIKE = {
    Change: lambda: Change("x", do_nothing),
    Sweep: Sweep,
    Errand: lambda: Errand(do_nothing),
    Removal: lambda: Removal("x", do_nothing),
    ReadOne: lambda: ReadOne("x", do_nothing),
    ReadAll: lambda: ReadAll(do_nothing),
}


@pytest.mark.parametrize("make", ALIKE.values(), ids=[kind.__name__ for kind in ALIKE])
def test_two_jobs_that_ask_for_the_same_are_two(make):
    """A group takes a job out that failed, and must not take out the one that only looks like it."""
    first, second = make(), make()
    left = [first, second]
    left.remove(second)
    assert left[0] is first
    first.future.set_result("done")
    assert not second.future.done()


def test_every_kind_of_job_either_changes_or_reads():
    """The desk runs those that change and those that read; the future of any other would never be resolved."""
    changing, reading = set(typing.get_args(Changing)), set(typing.get_args(ReadJob))
    assert set(Job.__subclasses__()) == changing | reading == set(ALIKE)
    assert not changing & reading
