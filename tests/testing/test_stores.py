"""``check_store``: a store in memory keeps the contract, and each way to break it is named."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.records import Expenses, ExperimentHead, Snapshot
from linkedbandits.testing import StoreCheckFailed, check_store, stores
from linkedbandits.testing.stores import FIRST
from tools.waiting import SECONDS


@dataclass
class Content:
    """All that a store keeps."""

    records: dict = field(default_factory=dict)
    logs: dict = field(default_factory=dict)
    journal: dict = field(default_factory=dict)
    tuples: dict = field(default_factory=dict)
    snapshots: dict = field(default_factory=dict)
    answers: dict = field(default_factory=dict)
    history: dict = field(default_factory=dict)
    expenses: dict = field(default_factory=dict)
    tokens: dict = field(default_factory=dict)
    had_tokens: bool = False


class Hands:
    """One transaction's hands on the content; the shortest that keeps the contract."""

    def __init__(self, content, shared):
        self.content = content
        self.shared = shared

    def ping(self):
        pass

    def record(self, experiment):
        if experiment not in self.content.records:
            raise lb.UnknownExperiment(experiment)
        return self.content.records[experiment]

    def records(self):
        return sorted(self.content.records.values(), key=lambda record: (record.created_at, record.id))

    def heads(self):
        return [ExperimentHead(record.id, record.head, record.status) for record in self.records()]

    def head(self, experiment):
        return Hands.record(self, experiment).head

    def lock(self, experiment, wait=True):
        return Hands.record(self, experiment).head

    def create(self, record, log=None):
        self.content.records[record.id] = record
        if log is not None:
            self.content.logs[record.id] = log

    def log(self, experiment):
        return self.content.logs.get(experiment)

    def entries(self, experiment, after, limit=None):
        behind = [entry for entry in self.content.journal.get(experiment, []) if entry.seq > after]
        return behind[:limit]

    def keyed(self, experiment, keys):
        by_key = {entry.body.get("key"): entry for entry in self.content.journal.get(experiment, [])}
        return {key: by_key[key] for key in keys if key in by_key}

    def append(self, experiment, entries, status, written_by):
        self.content.journal.setdefault(experiment, []).extend(entries)
        before = self.content.records[experiment]
        after = replace(before, head=entries[-1].seq, status=status, written_by=written_by)
        self.content.records[experiment] = after

    def tuples(self, experiment, numbers):
        kept = self.content.tuples.get(experiment, {})
        return {number: kept[number] for number in numbers if number in kept}

    def add_tuples(self, experiment, tuples):
        self.content.tuples.setdefault(experiment, {}).update(tuples)

    def snapshot(self, experiment):
        return self.content.snapshots.get(experiment)

    def answers(self, experiment):
        return [segment for _, segment in sorted(self.content.answers.get(experiment, {}).items())]

    def save_snapshot(self, experiment, snapshot, answers):
        self.content.snapshots[experiment] = snapshot
        self.content.answers.setdefault(experiment, {}).update(answers)

    def history(self, experiment, after=0):
        return [point for point in self.content.history.get(experiment, []) if point.seq > after]

    def add_history(self, experiment, points):
        self.content.history.setdefault(experiment, []).extend(points)

    def expenses(self, experiment, source=None):
        kept = sorted(self.content.expenses.get(experiment, {}).values(), key=lambda one: (one.at, one.source))
        return [one for one in kept if (one.body is not None if source is None else one.source == source)]

    def expenses_sources(self, experiment):
        return [one.source for one in Hands.expenses(self, experiment)]

    def expenses_version(self, experiment):
        kept = self.content.expenses.get(experiment, {}).values()
        return (float(len(kept)), float(sum(one.tries for one in kept)))

    def save_expenses(self, experiment, expenses):
        self.content.expenses.setdefault(experiment, {})[expenses.source] = expenses

    def forget_expenses(self, experiment, most):
        kept = self.content.expenses.get(experiment, {})
        added = sorted((one for one in kept.values() if one.body is None), key=lambda one: -one.at)
        for one in added[most:]:
            del kept[one.source]

    def tokens(self):
        return sorted(self.content.tokens.values(), key=lambda token: token.created_at)

    def ever_had_tokens(self):
        return self.content.had_tokens

    def add_token(self, token):
        self.content.tokens[token.id] = token
        self.content.had_tokens = True

    def remove_token(self, token_id):
        return self.content.tokens.pop(token_id, None) is not None


class MemoryStore:
    """Transactions work on a copy of what all stores of this kind share, one at a time."""

    hands = Hands

    def __init__(self, shared):
        self.shared = shared
        self.open = True
        shared.opened.append(self)

    @contextmanager
    def reading(self):
        self.check_open()
        yield self.hands(deepcopy(self.shared.content), self.shared)

    @contextmanager
    def writing(self):
        self.check_open()
        with self.shared.lock:
            changed = deepcopy(self.shared.content)
            yield self.hands(changed, self.shared)
            self.shared.content = changed

    def close(self):
        self.open = False

    def check_open(self):
        if not self.open:
            raise lb.StoreUnavailable("closed")


@pytest.fixture
def shared():
    return SimpleNamespace(content=Content(), lock=threading.RLock(), opened=[], ever=[])


def check(shared, store=MemoryStore, **hands):
    """Hold a store to the contract whose transactions have these methods instead of their own."""
    changed = type("Changed", (store,), {"hands": type("ChangedHands", (store.hands,), hands)})
    check_store(lambda: changed(shared))


def test_a_store_of_ones_own_can_keep_the_contract(shared):
    check(shared)
    assert len(shared.opened) > 10
    assert not any(store.open for store in shared.opened)


BROKEN = {
    "a new store must be empty": {"records": lambda self: [FIRST, *Hands.records(self)]},
    "an unknown experiment must raise UnknownExperiment": {"record": lambda self, one: self.content.records.get(one)},
    "the head of an unknown experiment must raise UnknownExperiment": {"head": lambda self, one: 0},
    "locking an unknown experiment must raise UnknownExperiment": {"lock": lambda self, one: 0},
    "a transaction must see what it wrote": {
        "record": lambda self, one: (
            Hands.record(Hands(self.shared.content, self.shared), one)
            if one in self.shared.content.records or one not in self.content.records
            else FIRST
        )
    },
    "a record must come back as written": {
        "record": lambda self, one: replace(Hands.record(self, one), written_by="0.1.0 5b1c")
    },
    "the head must be that of the last entry": {"head": lambda self, one: Hands.head(self, one) - 1},
    "records must come oldest first": {"records": lambda self: Hands.records(self)[::-1]},
    "the log of an experiment must come back as written": {"log": lambda self, one: None},
    "heads must be those of the records, in the same order": {"heads": lambda self: Hands.heads(self)[::-1]},
    "the journal must come back in order, exactly": {"entries": lambda self, *given: Hands.entries(self, *given)[::-1]},
    "the journal must be readable from any entry on": {
        "entries": lambda self, one, after, limit=None: Hands.entries(self, one, 0, limit)
    },
    "the journal must be readable in parts": {
        "entries": lambda self, one, after, limit=None: Hands.entries(self, one, after)
    },
    "experiments must have journals of their own": {
        "entries": lambda self, one, after, limit=None: Hands.entries(self, "first", after, limit)
    },
    "an entry must be found by its key, and no other": {
        "keyed": lambda self, one, keys: dict.fromkeys(keys, self.content.journal["first"][0])
    },
    "keys must belong to an experiment": {"keyed": lambda self, one, keys: Hands.keyed(self, "first", keys)},
    "tuples must be found by their numbers, and no others": {"add_tuples": lambda self, *_: None},
    "tuples must come back as written": {
        "tuples": lambda self, *given: {number: sorted(arms) for number, arms in Hands.tuples(self, *given).items()}
    },
    "the history must come back as written": {"add_history": lambda self, *_: None},
    "the history must be readable from any entry on": {"history": lambda self, one, after=0: Hands.history(self, one)},
    "there was no snapshot yet": {"snapshot": lambda self, one: Hands.snapshot(self, one) or Snapshot(0, {})},
    "the latest snapshot must come back exactly": {
        "snapshot": lambda self, one: (
            (found := Hands.snapshot(self, one))
            and Snapshot(found.seq, {key: round(value, 200) for key, value in found.body.items()})
        )
    },
    "segments must stay until they are replaced, and come in order": {
        "answers": lambda self, one: list(self.content.answers.get(one, {}).values())[1:]
    },
    "experiments must have answers of their own": {"answers": lambda self, one: Hands.answers(self, "first")},
    "there were no expenses yet": {"expenses": lambda self, one, source=None: [Expenses("x", 0.0, 0, {})]},
    "the last expenses of every source must come back, told longest ago first": {
        "expenses": lambda self, one, source=None: Hands.expenses(self, one, source)[::-1]
    },
    "sources must come in the same order": {
        "expenses_sources": lambda self, one: Hands.expenses_sources(self, one)[::-1]
    },
    "the expenses of one source must be found by its name": {
        "expenses": lambda self, one, source=None: Hands.expenses(self, one)
    },
    "expenses must belong to an experiment": {
        "expenses": lambda self, one, source=None: Hands.expenses(self, "first", source)
    },
    "the version of expenses must change with them": {"expenses_version": lambda self, one: (0.0,)},
    "sources that were added to others must not be counted": {
        "expenses": lambda self, one, source=None: [
            *Hands.expenses(self, one, source),
            *(found for found in self.content.expenses.get(one, {}).values() if found.body is None),
        ]
    },
    "that a source was added to others must be known": {
        "expenses": lambda self, one, source=None: [
            found for found in Hands.expenses(self, one, source) if found.body is not None
        ]
    },
    "of the sources that were added the last ones must stay": {"forget_expenses": lambda self, one, most: None},
    "a new store never had a token": {"ever_had_tokens": lambda self: True},
    "tokens must come back, oldest first": {"tokens": lambda self: list(self.content.tokens.values())},
    "a token that is there can be removed": {"remove_token": lambda self, one: False},
    "a token can be removed once": {"remove_token": lambda self, one: Hands.remove_token(self, one) or True},
    "a token removed must be gone": {
        "add_token": lambda self, token: self.shared.ever.append(token) or Hands.add_token(self, token),
        "tokens": lambda self: self.shared.ever[::-1],
    },
    "that there were tokens is not forgotten": {"ever_had_tokens": lambda self: bool(self.content.tokens)},
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_store_that_breaks_a_promise_is_told_which_and_let_go(shared, promise):
    with pytest.raises(StoreCheckFailed, match=f"^{promise}"):
        check(shared, **BROKEN[promise])
    assert not any(store.open for store in shared.opened)


class WithoutRollback(MemoryStore):
    @contextmanager
    def writing(self):
        self.check_open()
        with self.shared.lock:
            yield self.hands(self.shared.content, self.shared)


class RollsBackTooFar(MemoryStore):
    @contextmanager
    def writing(self):
        before = deepcopy(self.shared.content)
        try:
            with super().writing() as hands:
                yield hands
        except stores._OnPurpose:
            self.shared.stale = before
            self.shared.stale.records["first"] = replace(before.records["first"], head=2)
            raise


class ReadsWhatIsNotFinished(MemoryStore):
    """Readers who come while a transaction is open see what it has done so far."""

    @contextmanager
    def writing(self):
        with super().writing() as hands:
            self.shared.unfinished = hands.content
            try:
                yield hands
            finally:
                del self.shared.unfinished

    @contextmanager
    def reading(self):
        with super().reading() as hands:
            hands.content = getattr(self.shared, "unfinished", hands.content)
            yield hands


class ChangesUnderTheReader(MemoryStore):
    """A reader sees whatever was committed last."""

    @contextmanager
    def reading(self):
        self.check_open()
        shared = self.shared

        class Latest(self.hands):
            content = property(lambda self: shared.content, lambda self, value: None)

        yield Latest(None, shared)


class RemembersWhatItRead(MemoryStore):
    """A reader sees what the store saw when it was first read."""

    @contextmanager
    def reading(self):
        with super().reading() as hands:
            self.first = getattr(self, "first", None) or deepcopy(hands.content)
            hands.content = self.first
            yield hands


class ReadsWhenClosed(MemoryStore):
    @contextmanager
    def reading(self):
        yield self.hands(deepcopy(self.shared.content), self.shared)


class WritesWhenClosed(MemoryStore):
    @contextmanager
    def writing(self):
        before, self.open = self.open, True
        with super().writing() as hands:
            yield hands
        self.open = before


def in_a_thread():
    return threading.current_thread() is not threading.main_thread()


class LosesAnUpdate(MemoryStore):
    """One of those who write at the same time finds the work of another undone."""

    @contextmanager
    def writing(self):
        with self.shared.lock:
            before = self.shared.content
            with super().writing() as hands:
                yield hands
            if in_a_thread() and not hasattr(self.shared, "lost"):
                self.shared.lost, self.shared.content = True, before


class DoesNotWait(MemoryStore):
    """One of those who write at the same time is turned away."""

    @contextmanager
    def writing(self):
        if in_a_thread():
            raise lb.StoreUnavailable("another one is writing")
        with super().writing() as hands:
            yield hands


@pytest.mark.parametrize(
    ("store", "promise"),
    [
        (WithoutRollback, "a transaction that failed must leave nothing behind"),
        (ReadsWhatIsNotFinished, "no one may see a transaction that has not ended"),
        (ChangesUnderTheReader, "a reader's view must not change while it is open"),
        (RemembersWhatItRead, "a transaction that ended must be seen by everybody"),
        (LosesAnUpdate, "locks must keep two writers apart"),
        (DoesNotWait, "who locks must wait, and see what was written meanwhile; instead: .*another one is writing"),
        (ReadsWhenClosed, "reading from a closed store must raise StoreUnavailable"),
        (WritesWhenClosed, "writing from a closed store must raise StoreUnavailable"),
    ],
)
def test_a_store_without_sound_transactions_is_told_so_and_let_go(shared, store, promise):
    with pytest.raises(StoreCheckFailed, match=f"^{promise}"):
        check(shared, store)
    assert not any(opened.open for opened in shared.opened)


def test_a_store_that_does_not_go_on_after_a_failure_is_told_so(shared):
    """It has taken back the wrong thing: the next to lock sees an earlier head than those who read."""

    def lock(self, experiment, wait=True):
        return Hands.lock(self, experiment) - hasattr(self.shared, "stale")

    with pytest.raises(StoreCheckFailed, match=r"^after a transaction that failed the store must go on"):
        check(shared, RollsBackTooFar, lock=lock)


def test_writers_who_wait_for_each_other_without_end_are_told_so(shared, monkeypatch):
    """With a check that has little patience, and threads that wait until it has ended."""
    ended, begun = threading.Event(), []

    class Impatient(threading.Thread):
        def join(self, timeout=None):
            begun.append(self)
            super().join(0.01)

    class NeverGetsTheLock(MemoryStore):
        @contextmanager
        def writing(self):
            if in_a_thread():
                assert ended.wait(SECONDS)
                raise lb.StoreUnavailable("too late")
            with super().writing() as hands:
                yield hands

    monkeypatch.setattr(stores, "threading", SimpleNamespace(Thread=Impatient))
    try:
        with pytest.raises(StoreCheckFailed, match=r"^transactions must not wait for each other without end"):
            check(shared, NeverGetsTheLock)
    finally:
        ended.set()
        for thread in begun:
            threading.Thread.join(thread, SECONDS)
    assert len(begun) == 4
    assert not any(thread.is_alive() for thread in begun)


def test_the_checks_are_the_same_every_time_and_keep_what_is_in_the_way(shared):
    """A store that is not empty at the beginning is refused at once, and nothing in it is changed."""
    with MemoryStore(shared).writing() as hands:
        hands.create(FIRST)
    with pytest.raises(StoreCheckFailed, match=r"^a new store must be empty"):
        check(shared)
    assert shared.content == Content(records={"first": FIRST})
