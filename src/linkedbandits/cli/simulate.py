"""``linkedbandits simulate``: many runs of one policy."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Annotated

import typer

from linkedbandits.bounds.for_policy import BoundAsTold
from linkedbandits.cli import completing, formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.assumed import assumed_in, assumed_lines, names_of
from linkedbandits.cli.over_bound import bound_data, bound_of, bound_sentence
from linkedbandits.cli.progress import progress_bar
from linkedbandits.cli.report import standard_report
from linkedbandits.cli.ties import undecidable
from linkedbandits.cli.without_end import WithoutEnd
from linkedbandits.display import tidied
from linkedbandits.figures.style import ENDINGS, check_figure, save
from linkedbandits.linkage import find_linkage
from linkedbandits.model import per_cost
from linkedbandits.policies import describe_policy, policy_class
from linkedbandits.policy import AnyPolicy, check_linkage
from linkedbandits.runs import Runs
from linkedbandits.simulation import simulate as run_simulation

MOST_ARMS = 20
"""So many are shown, the best ones."""


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
            help="The policy, with parameters after a colon: linked-ege:median=fresh, or "
            "linked-elimination:costs=1/2/5 for most successes per cost, or package.module:Class for one of your own. "
            "Unless given, "
            "linked-elimination; with --table linked-duels, or under other linkages than free linked-elimination.",
            autocompletion=completing.policies,
        ),
    ] = None,
    delta: opt.Delta = 0.1,
    gap: opt.Gap = None,
    linkage: opt.LinkageOfRuns = None,
    trials: opt.Trials = 1000,
    seed: opt.SeedOption = 0,
    max_plays: opt.MaxPlays = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help=f"Draw how many plays the trials took into this file ({', '.join(ENDINGS)}), on white ground."
        ),
    ] = None,
    as_json: opt.Json = False,
    csv_file: Annotated[
        Path | None, typer.Option("--csv", help="Also write every trial as a row of this file.")
    ] = None,
) -> None:
    """Run one policy many times: what it answers, how often it is wrong, where its samples go."""
    if plot is not None:
        check_figure(plot)  # before the work
    instance = opt.read_requests(scenario, arms, best, means, table, options, correlation)
    given = opt.read_settings(instance, [policy] if policy else [], linkage, gap, max_plays)
    link = find_linkage(given.linkage)
    if policy is None:
        duels = instance.options is not None and link.allows(policy_class("linked-duels").asks)
        policy = "linked-duels" if duels else "linked-elimination"
    made = opt.read_policy(policy, delta, given.told_gap)
    if csv_file is not None:
        check_linkage(made, link)
        opt.check_writable("--csv", csv_file)
    looked_at = WithoutEnd(policy, given.max_plays)
    with progress_bar(trials, "trials") as advance:
        runs = run_simulation(
            instance.means,
            made,
            linkage=link,
            world=instance.law,
            trials=trials,
            seed=seed,
            max_plays=given.max_plays,
            progress=looked_at.counting(advance),
            watch=looked_at.watch,
        )
    if csv_file is not None:
        _write_csv(csv_file, runs, instance.options)
    bound = bound_of(made, instance, link)
    why = undecidable(instance, made, link)
    if as_json:
        data = {
            "instance": instance.to_json(),
            "linkage": given.linkage,
            "max_plays": given.max_plays,
            "seed": seed,
            **describe_policy(made),
            **runs.summary().to_dict(),
            **bound_data(bound, float(runs.plays.mean())),
            "error_bound": made.error_bound,
            "undecidable": why,
            "assumes": names_of(assumed_in(runs, made, link)),
            "samples_by_arm": runs.samples.mean(axis=0).tolist(),
            "answers_by_arm": [int((runs.arm == arm).sum()) for arm in range(instance.means.size)],
        }
        typer.echo(json.dumps(tidied(data)))
    else:
        if why is not None:
            standard_report().print(f"On {instance.name} {why}", style="bold")
        _print(instance, policy, made, runs, bound)
        told = opt.told_by_itself([policy], given.told_gap)
        if told is not None:
            standard_report().print(told)
        for line in assumed_lines([(policy, assumed_in(runs, made, link))], instance.dependence):
            standard_report().print(line)
    if plot is not None:
        save(runs.plot(), plot)
        typer.echo(f"wrote {plot}", err=True)


def _write_csv(path: Path, runs: Runs, options: tuple[str, ...] | None) -> None:
    names = tuple(map(str, range(runs.means.size))) if options is None else options
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        answer = "arm" if options is None else "option"
        writer.writerow(["trial", answer, "status", "plays", *(f"samples_{name}" for name in names)])
        for trial, (arm, status, plays, samples) in enumerate(
            zip(runs.arm, runs.status, runs.plays, runs.samples, strict=True)
        ):
            writer.writerow([trial, names[arm], status, plays, *samples])


def _print(instance: opt.NamedMeans, text: str, policy: AnyPolicy, runs: Runs, bound: BoundAsTold) -> None:
    console = standard_report()
    summary = runs.summary()
    low, high = summary.error_interval
    promises = policy.status_at_stop == "confident"
    if promises and summary.confident == 0:
        after = formatting.count(summary.plays_mean).replace("> ", "more than ")
        console.print(
            f"{text} on {instance.name}: none of {summary.trials:,} trials came to a verdict before its plays ran out, "
            f"after {after}. What led by then was wrong in {formatting.percent(summary.error_rate)} of them (95 % "
            f"interval {formatting.percent(low)} to {formatting.percent(high)}). "
            f"{bound_sentence(bound, summary.plays_mean)}"
        )
    else:
        console.print(
            f"{text} on {instance.name}: {formatting.count(summary.plays_mean)} plays on average "
            f"(standard error {formatting.count(summary.plays_standard_error)}, "
            f"median {formatting.count(summary.plays_median)}, "
            f"90 % within {formatting.count(summary.plays_90)}); "
            f"wrong in {formatting.percent(summary.error_rate)} of {summary.trials:,} trials "
            f"(95 % interval {formatting.percent(low)} to {formatting.percent(high)}). "
            f"{bound_sentence(bound, summary.plays_mean)}"
        )
    if promises and 0 < summary.confident < 1:
        console.print(f"{formatting.percent(1 - summary.confident)} of the trials ended with their budget, undecided.")
    costs = policy.goal.costs
    if costs:
        console.print("The best arm is the one with most successes per cost.")
    headings = (
        "arm" if instance.options is None else "option",
        "mean",
        *(("cost", "mean per cost") if costs else ()),
        *("samples, mean", "samples a play", "named best"),
    )
    rows = []
    shown = per_cost(instance.means, costs).argsort()[::-1][:MOST_ARMS]
    for arm in sorted(shown.tolist()):
        samples = float(runs.samples[:, arm].mean())
        row = (
            str(arm) if instance.options is None else instance.options[arm],
            f"{instance.means[arm]:.4g}",
            *((f"{costs[arm]:.4g}", f"{instance.means[arm] / costs[arm]:.4g}") if costs else ()),
            formatting.count(samples),
            f"{samples / summary.plays_mean:.3f}",
            formatting.percent(float((runs.arm == arm).mean())),
        )
        rows.append(row)
    console.table(headings, rows, names=0 if instance.options is None else 1)
    if instance.means.size > MOST_ARMS:
        arms = "arms" if instance.options is None else "options"
        console.print(f"The {MOST_ARMS} best of {instance.means.size:,} {arms} are shown; --json has them all.")
