"""``linkedbandits compare``: policies side by side on one instance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from linkedbandits.assumptions import INDEPENDENT_OPTIONS, Assumption
from linkedbandits.bounds.for_policy import BoundAsTold
from linkedbandits.cli import completing, formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.assumed import assumed_in, assumed_lines, names_of
from linkedbandits.cli.over_bound import HEADING, bound_data, bound_note, bound_of, marked, over_bound
from linkedbandits.cli.progress import progress_bar
from linkedbandits.cli.report import standard_report
from linkedbandits.cli.ties import undecidable
from linkedbandits.cli.without_end import WithoutEnd
from linkedbandits.display import tidied
from linkedbandits.figures.style import ENDINGS, check_figure, save
from linkedbandits.linkage import find_linkage
from linkedbandits.model import per_cost
from linkedbandits.policies import describe_policy, policy_class
from linkedbandits.policy import AnyPolicy, Goal
from linkedbandits.runs import Summaries, Summary
from linkedbandits.simulation import simulate

DEFAULT_POLICIES = ("maximal-sampling", "uniform-sampling", "linked-ege", "linked-elimination")
POLICIES_ON_A_TABLE = ("linked-duels", "linked-elimination", "linked-track-and-stop")
"""Those that need few plays: the others take minutes where options depend on each other."""


@dataclass(frozen=True)
class Result:
    """A policy as it was written, and how it fared."""

    text: str
    policy: AnyPolicy
    summary: Summary
    sure_and_wrong: float
    """The share of trials that the policy stopped by its own rule and are wrong."""
    bound: BoundAsTold
    """What no policy can beat that is told as much."""
    assumed: tuple[Assumption, ...]
    """What it took for granted."""

    undecidable: str | None = None
    """Why it cannot be expected to come to an answer, and what to ask instead."""

    @property
    def answers(self) -> bool:
        """Did it come to answers by its own rule, be that confidence or a given effort?"""
        return self.policy.status_at_stop == "exhausted" or self.summary.confident > 0

    def asked(self, delta: float) -> float:
        """How often it may be wrong: as it was told itself, or as all are that have no word of their own."""
        return delta if self.policy.goal.delta is None else self.policy.goal.delta


def compare(
    scenario: opt.Scenario = None,
    arms: opt.Arms = None,
    best: opt.Best = None,
    means: opt.Means = None,
    table: opt.TableFile = None,
    options: opt.Options = None,
    correlation: opt.Correlation = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="A policy, with parameters after a colon: linked-ege:median=fresh, or linked-elimination:costs=1/2/5 "
            "for most successes per cost, or package.module:Class for one of your own. Repeat it to compare; "
            f"without it, {', '.join(DEFAULT_POLICIES)}, and with --table or --correlation "
            f"{', '.join(POLICIES_ON_A_TABLE)}, as far as the linkage allows.",
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
        typer.Option(help=f"Draw the comparison into this file ({', '.join(ENDINGS)}), on white ground."),
    ] = None,
    as_json: opt.Json = False,
) -> None:
    """Compare policies on one instance: plays until they answer, and how often they are wrong."""
    if plot is not None:
        check_figure(plot)  # before the work
    instance = opt.read_requests(scenario, arms, best, means, table, options, correlation)
    given = opt.read_settings(instance, policy or [], linkage, gap, max_plays)
    by_default = DEFAULT_POLICIES if instance.law is None else POLICIES_ON_A_TABLE
    link = find_linkage(given.linkage)
    texts = policy or [name for name in by_default if link.allows(policy_class(name).asks)]
    policies = [opt.read_policy(text, delta, given.told_gap) for text in texts]
    results = []
    with progress_bar(trials * len(policies), "trials") as advance:
        for text, made in zip(texts, policies, strict=True):
            looked_at = WithoutEnd(text, given.max_plays)
            runs = simulate(
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
            sure_and_wrong = float((runs.confident & ~runs.correct).mean())
            why = undecidable(instance, made, link)
            assumed = assumed_in(runs, made, link)
            bound = bound_of(made, instance, link)
            results.append(Result(text, made, runs.summary(), sure_and_wrong, bound, assumed, why))
    settings = {
        "linkage": given.linkage,
        "delta": delta,
        "told_gap": given.told_gap,
        "trials": trials,
        "seed": seed,
        "max_plays": given.max_plays,
    }
    if as_json:
        typer.echo(json.dumps(tidied(_as_data(instance, results, settings))))
    else:
        _print(instance, results, given.linkage, delta, opt.told_by_itself(texts, given.told_gap))
    if plot is not None:
        deltas = {result.text: result.policy.goal.delta for result in results}
        figure = Summaries({result.text: result.summary for result in results}, deltas).plot()
        title = f"{instance.name}, linkage {given.linkage}, {trials:,} trials"
        figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
        save(figure, plot)
        typer.echo(f"wrote {plot}", err=True)


def _as_data(instance: opt.NamedMeans, results: list[Result], settings: dict[str, Any]) -> dict[str, Any]:
    least = min(result.summary.plays_mean for result in results)
    return {
        "instance": instance.to_json(),
        **settings,
        "policies": [
            {
                "policy": result.text,
                **describe_policy(result.policy),
                **result.summary.to_dict(),
                "ratio_to_least_plays": result.summary.plays_mean / least,
                **bound_data(result.bound, result.summary.plays_mean),
                "error_bound": result.policy.error_bound,
                "undecidable": result.undecidable,
                "assumes": names_of(result.assumed),
            }
            for result in results
        ],
    }


def _print(instance: opt.NamedMeans, results: list[Result], linkage: str, delta: float, told: str | None) -> None:
    console = standard_report()
    trials = results[0].summary.trials
    console.print(f"{instance.name}, linkage {linkage}, {trials:,} trials, delta {delta:g}", style="bold")
    # Where options depend on each other there is no such bound: then over the fewest plays of the table.
    over = HEADING if instance.dependence is None else "ratio"
    least = min(result.summary.plays_mean for result in results)
    rows = []
    for result in results:
        summary = result.summary
        low, high = summary.error_interval
        row = (
            marked(result.text, result.bound.told if instance.dependence is None else None),
            formatting.count(summary.plays_mean),
            formatting.count(summary.plays_median),
            formatting.count(summary.plays_90),
            over_bound(result.bound if instance.dependence is None else BoundAsTold(least), summary.plays_mean),
            formatting.percent(summary.error_rate),
            formatting.interval(low, high),
        )
        rows.append(row)
    console.table(("policy", "plays", "median", "90 %", over, "wrong", "(95 % interval)"), rows)
    console.print(_meaning(instance, results, delta))
    if instance.dependence is None:
        console.print(bound_note([(result.text, result.bound) for result in results]))
    else:
        console.print("Ratio is plays over the fewest in the table.")
    if told is not None:
        console.print(told)
    for line in assumed_lines([(result.text, result.assumed) for result in results], instance.dependence):
        console.print(line)


def _meaning(instance: opt.NamedMeans, results: list[Result], delta: float) -> str:
    """What the table says, in a few sentences."""
    said = [_capitalised(why) for why in dict.fromkeys(result.undecidable for result in results) if why is not None]
    decidable = [result for result in results if result.undecidable is None]
    if decidable:
        said.append(_soonest(instance, decidable, delta))
    text = " ".join(said)
    out_of_plays: dict[str, list[str]] = {}
    for result in results:
        wrong = result.summary.error_rate
        if result.policy.status_at_stop == "confident" and result.summary.confident < 1:
            wrong = result.sure_and_wrong
            out_of_plays.setdefault(formatting.percent(1 - result.summary.confident), []).append(result.text)
        if wrong > result.asked(delta):
            text += f" {result.text} is wrong in {formatting.percent(wrong)}, more than asked."
    for out, texts in out_of_plays.items():
        text += f" {', '.join(texts)} ran out of plays in {out} of {'its' if len(texts) == 1 else 'their'} trials."
    unproved = [result.text for result in results if result.policy.error_bound is None]
    if unproved:
        text += f" No error bound is proved for {', '.join(unproved)}."
    return text


def _capitalised(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _soonest(instance: opt.NamedMeans, results: list[Result], delta: float) -> str:
    """Which policy needs the fewest plays of those that are right often enough.

    Where options depend on each other, one that takes them to be independent is right by luck: others are named, if
    there are any.
    """
    right = [result for result in results if result.answers and result.summary.error_rate <= result.asked(delta)]
    soonest = "soonest"
    if instance.dependence is not None:
        valid = [result for result in right if INDEPENDENT_OPTIONS not in result.assumed]
        if valid:
            soonest = "soonest" if len(valid) == len(results) else "without assuming independence"
            right = valid
    if not right:
        return "No policy came to answers of its own that are right often enough; raise --max-plays or choose others."
    first = min(right, key=lambda result: result.summary.plays_mean)
    goal = first.policy.goal
    alike = [result for result in right if _looked_for(result.policy.goal) == _looked_for(goal)]
    last = max(alike, key=lambda result: result.summary.plays_mean)
    text = f"{first.text} finds {_wanted(instance, goal)} {soonest}: "
    text += f"after {formatting.count(first.summary.plays_mean)} plays on average"
    if last is not first:
        ratio = last.summary.plays_mean / first.summary.plays_mean
        text += f", where {last.text} takes {formatting.times(ratio)} times that"
    return text + "."


def _looked_for(goal: Goal) -> tuple[object, ...]:
    """Policies that differ in this are right with different answers."""
    return goal.costs, goal.k, goal.tolerance, goal.neighbours


def _wanted(instance: opt.NamedMeans, goal: Goal) -> str:
    if goal.k > 1:
        return f"the {goal.k} best options"
    best = int(per_cost(instance.means, goal.costs).argmax())
    called = f"({instance.called(best)}, which works {formatting.percent(instance.means[best])} of the time)"
    if goal.costs:
        return f"the option with most successes per cost {called}"
    if goal.tolerance:
        return f"an option within {goal.tolerance:g} of the best {called}"
    if goal.neighbours:
        return f"an option within {goal.neighbours} places of the best {called}"
    return f"the best option {called}"
