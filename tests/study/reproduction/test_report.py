"""The report in words: verdicts, figures, and what is said of runs that did not finish or were wrong."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import linkedbandits as lb
from linkedbandits.study.reproduction.claims import CLAIMS, judge
from linkedbandits.study.reproduction.document import Grid, Heading, Picture, to_markdown
from linkedbandits.study.reproduction.grid import DEFAULT, EGE, EGE_FRESH, MAXIMAL, UNIFORM
from linkedbandits.study.reproduction.report import report_on


def report_of(table):
    return to_markdown(report_on(table, judge(table), Path("figure.svg"), seed=7))


def test_unfinished_runs_are_named_in_the_report(table, row):
    endless = (pl.col("policy") == MAXIMAL) & (pl.col("family") == "increasing")
    report = report_of(table.with_columns(confident=pl.when(endless).then(0.5).otherwise(pl.col("confident"))))
    assert "within 2^62 plays: MaximalSampling (LIL) on increasing with n = 2, 5." in report
    plays = row(table, "increasing", 5, MAXIMAL)["plays_mean"]
    assert f"| > {plays:,.0f} |" in report


def test_a_limit_that_decides_nothing_is_not_shown(table):
    endless = (pl.col("policy") == EGE) & (pl.col("arms") == 5)
    finding = f"- {EGE}: holds. "
    assert finding in report_of(table)
    report = report_of(table.with_columns(confident=pl.when(endless).then(0.0).otherwise(pl.col("confident"))))
    line = next(line for line in report.splitlines() if line.startswith(finding))
    assert line.endswith("unknown (n = 5). Not decided at n = 5.")


def test_a_guarantee_that_is_broken_is_said(table):
    assert "Delta, 10%, allows that." in report_of(table)
    of_five = pl.col("arms") == 5
    wrong = table.with_columns(
        sure_and_wrong=pl.when(of_five).then(0.4).otherwise(0.0), sure_low=pl.when(of_five).then(0.3).otherwise(0.0)
    )
    assert "Delta, 10%, does not allow that." in report_of(wrong)


def blocks_of(table, seed=7):
    return report_on(table, judge(table), Path("out/figure.svg"), seed)


def test_every_part_comes_in_its_order_under_its_heading(table):
    blocks = blocks_of(table)
    assert [block.text for block in blocks if isinstance(block, Heading) and block.level < 3] == [
        "The paper's experiment, run again",
        "What the paper says, and what comes out",
        "How each claim was decided",
        "Beside the paper",
        "Mean plays",
    ]
    (picture,) = [block for block in blocks if isinstance(block, Picture)]
    assert (picture.link, picture.svg) == ("figure.png", Path("out/figure.svg"))


def test_the_setting_is_that_of_the_table(table):
    said = to_markdown(blocks_of(table, seed=99))
    assert "n from 2 to 5, delta 0.1, 50 trials a point" in said
    assert f"version {lb.__version__}, seed 99." in said
    mixed = table.with_columns(trials=pl.when(pl.col("arms") == 5).then(12_345).otherwise(pl.col("trials")))
    assert "50 to 12,345 trials a point" in to_markdown(blocks_of(mixed))


def test_each_claim_has_its_verdict_in_one_row_under_both_accountings(table):
    findings = judge(table)
    verdicts = next(block for block in blocks_of(table) if isinstance(block, Grid))
    assert len(verdicts.rows) == len(CLAIMS)
    for claim, (scenario, quotation, counted, proved) in zip(CLAIMS, verdicts.rows, strict=True):
        assert (scenario, quotation) == (claim.scenario, f"\u201c{claim.quotation}\u201d")
        own = {finding.accounting: finding.verdict for finding in findings if finding.claim is claim}
        assert [counted, proved] == ([own[EGE], own[EGE_FRESH]] if EGE in own else [own[None], ""])


def test_the_tables_of_plays_have_every_scenario_size_and_policy(table, row):
    *_, one, decreasing, increasing = [block for block in blocks_of(table) if isinstance(block, Grid)]
    for grid, family in ((one, "one-sparse"), (decreasing, "decreasing"), (increasing, "increasing")):
        assert grid.headings == ["n", "lower bound", MAXIMAL, UNIFORM, EGE, EGE_FRESH, DEFAULT]
        assert [line[0] for line in grid.rows] == ["2", "5"]
        for arms, line in zip((2, 5), grid.rows, strict=True):
            expected = [row(table, family, arms, policy)["plays_mean"] for policy in grid.headings[2:]]
            assert line[2:] == [f"{plays:,.0f}" if plays < 1e7 else f"{plays:.3g}" for plays in expected]
            assert line[1] == f"{row(table, family, arms, EGE)['lower_bound']:,.0f}"


def test_beside_the_paper_are_the_ratios_over_all_cells_that_finished(table):
    flat = table.with_columns(
        bound_as_told=pl.lit(100.0),
        confident=pl.lit(1.0),
        plays_mean=pl.when(pl.col("policy") == EGE).then(pl.col("arms") * 1000.0).otherwise(200.0),
    )
    said = to_markdown(blocks_of(flat))
    assert f"{DEFAULT} needs 2 to 2 times the lower bound." in said
    assert f"{EGE} needs 20 to 50 times the lower bound for those who are told the gap, as it is." in said
    assert f"{EGE} needs 10 to 25 times the plays of {DEFAULT}." in said
    assert f"{EGE_FRESH} needs 0.04 to 0.1 times the plays of {EGE}." in said
    of_two = flat.with_columns(confident=pl.when(pl.col("arms") == 5).then(0.9).otherwise(1.0))
    assert f"{EGE} needs 20 to 20 times the lower bound for those who are told the gap, as it is." in to_markdown(
        blocks_of(of_two)
    )
    bounded = flat.with_columns(bound_as_told=pl.when(pl.col("arms") == 5).then(None).otherwise(100.0))
    assert f"{EGE} needs 20 to 20 times the lower bound for those who are told the gap, as it is, up to n = 2." in (
        to_markdown(blocks_of(bounded))
    )
    assert f"{EGE} needs 20 to" not in to_markdown(blocks_of(flat.with_columns(bound_as_told=pl.lit(None))))


def test_the_worst_share_of_wrong_answers_is_named_with_its_cell(table):
    worst = (pl.col("policy") == EGE) & (pl.col("instance") == "decreasing, 5 arms")
    wrong = table.with_columns(
        sure_and_wrong=pl.when(worst).then(0.08).otherwise(0.02),
        sure_low=pl.when(worst).then(0.031).otherwise(0.0),
        sure_high=pl.when(worst).then(0.17).otherwise(0.1),
    )
    assert (
        f"wrong answer is 8.0% (95 % interval 3.1% to 17.0%): {EGE}, decreasing, 5 arms. Delta, 10%, allows that."
        in to_markdown(blocks_of(wrong))
    )
