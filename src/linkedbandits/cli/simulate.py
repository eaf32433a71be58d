"""``linkedbandits simulate``: many runs of one policy."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated

import typer

from linkedbandits.cli import options as opt
from linkedbandits.cli import tables
from linkedbandits.cli.trials import PolicyTrials, assumed_lines, over_bound, run_trials
from linkedbandits.display import tidied
from linkedbandits.figures.style import check_figure, save
from linkedbandits.model import per_cost
from linkedbandits.policies import policy_class
from linkedbandits.policy import check_linkage
from linkedbandits.runs import Runs

MOST_ARMS = 20
"""How many of the best arms the table shows."""


def simulate(
    scenario: opt.Scenario = None,
    arms: opt.Arms = None,
    best: opt.Best = None,
    means: opt.Means = None,
    table: opt.TableFile = None,
    options: opt.Options = None,
    correlation: opt.Correlation = None,
    policy: Annotated[
        str | None,
        typer.Option(
            help=f"{opt.POLICY_HELP}Unless given, linked-elimination; with --table linked-duels, or under other "
            "linkages than free linked-elimination.",
            autocompletion=opt.complete_policy,
        ),
    ] = None,
    delta: opt.Delta = opt.DELTA,
    gap: opt.Gap = None,
    linkage: opt.LinkageName = None,
    trials: opt.Trials = 1000,
    seed: opt.Seed = 0,
    max_plays: opt.MaxPlays = None,
    plot: opt.Plot = None,
    as_json: opt.Json = False,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Also write every trial as a row of this file.")
    ] = None,
) -> None:
    """Run one policy many times: what it answers, how often it is wrong, where its samples go."""
    if plot is not None:
        check_figure(plot)  # before the work
    instance = opt.read_instance(scenario, arms, best, means, table, options, correlation)
    settings = opt.read_settings(instance, [policy] if policy else [], linkage, gap, max_plays)
    if policy is None:
        duels = instance.options is not None and settings.linkage.allows(policy_class("linked-duels").asks)
        policy = "linked-duels" if duels else "linked-elimination"
    made = opt.read_policy(policy, delta, settings.told_gap)
    if csv_file is not None:
        check_linkage(made, settings.linkage)
        opt.check_writable("--csv", csv_file)
    with tables.progress_bar(trials, "trials") as advance:
        result = run_trials(policy, made, instance, settings, trials, seed, advance)
    runs = result.runs
    if csv_file is not None:
        _write_csv(csv_file, runs, instance.options)
    if as_json:
        data = {
            "instance": instance.to_json(),
            "linkage": settings.linkage.name,
            "max_plays": settings.max_plays,
            "seed": seed,
            **result.to_json(),
            "samples_by_arm": runs.samples.mean(axis=0).tolist(),
            "answers_by_arm": [int((runs.arm == arm).sum()) for arm in range(instance.means.size)],
        }
        typer.echo(json.dumps(tidied(data)))
    else:
        _print(instance, result, opt.told_by_default([policy], settings.told_gap))
    if plot is not None:
        save(runs.plot(), plot)
        typer.echo(f"wrote {plot}", err=True)


def _write_csv(path: Path, runs: Runs, options: tuple[str, ...] | None) -> None:
    names = tuple(map(str, range(runs.means.size))) if options is None else options
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        answer = "arm" if options is None else "option"
        writer.writerow(["trial", answer, "status", "plays", *(f"samples_{name}" for name in names)])
        columns = zip(runs.arm, runs.status, runs.plays, runs.samples, strict=True)
        for trial, (arm, status, plays, samples) in enumerate(columns):
            writer.writerow([trial, names[arm], status, plays, *samples])


def _print(instance: opt.Instance, result: PolicyTrials, told: list[str]) -> None:
    report = tables.standard_report()
    policy, runs, bound = result.policy, result.runs, result.bound
    summary = runs.summary()
    if result.undecidable is not None:
        report.print(f"On {instance.name} {result.undecidable}", style="bold")
    low, high = map(tables.percent, summary.error_interval)
    limits = f"(95 % interval {low} to {high})"
    wrong, mean = tables.percent(summary.error_rate), tables.count(summary.plays_mean)
    if bound.plays is None:
        over = f"There is no bound to compare with: {bound.reason}."
    else:
        as_told = "" if bound.told is None else f" told {bound.told}"
        over = (
            f"That is {over_bound(bound, summary.plays_mean)} times the {tables.count(bound.plays)} plays that no "
            f"policy{as_told} can beat."
        )
    promises = policy.status_at_stop == "confident"
    if promises and summary.confident == 0:
        report.print(
            f"{result.text} on {instance.name}: none of {summary.trials:,} trials came to a verdict before its plays "
            f"ran out, after {mean.replace('> ', 'more than ')}. What led by then was wrong in {wrong} of them "
            f"{limits}. {over}"
        )
    else:
        report.print(
            f"{result.text} on {instance.name}: {mean} plays on average (standard error "
            f"{tables.count(summary.plays_standard_error)}, median {tables.count(summary.plays_median)}, 90 % within "
            f"{tables.count(summary.plays_90)}); wrong in {wrong} of {summary.trials:,} trials {limits}. {over}"
        )
    if promises and 0 < summary.confident < 1:
        report.print(f"{tables.percent(1 - summary.confident)} of the trials ended with their budget, undecided.")
    costs = policy.goal.costs
    if costs:
        report.print("The best arm is the one with most successes per cost.")
    rows = []
    for arm in sorted(per_cost(instance.means, costs).argsort()[::-1][:MOST_ARMS].tolist()):
        mean_of_arm, samples = instance.means[arm], float(runs.samples[:, arm].mean())
        row = (
            str(arm) if instance.options is None else instance.options[arm],
            f"{mean_of_arm:.4g}",
            *((f"{costs[arm]:.4g}", f"{mean_of_arm / costs[arm]:.4g}") if costs else ()),
            tables.count(samples),
            f"{samples / summary.plays_mean:.3f}",
            tables.percent(float((runs.arm == arm).mean())),
        )
        rows.append(row)
    kind, names = ("arm", 0) if instance.options is None else ("option", 1)
    of_costs = ("cost", "mean per cost") if costs else ()
    report.table((kind, "mean", *of_costs, "samples, mean", "samples a play", "named best"), rows, names=names)
    if instance.means.size > MOST_ARMS:
        report.print(f"The {MOST_ARMS} best of {instance.means.size:,} {kind}s are shown; --json has them all.")
    for line in [*told, *assumed_lines([(result.text, result.assumed)], instance.dependence)]:
        report.print(line)
