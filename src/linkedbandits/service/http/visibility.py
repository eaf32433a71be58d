"""What callers with a limited token may see: everything else is, for them, not there."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from functools import partial
from time import monotonic

from linkedbandits.errors import LinkedBanditError, StoreUnavailable
from linkedbandits.service.records import ListedExperiment
from linkedbandits.service.scopes import Line, Scope
from linkedbandits.service.store import Store
from linkedbandits.service.store_errors import UnknownExperiment

MOST_KNOWN = 100_000
"""Experiments whose name and line are remembered; both never change. Those that were asked for last are kept."""
UNREADABLE_SECONDS = 10.0
"""How soon it is tried again to read the line of an experiment that is damaged."""

_UNREADABLE = (LinkedBanditError, KeyError, TypeError, ValueError)

Question = Callable[[str, Callable[[str], Line | None]], bool]
"""Of an experiment, with what finds the lines of experiments."""
Run = Callable[
    [Callable[[Question, frozenset[str]], frozenset[str]], Question, frozenset[str]], Awaitable[frozenset[str]]
]
Seen = Callable[[Sequence[ListedExperiment]], tuple[ListedExperiment, ...]]


class Visibility:
    """Knows what is covered by which scope; asks the store, in a thread of ``run``, where it does not know yet."""

    def __init__(
        self, store: Store, run: Run = asyncio.to_thread, clock: Callable[[], float] = monotonic, most: int = MOST_KNOWN
    ) -> None:
        self._store = store
        self._run = run
        self._known = _KnownLines(clock, most)

    async def check(self, scope: Scope, experiment: str) -> None:
        """UnknownExperiment, as the store says it, for what the scope does not cover."""
        if scope.limited and experiment not in scope.experiments and not await self.among(scope, [experiment]):
            raise UnknownExperiment(f"there is no experiment {experiment!r}; list those that are, or create it")

    async def among(self, scope: Scope, experiments: Iterable[str]) -> frozenset[str]:
        """Those of the experiments that the scope covers."""
        asked = frozenset(experiments)
        if not scope.limited:
            return asked
        return await self._all(scope.covers, asked)

    async def shows_before(self, scope: Scope, experiment: str) -> bool:
        """May they who see an experiment also know what it goes on from?"""
        return not scope.limited or bool(await self._all(scope.covers_before, frozenset({experiment})))

    def showing_before(self, scope: Scope, experiments: Iterable[str]) -> frozenset[str]:
        """The same for many of them. It may have to ask the store: call it in a thread."""
        asked = frozenset(experiments)
        return self._found(scope.covers_before, asked) if scope.limited else asked

    def sees(self, scope: Scope) -> Seen | None:
        """Which of the experiments that are listed the scope covers; None: all.

        It may have to ask the store: call it in a thread.
        """
        return partial(self._among_listed, scope) if scope.limited else None

    def _among_listed(self, scope: Scope, rows: Sequence[ListedExperiment]) -> tuple[ListedExperiment, ...]:
        covered = self._found(scope.covers, frozenset(row.id for row in rows))
        return tuple(row for row in rows if row.id in covered)

    async def _all(self, question: Question, experiments: frozenset[str]) -> frozenset[str]:
        search = _Search(question, experiments, self._known)
        return search.found if not search.missing else await self._run(self._found, question, experiments)

    def _found(self, question: Question, experiments: frozenset[str]) -> frozenset[str]:
        """All that is not known of them is read together, and then what these go on from."""
        search = _Search(question, experiments, self._known)
        while search.missing:
            search.go_on(self._read(search.missing))
        return search.found

    def _read(self, experiments: Collection[str]) -> dict[str, Line | None]:
        """The lines of experiments; None for one that is not there, or cannot be read."""
        found: dict[str, Line | None] = dict.fromkeys(experiments)
        try:
            with self._store.reading() as store:
                there = {one: None if record is None else record.line for one, record in store.records_among(found)}
        except StoreUnavailable:
            raise
        except _UNREADABLE:  # one of them hides the others
            there = self._read_one_by_one(found)
        found |= there
        for one, line in there.items():  # one that is not there may be created yet
            self._known.keep(one, line)
        return found

    def _read_one_by_one(self, experiments: Iterable[str]) -> dict[str, Line | None]:
        """The lines of those that there are."""
        there: dict[str, Line | None] = {}
        for one in experiments:
            with self._store.reading() as store:
                try:
                    there[one] = store.record(one).line
                except UnknownExperiment:
                    continue
                except StoreUnavailable:
                    raise
                except _UNREADABLE:
                    there[one] = None
        return there


class _Search:
    """To which of some experiments a question is answered with yes, as far as the lines it takes are known."""

    def __init__(self, question: Question, experiments: frozenset[str], known: _KnownLines) -> None:
        self.missing: set[str] = set()
        """What has to be known to go on."""
        self._question = question
        self._known = known
        self._lines: dict[str, Line | None] = {}  # that were read for it, whatever is forgotten meanwhile
        self._found: set[str] = set()
        self._open: Collection[str] = experiments
        self.go_on({})

    @property
    def found(self) -> frozenset[str]:
        """Those."""
        return frozenset(self._found)

    def go_on(self, lines: dict[str, Line | None]) -> None:
        """With these lines that were missing."""
        self._lines |= lines
        self.missing = set()
        still_open = []
        for experiment in self._open:
            self._stuck = False
            yes = self._question(experiment, self._find)
            if self._stuck:
                still_open.append(experiment)
            elif yes:
                self._found.add(experiment)
        self._open = still_open

    def _find(self, experiment: str) -> Line | None:
        try:
            return self._lines[experiment] if experiment in self._lines else self._known.line(experiment)
        except KeyError:
            self._stuck = True
            self.missing.add(experiment)
            return None


class _KnownLines:
    """Lines that were read, as many as are worth the memory; any thread may ask."""

    def __init__(self, clock: Callable[[], float], most: int) -> None:
        self._clock = clock
        self._most = most
        self._lock = threading.Lock()
        self._lines: OrderedDict[str, tuple[Line | None, float]] = OrderedDict()  # and until when that counts

    def line(self, experiment: str) -> Line | None:
        """What is known, None if it could not be read a moment ago; KeyError if it has to be read."""
        with self._lock:
            line, until = self._lines[experiment]
            if self._clock() >= until:
                raise KeyError(experiment)
            self._lines.move_to_end(experiment)
            return line

    def keep(self, experiment: str, line: Line | None) -> None:
        """Remember it; for a while only, if there is none to be read."""
        until = self._clock() + UNREADABLE_SECONDS if line is None else float("inf")
        with self._lock:
            self._lines[experiment] = (line, until)
            self._lines.move_to_end(experiment)
            while len(self._lines) > self._most:
                self._lines.popitem(last=False)
