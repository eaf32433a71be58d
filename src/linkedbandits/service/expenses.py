"""What first attempts took and cost in the processes of a chain: told by each, kept, and added up.

It is for people who look and for those who choose an order; no verdict goes by it, and it is no part of the journal,
which has plays alone. An experiment that goes on from another begins without.

Each process is a *source*, and tells the sums of all that it has seen, so that telling twice does no harm. The store
keeps the last of every source. If there are too many, that of the source which has told nothing for longest is added to
the sums of those that are gone, so that what it told is not lost; its name is kept for long, so that it is not added
twice. A source that comes again after that is told to begin anew, and what it has seen since it last told is left out.
"""

from __future__ import annotations

import json
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import monotonic, sleep
from typing import Any

from linkedbandits.errors import InvalidParameter
from linkedbandits.intervals import Estimated
from linkedbandits.model import Label
from linkedbandits.option_estimates import FirstAttempts, OptionEstimate, by_success_per_cost
from linkedbandits.service.records import Expenses, Setup
from linkedbandits.service.store import Reading, Store, Writing

GONE = ""
"""The source under which the sums of those that are gone are kept; no process can have this name."""
MOST_SUMS = 20_000
"""Options of all sources together that are kept apart; so it takes some megabytes at most, and tens of milliseconds."""
MOST_SOURCES, FEWEST_SOURCES = 500, 10
"""Sources that are kept apart, with few options and with very many."""
MOST_NAMES = 10_000
"""Sources that are gone whose names are kept. One that came again after as many others would be counted twice."""
MOST_SHOWN = 25
"""Options that a view shows, those with most successes per cost; limits take time."""
SECONDS_BETWEEN = 2.0
"""A view has sums that are as old as this."""
MOST_KEPT = 1000
"""Experiments whose views are kept ready."""
MOST_BYTES_KEPT = 20_000_000
"""Of answers with limits that are kept ready."""
LARGEST_NUMBER = 10**15
"""How many tries those that are gone are said to have at most, which is for a column; the sums have all."""
CONFIDENCE = 0.95
"""That of the limits in a view."""


def keep(
    store: Writing,
    experiment: str,
    arms: Sequence[Label],
    source: str,
    firsts: Sequence[tuple[Label, FirstAttempts]],
    now: float,
) -> int:
    """Keep what a source tells; how many sources have told by now, those that are gone among them?

    0 if it was added to others before, and has to begin anew under another name.

    What comes late, when the source has told of more attempts already, changes nothing. The experiment has to be
    locked.
    """
    content = _content(arms, firsts)
    tries = sum(first.tries for _, first in firsts)
    before = store.expenses(experiment, source)
    if before and before[0].body is None:
        return 0
    if before and before[0].tries >= tries:
        return _sources_so_far(store, experiment)
    store.save_expenses(experiment, Expenses(source, now, tries, content))
    if not before:
        kept = [name for name in store.expenses_sources(experiment) if name != GONE]
        room = max(FEWEST_SOURCES, min(MOST_SOURCES, MOST_SUMS // len(arms)))
        for oldest in kept[: max(len(kept) - room, 0)]:
            _add_to_those_gone(store, experiment, oldest)
    return _sources_so_far(store, experiment)


def _sources_so_far(store: Reading, experiment: str) -> int:
    return int(store.expenses_version(experiment)[0])


def _content(arms: Sequence[Label], firsts: Sequence[tuple[Label, FirstAttempts]]) -> dict[str, Any]:
    """The sums by the option's number, checked."""
    number_of = {(type(label), label): str(number) for number, label in enumerate(arms)}  # 1 and True are two labels
    content: dict[str, Any] = {}
    for label, first in firsts:
        number = number_of.get((type(label), label))
        if number is None:
            raise InvalidParameter(f"{label!r} is no arm of the experiment; tell of its arms alone")
        if number in content:
            raise InvalidParameter(f"{label!r} comes twice; tell of every arm once")
        first.check()
        content[number] = first.to_json()
    return content


def _add_to_those_gone(store: Writing, experiment: str, source: str) -> None:
    (oldest,), before = store.expenses(experiment, source), store.expenses(experiment, GONE)
    tries = oldest.tries + sum(expenses.tries for expenses in before)
    sums = {number: first.to_json() for number, first in _added([*before, oldest]).items()}
    store.save_expenses(experiment, Expenses(GONE, oldest.at, min(tries, LARGEST_NUMBER), sums))
    store.save_expenses(experiment, Expenses(oldest.source, oldest.at, 0, None))
    store.forget_expenses(experiment, MOST_NAMES)


def _added(told: Sequence[Expenses]) -> dict[str, FirstAttempts]:
    """The sums of all sources, by the option's number."""
    sums: dict[str, FirstAttempts] = {}
    for expenses in told:
        for number, content in (expenses.body or {}).items():
            first = FirstAttempts.from_json(content)
            sums[number] = sums[number].merged(first) if number in sums else first
    return sums


def forget(store: Writing, experiment: str, source: str | None, now: float) -> int:
    """Take what a source has told out of the sums; with None all that was ever told. How many sources were it?

    One that was forgotten is told to begin anew when it comes again, as one that was added to others: what it has told
    is not taken in once more. The experiment has to be locked.
    """
    kept = store.expenses_sources(experiment)
    if source is not None and source not in kept:
        raise InvalidParameter(
            f"{source!r} is none of the sources that are kept apart; list them, or forget all that was told"
        )
    forgotten = kept if source is None else [source]
    for name in forgotten:
        store.save_expenses(experiment, Expenses(name, now, 0, None))
    store.forget_expenses(experiment, MOST_NAMES)
    return len(forgotten)


def sources_of(store: Reading, experiment: str) -> list[dict[str, Any]]:
    """What every source that is kept apart has told, in all of its arms, to find one that tells what cannot be."""
    return [_source_data(told) for told in store.expenses(experiment)]


def _source_data(told: Expenses) -> dict[str, Any]:
    firsts = [FirstAttempts.from_json(content) for content in (told.body or {}).values()]
    return {
        "source": told.source or None,
        "at": told.at,
        "tries": told.tries,
        "successes": sum(first.successes for first in firsts),
        "seconds": sum(first.seconds.total for first in firsts),
        "most_seconds": max((first.seconds.most or 0.0 for first in firsts), default=0.0) or None,
        "cost": sum(first.cost.total for first in firsts),
        "most_cost": max((first.cost.most or 0.0 for first in firsts), default=0.0) or None,
    }


@dataclass(frozen=True)
class Spendings:
    """What all sources have come to: the sums of every arm, in order.

    ``sources`` are those that are kept apart, ``at`` is when the last of them was heard. ``known_costs`` are those of
    the experiment's policy, if it has some.
    """

    firsts: Mapping[Label, FirstAttempts]
    sources: int
    at: float
    known_costs: Mapping[Label, float] | None

    @property
    def costs(self) -> str | None:
        """Are costs known, or measured? None if neither."""
        if self.known_costs is not None:
            return "known"
        return "measured" if any(first.cost.count for first in self.firsts.values()) else None

    @property
    def order(self) -> tuple[Label, ...] | None:
        """By success per cost; None without costs, or before there is enough of each arm."""
        return by_success_per_cost(self.firsts, self.known_costs)

    def estimates(
        self, confidence: float, labels: Sequence[Label] | None = None, pause: Callable[[], None] = lambda: None
    ) -> list[OptionEstimate]:
        """Of these arms, or of all, with a pause behind each."""
        known = self.known_costs or {}
        found = []
        for label in self.firsts if labels is None else labels:
            found.append(self.firsts[label].estimate(label, confidence, known.get(label)))
            pause()
        return found

    def shown(self) -> list[Label]:
        """The arms that a view shows: in order, or where there are many those with most successes per cost."""
        labels = list(self.firsts)
        if len(labels) <= MOST_SHOWN:
            return labels
        known = self.known_costs or {}

        def worth(label: Label) -> float:
            first = self.firsts[label]
            cost = known.get(label, first.cost.mean)
            return first.worth(1.0 if cost is None else cost) if first.tries else -math.inf

        return sorted(labels, key=worth, reverse=True)[:MOST_SHOWN]


def spendings_of(store: Reading, experiment: str, setup: Setup) -> Spendings | None:
    """What was told of an experiment; None if nothing was."""
    told = store.expenses(experiment)
    if not told:
        return None
    sums = _added(told)
    costs = setup.policy["parameters"].get("costs")
    return Spendings(
        {label: sums.get(str(number), FirstAttempts()) for number, label in enumerate(setup.arms)},
        sum(expenses.source != GONE for expenses in told),
        max(expenses.at for expenses in told),
        dict(zip(setup.arms, costs, strict=True)) if costs else None,
    )


def expenses_data(
    spendings: Spendings,
    confidence: float,
    labels: Sequence[Label] | None = None,
    pause: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """What is sent of them, ready for JSON."""
    order = spendings.order
    return {
        "confidence": confidence,
        "sources": spendings.sources,
        "at": spendings.at,
        "costs": spendings.costs,
        "order": None if order is None else list(order),
        "arms": len(spendings.firsts),
        "options": [_estimate_data(estimate) for estimate in spendings.estimates(confidence, labels, pause)],
    }


def nothing_told(arms: Sequence[Label], confidence: float) -> dict[str, Any]:
    """What is sent where no source has told anything."""
    return expenses_data(Spendings({label: FirstAttempts() for label in arms}, 0, 0.0, None), confidence) | {"at": None}


def _estimate_data(estimate: OptionEstimate) -> dict[str, Any]:
    content = asdict(estimate)
    for name, value in vars(estimate).items():
        if isinstance(value, Estimated):
            content[name] = value._asdict()
            if value.high is not None and not math.isfinite(value.high):
                content[name]["high"] = None  # JSON has no infinity; without a lower limit there is none at all
    return content


class ShownExpenses:
    """What a view shows of the expenses of experiments that are looked at. Read again when they have changed."""

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._kept: dict[str, tuple[float, tuple[float, ...], dict[str, Any] | None]] = {}

    def latest(self, experiment: str, setup: Setup) -> dict[str, Any] | None:
        """As they are sent, the same object as long as they are the same; None if there are none. Reads the store."""
        now = self._clock()
        kept = self._kept.get(experiment)
        if kept is not None and now < kept[0] + SECONDS_BETWEEN:
            return kept[2]
        with self._store.reading() as store:
            version = store.expenses_version(experiment)
            if kept is not None and version == kept[1]:
                shown = kept[2]
            else:
                spendings = spendings_of(store, experiment, setup)
                shown = None if spendings is None else expenses_data(spendings, CONFIDENCE, spendings.shown())
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[experiment] = (now, version, shown)
        return shown


class LimitsOfExpenses:
    """The expenses of an experiment as they are sent, with limits: reckoned once for what is on record.

    It takes a millisecond and more an arm, with a pause as long behind each, so that others get on meanwhile.
    """

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic, pause: Callable[[float], None] = sleep):
        self._store = store
        self._clock = clock
        self._pause = pause
        self._kept: OrderedDict[tuple[str, float], tuple[tuple[float, ...], bytes]] = OrderedDict()
        self._bytes = 0

    def latest(self, experiment: str, confidence: float) -> bytes:
        """As JSON. For one thread at a time."""
        with self._store.reading() as store:
            version = store.expenses_version(experiment)
            kept = self._kept.get((experiment, confidence))
            if kept is not None and kept[0] == version:
                self._kept.move_to_end((experiment, confidence))
                return kept[1]
            setup = store.record(experiment).setup
            spendings = spendings_of(store, experiment, setup)
        if spendings is None:
            content = nothing_told(setup.arms, confidence)
        else:
            content = expenses_data(spendings, confidence, pause=self._pausing())
        body = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
        self._keep((experiment, confidence), version, body)
        return body

    def _pausing(self) -> Callable[[], None]:
        since = self._clock()

        def pause() -> None:
            nonlocal since
            self._pause(max(self._clock() - since, 0.0))
            since = self._clock()

        return pause

    def _keep(self, key: tuple[str, float], version: tuple[float, ...], body: bytes) -> None:
        _, before = self._kept.pop(key, (version, b""))
        self._kept[key] = version, body
        self._bytes += len(body) - len(before)
        while self._bytes > MOST_BYTES_KEPT and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= len(oldest)
