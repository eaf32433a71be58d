"""``linkedbandits compare``: policies side by side on one instance."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from linkedbandits.assumptions import INDEPENDENT_OPTIONS
from linkedbandits.bounds.for_policy import BoundAsTold
from linkedbandits.cli import options as opt
from linkedbandits.cli import tables
from linkedbandits.cli.trials import OVER_BOUND, PolicyTrials, assumed_lines, bound_note, marked, over_bound, run_trials
from linkedbandits.display import tidied
from linkedbandits.figures.style import check_figure, save
from linkedbandits.model import per_cost
from linkedbandits.policies import policy_class
from linkedbandits.policy import Goal
from linkedbandits.runs import Summaries, Summary

DEFAULT_POLICIES = ("maximal-sampling", "uniform-sampling", "linked-ege", "linked-elimination")
POLICIES_ON_A_TABLE = ("linked-duels", "linked-elimination", "linked-track-and-stop")
"""Policies that need few plays: the others take minutes where options depend on each other."""


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
            help=f"{opt.POLICY_HELP}Repeat it to compare; without it, {', '.join(DEFAULT_POLICIES)}, and with --table "
            f"or --correlation {', '.join(POLICIES_ON_A_TABLE)}, as far as the linkage allows.",
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
) -> None:
    """Compare policies on one instance: plays until they answer, and how often they are wrong."""
    if plot is not None:
        check_figure(plot)  # before the work
    instance = opt.read_instance(scenario, arms, best, means, table, options, correlation)
    settings = opt.read_settings(instance, policy or [], linkage, gap, max_plays)
    by_default = DEFAULT_POLICIES if instance.law is None else POLICIES_ON_A_TABLE
    texts = policy or [name for name in by_default if settings.linkage.allows(policy_class(name).asks)]
    policies = [opt.read_policy(text, delta, settings.told_gap) for text in texts]
    with tables.progress_bar(trials * len(policies), "trials") as advance:
        results = [
            run_trials(text, made, instance, settings, trials, seed, advance)
            for text, made in zip(texts, policies, strict=True)
        ]
    summaries = {result.text: result.runs.summary() for result in results}
    least = min(summary.plays_mean for summary in summaries.values())
    link = settings.linkage.name
    if as_json:
        data = {
            "instance": instance.to_json(),
            "linkage": link,
            "delta": delta,
            "told_gap": settings.told_gap,
            "trials": trials,
            "seed": seed,
            "max_plays": settings.max_plays,
            "policies": [
                {
                    "policy": result.text,
                    **result.to_json(),
                    "ratio_to_least_plays": summaries[result.text].plays_mean / least,
                }
                for result in results
            ],
        }
        typer.echo(json.dumps(tidied(data)))
    else:
        report = tables.standard_report()
        report.print(f"{instance.name}, linkage {link}, {trials:,} trials, delta {delta:g}", style="bold")
        _print_table(report, instance, results, least)
        report.print(_meaning(instance, results, delta))
        if instance.dependence is None:
            report.print(bound_note((result.text, result.bound) for result in results))
        else:
            report.print("Ratio is plays over the fewest in the table.")
        assumed = assumed_lines(((result.text, result.assumed) for result in results), instance.dependence)
        for line in [*opt.told_by_default(texts, settings.told_gap), *assumed]:
            report.print(line)
    if plot is not None:
        figure = Summaries(summaries, {result.text: result.policy.goal.delta for result in results}).plot()
        title = f"{instance.name}, linkage {link}, {trials:,} trials"
        figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
        save(figure, plot)
        typer.echo(f"wrote {plot}", err=True)


def _print_table(report: tables.Report, instance: opt.Instance, results: list[PolicyTrials], least: float) -> None:
    """Where options depend on each other there is no bound; the column then has plays over the fewest of the table."""
    bounded = instance.dependence is None
    rows = []
    for result in results:
        summary = result.runs.summary()
        row = (
            marked(result.text, result.bound.told if bounded else None),
            tables.count(summary.plays_mean),
            tables.count(summary.plays_median),
            tables.count(summary.plays_90),
            over_bound(result.bound if bounded else BoundAsTold(least), summary.plays_mean),
            tables.percent(summary.error_rate),
            tables.interval(*summary.error_interval),
        )
        rows.append(row)
    over = OVER_BOUND if bounded else "ratio"
    report.table(("policy", "plays", "median", "90 %", over, "wrong", "(95 % interval)"), rows)


def _meaning(instance: opt.Instance, results: list[PolicyTrials], delta: float) -> str:
    """The table in a few sentences."""
    reasons = dict.fromkeys(result.undecidable for result in results if result.undecidable is not None)
    said = [why[:1].upper() + why[1:] for why in reasons]
    decidable = [result for result in results if result.undecidable is None]
    if decidable:
        said.append(_soonest(instance, decidable, delta))
    out_of_plays: dict[str, list[str]] = {}
    for result in results:
        runs, summary = result.runs, result.runs.summary()
        wrong = summary.error_rate
        if result.policy.status_at_stop == "confident" and summary.confident < 1:
            wrong = float((runs.confident & ~runs.correct).mean())  # trials that ran out just guess
            out_of_plays.setdefault(tables.percent(1 - summary.confident), []).append(result.text)
        if wrong > _allowed(result, delta):
            said.append(f"{result.text} is wrong in {tables.percent(wrong)}, more than asked.")
    for out, texts in out_of_plays.items():
        said.append(f"{', '.join(texts)} ran out of plays in {out} of {'its' if len(texts) == 1 else 'their'} trials.")
    unproved = [result.text for result in results if result.policy.error_bound is None]
    if unproved:
        said.append(f"No error bound is proved for {', '.join(unproved)}.")
    return " ".join(said)


def _allowed(result: PolicyTrials, delta: float) -> float:
    """How often a policy may be wrong: its own delta, or that of the command."""
    return delta if result.policy.goal.delta is None else result.policy.goal.delta


def _soonest(instance: opt.Instance, results: list[PolicyTrials], delta: float) -> str:
    """The policy with the fewest plays among those that are right often enough.

    Where options depend on each other, a policy that assumes independence is right by luck, and another is preferred.
    """
    summaries: dict[str, Summary] = {result.text: result.runs.summary() for result in results}
    right = [
        result
        for result in results
        if (result.policy.status_at_stop == "exhausted" or summaries[result.text].confident > 0)
        and summaries[result.text].error_rate <= _allowed(result, delta)
    ]
    soonest = "soonest"
    valid = [result for result in right if INDEPENDENT_OPTIONS not in result.assumed]
    if instance.dependence is not None and valid:
        soonest = "soonest" if len(valid) == len(results) else "without assuming independence"
        right = valid
    if not right:
        return "No policy came to answers of its own that are right often enough; raise --max-plays or choose others."

    def plays(result: PolicyTrials) -> float:
        return summaries[result.text].plays_mean

    first = min(right, key=plays)
    goal = first.policy.goal
    last = max((result for result in right if _question(result.policy.goal) == _question(goal)), key=plays)
    text = (
        f"{first.text} finds {_wanted(instance, goal)} {soonest}: after {tables.count(plays(first))} plays on average"
    )
    if last is not first:
        text += f", where {last.text} takes {tables.times(plays(last) / plays(first))} times that"
    return text + "."


def _question(goal: Goal) -> tuple[object, ...]:
    """Policies that differ in this are right with different answers."""
    return goal.costs, goal.k, goal.tolerance, goal.neighbours


def _wanted(instance: opt.Instance, goal: Goal) -> str:
    if goal.k > 1:
        return f"the {goal.k} best options"
    best = int(per_cost(instance.means, goal.costs).argmax())
    wanted = "the best option"
    if goal.costs:
        wanted = "the option with most successes per cost"
    elif goal.tolerance:
        wanted = f"an option within {goal.tolerance:g} of the best"
    elif goal.neighbours:
        wanted = f"an option within {goal.neighbours} places of the best"
    return f"{wanted} ({instance.label(best)}, which works {tables.percent(instance.means[best])} of the time)"
