"""What ``linkedbandits verdict`` prints for people: eighty columns are enough, and no figure is cut."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from linkedbandits.attempts.alarms import NO_MATTER_SAID, Alarm, numbered, speaks_against
from linkedbandits.attempts.cells import alike_in_words
from linkedbandits.attempts.concerning import objections
from linkedbandits.attempts.log import AttemptLog
from linkedbandits.attempts.report import CONFIDENCE, Report
from linkedbandits.attempts.wording import (
    OFFSETS,
    by_mean,
    evidence_in_words,
    first_shares_in_words,
    missing_by_mean,
    missing_in_words,
    offsets_table,
    order_caveat,
    order_in_words,
    prices_caveat,
    prices_tables,
    samples_called,
    set_aside_in_words,
    success_in_words,
    when_in_words,
)
from linkedbandits.cli import tables
from linkedbandits.cli.tables import Report as Printed

MOST_OPTIONS = 20
"""In the table, and in the order."""


@dataclass(frozen=True)
class WhatWasRead:
    """A file by its name, its rows, and the meanings of columns that the user has given."""

    name: str
    rows: int
    given: Collection[str]


def print_report(console: Printed, report: Report, read: WhatWasRead) -> None:
    """All of it."""
    _print_reading(console, report.log, read)
    _print_options(console, report)
    if len(report.estimates) > MOST_OPTIONS:
        console.print(f"The {MOST_OPTIONS} best of {len(report.estimates):,} options are shown; --json has them all.")
    if report.delta is not None and any(each.log10_evidence is not None for each in report.estimates):
        console.print(
            f"An option is out when the evidence against it reaches {1 / report.delta:.4g}, which is 1/delta."
        )
    console.print()
    console.print(report.sentence, style="bold")
    if report.verdict is not None and report.verdict.contradicted:
        console.print(f"What was seen speaks against: {', '.join(report.verdict.contradicted)}.", style="bold red")
    _print_missing(console, report)
    _print_prices(console, report)
    _print_order(console, report)
    against = objections(report)
    _print_alarms(console, "Alarm" if len(against) == 1 else "Alarms", against, report.log, remedies=True)
    others = [alarm for alarm in report.alarms if not speaks_against(alarm, report.attempts)]
    _print_alarms(console, NO_MATTER_SAID[report.attempts], others, report.log, remedies=False)
    _print_offsets(console, report)
    said = {f"{each}." for each in (*alike_in_words(report.log.options), *report.offsets)}  # above
    notes = [note for note in report.notes if not note.startswith("Set aside: ") and note not in said]
    if notes:
        _heading(console, "Notes")
        console.lines(notes)


def _print_reading(console: Printed, log: AttemptLog, read: WhatWasRead) -> None:
    rows = f"{read.rows:,} row{'s' if read.rows != 1 else ''}"
    when = when_in_words(log)
    console.print(f"{read.name}: {rows}, {log.requests:,} requests, {len(log.options):,} options", style="bold")
    if when is not None:
        console.print(f"from {when}" if " to " in when else f"over {when}")
    for said, pairs in (
        ("Columns, guessed from their names", [pair for pair in log.columns if pair[0] not in read.given]),
        ("Columns, as given", [pair for pair in log.columns if pair[0] in read.given]),
    ):
        if pairs:
            console.print(f"{said}: {', '.join(f'{meaning} is {column}' for meaning, column in pairs)}.")
    success = success_in_words(log)
    if success is not None:
        console.print(success)
    if log.set_aside:
        console.print("Set aside:")
        console.lines([f"{set_aside_in_words(each)}." for each in log.set_aside])
    for each in alike_in_words(log.options):
        console.print(f"{each}.", style="bold red")


def _print_options(console: Printed, report: Report) -> None:
    one_count = report.attempts == "all" or bool(report.costs)  # there is not always room for both
    counted = [samples_called(report.attempts), *([] if one_count else ["of all"])]
    costs = ["cost"] if report.costs else []
    headings = ("option", "works", f"({100 * CONFIDENCE:g} % limits)", *costs, *counted, "evidence")
    rows = []
    worth = {option: number for number, option in enumerate(report.log.options)}
    for each in by_mean(report.estimates)[:MOST_OPTIONS]:
        row = (
            str(each.option),
            "" if each.mean is None else f"{each.mean:.3f}",
            f"({each.low:.3f} to {each.high:.3f})",
            *([f"{report.costs[worth[each.option]]:g}"] if report.costs else []),
            tables.count(each.samples),
            *([] if one_count else [tables.count(each.attempts)]),
            evidence_in_words(each, report),
        )
        rows.append(row)
    console.table(headings, rows)


def _print_missing(console: Printed, report: Report) -> None:
    if not report.missing:
        return
    _heading(console, "Missing, if it goes on like this")
    shown = missing_by_mean(report)[:MOST_OPTIONS]
    more = len(report.missing) - len(shown)
    lines = [f"{each.option}: {missing_in_words(each, report.attempts)}" for each in shown]
    console.lines([*lines, f"and of {more:,} more options"] if more else lines)


def _print_prices(console: Printed, report: Report) -> None:
    tables = prices_tables(report)
    if not tables:
        return
    _heading(console, "Cost and time of an attempt")
    for headings, rows in tables:
        console.table(headings, rows[:MOST_OPTIONS])
    console.print(prices_caveat(report))


def _print_order(console: Printed, report: Report) -> None:
    order = report.order
    if order is None:
        return
    best, now = order_in_words(order)
    _heading(console, "The best order")
    more = len(order.options) - MOST_OPTIONS
    named = ", ".join(map(str, order.options[:MOST_OPTIONS])) + (f" and {more:,} more" if more > 0 else "")
    console.lines(
        [
            f"{named}: {best}.",
            f"In the log: {now}; it begins with {first_shares_in_words(report.log)}.",
            order_caveat(report, order),
        ],
    )


def _print_alarms(console: Printed, heading: str, alarms: Sequence[Alarm], log: AttemptLog, remedies: bool) -> None:
    """Those with the same remedy together."""
    if not alarms:
        return
    _heading(console, heading, style="bold red" if remedies else "")
    by_remedy: dict[str, list[str]] = {}
    for alarm in alarms:
        by_remedy.setdefault(alarm.remedy, []).append(alarm.sentence + _since_then(alarm, log))
    dependent = [alarm for alarm in alarms if alarm.kind == "dependence"]
    if len(dependent) > 1:  # a table has their figures
        by_remedy[dependent[0].remedy] = _of_several(dependent)
    for remedy, sentences in by_remedy.items():
        console.lines(sentences)
        if remedies:
            console.print(remedy, indent=2)


def _of_several(dependent: Sequence[Alarm]) -> list[str]:
    """What all of these say, in a line or two."""
    best_first = sorted(dependent, key=lambda alarm: -alarm.before.mean)  # as in the tables
    less = [str(alarm.option) for alarm in best_first if alarm.after.mean < alarm.before.mean]
    more = [str(alarm.option) for alarm in best_first if alarm.after.mean >= alarm.before.mean]
    return [
        f"Works {how} often after others have failed than as the first tried: {', '.join(options)}."
        for options, how in ((less, "less"), (more, "more"))
        if options
    ]


def _print_offsets(console: Printed, report: Report) -> None:
    """Where options depend on each other, by how much."""
    table = offsets_table(report)
    if table is None:
        return
    headings, rows = table
    console.print()
    console.print(OFFSETS)
    console.table(headings, rows[:MOST_OPTIONS])


def _since_then(alarm: Alarm, log: AttemptLog) -> str:
    """How to read what came after a change was noticed."""
    if alarm.kind != "drift":
        return ""
    said = f" Noticed at request {numbered(log, alarm.noticed)}"
    return said + (f": --since {alarm.noticed + 1} reads on." if alarm.noticed + 1 < log.requests else ".")


def _heading(console: Printed, said: str, style: str = "bold") -> None:
    console.print()
    console.print(said, style=style)
