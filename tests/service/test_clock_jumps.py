"""Clocks that are set while plays are out: leases are as long as they were said to be."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkedbandits.service.desk import Desk
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store import open_store
from tests.support.service_parts import ManualClock, create
from tools.waiting import SECONDS, until

HOUR = 3600.0
LEASE = 5.0


@pytest.fixture
def steady():
    return ManualClock(50.0)


@pytest.fixture
def desk(store, clock, steady):
    with Desk(store, clock=clock, steady=steady) as desk:
        yield desk


def test_a_clock_that_jumps_ahead_and_back_makes_no_lease_longer(desk, clock, steady):
    experiment = create(desk, lease_seconds=LEASE)
    clock.now += HOUR
    desk.ask(experiment).result()
    clock.now -= HOUR
    asked = desk.ask(experiment).result()
    assert asked.expires_at == clock.now + LEASE  # though the journal is an hour ahead
    steady.now += LEASE - 0.1
    assert desk.expire().result() == 0
    steady.now += 0.1
    assert desk.expire().result() == 2


def test_a_clock_that_jumps_ahead_and_back_leaves_history_curves_and_lists_alive(desk, store, clock):
    experiment = create(desk, lease_seconds=1e5)

    def play(times):
        for _ in range(times):
            clock.now += 3.0
            desk.tell(experiment, [(desk.ask(experiment).result().plays[0].id, None)]).result()

    play(1)
    clock.now += HOUR
    play(1)
    clock.now -= HOUR
    play(10)
    with store.reading() as tables:
        points, curve, (listed,) = tables.history(experiment), tables.curve(experiment), tables.listed()
    assert points[-1].plays >= 10
    assert curve[-1].plays >= 10
    assert listed.plays >= 10
    assert [point.at for point in points] == sorted({point.at for point in points})


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_clock_that_jumps_while_a_play_is_out_ends_no_lease(desk, clock, steady, jump):
    experiment = create(desk, lease_seconds=LEASE)
    asked = desk.ask(experiment, 2, key="k").result()
    clock.now += jump
    steady.now += LEASE - 0.1
    assert desk.expire().result() == 0
    assert desk.tell(experiment, [(asked.plays[0].id, None)]).result().receipts == ("counted",)
    assert desk.ask(experiment, 2, key="k").result().plays == asked.plays
    steady.now += 0.1
    assert desk.tell(experiment, [(asked.plays[1].id, None)]).result().receipts == ("late",)


@pytest.mark.parametrize("from_snapshot", [True, False])
@pytest.mark.parametrize("jump", [HOUR, 0.0, -HOUR])
def test_after_a_restart_a_lease_is_at_most_its_length_longer(store, clock, steady, jump, from_snapshot):
    clock.now += jump
    with Desk(store, clock=clock, steady=steady) as before:
        experiment = create(before, lease_seconds=LEASE)
        before.ask(experiment).result()
        steady.now += 2.0
        clock.now += 2.0
    clock.now -= jump
    steady.now = 7.0  # another process has one of its own
    if not from_snapshot:
        with store.writing() as tables:
            tables._run("DELETE FROM snapshots")
            tables._run("DELETE FROM answers")
    with Desk(store, clock=clock, steady=steady) as after:
        (end,) = after.read(experiment, lambda hosted: list(hosted.leases.values())).result()
        left = {HOUR: LEASE, 0.0: LEASE - 2.0, -HOUR: LEASE - 2.0 - HOUR}[jump]
        assert end == pytest.approx(7.0 + left)
        steady.now += max(left, 0.0) + 1e-6
        assert after.expire().result() == 1


@settings(max_examples=20)
@given(
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("jump"), st.sampled_from([-HOUR, -7.0, 3.0, HOUR])),
            st.tuples(st.just("pass"), st.sampled_from([0.5, 2.0, 4.0])),
            st.tuples(st.sampled_from(["ask", "expire"]), st.integers(0, 1)),
        ),
        max_size=25,
    )
)
def test_whatever_clocks_do_no_lease_lasts_longer_than_from_when_a_process_knew_of_it(tmp_path_factory, steps):
    """Two processes take turns; the clock of one is jumped. A play is known to the one that handed it out at once."""
    walls, steady = [ManualClock(), ManualClock()], ManualClock(0.0)
    path = tmp_path_factory.mktemp("jumps") / "a.sqlite"
    with closing(SqliteStore(path)) as store:
        desks = [Desk(store, clock=wall, steady=steady) for wall in walls]
        for desk in desks:
            desk.start()
        experiment = create(desks[0], lease_seconds=LEASE)
        known: list[dict[int, float]] = [{}, {}]
        for what, value in steps:
            if what == "jump":
                walls[0].now += value
            elif what == "pass":
                for clock in (*walls, steady):
                    clock.now += value
            elif what == "ask":
                desks[value].ask(experiment).result()
            else:
                desks[value].expire().result()
            for desk, seen in zip(desks, known, strict=True):
                leases = desk.read(experiment, lambda hosted: dict(hosted.leases)).result()
                ends = list(leases.values())
                assert ends == sorted(ends)
                for play, end in leases.items():
                    assert end <= seen.setdefault(play, steady.now) + LEASE + 1e-6
        for desk in desks:
            desk.stop()


AN_HOUR_AHEAD = """
import os, sys, time
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.store import open_store

desk = Desk(open_store(sys.argv[1]), clock=lambda: time.time() + 3600)
desk.start()
setup = Setup(("a", "b"), {"name": "linked-elimination", "parameters": {"delta": 0.05}}, lease_seconds=0.5)
experiment = desk.create(setup, "ahead").result(120).id
desk.ask(experiment).result(120)
print(experiment, flush=True)
os._exit(0)  # without a word
"""


def test_what_another_process_with_a_clock_ahead_has_handed_out_goes_back_soon(store_url):
    """By real clocks: an hour would be far too long for this test."""
    run = [sys.executable, "-c", AN_HOUR_AHEAD, store_url]
    experiment = subprocess.run(run, capture_output=True, text=True, timeout=SECONDS, check=True).stdout.strip()
    with closing(open_store(store_url)) as store, Desk(store) as desk:
        (end,) = desk.read(experiment, lambda hosted: list(hosted.leases.values())).result()
        assert end <= time.monotonic() + 0.5
        assert until(lambda: desk.expire().result(), "the play to go back") == 1
