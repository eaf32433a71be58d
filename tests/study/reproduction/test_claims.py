"""Claims are decided by the table: where they hold, hold from some n, fail, or cannot be decided."""

from __future__ import annotations

import pytest

from linkedbandits.study.reproduction.claims import CLAIMS, judge
from linkedbandits.study.reproduction.grid import DEFAULT, EGE, EGE_FRESH, MAXIMAL, UNIFORM

pl = pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")

ARMS = (2, 10, 20, 100, 200)
LOWER = {arms: 10.0 * arms for arms in ARMS}
PLAYS = {  # times the lower bound; in this world the paper is right everywhere, under both accountings
    "one-sparse": {MAXIMAL: 200.0, UNIFORM: 100.0, EGE: 110.0, EGE_FRESH: 120.0, DEFAULT: 4.0},
    "decreasing": {MAXIMAL: 100.0, UNIFORM: 300.0, EGE: 120.0, EGE_FRESH: 130.0, DEFAULT: 4.0},
    "increasing": {MAXIMAL: 900.0, UNIFORM: 500.0, EGE: 100.0, EGE_FRESH: 120.0, DEFAULT: 4.0},
}


def table(change=None):
    """The world above; ``change`` may alter a row, given its scenario, arms and policy."""
    rows = []
    for scenario, policies in PLAYS.items():
        for arms in ARMS:
            for policy, times in policies.items():
                row = {
                    "family": scenario,
                    "arms": arms,
                    "policy": policy,
                    "plays_mean": times * LOWER[arms],
                    "lower_bound": LOWER[arms],
                    "confident": 1.0,
                    "samples_spread": 1.01,
                    "near_over_far": 10.0,
                    "gap_law_spread": 1.2,
                    "allocation_price": 1.3,
                }
                row.update((change and change(scenario, arms, policy)) or {})
                row = {"plays_low": 0.98 * row["plays_mean"], "plays_high": 1.02 * row["plays_mean"], **row}
                rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def verdicts(change=None, accounting=EGE):
    """The verdict of each claim, under one accounting where there are two."""
    return [finding.verdict for finding in judge(table(change)) if finding.accounting in (accounting, None)]


def test_where_the_paper_is_right_every_claim_holds():
    for accounting in (EGE, EGE_FRESH):
        assert verdicts(accounting=accounting) == ["holds"] * len(CLAIMS)


def changed(scenario, policies, arms=ARMS, **values):
    """Give some rows other values; ``times`` is their plays over the lower bound, a number or a function of n."""
    times = values.pop("times", None)

    def change(here, number, policy):
        if here != scenario or policy not in policies or number not in arms:
            return None
        if times is None:
            return values
        factor = times(number) if callable(times) else times
        return {"plays_mean": factor * LOWER[number], **values}

    return change


@pytest.mark.parametrize(
    ("number", "change", "verdict"),
    [
        (0, changed("one-sparse", [EGE], times=300.0), "does not hold"),
        (0, changed("one-sparse", [EGE], arms=(2, 10), times=300.0), "holds from n = 20"),
        (0, changed("one-sparse", [EGE], times=40.0), "does not hold"),
        (0, changed("one-sparse", [EGE], times=199.0), "cannot be decided"),
        (1, changed("one-sparse", [UNIFORM, EGE], times=lambda n: 100.0 * n**0.5), "does not hold"),
        (1, changed("one-sparse", [UNIFORM], arms=(2,), times=30.0), "holds from n = 10"),
        (2, changed("one-sparse", [EGE], arms=(100, 200), samples_spread=3.0), "holds up to n = 20"),
        (2, changed("one-sparse", [UNIFORM], samples_spread=3.0), "does not hold"),
        (3, changed("one-sparse", [UNIFORM], allocation_price=2.5), "does not hold"),
        (4, changed("decreasing", [MAXIMAL], gap_law_spread=4.0), "does not hold"),
        (5, changed("decreasing", [MAXIMAL], arms=(2,), allocation_price=3.0), "holds from n = 10"),
        (6, changed("decreasing", [UNIFORM], times=50.0), "does not hold"),
        (6, changed("decreasing", [EGE], arms=(2,), times=50.0), "holds from n = 10"),
        (7, changed("decreasing", [EGE], times=lambda n: 100.0 * n), "does not hold"),
        (8, changed("decreasing", [EGE], times=lambda n: 110.0 if n == 2 else 300.0), "does not hold"),
        (8, changed("decreasing", [EGE], times=lambda n: 300.0 if n < 100 else 110.0), "holds from n = 100"),
        (9, changed("increasing", [EGE], arms=(2, 10), times=2000.0), "holds from n = 20"),
        (9, changed("increasing", [EGE], times=600.0), "does not hold"),
        (10, changed("increasing", [EGE], arms=(2,), near_over_far=1.0), "holds from n = 10"),
        (10, changed("increasing", [EGE], near_over_far=1.0), "does not hold"),
    ],
)
def test_a_claim_follows_the_table_and_no_other_claim_of_another_scenario_does(number, change, verdict):
    found = verdicts(change)
    assert found[number] == verdict
    for claim, other in zip(CLAIMS, found, strict=True):
        if claim.scenario != CLAIMS[number].scenario:
            assert other == "holds"


def test_the_other_accounting_is_judged_by_its_own_rows():
    change = changed("increasing", [EGE_FRESH], times=5000.0)
    assert verdicts(change)[9] == "holds"
    assert verdicts(change, EGE_FRESH)[9] == "does not hold"


def test_runs_that_did_not_finish_count_as_needing_more():
    endless = changed("increasing", [MAXIMAL], confident=0.0)
    assert verdicts(endless)[9] == "holds"  # the others are ahead of it already
    both = changed("decreasing", [MAXIMAL, EGE], arms=(200,), confident=0.0)
    finding = next(finding for finding in judge(table(both)) if finding.claim is CLAIMS[8])
    assert str(finding.figures[200]) == "unknown"
    assert finding.verdict == "holds"
    leader_unfinished = changed("increasing", [EGE], confident=0.5)
    assert verdicts(leader_unfinished)[9] == "cannot be decided"


def test_figures_about_samples_need_finished_runs():
    unsampled = changed("decreasing", [MAXIMAL], gap_law_spread=None)
    assert verdicts(unsampled)[4] == "cannot be decided"


def test_the_quotations_are_short_and_the_questions_say_the_numbers():
    for claim in CLAIMS:
        assert len(claim.quotation) < 90
        assert claim.question.endswith("?")
        for limit in (claim.criterion.least, claim.criterion.most):
            words = {2: ("2", "twice", "double"), 1.5: ("1.5",), 1.1: ("1.1",)}.get(limit, ("",))
            assert any(word in claim.question for word in words)
