"""How a report stands: is there a verdict, and does an alarm speak against it?"""

from __future__ import annotations

from typing import Literal

from linkedbandits.attempts.alarms import Alarm, speaks_against
from linkedbandits.attempts.report import Report


def objections(report: Report) -> tuple[Alarm, ...]:
    """The alarms that speak against the verdict of a report, or would against one that is still to come."""
    return tuple(alarm for alarm in report.alarms if speaks_against(alarm, report.attempts))


def standing(report: Report) -> Literal["decided", "doubted", "unproved", "not yet"]:
    """Is there a verdict, and can it be relied on?

    It is doubted where an alarm, or what was seen, speaks against it, and unproved where the policy named an option
    without a proved error bound.
    """
    if report.verdict is None:
        return "not yet"
    if not report.proved:
        return "unproved"
    return "doubted" if objections(report) or report.verdict.contradicted else "decided"
