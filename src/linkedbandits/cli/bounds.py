"""``linkedbandits bounds``: what an instance costs before anything is run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from linkedbandits.bounds import (
    CharacteristicTime,
    JointBound,
    PaperBounds,
    characteristic_time,
    lower,
    lower_joint,
    price_of_order,
)
from linkedbandits.bounds import paper as paper_bounds
from linkedbandits.bounds.divergence import kl_of_error
from linkedbandits.bounds.joint import MOST_OPTIONS
from linkedbandits.bounds.proportions import draw_proportions
from linkedbandits.cli import completing, formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.progress import progress_bar
from linkedbandits.cli.report import Report, standard_report
from linkedbandits.cli.ties import undecided
from linkedbandits.errors import InvalidParameter
from linkedbandits.joint_worlds import OutcomeTable
from linkedbandits.linkage import LINKAGES, find_linkage
from linkedbandits.model import FloatArray
from linkedbandits.policies import policy_class
from linkedbandits.simulation import simulate

PLOTTED = ("linked-elimination", "linked-track-and-stop", "uniform-sampling", "linked-ege", "maximal-sampling")
PLOT_TRIALS = 200

PAPER_BOUNDS = {
    "maximal": "MaximalSampling, Theorem 3.1",
    "uniform": "UniformSampling, Theorem 3.2",
    "linked_ege": "LinkedEGE, Theorem 4.1",
    "lower": "any policy, Corollary 5.1.1",
}
LONGEST = {"free": 2, "single": 1}
"""How many options a play tries, in the bounds for options that depend on each other."""
STANDARD = {"uniform": "standard_uniform", "linked_ege": "standard_ege", "lower": "standard_lower"}


def bounds(
    scenario: opt.Scenario = None,
    arms: opt.Arms = None,
    best: opt.Best = None,
    means: opt.Means = None,
    table: opt.TableFile = None,
    options: opt.Options = None,
    delta: opt.Delta = 0.1,
    k: Annotated[int, typer.Option(help="How many best arms are to be found.")] = 1,
    linkage: Annotated[
        str | None,
        typer.Option(
            help=f"What a play may be: {', '.join(LINKAGES)}. Unless given, ordered; --table has free and single.",
            autocompletion=completing.linkages,
        ),
    ] = None,
    as_json: opt.Json = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the optimal sampling proportions, and where policies' samples lie, into this file."),
    ] = None,
    seed: opt.SeedOption = 0,
) -> None:
    """What no policy can beat on an instance, what the order costs, and what the paper's theorems say.

    With --table, what no policy can beat that is right however options fail together.
    It is computed for up to six options, which take a minute or two.
    """
    instance = opt.read_requests(scenario, arms, best, means, table, options, correlation=None)
    if isinstance(instance.law, OutcomeTable):
        _refuse_beside_table({"--k": k if k != 1 else None, "--plot": plot}, linkage)
        _of_table(instance.name, instance.law, delta, as_json)
        return
    link = find_linkage(linkage or "ordered").name
    times = {name: characteristic_time(instance.means, name, k) for name in LINKAGES}
    paper = paper_bounds(instance.means, delta)
    why = undecided(instance, find_linkage(link), delta, k, in_bounds=True)
    if as_json:
        typer.echo(json.dumps({**_as_data(instance, times, paper, delta, k), "undecidable": why}))
    else:
        _print(instance, times, paper, delta, link, why)
    if plot is not None:
        reason = times[link].reason
        if reason is not None:
            raise InvalidParameter(f"there are no optimal proportions to draw: {reason}")
        draw_proportions(plot, instance.means, times[link], _measured(instance, delta, link, k, seed))
        typer.echo(f"wrote {plot}", err=True)


def _refuse_beside_table(others: dict[str, Any], linkage: str | None) -> None:
    """What is known of options that depend on each other is the bound for the best one, under two linkages."""
    for option, value in others.items():
        if value is not None:
            raise InvalidParameter(f"{option} {value} is for independent options; leave it out with --table")
    if linkage is not None and find_linkage(linkage).name not in LONGEST:
        raise InvalidParameter(
            f"no bound is known under --linkage {linkage} for options that depend on each other; "
            f"leave it out: both {' and '.join(LONGEST)} are shown"
        )


def _of_table(name: str, outcomes: OutcomeTable, delta: float, as_json: bool) -> None:
    count = len(outcomes.options)
    if count > MOST_OPTIONS:
        raise InvalidParameter(
            f"the table has {count} options, and the bound is computed for up to {MOST_OPTIONS}; choose some, such as "
            f"--options {','.join(outcomes.options[:2])}"
        )
    bounds_of = {linkage: lower_joint(outcomes, delta, longest) for linkage, longest in LONGEST.items()}
    if as_json:
        typer.echo(json.dumps(_table_as_data(name, outcomes, bounds_of, delta)))
    else:
        _print_table(name, outcomes, bounds_of, delta)


def _table_as_data(name: str, outcomes: OutcomeTable, bounds_of: dict[str, JointBound], delta: float) -> dict[str, Any]:
    data: dict[str, Any] = _finite(
        {
            "instance": opt.NamedMeans(name, outcomes.means, outcomes).to_json(),
            "delta": delta,
            "linkages": {
                linkage: {
                    "longest": LONGEST[linkage],
                    "lower_bound": bound.plays,
                    "shares": [
                        {"tried": [outcomes.options[option] for option in tried], "share": share}
                        for tried, share in bound.shares.items()
                    ],
                }
                for linkage, bound in bounds_of.items()
            },
        }
    )
    return data


def _print_table(
    name: str, outcomes: OutcomeTable, bounds_of: dict[str, JointBound], delta: float, most: int = 12
) -> None:
    console = standard_report()
    console.print(f"{name}, delta {delta:g}", style="bold")
    rows = []
    for linkage, bound in bounds_of.items():
        options = "one option" if LONGEST[linkage] == 1 else f"up to {LONGEST[linkage]} options"
        rows.append((f"linkage {linkage}, {options} a play", _plays(bound.plays)))
    console.print("What no policy can beat that is right however options fail together:")
    console.table(("linkage", "plays, at least"), rows)
    shares = sorted(bounds_of["free"].shares.items(), key=lambda pair: -pair[1])
    if not shares:
        why = undecided(opt.NamedMeans(name, outcomes.means, outcomes), None, delta, in_bounds=True)
        console.print("The best options tie: no number of plays tells them apart." if why is None else why)
        return
    rows = [(", ".join(outcomes.options[option] for option in tried), f"{share:.3f}") for tried, share in shares[:most]]
    console.table(("tried first, then", "share of the plays that would do"), rows)
    if len(shares) > most:
        console.print(f"The {most} largest of {len(shares)} shares are shown; --json has them all.")


def _as_data(
    instance: opt.NamedMeans,
    times: dict[str, CharacteristicTime],
    paper: PaperBounds,
    delta: float,
    k: int,
) -> dict[str, Any]:
    """Infinities and undefined numbers are null: JSON has none."""
    data: dict[str, Any] = _finite(
        {
            "instance": {"name": instance.name, "means": instance.means.tolist(), "gap": instance.gap},
            "delta": delta,
            "k": k,
            "linkages": {
                name: {
                    "characteristic_time": time.value,
                    "lower_bound": lower(instance.means, delta, name, k),
                    "proportions": time.proportions.tolist(),
                    "reason": time.reason,
                }
                for name, time in times.items()
            },
            "price_of_order": asdict(price_of_order(instance.means, k)),
            "paper": asdict(paper),
        }
    )
    return data


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _power(log10: float) -> str:
    """A number of plays given by its logarithm, which may be too large for the number itself."""
    return _plays(10**log10) if log10 < 300 or math.isinf(log10) else f"1e+{log10:.0f}"


def _plays(value: float) -> str:
    """Rounded down, so that a lower bound remains one."""
    return "infinite" if math.isinf(value) else formatting.count(math.floor(value))


def _print(
    instance: opt.NamedMeans,
    times: dict[str, CharacteristicTime],
    paper: PaperBounds,
    delta: float,
    linkage: str,
    why: str | None,
) -> None:
    console = standard_report()
    chosen = times[linkage]
    wanted = "" if chosen.k == 1 else f", the {chosen.k} best"
    console.print(f"{instance.name}, delta {delta:g}{wanted}", style="bold")
    if why is not None:
        console.print(f"{why[:1].upper()}{why[1:]}")
    if chosen.reason is not None:
        return  # there is nothing but infinities to show
    rows = [
        (f"linkage {name}", f"{time.value:,.4g}", _plays(lower(instance.means, delta, name, time.k)))
        for name, time in times.items()
    ]
    console.table(("what no policy can beat", "characteristic time", "plays, at least"), rows)
    console.print(
        "The characteristic time is what a unit of evidence costs in plays on these means, whatever delta is; plays, "
        f"at least, are {kl_of_error(delta):.3g} times that, the evidence that delta {delta:g} takes."
    )
    order = price_of_order(instance.means, chosen.k)
    if math.isfinite(order.ratio):
        single = times["single"].value / times["ordered"].value
        console.print(
            f"One arm a play would need {single:.2f} times as many as ordered plays; the fixed order costs "
            f"{order.ratio:.3f} times what any order would (at most {order.at_most:.3f} for these means)."
        )
    console.print("The paper's bounds for the best arm, constants 1:")
    of_paper = []
    for name, title in PAPER_BOUNDS.items():
        value = getattr(paper, name)
        shown = _power(paper.maximal_log10) if name == "maximal" else _plays(value)
        standard = _plays(getattr(paper, STANDARD[name])) if name in STANDARD else "-"
        of_paper.append((title, shown, standard, f"{getattr(paper.improvement, name):.3g}"))
    console.table(("bound", "plays", "standard bandit", "improvement"), of_paper)
    console.print(
        "The standard bandit plays one arm at a time. Improvement is how many times fewer plays a bound has than its, "
        "both without their logarithms and lesser terms."
    )
    _print_proportions(console, instance.means, chosen)


def _print_proportions(console: Report, means: FloatArray, time: CharacteristicTime, most: int = 12) -> None:
    if time.reason is not None:
        return
    shown = sorted(means.argsort()[::-1][:most].tolist())
    rows = [(str(arm), f"{means[arm]:.4g}", f"{time.proportions[arm]:.3f}") for arm in shown]
    console.table(("arm", "mean", f"samples a play, {time.linkage}"), rows, names=0)
    if means.size > most:
        console.print(f"The {most} best of {means.size:,} arms are shown; --json has them all.")


def _measured(instance: opt.NamedMeans, delta: float, linkage: str, k: int, seed: int) -> dict[str, FloatArray]:
    """Mean samples over mean plays, for the policies that the linkage allows; those that ran out are left out."""
    wanted = PLOTTED if k == 1 else (f"linked-elimination:k={k}",)
    names = [name for name in wanted if find_linkage(linkage).allows(policy_class(name.partition(":")[0]).asks)]
    measured = {}
    with progress_bar(PLOT_TRIALS * len(names), "trials") as advance:
        for name in names:
            runs = simulate(
                instance.means,
                opt.read_policy(name, delta, instance.gap or None),
                linkage=linkage,
                trials=PLOT_TRIALS,
                seed=seed,
                max_plays=10**15,
                progress=partial(advance, name),
            )
            if runs.confident.all():
                measured[name] = runs.samples.mean(axis=0) / runs.plays.mean()
    return measured
