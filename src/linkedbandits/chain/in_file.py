"""An experiment in a file, for all processes of one machine that have a chain with it. It survives restarts.

Beside the file are a lock, and the answers of every process that is at it:

    chain.json                       the experiment, and who has which plays out
    chain.json.lock                  held by the process that changes it
    chain.json.answers-<process>     a line for each play that this process has begun, and one for each that it has
                                     answered; locked as long as it lives

An experiment that goes on from this one is in ``chain.json.1``, the next in ``chain.json.2``, each with a lock and
answers of its own. The file of the one before says so; it is written when that of the successor is complete on the
disk. So whoever opens ``chain.json`` comes to the last one, and plays and answers are never taken for those of another.

A call takes a play that was asked ahead from memory, and appends to the process's own file of answers that it has
begun, with one write. So it does with its answer before it returns, and what a caller was given is on record even if
the process is killed at once. Nothing else is done during a call.

All else does a thread in the background, every now and then, under the lock. It reads the experiment if another process
has changed it, applies all answers that are new in the files of any process, asks plays ahead, writes the experiment
to a new file and puts that in the place of the old one; and only then are the plays used. An answer that is read twice,
as after a crash, is known to the experiment by its play.

The system lets go of a lock when the process that had it is dead. So a file of answers that is not locked is one of a
dead process: its answers are applied, its plays given up, and it is removed. Plays are given up as well if they are out
for longer than the lease. Those that had begun are lost, and how many plays were lost that begin with each option is on
record, in the order of the plays, up to the first that is out: a process that is killed loses most often what takes
longest, and the alarm for losses has to hear of it.

A process that is killed loses nothing. If the machine goes down, answers of the last seconds may not have come to the
disk. The folder has to be on a disk of this machine: locks over networks are not to be relied on.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.log import AttemptLog
from linkedbandits.chain import forks
from linkedbandits.chain.ahead import Ahead
from linkedbandits.chain.expenses import Spent
from linkedbandits.chain.history import Era, Move, in_this_order, same_options
from linkedbandits.chain.home import LONGEST_WAIT, Condition, what_is_read
from linkedbandits.chain.rounds import Rounds
from linkedbandits.chain.troubles import Troubles
from linkedbandits.durable_files import has_flock, put_in_place, try_lock
from linkedbandits.errors import (
    CannotRead,
    CannotWrite,
    DamagedSave,
    InvalidParameter,
    LinkedBanditError,
    StoreUnavailable,
    TooManyInFlight,
    why_not,
)
from linkedbandits.live import Experiment, Learning, Play
from linkedbandits.live.answers import WAITING, AnswerLog
from linkedbandits.live.chain_record import order_of
from linkedbandits.model import Label, Verdict

FORMAT = "linkedbandits.chain"
VERSION = 2
"""Version 1 had no successors."""

FileVersion = tuple[int, int, int]

NONE_WORKED = -1
LOST = -2
BEGUN = -3


class PlaysLost:
    """Plays of all processes by the number of the option that they begin with, and how many of them were lost.

    They count in the order of their ids, up to the first that is out. In which option a killed process was at work is
    not known, so what counts is the option that a play began with.
    """

    def __init__(self, options: int) -> None:
        self.plays = [0] * options
        self.lost = [0] * options
        self._next = 0  # the first play that was not counted
        self._began_with: dict[int, int] = {}  # of plays that were lost and not counted yet

    def lose(self, play: int, answers: AnswerLog) -> None:
        """A play that is out will never be answered, though it had begun."""
        arms = answers.in_log(play)
        if arms is not None:
            self._began_with[play] = int(order_of(arms)[0])

    def count(self, answers: AnswerLog) -> bool:
        """Go on as far as plays are told or given up; did anything change? Plays that never began do not count."""
        begin = self._next
        while self._next < len(answers) and answers[self._next] != WAITING:
            first = self._began_with.pop(self._next, None)
            if first is not None:
                self.lost[first] += 1
            elif (arms := answers.in_log(self._next)) is not None:
                first = int(order_of(arms)[0])
            if first is not None:
                self.plays[first] += 1
            self._next += 1
        return self._next > begin

    def to_json(self) -> dict[str, Any]:
        """For ``json.dumps``."""
        began_with = list(self._began_with.items())
        return {"plays": self.plays, "lost": self.lost, "next": self._next, "began_with": began_with}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> PlaysLost:
        """What :meth:`to_json` wrote."""
        read = cls(len(data["plays"]))
        read.plays, read.lost, read._next = list(data["plays"]), list(data["lost"]), data["next"]
        read._began_with = dict(data["began_with"])
        return read


class Out(NamedTuple):
    """A play that is out: the process that has it, since when, and whether a call has begun it."""

    owner: str
    since: float
    begun: bool = False


class InFile:
    """The home of an experiment in a file.

    ``begin`` makes the experiment if there is none; ``reopen`` reads one from its text. ``clock`` has to be the same
    for all processes. ``family`` is the path of the first experiment, if this one goes on from others.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        begin: Callable[[], Experiment],
        reopen: Callable[[str], Experiment],
        lease: float,
        troubles: Troubles,
        clock: Callable[[], float] = time.time,
        family: Path | None = None,
    ) -> None:
        if not has_flock():
            raise InvalidParameter(
                "the state of a chain cannot be in a file on this system, which has no flock; use the service"
            )
        self._path = Path(path)
        self._family = family or self._path
        self._begin = begin
        self._reopen = reopen
        self._lease = lease
        self._troubles = troubles
        self._clock = clock
        self._experiment = begin()
        self.order: tuple[Label, ...] = self._experiment.arms
        self.verdict: Verdict | None = None
        self.reads = what_is_read(self._experiment)
        self.eras: tuple[Era, ...] = ()
        self.era = Era(self._experiment.arms, began=time.time())
        self.successor: InFile | None = None
        self._move: Move | None = None
        self._followed_by: str | None = None  # the name of the successor's file
        self._watchers = 0  # processes that have been at the experiment
        self._number = {label: number for number, label in enumerate(self._experiment.arms)}
        self._out: dict[int, Out] = {}  # of all processes
        self._losses = PlaysLost(len(self._experiment.arms))
        self._awaits: tuple[int, float] | None = None  # the play of the one before that its log ends with, since when
        self._previous_seen: FileVersion | None = None
        self._read: dict[str, int] = {}  # how much of the answers of every process is applied, in bytes
        self._version_seen: FileVersion | None = None  # which file was last read or written
        self._was_read = False  # from then on it has to have the same options
        self._expired = 0
        self._retired: list[int] = []  # files of answers that are not used any more
        self._writes = 0  # how often the experiment was written, by all processes
        self._learning: Learning | None = None
        self._closed = False
        self._torn: bool  # is there a part of a line at the end of the file of answers?
        self._changed = False  # by this round, so that it has to be written
        self._be_a_new_process()
        if not self._path.parent.is_dir():
            raise CannotWrite(
                f"there is no folder {str(self._path.parent)!r} for the state of the chain; make it first"
            )
        try:
            self._round()
        except StoreUnavailable as error:  # served without plays until the lock is free
            self._troubles.note("the file of the chain", error)
        except CannotWrite as error:  # the disk is full, or so: served in the order that was read, if one was
            if not self._was_read:
                raise
            self._troubles.note("the file of the chain", error)
            self._publish()
        forks.register(self)

    @property
    def arms(self) -> tuple[Label, ...]:
        """The options of the experiment."""
        return self._experiment.arms

    @property
    def share(self) -> float:
        """Of the level: less for each process that comes, so that all have 1 at most; 0 until it is known."""
        return 1 / (self._watcher * (self._watcher + 1)) if self._watcher else 0.0

    # ------------------------------------------------------------------------------------------------- during a call

    def take(self) -> Play | None:
        """A play that was asked ahead."""
        if self._closed:
            return None
        if self.verdict is not None or self.successor is not None:
            self._rounds.begin()  # to hear of a successor
            return None
        play = self._ahead.take()
        if play is not None:
            self._taken[play.id] = play
            self._append(_line(play.id, BEGUN))
        self._rounds.wake()
        return play

    def tell(self, play: Play, hit: Label | None) -> None:
        """Write the answer down."""
        self._write_down(play, NONE_WORKED if hit is None else self._number[hit])

    def lose(self, play: Play) -> None:
        """Write down that there is no answer."""
        self._write_down(play, LOST)

    def _write_down(self, play: Play, answer: int) -> None:
        if self._taken.pop(play.id, None) is not play:
            return  # it is of what was there before an older copy was put back, and the number now that of another
        line = _line(play.id, answer)
        self._waiting.append(None)
        if not self._append(line):  # the thread has it in memory as long as the process lives
            self._unwritten.append(line)
        self._rounds.wake()

    def _append(self, line: bytes) -> bool:
        """Append to the file of answers, with one write; False if the disk is full, or so."""
        try:
            if self._torn:  # so that what is there of the last line is not taken for the beginning of this one
                line = b"\n" + line
            written = -1 if self._answers is None else os.write(self._answers, line)
            self._torn = 0 < written < len(line)
            if written != len(line):
                raise OSError(f"{max(written, 0)} of {len(line)} bytes could be written")
        except OSError as error:
            self._troubles.note("the file of answers", error)
            return False
        return True

    def go_on(self, move: Move, seconds: float = 0.0) -> None:
        """In the next round."""
        if self._closed or self._followed_by is not None:
            return
        self._move = move
        if seconds:
            self._round()
        else:
            self._rounds.wake()

    # ------------------------------------------------------------------------------------- for those who have time

    def spend(self, first: Spent) -> None:
        """Nothing: the chain itself keeps what attempts of this process cost."""

    def settle(self) -> None:
        """Apply what is left, of all processes."""
        if not self._closed:
            self._round()

    def attempts(self) -> AttemptLog | None:
        """The plays of all processes, as this one last read them."""
        return self._experiment.attempts()

    def alarms(self) -> tuple[Alarm, ...]:
        """None but those of the plays on record."""
        return ()

    def losses(self) -> tuple[Mapping[Label, int], Mapping[Label, int]]:
        """Plays of all processes by the option that they begin with, and those of them that were lost."""
        try:
            self.settle()
        except LinkedBanditError as error:
            self._troubles.note("the file of the chain", error)
        arms, losses = self.arms, self._losses
        return dict(zip(arms, losses.plays, strict=True)), dict(zip(arms, losses.lost, strict=True))

    def learning(self) -> Learning | None:
        """What the plays of all processes have cost, as this one last read them."""
        return self._learning

    def condition(self) -> Condition:
        """How it is: plays of all processes, and answers of this one that wait."""
        dropped = len(self._unwritten) if self._closed else 0
        waiting = len(self._waiting) - dropped
        return Condition(self._experiment.plays, len(self._out), waiting, dropped, self._expired)

    def close(self) -> None:
        """Apply what is left, give back what is out, and remove this process's file."""
        if self._closed:
            return
        self._closed = True
        forks.forget(self)
        self._rounds.stop()
        try:
            self._round(last=True)
        except Exception as error:
            self._troubles.note("the file of the chain", error)

    def before_fork(self) -> None:
        """Let no round be under way."""
        self._held_for_fork = self._in_a_round.acquire(timeout=LONGEST_WAIT)

    def after_fork_in_parent(self) -> None:
        """Go on."""
        if self._held_for_fork:
            self._held_for_fork = False
            self._in_a_round.release()

    def after_fork_in_child(self) -> None:
        """Be a process of one's own, with nothing out and nothing asked ahead."""
        if self._answers is not None:
            os.close(self._answers)  # the parent's, which it goes on to hold
        self._be_a_new_process()

    def _be_a_new_process(self) -> None:
        self._name = uuid.uuid4().hex
        self._watcher = 0  # the how manieth process it is; known after the first round
        self._answers: int | None = None
        self._ahead = Ahead(self._lease, self._clock)
        self._waiting: deque[None] = deque()
        self._unwritten: deque[bytes] = deque()
        self._torn = False
        self._taken: dict[int, Play] = {}  # by calls, and not answered yet
        self._left_behind: list[tuple[int, int]] = []  # files of answers that were removed, and how much is known of it
        self._former_names: set[str] = set()
        self._new_here = False  # since this round
        self._own_applied = 0  # how much of its own answers is applied, by whichever process, in bytes,
        self._own_counted = 0  # and how much of that does not wait any more
        self._version_seen = None
        self._in_a_round: threading.Lock = threading.Lock()
        self._held_for_fork = False
        self._rounds: Rounds = Rounds("the file of the chain", self._round, self._troubles, ends_with_owner=True)

    # --------------------------------------------------------------------------------------------- in the background

    def _round(self, last: bool = False) -> None:
        if not self._in_a_round.acquire(timeout=LONGEST_WAIT):
            raise StoreUnavailable("another thread has been at the state of the chain for long; try again")
        try:
            with self._locked(), ExitStack() as stack:
                self._changed = self._read_state()
                self._open_answers()
                self._read_what_was_left_behind()
                unwritten = list(self._unwritten)
                dead = self._apply_answers(unwritten, last)
                stack.callback(_close_all, dead)
                given_up = self._give_up_old()
                self._changed |= self._losses.count(self._experiment.answers)
                self._count_in()
                self._read_log()
                self._note_the_verdict()
                move, self._move = self._move, None
                if move is not None and self._followed_by is None and not (self._awaits and move.keep):
                    self._write_successor(move)
                asked = [] if last or self._awaits or self._followed_by is not None else self._ask_ahead(given_up)
                if self._changed or asked:
                    self._write_state()
                # All of it is on record now.
                for path, _ in dead:
                    path.unlink(missing_ok=True)
                for _ in unwritten:
                    self._unwritten.popleft()
                for _ in range(min(_number_of_answers(unwritten) + self._applied_of_own(), len(self._waiting))):
                    self._waiting.popleft()
                if last:
                    self._retire()
            self._publish()
            self._ahead.put(asked)
            if self._followed_by is not None and self.successor is None and not last:
                self.successor = self._open_successor(self._followed_by)
        finally:
            self._in_a_round.release()

    def _count_in(self) -> None:
        self._new_here = not self._watcher
        if self._new_here:
            self._watchers += 1
            self._watcher = self._watchers
            self._changed = True

    def _note_the_verdict(self) -> None:
        if self.era.verdict is None and self._experiment.done:
            self.era = replace(self.era, verdict=self._experiment.recommend(), decided=time.time())
            self._changed = True

    def _write_successor(self, move: Move) -> None:
        """Write the successor's file, and note that it is there, for the other processes to go on with.

        Plays that have not begun are given up. Those before the first that has begun and is out are its log, with that
        one, for which it waits: what is slow is most often a failure.
        """
        self._ahead.clear()
        for play in [play for play, out in self._out.items() if not out.begun]:
            self._give_up(play)
        new = self._experiment.successor(move.arms, keep=False, why=move.why)
        now = time.time()
        eras = (*self.eras, self.era.over(now, move.reason, move.why))
        name = f"{self._family.name}.{len(eras)}"
        head = _head(new, eras, Era(new.arms, began=now))
        if move.keep:
            first_out = self._experiment.answers.first_out
            if first_out is None:
                new.go_on_from(self._experiment, None)
            else:
                head["awaits"] = [first_out, self._clock()]
                head["order"] = list(in_this_order(new.arms, self._experiment.order))
        self._write_new(self._path.with_name(name), head, new)
        _put_in_place(self._path.with_name(name))
        self._followed_by = name
        self._changed = True

    def _read_log(self) -> None:
        """Read the plays of the experiment before, once the one that the log ends with was told or given up."""
        if self._awaits is None:
            return
        last, since = self._awaits
        number = len(self.eras) - 1
        path = self._path.with_name(f"{self._family.name}.{number}" if number else self._family.name)
        expired = self._clock() - since > self._lease
        seen = _version_at(path)
        if seen == self._previous_seen and not expired:
            return
        self._previous_seen = seen
        try:
            previous = self._reopen(path.read_text(encoding="utf-8").split("\n", 1)[1])
        except (OSError, ValueError, IndexError, LinkedBanditError) as error:
            self._troubles.note("the file of the chain before", error)
            if not expired:
                return
        else:
            if expired:
                previous.abandon(last)
            if previous.answers[last] == WAITING:
                return
            self._experiment.go_on_from(previous, last)
        self._awaits, self._changed = None, True

    def _open_successor(self, name: str) -> InFile:
        policy, linkage = self._experiment.policy, self._experiment.linkage_object
        return type(self)(
            self._path.with_name(name),
            partial(self._experiment.successor, keep=False, why="its file was removed"),
            partial(Experiment.from_json, policy=policy, linkage=linkage),
            self._lease,
            self._troubles,
            self._clock,
            self._family,
        )

    def _retire(self) -> None:
        """Remove the file of answers. It stays open, for a call in another thread may be about to write to it."""
        if self._answers is not None:
            self._path_of(self._name).unlink(missing_ok=True)
            self._retired.append(self._answers)
            self._answers = None

    def __del__(self) -> None:
        left_behind = [file for file, _ in getattr(self, "_left_behind", ())]
        for file in [*getattr(self, "_retired", ()), *left_behind, getattr(self, "_answers", None)]:
            if file is not None:
                with suppress(OSError):
                    os.close(file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            file = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise CannotWrite(
                f"the lock {self._path}.lock cannot be opened: {why_not(error)}; is the folder writable?"
            ) from error
        try:
            deadline = time.monotonic() + LONGEST_WAIT
            while not try_lock(file):
                if time.monotonic() > deadline:
                    raise StoreUnavailable(f"{self._path}.lock was held by another process for {LONGEST_WAIT:g} s")
                time.sleep(0.002)
            yield
        finally:
            os.close(file)  # which gives the lock back

    def _path_of(self, process: str) -> Path:
        return self._path.with_name(f"{self._path.name}.answers-{process}")

    def _open_answers(self) -> None:
        """Under the lock, so that no other process takes it for that of a dead one before it is locked."""
        if self._answers is not None and os.fstat(self._answers).st_nlink == 0:
            self._move_to_a_new_file_of_answers()
        if self._answers is None:
            try:
                file = os.open(self._path_of(self._name), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            except OSError as error:
                raise CannotWrite(f"{self._path_of(self._name)} cannot be opened: {why_not(error)}") from error
            try_lock(file)
            self._answers = file

    def _move_to_a_new_file_of_answers(self) -> None:
        """Somebody has removed the file. It can be read as long as it is open, and calls may be about to write to it.

        The new one has another name, as what is on record says how much of the old one is applied.
        """
        self._troubles.note("the file of answers", FileNotFoundError(f"{self._path_of(self._name)} was removed"))
        removed, applied = self._take_another_name()
        if removed is not None:
            self._left_behind.append((removed, applied))
        self._changed = True

    def _take_another_name(self) -> tuple[int | None, int]:
        """Under which it has out what it had. The file of answers until now, and how much of it is applied."""
        self._former_names.add(self._name)
        applied = self._read.pop(self._name, 0)
        self._name = uuid.uuid4().hex
        file, self._answers, self._torn = self._answers, None, False
        self._own_applied = self._own_counted = 0
        self._own_what_it_has_out()
        return file, applied

    def _own_what_it_has_out(self) -> None:
        for play, out in self._out.items():
            if out.owner in self._former_names:
                self._out[play] = out._replace(owner=self._name)

    def _read_what_was_left_behind(self) -> None:
        for place, (file, begin) in enumerate(self._left_behind):
            lines = _whole_lines(_rest_of(file, begin))
            self._unwritten.extend(lines.splitlines(keepends=True))
            self._left_behind[place] = (file, begin + len(lines))

    def _go_back(self, why: str) -> None:
        """An older experiment is there, or a new one: numbers of plays that were asked will be given out again.

        So what is known of those is dropped; plays that were out when the copy was made go on.
        """
        self._troubles.note("the file of the chain", ValueError(f"{self._path} {why}"))
        out = {play for play, one in self._out.items() if one.owner == self._name}
        for play in list(self._taken):
            if play not in out:
                self._taken.pop(play, None)
        for unused in self._ahead.clear():
            if unused.id in out:
                self._give_up(unused.id)
        self._path_of(self._name).unlink(missing_ok=True)
        written = list(self._unwritten)
        file, applied = self._take_another_name()
        if file is not None:
            written += _whole_lines(_rest_of(file, applied)).splitlines(keepends=True)
            self._retired.append(file)
        kept = [line for line in written if (parsed := _parsed(line)) is not None and parsed[0] in out]
        self._unwritten, self._waiting = deque(kept), deque([None] * _number_of_answers(kept))
        self._watcher = 0
        self._changed = True

    def _applied_of_own(self) -> int:
        """How many answers of this process were applied since it was last asked, by this process or by others."""
        new = self._own_applied - self._own_counted
        if self._answers is None or new <= 0:
            return 0
        lines = os.pread(self._answers, new, self._own_counted).splitlines()
        self._own_counted = self._own_applied
        return _number_of_answers(lines)

    def _read_state(self) -> bool:
        """Read the file if it is not the one that was read or written last. Does it have to be written?"""
        try:
            with self._path.open(encoding="utf-8") as file:
                version = _version_of(file.fileno())
                if version == self._version_seen:
                    return False
                head, text = file.readline(), file.read()
        except FileNotFoundError:
            if self._version_seen is not None:  # somebody has removed it: begin anew
                self._experiment, self._out, self._read, self._writes = self._begin(), {}, {}, 0
                self._losses, self._awaits = PlaysLost(len(self.arms)), None
                self.era, self._watchers = Era(self._experiment.arms, began=time.time()), 0
                self._go_back("was removed, and is begun anew")
            self._version_seen = None
            return True
        except (OSError, UnicodeDecodeError) as error:
            raise CannotRead(f"{self._path} cannot be read as the state of a chain: {why_not(error)}") from error
        content = _read_head(self._path, head)
        read = self._reopen(text)
        if self._was_read and not same_options(read.arms, self.arms):
            raise DamagedSave(f"{self._path} was replaced by one of other options; restore it")
        self._experiment = read
        self._number = {label: number for number, label in enumerate(self._experiment.arms)}
        self._out = {int(play): Out(*out) for play, out in content["out"].items()}
        self._losses = PlaysLost.from_json(content["losses"]) if "losses" in content else PlaysLost(len(read.arms))
        self._awaits = None if content.get("awaits") is None else (content["awaits"][0], content["awaits"][1])
        if self._awaits is not None:
            self.order = in_this_order(read.arms, content["order"])
        self._read = dict(content["read"])
        if content["version"] > 1:
            self.eras = tuple(map(Era.from_json, content["eras"]))
            self.era = Era.from_json(content["era"])
            self._followed_by = content["followed_by"]
            self._watchers = content["watchers"]
        self._own_what_it_has_out()
        writes = int(content.get("writes", 0))
        older = writes < self._writes
        self._version_seen, self._was_read, self._writes = version, True, writes
        if older:
            self._go_back("is an older one that was put back, or a new one")
        return older

    def _write_state(self) -> None:
        head = _head(self._experiment, self.eras, self.era) | {
            "out": {str(play): list(out) for play, out in self._out.items()},
            "losses": self._losses.to_json(),
            "awaits": self._awaits,
            "read": self._read,
            "watchers": self._watchers,
            "followed_by": self._followed_by,
            "writes": self._writes + 1,
        }
        if self._awaits is not None:
            head["order"] = list(self.order)
        try:
            written = self._write_new(self._path, head, self._experiment)
            # Whoever restores a copy does not ask for the lock: what is there now was not read, and must not be lost.
            if _version_at(self._path) != self._version_seen:
                raise CannotWrite(f"{self._path} was replaced in the middle of a round, and is read again")
            _put_in_place(self._path)
        except CannotWrite:
            self._version_seen = None  # what is in memory is not on record: read again what is,
            if self._new_here:
                self._watcher = 0  # and be counted then
            raise
        self._version_seen, self._was_read = written, True
        self._writes += 1

    def _write_new(self, path: Path, head: dict[str, Any], experiment: Experiment) -> FileVersion:
        """Write what is to be put in the place of a file, or of none."""
        try:
            file = os.open(_new(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                _write_all(file, f"{json.dumps(head)}\n{experiment.to_json()}".encode())
                return _version_of(file)
            finally:
                os.close(file)
        except OSError as error:
            raise CannotWrite(f"{path} cannot be written: {why_not(error)}") from error

    def _apply_answers(self, unwritten: list[bytes], last: bool) -> list[tuple[Path, int]]:
        """Apply what is new in the files of all processes; the files of the dead are returned, open."""
        dead, living = [], {self._name}
        prefix = f"{self._path.name}.answers-"
        for path in [path for path in self._path.parent.iterdir() if path.name.startswith(prefix)]:
            name = path.name.removeprefix(prefix)
            if name == self._name:
                continue
            try:
                file = os.open(path, os.O_RDWR)
            except OSError:
                continue
            # Whether it is dead has to be known before its answers are read: else some could come in between.
            if try_lock(file):
                dead.append((path, file))
            else:
                living.add(name)
            self._apply_file(file, name)
            if name in living:
                os.close(file)
        if self._answers is not None:
            self._apply_file(self._answers, self._name)
            self._own_applied = self._read.get(self._name, 0)
        for line in unwritten:
            self._apply_lines(line, self._name)
        if last:
            living.discard(self._name)
            self._ahead.clear()
        for play, out in list(self._out.items()):
            if out.owner not in living:
                self._give_up(play)
        for name in self._read.keys() - living:
            del self._read[name]
            self._changed = True
        return dead

    def _apply_file(self, file: int, name: str) -> None:
        """Apply the lines of a file that are new and whole."""
        begin = self._read.get(name, 0)
        whole = _whole_lines(_rest_of(file, begin))
        if whole:
            self._read[name] = begin + len(whole)
            self._apply_lines(whole, name)

    def _apply_lines(self, lines: bytes, name: str) -> None:
        self._changed = True
        for line in lines.splitlines():
            parsed = _parsed(line)
            if parsed is None:
                self._troubles.note("the file of answers", ValueError(f"{line[:80]!r} is no answer"))
                continue
            play, answer = parsed
            out = self._out.get(play)
            if out is not None and out.owner != name:
                self._troubles.note("the file of answers", ValueError(f"play {play} is another process's"))
                continue
            if answer == BEGUN:
                if out is not None:
                    self._out[play] = out._replace(begun=True)
                continue
            try:
                if answer == LOST:
                    self._give_up(play)
                else:
                    self._out.pop(play, None)
                    hit = None if answer == NONE_WORKED else self._experiment.arms[answer]
                    self._experiment.tell(play, hit)
            except Exception as error:
                self._troubles.note("the experiment", error)

    def _give_up(self, play: int) -> None:
        """A play that is out will not be answered. If it had begun it is lost."""
        out = self._out.pop(play, None)
        self._changed = True
        if out is not None and out.begun:
            self._losses.lose(play, self._experiment.answers)
        self._experiment.abandon(play)

    def _give_up_old(self) -> bool:
        """Give up what is out for longer than the lease, and give back what was asked ahead and is not used."""
        now = self._clock()
        old = [play for play, out in self._out.items() if now - out.since > self._lease]
        for play in old:
            self._give_up(play)
        self._expired += len(old)
        unused = self._ahead.unused()
        for play in [unused_play.id for unused_play in unused if unused_play.id in self._out]:
            self._give_up(play)
        return bool(old or unused)

    def _ask_ahead(self, given_up: bool) -> list[Play]:
        asked: list[Play] = []
        wanted = 0 if self._experiment.done else self._ahead.wanted(given_up)
        now = self._clock()
        for _ in range(wanted):
            try:
                play = self._experiment.ask()
            except TooManyInFlight:
                break
            self._out[play.id] = Out(self._name, now)
            asked.append(play)
        return asked

    def _publish(self) -> None:
        experiment = self._experiment
        if self._awaits is None:
            self.order = experiment.order
        self._learning = experiment.learning
        if self.verdict is None and experiment.done:
            self.verdict = experiment.recommend()
            self._ahead.clear()


def _line(play: int, answer: int) -> bytes:
    """The play comes twice, so that a line of which a part is missing is not taken for another.

    >>> _line(12, -1)
    b'12 -1 12\\n'
    """
    return b"%d %d %d\n" % (play, answer, play)


def _parsed(line: bytes) -> tuple[int, int] | None:
    """The play and its answer; None if the line is damaged.

    >>> _parsed(b"12 -1 12"), _parsed(b"112 -1 12"), _parsed(b"12 -1")
    ((12, -1), None, None)
    """
    try:
        play, answer, again = map(int, line.split())
    except ValueError:
        return None
    return (play, answer) if play == again else None


def _number_of_answers(lines: Iterable[bytes]) -> int:
    """How many lines are answers, damaged ones among them, and not that a play has begun.

    >>> _number_of_answers([b"12 -3 12", b"12 0 12"])
    1
    """
    return sum((_parsed(line) or (0, LOST))[1] != BEGUN for line in lines)


def _head(experiment: Experiment, eras: tuple[Era, ...], era: Era) -> dict[str, Any]:
    """The first line of a file, for an experiment that nobody is at."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "order": list(experiment.order),
        "eras": [each.to_json() for each in eras],
        "era": era.to_json(),
        "out": {},
        "losses": PlaysLost(len(experiment.arms)).to_json(),
        "awaits": None,
        "read": {},
        "watchers": 0,
        "followed_by": None,
        "writes": 0,
    }


def _read_head(path: Path, line: str) -> dict[str, Any]:
    """What the first line of the file says, checked."""
    try:
        head = json.loads(line)
    except ValueError as error:
        raise DamagedSave(f"{path} is no state of a chain, or damaged; give another file, or restore it") from error
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise DamagedSave(f"{path} is no state of a chain; give another file")
    if head["version"] > VERSION:
        raise DamagedSave(
            f"{path} was written by a later version of the library; upgrade, or give another file", reason="newer_save"
        )
    return head


def _version_of(file: int) -> FileVersion:
    """What tells a file from one that was put in its place."""
    found = os.fstat(file)
    return found.st_ino, found.st_mtime_ns, found.st_size


def _version_at(path: Path) -> FileVersion | None:
    """That of the file that is there now; None if there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _new(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def _put_in_place(path: Path) -> None:
    """Put what was written in the place of the file, in one step, so that it survives a power cut."""
    try:
        put_in_place(_new(path), path)
    except OSError as error:
        raise CannotWrite(f"{path} cannot be written: {why_not(error)}") from error


def _close_all(files: list[tuple[Path, int]]) -> None:
    for _, file in files:
        os.close(file)


def _rest_of(file: int, begin: int) -> bytes:
    """What an open file has from there on."""
    return os.pread(file, max(os.fstat(file).st_size - begin, 0), begin)


def _whole_lines(text: bytes) -> bytes:
    """Without what is behind the last end of a line.

    >>> _whole_lines(b"1 0 1\\n2 0"), _whole_lines(b"2 0")
    (b'1 0 1\\n', b'')
    """
    return text[: text.rfind(b"\n") + 1]


def _write_all(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
