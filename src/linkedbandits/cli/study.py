"""``linkedbandits study``: a grid of experiments from a file, with results that last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkedbandits.cli import completing, formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.over_bound import HEADING, marked, meaning
from linkedbandits.cli.report import Report, standard_report
from linkedbandits.cli.running import find_engine, kept_in, run_with_bar
from linkedbandits.display import tidied
from linkedbandits.errors import InvalidParameter
from linkedbandits.signals import what_is_kept

if TYPE_CHECKING:
    from linkedbandits.study import Results, Study

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
    engine: Annotated[
        str,
        typer.Option(
            help="Where to run: processes (this machine) or dask.",
            autocompletion=completing.one_of(("processes", "dask")),
        ),
    ] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="How many processes; all cores unless given.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="With --engine dask, the address of a running cluster, such as tcp://host:8786.")
    ] = None,
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
    if show is not None:
        if file is not None:
            raise InvalidParameter(f"both {file} and --show {show} were given; --show runs nothing, leave one out")
        _show(show, figures, as_json)
        return
    if file is None:
        raise InvalidParameter("no study was named; write linkedbandits study FILE.toml, or --show FOLDER")
    from linkedbandits.study import load_study  # other commands need not wait for it

    made = load_study(file)
    folder = out or Path(f"{file.stem}-results")
    if plan:
        _print_plan(made, folder, workers, merge, as_json)
        return
    chosen = find_engine(engine, workers, scheduler)
    with kept_in(folder):
        _report(run_with_bar(made, folder, chosen, merge=merge), figures, as_json)


def _show(folder: Path, figures: bool, as_json: bool) -> None:
    from linkedbandits.study import open_results

    with what_is_kept("nothing of the results was changed"):
        _report(open_results(folder), figures, as_json)


def _report(results: Results, figures: bool, as_json: bool) -> None:
    from linkedbandits.study.results import depends

    drawn = _draw(results) if figures else []
    table = results.table()
    if as_json:
        data = {
            "study": results.name,
            "folder": str(results.path),
            "missing_trials": results.missing_trials(),
            "figures": [str(path) for path in drawn],
            "cells": table.to_dicts(),
        }
        typer.echo(json.dumps(tidied(data)))
        return
    console = standard_report()
    _print_rows(console, table.to_dicts())
    for line in _bound_notes(results):
        console.print(line)
    if any(depends(cell) for cell in results.cells.values()):
        console.print("Where options depend on each other no bound is shown: it is for independent ones.")
    if results.missing_trials():
        console.print(f"{results.missing_trials():,} trials are missing; run the study to have them.")
    where = f", figures are in {results.path}/figures" if figures else ""
    console.print(f"Every trial is in {results.path}/chunks{where}.")


def _bound_notes(results: Results) -> list[str]:
    """Which bound plays are over, where policies are told different things, and where there is none."""
    from linkedbandits.study.results import bound_as_told, depends

    cells = [cell for cell in results.cells.values() if cell["delta"] is not None and not depends(cell)]
    bounds = [(cell, bound_as_told(cell)) for cell in cells]
    lines = []
    if any(bound.plays is not None or bound.told is not None for _, bound in bounds):
        lines.append(meaning(bound.told for _, bound in bounds))
    reasons: dict[tuple[str, str], list[str]] = {}
    for cell, bound in bounds:
        if bound.reason is not None:
            where = reasons.setdefault((cell["label"], bound.reason), [])
            where += [cell["instance"]] if cell["instance"] not in where else []
    for (label, reason), instances in reasons.items():
        more = f" and {len(instances) - 1} more" if len(instances) > 1 else ""
        lines.append(f"There is no bound for {label} on {instances[0]}{more}: {reason}.")
    return lines


def _draw(results: Results) -> list[Path]:
    from linkedbandits.study.figures import draw_all  # drawing takes longer to load than a small study to run

    return draw_all(results, results.path / "figures")


def _print_rows(console: Report, rows: list[dict[str, Any]]) -> None:
    """One table; where that is too wide, one for each instance, linkage and delta, so that names stay whole."""
    rows = [_as_shown(row) for row in rows]
    # A figure that no row has is left out everywhere.
    headings = [heading for heading in rows[0] if any(row[heading] for row in rows)] if rows else []
    names = sum(heading in NAMES for heading in headings)
    if console.fits(headings, _cells(rows, headings)):
        console.table(headings, _cells(rows, headings), names=names)
        return
    groups: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        delta = f", delta {row['delta']}" if row["delta"] else ""
        said = f"{row['instance']}, linkage {row['linkage']}{delta}, {row['trials']} trials"
        groups.setdefault(said, []).append(row)
    figures = [heading for heading in headings if heading not in ("instance", "linkage", "delta", "trials")]
    for said, group in groups.items():
        console.print(said, style="bold")
        console.table(figures, _cells(group, figures))


def _cells(rows: list[dict[str, str]], headings: list[str]) -> list[list[str]]:
    return [[row[heading] for heading in headings] for row in rows]


def _as_shown(row: dict[str, Any]) -> dict[str, str]:
    """A row of results by its headings; blank where there is nothing to say.

    ``wrong`` is what delta bounds: answers of trials that the policy stopped by its own rule. Others just guess.
    """
    bound = row["bound_as_told"]
    stopped = "error_rate error_low error_high" if row["delta"] is None else "sure_and_wrong sure_low sure_high"
    wrong, low, high = (row[name] for name in stopped.split())
    band = f"({formatting.count(row['plays_low'])} to {formatting.count(row['plays_high'])})"
    unfinished = _unfinished(row)
    return {
        "instance": row["instance"],
        "policy": marked(row["policy"], row["told"]),
        "linkage": row["linkage"],
        "delta": "" if row["delta"] is None else f"{row['delta']:g}",
        "trials": f"{row['trials']:,}",
        "plays": formatting.count(row["plays_mean"]),
        "(95 % band)": band if row["plays_high"] else "",
        HEADING: formatting.times(row["plays_mean"] / bound) if bound else "-" if row["told"] else "",
        "wrong": formatting.percent(wrong),
        "(95 % interval)": formatting.interval(low, high),
        "unfinished": formatting.percent(unfinished) if unfinished > 0 else "",
    }


def _unfinished(row: dict[str, Any]) -> float:
    """The share of trials that ended with their budget though they were to end with an answer."""
    return 0.0 if row["delta"] is None else 1.0 - float(row["confident"])


def _print_plan(made: Study, folder: Path, workers: int | None, merge: bool, as_json: bool) -> None:
    from linkedbandits.study.forecast import forecast
    from linkedbandits.study.running import missing_trials
    from linkedbandits.workers import usable_cores

    missing = missing_trials(made, folder, merge=merge)
    needed = forecast(made, missing)
    count = workers or usable_cores()
    if as_json:
        data = {
            "study": made.name,
            "folder": str(folder),
            "seed": made.seed,
            "workers": count,
            "seconds": needed.seconds(count),
            "memory_bytes": needed.memory(count),
            "missing_trials": sum(missing.values()),
            "cells": [{**cell.to_json(), "missing": missing[cell.key]} for cell in made.cells],
        }
        typer.echo(json.dumps(data))
        return
    console = standard_report()
    rows = []
    for cell in made.cells:
        delta = "" if cell.delta is None else f"{cell.delta:g}"
        name, trials = cell.instance.name, f"{cell.trials:,}"
        rows.append((name, cell.label, cell.linkage, delta, trials, f"{missing[cell.key]:,}"))
    console.table((*NAMES, "delta", "trials", "to run"), rows, names=len(NAMES))
    total, to_run = sum(cell.trials for cell in made.cells), sum(missing.values())
    there = "" if to_run == total else f", of which {total - to_run:,} are there already"
    console.print(
        f"{len(made.cells)} cells, {total:,} trials, seed {made.seed}, in {folder}{there}.\n"
        f"About {formatting.duration(needed.seconds(count))} on {count} cores and "
        f"{needed.memory(count) / 1e9:.1f} GB, judged by short trial runs; right within a factor of two or so."
    )
