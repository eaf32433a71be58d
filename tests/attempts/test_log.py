"""A log as data: what it refuses, and what it knows of itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.attempts import Attempts
from linkedbandits.errors import InvalidAttempts

PLAYS = [(("a", "b"), "a"), (("b", "a", "c"), "a"), (("c",), None)]


def plays(options="abcd", most=30):
    """Requests with their orders and hits."""
    orders = st.permutations(options).flatmap(
        lambda order: st.integers(1, len(options)).map(lambda size: tuple(order[:size]))
    )
    return st.lists(
        orders.flatmap(lambda order: st.tuples(st.just(order), st.sampled_from([None, *order]))), max_size=most
    )


def test_what_came_after_the_hit_was_not_tried():
    log = Attempts.from_plays(PLAYS)
    assert log.options == ("a", "b", "c")
    assert log.request.tolist() == [0, 1, 1, 2]
    assert log.option.tolist() == [0, 1, 0, 2]
    assert log.success.tolist() == [True, False, True, False]
    assert log.second.tolist() == [1, 0, -1]
    assert log.first.tolist() == [0, 1, 3]
    assert (log.requests, len(log)) == (3, 4)


@given(plays())
def test_every_request_ends_at_its_hit_or_at_its_last_option(made):
    log = Attempts.from_plays(made, options="abcd")
    assert log.requests == len(made)
    for request, (order, hit) in enumerate(made):
        mine = log.request == request
        tried = [log.options[option] for option in log.option[mine]]
        assert tried == list(order if hit is None else order[: order.index(hit) + 1])
        assert log.success[mine].tolist() == [option == hit for option in tried]
    assert log.first.tolist() == [int((log.request == request).argmax()) for request in range(len(made))]


def test_a_log_without_anything_is_one():
    log = Attempts.from_plays([], options="ab")
    assert (log.requests, len(log), log.first.size, log.in_one_order) == (0, 0, 0, True)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        ([(("a", "a"), "a")], "play 0 has an option twice"),
        ([(("a", "b"), "c")], r"play 0 has the hit 'c', which is not in its order"),
        ([((), None)], "play 0 has the order"),
        ([("ab", "a")], "give a tuple"),
        ([(("a",), None), (("z",), None)], "play 1 has 'z', which is not one of the options"),
    ],
)
def test_plays_that_contradict_themselves_are_refused(made, said):
    with pytest.raises(lb.InvalidAttempts, match=said):
        Attempts.from_plays(made, options="ab")


@pytest.mark.parametrize(
    ("request_", "option", "success", "said"),
    [
        ([0, 2], [0, 1], [False, False], "numbered 0, 1, 2"),
        ([1, 1], [0, 1], [False, False], "numbered 0, 1, 2"),
        ([0, 0], [0, 1], [True, False], "request 0 goes on after a success"),
        ([0], [2], [True], "not one of the 2 given"),
        ([0, 1], [0], [True, False], "different lengths"),
    ],
)
def test_columns_that_contradict_themselves_are_refused(request_, option, success, said):
    with pytest.raises(lb.InvalidAttempts, match=said):
        Attempts(("a", "b"), *(np.array(column, dtype=np.int32) for column in (request_, option)), np.array(success))


def test_an_option_has_one_name():
    with pytest.raises(lb.InvalidAttempts, match="a name twice"):
        Attempts.from_plays([], options=["a", "a"])


@pytest.mark.parametrize(
    ("made", "one"),
    [
        ([(("a", "b", "c"), "c"), (("a", "b"), "a")], True),
        ([(("a", "b", "c"), None), (("a", "c", "b"), None)], False),
        ([(("a", "b"), None), (("b",), None)], False),
        ([(("a", "b"), None), (("a", "c"), None)], True),
    ],
)
def test_one_fixed_order_is_noticed(made, one):
    assert Attempts.from_plays(made, options="abc").in_one_order == one


def test_an_option_is_found_by_its_name():
    log = Attempts.from_plays(PLAYS)
    assert log.number_of("b") == 1
    with pytest.raises(lb.UnknownName, match="'z' is no option of this log; choose one of a, b, c"):
        log.number_of("z")


@pytest.mark.parametrize(
    ("plays", "said"),
    [
        (None, "None are no plays; give a list of"),
        ("ab", "'ab' are no plays"),
        ({"a": "b"}, "are no plays"),
        ([5], "play 0 is 5; give"),
        ([(("a", "b"), "a"), ("a", "b", "c")], r"play 1 is \('a', 'b', 'c'\); give"),
        ([(["a"], "b", 3)], "play 0 is "),
        ([({"a", "b"}, None)], "play 0 has the order {"),
        ([(5, None)], "play 0 has the order 5; give a tuple"),
        ([([["a"]], None)], r"play 0 has the option \['a'\]; name options"),
        ([([None], None)], "play 0 has the option None"),
        ([(["a"], ["a"])], r"play 0 has the option \['a'\]"),
    ],
)
def test_what_is_no_list_of_plays_is_refused_with_a_remedy(plays, said):
    with pytest.raises(InvalidAttempts, match=said):
        Attempts.from_plays(plays)


def timed():
    log = Attempts.from_plays([(("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None), (("b",), "b")])
    times = 1714521600.0 + 60 * np.arange(4)
    return replace(log, time=times, cost=np.arange(6.0))


@pytest.mark.parametrize(
    "begin", [2, "2", "2024-05-01T00:01:30Z", "2024-05-01 00:02", 1714521700, datetime(2024, 5, 1, 0, 2, tzinfo=UTC)]
)
def test_a_log_is_read_from_a_request_or_a_time_on(begin):
    later = timed().since(begin)
    assert later.plays() == timed().plays()[2:]
    assert later.cost.tolist() == [3.0, 4.0, 5.0]
    assert later.time.tolist() == [1714521720.0, 1714521780.0]
    assert later.noticed == ("Read from request 2 on, of 4; from there on they are numbered anew, from 0",)


def test_the_whole_log_is_as_it_was():
    log = timed()
    assert log.since(0) is log


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (4, "no requests since 4; it has 4"),
        ("2025-01-01", "no requests since 2025-01-01"),
        ("soon", "neither a number of a request nor a time"),
        (-1, "no number of a request"),
        (1.5, "no number of a request"),
        (float("nan"), "neither"),
        (True, "neither"),
    ],
)
def test_a_beginning_that_is_none_is_refused(begin, said):
    with pytest.raises(InvalidAttempts, match=said):
        timed().since(begin)
    with pytest.raises(InvalidAttempts, match="has no times"):
        replace(timed(), time=None).since("2024-05-01")


def timed_log(seconds, plays=((("a", "b"), "a"), (("b", "a"), "a"), (("a", "b"), None))):
    return replace(Attempts.from_plays(plays), seconds=np.array(seconds))


def test_a_success_that_is_too_late_is_none():
    log = timed_log([2.0, 0.1, 2.5, 9.0, 9.0]).within(2.0)
    assert log.success.tolist() == [True, False, False, False, False]
    assert (log.deadline, log.second) == (2.0, None)
    assert log.noticed[0] == "A success that took longer than 2 seconds counts as a failure: 1 of 2"
    assert log.seconds_in_time.tolist() == [2.0, 0.1, 2.0, 2.0, 2.0]
    assert log.seconds.tolist() == [2.0, 0.1, 2.5, 9.0, 9.0]


def test_a_deadline_needs_to_know_how_long_successes_took():
    with pytest.raises(lb.InvalidAttempts, match="name the column"):
        Attempts.from_plays([(("a", "b"), "a")]).within(1.0)
    with pytest.raises(lb.InvalidAttempts, match="1 of 2 successes do not say"):
        timed_log([np.nan, 0.1, 2.5, 9.0, 9.0]).within(2.0)
    assert timed_log([1.0, np.nan, 2.5, np.nan, 9.0]).within(2.0).success.sum() == 1
    with pytest.raises(lb.InvalidParameter, match="deadline"):
        timed_log([1.0] * 5).within(0.0)


def test_successes_without_seconds_are_late_or_in_time_by_the_users_word():
    log = timed_log([np.nan, 0.1, 0.5, np.nan, 9.0])
    with pytest.raises(lb.InvalidAttempts, match=r"with blank_seconds='late' or blank_seconds='in-time'"):
        log.within(2.0)
    late, in_time = log.within(2.0, "late"), log.within(2.0, "in-time")
    assert late.success.tolist() == [False, False, True, False, False]
    assert in_time.success.tolist() == [True, False, True, False, False]
    assert late.noticed[0].endswith("0 of 2; 1 do not say how long they took, and count as late")
    with pytest.raises(lb.InvalidParameter, match="blank_seconds='soon' is unknown; choose late or in-time"):
        log.within(2.0, "soon")


def test_duels_are_refused_under_a_deadline():
    log = timed_log([1.0] * 5)
    assert log.why_no_duels is None
    assert "behind a success that came too late" in log.within(2.0).why_no_duels
    assert "offered second" in replace(log, second=None).why_no_duels
    with pytest.raises(lb.InvalidAttempts, match="cannot be read under a deadline"):
        log.within(2.0).verdict(attempts="duels")
    with pytest.raises(lb.InvalidAttempts, match="log_attempts='first'"):
        lb.Experiment(["a", "b"], lb.LinkedDuels(0.05), linkage="free", log=log.within(2.0), log_attempts="duels")


def test_the_verdict_under_a_deadline_is_about_what_works_in_time():
    rng = np.random.default_rng(8)
    plays = []
    for _ in range(1500):
        works = rng.random(2) < [0.9, 0.7]
        order = rng.permutation(2)
        plays.append((["ab"[place] for place in order], next(("ab"[place] for place in order if works[place]), None)))
    log = Attempts.from_plays(plays, options="ab")
    slow = replace(log, seconds=rng.exponential(np.where(log.option == 0, 4.0, 0.3)))
    assert slow.verdict().verdict.arm == "a"
    report = slow.within(2.0).verdict()
    assert report.verdict.arm == "b"
    assert report.sentence.startswith("b works most often within 2 seconds, wrong with probability at most 0.05")
    assert report.to_json()["deadline"] == 2.0
    mean = 0.9 * (1 - np.exp(-2.0 / 4.0))
    assert report.estimates[0].low <= mean <= report.estimates[0].high
