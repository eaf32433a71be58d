"""``linkedbandits bounds``: what an instance costs before anything is run."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from linkedbandits.bounds import CharacteristicTime, PaperBounds, characteristic_time, lower, price_of_order
from linkedbandits.bounds import paper as paper_bounds
from linkedbandits.cli import formatting
from linkedbandits.cli import options as opt
from linkedbandits.cli.progress import progress_bar
from linkedbandits.errors import InvalidParameter
from linkedbandits.figures.proportions import draw_proportions
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
STANDARD = {"uniform": "standard_uniform", "linked_ege": "standard_ege", "lower": "standard_lower"}


def bounds(
    scenario: opt.Scenario = None,
    arms: opt.Arms = None,
    best: opt.Best = None,
    means: opt.Means = None,
    delta: opt.Delta = 0.1,
    k: Annotated[int, typer.Option(help="How many best arms are to be found.")] = 1,
    linkage: opt.LinkageName = "ordered",
    as_json: opt.Json = False,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the optimal sampling proportions, and where policies' samples lie, into this file."),
    ] = None,
    seed: opt.SeedOption = 0,
) -> None:
    """What no policy can beat on an instance, what the order costs, and what the paper's theorems say."""
    instance = opt.read_instance(scenario, arms, best, means)
    link = find_linkage(linkage).name
    times = {name: characteristic_time(instance.means, name, k) for name in LINKAGES}
    paper = paper_bounds(instance.means, delta)
    if as_json:
        typer.echo(json.dumps(_as_data(instance, times, paper, delta, k)))
    else:
        _print(instance, times, paper, delta, link)
    if plot is not None:
        reason = times[link].reason
        if reason is not None:
            raise InvalidParameter(f"there are no optimal proportions to draw: {reason}")
        draw_proportions(plot, instance.means, times[link], _measured(instance, delta, link, k, seed))
        typer.echo(f"wrote {plot}", err=True)


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
) -> None:
    console = Console()
    chosen = times[linkage]
    wanted = "" if chosen.k == 1 else f", the {chosen.k} best"
    console.print(f"{instance.name}, delta {delta:g}{wanted}", style="bold")
    if chosen.reason is not None:
        console.print(chosen.reason)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("what no policy can beat", "characteristic time", "plays, at least"):
        table.add_column(heading, justify="left" if heading.startswith("what") else "right", no_wrap=True)
    for name, time in times.items():
        least = lower(instance.means, delta, name, time.k)
        table.add_row(f"linkage {name}", f"{time.value:,.4g}", _plays(least))
    console.print(table)
    order = price_of_order(instance.means, chosen.k)
    if math.isfinite(order.ratio):
        single = times["single"].value / times["ordered"].value
        console.print(
            f"One arm a play would need {single:.2f} times as many as ordered plays; the fixed order costs "
            f"{order.ratio:.3f} times what any order would (at most {order.at_most:.3f} for these means)."
        )
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("the paper's bounds for the best arm, constants 1", no_wrap=True)
    for heading in ("plays", "standard bandit", "improvement"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, title in PAPER_BOUNDS.items():
        value = getattr(paper, name)
        shown = _power(paper.maximal_log10) if name == "maximal" else _plays(value)
        standard = _plays(getattr(paper, STANDARD[name])) if name in STANDARD else "-"
        table.add_row(title, shown, standard, f"{getattr(paper.improvement, name):.3g}")
    console.print(table)
    _print_proportions(console, instance.means, chosen)


def _print_proportions(console: Console, means: FloatArray, time: CharacteristicTime, most: int = 12) -> None:
    if time.reason is not None:
        return
    shown = sorted(means.argsort()[::-1][:most].tolist())
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in ("arm", "mean", f"samples a play, {time.linkage}"):
        table.add_column(heading, justify="right")
    for arm in shown:
        table.add_row(str(arm), f"{means[arm]:.4g}", f"{time.proportions[arm]:.3f}")
    console.print(table)
    if means.size > most:
        console.print(f"The {most} best of {means.size:,} arms are shown; --json has them all.")


def _measured(instance: opt.NamedMeans, delta: float, linkage: str, k: int, seed: int) -> dict[str, FloatArray]:
    """Mean samples over mean plays, for the policies that the linkage allows; those that ran out are left out."""
    wanted = PLOTTED if k == 1 else (f"linked-elimination:k={k}", f"cascade-bai:k={k}")
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
