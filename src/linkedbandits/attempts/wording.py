"""Parts of a report in words that its page and the command line share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

import numpy as np

from linkedbandits.attempts.alarms import EARLIEST, Alarm
from linkedbandits.attempts.log import AttemptLog, Which, seconds_in_words
from linkedbandits.attempts.orders import Order, Unit
from linkedbandits.attempts.outlook import Missing
from linkedbandits.attempts.report import CONFIDENCE, LogEstimate, Report, in_words
from linkedbandits.attempts.set_aside import SetAside
from linkedbandits.intervals import Estimated

SUCCESSES_SHOWN = 6
SAME = 0.005
"""Shares that differ by less are shown as the same."""

READ: dict[Which, str] = {
    "first": "the first attempt of each request, which is a fair sample of its option even where options fail together",
    "duels": "the first two options of each request, as they were offered; that is fair even where options fail "
    "together",
    "all": "every attempt, which are samples of a mean only where options are independent of each other",
}
"""What a verdict is from."""

OFFSETS = "How often options work by when they were tried; \u00b1 is a standard error"
"""What stands above the table of that."""

UNITS: dict[Unit, str] = {"attempts": "attempts", "cost": "of cost", "seconds": "seconds"}
"""What a request takes, behind a number."""
MEASURED: dict[Unit, str] = {"attempts": "attempts", "cost": "costs", "seconds": "seconds"}

ALWAYS_NEEDED = (
    "Whoever chose what to try used the past alone, and nothing of the request itself: an option that is given the "
    "easy requests looks better than it is.",
    "An option works with a chance that stays, and whether it works on one request says nothing of the next. Alarms of "
    "drift and of memory watch that.",
)
"""What every verdict from a log takes for granted."""


def evidence_in_words(estimate: LogEstimate, report: Report) -> str:
    """What speaks against an option, in a word or a number."""
    if report.verdict is not None and estimate.option in (report.verdict.arm, *report.verdict.top):
        return "best" if report.proved else "answer"
    if not estimate.still_in:
        return "out" if report.verdict is None or report.proved else "dropped"
    if estimate.log10_evidence is None:
        return ""
    if estimate.log10_evidence < -2:
        return "< 0.01"
    return f"{10**estimate.log10_evidence:.3g}" if estimate.log10_evidence < 6 else f"1e{estimate.log10_evidence:.0f}"


def samples_called(attempts: Which) -> str:
    """What a verdict counts.

    >>> samples_called("duels")
    'first attempts'
    """
    return "attempts" if attempts == "all" else "first attempts"


def by_mean(estimates: Sequence[LogEstimate]) -> list[LogEstimate]:
    """The order of options in all tables and lists of a report: best first, those without samples last."""
    return sorted(estimates, key=lambda each: -1.0 if each.mean is None else each.mean, reverse=True)


def missing_by_mean(report: Report) -> list[Missing]:
    """What is missing, in the order of all tables."""
    place = {each.option: number for number, each in enumerate(by_mean(report.estimates))}
    return sorted(report.missing, key=lambda each: place[each.option])


def offsets_table(report: Report) -> tuple[list[str], list[list[str]]] | None:
    """How often options work as the first tried, after others have failed, and in all; None where that is the same."""
    by_option = {each.option: each for each in report.offsets if not math.isnan(each.difference)}
    found = [by_option[each.option] for each in by_mean(report.estimates) if each.option in by_option]
    if not found:
        return None
    return (
        ["option", "first tried", "after failures", "in all", "in all less first"],
        [
            [
                str(each.option),
                f"{each.first.mean:.3f}",
                f"{each.behind.mean:.3f}" if each.behind.attempts else "",
                f"{each.every.mean:.3f}",
                f"{each.difference:+.3f} \u00b1 {each.standard_error:.3f}",
            ]
            for each in found
        ],
    )


def prices_tables(report: Report) -> list[tuple[list[str], list[list[str]]]]:
    """What attempts cost, and how long they take: headings and rows, in the order of all tables."""
    by_seconds = report.order is not None and report.order.unit == "seconds"
    per_cost = ("success_per_cost", "works per second" if by_seconds else "works per cost")
    tables = (
        [[("seconds", "seconds"), per_cost]] if by_seconds else [[("cost", "cost"), per_cost], [("seconds", "seconds")]]
    )

    best_first = by_mean(report.estimates)
    return [
        (
            ["option", *(said for _, heading in columns for said in (heading, f"({100 * CONFIDENCE:g} % limits)"))],
            [
                [str(each.option), *(cell for name, _ in columns for cell in _estimated_cells(getattr(each, name)))]
                for each in best_first
            ],
        )
        for columns in tables
        if any(getattr(each, columns[0][0]) is not None for each in report.estimates)
    ]


def prices_caveat(report: Report) -> str:
    """What these figures are of, and what their limits are worth."""
    said = f"Means of {samples_called(report.attempts)}."
    if report.log.deadline is not None:
        said += f" Seconds count up to the deadline of {seconds_in_words(report.log.deadline)}."
    kinds = {"costs": [each.cost for each in report.estimates], "seconds": [each.seconds for each in report.estimates]}
    if report.order is not None and report.order.unit == "seconds":
        del kinds["costs"]
    unproved = [kind for kind, them in kinds.items() if any(each is not None and not each.proved for each in them)]
    if unproved:
        said += (
            f" Limits of {' and of '.join(unproved)} hold for those who begin to look after enough attempts; how many "
            "that are cannot be said where there is no upper limit."
        )
    return said


def _estimated_cells(figure: Estimated | None) -> list[str]:
    if figure is None:
        return ["", ""]
    if figure.low is None or figure.high is None:
        return [f"{figure.mean:.3g}", "too few"]
    if figure.low == figure.high:
        return [f"{figure.mean:.4g}", "given"]
    return [f"{figure.mean:.3g}", f"({figure.low:.3g} to {figure.high:.3g})"]


def missing_in_words(missing: Missing, attempts: Which) -> str:
    """What is missing of one option, and how long it takes until it is there."""
    kind = samples_called(attempts)
    if missing.samples is None:
        return f"more {kind}, with no end in sight"
    wanted = f"about {missing.samples:,} more {kind}" if missing.samples != 1 else f"about 1 more {kind[:-1]}"
    if math.isinf(missing.requests):
        return f"{wanted}, and the log has none"
    lasts = f", {in_words(missing.seconds)} at its rate" if missing.seconds else ""
    return f"{wanted}: {missing.requests:,.0f} more requests{lasts}"


def order_in_words(order: Order) -> tuple[str, str]:
    """What the best order comes to, and what the log comes to: success, cost and time of a request."""

    def said(success: float, cost: float, seconds: float | None) -> str:
        figure = f"{cost:.2f} attempts" if order.unit == "attempts" else f"{cost:.4g} {UNITS[order.unit]}"
        lasts = "" if seconds is None or order.unit == "seconds" else f" and {seconds:.3g} seconds"
        return f"{100 * success:.1f} % of requests succeed, with {figure}{lasts} each"

    return said(order.success, order.cost, order.seconds), said(order.success_now, order.cost_now, order.seconds_now)


def order_caveat(report: Report, order: Order) -> str:
    """What of the order is decided, and what its figures take for granted."""
    said = "The first place is decided, the others are estimates." if order.settled else "All of it is an estimate."
    if not order.settled and report.proved and order.unit != "attempts" and not report.costs:
        said = (
            f"It goes by successes for the {MEASURED[order.unit]} measured, which is an estimate; the verdict does not."
        )
    if report.log.deadline is not None:
        said += (
            " It is for a chain that goes on to the next option when the deadline is over. The log did not, so what "
            "works behind a success that came too late is taken from requests on which others failed."
        )
    worth = [place.success / place.cost for place in order.places]
    if any(later > earlier * (1 + SAME) for earlier, later in pairwise(worth)):
        said += (
            " Each place goes to what is expected to work best on the requests that are left there. These are others "
            "at every place, so an option may work more often at its own than one before it does."
        )
    if not order.partly_guessed or len(order.places) < 2:
        return said
    if report.attempts != "all":
        said += " Behind failures that the log has hardly seen, an option is taken to work as behind as many others."
    else:
        said += " Options are taken to be independent."
    if any(alarm.kind == "dependence" and alarm.after.mean < alarm.before.mean for alarm in report.alarms):
        said += " They fail together here, so less than that will succeed."
    return said


def set_aside_in_words(found: SetAside) -> str:
    """What was set aside, in which lines, and why.

    >>> print(set_aside_in_words(SetAside("torn rows", "a row has to be whole", 7, (2, 3, 5))))
    torn rows: 7 rows, in lines 2, 3, 5 and so on; a row has to be whole
    """
    rows = f"{found.rows:,} row{'s' if found.rows != 1 else ''}"
    if not found.lines:
        return f"{found.what}: {rows}; {found.rule}"
    in_files: dict[str, list[int]] = {}
    for line, file in zip(found.lines, found.files or [""] * len(found.lines), strict=True):
        in_files.setdefault(file, []).append(line)
    where = "in " + " and ".join(
        f"line{'s' if len(lines) > 1 or found.rows > len(found.lines) else ''} "
        + ", ".join(f"{line:,}" for line in lines)
        + (f" of {file}" if file else "")
        for file, lines in in_files.items()
    )
    where += " and so on" if found.rows > len(found.lines) else ""
    return f"{found.what}: {rows}, {where}; {found.rule}"


def success_in_words(log: AttemptLog) -> str | None:
    """What was taken for a success; None where the log has no outcomes to take for one.

    >>> from dataclasses import replace
    >>> log = AttemptLog.from_plays([(("a",), "a")])
    >>> log = replace(log, columns=(("outcome", "error"),), taken_for_success=("", "0"))
    >>> success_in_words(log)
    "Taken for a success in error: nothing at all, '0'."
    """
    column = dict(log.columns).get("outcome")
    if column is None:
        return None
    words = [repr(word) if word else "nothing at all" for word in log.taken_for_success]
    more = f" and {len(words) - SUCCESSES_SHOWN} more" if len(words) > SUCCESSES_SHOWN else ""
    return f"Taken for a success in {column}: {', '.join(words[:SUCCESSES_SHOWN]) or 'none of its values'}{more}."


def noticed_in_words(alarm: Alarm) -> str:
    """When an alarm was noticed, and how much evidence there is."""
    reached = f"{10**alarm.log10_evidence:,.0f}" if alarm.log10_evidence < 6 else f"1e{alarm.log10_evidence:.0f}"
    return (
        f"Noticed at request {alarm.noticed:,}; its evidence is {reached}, where {alarm.level:,.0f} is enough for an "
        "alarm."
    )


def when_in_words(log: AttemptLog) -> str | None:
    """From when to when a log is; None where it has no times."""
    if log.time is None or not np.isfinite(log.time).any():
        return None
    begin, end = float(np.nanmin(log.time)), float(np.nanmax(log.time))
    if begin < EARLIEST:
        return in_words(end - begin)
    try:
        first, last = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M") for at in (begin, end))
    except (OverflowError, ValueError, OSError):
        return in_words(end - begin)
    return f"{first} to {last} UTC"


def first_shares_in_words(log: AttemptLog) -> str:
    """Which options requests begin with, in the log."""
    shares = np.bincount(log.option[log.first], minlength=len(log.options)) / max(log.requests, 1)
    most = np.argsort(-shares, kind="stable")[:4]
    named = [f"{log.options[option]} {100 * shares[option]:.0f} %" for option in most if shares[option] > 0]
    more = int((shares > 0).sum()) - len(named)
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
