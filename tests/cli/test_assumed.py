"""What the command line says under its tables of what policies take for granted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.cli.assumed import assumed_lines, assumes
from linkedbandits.linkage import LINKAGES

TOLD = Assumption("a told gap", "the gap is as told", "The best is ahead by 0.05.", "If not, leave the gap out.")


@dataclass(frozen=True)
class Told(lb.LinkedElimination):
    """Takes two things for granted."""

    def assumptions(self, linkage):
        return (*super().assumptions(linkage), TOLD)


def test_each_assumption_is_said_once_with_those_who_make_it():
    plain, told = lb.LinkedElimination(0.1), Told(0.1)
    free, single = LINKAGES["free"], LINKAGES["single"]
    independent, gap = assumed_lines([("plain", plain), ("told", told)], free)
    assert independent.startswith("All these policies assume independent options, and the simulated options are ")
    assert independent.endswith(INDEPENDENT_OPTIONS.remedy)
    assert gap == "told assumes a told gap. The best is ahead by 0.05. If not, leave the gap out."
    assert assumed_lines([("plain", plain)], single) == []
    (only,) = assumed_lines([("plain", plain), ("told", told), ("again", replace(told, delta=0.2))], single)
    assert only.startswith("told and again assume a told gap. ")
    (depending,) = assumed_lines([("plain", plain)], free, "those of this table do not keep to it")
    said = "plain assumes independent options; those of this table do not keep to it. "
    assert depending == said + INDEPENDENT_OPTIONS.remedy
    assert assumes(told, free) == ["independent options", "a told gap"]
