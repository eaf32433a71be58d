"""Everything is applied once, in order, by one at a time; nobody waits long, and nobody works long for others."""

from __future__ import annotations

import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.chain.backlog import A_MOMENT, A_TURN, MANY, Backlog
from tools.waiting import SECONDS, join, until


@given(st.lists(st.sampled_from(["put", "hold", "release"]), max_size=30))
def test_items_are_applied_in_order_as_soon_as_nobody_holds(steps):
    """A model of it: a list of what was put in, and of what was applied."""
    done: list[int] = []
    backlog = Backlog(done.append)
    put, held = 0, False
    for step in steps:
        if step == "put":
            backlog.put(put)
            put += 1
            if held:
                assert len(done) + len(backlog) == put
        elif step == "hold":
            assert backlog.hold() is not held
            held = True
        elif held:
            backlog.release()
            held = False
        if not held:
            assert len(backlog) == 0
            assert len(done) == put
    assert done == list(range(len(done)))


def test_from_many_threads_every_item_is_applied_once_and_never_two_at_a_time():
    inside, most, done = 0, 0, []

    def apply(item: tuple[int, int]) -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        done.append(item)
        inside -= 1

    backlog = Backlog(apply)
    begin = threading.Barrier(16)

    def work(number: int) -> None:
        begin.wait(SECONDS)
        for item in range(500):
            backlog.put((number, item))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        join(*threads)
    finally:
        sys.setswitchinterval(interval)
    assert len(backlog) == 0
    assert most == 1
    assert sorted(done) == [(number, item) for number in range(16) for item in range(500)]
    for number in range(16):
        assert [item for of, item in done if of == number] == list(range(500))


def test_who_finds_it_taken_does_not_wait():
    done: list[str] = []
    backlog = Backlog(done.append)
    assert backlog.hold()
    thread = threading.Thread(target=backlog.put, args=("left behind",))
    thread.start()
    join(thread)
    assert not backlog.hold()
    assert not backlog.hold(seconds=0.01)
    assert done == []
    backlog.release()
    assert done == ["left behind"]


def test_what_raises_does_not_keep_it_from_the_others():
    done: list[int] = []

    def apply(item: int) -> None:
        if item == 1:
            raise KeyError(item)
        done.append(item)

    backlog = Backlog(apply)
    backlog.hold()
    for item in range(4):
        backlog.put(item)
    with pytest.raises(KeyError):
        backlog.release()
    backlog.put(4)
    assert done == [0, 2, 3, 4]

    backlog.hold()
    backlog.put(1)
    backlog._busy.release()
    with pytest.raises(KeyError):
        backlog.hold()
    assert backlog.hold()


def test_an_item_that_comes_just_before_the_release_is_not_left_behind():
    """Who puts it in finds the thing taken, and goes away; who has it has looked at the queue for the last time."""
    done: list[str] = []
    backlog = Backlog(done.append)

    class Late:
        def __init__(self) -> None:
            self._lock = threading.Lock()
            self.acquire = self._lock.acquire
            self.late = ["late"]

        def release(self) -> None:
            if self.late:
                backlog.put(self.late.pop())
            self._lock.release()

    backlog._busy = Late()
    backlog.put("first")
    assert (done, len(backlog)) == (["first", "late"], 0)


def test_who_applies_for_others_is_relieved_after_a_turn():
    """Another thread puts one in for every item applied, so the queue is never empty while a thread looks at it."""
    items = 10 * A_TURN
    applied_by: list[int] = []
    threads: list[threading.Thread] = []

    def apply(item: int) -> None:
        applied_by.append(threading.get_ident())
        if item + 1 < items:
            threads.append(threading.Thread(target=backlog.put, args=(item + 1,)))
            threads[-1].start()
            until(lambda: len(backlog) > 0, "the next item")

    backlog = Backlog(apply)
    backlog.put(0)
    assert applied_by.count(threading.get_ident()) < 2 * A_TURN
    until(lambda: len(applied_by) == items, "all items to be applied")
    join(*threads)
    assert len(backlog) == 0


def test_holding_it_does_not_mean_to_apply_what_comes_meanwhile():
    items = 3 * A_TURN
    done: list[int] = []

    def apply(item: int) -> None:
        done.append(item)
        if item + 1 < items:
            backlog.leave(item + 1)

    backlog = Backlog(apply)
    backlog.leave(0)
    assert backlog.hold()
    assert done == [0]
    backlog.release()
    assert done == list(range(items))


class Watched:
    """A lock that says how long it was waited for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.release = self._lock.release
        self.waited: list[float] = []

    def acquire(self, blocking: bool = True, timeout: float = -1.0) -> bool:
        assert not blocking or timeout > 0.0
        self.waited.append(max(timeout, 0.0))
        return self._lock.acquire(blocking, 0.001 if blocking else -1.0)


def test_behind_many_items_that_are_being_applied_who_puts_one_in_waits_a_moment_and_no_longer():
    done: list[int] = []

    def apply(item: int) -> None:
        done.append(item)
        if item == 0:
            for more in range(1, MANY + 2):
                backlog.put(more)
            waited.append(len(backlog))

    waited: list[int] = []
    backlog = Backlog(apply)
    backlog._busy = lock = Watched()
    backlog.put(0)
    assert waited == [MANY + 1]
    assert lock.waited.count(A_MOMENT) == 1
    assert set(lock.waited) == {0.0, A_MOMENT}
    assert done == list(range(MANY + 2))


def test_nobody_waits_for_one_who_holds_it_for_itself():
    done: list[int] = []
    backlog = Backlog(done.append)
    for item in range(2 * A_TURN):
        backlog.leave(item)
    backlog.put(2 * A_TURN)
    backlog._busy = lock = Watched()
    assert backlog.hold()
    for item in range(2 * MANY):
        backlog.put(item)
    assert set(lock.waited) == {0.0}
    backlog.release()
    assert len(done) == 2 * A_TURN + 1 + 2 * MANY


def test_who_does_not_want_to_wait_works_for_a_turn_at_most():
    done: list[int] = []
    backlog = Backlog(done.append)
    for item in range(2 * A_TURN + 1):
        backlog.leave(item)
    assert not backlog.hold()
    assert len(done) == A_TURN
    assert not backlog.hold()
    assert len(done) == 2 * A_TURN
    assert backlog.hold()
    assert len(done) == 2 * A_TURN + 1
    for item in range(2 * A_TURN):
        backlog.put(item)
    backlog._busy.release()
    assert backlog.hold(seconds=1.0)
    assert len(done) == 4 * A_TURN + 1


def test_a_forked_process_waits_for_nobody_who_is_not_there():
    backlog = Backlog([].append)
    backlog.hold()
    backlog._waiting.append(None)
    backlog._tired = True
    backlog.free()
    for item in range(2 * A_TURN):
        backlog.leave(item)
    backlog.put(0)
    assert len(backlog) == 0
