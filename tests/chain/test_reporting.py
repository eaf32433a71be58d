"""What is told to the service of first attempts: all of it, as sums, under a name of one's own."""

from __future__ import annotations

import threading

from linkedbandits.chain.expenses import Spent, nothing_tried
from linkedbandits.chain.reporting import Reporting
from linkedbandits.option_estimates import FirstAttempts
from tools.waiting import SECONDS


def test_sums_begin_with_what_is_known_of_the_option_and_have_all_that_was_added():
    reporting = Reporting(lambda label: nothing_tried("seconds", {"a": 2.0, "b": None}[label]))
    reporting.add(Spent("a", True, 0.5, 0.5))
    reporting.add(Spent("b", False, 3.0, None))
    reporting.add(Spent("a", False, 2.5, 2.5))
    now = reporting.now()
    assert (now["a"].tries, now["a"].successes, now["a"].seconds.total, now["a"].cost.most) == (2, 1, 2.5, 2.0)
    assert (now["b"].tries, now["b"].seconds.most, now["b"].cost.count) == (1, None, 0)
    reporting.add(Spent("a", True, 0.5, 0.5))
    assert now["a"].tries == 2  # a copy


def test_it_has_changed_until_all_is_sent():
    reporting = Reporting(lambda label: FirstAttempts())
    assert not reporting.changed
    for _ in range(3):
        reporting.add(Spent("a", True, 0.5, None))
    assert reporting.changed
    reporting.sent(2)
    assert reporting.changed
    reporting.sent(3)
    assert not reporting.changed


def test_begun_anew_it_has_another_name_and_nothing_in_it():
    reporting = Reporting(lambda label: FirstAttempts())
    reporting.add(Spent("a", True, 0.5, None))
    before = reporting.source
    reporting.begin_anew()
    assert reporting.source != before
    assert (reporting.changed, reporting.now()) == (False, {})
    assert Reporting(lambda label: FirstAttempts()).source != reporting.source


def test_threads_that_add_at_once_lose_nothing():
    reporting = Reporting(lambda label: FirstAttempts())

    def add():
        for _ in range(500):
            reporting.add(Spent("a", True, 0.5, 1.0))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert reporting.now()["a"].tries == 2000
