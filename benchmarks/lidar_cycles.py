"""Cycles until 95 % of pixels are right, for every acquisition with every estimator.

Non-adaptive acquisitions are drawn from one budget to the next; policies that watch are run once, and looked at
whenever they pass a budget. So every pixel of a cell has one history, and a budget costs what it adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from linkedbandits.lidar import ESTIMATORS, find_acquisition, find_estimator
from linkedbandits.linkage import find_linkage, fulfil, ordered_plays
from linkedbandits.model import Counts, Repeats
from linkedbandits.simulation import simulate_lanes
from linkedbandits.streams import LaneStreams
from linkedbandits.world import CoinFlips
from tools.lidar_grid import METHODS, MOST_CYCLES, Cell

LEVEL = 0.95
PATIENCE = 10
"""Give up on an estimator at that many times the cycles that the first estimator needed."""
NAMED = ("elimination", "halving")
"""Those that name a bin by themselves, without a model of the pulse: they alone have the column ``answer``."""
RUN_ANEW = (*NAMED, "shifted")
"""Those that plan for a budget or end by themselves: a larger budget is another run."""


Look = tuple[float, Counts, np.ndarray | None]
"""Mean cycles so far, counts so far, and the answers of a policy that has some."""


def budgets(ratio: float) -> list[int]:
    count = 1 + int(np.log(MOST_CYCLES / 8) / np.log(ratio))
    return np.unique(np.round(8 * ratio ** np.arange(count + 1)).astype(int)).tolist()


def looks(cell: Cell, acquisition: str) -> Iterator[Look]:
    if acquisition in ("even", "free"):
        return equal_needs(cell, find_acquisition(acquisition, cell.task).linkage)
    if acquisition in RUN_ANEW:
        return budget_by_budget(cell, acquisition)
    if acquisition == "synchronous":
        return whole_windows(cell)
    return watched(cell, acquisition)


def world_of(cell: Cell) -> CoinFlips:
    return CoinFlips(cell.chances(), LaneStreams(cell.seed, cell.bins, range(cell.pixels)))


def equal_needs(cell: Cell, linkage: str) -> Iterator[Look]:
    """More and more samples of every bin. The cycles are exact if ordered; if free, what they cost on average."""
    world, total = world_of(cell), nothing(cell)
    cycles, done = 0.0, 0
    while cycles < MOST_CYCLES:
        more = np.full((cell.pixels, cell.bins), max(1, round(0.15 * done)))
        done += int(more[0, 0])
        total = add(total, Counts(more, world.successes(more)))
        if linkage == "free":
            cycles = float(find_linkage("free").price(total.samples.astype(float), cell.chances()).mean())
        else:
            cycles = float(ordered_plays(total.samples, total.successes).mean())
        yield cycles, total, None


def whole_windows(cell: Cell) -> Iterator[Look]:
    """More and more cycles with every bin."""
    world, total, done = world_of(cell), nothing(cell), 0
    every_bin = np.tile(np.arange(cell.bins), (cell.pixels, 1))
    for budget in budgets(1.2):
        request = Repeats(every_bin, np.full(cell.pixels, budget - done))
        total = add(total, fulfil(request, request.times, cell.bins, find_linkage("ordered"), world).counts)
        done = budget
        yield float(done), total, None


def watched(cell: Cell, acquisition: str) -> Iterator[Look]:
    """A policy that chooses gates, looked at as it passes each budget; a gate that would pass one is cut short."""
    made = find_acquisition(acquisition, cell.task)
    streams = LaneStreams(cell.seed, cell.bins, range(cell.pixels))
    world, total, used = CoinFlips(cell.chances(), streams), nothing(cell), 0
    state = made.policy.start(cell.pixels, cell.bins, streams.policy_seeds())
    for budget in budgets(1.1):
        while used < budget:
            request = made.policy.request(state)
            left = np.full(cell.pixels, budget - used)
            step = fulfil(request, left, cell.bins, find_linkage(made.linkage), world)
            made.policy.observe(state, step.counts)
            total, used = add(total, step.counts), used + int(step.plays[0])
        yield float(used), total, None


def budget_by_budget(cell: Cell, acquisition: str) -> Iterator[Look]:
    """A run for every budget."""
    for budget in budgets(1.5 if acquisition == "shifted" else 1.8):
        look, all_ended = with_budget(cell, acquisition, budget)
        yield look
        if all_ended:
            return  # a larger budget would not be used


def with_budget(cell: Cell, acquisition: str, budget: int) -> tuple[Look, bool]:
    """One run, and whether every pixel ended by itself."""
    made = find_acquisition(acquisition, replace(cell.task, cycles=budget))
    ended = simulate_lanes(
        cell.chances(), made.policy, linkage=made.linkage, seed=cell.seed, max_plays=budget, memory_limit=2**25
    )
    cycles = made.cost * float(ended.plays.mean())
    return (cycles, Counts(ended.samples, ended.successes), ended.top[:, 0]), bool(ended.confident.all())


def nothing(cell: Cell) -> Counts:
    zeros = np.zeros((cell.pixels, cell.bins), dtype=np.int64)
    return Counts(zeros, zeros)


def add(one: Counts, other: Counts) -> Counts:
    return Counts(one.samples + other.samples, one.successes + other.successes)


def cycles_to_level(cell: Cell, acquisition: str) -> dict[str, float]:
    """Cycles until the share of right pixels first reaches the level, by estimator; infinite where it does not."""
    reached: dict[str, float] = {}
    before: dict[str, tuple[float, float]] = {}
    columns = [name for name in ESTIMATORS if name != "answer" or acquisition in NAMED]
    for look in looks(cell, acquisition):
        for name in columns:
            if name in reached:
                continue
            now = look[0], share_right(cell, name, look)
            last = before.get(name, now)
            if now[1] >= LEVEL:
                # Runs that begin anew for every look have few of them. What all are compared by is measured finely.
                fine = acquisition in RUN_ANEW and name == "map" and last is not now
                reached[name] = crossing(*(halved_twice(cell, acquisition, name, last, now) if fine else (last, now)))
            before[name] = now
        if len(reached) == len(columns) or (reached and look[0] > PATIENCE * min(reached.values())):
            break
    return {name: reached.get(name, np.inf) for name in columns}


def share_right(cell: Cell, estimator: str, look: Look) -> float:
    _, counts, answers = look
    found = find_estimator(estimator, cell.task.sensor, cell.signal, told=True)(
        counts.samples, counts.successes, answers
    )
    return float((np.abs(found - cell.depths()) <= cell.task.tolerance).mean())


def halved_twice(
    cell: Cell, acquisition: str, estimator: str, low: tuple[float, float], high: tuple[float, float]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """The level is passed between two looks: two that are nearer to each other."""
    for _ in range(2):
        look, _ = with_budget(cell, acquisition, round((low[0] * high[0]) ** 0.5))
        middle = look[0], share_right(cell, estimator, look)
        low, high = (low, middle) if middle[1] >= LEVEL else (middle, high)
    return low, high


def crossing(before: tuple[float, float], after: tuple[float, float]) -> float:
    """Where the line between two looks, cycles on a logarithmic scale, passes the level."""
    (low, share_low), (high, share_high) = before, after
    if share_high == share_low:
        return high
    return float(low * (high / low) ** ((LEVEL - share_low) / (share_high - share_low)))


def measure(cell: Cell) -> dict[str, dict[str, float]]:
    return {acquisition: cycles_to_level(cell, acquisition) for acquisition in METHODS}
