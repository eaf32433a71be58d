"""Which alarms speak against a verdict."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.attempts.alarms import NO_MATTER, speaks_against
from linkedbandits.attempts.concerning import objections, standing
from linkedbandits.attempts.courses import KINDS
from tests.support.logs import log_of


@pytest.mark.parametrize(
    ("attempts", "minded"),
    [("first", {"drift", "memory"}), ("duels", {"drift", "memory", "position"}), ("all", {*KINDS})],
)
def test_what_a_verdict_minds_depends_on_what_it_is_from(attempts, minded):
    assert {*KINDS} - NO_MATTER[attempts] == minded


def test_options_that_fail_together_are_an_objection_only_where_all_attempts_are_read():
    log = log_of([0.9, 0.8, 0.6], 3000, difficulty=0.3)
    first, every = (log.verdict(attempts=which) for which in ("first", "all"))
    assert {alarm.kind for alarm in first.alarms} == {"dependence"}
    assert objections(first) == ()
    assert objections(every) == every.alarms
    assert all(speaks_against(alarm, "all") and not speaks_against(alarm, "duels") for alarm in every.alarms)


def test_drift_is_an_objection_always():
    log = log_of([0.9, 0.5], 2000, since=1000, then=[0.5, 0.5])
    for which in ("first", "duels", "all"):
        report = log.verdict(attempts=which)
        assert {(alarm.kind, alarm.option) for alarm in objections(report)} >= {("drift", "a")}


def test_how_a_report_stands():
    clear = log_of([0.9, 0.5], 400)
    assert standing(clear.verdict()) == "decided"
    assert standing(log_of([0.5, 0.52], 60).verdict()) == "not yet"
    assert standing(clear.verdict(lb.UniformSampling(samples=50))) == "unproved"
    assert standing(log_of([0.9, 0.5], 2000, since=1500, then=[0.5, 0.5]).verdict()) == "doubted"
    assert standing(log_of([0.5] * 6, 3000).verdict(lb.LinkedLead(1e-6, gap=0.3))) == "doubted"
