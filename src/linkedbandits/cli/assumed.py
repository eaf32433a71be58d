"""What policies take for granted, as the command line says it."""

from __future__ import annotations

from collections.abc import Iterable

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.linkage import Linkage
from linkedbandits.policies import POLICIES
from linkedbandits.policy import AnyPolicy, assumed_when_seen
from linkedbandits.runs import Runs

IN_HELP = f"{INDEPENDENT_OPTIONS.sentence} {INDEPENDENT_OPTIONS.remedy}"
"""For the help of commands that run linked policies."""


def assumed_in(runs: Runs, policy: AnyPolicy, linkage: Linkage) -> tuple[Assumption, ...]:
    """What a policy took for granted in simulated runs.

    A policy of the user's own may play one arm at a time where the linkage allows several. What it declares by default
    is then more than it needs: where no play tried a second arm, nothing was read behind a failure.
    """
    if POLICIES.get(policy.name) is type(policy):
        return policy.assumptions(linkage)
    return assumed_when_seen(policy, linkage, one_a_play=bool((runs.samples.sum(axis=1) == runs.plays).all()))


def names_of(assumed: Iterable[Assumption]) -> list[str]:
    """As JSON has them."""
    return [assumption.name for assumption in assumed]


def assumed_lines(shown: Iterable[tuple[str, Iterable[Assumption]]], dependence: str | None = None) -> list[str]:
    """What the policies of a table, each with the name it has there, take for granted: a paragraph an assumption.

    Simulated options are independent coins, so there this assumption holds, and the table cannot show what it is worth;
    unless ``dependence`` says how they depend on each other. Those who do not make it are named, if others do.

    >>> (line,) = assumed_lines([("linked-elimination", [INDEPENDENT_OPTIONS])])
    >>> line.partition(". ")[0]
    'linked-elimination assumes independent options, and the simulated options are independent'
    """
    shown = [(name, tuple(assumed)) for name, assumed in shown]
    assumed_by: dict[Assumption, list[str]] = {}
    for name, assumed in shown:
        for assumption in assumed:
            assumed_by.setdefault(assumption, []).append(name)
    return [
        _line(assumption, names, [name for name, assumed in shown if assumption not in assumed], dependence)
        for assumption, names in assumed_by.items()
    ]


def _line(assumption: Assumption, names: list[str], others: list[str], dependence: str | None) -> str:
    if len(names) == 1:
        subject = f"{names[0]} assumes"
    elif not others:
        subject = "All these policies assume"
    else:
        subject = f"{', '.join(names[:-1])} and {names[-1]} assume"
    if assumption == INDEPENDENT_OPTIONS:
        holds = ", and the simulated options are independent" if dependence is None else f"; {dependence}"
        not_so = "" if not others else f" {', '.join(others)} {'does' if len(others) == 1 else 'do'} not."
        return f"{subject} {assumption.name}{holds}.{not_so} {assumption.remedy}"
    return f"{subject} {assumption.name}. {assumption.sentence} {assumption.remedy}"
