"""How a report stands: which alarms speak against its verdict, and which are no matter for it.

What options do to each other does not concern a verdict from first attempts: those are samples of a mean whatever
depends on what. Duels hold under dependence, too, but not where an option does otherwise because of its place. Drift
and memory concern every verdict.
"""

from __future__ import annotations

from typing import Literal

from linkedbandits.attempts.alarms import Alarm
from linkedbandits.attempts.courses import Kind
from linkedbandits.attempts.log import Which
from linkedbandits.attempts.report import Report

NO_MATTER: dict[Which, frozenset[Kind]] = {
    "first": frozenset({"dependence", "position"}),
    "duels": frozenset({"dependence"}),
    "all": frozenset(),
}
"""The kinds of alarms that a verdict from these attempts does not mind."""


def speaks_against(alarm: Alarm, attempts: Which) -> bool:
    """Does a verdict from these attempts need what the alarm denies?

    >>> [kind for kind in ("drift", "dependence", "position", "memory") if kind not in NO_MATTER["first"]]
    ['drift', 'memory']
    """
    return alarm.kind not in NO_MATTER[attempts]


def objections(report: Report) -> tuple[Alarm, ...]:
    """The alarms that speak against the verdict of a report, or would against one that is still to come."""
    return tuple(alarm for alarm in report.alarms if speaks_against(alarm, report.attempts))


def standing(report: Report) -> Literal["decided", "doubted", "unproved", "not yet"]:
    """Is there a verdict, and can it be relied on?

    It is doubted where an alarm, or what was seen, speaks against it, and unproved where the policy stopped without its
    guarantee.
    """
    if report.verdict is None:
        return "not yet"
    if not report.proved:
        return "unproved"
    return "doubted" if objections(report) or report.verdict.contradicted else "decided"
