"""How much the fixed order costs, explored: the paper's scenarios, random instances, and a search for the worst.

    python -m linkedbandits.bounds.ordered_against_free docs/figures/ordered-against-free.png

prints the table of :func:`explore` and draws the figure of the page "What a play is worth" (needs matplotlib).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkedbandits.bounds.order import price_of_order
from linkedbandits.figures.style import logarithmic_axis
from linkedbandits.model import FloatArray
from linkedbandits.scenarios import decreasing, increasing, one_sparse

__all__ = ["Family", "draw", "explore", "worst_with_best_mean"]

_SCENARIOS: dict[str, Callable[[int], FloatArray]] = {
    "one-sparse, best first": one_sparse,
    "one-sparse, best last": lambda n: one_sparse(n, best=n - 1),
    "decreasing": decreasing,
    "increasing": increasing,
}
_BEST_MEANS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_SIZES = (2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)

_GROUPS = 3
_CROWD_THEN_RIVAL = np.array([-3.0, -2.0, 0.0, 6.0, -1.0, 0.0])
"""Where the worst instances were found: a crowd of low arms before the closest rival, the best arm first or last.

As every search point: the logit of each group's mean over the best one, then the logarithm of each group's size.
"""


@dataclass(frozen=True, slots=True)
class Family:
    """The ratio of the characteristic times, ordered over free, over a family of instances, and its worst instance."""

    name: str
    instances: int
    median: float
    largest: float
    worst: FloatArray

    @classmethod
    def of(cls, name: str, instances: list[FloatArray]) -> Family:
        """Compute the ratio for every instance."""
        ratios = np.array([price_of_order(means).ratio for means in instances])
        return cls(name, ratios.size, float(np.median(ratios)), float(ratios.max()), instances[int(ratios.argmax())])


def explore(rng: np.random.Generator, draws: int = 200, starts: int = 2, looks: int = 200) -> list[Family]:
    """Look for large ratios: in the scenarios, in ``draws`` random instances a family, and by a search.

    The search has ``starts`` random starting points for each place of the best arm and takes ``looks`` at the ratio
    from each.
    """
    families = [Family.of(name, [make(n) for n in _SIZES]) for name, make in _SCENARIOS.items()]
    for arms in (2, 10, 100):
        families += [
            Family.of(f"{arms} means uniform on [0, 1]", [rng.random(arms) for _ in range(draws)]),
            Family.of(f"{arms} means uniform on [0, 0.1]", [0.1 * rng.random(arms) for _ in range(draws)]),
            Family.of(f"{arms} means near 0 or 1, Beta(0.3, 0.3)", [rng.beta(0.3, 0.3, arms) for _ in range(draws)]),
        ]
    for largest_group, name in ((1, "at most 4 arms"), (1000, "groups of up to 1000 arms")):
        worst = [worst_with_best_mean(best, largest_group, rng, starts, looks) for best in _BEST_MEANS]
        families += [
            Family.of(f"worst found, best mean {best:g}, {name}", [means])
            for best, means in zip(_BEST_MEANS, worst, strict=True)
        ]
    return families


def worst_with_best_mean(
    best: float, largest_group: int, rng: np.random.Generator, starts: int = 2, looks: int = 200
) -> FloatArray:
    """Search for an instance whose best mean is given and whose ratio is as large as can be.

    The instance is made of three groups of equal arms, each of at most ``largest_group``, with the best arm before,
    between or behind them. Returns its means.

    >>> means = worst_with_best_mean(1.0, 1, np.random.default_rng(1), starts=0, looks=40)
    >>> round(price_of_order(means).ratio, 2)
    2.0
    """
    points = [(0, _CROWD_THEN_RIVAL), (_GROUPS, _CROWD_THEN_RIVAL)]
    for place in range(_GROUPS + 1):
        for _ in range(starts):
            sizes = rng.uniform(0, np.log(largest_group + 1), _GROUPS)
            points.append((place, np.concatenate([rng.normal(0, 4, _GROUPS), sizes])))
    climbs = [_climb(best, place, shape, largest_group, looks) for place, shape in points]
    return max(climbs, key=_ratio)


def _climb(best: float, place: int, start: FloatArray, largest_group: int, looks: int) -> FloatArray:
    """Nelder and Mead's method from one starting point; a group can vanish, but some rival must be left."""
    # Imported here, because it takes longer to import than the rest of the library together.
    from scipy.optimize import fmin  # only this exploration needs it

    def minus_ratio(shape: FloatArray) -> float:
        return -_ratio(_grouped(best, place, shape, largest_group))

    simplex = start + np.vstack([np.zeros(start.size), 1.5 * np.eye(start.size)])
    ended = fmin(minus_ratio, start, maxfun=looks, initial_simplex=simplex, disp=False)
    return _grouped(best, place, ended, largest_group)


def _ratio(means: FloatArray) -> float:
    """The ratio, and 0 for means that are no instance, because they have one arm or two best."""
    return float(np.nan_to_num(price_of_order(means).ratio)) if means.size > 1 else 0.0


def _grouped(best: float, place: int, shape: FloatArray, largest_group: int) -> FloatArray:
    """The instance that a search point stands for."""
    levels = best / (1 + np.exp(-np.clip(shape[:_GROUPS], -30, 30)))
    sizes = np.clip(np.exp(np.clip(shape[_GROUPS:], -30, 30)).round(), 0, largest_group).astype(np.int64)
    groups = np.repeat(levels, sizes)
    return np.insert(groups, int(sizes[:place].sum()), best)


def draw(path: Path, families: list[Family], cells: int = 40) -> None:
    """Draw the ratio: for pairs of means on a grid of cells, for the scenarios, and for the worst instances found."""
    # Imported here: drawing is an extra, and matplotlib takes a second to import.
    from matplotlib.figure import Figure  # type: ignore[import-not-found, unused-ignore]

    figure = Figure(figsize=(13, 4.2), layout="constrained")
    pairs, scenarios, worst = figure.subplots(1, 3)
    grid = (np.arange(cells) + 0.5) / cells
    ratios = np.array([[price_of_order([first, second]).ratio for first in grid] for second in grid])
    levels = pairs.contourf(grid, grid, np.nan_to_num(ratios, nan=1.0), levels=np.linspace(1, 2, 11), cmap="viridis")
    figure.colorbar(levels, ax=pairs, label="plays in order / plays in free order")
    pairs.set(title="two arms", xlabel="mean of the first arm", ylabel="mean of the second arm")
    for (name, make), marker in zip(_SCENARIOS.items(), "osv^", strict=True):
        curve = [price_of_order(make(n)).ratio for n in _SIZES]
        scenarios.plot(_SIZES, curve, marker=marker, markersize=4, label=name)
    scenarios.set(title="the paper's scenarios", xlabel="arms", ylim=(0.97, 2.03))
    logarithmic_axis(scenarios, "x")
    scenarios.legend(frameon=False)
    for name, marker in (("at most 4 arms", "o"), ("groups of up to 1000 arms", "s")):
        curve = [family.largest for family in families if family.name.endswith(name)]
        worst.plot(_BEST_MEANS, curve, marker=marker, markersize=4, label=name)
    worst.axhline(2, color="black", linewidth=0.8, linestyle="--", label="never more than 2")
    worst.set(title="largest ratio found", xlabel="mean of the best arm", ylim=(0.97, 2.03))
    worst.legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)


def main(arguments: list[str]) -> int:
    """Print the table and draw the figure to the path given."""
    if len(arguments) != 1:
        print("usage: python -m linkedbandits.bounds.ordered_against_free FIGURE.png", file=sys.stderr)
        return 2
    families = explore(np.random.default_rng(20190612))
    print(f"{'family':60} {'instances':>9} {'median':>7} {'largest':>8}")
    for family in families:
        print(f"{family.name:60} {family.instances:9} {family.median:7.3f} {family.largest:8.3f}")
    draw(Path(arguments[0]), families)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
