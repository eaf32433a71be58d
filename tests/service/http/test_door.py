"""The door: who waits, who makes room, who has waited too long."""

from __future__ import annotations

import resource

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.service.http import door
from linkedbandits.service.http.door import Door, DoorLimits, places_for_connections
from tests.support.service_parts import ManualClock


class Somebody:
    """A connection without a socket."""

    def __init__(self, at, address="here", is_known=False):
        self.door, self.address, self.is_known = at, address, is_known
        self.part, self.since, self.end = "head", 0.0, None
        self.is_inside = at.enter(self)

    def push_out(self):
        self.door.leave(self)
        self.end = "pushed out"

    def time_out(self, seconds):
        self.door.leave(self)
        self.end = f"{seconds:g} seconds"

    def sends_a_whole_request(self):
        self.door.is_served(self)
        self.part = "nothing"

    def is_answered(self, as_known=False):
        self.is_known = self.is_known or as_known
        self.door.waits(self)


def a_door(**limits):
    clock = ManualClock()
    return Door(DoorLimits(**{"connections": 4, "share_of_an_address": 1.0} | limits), clock), clock


def ends(*connections):
    return [connection.end for connection in connections]


def test_a_new_connection_pushes_out_the_one_that_has_waited_longest():
    at, _ = a_door()
    waiting = [Somebody(at) for _ in range(4)]
    waiting[0].sends_a_whole_request()
    assert [Somebody(at).is_inside for _ in range(2)] == [True, True]
    assert ends(*waiting) == [None, "pushed out", "pushed out", None]
    assert (at.present, at.turned_away) == (4, {"pushed-out": 2})


def test_who_is_answered_is_the_last_to_go_again():
    at, _ = a_door(connections=2)
    first, second = Somebody(at), Somebody(at)
    first.sends_a_whole_request()
    first.is_answered()
    Somebody(at)
    assert ends(first, second) == [None, "pushed out"]


def test_nobody_is_pushed_out_who_is_being_served_and_then_the_new_one_has_to_go():
    at, _ = a_door()
    served = [Somebody(at) for _ in range(4)]
    for one in served:
        one.sends_a_whole_request()
    assert not Somebody(at).is_inside
    assert (ends(*served), at.present, at.turned_away) == ([None] * 4, 4, {"full": 1})
    served[2].is_answered()
    assert Somebody(at).is_inside
    assert ends(*served) == [None, None, "pushed out", None]


def test_strangers_go_before_those_who_were_allowed_to_do_something():
    at, _ = a_door(connections=3)
    known = Somebody(at)
    known.sends_a_whole_request()
    known.is_answered(as_known=True)
    strangers = [Somebody(at) for _ in range(12)]
    assert (known.end, ends(*strangers).count(None)) == (None, 2)
    for one in strangers[-2:]:
        one.sends_a_whole_request()
    Somebody(at)
    assert known.end == "pushed out"


def test_an_address_with_many_connections_makes_room_for_itself():
    at, _ = a_door(connections=8, share_of_an_address=0.25)
    elsewhere = [Somebody(at, "there") for _ in range(2)]
    crowd = [Somebody(at, "here") for _ in range(26)]
    assert (ends(*elsewhere), ends(*crowd).count(None)) == ([None, None], 6)
    Somebody(at, "somewhere")  # has few itself, so the oldest of all goes
    assert ends(*elsewhere) == ["pushed out", None]


def test_who_leaves_an_answer_unread_goes_before_those_who_are_known_but_not_for_a_moment_of_it():
    at, clock = a_door(connections=2)
    known, slow = Somebody(at), Somebody(at)
    known.sends_a_whole_request()
    known.is_answered(as_known=True)
    slow.sends_a_whole_request()
    at.is_unread(slow)
    clock.now += 5
    third = Somebody(at)
    assert ends(known, slow) == [None, "pushed out"]
    third.sends_a_whole_request()
    at.is_unread(third)
    assert Somebody(at).is_inside
    assert ends(known, third) == ["pushed out", None]


@pytest.mark.parametrize(
    ("part", "most"), [("head", 10.0), ("body", 30.0), ("nothing", 80.0)], ids=["head", "body", "idle"]
)
@pytest.mark.parametrize("is_known", [False, True])
def test_what_waits_for_too_long_is_closed_and_nothing_else(part, most, is_known):
    at, clock = a_door()
    one, served = Somebody(at, is_known=is_known), Somebody(at)
    served.sends_a_whole_request()
    one.part = part
    clock.now += most
    at.sweep()
    assert ends(one, served) == [None, None]
    clock.now += 0.1
    at.sweep()
    assert ends(one, served) == [f"{most:g} seconds", None]
    assert at.turned_away == {"idle" if part == "nothing" else "slow": 1}


def test_an_answer_that_nobody_reads_is_given_up():
    at, clock = a_door()
    one, other = Somebody(at), Somebody(at)
    for each in (one, other):
        each.sends_a_whole_request()
        at.is_unread(each)
    clock.now += 20
    at.is_read(other)
    at.is_unread(other)
    clock.now += 20
    at.sweep()
    assert (ends(one, other), at.present) == (["pushed out", None], 1)


@given(
    st.lists(
        st.tuples(st.sampled_from(["come", "send", "answer", "know", "unread", "read", "leave"]), st.integers(0, 9))
    )
)
def test_no_more_than_fit_and_nobody_who_is_served_goes(steps):
    at, clock = a_door(connections=5, share_of_an_address=0.4)
    inside, served = [], set()
    for what, number in steps:
        clock.now += 0.1
        inside = [one for one in inside if one.end is None]
        if what == "come":
            new = Somebody(at, f"address {number % 3}")
            inside += [new] if new.is_inside else []
        elif inside:
            one = inside[number % len(inside)]
            if what == "send":
                one.sends_a_whole_request()
                served.add(one)
            elif what in {"answer", "know"} and one in served:
                one.is_answered(as_known=what == "know")
                served.discard(one)
            elif what in {"unread", "read"}:
                (at.is_unread if what == "unread" else at.is_read)(one)
                served.discard(one)  # an answer that is left unread is no reason to stay
            elif what == "leave":
                one.push_out()
                served.discard(one)
        inside = [one for one in inside if one.end is None]
        assert len(inside) == at.present <= 5
        assert all(one.end is None for one in served)


@pytest.mark.parametrize(
    ("files", "places"), [(1024, 768), (4, 8), (10**6, door.MOST_CONNECTIONS), (resource.RLIM_INFINITY, 3072)]
)
def test_a_quarter_of_the_files_is_left_for_other_things(monkeypatch, files, places):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (files, files))
    assert places_for_connections() == places


def test_who_has_only_just_come_stays_where_others_leave_their_answers_unread():
    at, clock = a_door()
    holders = [Somebody(at) for _ in range(3)]
    for one in holders:
        one.sends_a_whole_request()
        at.is_unread(one)
    clock.now += 2.0
    fresh = Somebody(at)
    another = Somebody(at)
    assert ends(*holders, fresh, another) == ["pushed out", None, None, None, None]
    clock.now += 2.0
    Somebody(at)
    assert ends(fresh) == ["pushed out"]
