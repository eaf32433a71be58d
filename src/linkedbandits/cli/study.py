"""``linkedbandits study``: a grid of experiments from a file, with results that last."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkedbandits.cli import options as opt
from linkedbandits.cli import tables
from linkedbandits.cli.trials import OVER_BOUND, bound_note, marked
from linkedbandits.display import tidied
from linkedbandits.errors import InvalidParameter
from linkedbandits.signals import what_is_kept

if TYPE_CHECKING:  # imported where they are needed, so that other commands start without them
    from linkedbandits.study import Results, Study
    from linkedbandits.study.chunks import Chunk
    from linkedbandits.study.engines import Engine

NAMES = ("instance", "policy", "linkage")
"""Columns of text; the others have figures."""


def study(
    file: Annotated[Path | None, typer.Argument(help="The study, a TOML file.", show_default=False)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for results, where an unfinished study continues; FILE-results unless given."),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what would run, and about how long; run nothing.")
    ] = False,
    show: Annotated[
        Path | None, typer.Option(help="Print the table of a folder of results and draw its figures; run nothing.")
    ] = None,
    engine: opt.EngineName = "processes",
    workers: opt.Workers = None,
    scheduler: opt.Scheduler = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Keep this study's cells together with those of the folder.")
    ] = False,
    figures: Annotated[
        bool, typer.Option("--figures/--no-figures", help="Draw figures when the trials are there, or leave them out.")
    ] = True,
    as_json: opt.Json = False,
) -> None:
    """Run a grid of experiments: every instance with every policy, linkage and delta of a file.

    Each finished piece is kept at once. Stop it as you like, even with kill -9; the same command goes on from there,
    on this machine or on a cluster, and the figures are the same bit for bit.
    """
    from linkedbandits.study import load_study, open_results

    if show is not None:
        if file is not None:
            raise InvalidParameter(f"both {file} and --show {show} were given; --show runs nothing, leave one out")
        with what_is_kept("nothing of the results was changed"):
            _report(open_results(show), figures, as_json)
        return
    if file is None:
        raise InvalidParameter("no study was named; write linkedbandits study FILE.toml, or --show FOLDER")
    made = load_study(file)
    folder = out or Path(f"{file.stem}-results")
    if plan:
        _print_plan(made, folder, workers, merge, as_json)
        return
    chosen = opt.read_engine(engine, workers, scheduler)
    with kept_in(folder):
        _report(run_with_bar(made, folder, chosen, merge=merge), figures, as_json)


def kept_in(folder: Path) -> AbstractContextManager[None]:
    """Within this, an interruption says that finished pieces are kept in the folder."""
    return what_is_kept(f"what is finished is kept in {folder}, and the same command goes on from there")


def run_with_bar(made: Study, folder: Path, engine: Engine, *, merge: bool = False) -> Results:
    """Run a study with a progress bar; files that are damaged are named on standard error."""
    from linkedbandits.study import run_study

    total = sum(cell.trials * cell.instance.means.size for cell in made.cells)
    with tables.progress_bar(total) as advance:

        def begin(missing: list[Chunk], damaged: list[Path]) -> None:
            for path in damaged:
                typer.echo(f"{path} was damaged and is set aside; its trials are run again.", err=True)
            advance("", total - sum(chunk.weight for chunk in missing))

        def keep(chunk: Chunk) -> None:
            advance(chunk.label, chunk.weight)

        return run_study(made, folder, engine=engine, merge=merge, on_begin=begin, on_kept=keep)


def _report(results: Results, figures: bool, as_json: bool) -> None:
    from linkedbandits.study.figures import draw_all
    from linkedbandits.study.results import bound_as_told, depends

    drawn = draw_all(results, results.path / "figures") if figures else []
    rows = results.table().to_dicts()
    if as_json:
        data = {
            "study": results.name,
            "folder": str(results.path),
            "missing_trials": results.missing_trials(),
            "figures": [str(path) for path in drawn],
            "cells": rows,
        }
        typer.echo(json.dumps(tidied(data)))
        return
    report = tables.standard_report()
    shown = [_as_shown(row) for row in rows]
    headings = [heading for heading in shown[0] if any(row[heading] for row in shown)] if shown else []
    names = sum(heading in NAMES for heading in headings)
    report.table(headings, [[row[heading] for heading in headings] for row in shown], names=names)
    cells = list(results.cells.values())
    bounded = [cell for cell in cells if cell["delta"] is not None and not depends(cell)]
    bounds = {f"{cell['label']} on {cell['instance']}": bound_as_told(cell) for cell in bounded}
    if bounds:
        report.print(bound_note(bounds.items()))
    if any(map(depends, cells)):
        report.print("Where options depend on each other no bound is shown: it is for independent ones.")
    if results.missing_trials():
        report.print(f"{results.missing_trials():,} trials are missing; run the study to have them.")
    where = f", figures are in {results.path}/figures" if figures else ""
    report.print(f"Every trial is in {results.path}/chunks{where}.")


def _as_shown(row: dict[str, Any]) -> dict[str, str]:
    """A row of results by its headings; blank where there is nothing to say.

    ``wrong`` is what delta bounds: answers of trials that the policy stopped by its own rule. Others just guess.
    """
    stopped = "error_rate error_low error_high" if row["delta"] is None else "sure_and_wrong sure_low sure_high"
    wrong, low, high = (row[name] for name in stopped.split())
    band = f"({tables.count(row['plays_low'])} to {tables.count(row['plays_high'])})"
    bound = row["bound_as_told"]
    unfinished = 0.0 if row["delta"] is None else 1.0 - float(row["confident"])
    return {
        "instance": row["instance"],
        "policy": marked(row["policy"], row["told"]),
        "linkage": row["linkage"],
        "delta": "" if row["delta"] is None else f"{row['delta']:g}",
        "trials": f"{row['trials']:,}",
        "plays": tables.count(row["plays_mean"]),
        "(95 % band)": band if row["plays_high"] else "",
        OVER_BOUND: tables.times(row["plays_mean"] / bound) if bound else "-" if row["told"] else "",
        "wrong": tables.percent(wrong),
        "(95 % interval)": tables.interval(low, high),
        "unfinished": tables.percent(unfinished) if unfinished > 0 else "",
    }


def _print_plan(made: Study, folder: Path, workers: int | None, merge: bool, as_json: bool) -> None:
    from linkedbandits.study.forecast import forecast
    from linkedbandits.study.running import missing_trials
    from linkedbandits.workers import usable_cores

    missing = missing_trials(made, folder, merge=merge)
    needed = forecast(made, missing)
    count = workers or usable_cores()
    total, to_run = sum(cell.trials for cell in made.cells), sum(missing.values())
    if as_json:
        data = {
            "study": made.name,
            "folder": str(folder),
            "seed": made.seed,
            "workers": count,
            "seconds": needed.seconds(count),
            "memory_bytes": needed.memory(count),
            "missing_trials": to_run,
            "cells": [{**cell.to_json(), "missing": missing[cell.key]} for cell in made.cells],
        }
        typer.echo(json.dumps(data))
        return
    report = tables.standard_report()
    rows = []
    for cell in made.cells:
        delta = "" if cell.delta is None else f"{cell.delta:g}"
        counts = (f"{cell.trials:,}", f"{missing[cell.key]:,}")
        rows.append((cell.instance.name, cell.label, cell.linkage, delta, *counts))
    report.table((*NAMES, "delta", "trials", "to run"), rows, names=len(NAMES))
    there = "" if to_run == total else f", of which {total - to_run:,} are there already"
    report.print(
        f"{len(made.cells)} cells, {total:,} trials, seed {made.seed}, in {folder}{there}.\n"
        f"About {tables.duration(needed.seconds(count))} on {count} cores and "
        f"{needed.memory(count) / 1e9:.1f} GB, judged by short trial runs; right within a factor of two or so."
    )
