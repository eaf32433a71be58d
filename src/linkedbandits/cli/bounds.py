"""``linkedbandits bounds``: what an instance costs before anything is run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from linkedbandits.bounds import (
    CharacteristicTime,
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
from linkedbandits.cli import options as opt
from linkedbandits.cli import tables
from linkedbandits.cli.trials import undecided
from linkedbandits.errors import InvalidParameter
from linkedbandits.joint_worlds import OutcomeTable
from linkedbandits.linkage import LINKAGES, find_linkage
from linkedbandits.model import FloatArray
from linkedbandits.policies import policy_class
from linkedbandits.simulation import simulate

PLOTTED = ("linked-elimination", "linked-track-and-stop", "uniform-sampling", "linked-ege", "maximal-sampling")
PLOT_TRIALS = 200
MOST_ROWS = 12
PAPER_BOUNDS = {
    "maximal": ("MaximalSampling, Theorem 3.1", None),
    "uniform": ("UniformSampling, Theorem 3.2", "standard_uniform"),
    "linked_ege": ("LinkedEGE, Theorem 4.1", "standard_ege"),
    "lower": ("any policy, Corollary 5.1.1", "standard_lower"),
}
"""The paper's bounds by their field, each with its title and the field of the standard bandit's bound."""
LONGEST = {"free": 2, "single": 1}
"""How many options a play tries, in the bounds for options that depend on each other."""


def bounds(
    scenario: opt.Scenario = None,
    arms: opt.Arms = None,
    best: opt.Best = None,
    means: opt.Means = None,
    table: opt.TableFile = None,
    options: opt.Options = None,
    delta: opt.Delta = opt.DELTA,
    k: Annotated[int, typer.Option(help="How many best arms are to be found.")] = 1,
    linkage: Annotated[
        str | None,
        typer.Option(
            help=f"What a play may be: {', '.join(LINKAGES)}. Unless given, ordered; --table has free and single.",
            autocompletion=opt.one_of(LINKAGES),
        ),
    ] = None,
    as_json: opt.Json = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the optimal sampling proportions, and where policies' samples lie, into this file."),
    ] = None,
    seed: opt.Seed = 0,
) -> None:
    """What no policy can beat on an instance, what the order costs, and what the paper's theorems say.

    With --table, what no policy can beat that is right however options fail together.
    It is computed for up to six options, which take a minute or two.
    """
    instance = opt.read_instance(scenario, arms, best, means, table, options, correlation=None)
    if isinstance(instance.law, OutcomeTable):
        for option, value in (("--k", k if k != 1 else None), ("--plot", plot)):
            if value is not None:
                raise InvalidParameter(f"{option} {value} is for independent options; leave it out with --table")
        _of_table(instance, instance.law, delta, linkage, as_json)
        return
    link = find_linkage(linkage or "ordered")
    times = {name: characteristic_time(instance.means, name, k) for name in LINKAGES}
    paper = paper_bounds(instance.means, delta)
    why = undecided(instance, link, delta, k, in_bounds=True)
    if as_json:
        data = {
            "instance": instance.to_json(),
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
            "undecidable": why,
        }
        typer.echo(json.dumps(tables.finite(data)))
    else:
        _print(instance, times, paper, delta, link.name, why)
    if plot is not None:
        reason = times[link.name].reason
        if reason is not None:
            raise InvalidParameter(f"there are no optimal proportions to draw: {reason}")
        draw_proportions(plot, instance.means, times[link.name], _measured(instance, delta, link.name, k, seed))
        typer.echo(f"wrote {plot}", err=True)


def _of_table(instance: opt.Instance, outcomes: OutcomeTable, delta: float, linkage: str | None, as_json: bool) -> None:
    """The bound for the best option, under the two linkages for which it is known."""
    if linkage is not None and find_linkage(linkage).name not in LONGEST:
        raise InvalidParameter(
            f"no bound is known under --linkage {linkage} for options that depend on each other; "
            f"leave it out: both {' and '.join(LONGEST)} are shown"
        )
    names = outcomes.options
    if len(names) > MOST_OPTIONS:
        raise InvalidParameter(
            f"the table has {len(names)} options, and the bound is computed for up to {MOST_OPTIONS}; choose some, "
            f"such as --options {','.join(names[:2])}"
        )
    bounds_of = {name: lower_joint(outcomes, delta, longest) for name, longest in LONGEST.items()}
    shares = {
        name: [([names[option] for option in tried], share) for tried, share in bound.shares.items()]
        for name, bound in bounds_of.items()
    }
    if as_json:
        linkages = {
            name: {
                "longest": LONGEST[name],
                "lower_bound": bound.plays,
                "shares": [{"tried": tried, "share": share} for tried, share in shares[name]],
            }
            for name, bound in bounds_of.items()
        }
        typer.echo(json.dumps(tables.finite({"instance": instance.to_json(), "delta": delta, "linkages": linkages})))
        return
    report = tables.standard_report()
    report.print(f"{instance.name}, delta {delta:g}", style="bold")
    report.print("What no policy can beat that is right however options fail together:")
    rows = [
        (f"linkage {name}, {'one option' if LONGEST[name] == 1 else 'up to 2 options'} a play", _plays(bound.plays))
        for name, bound in bounds_of.items()
    ]
    report.table(("linkage", "plays, at least"), rows)
    largest = sorted(shares["free"], key=lambda pair: -pair[1])
    if not largest:
        why = undecided(instance, None, delta, in_bounds=True)
        report.print(why or "The best options tie: no number of plays tells them apart.")
        return
    rows = [(", ".join(tried), f"{share:.3f}") for tried, share in largest[:MOST_ROWS]]
    report.table(("tried first, then", "share of the plays that would do"), rows)
    if len(largest) > MOST_ROWS:
        report.print(f"The {MOST_ROWS} largest of {len(largest)} shares are shown; --json has them all.")


def _plays(value: float) -> str:
    """A lower bound, rounded down so that it remains one."""
    return "infinite" if math.isinf(value) else tables.count(math.floor(value))


def _print(
    instance: opt.Instance,
    times: dict[str, CharacteristicTime],
    paper: PaperBounds,
    delta: float,
    linkage: str,
    why: str | None,
) -> None:
    report = tables.standard_report()
    chosen, means = times[linkage], instance.means
    wanted = "" if chosen.k == 1 else f", the {chosen.k} best"
    report.print(f"{instance.name}, delta {delta:g}{wanted}", style="bold")
    if why is not None:
        report.print(f"{why[:1].upper()}{why[1:]}")
    if chosen.reason is not None:
        return  # there is nothing but infinities to show
    rows = [
        (f"linkage {name}", f"{time.value:,.4g}", _plays(lower(means, delta, name, time.k)))
        for name, time in times.items()
    ]
    report.table(("what no policy can beat", "characteristic time", "plays, at least"), rows)
    report.print(
        "The characteristic time is what a unit of evidence costs in plays on these means, whatever delta is; plays, "
        f"at least, are {kl_of_error(delta):.3g} times that, the evidence that delta {delta:g} takes."
    )
    order = price_of_order(means, chosen.k)
    if math.isfinite(order.ratio):
        report.print(
            f"One arm a play would need {times['single'].value / times['ordered'].value:.2f} times as many as ordered "
            f"plays; the fixed order costs {order.ratio:.3f} times what any order would (at most {order.at_most:.3f} "
            "for these means)."
        )
    report.print("The paper's bounds for the best arm, constants 1:")
    of_paper = []
    for name, (title, standard) in PAPER_BOUNDS.items():
        plays = _plays(getattr(paper, name))
        if name == "maximal" and 300 <= paper.maximal_log10 < math.inf:
            plays = f"1e+{paper.maximal_log10:.0f}"  # too large for a number
        beside = "-" if standard is None else _plays(getattr(paper, standard))
        of_paper.append((title, plays, beside, f"{getattr(paper.improvement, name):.3g}"))
    report.table(("bound", "plays", "standard bandit", "improvement"), of_paper)
    report.print(
        "The standard bandit plays one arm at a time. Improvement is how many times fewer plays a bound has than its, "
        "both without their logarithms and lesser terms."
    )
    shown = sorted(means.argsort()[::-1][:MOST_ROWS].tolist())
    rows = [(str(arm), f"{means[arm]:.4g}", f"{chosen.proportions[arm]:.3f}") for arm in shown]
    report.table(("arm", "mean", f"samples a play, {linkage}"), rows, names=0)
    if means.size > MOST_ROWS:
        report.print(f"The {MOST_ROWS} best of {means.size:,} arms are shown; --json has them all.")


def _measured(instance: opt.Instance, delta: float, linkage: str, k: int, seed: int) -> dict[str, FloatArray]:
    """Mean samples over mean plays of each policy that the linkage allows and that never ran out of plays."""
    wanted = PLOTTED if k == 1 else (f"linked-elimination:k={k}",)
    names = [name for name in wanted if find_linkage(linkage).allows(policy_class(name.partition(":")[0]).asks)]
    measured = {}
    with tables.progress_bar(PLOT_TRIALS * len(names), "trials") as advance:
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
