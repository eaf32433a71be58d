"""``linkedbandits reproduce``: the paper's experiment, measured again, and its claims judged."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkedbandits.cli import options as opt
from linkedbandits.cli.report import standard_report
from linkedbandits.cli.running import find_engine, kept_in, run_with_bar

if TYPE_CHECKING:
    from linkedbandits.study.reproduction.claims import Finding
    from linkedbandits.study.reproduction.writing import Written


def reproduce(
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder to write, where an unfinished run continues; reproduction unless given.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="A few small cells in seconds, to see how it goes; into reproduction-quick."),
    ] = False,
    engine: Annotated[str, typer.Option(help="Where to run: processes (this machine) or dask.")] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="How many processes; all cores unless given.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="With --engine dask, the address of a running cluster, such as tcp://host:8786.")
    ] = None,
    seed: opt.SeedOption = 0,
    as_json: opt.Json = False,
) -> None:
    """Run the paper's experiment, and say of each of its claims whether it holds.

    Three scenarios, 2 to 1,000 arms, the paper's three policies, LinkedEGE in both of its accountings, this project's
    default policy, and the lower bound: some minutes on two cores. Writes the figure (PNG, SVG), the table (Parquet,
    CSV) and a report (Markdown, and one HTML page with everything in it). Stop it as you like; the same command goes
    on from there.
    """
    # Imported here, so that other commands need not wait for it.
    from linkedbandits.study.reproduction.grid import paper_study
    from linkedbandits.study.reproduction.writing import write_report

    folder = out or Path("reproduction-quick" if quick else "reproduction")
    made = paper_study(seed, quick=quick)
    chosen = find_engine(engine, workers, scheduler)
    with kept_in(folder):
        results = run_with_bar(made, folder / "results", chosen)
        written = write_report(results, folder, seed)
    if as_json:
        typer.echo(json.dumps(_as_data(folder, written)))
    else:
        _print(folder, written)


def _as_data(folder: Path, written: Written) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "files": [str(path) for path in written.files],
        "claims": [_finding_as_data(finding) for finding in written.findings],
    }


def _finding_as_data(finding: Finding) -> dict[str, Any]:
    """Figures as the report shows them: a limit where runs did not finish."""
    return {
        "scenario": finding.claim.scenario,
        "quotation": finding.claim.quotation,
        "question": finding.claim.question,
        "figure": finding.claim.figure,
        "accounting": finding.accounting,
        "verdict": finding.verdict,
        "figures": {arms: str(figure) for arms, figure in finding.figures.items()},
        "answers": {arms: answer.value for arms, answer in finding.answers.items()},
    }


def _print(folder: Path, written: Written) -> None:
    rows = []
    for claim, findings in groupby(written.findings, key=lambda finding: finding.claim):
        verdicts = [str(finding.verdict) for finding in findings]  # one alone where both accountings are the same
        rows.append((claim.scenario, claim.quotation, *verdicts, *[""] * (2 - len(verdicts))))
    report = standard_report()
    report.table(("scenario", "the paper", "LinkedEGE as counted there", "as proved"), rows, names=4, prose="the paper")
    report.print(f"The report is {folder / 'report.html'}; beside it:")
    for path in written.files:
        report.print(str(path), indent=2)
