"""All files of the reproduction: table, figure and report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from linkedbandits.errors import CannotWrite, why_not
from linkedbandits.figures.style import save
from linkedbandits.study.figures import plays_by_arms
from linkedbandits.study.reproduction.claims import Finding, judge
from linkedbandits.study.reproduction.document import to_html, to_markdown
from linkedbandits.study.reproduction.measures import measured_table
from linkedbandits.study.reproduction.report import report_on

if TYPE_CHECKING:
    from linkedbandits.study import Results

__all__ = ["Written", "write_report"]


@dataclass(frozen=True)
class Written:
    """What was found, and where it is written down."""

    findings: list[Finding]
    files: list[Path]


def write_report(results: Results, folder: Path, seed: int) -> Written:
    """Write table, figure and report into the folder."""
    table = measured_table(results)
    findings = judge(table)
    names = ("report.md", "report.html", "figure.png", "figure.svg", "figure.pdf", "table.parquet", "table.csv")
    markdown, page, png, svg, pdf, parquet, csv = files = [folder / name for name in names]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        table.write_parquet(parquet)
        table.write_csv(csv)
        figure = plays_by_arms(table)
        save(figure, png)
        save(figure, svg)
        save(figure, pdf)
        blocks = report_on(table, findings, svg, seed)
        markdown.write_text(to_markdown(blocks), encoding="utf-8")
        page.write_text(to_html(blocks), encoding="utf-8")
    except OSError as error:
        why = why_not(error)
        raise CannotWrite(f"the report cannot be written into {folder}: {why}; name another folder") from error
    return Written(findings, files)
