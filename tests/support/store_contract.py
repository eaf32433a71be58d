"""The contract that both stores keep."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import TypeVar

import numpy as np

from linkedbandits.errors import StoreUnavailable, UnknownName
from linkedbandits.service.audit import SERVICE, Actor, new_entry
from linkedbandits.service.records import (
    CurvePoint,
    Entry,
    Expenses,
    ExperimentRecord,
    HistoryPoint,
    ListedExperiment,
    Setup,
    Snapshot,
    TokenRecord,
)
from linkedbandits.service.scopes import Scope
from linkedbandits.service.store import Reading, Store
from linkedbandits.service.webhooks import Happening, Webhook

T = TypeVar("T")
OpenStore = Callable[[], Store]

SETUP = Setup(
    arms=("north", 7, 2.5, False, "ü\u0000"),
    policy={"name": "linked-elimination", "parameters": {"delta": 0.05}},
    seed=3,
    max_plays=1000,
    parallel=4,
    lease_seconds=0.125,
)
FIRST = ExperimentRecord("first", "Fünf Arme", SETUP, "running", 1_700_000_000.123456, head=0)
A_LOG = {"attempts": "first", "option": [1, None, "ü"]}
OTHER = ExperimentRecord("other", "", SETUP, "running", 1_700_000_001.0, head=0)
ASK = Entry(1, 1_700_000_002.000001, "ask", {"first": 0, "asked": 2, "runs": [[0, 2]], "key": "k'\"; ü"})
TELL = Entry(2, 1_700_000_003.0, "tell", {"plays": [0, 1], "hits": [4, -1], "receipts": "cs"})
PAUSE = Entry(3, 1_700_000_004.0, "status", {"to": "paused"})


class _OnPurpose(Exception):
    """Raised inside a transaction that has to leave nothing behind."""


def check_store(open_store: OpenStore) -> None:
    """Hold a store to the contract. Every call of ``open_store`` opens the same store, empty at the beginning.

    - What was written is there, exactly, when the store is opened again; the journal in order, the latest snapshot.
    - A transaction that fails leaves nothing behind, and one that has not ended is not seen by others.
    - A reader's view does not change while it is open.
    - A transaction that locks an experiment waits for the one that holds it, and then sees what it wrote.
    - Two transactions that lock in the same order never wait for each other without end.
    - An experiment that was deleted is not there any more, and can be erased piece by piece.
    - Tokens and the audit come back as they were.
    - A message to a webhook is there once, is due at once, and is taken by one of those who want to send it.
    - An unknown experiment and a closed store are said to be what they are.

    Raises AssertionError at the first violation.
    """
    with ExitStack() as opened:

        def open_for_a_check() -> Store:
            store = open_store()
            opened.callback(store.close)  # also after a violation; closing twice does no harm
            return store

        _check_unknown_and_empty(open_for_a_check)
        _check_written_is_kept(open_for_a_check)
        _check_creation_keys(open_for_a_check)
        _check_failed_transactions_leave_nothing(open_for_a_check)
        _check_snapshots_replace(open_for_a_check)
        _check_expenses(open_for_a_check)
        _check_views(open_for_a_check)
        _check_locks(open_for_a_check)
        _check_tokens(open_for_a_check)
        _check_audit(open_for_a_check)
        _check_deletion(open_for_a_check)
        _check_webhooks(open_for_a_check)
        _check_sizes(open_for_a_check)
        _check_closed(open_for_a_check)


def _require(holds: bool, promise: str) -> None:
    assert holds, promise


def _read(open_store: OpenStore, look: Callable[[Reading], T]) -> T:
    """From a store opened anew, so that nothing in memory helps."""
    store = open_store()
    try:
        with store.reading() as reading:
            return look(reading)
    finally:
        store.close()


def _check_unknown_and_empty(open_store: OpenStore) -> None:
    store = open_store()
    try:
        with store.reading() as reading:
            reading.ping()
            _require(reading.records() == [] and reading.tokens() == [], "a new store must be empty")
            _require(_unknown(reading.record), "an unknown experiment must raise UnknownExperiment")
            _require(_unknown(reading.head), "the head of an unknown experiment must raise UnknownExperiment")
        with store.writing() as writing:
            _require(_unknown(writing.lock), "locking an unknown experiment must raise UnknownExperiment")
            _require(
                _unknown(lambda name: writing.try_lock(name, for_a_moment=True)),
                "trying to lock an unknown experiment must raise UnknownExperiment",
            )
        store.probe()
    finally:
        store.close()


def _unknown(find: Callable[[str], object], *names: str) -> bool:
    for name in names or ("nobody", "", "a\0b", "\ud800"):
        try:
            find(name)
        except UnknownName:
            continue
        return False
    return True


def _check_lists(reading: Reading, now: ExperimentRecord) -> None:
    """Of FIRST, as it is now, and OTHER."""
    listed = [
        ListedExperiment("first", FIRST.name, "paused", FIRST.created_at, 3, 2, "confident", ("ü", "a'b")),
        ListedExperiment("other", OTHER.name, "running", OTHER.created_at, 0, 0, "", ()),
    ]
    _require(reading.listed() == listed, "lists must be of the records, with what was noted last")
    among = dict(reading.records_among(["other", "first", "nobody"]))
    _require(among == {"first": now, "other": OTHER}, "records must be found by their identifiers, and no others")
    _require(reading.tags("first") == ("ü", "a'b") and reading.tags("nobody") == (), "tags must come as written")
    _require(reading.first_tags("first") == ("a, b", "ü"), "so must those that an experiment was created with")


def _check_written_is_kept(open_store: OpenStore) -> None:
    tuples = {0: np.arange(5), 1: np.array([3, 1]), 2: np.array([2]), 1000: np.array([0, 700, 100_000])}
    point = HistoryPoint(2, TELL.at, 2)
    curve = [CurvePoint(2, TELL.at, 2, {"arms": [4], "leading": []}), CurvePoint(3, PAUSE.at, 3, {"arms": []})]
    store = open_store()
    with store.writing() as writing:
        _require(writing.create(OTHER, A_LOG), "a new experiment must be created")
        made = writing.create(FIRST, key="k'\"; ü", tags=["a, b", "ü"])
        _require(made, "a new experiment with a new key must be created")
        _require(writing.tags("first") == ("a, b", "ü"), "an experiment must have the tags that it was created with")
        writing.lock("first")
        writing.add_tuples("first", tuples)
        writing.append("first", [ASK, TELL], "running", "0.1.0 5b1c")
        writing.add_history("first", [point])
        writing.add_curve("first", curve)
        writing.note_standing("first", 2, "confident")
        writing.set_tags("first", ["ü", "a'b"])
        _require(writing.record("first").head == 2, "a transaction must see what it wrote")
    with store.writing() as writing:
        writing.lock("first")
        writing.append("first", [PAUSE], "paused", "0.2.0 5b1d")
    store.close()

    def look(reading: Reading) -> None:
        now = replace(FIRST, status="paused", head=3, written_by="0.2.0 5b1d")
        _require(reading.record("first") == now, "a record must come back as written, with what was appended last")
        _require(reading.head("first") == 3, "the head must be that of the last entry")
        _require(reading.records() == [now, OTHER], "records must come oldest first")
        _require(reading.records_and_damaged() == ([now, OTHER], []), "what is whole must not be called damaged")
        logs = [reading.log("other"), reading.log("first")]
        _require(logs == [A_LOG, None], "the log of an experiment must come back as written")
        heads = [("first", 3, "paused"), ("other", 0, "running")]
        _require(reading.heads() == heads, "heads must be those of the records, in the same order")
        _check_lists(reading, now)
        _require(reading.curve("first") == curve and reading.curve("other") == [], "curves must come back in order")
        _require(reading.entries("first", 0) == [ASK, TELL, PAUSE], "the journal must come back in order, exactly")
        _require(reading.entries("first", 1) == [TELL, PAUSE], "the journal must be readable from any entry on")
        _require(reading.entries("first", 0, 2) == [ASK, TELL], "the journal must be readable in parts")
        _require(reading.entries("other", 0) == [], "experiments must have journals of their own")
        key = ASK.body["key"]
        found = reading.keyed("first", [key, "another"])
        _require(found == {key: ASK}, "an entry must be found by its key, and no other")
        _require(reading.keyed("other", [key]) == {}, "keys must belong to an experiment")
        read = reading.tuples("first", [0, 1, 2, 1000, 5])
        _require(read.keys() == tuples.keys(), "tuples must be found by their numbers, and no others")
        same = all(np.array_equal(read[number], arms) for number, arms in tuples.items())
        _require(same, "tuples must come back as written")
        _require(reading.history("first") == [point], "the history must come back as written")
        _require(reading.history("first", after=2) == [], "the history must be readable from any entry on")

    _read(open_store, look)


def _check_creation_keys(open_store: OpenStore) -> None:
    found = _read(open_store, lambda reading: [reading.created_with(key) for key in ("k'\"; ü", "k")])
    _require(found == ["first", None], "an experiment must be found by the key that it was created with")
    store = open_store()
    with store.writing() as writing:
        taken = writing.create(replace(OTHER, id="third"), key="k'\"; ü")
        _require(not taken, "no second experiment must be created with a key")
        _require(len(writing.records()) == 2, "what is not created must not be there")
    store.close()


def _check_failed_transactions_leave_nothing(open_store: OpenStore) -> None:
    store = open_store()
    try:
        with store.writing() as writing:
            writing.lock("first")
            writing.append("first", [Entry(4, 1.0, "status", {"to": "running"})], "running", "x")
            writing.create(replace(OTHER, id="third"))
            raise _OnPurpose
    except _OnPurpose:
        pass
    with store.reading() as reading:
        head = reading.record("first").head
        count = len(reading.records())
        _require((head, count) == (3, 2), "a transaction that failed must leave nothing behind")
    with store.writing() as writing:
        _require(writing.lock("first") == 3, "after a transaction that failed the store must go on")
        _require(writing.try_lock("other", for_a_moment=False) == 0, "what nobody else holds must be locked")
    store.close()


def _check_snapshots_replace(open_store: OpenStore) -> None:
    def save(seq: int, body: dict[str, float], answers: dict[int, bytes]) -> None:
        store = open_store()
        with store.writing() as writing:
            writing.lock("first")
            writing.save_snapshot("first", Snapshot(seq, body), answers)
        store.close()

    _require(_read(open_store, lambda reading: reading.snapshot("first")) is None, "there was no snapshot yet")
    save(2, {"third": 1 / 3}, {0: b"a", 1: b"\x00\xff"})
    save(3, {"third": -1e-300}, {1: b"b", 2: b""})
    latest = _read(open_store, lambda reading: reading.snapshot("first"))
    _require(latest == Snapshot(3, {"third": -1e-300}), "the latest snapshot must come back exactly")
    answers = _read(open_store, lambda reading: reading.answers("first"))
    _require(answers == [b"a", b"b", b""], "segments must stay until they are replaced, and come in order")
    none = _read(open_store, lambda reading: reading.answers("other"))
    _require(none == [], "experiments must have answers of their own")


def _check_expenses(open_store: OpenStore) -> None:
    """What sources tell: the last of each, and of those that were added to others no more than that they were."""
    early, late = Expenses("b", 1.5, 3, {"0": {"tries": 3}}), Expenses("a", 2.5, 10**15, {"1": {"third": 1 / 3}})
    version = _read(open_store, lambda reading: reading.expenses_version("first"))
    _require(_read(open_store, lambda reading: reading.expenses("first")) == [], "there were no expenses yet")
    store = open_store()
    with store.writing() as writing:
        writing.lock("first")
        for expenses in (late, replace(early, at=0.5, tries=1), early):
            writing.save_expenses("first", expenses)
    found = _read(open_store, lambda reading: reading.expenses("first"))
    _require(found == [early, late], "the last expenses of every source must come back, told longest ago first")
    names = _read(open_store, lambda reading: reading.expenses_sources("first"))
    _require(names == ["b", "a"], "sources must come in the same order")
    one = _read(open_store, lambda reading: reading.expenses("first", "a"))
    _require(one == [late], "the expenses of one source must be found by its name")
    _require(
        _read(open_store, lambda reading: reading.expenses("other")) == [], "expenses must belong to an experiment"
    )
    now = _read(open_store, lambda reading: reading.expenses_version("first"))
    _require(now != version, "the version of expenses must change with them")
    gone = [replace(early, source=name, at=at, tries=0, body=None) for name, at in (("b", 1.5), ("c", 3.0))]
    with store.writing() as writing:
        writing.lock("first")
        for expenses in gone:
            writing.save_expenses("first", expenses)
    store.close()
    found = _read(open_store, lambda reading: reading.expenses("first"))
    _require(found == [late], "sources that were added to others must not be counted")
    one = _read(open_store, lambda reading: reading.expenses("first", "b"))
    _require(one == gone[:1], "that a source was added to others must be known")
    store = open_store()
    with store.writing() as writing:
        writing.lock("first")
        writing.forget_expenses("first", 1)
    store.close()
    left = _read(open_store, lambda reading: [reading.expenses("first", name) for name in "abc"])
    _require(left == [[late], [], gone[1:]], "of the sources that were added the last ones must stay")


def _check_views(open_store: OpenStore) -> None:
    one, two = open_store(), open_store()
    with one.reading() as reading:
        before = reading.record("other")
        with two.writing() as writing:
            writing.lock("other")
            writing.append("other", [Entry(1, 5.0, "status", {"to": "paused"})], "paused", "x")
            with one.reading() as another:
                _require(another.record("other") == before, "no one may see a transaction that has not ended")
        _require(reading.record("other") == before, "a reader's view must not change while it is open")
    with one.reading() as reading:
        _require(reading.record("other").head == 1, "a transaction that ended must be seen by everybody")
    one.close()
    two.close()


def _check_locks(open_store: OpenStore) -> None:
    """Two stores, four threads and one experiment: every entry is written behind the one before."""
    rounds, failures = 10, list[BaseException]()
    stores = [open_store(), open_store()]

    def write(store: Store) -> None:
        try:
            for _ in range(rounds):
                with store.writing() as writing:
                    for experiment in ("first", "other"):
                        head = writing.lock(experiment)
                        writing.append(experiment, [Entry(head + 1, 6.0, "status", {"to": "running"})], "running", "x")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(store,), daemon=True) for store in stores * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    _require(not any(thread.is_alive() for thread in threads), "transactions must not wait for each other without end")
    _require(not failures, f"who locks must wait, and see what was written meanwhile; instead: {failures[:1]}")
    for store in stores:
        store.close()
    heads = _read(open_store, lambda reading: [record.head for record in reading.records()])
    _require(heads == [3 + 4 * rounds, 1 + 4 * rounds], "locks must keep two writers apart")


def _check_tokens(open_store: OpenStore) -> None:
    one = TokenRecord("t1", "ü", "admin", "ab" * 32, 2.5)
    two = TokenRecord("t2", "", "viewer", "cd" * 32, 1.5)
    store = open_store()
    _require(not _read(open_store, lambda reading: reading.ever_had_tokens()), "a new store never had a token")
    with store.writing() as writing:
        writing.add_token(one)
        writing.add_token(two)
    _require(_read(open_store, lambda reading: reading.tokens()) == [two, one], "tokens must come back, oldest first")
    with store.writing() as writing:
        _require(writing.remove_token("t1"), "a token that is there can be removed")
        _require(not writing.remove_token("t1"), "a token can be removed once")
    _require(_read(open_store, lambda reading: reading.tokens()) == [two], "a token removed must be gone")
    with store.writing() as writing:
        writing.remove_token("t2")
    _require(_read(open_store, lambda reading: reading.ever_had_tokens()), "that there were tokens is not forgotten")
    limited = TokenRecord("t3", "web", "player", "ef" * 32, 3.5, Scope(frozenset({"first"}), ("ü",)))
    with store.writing() as writing:
        writing.add_token(limited)
    _require(_read(open_store, lambda reading: reading.tokens()) == [limited], "the limits of a token must come back")
    wider = limited.scope.also(frozenset({"other"}))
    with store.writing() as writing:
        _require(writing.lock_limited_tokens() == [limited], "limited tokens can be locked")
        writing.widen_token(limited, wider)
    found = _read(open_store, lambda reading: reading.tokens())
    _require([token.scope for token in found] == [wider], "a limited token can be let see more")
    with store.writing() as writing:
        _require(writing.remove_token("t3"), "a limited token can be removed")
    store.close()


def _check_deletion(open_store: OpenStore) -> None:
    store = open_store()
    with store.writing() as writing:
        head = writing.lock("first")
        steps = [("running", {}), ("archived", {}), ("archived", {"tags": ["late"]})]
        entries = [
            Entry(head + number, 100.0 + number, "status", {"to": to, **more})
            for number, (to, more) in enumerate(steps, start=1)
        ]
        writing.append("first", entries[:1], "running", "1.0.0")
        _require(writing.archived_at("first") is None, "an experiment that runs was archived at no time")
        writing.append("first", entries[1:], "archived", "1.0.0")
    archived_at = _read(open_store, lambda reading: reading.archived_at("first"))
    _require(archived_at == 102.0, "it is known when an experiment was archived, whatever came after")
    with store.writing() as writing:
        writing.lock("first")
        writing.hide("first")
    for find in ("record", "head", "name_and_status", "archived_at"):
        gone = _read(open_store, lambda reading, find=find: _unknown(getattr(reading, find), "first"))  # type: ignore[misc]
        _require(gone, f"{find} of an experiment that was deleted must raise UnknownExperiment")
    left = _read(open_store, lambda reading: [record.id for record in reading.records()])
    heads = _read(open_store, lambda reading: [head.id for head in reading.heads()])
    _require("first" not in left + heads, "an experiment that was deleted must not be listed")
    listed = _read(open_store, lambda reading: [listed.id for listed in reading.listed()])
    among = _read(open_store, lambda reading: [one for one, _ in reading.records_among(["first"])])
    _require("first" not in listed + among, "nor where little of it is read")
    with store.writing() as writing:
        _require(_unknown(writing.lock, "first"), "an experiment that was deleted cannot be locked")
    while True:
        with store.writing() as writing:
            _require(writing.next_hidden(["first"]) is None, "what is not asked for must not be named to be erased")
            hidden = writing.next_hidden()
            if hidden is None:
                break
            rows = writing.erase(hidden, 2)
        _require(rows is not None and rows <= 2, "erase must not remove more than it was told to")
    for part in ("entries", "history"):
        none = _read(open_store, lambda reading, part=part: getattr(reading, part)("first", 0))  # type: ignore[misc]
        _require(none == [], f"{part} of what was erased must be gone")
    _require(_read(open_store, lambda reading: reading.snapshot("first")) is None, "so must its snapshot")
    _require(_read(open_store, lambda reading: reading.answers("first")) == [], "so must its answers")
    _require(_read(open_store, lambda reading: reading.expenses("first")) == [], "so must its expenses")
    _require(_read(open_store, lambda reading: reading.curve("first")) == [], "so must its curves")
    _require(_read(open_store, lambda reading: reading.tags("first")) == (), "so must its tags")
    store.close()


def _check_audit(open_store: OpenStore) -> None:
    one = new_entry("pause", Actor("user", name="ü"), 1_700_000_000.5, "first", why='"; ü')
    two = new_entry("sign-in-refused", SERVICE, 1_700_000_001.0, times=3)
    store = open_store()
    with store.writing() as writing:
        writing.add_audit(one)
        writing.add_audit(two)
    _require(_read(open_store, lambda reading: reading.audit(10)) == [two, one], "the audit comes back, newest first")
    _require(_read(open_store, lambda reading: reading.audit(10, two.id)) == [one], "it can be read on from an entry")
    narrowed = _read(open_store, lambda reading: reading.audit(10, action="pause", subject="first", since=1.0))
    _require(narrowed == [one], "it can be narrowed")
    with store.writing() as writing:
        _require(writing.forget_audit(1_700_000_000.75) == 1, "what is old can be removed from it")
        writing.forget_refusals(0)
    _require(_read(open_store, lambda reading: reading.audit(10)) == [], "and refused sign-ins")
    store.close()


def _check_webhooks(open_store: OpenStore) -> None:
    """Messages are for those who want to hear of it, once each; who takes one has it alone."""
    of_all = Webhook("w1", "https://example.org/a?b=%20", "s1", None, ("verdict", "paused"), 1.5)
    of_one = Webhook("w2", "https://example.org/", "s2", "first", ("alarm",), 2.5)
    told = Happening("first", "Fünf", "verdict", "verdict", 5.0, {"arm": "ü"})
    store = open_store()
    with store.writing() as writing:
        writing.add_webhook(of_one)
        writing.add_webhook(of_all)
    found = _read(open_store, lambda reading: reading.webhooks())
    _require(found == [of_all, of_one], "webhooks must come back as written, oldest first")
    with store.writing() as writing:
        counts = [writing.put_out(one) for one in (told, replace(told, at=9.0), replace(told, kind="archived"))]
        _require(counts == [1, 0, 0], "a message must go to those who want to hear of it, and once")
        writing.put_out(replace(told, kind="alarm", key="alarm", experiment="other"))
    due = _read(open_store, lambda reading: reading.due_deliveries(0.5))
    _require(
        [(hook, sent.id, sent.body) for hook, sent in due] == [(of_all, told.id, told.body())],
        "a new message must be due at once, whatever the clock says",
    )
    waiting = _read(open_store, lambda reading: reading.outbox_counts())
    _require(waiting == (1, 5.0), "what waits must be counted, with the time of the oldest")
    (_, sent) = due[0]
    with store.writing() as writing:
        taken = [writing.claim_delivery(sent, 70.0), writing.claim_delivery(sent, 80.0)]
        _require(taken == [True, False], "a message must be taken by one")
    _require(_read(open_store, lambda reading: reading.due_deliveries(69.0)) == [], "one that is taken is not due")
    again = _read(open_store, lambda reading: reading.due_deliveries(70.0))
    _require([one.attempts for _, one in again] == [1], "one that was taken long ago is due again, with its attempts")
    with store.writing() as writing:
        writing.delivery_postponed(sent, 1e9, "answered 500")
    jumped = _read(open_store, lambda reading: reading.due_deliveries(100.0))
    _require(len(jumped) == 1, "a clock that ran far ahead must not put a message off for as long")
    with store.writing() as writing:
        writing.delivery_sent(sent, "answered 204")
        writing.put_out(replace(told, at=9.0))
    last = _read(open_store, lambda reading: reading.deliveries("w1", 5))
    _require(
        [(one.state, one.said, one.attempts) for one in last] == [("sent", "answered 204", 1)],
        "what came of a message must be known, and it must not be sent again",
    )
    with store.writing() as writing:
        gone = [writing.remove_webhook("w1"), writing.remove_webhook("w1"), writing.remove_webhook("w2")]
        _require(gone == [True, False, True], "a webhook can be removed once")
    store.close()
    _require(_read(open_store, lambda reading: reading.deliveries("w1", 5)) == [], "its messages must be gone with it")


def _check_sizes(open_store: OpenStore) -> None:
    _require(_read(open_store, lambda reading: reading.size()) > 0, "a store must know how large it is")
    counted, there = _read(open_store, lambda reading: (reading.count_by_status(), reading.records()))
    _require(counted == Counter(record.status for record in there), "experiments must be counted by what they do")


def _check_closed(open_store: OpenStore) -> None:
    store = open_store()
    store.close()
    store.close()
    for name, use in (("reading", store.reading), ("writing", store.writing)):
        try:
            with use():
                pass
        except StoreUnavailable:
            continue
        raise AssertionError(f"{name} from a closed store must raise StoreUnavailable")
