"""``linkedbandits study``: a grid of experiments from a file, with results that last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkedbandits.cli import figures
from linkedbandits.cli import options as opt
from linkedbandits.cli.running import find_engine, run_with_bar
from linkedbandits.errors import InvalidParameter

if TYPE_CHECKING:
    from linkedbandits.study import Results, Study


def study(
    file: Annotated[Path | None, typer.Argument(help="The study, a TOML file.", show_default=False)] = None,
    out: Annotated[
        Path | None, typer.Option(help="Where results go, and are gone on from; FILE-results unless given.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what would run, and about how long; run nothing.")
    ] = False,
    show: Annotated[
        Path | None, typer.Option(help="Print the table of a folder of results and draw its figures; run nothing.")
    ] = None,
    engine: Annotated[str, typer.Option(help="Where to run: processes (this machine) or dask.")] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="How many at once; all cores unless given.")] = None,
    scheduler: Annotated[
        str | None, typer.Option(help="With --engine dask, the address of a running cluster, such as tcp://host:8786.")
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Keep this study's cells together with those of the folder.")
    ] = False,
    as_json: opt.Json = False,
) -> None:
    """Run a grid of experiments: every instance with every policy, linkage and delta of a file.

    Each finished piece is kept at once. Stop it as you like, even with kill -9; the same command goes on from there,
    on this machine or on a cluster, and the figures are the same bit for bit.
    """
    if show is not None:
        if file is not None:
            raise InvalidParameter(f"both {file} and --show {show} were given; --show runs nothing, leave one out")
        _show(show, as_json)
        return
    if file is None:
        raise InvalidParameter("no study was named; write linkedbandits study FILE.toml, or --show FOLDER")
    from linkedbandits.study import load_study  # noqa: PLC0415 - other commands need not wait for it

    made = load_study(file)
    folder = out or Path(f"{file.stem}-results")
    if plan:
        _print_plan(made, folder, workers, as_json)
        return
    results = run_with_bar(made, folder, find_engine(engine, workers, scheduler), merge=merge)
    _report(results, as_json)


def _show(folder: Path, as_json: bool) -> None:
    from linkedbandits.study import open_results  # noqa: PLC0415

    _report(open_results(folder), as_json)


def _report(results: Results, as_json: bool) -> None:
    from linkedbandits.study.figures import draw_all  # noqa: PLC0415

    drawn = draw_all(results, results.path / "figures")
    table = results.table()
    if as_json:
        data = {
            "study": results.name,
            "folder": str(results.path),
            "missing_trials": results.missing_trials(),
            "figures": [str(path) for path in drawn],
            "cells": table.to_dicts(),
        }
        typer.echo(json.dumps(data))
        return
    console = Console()
    console.print(_table(table.to_dicts()))
    if results.missing_trials():
        console.print(f"{results.missing_trials():,} trials are missing; run the study to have them.")
    console.print(
        f"Every trial is in {results.path / 'chunks'}, figures are in {results.path / 'figures'}.", soft_wrap=True
    )


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("instance", "policy", "linkage"):
        table.add_column(heading)
    for heading in ("delta", "trials", "plays, mean", "95 % band", "over bound", "wrong", "95 % interval"):
        table.add_column(heading, justify="right")
    for row in rows:
        bound = row["lower_bound"]
        table.add_row(
            row["instance"],
            row["policy"],
            row["linkage"],
            "" if row["delta"] is None else f"{row['delta']:g}",
            f"{row['trials']:,}",
            figures.count(row["plays_mean"]),
            f"{figures.count(row['plays_low'])} to {figures.count(row['plays_high'])}",
            figures.times(row["plays_mean"] / bound) if bound else "",
            figures.percent(row["error_rate"]),
            f"{figures.percent(row['error_low'])} to {figures.percent(row['error_high'])}",
        )
    return table


def _print_plan(made: Study, folder: Path, workers: int | None, as_json: bool) -> None:
    from linkedbandits.study.engines.processes import usable_cores  # noqa: PLC0415
    from linkedbandits.study.estimate import estimate  # noqa: PLC0415

    forecast = estimate(made)
    count = workers or usable_cores()
    if as_json:
        data = {
            "study": made.name,
            "folder": str(folder),
            "seed": made.seed,
            "workers": count,
            "seconds": forecast.seconds(count),
            "memory_bytes": forecast.memory(count),
            "cells": [cell.to_json() for cell in made.cells],
        }
        typer.echo(json.dumps(data))
        return
    console = Console()
    table = Table(box=SIMPLE_HEAD)
    for heading in ("instance", "policy", "linkage", "delta", "trials"):
        table.add_column(heading, justify="left" if heading != "trials" else "right")
    for cell in made.cells:
        delta = "" if cell.delta is None else f"{cell.delta:g}"
        table.add_row(cell.instance.name, cell.label, cell.linkage, delta, f"{cell.trials:,}")
    console.print(table)
    console.print(
        f"{len(made.cells)} cells, {sum(cell.trials for cell in made.cells):,} trials, seed {made.seed}, in {folder}.\n"
        f"About {figures.duration(forecast.seconds(count))} on {count} cores and "
        f"{forecast.memory(count) / 1e9:.1f} GB, judged by short trial runs; right within a factor of two or so.",
        soft_wrap=True,
    )
