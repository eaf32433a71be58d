"""What a log says of its options: the verdict or "not yet", and all that a decision in production needs beside it.

*The guarantee.* A verdict names an option that is not the best with probability at most delta, whoever chose what was
tried, if that choice used the past alone. It holds for all looks at a growing log together: a verdict on a prefix of
the log is the verdict on the log. The proof is in :mod:`linkedbandits.attempts.queues`. Estimates have limits that
hold at all times together, each with the confidence stated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, TOLD_DIFFERENCE, Assumption
from linkedbandits.attempts.alarms import NO_MATTER_SAID, Alarm, Offset, offsets, speaks_against, unchecked, watch
from linkedbandits.attempts.cells import alike_in_words
from linkedbandits.attempts.deciding import SEED, Answers, FromPairs, FromQueues, Reading, read_with, samples_of
from linkedbandits.attempts.log import AttemptLog, Which, seconds_in_words
from linkedbandits.attempts.orders import GivenCosts, Order, best_order, costs_of
from linkedbandits.attempts.outlook import Missing, outlook
from linkedbandits.attempts.prices import Prices, prices_of
from linkedbandits.attempts.queues import PairQueues, Queues
from linkedbandits.attempts.race import RaceOnALog
from linkedbandits.attempts.second_test import SHARE as SECOND_SHARE
from linkedbandits.attempts.second_test import Decided, decided_by_all_samples
from linkedbandits.checks import check_costs_of_arms, check_delta
from linkedbandits.display import Columns, WithFrames, counted, labels, number, paragraph, short_repr, table
from linkedbandits.errors import InvalidAttempts, InvalidParameter
from linkedbandits.figures.options import Known, draw_course, draw_known, height_for
from linkedbandits.figures.style import new_figure, new_panels
from linkedbandits.intervals import Estimated, anytime_interval
from linkedbandits.linkage import find_linkage
from linkedbandits.model import FloatArray, IntArray, Label, Verdict
from linkedbandits.policies import LinkedDuels
from linkedbandits.policy import AnyPolicy, Goal, check_is_policy

CONFIDENCE = 0.95
"""Of the limits of each estimate, at all times together."""
MOST_NAMED = 4
"""Of options that lead together, in a sentence."""


@dataclass(frozen=True)
class LogEstimate:
    """What the log says of one option: its mean, between ``low`` and ``high``.

    ``attempts`` are all on record, ``samples`` those that say something of the mean, ``read`` those of them that the
    verdict used. ``log10_evidence`` is what speaks against its being the best, None where that is not kept. ``cost``,
    ``seconds`` and ``success_per_cost`` are of those samples, None where nothing is known of them.
    """

    option: Label
    attempts: int
    samples: int
    successes: int
    read: int
    mean: float | None
    low: float
    high: float
    still_in: bool
    log10_evidence: float | None
    cost: Estimated | None = None
    seconds: Estimated | None = None
    success_per_cost: Estimated | None = None

    __repr__ = short_repr


@dataclass(frozen=True)
class Report(WithFrames):
    """A log, judged. ``verdict`` is None where it is not yet time for one, and ``missing`` says what for.

    ``order`` is the order to try all options in, ``alarms`` what speaks against what the verdict needs, ``notes`` what
    else a reader should know, among it what could not be checked. ``offsets`` says, where dependence was found, how far
    estimates from all attempts are off those from first ones. ``course`` has the evidence against each option, as a
    power of ten, after so many requests.
    """

    log: AttemptLog
    attempts: Which
    delta: float | None
    verdict: Verdict | None
    estimates: tuple[LogEstimate, ...]
    alarms: tuple[Alarm, ...]
    missing: tuple[Missing, ...]
    order: Order | None
    notes: tuple[str, ...]
    goal: Goal
    offsets: tuple[Offset, ...] = ()
    course: tuple[tuple[int, FloatArray], ...] = field(default=(), repr=False)
    costs: tuple[float, ...] = ()

    @property
    def proved(self) -> bool:
        """True if there is a verdict and its error bound is proved."""
        return self.verdict is not None and self.verdict.proved

    @property
    def sentence(self) -> str:
        """The answer in plain words."""
        in_time = "" if self.log.deadline is None else f" within {seconds_in_words(self.log.deadline)}"
        what = ("has most successes per cost" if self.costs else "works most often") + in_time
        if self.verdict is not None:
            several = self.verdict.top
            named = f"{', '.join(map(str, several[:-1]))} and {several[-1]}" if several else str(self.verdict.arm)
            if not self.proved:
                return (
                    f"{named} {'are' if several else 'is'} the answer of the policy, without a guarantee (it stopped "
                    f"after {self.verdict.plays:,} of {self.log.requests:,} requests)."
                )
            if self.goal.k > 1:
                found = f"{named} are the {self.goal.k} that work most often"
            elif self.goal.tolerance:
                found = f"{self.verdict.arm} is within {self.goal.tolerance:g} of what works most often"
            elif self.goal.neighbours:
                found = (
                    f"{self.verdict.arm} is within {counted(self.goal.neighbours, 'place')} of what works most often"
                )
            else:
                found = f"{self.verdict.arm} {what}"
            sure = f", wrong with probability at most {self.verdict.error_bound:g}"
            if_so = " if options are independent" if INDEPENDENT_OPTIONS.name in self.verdict.assumes else ""
            if TOLD_DIFFERENCE in self.verdict.assumes:
                if_so += f"{' and' if if_so else ' if'} it is ahead by as much as was told"
            after = f"decided after {self.verdict.plays:,} of {self.log.requests:,} requests"
            return f"{found}{sure}{if_so} ({after})."
        costs = self.costs or (1.0,) * len(self.estimates)
        worth = {each.option: (each.mean or 0.0) / cost for each, cost in zip(self.estimates, costs, strict=True)}
        most = max(worth.values(), default=0.0)
        ahead = [each for each in self.estimates if each.mean is not None and worth[each.option] == most]
        lead = f" {ahead[0].option} leads with {ahead[0].mean:.3g}." if ahead else ""
        if len(ahead) > 1:
            few = ", ".join(str(each.option) for each in ahead[:-1]) + f" and {ahead[-1].option}"
            lead = f" {few if len(ahead) <= MOST_NAMED else f'{len(ahead):,} options'} lead together."
        return f"Not yet: the log does not decide {self._looked_for(what)}.{lead}{self._how_long()}{self._split()}"

    def _split(self) -> str:
        """Samples that are missing may be those of the same option by another name."""
        return "".join(f" {said}." for said in alike_in_words(self.log.options))

    def _looked_for(self, what: str) -> str:
        """What a verdict would name."""
        if self.goal.k > 1:
            return f"which {self.goal.k} options work most often"
        if self.goal.tolerance:
            return f"on an option within {self.goal.tolerance:g} of what works most often"
        if self.goal.neighbours:
            return f"on an option within {counted(self.goal.neighbours, 'place')} of what works most often"
        return f"which option {what}"

    def _how_long(self) -> str:
        if not self.missing:
            return ""
        never = [each.option for each in self.missing if math.isinf(each.requests) and each.samples is not None]
        if never:
            kind = "attempts" if self.attempts == "all" else "first attempts"
            return f" It has no {kind} of {', '.join(map(str, never))} to go by."
        requests = max(each.requests for each in self.missing)
        if math.isinf(requests):
            return " No end is in sight: the best options are too close together."
        seconds = max((each.seconds or 0.0 for each in self.missing), default=0.0)
        lasts = f", {in_words(seconds)} at its rate" if seconds else ""
        return f" About {requests:,.0f} more requests are missing{lasts}."

    def to_json(self) -> dict[str, Any]:
        """All but the log itself, ready for ``json.dumps``."""
        return {
            "sentence": self.sentence,
            "requests": self.log.requests,
            "attempts_on_record": len(self.log),
            "attempts": self.attempts,
            "delta": self.delta,
            "deadline": self.log.deadline,
            "verdict": None if self.verdict is None else asdict(self.verdict),
            "proved": self.proved,
            "estimates": [_estimate_as_data(each) for each in self.estimates],
            "alarms": [asdict(each) for each in self.alarms],
            "missing": [_finite(asdict(each)) for each in self.missing],
            "order": None if self.order is None else asdict(self.order),
            "notes": list(self.notes),
            "offsets": [
                {"option": each.option, "difference": each.difference, "standard_error": each.standard_error}
                for each in self.offsets
                if not math.isnan(each.difference)
            ],
            "set_aside": [asdict(each) for each in self.log.set_aside],
            "noticed": list(self.log.noticed),
            "taken_for_success": list(self.log.taken_for_success),
            "course": [[requests, evidence.tolist()] for requests, evidence in self.course],
        }

    def __repr__(self) -> str:
        """The answer, and what else there is to read."""
        holds = f"{counted(self.log.requests, 'request')}, {counted(len(self.estimates), 'option')}"
        against, _ = self._alarms_in_two()
        kinds = ", ".join(dict.fromkeys(alarm.kind for alarm in against))
        alarms = f"{counted(len(against), 'alarm')} ({kinds})" if against else "no alarms"
        return f"Report({holds}, {alarms}, {counted(len(self.notes), 'note')}: {self.sentence})"

    def _repr_html_(self) -> str:
        rows = [
            (
                str(each.option),
                "-" if each.mean is None else number(each.mean),
                f"{each.low:.3g} - {each.high:.3g}",
                f"{each.samples:,}",
                f"{each.attempts:,}",
                "yes" if each.still_in else "no",
            )
            for each in self.estimates
        ]
        headings = ("option", "works", "95 % limits", "samples", "attempts", "still in")
        return table(self.sentence, headings, rows, *map(paragraph, self._said_besides()))

    def plot(self, ax: Any = None) -> Any:
        """How often each option works, between its limits of 95 %, and below it the evidence as the log is read.

        Returns the matplotlib figure, on white ground: ``savefig`` writes it, a notebook shows it. With ``ax`` the
        estimates alone are drawn there, and ``ax`` is returned.
        """
        known = [Known(str(each.option), each.mean, each.low, each.high, each.still_in) for each in self.estimates]
        if ax is not None:
            draw_known(ax, known)
            return ax
        height = height_for(len(known))
        if len(self.course) < 2 or self.delta is None:
            with new_figure(7.0, height) as (figure, axes):
                draw_known(axes, known)
            return figure
        with new_panels(2, 1, 7.0, height + 2.6, heights=(height, 2.6)) as (figure, (above, below)):
            draw_known(above, known)
            draw_course(below, [one.label for one in known], self.course, 1 / self.delta)
        return figure

    def _columns(self) -> Columns:
        """The estimates, a row for each option; what is known of costs and seconds as far as it is."""
        every = self.estimates
        plain = ("attempts", "samples", "successes", "read", "mean", "low", "high", "still_in", "log10_evidence")
        columns: Columns = {"option": labels(each.option for each in every)}
        columns |= {name: [getattr(each, name) for each in every] for name in plain}
        for name in ("cost", "seconds", "success_per_cost"):
            found = [getattr(each, name) for each in every]
            if any(one is not None for one in found):
                columns[name] = [None if one is None else one.mean for one in found]
                columns[f"{name}_low"] = [None if one is None else one.low for one in found]
                columns[f"{name}_high"] = [None if one is None else one.high for one in found]
        return columns

    def __str__(self) -> str:
        return "\n".join([self.sentence, *self._said_besides()])

    def _alarms_in_two(self) -> tuple[list[Alarm], list[Alarm]]:
        """Those that speak against the verdict, and those that are no matter for it."""
        against = [alarm for alarm in self.alarms if speaks_against(alarm, self.attempts)]
        return against, [alarm for alarm in self.alarms if alarm not in against]

    def _said_besides(self) -> list[str]:
        """What a reader of the answer should know, too."""
        against, others = self._alarms_in_two()
        said = [f"Alarm: {alarm.sentence} {alarm.remedy}" for alarm in against]
        if others:
            said.append(" ".join([NO_MATTER_SAID[self.attempts], *(alarm.sentence for alarm in others)]))
        sentence = self.sentence
        return [*said, *(note for note in self.notes if note not in sentence)]


def _estimate_as_data(estimate: LogEstimate) -> dict[str, Any]:
    figures = {name: getattr(estimate, name) for name in ("cost", "seconds", "success_per_cost")}
    named = {name: None if figure is None else _finite(figure._asdict()) for name, figure in figures.items()}
    return {**asdict(estimate), **named}


def _finite(data: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity."""
    return {key: None if isinstance(value, float) and math.isinf(value) else value for key, value in data.items()}


def in_words(seconds: float) -> str:
    """A time for people.

    >>> in_words(90), in_words(3 * 86_400 + 7_000)
    ('2 minutes', '3 days')
    """
    for size, name in ((86_400 * 365.25, "year"), (86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.0f} {name}s"
    return f"{seconds:.0f} seconds"


def report_on(
    log: AttemptLog,
    policy: AnyPolicy | None,
    *,
    delta: float,
    attempts: Which,
    independent: bool,
    costs: GivenCosts,
    alpha: float,
) -> Report:
    """See :meth:`linkedbandits.attempts.attempts.Attempts.verdict`."""
    _check(log, policy, delta, attempts, costs)
    by_order: GivenCosts = costs if policy is None else policy.goal.costs or costs
    if costs == "seconds":
        costs = ()  # what is measured is no cost that a verdict can weigh
    reading, queues = _read(log, policy, delta, attempts, tuple(costs))
    word_given = attempts != "all" or independent or not log.in_one_order
    verdict = of_race = _verdict_of(reading, log, attempts) if reading.stopped and word_given else None
    if policy is None and queues is not None and not costs and word_given:
        verdict = _sooner(verdict, decided_by_all_samples(queues, SECOND_SHARE * delta), delta, log, attempts)
    second = verdict is not of_race
    priced = prices_of(log, samples_of(log, attempts), by_order, CONFIDENCE)
    estimates = _estimates(log, attempts, reading, priced, None if verdict is None or not second else verdict.arm)
    means = np.array([(each.successes + 0.5) / (each.samples + 1.0) for each in estimates])
    left = queues.left if queues is not None else np.zeros(len(log.options), dtype=np.int64)
    rates = np.array([each.samples for each in estimates]) / max(log.requests, 1)
    alarms = watch(log, alpha)
    off = offsets(log) if any(alarm.kind == "dependence" for alarm in alarms) else ()
    forecast = outlook(
        reading,
        _as_it_goes_on(reading.policy, rates),
        _alike(estimates),
        log.options,
        left,
        rates,
        _seconds_a_request(log),
    )
    goal = reading.policy.goal
    bound = delta if policy is None else reading.policy.error_bound
    if bound is not None:
        linkage = "free" if attempts == "duels" else "single"
        log.note_look((reading.policy, linkage, None, attempts, log.options, SEED), bound)
    return Report(
        log=log,
        attempts=attempts,
        delta=goal.delta,
        verdict=verdict,
        estimates=estimates,
        alarms=alarms,
        missing=() if verdict is not None else forecast,
        order=best_order(
            log, means, by_order, attempts == "all", _settled_first(verdict, goal, costs_of(log, by_order))
        ),
        notes=_notes(log, attempts, word_given, reading, second)
        + tuple(_offset_in_words(each) for each in off if not math.isnan(each.difference)),
        goal=goal,
        offsets=off,
        course=tuple(reading.course),
        costs=tuple(goal.costs),
    )


def _check(log: AttemptLog, policy: AnyPolicy | None, delta: float, attempts: Which, costs: GivenCosts) -> None:
    if attempts not in ("first", "duels", "all"):
        raise InvalidParameter(f"attempts={attempts!r} is none of 'first', 'duels' and 'all'")
    if len(log.options) < 2:
        raise InvalidAttempts(
            f"the log has {len(log.options)} option{'s' if len(log.options) != 1 else ''}; to choose takes two"
        )
    if policy is not None:
        check_is_policy(policy, "LinkedDuels(0.05)" if attempts == "duels" else "LinkedElimination(0.05), or none")
        if costs and costs != "seconds":
            raise InvalidParameter("costs are the policy's, if one is given; use LinkedElimination(delta, costs=...)")
    check_delta(delta)
    if isinstance(costs, str) and costs != "seconds":
        raise InvalidParameter(f"costs={costs!r} are no numbers; give one for each option, or costs='seconds'")
    if costs == "seconds":
        if log.seconds is None or not np.isfinite(log.seconds).any():
            raise InvalidAttempts(
                "the log does not say how long attempts took; name the column that does, as in seconds='latency_ms', "
                "or leave out costs='seconds'"
            )
    elif costs:
        check_costs_of_arms(costs, len(log.options))
        if attempts == "duels":
            raise InvalidParameter("duels tell which option works most often, whatever it costs; leave out the costs")
    if attempts == "duels" and log.why_no_duels is not None:
        raise InvalidAttempts(f"{log.why_no_duels} (attempts='first')")


def _read(
    log: AttemptLog, policy: AnyPolicy | None, delta: float, attempts: Which, costs: tuple[float, ...]
) -> tuple[Reading, Queues | None]:
    if attempts == "duels":
        chosen = LinkedDuels(delta) if policy is None else policy
        return read_with(chosen.fitted_to(find_linkage("free"), None), log, _pairs(log)), None
    queues = Queues(log, samples_of(log, attempts))
    answers: Answers = FromQueues(queues)
    if policy is None:
        share = 1.0 if costs else 1.0 - SECOND_SHARE
        return read_with(RaceOnALog(delta, queues.shares, costs, share), log, answers), queues
    if policy.asks != "needs":
        raise InvalidAttempts(
            f"{type(policy).__name__} asks for {policy.asks}, which attempts={attempts!r} cannot answer; use "
            "attempts='duels' for LinkedDuels, or a policy that asks for needs, such as LinkedElimination"
        )
    return read_with(policy.fitted_to(find_linkage("single"), None), log, answers), queues


def _pairs(log: AttemptLog) -> Answers:
    return FromPairs(PairQueues(log), len(log.options))


def _assumed(policy: AnyPolicy, attempts: Which) -> tuple[Assumption, ...]:
    """What the policy takes for granted, with what was told to it, and what is by reading these attempts."""
    by_policy = policy.assumptions(find_linkage("free" if attempts == "duels" else "single"))
    return tuple(dict.fromkeys([*([INDEPENDENT_OPTIONS] if attempts == "all" else []), *by_policy]))


def _verdict_of(reading: Reading, log: AttemptLog, attempts: Which) -> Verdict:
    policy, state = reading.policy, reading.state
    top = policy.answer(state)[0]
    contradicted = policy.contradicted(state, top[:1])
    return Verdict(
        log.options[top[0]],
        policy.status_at_stop,
        reading.requests,
        policy.error_bound if policy.status_at_stop == "confident" else None,
        tuple(log.options[arm] for arm in top) if top.size > 1 else (),
        assumes=tuple(each.name for each in _assumed(policy, attempts)),
        contradicted=(TOLD_DIFFERENCE,) if contradicted is not None and bool(contradicted[0]) else (),
    )


def _sooner(
    verdict: Verdict | None, decided: Decided | None, delta: float, log: AttemptLog, attempts: Which
) -> Verdict | None:
    """The verdict of the race, or that of the second test if it comes sooner."""
    if decided is None or (verdict is not None and verdict.plays <= decided.requests):
        return verdict
    assumes = (INDEPENDENT_OPTIONS.name,) if attempts == "all" else ()
    return Verdict(log.options[decided.option], "confident", decided.requests, delta, assumes=assumes)


def _settled_first(verdict: Verdict | None, goal: Goal, costs: FloatArray) -> Label | None:
    """The option that a verdict with a guarantee gives the first place of an order to, if it does."""
    one_best = goal.k == 1 and not goal.tolerance and not goal.neighbours
    by_cost = bool(goal.costs) or bool((costs == costs[0]).all())
    return verdict.arm if verdict is not None and verdict.proved and one_best and by_cost else None


def _offset_in_words(offset: Offset) -> str:
    return f"{offset}."


def _estimates(
    log: AttemptLog, attempts: Which, reading: Reading, priced: Sequence[Prices], only: Label | None = None
) -> tuple[LogEstimate, ...]:
    options = len(log.options)
    chosen = samples_of(log, attempts)
    on_record = np.bincount(log.option, minlength=options)
    samples = np.bincount(log.option[chosen], minlength=options)
    successes = np.bincount(log.option[chosen], weights=log.success[chosen], minlength=options).astype(np.int64)
    read: IntArray = np.minimum(reading.answers.samples_read(), samples)
    evidence = reading.policy.log10_evidence(reading.state)
    found = []
    for option, label in enumerate(log.options):
        low, high = anytime_interval(int(successes[option]), int(samples[option]), CONFIDENCE)
        found.append(
            LogEstimate(
                label,
                int(on_record[option]),
                int(samples[option]),
                int(successes[option]),
                int(read[option]),
                float(successes[option] / samples[option]) if samples[option] else None,
                low,
                high,
                bool(reading.state.still_in[0, option]) if only is None else label == only,
                None if evidence is None else float(evidence[0, option]),
                *priced[option],
            )
        )
    return tuple(found)


def _as_it_goes_on(policy: AnyPolicy, rates: FloatArray) -> AnyPolicy:
    """The policy on more of the same log."""
    if isinstance(policy, RaceOnALog):
        known = np.where(rates > 0, rates, rates[rates > 0].min(initial=1.0))  # what was never tried has no rate
        return policy.with_shares(known / known.sum())
    return policy


def _alike(estimates: Sequence[LogEstimate]) -> FloatArray:
    """Means to go on with: the same for options that work equally often so far, however many samples they have.

    Half a success and half a failure are added to what they have together, so that no chance is 0 or 1.
    """
    together: dict[float | None, tuple[int, int]] = {}
    for each in estimates:
        successes, samples = together.get(each.mean, (0, 0))
        together[each.mean] = (successes + each.successes, samples + each.samples)
    return np.array([(together[each.mean][0] + 0.5) / (together[each.mean][1] + 1.0) for each in estimates])


def _seconds_a_request(log: AttemptLog) -> float | None:
    if log.time is None or log.requests < 2:
        return None
    lasted = float(np.nanmax(log.time) - np.nanmin(log.time))
    return lasted / (log.requests - 1) if lasted > 0 else None


def _notes(log: AttemptLog, attempts: Which, word_given: bool, reading: Reading, second: bool) -> tuple[str, ...]:
    notes = []
    if second:
        notes.append(
            "Decided by the test that uses all samples in whatever proportion they came; the evidence shown is that of "
            "the race, which waits for options that the log has few of."
        )
    remedies = {INDEPENDENT_OPTIONS: "If yours can fail together, read first attempts alone, or duels."}
    notes += [f"{each.sentence} {remedies.get(each, each.remedy)}" for each in _assumed(reading.policy, attempts)]
    contradicted = reading.policy.contradicted(reading.state, reading.state.arm[:1])
    if reading.stopped and contradicted is not None and bool(contradicted[0]):
        notes.append("What the log shows speaks against the difference that was told.")
    if not word_given:
        leads = log.options[int(reading.state.arm[0])] if reading.stopped else None
        named = f" If they are, {leads} is the best." if leads is not None else ""
        notes.append(
            "Options are always tried in one order here, so whether they are independent cannot be checked, and all "
            f"attempts decide nothing without your word for it (independent=True, or --independent).{named}"
        )
    firsts = np.bincount(log.option[log.first], minlength=len(log.options)) if len(log) else np.zeros(0)
    never = [str(log.options[option]) for option in np.flatnonzero(firsts == 0)]
    if never and attempts != "all":
        notes.append(
            f"Never tried first: {', '.join(never)}. Begin a small share of requests, chosen at random, with each of "
            "them, and the log will tell."
        )
    notes += unchecked(log)
    notes += [f"{each}." for each in log.noticed]
    notes += [f"Set aside: {each}." for each in log.set_aside]
    return tuple(notes)
