"""What of a file is not used."""

from __future__ import annotations

import numpy as np

from linkedbandits.attempts.set_aside import SetAside, Tally


def test_the_first_lines_are_kept_whatever_order_they_come_in():
    tally = Tally()
    tally.add("torn", "mend", np.array([90, 20, 80, 30, 70, 40, 60]))
    tally.add("torn", "mend", np.array([10, 50, 100]))
    assert tally.all() == (SetAside("torn", "mend", 10, (10, 20, 30, 40, 50)),)
    assert tally.rows == 10


def test_rules_are_counted_apart_and_nothing_is_no_entry():
    tally = Tally()
    tally.add("torn", "mend", np.array([], dtype=np.int64))
    assert tally.all() == ()
    tally.add("late", "wait", np.array([3]))
    tally.add("torn", "mend", np.array([2]))
    assert [(found.what, found.rows) for found in tally.all()] == [("late", 1), ("torn", 1)]
    assert tally.rows == 2


def test_what_is_counted_while_it_is_unchanged_is_forgotten():
    tally = Tally(("one.csv", "other.csv"))
    tally.add("late", "wait", np.array([3]))
    with tally.unchanged():
        tally.of_file(1).add("late", "wait", np.array([4]))
        tally.add("torn", "mend", np.array([2]))
        assert tally.rows == 3
    assert [(found.what, found.rows) for found in tally.all()] == [("late", 1)]


def test_it_reads_as_a_sentence():
    assert str(SetAside("torn rows", "mend them", 1)) == "torn rows: 1 row; mend them"
    assert str(SetAside("torn rows", "mend them", 2000, (1234,))) == (
        "torn rows: 2,000 rows, first in line 1,234; mend them"
    )


def test_lines_of_several_files_are_told_apart():
    tally = Tally(("a.csv", "b.csv"))
    tally.of_file(1).add("torn", "mend", np.array([2]))
    tally.of_file(0).add("torn", "mend", np.array([7, 3]))
    found = tally.all()[0]
    assert (found.lines, found.files) == ((3, 7, 2), ("a.csv", "a.csv", "b.csv"))
    assert str(found) == "torn: 3 rows, first in line 3 of a.csv; mend"
