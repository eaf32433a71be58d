"""``linkedbandits reproduce``: the paper's experiment, measured again, and its claims judged."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from linkedbandits.cli import options as opt
from linkedbandits.cli.study import kept_in, run_with_bar
from linkedbandits.cli.tables import standard_report


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
    engine: opt.EngineName = "processes",
    workers: opt.Workers = None,
    scheduler: opt.Scheduler = None,
    seed: opt.Seed = 0,
    as_json: opt.Json = False,
) -> None:
    """Run the paper's experiment, and say of each of its claims whether it holds.

    Three scenarios, 2 to 1,000 arms, the paper's three policies, LinkedEGE in both of its accountings, this project's
    default policy, and the lower bound: some minutes on two cores. Writes the figure (PNG, SVG), the table (Parquet,
    CSV) and a report (Markdown, and one HTML page with everything in it). Stop it as you like; the same command goes
    on from there.
    """
    # Imported here, so that other commands start without it.
    from linkedbandits.study.reproduction.grid import paper_study
    from linkedbandits.study.reproduction.writing import write_report

    folder = out or Path("reproduction-quick" if quick else "reproduction")
    made = paper_study(seed, quick=quick)
    chosen = opt.read_engine(engine, workers, scheduler)
    with kept_in(folder):
        written = write_report(run_with_bar(made, folder / "results", chosen), folder, seed)
    if as_json:
        claims = [
            {
                "scenario": finding.claim.scenario,
                "quotation": finding.claim.quotation,
                "question": finding.claim.question,
                "figure": finding.claim.figure,
                "accounting": finding.accounting,
                "verdict": finding.verdict,
                # as the report shows them: a limit where runs did not finish
                "figures": {arms: str(figure) for arms, figure in finding.figures.items()},
                "answers": {arms: answer.value for arms, answer in finding.answers.items()},
            }
            for finding in written.findings
        ]
        typer.echo(json.dumps({"folder": str(folder), "files": list(map(str, written.files)), "claims": claims}))
        return
    rows = []
    for claim, findings in groupby(written.findings, key=lambda finding: finding.claim):
        verdicts = [str(finding.verdict) for finding in findings]  # one alone where both accountings are the same
        rows.append((claim.scenario, claim.quotation, *verdicts, *[""] * (2 - len(verdicts))))
    report = standard_report()
    report.table(("scenario", "the paper", "LinkedEGE as counted there", "as proved"), rows, names=4, prose="the paper")
    report.print(f"The report is {folder / 'report.html'}; beside it:")
    for path in written.files:
        report.print(str(path), indent=2)
