"""``linkedbandits compare``: policies side by side on one instance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkedbandits.cli import formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.assumed import assumed_lines, assumes
from linkedbandits.cli.progress import progress_bar
from linkedbandits.linkage import find_linkage
from linkedbandits.policies import describe_policy, policy_class
from linkedbandits.policy import AnyPolicy
from linkedbandits.runs import Summary
from linkedbandits.simulation import simulate

DEFAULT_POLICIES = ("maximal-sampling", "uniform-sampling", "linked-ege", "linked-elimination")


@dataclass(frozen=True)
class Result:
    """A policy as it was written, and how it fared."""

    text: str
    policy: AnyPolicy
    summary: Summary

    @property
    def answers(self) -> bool:
        """Did it come to answers by its own rule, be that confidence or a given effort?"""
        return self.policy.status_at_stop == "budget" or self.summary.confident > 0


def compare(
    scenario: opt.Scenario = None,
    arms: opt.Arms = None,
    best: opt.Best = None,
    means: opt.Means = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, with parameters after a colon: linked-ege:median=fresh. Repeat it to compare; "
            f"without it, {', '.join(DEFAULT_POLICIES)}, as far as the linkage allows."
        ),
    ] = None,
    delta: opt.Delta = 0.1,
    gap: opt.Gap = "true",
    linkage: opt.LinkageName = "ordered",
    trials: opt.Trials = 1000,
    seed: opt.SeedOption = 0,
    max_plays: opt.MaxPlays = None,
    as_json: opt.Json = False,
) -> None:
    """Compare policies on one instance: plays until they answer, and how often they are wrong."""
    instance = opt.read_instance(scenario, arms, best, means)
    told_gap = opt.read_gap(gap, instance)
    texts = policy or [name for name in DEFAULT_POLICIES if find_linkage(linkage).allows(policy_class(name).asks)]
    policies = [opt.read_policy(text, delta, told_gap) for text in texts]
    results = []
    with progress_bar(trials * len(policies), "trials") as advance:
        for text, made in zip(texts, policies, strict=True):
            runs = simulate(
                instance.means,
                made,
                linkage=linkage,
                trials=trials,
                seed=seed,
                max_plays=max_plays,
                progress=partial(advance, text),
            )
            results.append(Result(text, made, runs.summary()))
    settings = {
        "linkage": linkage,
        "delta": delta,
        "told_gap": told_gap,
        "trials": trials,
        "seed": seed,
        "max_plays": max_plays,
    }
    if as_json:
        typer.echo(json.dumps(_as_data(instance, results, settings)))
    else:
        _print(instance, results, linkage, delta)


def _as_data(instance: opt.NamedMeans, results: list[Result], settings: dict[str, Any]) -> dict[str, Any]:
    least = min(result.summary.plays_mean for result in results)
    return {
        "instance": {"name": instance.name, "means": instance.means.tolist(), "gap": instance.gap},
        **settings,
        "policies": [
            {
                "policy": result.text,
                **describe_policy(result.policy),
                **result.summary.to_dict(),
                "ratio_to_least_plays": result.summary.plays_mean / least,
                "error_bound": result.policy.error_bound,
                "assumes": assumes(result.policy, find_linkage(settings["linkage"])),
            }
            for result in results
        ],
    }


def _print(instance: opt.NamedMeans, results: list[Result], linkage: str, delta: float) -> None:
    console = Console()
    least = min(result.summary.plays_mean for result in results)
    trials = results[0].summary.trials
    console.print(f"{instance.name}, linkage {linkage}, {trials:,} trials, delta {delta:g}", style="bold")
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("policy", overflow="fold")
    for heading in ("plays", "median", "90 %", "ratio", "wrong", "(95 % interval)"):
        table.add_column(heading, justify="right", no_wrap=True)
    for result in results:
        summary = result.summary
        low, high = summary.error_interval
        table.add_row(
            result.text,
            formatting.count(summary.plays_mean),
            formatting.count(summary.plays_median),
            formatting.count(summary.plays_90),
            formatting.times(summary.plays_mean / least),
            formatting.percent(summary.error_rate),
            f"({formatting.percent(low)} to {formatting.percent(high)})",
        )
    console.print(table)
    console.print(_meaning(instance, results, delta))
    for line in assumed_lines(((result.text, result.policy) for result in results), find_linkage(linkage)):
        console.print(line)


def _meaning(instance: opt.NamedMeans, results: list[Result], delta: float) -> str:
    """What the table says, in a sentence or two."""
    right = [result for result in results if result.answers and result.summary.error_rate <= delta]
    if not right:
        return "No policy came to answers of its own that are right often enough; raise --max-plays or choose others."
    first = min(right, key=lambda result: result.summary.plays_mean)
    last = max(right, key=lambda result: result.summary.plays_mean)
    best = int(instance.means.argmax())
    text = (
        f"{first.text} finds the best option (arm {best}, which works {formatting.percent(instance.means[best])} of "
        f"the time) soonest: after {formatting.count(first.summary.plays_mean)} plays on average"
    )
    if last is not first:
        ratio = last.summary.plays_mean / first.summary.plays_mean
        text += f", where {last.text} takes {formatting.times(ratio)} times that"
    text += "."
    for result in results:
        if result.policy.status_at_stop == "confident" and result.summary.confident < 1:
            text += (
                f" {result.text} ran out of plays in {formatting.percent(1 - result.summary.confident)} of its trials."
            )
        elif result.summary.error_rate > delta:
            text += f" {result.text} is wrong in {formatting.percent(result.summary.error_rate)}, more than asked."
    unproved = [result.text for result in results if result.policy.error_bound is None]
    if unproved:
        text += f" No error bound is proved for {', '.join(unproved)}."
    return text
