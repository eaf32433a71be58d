"""``linkedbandits simulate``: many runs of one policy."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkedbandits.cli import formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.assumed import assumed_lines, assumes
from linkedbandits.cli.progress import progress_bar
from linkedbandits.linkage import find_linkage
from linkedbandits.policies import describe_policy
from linkedbandits.policy import AnyPolicy, check_linkage
from linkedbandits.runs import Runs
from linkedbandits.simulation import simulate as run_simulation


def simulate(
    scenario: opt.Scenario = None,
    arms: opt.Arms = None,
    best: opt.Best = None,
    means: opt.Means = None,
    policy: Annotated[
        str, typer.Option(help="The policy, with parameters after a colon: linked-ege:median=fresh")
    ] = "linked-elimination",
    delta: opt.Delta = 0.1,
    gap: opt.Gap = "true",
    linkage: opt.LinkageName = "ordered",
    trials: opt.Trials = 1000,
    seed: opt.SeedOption = 0,
    max_plays: opt.MaxPlays = None,
    as_json: opt.Json = False,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Also write every trial as a row of this file.")
    ] = None,
) -> None:
    """Run one policy many times: what it answers, how often it is wrong, where its samples go."""
    instance = opt.read_instance(scenario, arms, best, means)
    made = opt.read_policy(policy, delta, opt.read_gap(gap, instance))
    if csv_file is not None:
        check_linkage(made, find_linkage(linkage))
        opt.check_writable("--csv", csv_file)
    with progress_bar(trials, "trials") as advance:
        runs = run_simulation(
            instance.means,
            made,
            linkage=linkage,
            trials=trials,
            seed=seed,
            max_plays=max_plays,
            progress=lambda finished: advance(policy, finished),
        )
    if csv_file is not None:
        _write_csv(csv_file, runs)
    if as_json:
        data = {
            "instance": {"name": instance.name, "means": instance.means.tolist(), "gap": instance.gap},
            "linkage": linkage,
            "max_plays": max_plays,
            "seed": seed,
            **describe_policy(made),
            **runs.summary().to_dict(),
            "error_bound": made.error_bound,
            "assumes": assumes(made, find_linkage(linkage)),
            "samples_by_arm": runs.samples.mean(axis=0).tolist(),
            "answers_by_arm": [int((runs.arm == arm).sum()) for arm in range(instance.means.size)],
        }
        typer.echo(json.dumps(data))
    else:
        _print(instance, policy, made, runs)
        for line in assumed_lines([(policy, made)], find_linkage(linkage)):
            Console().print(line)


def _write_csv(path: Path, runs: Runs) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["trial", "arm", "status", "plays", *(f"samples_{arm}" for arm in range(runs.means.size))])
        for trial, (arm, status, plays, samples) in enumerate(
            zip(runs.arm, runs.status, runs.plays, runs.samples, strict=True)
        ):
            writer.writerow([trial, arm, status, plays, *samples])


def _print(instance: opt.NamedMeans, text: str, policy: AnyPolicy, runs: Runs, most_arms: int = 20) -> None:
    console = Console()
    summary = runs.summary()
    low, high = summary.error_interval
    console.print(
        f"{text} on {instance.name}: {formatting.count(summary.plays_mean)} plays on average "
        f"(standard error {formatting.count(summary.plays_standard_error)}, "
        f"median {formatting.count(summary.plays_median)}, "
        f"90 % within {formatting.count(summary.plays_90)}); "
        f"wrong in {formatting.percent(summary.error_rate)} of {summary.trials:,} trials "
        f"(95 % interval {formatting.percent(low)} to {formatting.percent(high)})."
    )
    if policy.status_at_stop == "confident" and summary.confident < 1:
        console.print(f"{formatting.percent(1 - summary.confident)} of the trials ended with their budget, undecided.")
    table = Table(box=SIMPLE_HEAD)
    for heading in ("arm", "mean", "samples, mean", "samples a play", "named best"):
        table.add_column(heading, justify="right")
    shown = instance.means.argsort()[::-1][:most_arms]
    for arm in sorted(shown.tolist()):
        samples = float(runs.samples[:, arm].mean())
        table.add_row(
            str(arm),
            f"{instance.means[arm]:.4g}",
            formatting.count(samples),
            f"{samples / summary.plays_mean:.3f}",
            formatting.percent(float((runs.arm == arm).mean())),
        )
    console.print(table)
    if instance.means.size > most_arms:
        console.print(f"The {most_arms} best of {instance.means.size:,} arms are shown; --json has them all.")
