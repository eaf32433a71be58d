"""What the store keeps: experiments, journal entries, snapshots and tokens."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from linkedbandits.assumptions import Assumption
from linkedbandits.attempts.log import Which
from linkedbandits.checks import check_positive
from linkedbandits.errors import InvalidParameter, UnknownName
from linkedbandits.linkage import find_linkage
from linkedbandits.live import Experiment, WarmStart
from linkedbandits.live.experiment import assumed
from linkedbandits.model import Label, Status
from linkedbandits.policies import make_policy
from linkedbandits.service.scopes import EVERYTHING, Line, Scope

RunStatus = Literal["running", "paused", "archived"]
Kind = Literal["ask", "tell", "abandon", "status", "upgrade"]
Role = Literal["admin", "player", "viewer"]

LONGEST_LEASE = 10.0 * 366 * 24 * 3600
LONGEST_TEXT = 200
NOT_SEEN = r"\x00-\x1f\x7f-\x9f\u200b\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
"""Characters that names may not have, as a regular expression has them in brackets.

Controls and ends of lines; what turns the direction of the text around it, so that a name may look like another; and
what cannot be seen at all. Joiners are none of these: they make one sign of several, as in emoji.
"""
_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_REFUSED = re.compile(rf"[{NOT_SEEN}\ud800-\udfff]")


def check_text(name: str, text: str) -> None:
    r"""Refuse a name or key that not every store could keep, or that does not look like what it is.

    >>> check_text("key", "a\0b")
    Traceback (most recent call last):
    ...
    linkedbandits.errors.InvalidParameter: key='a\x00b' has the character U+0000, which cannot be seen; leave it out
    """
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise InvalidParameter(f"{name}={text!r:.300} is no text of at most {LONGEST_TEXT} characters; change it")
    wrong = what_is_not_seen(text)
    if wrong is not None:
        raise InvalidParameter(f"{name}={text!r} {wrong}")


def what_is_not_seen(text: str) -> str | None:
    """What is wrong with a text that has characters which names may not have, or None."""
    found = None if text.isprintable() else _REFUSED.search(text)  # the first is quick, and true of nearly all
    if found is None:
        return None
    letter = found[0]
    called = f"U+{ord(letter):04X} {unicodedata.name(letter, '')}".rstrip()
    turning = " and turns the text around it" if unicodedata.bidirectional(letter) in _TURNING else ""
    return f"has the character {called}, which cannot be seen{turning}; leave it out"


@dataclass(frozen=True, slots=True)
class LogInSetup:
    """What is said of a log: which attempts may be read, its requests, and the samples of the arms that it has.

    ``assumes_independence`` says that attempts behind failures of others are among them, ``on_your_word`` that it has
    one order, which cannot show independence, and the user has given the word for it.
    """

    attempts: Which
    requests: int
    samples: int
    assumes_independence: bool
    on_your_word: bool = False

    @classmethod
    def of(cls, warm: WarmStart) -> LogInSetup:
        """Of this one."""
        return cls(warm.attempts, warm.requests, warm.samples, warm.assumes_independence, warm.on_your_word)


@dataclass(frozen=True, slots=True)
class BeforeInSetup:
    """The experiment that one goes on from, and why; as :class:`linkedbandits.live.Before` has it."""

    experiment: str
    why: str
    arms: tuple[Label, ...]
    plays: int
    arm: Label
    status: Status
    kept: int
    number: int = 1
    """How many experiments there were before, each of which another one went on from."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What an experiment is created with; it never changes.

    ``policy`` has a ``"name"`` and ``"parameters"``. ``lease_seconds`` is how long a play waits for its answer. With
    ``whole_chains`` plays go on with the rest of the arms. ``log`` says what the log is, if it begins with one; the log
    itself is kept apart. ``before`` is the experiment that it goes on from, if there is one.
    """

    arms: tuple[Label, ...]
    policy: dict[str, Any]
    linkage: str = "ordered"
    seed: int = 0
    max_plays: int | None = None
    parallel: int | None = None
    lease_seconds: float = 60.0
    whole_chains: bool = False
    log: LogInSetup | None = None
    before: BeforeInSetup | None = None

    def begin(self, warm: WarmStart | None = None) -> Experiment:
        """A new experiment, with the log that belongs to it, or an error that says what is wrong with the set-up."""
        check_positive("lease_seconds", self.lease_seconds, LONGEST_LEASE)
        begun = Experiment(
            self.arms,
            make_policy(self.policy["name"], self.policy["parameters"]),
            linkage=self.linkage,
            seed=self.seed,
            max_plays=self.max_plays,
            parallel=self.parallel,
            whole_chains=self.whole_chains,
        )
        if warm is not None:
            begun.start_from(warm)
        return begun

    def assumptions(self) -> tuple[Assumption, ...]:
        """What its policy takes for granted."""
        linkage = find_linkage(self.linkage)
        policy = make_policy(self.policy["name"], self.policy["parameters"])
        by_policy = policy.fitted_to(linkage, self.parallel).assumptions(linkage)
        return assumed(by_policy, self.log is not None and self.log.assumes_independence)

    def to_json(self) -> str:
        """As text."""
        content = asdict(self)
        if self.log is None:
            del content["log"]
        if not self.whole_chains:  # an earlier version can go on with it
            del content["whole_chains"]
        if self.before is None:
            del content["before"]
        return json.dumps(content)

    @classmethod
    def from_json(cls, text: str) -> Setup:
        """What :meth:`to_json` wrote; ValueError, TypeError or KeyError for anything else."""
        content = json.loads(text)
        policy = content["policy"]
        if not isinstance(policy["name"], str) or not isinstance(policy["parameters"], dict):
            raise ValueError("a policy has a name and parameters")
        log = None if content.get("log") is None else LogInSetup(**content["log"])
        before = content.get("before")
        if before is not None:
            before = BeforeInSetup(**{**before, "arms": tuple(before["arms"])})
        return cls(**{**content, "arms": tuple(content["arms"]), "log": log, "before": before})


@dataclass(frozen=True, slots=True)
class ExperimentRecord:
    """An experiment's row: what it is, whether it runs, and ``head``, the number of its last journal entry.

    ``written_by`` is the version of the library that last wrote to it and what its policy asks, as :class:`Writer` puts
    it; None where it was last written to before that was recorded.
    """

    id: str
    name: str
    setup: Setup
    status: RunStatus
    created_at: float
    head: int
    written_by: str | None = None

    @property
    def line(self) -> Line:
        """What the limits of tokens go by."""
        return Line(self.name, None if self.setup.before is None else self.setup.before.experiment)


def damaged_sentence(experiment: str, error: Exception | None = None) -> str:
    """What is said of an experiment that cannot be read, with what to do; whole ones may have what is not there."""
    if isinstance(error, UnknownName):
        return (
            f"experiment {experiment!r} cannot be read here: {error}. If it has a policy of the operator's own, start "
            "the service with --policy package.module:Class, and nothing of it is lost; else restore the store from a "
            "backup"
        )
    return (
        f"experiment {experiment!r} is damaged: what is on record of it cannot be read; restore the store from a "
        "backup, or create a new experiment to go on. The log of the service says what was found, and the others go on"
    )


@dataclass(frozen=True, slots=True)
class DamagedExperiment:
    """What can still be said of an experiment that cannot be opened; ``arms`` is how many, where that is known."""

    id: str
    name: str
    created_at: float
    arms: int | None


class Writer(NamedTuple):
    """A version of the library, what tells its policy from one that asks otherwise, and by which rule plays are handed
    out for what it asks.

    >>> str(Writer("0.2.0", "5b1c", 2))
    '0.2.0 5b1c plays:2'
    >>> Writer.read("0.2.0 5b1c plays:2"), Writer.read("0.2.0 5b1c")
    (Writer(version='0.2.0', asks='5b1c', plays=2), Writer(version='0.2.0', asks='5b1c', plays=1))
    >>> Writer.read(None)
    Writer(version=None, asks=None, plays=1)
    """

    version: str | None
    asks: str | None
    plays: int = 1

    def __str__(self) -> str:
        return f"{self.version} {self.asks} plays:{self.plays}"

    @classmethod
    def read(cls, text: str | None) -> Writer:
        """From a record; nothing is known where nothing was recorded, and plays were first handed out by rule 1."""
        if text is None:
            return cls(None, None)
        version, asks = text.split(" ", 1)
        asks, separator, plays = asks.rpartition(" plays:")
        return cls(version, asks, int(plays)) if separator else cls(version, plays)


class ExperimentHead(NamedTuple):
    """How far an experiment is: of its row, what changes."""

    id: str
    head: int
    status: RunStatus


class Room(NamedTuple):
    """Bytes of the disk that a store is on."""

    free: int
    total: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One command in an experiment's journal, a batch of plays or answers being one command.

    - ``ask``: ``{"first": play id, "asked": count, "runs": [[tuple number, times], ...], "key": text or None}``, where
      the tuple of a whole chain has its rest, in the form of :mod:`linkedbandits.live.chain_record`
    - ``tell``: ``{"plays": [...], "hits": [arm's index, or -1], "receipts": "c" counted, "s" spare, "l" late}``
    - ``abandon``: ``{"plays": [...]}``, given back or out of time, with ``"unused": true`` if they were never begun
    - ``status``: ``{"to": "paused"}``, with the identifier of its ``"successor"`` where another one goes on from it,
      and ``"why"``; with ``"tags"`` where these were changed
    - ``upgrade``: ``{"version": ..., "before": ..., "plays": ..., "evidence": ...}``, where a version of the library
      goes on that would have asked otherwise: it begins anew with that evidence, on new plays

    Tuple numbers refer to a table of the experiment's own, so that the journal says what was played without a replay
    and stays small.
    """

    seq: int
    at: float
    kind: Kind
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An experiment after entry ``seq``, but for its answers."""

    seq: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """How many plays had been told at that time."""

    seq: int
    at: float
    plays: int


class ListedExperiment(NamedTuple):
    """What lists sort, filter and search by: little to read, so that all experiments can be.

    ``plays`` are those of the last point of the history. ``verdict`` is the status of the verdict, empty before there
    is one, and None where it is not known: of an experiment that was last played before this was kept.
    """

    id: str
    name: str
    status: RunStatus
    created_at: float
    head: int
    plays: int
    verdict: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """What was known of the arms when so many plays had been told; :mod:`linkedbandits.service.curves` has its body."""

    seq: int
    at: float
    plays: int
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Expenses:
    """What a source, a process of a chain, last told of its first attempts: when, of how many, and in which sums.

    ``body`` has the sums of each option that it tried, as :meth:`linkedbandits.option_estimates.FirstAttempts.to_json`
    puts them, under the option's number. It is None where they were added to those of others, and must not be again.
    """

    source: str
    at: float
    tries: int
    body: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class TokenRecord:
    """A bearer token, of which only the digest is kept, and what it is limited to."""

    id: str
    name: str
    role: Role
    digest: str
    created_at: float
    scope: Scope = EVERYTHING
