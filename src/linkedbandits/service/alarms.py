"""Alarms of experiments that are being watched: what was played is looked at now and then, apart from all else.

What was played is read from the journal, each part once, by a thread of its own. So asks and tells wait for none of it.
A look takes time that grows with what is on record; there is another one when a twentieth more has been played, and
looks never take more than a small share of the time.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic, sleep

import numpy as np

from linkedbandits.attempts.alarms import Alarm, level_of, watch
from linkedbandits.attempts.log import AttemptLog, joined, log_of_answers
from linkedbandits.attempts.losses import loss_alarms
from linkedbandits.attempts.pictures import alarm_picture
from linkedbandits.attempts.svg import Markup
from linkedbandits.live import WarmStart
from linkedbandits.live.answers import GIVEN_UP, NO_HIT, WAITING
from linkedbandits.live.chain_record import order_of
from linkedbandits.model import IntArray, Label
from linkedbandits.service.records import Entry
from linkedbandits.service.store import Reading, Store
from linkedbandits.service.store_errors import UnknownExperiment

ALPHA = 0.01
"""How likely any alarm is with nothing to alarm about, however often one looks: in an experiment and in all that go on
from it together. Half of it is for plays that are lost."""
GROWTH = 0.05
"""There is another look when so much more has been told, as a share;"""
LEAST_SECONDS_BETWEEN = 3.0
"""and not sooner, for one experiment."""
SHARE_OF_TIME = 0.05
"""How much of the time looks at one experiment may take; all together they take half of it at most."""
PAGE = 200
"""Entries of a journal that are read at a time, with a short pause behind each."""
MOST_REMEMBERED = 50
"""Experiments of which what was played is remembered: eight bytes a play."""
MOST_PICTURES = 12
"""Of alarms; they are sent with every view."""


UNUSED = GIVEN_UP - 1
"""A play that was given back before anything of it was tried."""
TOLD_TOO_LATE = GIVEN_UP - 2
"""A play that was told after the verdict."""


@dataclass(frozen=True, slots=True)
class Found:
    """The alarms of an experiment of which so many plays had been told; None before the first look.

    ``pictures`` are of the first of them, as SVG.
    """

    alarms: tuple[Alarm, ...] = ()
    plays: int | None = None
    pictures: tuple[Markup, ...] = ()


NOT_LOOKED_YET = Found()


class Record:
    """What was played in an experiment, as far as its journal has been read."""

    def __init__(self) -> None:
        self.head = 0
        self._hits = array("i")
        self._numbers = array("i")
        self._tuples: list[IntArray] = []
        self._places: dict[int, int] = {}  # in the list, by the number in the journal

    def read(self, store: Store, experiment: str) -> None:
        """Follow the journal to its end."""
        while True:
            with store.reading() as reading:
                entries = reading.entries(experiment, self.head, PAGE)
                self._read_tuples(reading, experiment, entries)
            for entry in entries:
                self._follow(entry)
            if len(entries) < PAGE:
                return
            sleep(0.001)  # others are at work in this process

    def attempts(self, labels: Sequence[Label], end: int | None = None) -> AttemptLog:
        """As :meth:`linkedbandits.Experiment.attempts` has them."""
        hits = np.array(self._hits[:end])[: self.first_out]
        told = hits >= NO_HIT
        numbers = np.array(self._numbers[: hits.size])[told]
        return log_of_answers(labels, [order_of(arms) for arms in self._tuples], numbers, hits[told])

    @property
    def first_out(self) -> int | None:
        """The first play that is neither told nor given up; None if there is none."""
        return next(iter(np.flatnonzero(np.array(self._hits) == WAITING).tolist()), None)

    def is_out(self, play: int) -> bool:
        """Is it neither told nor given up?"""
        return self._hits[play] == WAITING

    def losses(self, labels: Sequence[Label]) -> tuple[dict[Label, int], dict[Label, int]]:
        """Plays by the arm that they begin with, up to the first that is out, and those of them that were lost."""
        hits = np.array(self._hits[: self.first_out])
        begins_with = np.array([order_of(arms)[0] for arms in self._tuples], dtype=np.int64)
        first = begins_with[np.array(self._numbers[: hits.size], dtype=np.int64)]
        lost = np.bincount(first[hits == GIVEN_UP], minlength=len(labels))
        plays = np.bincount(first[hits != UNUSED], minlength=len(labels))
        return dict(zip(labels, plays.tolist(), strict=True)), dict(zip(labels, lost.tolist(), strict=True))

    def _read_tuples(self, reading: Reading, experiment: str, entries: Sequence[Entry]) -> None:
        asked = {number for entry in entries if entry.kind == "ask" for number, _ in entry.body["runs"]}
        missing = asked - self._places.keys()
        if missing:
            for number, arms in reading.tuples(experiment, missing).items():
                self._places[number] = len(self._tuples)
                self._tuples.append(arms)

    def _follow(self, entry: Entry) -> None:
        body = entry.body
        if entry.kind == "ask":
            for number, times in body["runs"]:
                self._numbers.extend([self._places[number]] * times)
                self._hits.extend([WAITING] * times)
        elif entry.kind == "tell":
            for play, hit, letter in zip(body["plays"], body["hits"], body["receipts"], strict=True):
                if letter != "l":
                    self._hits[play] = hit
                elif self._hits[play] == WAITING:
                    self._hits[play] = TOLD_TOO_LATE
        elif entry.kind == "abandon":
            self._give_up(body["plays"], body.get("unused", False))
        elif entry.kind == "upgrade":  # the policy begins anew, and what was out is given up
            for play in np.flatnonzero(np.array(self._hits) == WAITING).tolist():
                self._hits[play] = UNUSED
        self.head = entry.seq

    def _give_up(self, plays: Sequence[int], unused: bool) -> None:
        """Plays are lost, unless they are unused.

        Of plays in a row that begin with the same arm and are lost together one counts: a process that dies loses what
        it had asked for ahead, which says as much of the arm as one play does.
        """
        before = (WAITING, -1)
        for play in sorted(plays):
            first = int(order_of(self._tuples[self._numbers[play]])[0])
            self._hits[play] = UNUSED if unused or before == (play - 1, first) else GIVEN_UP
            before = (play, first)


@dataclass
class _Kept:
    found: Found = NOT_LOOKED_YET
    next_at: float = -math.inf
    record: Record = field(default_factory=Record)
    number: int | None = None  # of the experiment, in the line of those that it goes on from
    looked: threading.Event = field(default_factory=threading.Event)


class Alarms:
    """The latest alarms of every experiment that is looked at; new ones are looked for in the background."""

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="alarms")
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._running: Future[None] | None = None
        self._running_for: str | None = None
        self._next_at = -math.inf

    def latest(self, experiment: str, labels: Sequence[Label], warm: WarmStart | None, plays: int, done: bool) -> Found:
        """What is known now. Starts to look again, if it is time for that and enough was told since."""
        kept = self._kept.setdefault(experiment, _Kept())
        self._kept.move_to_end(experiment)
        known = kept.found  # before it looks again, which may be done by the time that this returns
        now = self._clock()
        free = self._running is None or self._running.done()
        if free and _due(kept.found.plays, plays, done, warm is not None) and now >= max(kept.next_at, self._next_at):
            while len(self._kept) > MOST_REMEMBERED:
                self._kept.popitem(last=False)
            self._running_for = experiment
            self._running = self._worker.submit(self._look, kept, experiment, labels, warm, plays)
        return known

    def up(self, experiments: Container[str]) -> list[Alarm]:
        """All alarms that were found in these experiments, as far as they are remembered."""
        kept = list(self._kept.items())
        return [alarm for experiment, one in kept if experiment in experiments for alarm in one.found.alarms]

    def wait_for_the_first(self, experiment: str, seconds: float) -> None:
        """If the experiment is being looked at, wait until that is done, or so long."""
        kept = self._kept.get(experiment)
        if kept is not None and self._running_for == experiment:
            kept.looked.wait(seconds)

    def close(self) -> None:
        """Begin nothing more."""
        self._worker.shutdown(wait=True, cancel_futures=True)

    def _look(self, kept: _Kept, experiment: str, labels: Sequence[Label], warm: WarmStart | None, plays: int) -> None:
        start = monotonic()
        try:
            kept.record.read(self._store, experiment)
            played = kept.record.attempts(labels)
            log = played if warm is None else joined(warm.as_log(labels), played)
            if kept.number is None:
                kept.number = _number_of(self._store, experiment)
            level = level_of(ALPHA / 2, kept.number)
            found = (*watch(log, level), *_of_losses(kept.record, labels, level))
            kept.found = Found(found, plays, tuple(alarm_picture(log, alarm) for alarm in found[:MOST_PICTURES]))
        except BaseException:
            kept.record = Record()  # whatever came in between: read it anew
            raise
        finally:
            took = monotonic() - start
            kept.next_at = self._clock() + max(LEAST_SECONDS_BETWEEN, took / SHARE_OF_TIME)
            self._next_at = self._clock() + took
            kept.looked.set()


def _number_of(store: Store, experiment: str) -> int:
    """How many experiments there were before, each of which another one goes on from."""
    with store.reading() as reading, suppress(UnknownExperiment):  # it was deleted just now
        before = reading.record(experiment).setup.before
        return 0 if before is None else before.number
    return 0


def _of_losses(record: Record, labels: Sequence[Label], level: float) -> Iterator[Alarm]:
    """The alarm for plays that are lost more or less often with some option, in the form of the others."""
    plays, lost = record.losses(labels)
    for found in loss_alarms(plays, lost, level, "Plays that begin with"):
        yield Alarm(
            found.kind,
            found.option,
            found.log10_evidence,
            found.level,
            0,
            sum(plays.values()),
            found.others,
            found.lost,
            found.sentence,
            found.remedy,
        )


def _due(before: int | None, plays: int, done: bool, has_log: bool) -> bool:
    """Is it worth another look? In the end there is a last one.

    >>> _due(None, 0, False, False), _due(100, 104, False, False), _due(100, 106, False, False)
    (False, False, True)
    >>> _due(None, 0, False, True), _due(100, 104, True, False), _due(104, 104, True, False)
    (True, True, False)
    """
    if before is None:
        return plays > 0 or has_log
    return plays != before if done else plays > (1 + GROWTH) * before
