"""Claims of benchmarks: what fails is named at the end, and is the exit status."""

from __future__ import annotations

import pytest

from tools.claims import Claims, enough_to_tell, mark_over


def test_claims_that_hold_are_said_to(capsys):
    claims = Claims()
    claims.check(True, "two is two: it is three")
    claims.report()
    assert capsys.readouterr().out == "all claims that are not about time hold\n"


def test_all_claims_that_failed_are_named_and_end_the_section():
    claims = Claims()
    claims.check(False, "every run ends: 3 did not")
    claims.check(True, "two is two: it is three")
    claims.check(False, "at most 1,050 plays: 1,100")
    with pytest.raises(SystemExit) as ended:
        claims.report()
    # A text is printed on standard error, and the status is 1.
    assert ended.value.code == "claim failed: every run ends: 3 did not\nclaim failed: at most 1,050 plays: 1,100"


@pytest.mark.parametrize(("trials", "delta", "enough"), [(90, 0.05, True), (89, 0.05, False), (2000, 0.05, True)])
def test_few_trials_cannot_tell_how_often_a_policy_is_wrong(trials, delta, enough):
    assert enough_to_tell(trials, delta) is enough


def test_times_above_their_limit_are_marked():
    assert (mark_over(1.51, 1.5), mark_over(1.5, 1.5)) == ("   over", "")
