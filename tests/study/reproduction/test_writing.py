"""The whole reproduction on a small grid, through the real pieces."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.study.reproduction.claims import CLAIMS, judge
from linkedbandits.study.reproduction.grid import EGE, UNIFORM
from linkedbandits.study.reproduction.writing import write_report

pl = pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")


def test_everything_is_written_and_says_the_same(results, table, row, tmp_path):
    written = write_report(results, tmp_path / "out", seed=7)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "figure.pdf",
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


def test_a_folder_that_cannot_be_written_is_named(results, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(lb.CannotWrite, match=r"cannot be written into .*file: .*; name another folder"):
        write_report(results, tmp_path / "file", seed=7)
