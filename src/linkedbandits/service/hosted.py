"""An experiment as the service has it: with leases, and a journal from which it can be rebuilt.

Every command that changes something becomes one journal entry. Replaying the entries gives the same experiment, and
the replay checks that it does: same plays, same receipts. Arms are numbers here and in the journal; labels come in with
an answer, and go out with a play.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import takewhile
from math import inf
from typing import Any, NoReturn

import numpy as np

from linkedbandits.checks import check_whole
from linkedbandits.errors import (
    ConflictingTell,
    ExperimentFinished,
    InvalidParameter,
    LinkedBanditError,
    StoreUnavailable,
    TooManyInFlight,
    UnknownName,
    WrongState,
)
from linkedbandits.live import HANDS_OUT_BY, AnswerLog, Experiment, Receipt, Upgrade, WarmStart
from linkedbandits.live.answers import NO_HIT
from linkedbandits.model import IntArray, Label
from linkedbandits.service.clocks import CLOCKS, Clocks
from linkedbandits.service.curves import curve_point
from linkedbandits.service.journal_tail import JournalTail
from linkedbandits.service.records import Entry, ExperimentRecord, HistoryPoint, RunStatus, Snapshot, Writer, check_text
from linkedbandits.service.replies import AskReply, Refused, TellReply
from linkedbandits.service.reply_size import ReplyLimit, ReplySize, ReplySizes
from linkedbandits.service.store import Reading, Writing
from linkedbandits.service.store_errors import DamagedRecord, JournalMismatch
from linkedbandits.service.tuple_numbers import TupleNumbers
from linkedbandits.service.webhooks import EventKind, Happening, verdict_data
from linkedbandits.version import __version__

PAGE = 1_000
"""Entries read at a time where a whole journal is; to replay so many takes hundredths of a second."""
FEW = 100
"""Entries that are replayed soon."""
MOST_IN_FLIGHT = 50_000
"""Plays of one experiment that may be out: every snapshot has all of them;"""
MOST_ARMS_IN_FLIGHT = 2_000_000
"""and fewer where there are many arms: plays times arms, since to look through them takes time."""
MOST_ARMS_ASKED = 100_000
"""Likewise of one answer that has a limit: an ask is one step of the desk, and others wait for it."""

_logger = logging.getLogger("linkedbandits.service")

RECEIPT_OF_LETTER: dict[str, Receipt] = {"c": "counted", "s": "spare", "l": "late"}


class HostedExperiment:
    """One experiment, brought up to date from the store and changed by commands.

    ``leases`` has the plays that are out, with the time on the steady clock until which each is waited for, earliest
    first. ``abandoned`` counts the plays that were given up. What commands did waits in memory until :meth:`write`, and
    ``news``, which webhooks hear of, until it is taken after that. ``replayed`` counts the journal entries that were
    replayed to bring it up to date.

    **Leases, and clocks that jump.** On record are times of the wall clock, which somebody may set. A lease of L
    seconds ends by the steady clock, which nobody can. It ends at s + L where the play is handed out here, at s. Where
    the play was read from the store, at s, what is on record says when it ends, but not later than s + L. So that the
    earliest stay first, it ends no earlier than those before it, all of which were set at some s' <= s, to
    s' + L <= s + L at most. Hence every play ends within L seconds from when this process handed it out or read it:

    - While the process runs that handed a play out, no jump of the wall clock makes its lease longer or shorter.
    - If another process, or the same one after a restart, takes the experiment over, jumps make the lease at most L
      seconds longer than it would have been, counted from then; each time that happens. One that is ahead by then may
      make it shorter.
    """

    def __init__(self, record: ExperimentRecord, warm: WarmStart | None = None, clocks: Clocks = CLOCKS) -> None:
        """As it was created, with its log if there is one; :meth:`open` brings it up to date."""
        self.record = record
        self._clocks = clocks
        self._last_end = -inf  # no lease ends later
        self.experiment: Experiment = record.setup.begin(warm)
        self.experiment.answers.forget_tuples()  # the journal has them
        self.status: RunStatus = "running"
        self.leases: dict[int, float] = {}
        self.abandoned = 0
        self.successor: str | None = None
        self.news: list[Happening] = []
        self.tags: tuple[str, ...] = ()
        self._upgrade_to_note: Upgrade | None = None
        self._snapshot_due = False
        self._none_due_before = -inf
        self.replayed = 0
        self._numbers = TupleNumbers()
        self._sizes: ReplySizes | None = None
        self._tail = JournalTail(record.created_at)

    @classmethod
    def open(cls, store: Reading, record: ExperimentRecord, clocks: Clocks = CLOCKS) -> HostedExperiment:
        """From the latest snapshot and the journal behind it.

        A snapshot of another version is believed only where it has a verdict, which stands. Without a snapshot to
        believe the whole journal is replayed: the result is this version's own. Where the policy is known to ask
        otherwise by now, or the journal does not fit, the policy begins anew with the evidence that there was. A
        journal that this very version wrote has to fit, or it is damaged.
        """
        with store.at_length():
            hosted = cls._from_snapshot(store, record, clocks) or cls._from_journal(store, record, clocks)
        hosted.tags = store.tags(record.id)
        return hosted

    @classmethod
    def _from_snapshot(cls, store: Reading, record: ExperimentRecord, clocks: Clocks) -> HostedExperiment | None:
        """None where there is no snapshot, or none that can be used: the journal has all that is in one."""
        hosted = cls(record, clocks=clocks)
        snapshot = _readable_snapshot(store, record.id)
        if snapshot is None:
            return None
        if snapshot.seq > record.head:  # to go on without these entries would forget acknowledged answers
            raise JournalMismatch(
                f"the journal of experiment {record.id!r} ends with entry {record.head}, and its snapshot with entry "
                f"{snapshot.seq}; is the end of the journal lost?"
            )
        if not hosted._believes(snapshot):
            return None
        try:
            hosted._fill(store, snapshot)
            hosted._follow(store)
        except (DamagedRecord, MemoryError, StoreUnavailable):
            raise
        except Exception as error:  # a damaged snapshot may fail in any way
            if getattr(error, "reason", None) == "newer_save":
                raise
            _logger.warning("snapshot-damaged", extra={"fields": {"experiment": record.id}}, exc_info=True)
            return None
        return hosted

    @classmethod
    def _from_journal(cls, store: Reading, record: ExperimentRecord, clocks: Clocks) -> HostedExperiment:
        hosted = cls(record, clocks=clocks)
        written_by = Writer.read(record.written_by)
        try:
            if written_by.asks not in (None, hosted.writer.asks):
                raise JournalMismatch(f"experiment {record.id!r} is of a policy that asked otherwise")
            warm = _log_of(store, record)
            upgrades = [entry for entry in hosted._pages(store) if entry.kind == "upgrade"]
            if warm is not None:
                hosted.experiment.start_from(warm, read=not upgrades)
            if upgrades:
                hosted._begin_anew(store, upgrades[-1])
            hosted._follow(store)
        except StoreUnavailable:
            raise
        except Exception:  # plays of another version may fail to fit in any way
            if written_by == hosted.writer:
                raise
            hosted = cls._go_on(store, record, clocks)
        return hosted

    def _follow(self, store: Reading) -> None:
        """Replay the rest of the journal, which has to reach the head."""
        for entry in self._pages(store):
            self._replay(store, entry)
        self._check_reached(self.record.head)
        self.record = self._present_record()

    def _believes(self, snapshot: Snapshot) -> bool:
        """True of a verdict, and of what this version wrote, if none that asks otherwise has written since."""
        if _has_verdict(snapshot):
            return True
        asked = Writer.read(self.record.written_by).asks
        return snapshot.body.get("written_by") == str(self.writer) and asked == self.writer.asks

    @classmethod
    def _go_on(cls, store: Reading, record: ExperimentRecord, clocks: Clocks) -> HostedExperiment:
        """Begun anew, with the evidence of the last snapshot, and all that is in the journal in the estimates."""
        hosted = cls(record, clocks=clocks)
        warm = _log_of(store, record)
        if warm is not None:
            hosted.experiment.start_from(warm, read=False)
        hosted._begin_anew(store)
        hosted._upgrade_to_note = hosted.experiment.upgrade
        return hosted

    def _begin_anew(self, store: Reading, noted: Entry | None = None) -> None:
        """Follow the journal without a policy, up to where an upgrade was noted if one is given, and begin anew there.

        What the policy had as evidence by then is in that note, or else in the last snapshot: plays behind that count
        in the estimates alone.
        """
        if noted is None:
            snapshot = _readable_snapshot(store, self.record.id)
            evidence = None if snapshot is None else snapshot.body["experiment"].get("evidence")
        else:
            evidence = noted.body["evidence"]
        self._follow_without_policy(store, None if noted is None else noted.seq)
        out = self.experiment.plays_out()
        self.experiment.begin_anew(Writer.read(self.record.written_by).version, evidence)
        for play in out:
            self.leases.pop(play, None)  # given up: which are still out may depend on how they go
        if noted is not None:
            self.experiment.upgrade = Upgrade.from_json(noted.body)

    def _follow_without_policy(self, store: Reading, end: int | None) -> None:
        """Bring what was played into the estimates, by the journal up to entry ``end``."""
        for entry in self._pages(store):
            self._follow_unread(store, entry)
            if entry.seq == end:
                break
            if entry.kind == "upgrade":  # an earlier one, whose spending counts on
                self.experiment.upgrade = Upgrade.from_json(entry.body)
        self._check_reached(self.record.head if end is None else end)

    def _pages(self, store: Reading) -> Iterator[Entry]:
        """The journal behind what is in memory, read a part at a time."""
        at = self.head
        while entries := store.entries(self.record.id, at, PAGE):
            yield from entries
            at = entries[-1].seq
            self._numbers.written()

    @property
    def writer(self) -> Writer:
        """This version of the library, with the experiment's policy as it asks now."""
        return Writer(__version__, self.experiment.asks(), HANDS_OUT_BY)

    @property
    def head(self) -> int:
        """The number of the last journal entry."""
        return self._tail.head

    def catch_up(self, store: Reading, head: int, most: float = PAGE) -> bool:
        """Replay what others have written since, up to ``head``. False if that cannot be done: open it anew then.

        More than ``most`` entries are not replayed here: a snapshot may be nearer.
        """
        if head < self.head or head - self.head > most:  # the store is an earlier one, or far ahead
            return False
        if head > self.head:
            entries = store.entries(self.record.id, self.head)
            if self._upgrade_to_note is not None or any(entry.kind == "upgrade" for entry in entries):
                return False
            with store.at_length() if len(entries) > FEW else nullcontext():
                for entry in entries:
                    self._replay(store, entry)
            self._check_reached(head)
            self.record = self._present_record()
        return True

    def note_upgrade(self, now: float) -> None:
        """Write into the journal that the policy has begun anew, if that is so and not written yet."""
        if self._upgrade_to_note is not None:
            self._tail.add("upgrade", self._upgrade_to_note._asdict(), now)
            self._upgrade_to_note = None
            self._snapshot_due = True
            if self.experiment.done:
                self._decided(now)

    def ask(self, store: Reading, count: int, key: str | None, now: float, limit: ReplyLimit | None = None) -> AskReply:
        """Hand out up to ``count`` plays, as many as fit into the limit but at least one.

        Those of the same key again, if it was used before: these have to fit, or InvalidParameter.
        """
        check_whole("count", count)
        if key is not None:
            check_text("key", key)
            before = self._tail.keys.get(key) or store.keyed(self.record.id, [key]).get(key)
            if before is not None:
                return self._ask_again(store, before, count, limit, now)
        self.check_not_archived()
        if self.status == "paused":
            raise WrongState(
                f"experiment {self.record.id!r} is paused; resume it to ask for plays", reason="experiment_paused"
            )
        self.expire(now)
        few = count if limit is None else max(1, MOST_ARMS_ASKED // len(self.record.setup.arms))
        first, tuples = self._hand_out(min(count, few, self._room()), self._size(count, limit))
        body: dict[str, Any] = {"first": first, "asked": count, "runs": self._numbers.runs(tuples)}
        if key is not None:
            body["key"] = key
        entry = self._tail.add("ask", body, now)
        self._lease(entry, len(tuples), self._clocks.steady() + self.record.setup.lease_seconds)
        return self._asked(entry, tuples, now, repeated=False)

    def tell(self, answers: Sequence[tuple[int, Label | None]], now: float) -> TellReply:
        """Take in answers, each for itself: one that is refused does not spoil the others.

        One that comes after its lease is late, whether or not the leases were checked meanwhile. An archived
        experiment still knows what it was told before.
        """
        self.expire(now)
        archived, decided = self.status == "archived", self.experiment.done
        tell, number_of, leases = self.experiment.bring, self.experiment.number_of, self.leases
        outcomes: list[Receipt | Refused] = []
        plays: list[int] = []
        hits: list[int] = []
        letters: list[str] = []
        for play, hit in answers:
            try:
                if archived and not self._was_told(play):
                    self.check_not_archived()
                arm = number_of(play, hit)
                receipt = tell(play, arm)
            except (UnknownName, InvalidParameter, ConflictingTell, WrongState) as error:
                outcomes.append(Refused(error))
                continue
            outcomes.append(receipt)
            if receipt != "repeated":
                leases.pop(play, None)
                plays.append(int(play))
                hits.append(arm)
                letters.append(receipt[0])
        if plays:
            entry = self._tail.add("tell", {"plays": plays, "hits": hits, "receipts": "".join(letters)}, now)
            point = self._told(entry)
            if self.experiment.done and not decided:
                self._decided(now)
            self._keep(point)
        return TellReply(tuple(outcomes), self.experiment.done)

    def abandon(self, plays: Iterable[int], now: float, unused: bool = False) -> int:
        """Give plays up; how many of them were out? Those told or given up before do not matter.

        They count as lost, unless they were ``unused``.
        """
        self.check_not_archived()
        known = len(self.experiment.answers)
        asked = list(dict.fromkeys(plays))
        for play in asked:
            if not isinstance(play, int) or not 0 <= play < known:
                raise UnknownName(
                    f"no play {play!r} was asked; {known} were so far, with ids from 0", reason="unknown_play"
                )
        return self._give_up(sorted(play for play in asked if play in self.leases), now, unused)

    def due(self) -> bool:
        """Has a lease run out that matters? In an archived experiment none does."""
        now = self._clocks.steady()
        if now < self._none_due_before or not self.leases or self.status == "archived":
            return False
        # To find the first of a dict from which many were taken is slow: remember it as long as that is of use.
        self._none_due_before = next(iter(self.leases.values()))
        return self._none_due_before <= now

    def expire(self, now: float) -> int:
        """Give up the plays whose lease has run out; ``now`` is the time to put on record. How many?"""
        if not self.due():
            return 0
        end = self._clocks.steady()
        return self._give_up([play for play, _ in takewhile(lambda lease: lease[1] <= end, self.leases.items())], now)

    def set_status(self, status: RunStatus, now: float) -> ExperimentRecord:
        """Pause, resume or archive; archived is for good."""
        if self.status != status:
            self.check_not_archived()
            self.status = status
            entry = self._tail.add("status", {"to": status}, now)
            self._happened("resumed" if status == "running" else status, f"status {entry.seq}", now, {})
        return self._present_record()

    def set_tags(self, store: Writing, tags: Sequence[str], now: float) -> ExperimentRecord:
        """Replace the tags, also of an archived experiment. They are in the journal, so that others notice."""
        if self.tags != tuple(tags):
            self.tags = tuple(tags)
            self._tail.add("status", {"to": self.status, "tags": list(tags)}, now)
            store.set_tags(self.record.id, tags)
        return self._present_record()

    def give_way(self, successor: str, why: str, now: float) -> str:
        """Pause, for another experiment goes on from this one; answers are still taken. Its first successor stays."""
        if self.successor is None:
            self.check_not_archived()
            self.status, self.successor = "paused", successor
            told = {"successor": successor, "why": why}
            entry = self._tail.add("status", {"to": "paused", **told}, now)
            self._happened("paused", f"status {entry.seq}", now, told)
        return self.successor

    def write(self, store: Writing, snapshot_every: int) -> None:
        """Write down what was done since the last time, with a snapshot after every ``snapshot_every`` plays."""
        tail, experiment = self._tail, self.record.id
        if not tail.entries:
            return
        store.add_tuples(experiment, self._numbers.new)
        writer = str(self.writer)
        store.append(experiment, tail.entries, self.status, writer)
        store.add_history(experiment, tail.points)
        store.add_curve(experiment, tail.curve)
        if tail.points or self._snapshot_due:  # it may have a verdict without another point
            self.note_standing(store)
        for happening in self.news:
            store.put_out(happening)
        if self._snapshot_due or tail.plays_since_snapshot >= snapshot_every:
            self.save_snapshot(store)
        self.record = self._present_record(writer)
        self._numbers.written()
        tail.written()

    def note_standing(self, store: Writing) -> None:
        """Write down what lists sort and filter by."""
        verdict = self.experiment.recommend().status if self.experiment.done else ""
        store.note_standing(self.record.id, self.experiment.plays, verdict)

    def begin_news(self, now: float) -> list[Happening]:
        """What is to be told of an experiment as it begins: a verdict, if a log gave one at once."""
        if self.experiment.done:
            self._decided(now)
        return self.take_news()

    def take_news(self) -> list[Happening]:
        """What has happened, once it is in the store."""
        taken, self.news = self.news, []
        return taken

    def _decided(self, now: float) -> None:
        self._snapshot_due = True  # no later version may find another verdict
        self._happened("verdict", "verdict", now, verdict_data(self.experiment.recommend()))

    def _happened(self, kind: EventKind, key: str, now: float, data: dict[str, Any]) -> None:
        self.news.append(Happening(self.record.id, self.record.name, kind, key, now, data))

    @property
    def has_news(self) -> bool:
        """Is there something to put into a snapshot? An upgrade that is not in the journal yet may not be in one."""
        return self._tail.plays_since_snapshot > 0 and self._upgrade_to_note is None

    def save_snapshot(self, store: Writing) -> None:
        """Write a snapshot. Everything before it has to be written."""
        segments = {number: self.experiment.answers.segment(number) for number in sorted(self._tail.segments)}
        store.save_snapshot(self.record.id, self._snapshot(), segments)
        self._tail.snapshot_saved()
        self._snapshot_due = False

    def _room(self) -> int:
        """How many more plays may be out, or TooManyInFlight."""
        out, most = len(self.leases), min(MOST_IN_FLIGHT, MOST_ARMS_IN_FLIGHT // len(self.record.setup.arms))
        if out >= most and not self.experiment.done:
            raise TooManyInFlight(
                f"{out} plays are out, and more than {most} may not be; tell or abandon some, or wait until their "
                "leases run out"
            )
        return max(1, most - out)

    def _was_told(self, play: int) -> bool:
        answers = self.experiment.answers
        return isinstance(play, int) and 0 <= play < len(answers) and answers[play] >= NO_HIT

    def _size(self, count: int, limit: ReplyLimit | None) -> ReplySize | None:
        """What to measure an answer with so many plays by; None where it fits in any case."""
        if limit is None or count == 1:
            return None
        if self._sizes is None:
            self._sizes = ReplySizes(self.record.setup.arms)
        return ReplySize(self._sizes, limit) if count * self._sizes.widest > limit.most else None

    def _hand_out(self, count: int, size: ReplySize | None = None) -> tuple[int, list[IntArray]]:
        """The number of the first of up to ``count`` plays, and the arms of each; fewer, if more may not fit."""
        ask = self.experiment.hand_out
        first, arms = ask()
        tuples = [arms]
        try:
            for _ in range(count - 1):
                if size is not None:
                    size.add(tuples[-1])
                    if size.full:
                        break
                tuples.append(ask()[1])
        except (TooManyInFlight, ExperimentFinished):
            pass
        return first, tuples

    def _asked(self, entry: Entry, tuples: Sequence[IntArray], now: float, repeated: bool) -> AskReply:
        labelled = self.experiment.labelled
        plays = tuple(labelled(play, arms) for play, arms in enumerate(tuples, start=entry.body["first"]))
        # A journal whose clock has jumped may be ahead of the time that the caller has.
        expiry = min(entry.at, now) + self.record.setup.lease_seconds
        return AskReply(plays, expiry, repeated, entry.body["runs"])

    def _lease(self, entry: Entry, count: int, end: float) -> None:
        """These plays are waited for until ``end``, by the steady clock, or as long as those before them."""
        self._last_end = max(end, self._last_end)
        plays = range(entry.body["first"], entry.body["first"] + count)
        self.leases.update(dict.fromkeys(plays, self._last_end))
        self._tail.touch(plays)

    def _lease_again(self, entry: Entry, count: int) -> None:
        """As it is on record."""
        self._lease(entry, count, self._end_of(entry.at + self.record.setup.lease_seconds))

    def _end_of(self, expiry: float) -> float:
        """When a lease ends, by the steady clock, that ends at ``expiry`` by what is on record."""
        left = expiry - self._clocks.wall()
        return self._clocks.steady() + min(left, self.record.setup.lease_seconds)

    def _told(self, entry: Entry) -> HistoryPoint | None:
        self._tail.touch(entry.body["plays"])
        return self._tail.history_point(entry, self.experiment.plays, self.experiment.done)

    def _give_up(self, plays: list[int], now: float, unused: bool = False) -> int:
        """Of several, the last handed out first: else each would be replaced by the next, which is given up as well."""
        plays.reverse()
        if plays:
            decided = self.experiment.done
            self._abandon_all(plays)
            entry = self._tail.add("abandon", {"plays": plays, **({"unused": True} if unused else {})}, now)
            if self.experiment.done and not decided:  # what others brought is enough, now that these are out of the way
                self._decided(now)
                self._keep(self._tail.history_point(entry, self.experiment.plays, done=True))
        return len(plays)

    def _keep(self, point: HistoryPoint | None) -> None:
        """Keep a point of the history, with what is known of the arms where that is due."""
        if point is not None:
            self._tail.points.append(point)
            if self._tail.curve_due:
                self._tail.curve.append(curve_point(self.experiment, point))

    def _abandon_all(self, plays: Sequence[int]) -> None:
        for play in plays:
            self.experiment.give_up(play)
            del self.leases[play]
        self.abandoned += len(plays)
        self._tail.touch(plays)

    def _ask_again(self, store: Reading, entry: Entry, count: int, limit: ReplyLimit | None, now: float) -> AskReply:
        body = entry.body
        if body["asked"] != count:
            raise InvalidParameter(
                f"key {body['key']!r} came with count={body['asked']} before and now count={count}; "
                "use a new key for a new question",
                reason="key_reused",
            )
        tuples = self._numbers.spelled_out(store, self.record.id, body["runs"])
        size = self._size(len(tuples), limit)
        if limit is not None and size is not None and len(tuples) > 1 and size.add_all(tuples) > limit.most:
            raise InvalidParameter(
                f"the {len(tuples)} plays of key {body['key']!r} take {size.total} bytes, and an answer may have "
                f"{limit.most}; ask with tuples=true, which sends the arms of equal plays once, or with a new key for "
                "fewer plays",
                reason="request_too_large",
            )
        return self._asked(entry, tuples, now, repeated=True)

    def _replay(self, store: Reading, entry: Entry) -> None:
        self._check_next(entry)
        try:
            if entry.kind == "ask":
                self._replay_ask(store, entry)
            elif entry.kind == "tell":
                self._replay_tell(entry)
            elif entry.kind == "abandon":
                decided = self.experiment.done
                self._abandon_all(entry.body["plays"])
                if self.experiment.done and not decided:
                    self._tail.history_point(entry, self.experiment.plays, done=True)
            elif entry.kind == "status":
                self._follow_status(entry)
            else:
                self._does_not_fit(entry, "another version goes on with a log from there")
        except JournalMismatch:
            raise
        except (LinkedBanditError, KeyError, IndexError) as error:
            self._does_not_fit(entry, f"it cannot be replayed ({error!r})", error)
        self._tail.follow(entry)
        self.replayed += 1

    def _follow_status(self, entry: Entry) -> None:
        self.status = entry.body["to"]
        self.successor = entry.body.get("successor", self.successor)
        self.tags = tuple(entry.body.get("tags", self.tags))

    def _replay_ask(self, store: Reading, entry: Entry) -> None:
        recorded = self._numbers.spelled_out(store, self.record.id, entry.body["runs"])
        first, tuples = self._hand_out(len(recorded))
        if first != entry.body["first"] or not _same_tuples(tuples, recorded):
            self._does_not_fit(entry, f"it hands out {len(recorded)} plays, and the replay other ones")
        self._lease_again(entry, len(tuples))

    def _replay_tell(self, entry: Entry) -> None:
        tell, body = self.experiment.bring, entry.body
        for play, hit, letter in zip(body["plays"], body["hits"], body["receipts"], strict=True):
            receipt = tell(play, hit)
            if receipt[0] != letter:
                self._does_not_fit(entry, f"play {play} is {RECEIPT_OF_LETTER[letter]!r} in it, and {receipt!r} now")
            self.leases.pop(play, None)
        self._told(entry)

    def _follow_unread(self, store: Reading, entry: Entry) -> None:
        """Follow an entry without a policy."""
        self._check_next(entry)
        body, exp = entry.body, self.experiment
        try:
            if entry.kind == "ask":
                tuples = self._numbers.spelled_out(store, self.record.id, body["runs"])
                if body["first"] != len(exp.answers):
                    self._does_not_fit(entry, f"its first play is {body['first']}, and {len(exp.answers)} is due")
                for arms in tuples:
                    exp.follow(arms)
                self._lease_again(entry, len(tuples))
            elif entry.kind == "tell":
                for play, hit, letter in zip(body["plays"], body["hits"], body["receipts"], strict=True):
                    exp.bring(play, hit, late=letter == "l")
                    self.leases.pop(play, None)
                self._tail.touch(body["plays"])
                self._tail.history_point(entry, exp.plays, done=False)
            elif entry.kind == "abandon":
                for play in body["plays"]:
                    exp.give_up(play)
                    del self.leases[play]
                self.abandoned += len(body["plays"])
                self._tail.touch(body["plays"])
            elif entry.kind == "status":
                self._follow_status(entry)
        except (KeyError, IndexError, ValueError) as error:
            self._does_not_fit(entry, f"it cannot be read ({error!r})", error)
        self._tail.follow(entry)
        self.replayed += 1

    def _check_next(self, entry: Entry) -> None:
        """What was acknowledged may be lost where an entry is."""
        if entry.seq != self.head + 1:
            self._does_not_fit(entry, f"the one before it is {self.head}, and those between are lost")

    def _check_reached(self, head: int) -> None:
        """The journal has to have all entries that the record of the experiment counts, and no more."""
        if self.head != head:
            raise JournalMismatch(
                f"the journal of experiment {self.record.id!r} ends with entry {self.head}, and {head} were written; "
                "is its end lost?"
            )

    def _does_not_fit(self, entry: Entry, what: str, cause: Exception | None = None) -> NoReturn:
        raise JournalMismatch(
            f"entry {entry.seq} of experiment {self.record.id!r} does not fit: {what}; was it written by another "
            "version of linkedbandits, or damaged?"
        ) from cause

    def _present_record(self, written_by: str | None = None) -> ExperimentRecord:
        record = self.record  # written out: this is done with every play, and dataclasses.replace takes its time
        return ExperimentRecord(
            record.id,
            record.name,
            record.setup,
            self.status,
            record.created_at,
            self._tail.head,
            written_by or record.written_by,
        )

    def check_not_archived(self) -> None:
        """WrongState if it is."""
        if self.status == "archived":
            raise WrongState(
                f"experiment {self.record.id!r} is archived; create a new one to go on", reason="experiment_archived"
            )

    def _snapshot(self) -> Snapshot:
        leases: dict[float, list[int]] = {}
        ahead = self._clocks.wall() - self._clocks.steady()
        for play, end in self.leases.items():
            leases.setdefault(end + ahead, []).append(play)
        body = {
            "written_by": str(self.writer),
            "experiment": self.experiment.snapshot(),
            "asked": len(self.experiment.answers),
            "status": self.status,
            "leases": list(leases.items()),
            "abandoned": self.abandoned,
            "successor": self.successor,
            "next_tuple": self._numbers.next_number,
            "tail": self._tail.to_json(),
        }
        return Snapshot(self.head, body)

    def _fill(self, store: Reading, snapshot: Snapshot) -> None:
        body, answers = snapshot.body, AnswerLog.from_segments(store.answers(self.record.id))
        content = body["experiment"]
        self.experiment = Experiment.restore(content, answers)
        noted = None if content["upgrade"] is None else Upgrade.from_json(content["upgrade"])
        # A restored run that begins anew notes an upgrade of its own: with this version's snapshots that cannot be.
        if len(answers) != body["asked"] or self.experiment.upgrade != noted:
            raise JournalMismatch(
                f"the snapshot of experiment {self.record.id!r} does not fit its answers or its policy"
            )
        self.status = body["status"]
        for expiry, plays in body["leases"]:
            self._last_end = max(self._end_of(expiry), self._last_end)
            self.leases.update(dict.fromkeys(plays, self._last_end))
        self.abandoned = body["abandoned"]
        self.successor = body["successor"]
        self._numbers = TupleNumbers(body["next_tuple"])
        self._tail.fill(snapshot.seq, body["tail"])


def _log_of(store: Reading, record: ExperimentRecord) -> WarmStart | None:
    """The log that an experiment began with."""
    log = None if record.setup.log is None else store.log(record.id)
    return None if log is None else WarmStart.from_json(log)


def _readable_snapshot(store: Reading, experiment: str) -> Snapshot | None:
    """The last snapshot; None if there is none, or a damaged one, which is logged."""
    try:
        return store.snapshot(experiment)
    except (KeyError, TypeError, ValueError, zlib.error):
        _logger.warning("snapshot-damaged", extra={"fields": {"experiment": experiment}}, exc_info=True)
        return None


def _has_verdict(snapshot: Snapshot) -> bool:
    return snapshot.body["experiment"]["verdict"] is not None


def _same_tuples(tuples: Sequence[IntArray], recorded: Sequence[IntArray]) -> bool:
    if len(tuples) != len(recorded):
        return False
    compared: tuple[IntArray, IntArray] | None = None
    for arms, others in zip(tuples, recorded, strict=True):
        if compared is None or arms is not compared[0] or others is not compared[1]:  # mostly the same two again
            if not np.array_equal(arms, others):
                return False
            compared = (arms, others)
    return True
