"""The report in words: verdicts, figures, and what is said of runs that did not finish or were wrong."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from linkedbandits.study.reproduction.claims import judge
from linkedbandits.study.reproduction.document import to_markdown
from linkedbandits.study.reproduction.grid import EGE, MAXIMAL
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
