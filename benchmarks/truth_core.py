"""What verdicts claim, measured: told differences, policies without a bound, statuses, linkages, upgrades."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from unittest.mock import patch

import numpy as np

import linkedbandits as lb
from linkedbandits.policies import linked_duels, linked_elimination
from tools.claims import Claims, Row

TRIALS = 1_000
RUNS = 120
LEVEL = 0.1
PLAYS_OF_A_VERSION = 100
VERSIONS = 6


def of_told_differences(claims: Claims) -> Iterator[Row]:
    """A gap of .5 is told, and .001 is true: wrong as often as chance has it, and said to rest on what was told."""
    policy = lb.LinkedEGE(0.05, gap=0.5, median="fresh")
    runs = lb.simulate([0.5, 0.501], policy, trials=TRIALS, seed=1)
    verdict = lb.Experiment("ab", policy).recommend()
    listed = "told difference" in verdict.assumes
    claims.check(listed, "LinkedEGE lists the gap that it was told")
    yield "LinkedEGE(gap=.5, fresh) at a gap of .001: wrong", "31 %", f"{runs.error_rate():.0%}"
    yield "and its verdict lists the told difference", "no", "yes" if listed else "no"


def of_policies_without_a_bound(claims: Claims) -> Iterator[Row]:
    """What is said of runs that stopped by themselves."""
    for policy in (lb.LilUCB(0.05), lb.LinkedEGE(0.05), lb.UniformSampling(delta=0.05, calibration="plain")):
        runs = lb.simulate([0.2, 0.8], policy, trials=20)
        said = runs.summary().in_words()
        claims.check(not runs.proved.any(), f"{policy.name} proves nothing")
        yield f"{policy.name}: with a proved guarantee", "100 %", said["with a proved guarantee"]


def of_surprises(claims: Claims) -> Iterator[Row]:
    """The recommended policy as a newcomer types it."""
    exp = lb.Experiment("ab", lb.LinkedDuels(0.05))
    claims.check(exp.linkage == "free", "LinkedDuels brings its linkage")
    claims.check(exp.recommend().status == "running", "an undecided experiment is running")
    yield "Experiment(arms, LinkedDuels(.05))", "LinkageMismatch", f"linkage {exp.linkage}"
    yield "undecided without a budget: status", "budget", exp.recommend().status


def of_upgrades(claims: Claims) -> Iterator[Row]:
    """Two equal options; every hundred plays another version takes over. How often is the first dropped?"""
    for kind in (lb.LinkedDuels, lb.LinkedElimination):
        dropped = sum(_dropped_under_upgrades(kind(LEVEL), seed) for seed in range(RUNS))
        claims.check(dropped <= LEVEL * RUNS + 3 * np.sqrt(LEVEL * RUNS), f"{kind.__name__} keeps delta over upgrades")
        now = f"{dropped} of {RUNS}"
        yield f"{kind.__name__}({LEVEL:g}), {VERSIONS} upgrades: the first dropped", "read again at full delta", now


def _dropped_under_upgrades(policy: lb.policy.AnyPolicy, seed: int) -> bool:
    rng = np.random.default_rng(seed)
    exp = lb.Experiment("ab", policy, seed=seed)
    for version in range(VERSIONS):
        growth = 0.04 if version % 2 else 0.02
        with ExitStack() as version_of:
            version_of.enter_context(patch.object(linked_elimination, "GROWTH", growth))
            version_of.enter_context(patch.object(linked_duels, "GROWTH", growth))
            exp = lb.Experiment.from_json(exp.to_json())
            for _ in range(PLAYS_OF_A_VERSION):
                if exp.done:
                    return bool(exp.recommend().arm == "b")
                play = exp.ask()
                exp.tell(play.id, next((arm for arm in play.arms if rng.random() < 0.5), None))
    return False


MEASURES = (of_told_differences, of_policies_without_a_bound, of_surprises, of_upgrades)
