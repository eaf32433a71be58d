"""The instances that a study file describes: scenarios, means written out, random families, tables of outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from linkedbandits.joint_worlds import OutcomeTable, SharedDifficulty
from linkedbandits.model import FloatArray, check_means
from linkedbandits.scenarios import find_scenario, one_sparse
from linkedbandits.study.cells import DependentRequests, Instance
from linkedbandits.study.reading import Keys

_REDRAWS = 1000
"""How often a random instance is drawn again for a gap that is large enough, before it is called impossible."""


def read_instances(keys: Keys, folder: Path = Path()) -> list[Instance]:
    """All instances of one ``[[instances]]`` table; files are named as they are found from ``folder``."""
    kinds = [kind for kind in (*_READERS, "table") if keys.has(kind)]
    if len(kinds) != 1:
        if not kinds:
            keys.check_spelling(*_READERS, "table")
        raise keys.refuse(
            "scenario", f"give one of {', '.join(_READERS)}, table for each [[instances]], not {kinds or 'none'}"
        )
    if kinds == ["table"]:
        instances = [_read_table(keys, folder)]
    else:
        instances = _READERS[kinds[0]](keys)
        if keys.has("correlation"):
            correlation = keys.number("correlation")
            with keys.meaning("correlation"):
                instances = [_correlated(instance, correlation) for instance in instances]
    keys.finish()
    return instances


def _read_table(keys: Keys, folder: Path) -> Instance:
    file = Path(keys.text("table"))
    options = keys.texts("options", []) if keys.has("options") else None
    if keys.has("correlation"):
        raise keys.refuse("correlation", "the options of a table fail together as they did; leave it out")
    with keys.meaning("table"):
        table = OutcomeTable.read(folder / file, options)
    identity = {"table": table.digest, "options": list(table.options)}
    return Instance(keys.text("name", file.stem), table.means, None, DependentRequests(table, identity))


def _correlated(instance: Instance, correlation: float) -> Instance:
    """The same arms, which share how hard a request is."""
    said = f", correlation {correlation:g}"
    return replace(
        instance,
        name=instance.name + said,
        family=None if instance.family is None else instance.family + said,
        requests=DependentRequests(SharedDifficulty(instance.means, correlation), {"correlation": correlation}),
    )


def _read_scenario(keys: Keys) -> list[Instance]:
    name = keys.text("scenario")
    if keys.has("best"):
        best = keys.whole("best", least=0)
        if name != "one-sparse":
            raise keys.refuse("best", "only the scenario one-sparse has a place for its best arm; leave it out")
        family = f"{name}, best {best}"
        sizes = keys.wholes("arms", 2)
        with keys.meaning("best"):
            return [Instance(f"{family}, {arms} arms", one_sparse(arms, best), family) for arms in sizes]
    with keys.meaning("scenario"):
        make = find_scenario(name)
    return [Instance(f"{name}, {arms} arms", make(arms), name) for arms in keys.wholes("arms", 2)]


def _read_means(keys: Keys) -> list[Instance]:
    with keys.meaning("means"):
        means = check_means(keys.numbers("means"))
    return [Instance(keys.text("name", f"{means.size} arms"), means)]


def _read_random(keys: Keys) -> list[Instance]:
    family = keys.text("random")
    draw = _read_law(family, keys)
    name = keys.text("name", family)
    least_gap = keys.number("least_gap", 0.0)
    count = keys.whole("count", 1)
    seed = keys.whole("seed", 0, least=0)
    return [
        Instance(f"{name} {number}, {arms} arms", _draw_apart(keys, draw, arms, least_gap, (seed, arms, number)), name)
        for arms in keys.wholes("arms", 2)
        for number in range(count)
    ]


Draw = Callable[[np.random.Generator, int], FloatArray]


def _read_law(family: str, keys: Keys) -> Draw:
    if family == "uniform":
        low, high = keys.number("low", 0.0), keys.number("high", 1.0)
        if not 0 <= low < high <= 1:
            raise keys.refuse("low", f"means between {low} and {high} make no sense; 0 <= low < high <= 1")
        return lambda generator, arms: generator.uniform(low, high, arms)
    if family == "beta":
        a, b = keys.number("a", 1.0), keys.number("b", 1.0)
        if not (a > 0 and b > 0):
            raise keys.refuse("a", f"a = {a} and b = {b} have to be positive")
        return lambda generator, arms: generator.beta(a, b, arms)
    raise keys.refuse("random", f"unknown family {family!r}; choose uniform (low, high) or beta (a, b)")


def _draw_apart(keys: Keys, draw: Draw, arms: int, least_gap: float, seed: tuple[int, ...]) -> FloatArray:
    """An instance whose two best means are far enough apart: nearly tied ones cost without bound."""
    generator = np.random.default_rng(seed)
    for _ in range(_REDRAWS):
        means = draw(generator, arms)
        second, first = np.sort(means)[-2:]
        if first - second >= least_gap:
            return check_means(means)
    raise keys.refuse("least_gap", f"{_REDRAWS} draws of {arms} arms had no gap of {least_gap}; lower it")


_READERS: dict[str, Callable[[Keys], list[Instance]]] = {
    "scenario": _read_scenario,
    "means": _read_means,
    "random": _read_random,
}
