"""What is counted over calls."""

from __future__ import annotations

import os

import pytest

from linkedbandits.chain.expenses import Spent
from linkedbandits.chain.tally import Tally


def test_calls_and_attempts_are_counted_by_role_and_lost_ones_by_option():
    tally = Tally(["a", "b"])
    for _ in range(6):
        tally.begin()
    tally.end("play", ("b", "a"), "worked")
    tally.end("play", ("b",), "lost")
    tally.end("play", ("a", "b"), "failed")
    tally.end("plain", ("a",), "lost")
    tally.end("watched", ("b", "a"), "worked")
    counts = tally.counts()
    assert (counts.began, counts.ended) == (6, 5)
    assert counts.calls == {"play": 3, "plain": 1, "served": 0, "watched": 1}
    assert counts.attempts == {"play": 5, "plain": 1, "served": 0, "watched": 2}
    assert counts.endings == {"worked": 2, "failed": 1, "lost": 2}
    assert counts.lost_of == {"a": 0, "b": 1}


def test_a_call_that_was_lost_before_its_first_attempt_is_lost_by_no_option():
    tally = Tally(["a", "b"])
    tally.end("play", (), "lost")
    assert tally.counts().lost_of == {"a": 0, "b": 0}


def test_counts_are_a_copy():
    tally = Tally(["a", "b"])
    before = tally.counts()
    tally.end("play", ("a",), "worked")
    assert before.calls["play"] == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_counts_on_though_a_thread_of_the_parent_was_counting():
    tally = Tally(["a", "b"])
    assert tally._backlog.hold()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        tally.end("play", ("a",), "worked")
        os.write(writing, str(tally.ended).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 10) == b"1"
    os.close(reading)
    os.close(writing)


def test_costs_are_summed_by_role():
    tally = Tally(["a", "b"])
    tally.end("play", ("b", "a"), "worked", (Spent("b", False, 0.1, 3.0), Spent("a", True, 0.2, 2.0)))
    tally.end("served", ("a",), "lost", ())
    tally.end("served", ("a",), "worked", (Spent("a", True, 0.2, None),))
    assert tally.counts().spent == {"play": 5.0, "plain": 0.0, "served": 0.0, "watched": 0.0}
