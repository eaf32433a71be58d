"""The whole reproduction on a small grid, through the real pieces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.study import Study, run_study
from linkedbandits.study.chunks import run_chunk
from linkedbandits.study.reproduction.claims import CLAIMS, judge
from linkedbandits.study.reproduction.document import to_markdown
from linkedbandits.study.reproduction.grid import EGE, EGE_FRESH, MAXIMAL, UNIFORM, paper_study
from linkedbandits.study.reproduction.measures import allocation_price, measured_table
from linkedbandits.study.reproduction.report import report_on
from linkedbandits.study.reproduction.writing import write_report

pl = pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    whole = paper_study(seed=7, quick=True)
    small = Study(whole.name, whole.seed, tuple(cell for cell in whole.cells if cell.instance.means.size <= 5))
    return run_study(
        small,
        tmp_path_factory.mktemp("results"),
        engine=lambda chunks: ((chunk, run_chunk(chunk)) for chunk in chunks),
    )


@pytest.fixture(scope="module")
def table(results):
    return measured_table(results)


def row(table, family, arms, policy):
    (found,) = table.filter(
        (pl.col("family") == family) & (pl.col("arms") == arms) & (pl.col("policy") == policy)
    ).to_dicts()
    return found


def test_where_samples_went_is_measured(table):
    uniform = row(table, "one-sparse", 5, UNIFORM)
    assert uniform["samples_spread"] == 1
    assert uniform["near_over_far"] == 1
    # Equal samples at the rate that plays can bring: 1 + 0.1 + 3 * 0.05 plays for a sample of each.
    price = allocation_price(lb.scenarios.one_sparse(5), np.full(5, 1 / 1.25))
    assert uniform["allocation_price"] == pytest.approx(price, rel=0.01)
    # The chance to reach arm i falls as 0.95^i, and so does the gap squared of one arm after the other.
    assert row(table, "decreasing", 5, MAXIMAL)["gap_law_spread"] < 1.05
    assert row(table, "decreasing", 5, MAXIMAL)["allocation_price"] < 1.05
    assert row(table, "increasing", 5, EGE_FRESH)["near_over_far"] > 2


def test_the_table_has_every_cell_and_the_answers_that_were_wrong(results, table):
    assert table["cell"].to_list() == list(results.cells)
    assert set(table["sure_and_wrong"]) <= {share / 50 for share in range(51)}
    for cell, share, error in table.select("cell", "sure_and_wrong", "error_rate").iter_rows():
        assert share == pytest.approx(error), cell  # all runs finish on so few arms


def test_everything_is_written_and_says_the_same(results, table, tmp_path):
    written = write_report(results, tmp_path / "out", seed=7)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "figure.png",
        "figure.svg",
        "report.html",
        "report.md",
        "table.csv",
        "table.parquet",
    ]
    assert sorted(written.files) == sorted((tmp_path / "out").iterdir())
    assert pl.read_parquet(tmp_path / "out" / "table.parquet").equals(table)
    assert pl.read_csv(tmp_path / "out" / "table.csv")["plays_mean"].to_list() == table["plays_mean"].to_list()
    assert [finding.verdict for finding in written.findings] == [finding.verdict for finding in judge(table)]
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    for claim in CLAIMS:
        assert f"\u201c{claim.quotation}\u201d" in report
        assert claim.question in report
    uniform, ege = (row(table, "one-sparse", 5, policy)["plays_mean"] for policy in (UNIFORM, EGE))
    assert f"{ege / uniform:.3g} (n = 5)" in report
    assert f"{uniform:,.0f}" in report
    assert "seed 7" in report
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "data:image/svg+xml;base64," in page
    assert all(verdict.verdict in page for verdict in written.findings)


def report_of(table):
    return to_markdown(report_on(table, judge(table), Path("figure.svg"), seed=7))


def test_unfinished_runs_are_named_in_the_report(table):
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


def test_a_folder_that_cannot_be_written_is_named(results, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(lb.CannotWrite, match=r"cannot be written into .*file \(.*\); name another folder"):
        write_report(results, tmp_path / "file", seed=7)
