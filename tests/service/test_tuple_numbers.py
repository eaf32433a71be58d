"""Numbers for tuples: the same number for the same tuple, and the tuples back from their numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.service.tuple_numbers import TupleNumbers
from tests.support.busy_experiment import busy_experiment, reopened
from tools.uninterrupted import uninterrupted


def test_tuples_that_were_forgotten_get_new_numbers(store, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.tuple_numbers.MOST_REMEMBERED", 4)
    experiment = busy_experiment(store, snapshot_every=60)
    assert reopened(store, experiment).experiment.to_json() == uninterrupted(store, experiment).to_json()
    with store.reading() as tables:
        numbers = {number for entry in tables.entries(experiment, 0) for number, _ in entry.body.get("runs", [])}
        tuples = tables.tuples(experiment, range(max(numbers) + 1))
    assert tuples.keys() == numbers
    assert len({tuple(arms) for arms in tuples.values()}) < len(tuples)


class Kept:
    """A store's tuples."""

    def __init__(self):
        self.by_number = {}
        self.read = []

    def tuples(self, experiment, numbers):
        wanted = set(numbers)
        self.read.append(wanted)
        return {number: self.by_number[number] for number in wanted & self.by_number.keys()}

    def write(self, numbers):
        assert not numbers.new.keys() & self.by_number.keys(), "a number was used twice"
        self.by_number.update(numbers.new)
        numbers.written()


TUPLES = [np.array(arms) for arms in ([0], [1], [0, 1], [1, 0], [2, 1, 0])]
batches = st.lists(st.lists(st.sampled_from(TUPLES), max_size=6), max_size=6)


@given(batches)
def test_tuples_come_back_from_their_numbers(played):
    numbers, kept = TupleNumbers(), Kept()
    journal = []
    for batch in played:
        journal.append(numbers.runs(batch))
        kept.write(numbers)
    reader = TupleNumbers()  # another process, that has nothing but the store
    for each in (numbers, reader):
        for runs, batch in zip(journal, played, strict=True):
            spelled = each.spelled_out(kept, "x", runs)
            assert [arms.tolist() for arms in spelled] == [arms.tolist() for arms in batch]
    assert reader.next_number == numbers.next_number


@given(batches)
def test_the_same_tuple_has_the_same_number_while_it_is_remembered(played):
    numbers = TupleNumbers()
    for batch in played:
        numbers.runs(batch)
    distinct = {tuple(arms.tolist()) for batch in played for arms in batch}
    assert sorted(tuple(arms.tolist()) for arms in numbers.new.values()) == sorted(distinct)
    assert sorted(numbers.new) == list(range(len(distinct)))


def test_the_same_array_in_a_row_is_one_run():
    one, other = TUPLES[:2]
    assert TupleNumbers(7).runs([one, one, other, one]) == [[7, 2], [8, 1], [7, 1]]


def test_the_store_is_asked_once_for_what_is_not_remembered(monkeypatch):
    numbers, kept = TupleNumbers(), Kept()
    runs = numbers.runs(TUPLES)
    numbers.spelled_out(kept, "x", runs)
    assert kept.read == []
    monkeypatch.setattr("linkedbandits.service.tuple_numbers.MOST_REMEMBERED", 8)
    kept.write(numbers)  # nine arms: more than may be remembered
    for _ in range(2):
        numbers.spelled_out(kept, "x", runs)
    assert kept.read == [{0, 1, 2, 3, 4}]
    monkeypatch.setattr("linkedbandits.service.tuple_numbers.MOST_REMEMBERED", 9)
    kept.write(numbers)
    numbers.spelled_out(kept, "x", runs)
    assert len(kept.read) == 1
