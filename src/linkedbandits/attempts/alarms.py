"""Alarms for what a verdict needs of a log, at level ``alpha`` in total: for all kinds, options and times together.

What is watched, how, and why it may be looked at whenever one likes is in ``courses.py``. Here the evidence becomes an
alarm, in words a reader can act on. With k kinds and n options the evidence of each has to reach k n/alpha; if nothing
is wrong each does so with probability at most alpha/(k n), ever, and so any of them does with at most alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import numpy as np

from linkedbandits.attempts.courses import (
    KINDS,
    Course,
    Groups,
    Kind,
    OfOption,
    Positions,
    courses,
    dependence_groups,
    dependence_weights,
    every_option,
    likeliest_changes,
    log_best_mean,
    log_evidence_of_drift,
    log_evidence_of_two,
    log_marginal,
    looks_within,
    memory_groups,
    one_option,
    position_groups,
)
from linkedbandits.attempts.log import AttemptLog, Which
from linkedbandits.checks import check_probability
from linkedbandits.display import short_repr
from linkedbandits.model import BoolArray, FloatArray, IntArray, Label

REMEDIES: dict[Kind, str] = {
    "drift": "Use the part of the log behind the request at which it was noticed, or a window that "
    "is short enough for means to stay; a verdict from all of it is about no time in particular.",
    "dependence": "Read first attempts only, or duels: both are fair where options fail together. All attempts "
    "together are not, because later options see the hard requests alone.",
    "position": "Look for what changes with the place in a chain: time-outs that shrink, retries, warm caches, "
    "rate limits. Until it is gone, read first attempts only.",
    "memory": "Look for outages and for requests that come in batches. Space out the attempts of an option, or count "
    "a batch once: outcomes in a row say less than as many apart.",
}
"""What to do about an alarm."""

NO_MATTER: dict[Which, frozenset[Kind]] = {
    "first": frozenset({"dependence", "position"}),
    "duels": frozenset({"dependence"}),
    "all": frozenset(),
}
"""The kinds of alarms that a verdict from these attempts does not mind.

What options do to each other does not concern a verdict from first attempts: those are samples of a mean whatever
depends on what. Duels hold under dependence, too, but not where an option does otherwise because of its place. Drift
and memory concern every verdict.
"""

NO_MATTER_SAID: dict[Which, str] = {
    "first": "What follows does not touch a verdict from first attempts: they are fair even where options fail "
    "together.",
    "duels": "What follows does not touch a verdict from duels: they are fair even where options fail together.",
    "all": "What follows does not touch the verdict.",
}
"""What stands before alarms that do not speak against a verdict."""

EARLIEST = datetime(1990, 1, 1, tzinfo=UTC).timestamp()
"""Times before that are no dates, but count from something else."""
MOST_DIGITS = 9
SURELY_ENOUGH = 2000
"""With as many attempts of the one kind and the other, evidence can reach any level that is in use."""


@dataclass(frozen=True)
class Rate:
    """How often attempts worked.

    >>> Rate(610, 1000).mean
    0.61
    """

    successes: int
    attempts: int

    __repr__ = short_repr

    @property
    def mean(self) -> float:
        """The share that worked; not a number where there are none."""
        return self.successes / self.attempts if self.attempts else float("nan")


@dataclass(frozen=True)
class Alarm:
    """What a log shows that a verdict from it could not bear.

    The most evidence that was reached is 10 to the power of ``log10_evidence``, and ``level`` would have been enough.
    Requests have their numbers in the log. ``noticed`` is where the level was reached; with kind and option that stays
    as it is when the log grows. All else is what the log says by now: ``since`` is the request with which it began, for
    drift that after the last change and else the first that it concerns; ``before`` and ``after`` are the rates that
    differ.
    """

    kind: Kind | Literal["losses"]
    option: Label
    log10_evidence: float
    level: float
    since: int
    noticed: int
    before: Rate
    after: Rate
    sentence: str
    remedy: str

    __repr__ = short_repr

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}"


def speaks_against(alarm: Alarm, attempts: Which) -> bool:
    """Does a verdict from these attempts need what the alarm denies?

    >>> [kind for kind in ("drift", "dependence", "position", "memory") if kind not in NO_MATTER["first"]]
    ['drift', 'memory']
    """
    return alarm.kind not in NO_MATTER[attempts]


def level_of(alpha: float, number: int, share: float = 1.0) -> float:
    """The part of ``alpha`` for the experiment with this number, from 0, in a line of successors.

    All of them add up to ``alpha``. ``share`` is that of this process, where several look for themselves.

    >>> level_of(0.01, 0), round(level_of(0.01, 1), 5)
    (0.005, 0.00167)
    """
    return alpha * share / ((number + 1) * (number + 2))


def watch(log: AttemptLog, alpha: float = 0.01) -> tuple[Alarm, ...]:
    """Every alarm in a log: kinds in the order of ``KINDS``, options in that of the log.

    If nothing is wrong there is one with probability at most ``alpha``, however often one looks as the log grows. An
    option that drifts can also raise an alarm of another kind, whose reason it then is: see to drift first.
    """
    check_probability("alpha", alpha)
    found = []
    for course in courses(log):
        noticed = first_over(course, level(log, alpha))
        if noticed is not None:
            found.append(_described(log, course, level(log, alpha), noticed))
    return tuple(found)


def level(log: AttemptLog, alpha: float) -> float:
    """The evidence that each kind and option needs for an alarm."""
    return len(KINDS) * max(len(log.options), 1) / alpha


def first_over(course: Course, needed: float) -> int | None:
    """The request at which a course first reaches so much evidence."""
    over = np.flatnonzero(course.log10_evidence >= np.log10(needed))
    return int(course.request[over[0]]) if over.size else None


# ------------------------------------------------------------------------------------------------------ in words


@dataclass(frozen=True)
class _Description:
    """What differs, and since when."""

    since: int
    before: Rate
    after: Rate
    sentence: str


def _described(log: AttemptLog, course: Course, needed: float, noticed: int) -> Alarm:
    about = _DESCRIBE[course.kind](one_option(log, log.number_of(course.option)))
    most = float(course.log10_evidence.max())
    return Alarm(
        course.kind,
        course.option,
        most,
        needed,
        about.since,
        noticed,
        about.before,
        about.after,
        about.sentence,
        REMEDIES[course.kind],
    )


def numbered(log: AttemptLog, request: int) -> str:
    """The number of a request, and its time where the log has that."""
    at = float("nan") if log.time is None else float(log.time[request])
    if not at >= EARLIEST:
        return f"{request:,}"
    try:
        return f"{request:,} ({datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC)"
    except (OverflowError, ValueError, OSError):
        return f"{request:,}"


def _rate(success: BoolArray) -> Rate:
    return Rate(int(success.sum()), int(success.size))


def _how(before: Rate, after: Rate) -> str:
    return "less often" if after.mean < before.mean else "more often"


def _both(after: Rate, before: Rate) -> tuple[str, str]:
    """The two means with two digits, or as many as it takes to tell them apart."""
    digits = 2
    while f"{after.mean:.{digits}f}" == f"{before.mean:.{digits}f}" and digits < MOST_DIGITS:
        digits += 1
    return f"{after.mean:.{digits}f}", f"{before.mean:.{digits}f}"


def _drift(option: OfOption) -> _Description:
    request, success = option.first_attempts()
    *earlier, last = likeliest_changes(success)
    since = int(request[last])
    start = earlier[-1] if earlier else 0
    before, after = _rate(success[start:last]), _rate(success[last:])
    now, then = _both(after, before)
    begin = numbered(option.log, since)
    sentence = f"Since request {begin} {_name(option)} works {_how(before, after)}: {now} instead of {then}"
    if earlier:
        places = " and ".join(numbered(option.log, int(request[cut])) for cut in earlier)
        sentence += f"; it had changed before, at request {places}"
    return _Description(since, before, after, sentence + ".")


def _dependence(option: OfOption) -> _Description:
    claim = dependence_groups(option)
    tried, worked = claim.totals()
    # Of the comparisons that the evidence is an average of, the one that says most.
    others = np.delete(np.arange(1, claim.groups), option.number)
    tried_behind, worked_behind = (np.append(count[1:].sum(), count[others]) for count in (tried, worked))
    evidence = log_evidence_of_two(tried[:1], worked[:1], tried_behind, worked_behind)
    chosen = int(np.argmax(evidence + np.log(dependence_weights(others.size))))
    before, after = Rate(int(worked[0]), int(tried[0])), Rate(int(worked_behind[chosen]), int(tried_behind[chosen]))
    if chosen:
        which = claim.group == others[chosen - 1]
        behind = f"on requests that {option.log.options[others[chosen - 1] - 1]!r} began and failed on"
    else:
        which = claim.group > 0
        behind = "after others have failed"
    later, alone = _both(after, before)
    sentence = f"{_name(option)} works {_how(before, after)} {behind}: {later} instead of {alone} as the first tried."
    return _Description(_first_of(claim, which), before, after, sentence)


def _position(option: OfOption) -> _Description:
    positions = position_groups(option)
    claim = positions.groups
    tried, worked = claim.totals()
    best = int(np.argmax(_evidence_of_sets(positions, tried, worked) + np.log(positions.weights)))
    orders = np.flatnonzero((positions.set_of == best) & (tried > 0)).tolist()
    pairs = [(one, other) for one in orders for other in orders if one < other]
    one, other = np.array(pairs).T
    best = int(np.argmax(log_evidence_of_two(tried[one], worked[one], tried[other], worked[other])))
    sooner, later = sorted(pairs[best], key=lambda group: _first_of(claim, claim.group == group))
    before, after = (Rate(int(worked[group]), int(tried[group])) for group in (sooner, later))
    names = [_order_of(option, int(positions.example[group])) for group in (sooner, later)]
    now, then = _both(after, before)
    sentence = (
        f"{_name(option)} works {_how(before, after)} after failures of {names[1]} in this order: {now} "
        f"instead of {then} after {names[0]}."
    )
    return _Description(_first_of(claim, claim.group == later), before, after, sentence)


def _evidence_of_sets(positions: Positions, tried: IntArray, worked: IntArray) -> FloatArray:
    """Of each set of options that failed, that their order matters, from all attempts."""
    sets = np.flatnonzero(np.diff(positions.set_of, prepend=-1))
    marginal = np.add.reduceat(log_marginal(worked, tried - worked), sets)
    tried, worked = np.add.reduceat(tried, sets), np.add.reduceat(worked, sets)
    evidence = marginal - log_best_mean(worked, tried - worked)
    evidence[np.bincount(positions.set_of) < 2] = -np.inf
    return evidence


def _order_of(option: OfOption, attempt: int) -> str:
    """The options that failed before one of its attempts, in order."""
    at, failures = int(option.at[attempt]), int(option.place[attempt])
    return ", ".join(repr(option.log.options[number]) for number in option.log.option[at - failures : at])


def _memory(option: OfOption) -> _Description:
    claim = memory_groups(option)
    tried, worked = claim.totals()
    before, after = Rate(int(worked[1]), int(tried[1])), Rate(int(worked[0]), int(tried[0]))
    now, then = _both(after, before)
    sentence = (
        f"{_name(option)} works {_how(before, after)} as the first tried if it failed the time before: {now} instead "
        f"of {then} if it worked."
    )
    return _Description(_first_of(claim, claim.group == 0), before, after, sentence)


def _name(option: OfOption) -> str:
    return repr(option.log.options[option.number])


def _first_of(claim: Groups, which: BoolArray) -> int:
    """The request of the first attempt of these."""
    return int(claim.request[np.argmax(which)])


_DESCRIBE: dict[Kind, Callable[[OfOption], _Description]] = {
    "drift": _drift,
    "dependence": _dependence,
    "position": _position,
    "memory": _memory,
}


# ------------------------------------------------------------------------------------------- what is not watched


def unchecked(log: AttemptLog, alpha: float = 0.01) -> tuple[str, ...]:
    """What could not be checked in this log, and how to route requests so that it can be.

    Something counts as checked if there are attempts enough for an alarm at level ``alpha``, were it as bad as can be.

    >>> print(*unchecked(AttemptLog.from_plays([(("a", "b"), "b")] * 500)), sep="\\n")
    Whether options depend on each other could not be checked, as they are always tried in one order: begin some \
requests, such as one of twenty, chosen at random, with another option.
    'b' was never the first tried, so whether it drifts or remembers could not be checked: begin some requests with it.
    """
    check_probability("alpha", alpha)
    if not len(log):
        return ("There are no attempts in this log, so nothing could be checked.",)
    needed = float(np.log(level(log, alpha)))
    every = list(every_option(log))
    found = _unchecked_dependence(log, every, needed)
    first = [int((option.place == 0).sum()) for option in every]
    never = [option for option, count in zip(every, first, strict=True) if not count]
    few = [option for option, count in zip(every, first, strict=True) if count and not _could_drift(count, needed)]
    if never:
        found.append(
            f"{_names(never)} {_was(never)} never the first tried, so whether {_it(never)} {_s(never, 'drift')} or "
            f"{_s(never, 'remember')} could not be checked: begin some requests with {_them(never)}."
        )
    if few:
        found.append(
            f"{_names(few)} {_was(few)} the first tried too few times to see whether {_it(few)} {_s(few, 'drift')} or "
            f"{_s(few, 'remember')}: begin more requests with {_them(few)}."
        )
    if len(log.options) > 2 and not any(_could_show_position(option, needed) for option in every):
        found.append(
            "Whether the order of earlier failures matters could not be checked, as no option was tried often enough "
            "behind the same failures in two orders: swap the first two options of some requests, chosen at random."
        )
    return tuple(found)


def _unchecked_dependence(log: AttemptLog, every: list[OfOption], needed: float) -> list[str]:
    if len(log.options) < 2:
        return []
    if log.in_one_order:
        return [
            "Whether options depend on each other could not be checked, as they are always tried in one order: begin "
            "some requests, such as one of twenty, chosen at random, with another option."
        ]
    counts = [(int((option.place == 0).sum()), int((option.place > 0).sum())) for option in every]
    rare = [
        option
        for option, (first, behind) in zip(every, counts, strict=True)
        if not _could_differ(first, behind, needed + np.log(2))
    ]
    if not rare:
        return []
    return [
        f"{_names(rare)} {_was(rare)} tried too few times as the first, or behind failures of others, to see whether "
        f"{_it(rare)} {_s(rare, 'depend')} on them: put {_them(rare)} first on some requests and later on others, at "
        "random."
    ]


def _could_differ(one: int, other: int, needed: float) -> bool:
    """Could two groups of these sizes bring so much evidence? They bring most if one never fails and one always."""
    counts = [np.array([count]) for count in (one, one, other, 0)]
    return bool(log_evidence_of_two(*counts)[0] >= needed)


def _could_drift(attempts: int, needed: float) -> bool:
    attempts = min(attempts, SURELY_ENOUGH)
    worst = np.arange(attempts) < attempts // 2
    return bool(log_evidence_of_drift(worst, looks_within(attempts)).max(initial=-np.inf) >= needed)


def _could_show_position(option: OfOption, needed: float) -> bool:
    positions = position_groups(option)
    if not positions.weights.size:
        return False
    tried, _ = positions.groups.totals()
    # As bad as can be: behind its most frequent order the option never fails, behind all others of the set always.
    sets = np.flatnonzero(np.diff(positions.set_of, prepend=-1))
    most = np.maximum.reduceat(tried, sets)[positions.set_of]
    evidence = _evidence_of_sets(positions, tried, np.where(tried == most, tried, 0))
    return bool((evidence + np.log(positions.weights)).max() >= needed)


def _names(options: Iterable[OfOption]) -> str:
    return ", ".join(map(_name, options))


def _was(options: list[OfOption]) -> str:
    return "were" if len(options) > 1 else "was"


def _it(options: list[OfOption]) -> str:
    return "they" if len(options) > 1 else "it"


def _them(options: list[OfOption]) -> str:
    return "them" if len(options) > 1 else "it"


def _s(options: list[OfOption], verb: str) -> str:
    return verb if len(options) > 1 else f"{verb}s"


# ----------------------------------------------------------------------------------------- what dependence costs


@dataclass(frozen=True)
class Offset:
    """How far the estimate of an option from all its attempts is off that from its first attempts.

    ``standard_error`` is that of the difference if requests are independent of each other.
    """

    option: Label
    first: Rate
    every: Rate

    __repr__ = short_repr

    @property
    def behind(self) -> Rate:
        """Of attempts after others had failed."""
        return Rate(self.every.successes - self.first.successes, self.every.attempts - self.first.attempts)

    @property
    def difference(self) -> float:
        """The estimate from all attempts less that from first attempts; not a number without first attempts."""
        return self.every.mean - self.first.mean

    @property
    def standard_error(self) -> float:
        """Of the difference. Attempts that were first are in both estimates, so it comes from the others' share."""
        behind = self.behind
        if not behind.attempts:
            return 0.0
        share = behind.attempts / self.every.attempts
        variances = [rate.mean * (1 - rate.mean) / max(rate.attempts, 1) for rate in (self.first, behind)]
        return float(share * np.sqrt(sum(variances)))

    def __str__(self) -> str:
        return (
            f"{self.option!r} works in {self.every.mean:.3f} of all its {self.every.attempts:,} attempts, and in "
            f"{self.first.mean:.3f} of its {self.first.attempts:,} first ones: {self.difference:+.3f} ± "
            f"{self.standard_error:.3f}"
        )


def offsets(log: AttemptLog) -> tuple[Offset, ...]:
    """For each option, how far off what all attempts say is from what first attempts say.

    >>> log = AttemptLog.from_plays([(("a", "b"), "a"), (("b", "a"), None), (("b", "a"), "b"), (("a", "b"), None)])
    >>> [(offset.option, round(offset.difference, 3)) for offset in offsets(log)]
    [('a', -0.167), ('b', -0.167)]
    """
    return tuple(
        Offset(log.options[option.number], _rate(option.success[option.place == 0]), _rate(option.success))
        for option in every_option(log)
    )
