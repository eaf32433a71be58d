"""Looking for alarms by itself."""

from __future__ import annotations

import threading
from collections import namedtuple

from linkedbandits.chain.lookout import FIRST_LOOK, Lookout, in_a_thread
from linkedbandits.chain.troubles import Troubles
from tools.waiting import SECONDS

Heard = namedtuple("Heard", "kind option")


def test_it_looks_after_a_tenth_more_calls_and_tells_of_each_alarm_once():
    there, looks, heard = [], [], []

    def alarms():
        looks.append(True)
        return list(there)

    lookout = Lookout(alarms, heard.append, Troubles(), start=lambda look: look())
    lookout.look_after(FIRST_LOOK - 1)
    assert looks == []
    lookout.look_after(FIRST_LOOK)
    lookout.look_after(FIRST_LOOK + 9)
    assert len(looks) == 1
    there.append(Heard("drift", "a"))
    lookout.look_after(FIRST_LOOK + 10)
    assert heard == [Heard("drift", "a")]
    there.append(Heard("drift", "b"))
    lookout.look_after(2 * FIRST_LOOK)
    assert heard == [Heard("drift", "a"), Heard("drift", "b")]


def test_one_look_at_a_time():
    started = []
    lookout = Lookout(list, print, Troubles(), start=started.append)
    lookout.look_after(1000)
    lookout.look_after(5000)
    assert len(started) == 1
    started[0]()
    lookout.look_after(5000)
    assert len(started) == 2


def test_a_look_that_fails_is_noted_and_the_next_one_is_made():
    looks, troubles = [], Troubles()

    def alarms():
        looks.append(True)
        raise ValueError("no log")

    lookout = Lookout(alarms, print, troubles, start=lambda look: look())
    lookout.look_after(1000)
    lookout.look_after(2000)
    assert (len(looks), troubles.count) == (2, 2)


def test_it_looks_in_a_thread_of_its_own():
    done, where = threading.Event(), []

    def look():
        where.append(threading.current_thread())
        done.set()

    in_a_thread(look)
    assert done.wait(SECONDS)
    assert where[0] is not threading.current_thread()
    assert where[0].daemon
