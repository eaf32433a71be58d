"""``check_store``: a store in memory keeps the contract, and each way to break it is named."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits.service.outbox_tables import AT_ONCE, LONGEST_PAUSE, OutboxCounts
from linkedbandits.service.records import Expenses, ExperimentHead, ListedExperiment, Snapshot
from linkedbandits.service.scopes import EVERYTHING
from linkedbandits.service.webhooks import Delivery
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
    curves: dict = field(default_factory=dict)
    tags: dict = field(default_factory=dict)
    first_tags: dict = field(default_factory=dict)
    standings: dict = field(default_factory=dict)
    expenses: dict = field(default_factory=dict)
    tokens: dict = field(default_factory=dict)
    audit: list = field(default_factory=list)
    hidden: set = field(default_factory=set)
    had_tokens: bool = False
    webhooks: dict = field(default_factory=dict)
    deliveries: dict = field(default_factory=dict)
    creation_keys: dict = field(default_factory=dict)


PARTS = ("journal", "tuples", "snapshots", "answers", "history", "curves", "tags", "expenses")


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

    def listed(self):
        return [
            ListedExperiment(
                one.id,
                one.name,
                one.status,
                one.created_at,
                one.head,
                *self.content.standings.get(one.id, (0, "")),
                Hands.tags(self, one.id),
            )
            for one in Hands.records(self)
        ]

    def records_among(self, experiments):
        return [(one, self.content.records[one]) for one in experiments if one in self.content.records]

    def tags(self, experiment):
        return tuple(self.content.tags.get(experiment, ()))

    def first_tags(self, experiment):
        return tuple(self.content.first_tags.get(experiment, ()))

    def set_tags(self, experiment, tags):
        self.content.tags[experiment] = tags

    def note_standing(self, experiment, plays, verdict):
        self.content.standings[experiment] = (plays, verdict)

    def curve(self, experiment):
        return self.content.curves.get(experiment, [])

    def add_curve(self, experiment, points):
        self.content.curves.setdefault(experiment, []).extend(points)

    def head(self, experiment):
        return Hands.record(self, experiment).head

    def records_and_damaged(self):
        return Hands.records(self), []

    def lock(self, experiment):
        return Hands.record(self, experiment).head

    def try_lock(self, experiment, for_a_moment):
        return Hands.record(self, experiment).head

    def create(self, record, log=None, key=None, tags=()):
        if key is not None and key in self.content.creation_keys:
            return False
        if key is not None:
            self.content.creation_keys[key] = record.id
        self.content.records[record.id] = record
        if tags:
            self.content.tags[record.id] = self.content.first_tags[record.id] = tags
        if log is not None:
            self.content.logs[record.id] = log
        return True

    def created_with(self, key):
        return self.content.creation_keys.get(key)

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

    def lock_limited_tokens(self):
        return [token for token in Hands.tokens(self) if token.scope.limited]

    def widen_token(self, token, scope):
        self.content.tokens[token.id] = replace(token, scope=scope)

    def name_and_status(self, experiment):
        return Hands.record(self, experiment).name, Hands.record(self, experiment).status

    def going_on_from(self, experiment):
        return [one.id for one in Hands.records(self) if one.line.before == experiment]

    def archived_at(self, experiment):
        assert Hands.record(self, experiment)
        journal = self.content.journal.get(experiment, [])
        return next((entry.at for entry in journal if entry.body.get("to") == "archived"), None)

    def hide(self, experiment):
        del self.content.records[experiment]
        self.content.hidden.add(experiment)

    def next_hidden(self, but=()):
        hidden = sorted(self.content.hidden.difference(but))
        return next((one for one in hidden if any(one in getattr(self.content, part) for part in PARTS)), None)

    def erase(self, experiment, most):
        part = next(part for part in PARTS if experiment in getattr(self.content, part))
        del getattr(self.content, part)[experiment]
        return 1

    def add_audit(self, entry):
        self.content.audit.insert(0, entry)

    def audit(self, limit, before=None, *, action=None, subject=None, since=0.0):
        return [
            entry
            for entry in self.content.audit
            if (before is None or entry.id < before)
            and action in (None, entry.action)
            and subject in (None, entry.subject)
            and entry.at >= since
        ][:limit]

    def forget_audit(self, before):
        kept = [entry for entry in self.content.audit if entry.at >= before]
        removed = len(self.content.audit) - len(kept)
        self.content.audit[:] = kept
        return removed

    def forget_refusals(self, most):
        refused = [entry for entry in self.content.audit if entry.action == "sign-in-refused"]
        for entry in refused[most:]:
            self.content.audit.remove(entry)

    def add_token(self, token):
        self.content.tokens[token.id] = token
        self.content.had_tokens = True

    def remove_token(self, token_id):
        return self.content.tokens.pop(token_id, None) is not None

    def size(self):
        return 1

    def count_by_status(self):
        return dict(Counter(record.status for record in self.content.records.values()))

    def webhooks(self):
        return sorted(self.content.webhooks.values(), key=lambda webhook: webhook.created_at)

    def add_webhook(self, webhook):
        self.content.webhooks[webhook.id] = webhook

    def remove_webhook(self, webhook):
        self.content.deliveries = {key: one for key, one in self.content.deliveries.items() if key[0] != webhook}
        return self.content.webhooks.pop(webhook, None) is not None

    def put_out(self, told):
        wanted = [hook for hook in Hands.webhooks(self) if told.kind in hook.events]
        return sum(
            self.add_delivery(
                Delivery(hook.id, told.id, told.kind, told.experiment, told.at, told.body(), next_at=AT_ONCE)
            )
            for hook in wanted
            if hook.experiment in (None, told.experiment)
        )

    def add_delivery(self, delivery):
        key = delivery.webhook, delivery.id
        return self.content.deliveries.setdefault(key, delivery) is delivery

    def due_deliveries(self, now):
        due = [one for one in self.content.deliveries.values() if one.next_at is not None]
        due = [one for one in due if not now < one.next_at <= now + 2 * LONGEST_PAUSE]
        first = {one.webhook: one for one in sorted(due, key=lambda one: (one.attempts, one.at), reverse=True)}
        return [(self.content.webhooks[name], one) for name, one in first.items()]

    def deliveries(self, webhook, most):
        kept = [one for one in self.content.deliveries.values() if one.webhook == webhook]
        return sorted(kept, key=lambda one: -one.at)[:most]

    def outbox_counts(self):
        waiting = [one.at for one in self.content.deliveries.values() if one.next_at is not None]
        return OutboxCounts(len(waiting), min(waiting, default=None))

    def change_delivery(self, delivery, **changes):
        key = delivery.webhook, delivery.id
        self.content.deliveries[key] = replace(self.content.deliveries[key], **changes)

    def claim_delivery(self, delivery, until):
        kept = self.content.deliveries[delivery.webhook, delivery.id]
        if kept.next_at != delivery.next_at:
            return False
        self.change_delivery(delivery, next_at=until, attempts=kept.attempts + 1)
        return True

    def delivery_sent(self, delivery, said):
        self.change_delivery(delivery, state="sent", said=said, next_at=None)

    def delivery_postponed(self, delivery, next_at, said):
        self.change_delivery(delivery, said=said, next_at=next_at)


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

    def probe(self):
        self.check_open()

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
    "trying to lock an unknown experiment must raise UnknownExperiment": {
        "try_lock": lambda self, one, for_a_moment: 0
    },
    "what nobody else holds must be locked": {
        "try_lock": lambda self, one, for_a_moment: (Hands.try_lock(self, one, for_a_moment), None)[1]
    },
    "what is whole must not be called damaged": {"records_and_damaged": lambda self: ([], Hands.records(self))},
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
    "lists must be of the records, with what was noted last": {"note_standing": lambda self, *_: None},
    "records must be found by their identifiers, and no others": {
        "records_among": lambda self, wanted: [(one.id, one) for one in Hands.records(self)][:1]
    },
    "an experiment must have the tags that it was created with": {"tags": lambda self, one: ("ü",)},
    "tags must come as written": {"tags": Hands.first_tags},
    "so must those that an experiment was created with": {"first_tags": Hands.tags},
    "curves must come back in order": {"curve": lambda self, one: Hands.curve(self, one)[::-1]},
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
    "the limits of a token must come back": {
        "add_token": lambda self, token: Hands.add_token(self, replace(token, scope=EVERYTHING))
    },
    "limited tokens can be locked": {"lock_limited_tokens": lambda self: []},
    "a limited token can be let see more": {"widen_token": lambda self, token, scope: None},
    "a limited token can be removed": {
        "remove_token": lambda self, one: one != "t3" and Hands.remove_token(self, one),
    },
    "the audit comes back, newest first": {"audit": lambda self, *a, **b: Hands.audit(self, *a, **b)[::-1]},
    "it can be read on from an entry": {"audit": lambda self, limit, before=None, **b: Hands.audit(self, limit, **b)},
    "it can be narrowed": {"audit": lambda self, limit, before=None, **_: Hands.audit(self, limit, before)},
    "what is old can be removed from it": {"forget_audit": lambda self, before: 0},
    "and refused sign-ins": {"forget_refusals": lambda self, most: None},
    "an experiment that runs was archived at no time": {"archived_at": lambda self, one: 1.0},
    "it is known when an experiment was archived, whatever came after": {
        "archived_at": lambda self, one: (
            self.content.journal[one][-1].at if Hands.archived_at(self, one) is not None else None
        )
    },
    "record of an experiment that was deleted must raise UnknownExperiment": {"hide": lambda self, one: None},
    "an experiment that was deleted must not be listed": {
        "hide": lambda self, one: self.shared.ever.append(Hands.record(self, one)) or Hands.hide(self, one),
        "records": lambda self: Hands.records(self) + self.shared.ever,
    },
    "nor where little of it is read": {
        "hide": lambda self, one: self.shared.ever.append(Hands.record(self, one)) or Hands.hide(self, one),
        "records_among": lambda self, names: [
            (one.id, one) for one in [*self.content.records.values(), *self.shared.ever] if one.id in names
        ],
    },
    "an experiment that was deleted cannot be locked": {
        "lock": lambda self, one, wait=True: 0 if one in self.content.hidden else Hands.lock(self, one)
    },
    "what is not asked for must not be named to be erased": {"next_hidden": lambda self, but=(): "first"},
    "erase must not remove more than it was told to": {
        "erase": lambda self, one, most: 7 * Hands.erase(self, one, most)
    },
    "entries of what was erased must be gone": {"next_hidden": lambda self, but=(): None},
    "so must its expenses": {
        "expenses": lambda self, one, source=None: (
            [Expenses("x", 0.0, 0, {})] if one in self.content.hidden else Hands.expenses(self, one, source)
        )
    },
    "so must its curves": {
        "curve": lambda self, one: ["x"] if one in self.content.hidden else Hands.curve(self, one),
    },
    "so must its tags": {
        "tags": lambda self, one: ("x",) if one in self.content.hidden else Hands.tags(self, one),
    },
    "webhooks must come back as written, oldest first": {"webhooks": lambda self: Hands.webhooks(self)[::-1]},
    "a message must go to those who want to hear of it, and once": {
        "add_delivery": lambda self, one: Hands.add_delivery(self, one) or True
    },
    "a new message must be due at once, whatever the clock says": {
        "add_delivery": lambda self, one: Hands.add_delivery(self, replace(one, next_at=one.at)),
    },
    "what waits must be counted, with the time of the oldest": {"outbox_counts": lambda self: OutboxCounts(1, None)},
    "a message must be taken by one": {
        "claim_delivery": lambda self, *given: Hands.claim_delivery(self, *given) or True
    },
    "one that is taken is not due": {
        "claim_delivery": lambda self, one, until: Hands.claim_delivery(self, one, until - 5)
    },
    "one that was taken long ago is due again, with its attempts": {
        "claim_delivery": lambda self, one, until: Hands.claim_delivery(self, one, until + 5)
    },
    "a clock that ran far ahead must not put a message off for as long": {
        "due_deliveries": lambda self, now: [pair for pair in Hands.due_deliveries(self, now) if pair[1].next_at <= now]
    },
    "what came of a message must be known, and it must not be sent again": {
        "delivery_sent": lambda self, one, said: self.content.deliveries.pop((one.webhook, one.id))
    },
    "a webhook can be removed once": {"remove_webhook": lambda self, one: Hands.remove_webhook(self, one) or True},
    "its messages must be gone with it": {
        "remove_webhook": lambda self, one: self.content.webhooks.pop(one, None) is not None
    },
    "a store must know how large it is": {"size": lambda self: 0},
    "experiments must be counted by what they do": {"count_by_status": lambda self: {}},
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

    def lock(self, experiment):
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
