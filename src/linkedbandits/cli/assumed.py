"""What policies take for granted, as the command line says it."""

from __future__ import annotations

from collections.abc import Iterable

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.linkage import Linkage
from linkedbandits.policy import AnyPolicy

IN_HELP = f"{INDEPENDENT_OPTIONS.sentence} {INDEPENDENT_OPTIONS.remedy}"
"""For the help of commands that run linked policies."""


def assumes(policy: AnyPolicy, linkage: Linkage) -> list[str]:
    """The names of what a policy takes for granted."""
    return [assumption.name for assumption in policy.assumptions(linkage)]


def assumed_lines(shown: Iterable[tuple[str, AnyPolicy]], linkage: Linkage, dependence: str | None = None) -> list[str]:
    """What the policies of a table, each with the name it has there, take for granted: a paragraph an assumption.

    Simulated options are independent coins, so there this assumption holds, and the table cannot show what it is worth;
    unless ``dependence`` says how they depend on each other.

    >>> from linkedbandits import LinkedElimination
    >>> from linkedbandits.linkage import find_linkage
    >>> (line,) = assumed_lines([("linked-elimination", LinkedElimination(0.1))], find_linkage("free"))
    >>> line.partition(". ")[0]
    'linked-elimination assumes independent options, and the simulated options are independent'
    """
    shown = list(shown)
    assumed_by: dict[Assumption, list[str]] = {}
    for name, policy in shown:
        for assumption in policy.assumptions(linkage):
            assumed_by.setdefault(assumption, []).append(name)
    return [_line(assumption, names, len(shown), dependence) for assumption, names in assumed_by.items()]


def _line(assumption: Assumption, names: list[str], of: int, dependence: str | None) -> str:
    if len(names) == 1:
        subject = f"{names[0]} assumes"
    elif len(names) == of:
        subject = "All these policies assume"
    else:
        subject = f"{', '.join(names[:-1])} and {names[-1]} assume"
    if assumption == INDEPENDENT_OPTIONS:
        holds = ", and the simulated options are independent" if dependence is None else f"; {dependence}"
        return f"{subject} {assumption.name}{holds}. {assumption.remedy}"
    return f"{subject} {assumption.name}. {assumption.sentence} {assumption.remedy}"
