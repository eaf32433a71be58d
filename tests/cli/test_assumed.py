"""What the command line says under its tables of what policies take for granted."""

from __future__ import annotations

from dataclasses import dataclass

import linkedbandits as lb
from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.cli.assumed import assumed_in, assumed_lines, names_of
from linkedbandits.linkage import LINKAGES

TOLD = Assumption("a told gap", "the gap is as told", "The best is ahead by 0.05.", "If not, leave the gap out.")


@dataclass(frozen=True)
class Told(lb.LinkedElimination):
    """Takes two things for granted."""

    def assumptions(self, linkage):
        return (*super().assumptions(linkage), TOLD)


def test_each_assumption_is_said_once_with_those_who_make_it():
    plain, told = (policy.assumptions(LINKAGES["free"]) for policy in (lb.LinkedElimination(0.1), Told(0.1)))
    told_alone = Told(0.1).assumptions(LINKAGES["single"])
    independent, gap = assumed_lines([("plain", plain), ("told", told)])
    assert independent.startswith("All these policies assume independent options, and the simulated options are ")
    assert independent.endswith(INDEPENDENT_OPTIONS.remedy)
    assert gap == "told assumes a told gap. The best is ahead by 0.05. If not, leave the gap out."
    assert assumed_lines([("plain", ())]) == []
    (only,) = assumed_lines([("plain", ()), ("told", told_alone), ("again", told_alone)])
    assert only.startswith("told and again assume a told gap. ")
    (depending,) = assumed_lines([("plain", plain)], "those of this table do not keep to it")
    said = "plain assumes independent options; those of this table do not keep to it. "
    assert depending == said + INDEPENDENT_OPTIONS.remedy
    assert names_of(told) == ["independent options", "a told gap"]


def test_those_who_do_not_assume_independence_are_named_beside_those_who_do():
    (line,) = assumed_lines([("one", [INDEPENDENT_OPTIONS]), ("mine", ()), ("other", ())])
    assert line.startswith("one assumes independent options, and the simulated options are independent. mine, other do")
    assert line.endswith(f" not. {INDEPENDENT_OPTIONS.remedy}")


@dataclass
class RoundAndRound(lb.PlainPolicy):
    """So many arms a play, in turn, and then whichever it saw first."""

    at_once: int = 1
    plays: int = 12

    def begin(self, arms, seed):
        self.told = 0

    def ask(self):
        return tuple(range(self.at_once))

    def tell(self, arms, hit):
        self.told += 1

    @property
    def done(self):
        return self.told >= self.plays

    def best(self):
        return 0


def test_one_of_your_own_that_plays_an_arm_at_a_time_does_not_assume_independence():
    ordered, means = LINKAGES["ordered"], [0.3, 0.5]
    for at_once, assumed in ((1, ()), (2, (INDEPENDENT_OPTIONS,))):
        policy = RoundAndRound(at_once)
        assert assumed_in(lb.simulate(means, policy, trials=5), policy, ordered) == assumed


def test_a_policy_of_the_library_is_taken_at_its_word():
    policy = lb.UniformSampling(samples=1)
    runs = lb.simulate([1.0, 1.0], policy, trials=5, linkage="ordered")
    assert (runs.samples.sum(axis=1) == runs.plays).all()
    assert assumed_in(runs, policy, LINKAGES["ordered"]) == (INDEPENDENT_OPTIONS,)
