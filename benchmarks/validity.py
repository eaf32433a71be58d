"""Error rates of the policies beyond the paper where errors are likeliest, from 20,000 trials each.

TRIALS=500 makes fewer; ONLY="by cost,the two best: free" runs those of the rules, and of the linkages.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import fields
from multiprocessing import get_context

import numpy as np

import linkedbandits as lb
from benchmarks.instances import random_means
from linkedbandits.intervals import share_interval
from linkedbandits.linkage import Free, Ordered, Single
from linkedbandits.policy import AnyPolicy
from linkedbandits.scenarios import SCENARIOS
from tools.claims import Claims

TRIALS = int(os.environ.get("TRIALS", "20000"))
ONLY = [row.strip() for row in os.environ.get("ONLY", "").split(",")]
RANDOM_INSTANCES = 30
ONE_BEST = {
    "linked-elimination": lambda delta, gap: lb.LinkedElimination(delta),
    "linked-track-and-stop": lambda delta, gap: lb.LinkedTrackAndStop(delta),
    "linked-lead, gap": lambda delta, gap: lb.LinkedLead(delta, gap=gap),
}
"""By name, given delta and the true gap of the best arm and the second."""


def instances():
    for name, scenario in SCENARIOS.items():
        yield f"{name}, n=10", scenario(10)
    for best in (0, 5, 9):
        yield f"one-sparse, best {best}", lb.scenarios.one_sparse(10, best)
    for where, means in (
        ("first", [0.52, 0.5, 0.3, 0.1]),
        ("middle", [0.3, 0.52, 0.5, 0.1]),
        ("last", [0.1, 0.3, 0.5, 0.52]),
    ):
        yield f"near-equal, best {where}", np.array(means)
    yield "two arms, near-equal", np.array([0.5, 0.49])
    yield "means 0 and 1", np.array([0.0, 1.0, 0.0, 0.9])
    yield "all low but one", np.array([0.0, 0.0, 0.02, 0.0])
    yield "1 against 0.98", np.array([0.98, 1.0])
    yield "ten-billionths", np.array([1e-10, 7e-11, 5e-11])
    for number in range(RANDOM_INSTANCES):
        yield f"random {number}", random_means(4 + number % 5, number)


def beyond_one_best_arm():
    """The k best, tolerances, other linkages and parallel plays, where ties and near-ties make errors likeliest."""
    near = [0.3, 0.52, 0.5, 0.1]
    for linkage in ("free", "single"):
        for policy in (lb.LinkedElimination, lb.LinkedTrackAndStop):
            yield f"{policy.name}, {linkage}, near-equal", near, lambda delta, p=policy: p(delta), linkage, None
    yield (
        "k=2, near-equal at the border",
        [0.6, 0.52, 0.5, 0.1],
        lambda d: lb.LinkedElimination(d, k=2),
        "ordered",
        None,
    )
    yield "k=3 of 4, near-equal", [0.6, 0.52, 0.5, 0.51], lambda d: lb.LinkedElimination(d, k=3), "ordered", None
    sparse = np.where(np.arange(10) % 3 == 1, 0.05, 0.1)
    yield "k=7 of 10", sparse, lambda d: lb.LinkedElimination(d, k=7), "ordered", None
    for linkage in ("ordered", "free", "single"):
        yield (
            f"costs, {linkage}",
            [0.2, 0.39, 0.6, 0.1],
            lambda d: lb.LinkedElimination(d, costs=[1.0, 2.0, 3.1, 1.0]),
            linkage,
            None,
        )
        for told in ({"odds_ratio": 1.2}, {"lift": 0.1}, {"gap": 0.04}):
            exact = [0.44, 0.48, 0.43, 0.4]  # as far ahead as is told, or just a little further
            yield (
                f"linked-lead told {told}, {linkage}",
                _far_enough(exact, told),
                lambda d, t=told: lb.LinkedLead(d, **t),
                linkage,
                None,
            )
    yield "k=3 of increasing", lb.scenarios.increasing(8), lambda d: lb.LinkedElimination(d, k=3), "ordered", None
    for means, epsilon in (([0.5, 0.39, 0.39], 0.1), ([0.97, 0.91, 0.91], 0.05), ([0.1, 0.07, 0.02], 0.02)):
        yield (
            f"epsilon={epsilon} on {means}",
            means,
            lambda d, e=epsilon: lb.LinkedElimination(d, epsilon=e),
            "ordered",
            None,
        )
    yield "k=2, epsilon=0.05", [0.6, 0.5, 0.44, 0.44], lambda d: lb.LinkedElimination(d, 2, 0.05), "ordered", None
    yield "parallel=16, near-equal", near, lb.LinkedElimination, "ordered", 16


class FreeUncounted(Free):
    """As ``free`` to a policy, without the plays: a policy that asks for needs is told the samples, however played.

    To plan every lane's plays takes most of the time, and says nothing of errors: an arm's samples are as many coins of
    its mean in whatever plays they come.
    """

    def fulfil(self, needs, limit, world):
        return Single().fulfil(needs, limit, world)


LINKAGES = {"ordered": Ordered(), "free": FreeUncounted(), "single": Single()}

RULES: dict[str, Callable[[np.ndarray, float], AnyPolicy | None]] = {
    "told the odds ratio": lambda means, delta: lb.LinkedLead(delta, odds_ratio=_odds_ratio(means)),
    "told the lift": lambda means, delta: lb.LinkedLead(delta, lift=_lift(means)),
    "told the gap": lambda means, delta: lb.LinkedLead(delta, gap=_gap(means)),
    "the two best": lambda means, delta: _the_best(means, delta, 2),
    "all but one": lambda means, delta: _the_best(means, delta, means.size - 1),
    "by cost": lambda means, delta: lb.LinkedElimination(delta, costs=_costs(means)),
    "within half the gap": lambda means, delta: lb.LinkedElimination(delta, epsilon=_gap(means) / 2),
}
"""How each is made for an instance: what is told is exactly true. None where it makes no sense."""


def _the_best(means: np.ndarray, delta: float, k: int) -> AnyPolicy | None:
    """None where there is no telling the k best from the others: there are no others, or one of them is as good."""
    falling = np.sort(means)[::-1]
    return lb.LinkedElimination(delta, k=k) if k < means.size and falling[k - 1] > falling[k] else None


def _two_best(means: np.ndarray) -> tuple[float, float]:
    second, best = np.sort(means)[-2:].tolist()
    return best, second


def _gap(means: np.ndarray) -> float:
    best, second = _two_best(means)
    return best - second


def _odds_ratio(means: np.ndarray) -> float:
    """Where the best never fails, or no other ever works, every ratio is true: two."""
    best, second = _two_best(means)
    return 2.0 if best == 1.0 or second == 0.0 else (best / (1 - best)) / (second / (1 - second))


def _lift(means: np.ndarray) -> float:
    best, second = _two_best(means)
    return 1.0 if second == 0.0 else best / second - 1


def _costs(means: np.ndarray) -> list[float]:
    """At random, the same for the same arms; the best per cost is ahead by a twentieth."""
    rng = np.random.default_rng(means.size + int(1e6 * means.sum()))
    costs = rng.uniform(0.5, 2.0, means.size)
    order = np.argsort(means / costs)
    best, second = order[-1], order[-2]
    if means[second] > 0:
        costs[best] = means[best] / (1.05 * means[second] / costs[second])
    return costs.tolist()


def report_rules() -> None:
    """Every rule and linkage on every instance."""
    named = list(instances())
    print(f"error rates over {len(named)} instances, {TRIALS:,} trials each, delta 0.1: the largest, its 99.9 % limit")
    claims = Claims()
    with get_context("spawn").Pool() as pool:
        for rule in RULES:
            for linkage, alike in linkages_that_matter(rule).items():
                if not any(f"{rule}: {linkage}".startswith(row) for row in ONLY):
                    continue
                found = pool.map(of_instance, [(rule, linkage, place) for place in range(len(named))], chunksize=1)
                known = [
                    (wrong, unsure, name) for (name, _), (wrong, unsure) in zip(named, found, strict=True) if wrong >= 0
                ]
                wrong, _, where = max(known)
                unsure = sum(each for _, each, _ in known)
                _, high = share_interval(wrong, TRIALS, confidence=0.998)
                print(
                    f"  {rule:<20} {alike:<22} {wrong / TRIALS:.4f} (limit {high:.4f}) on {where}; "
                    f"{len(known)} instances, {unsure} runs did not end",
                    flush=True,
                )
                claims.check(high <= 0.1, f"{rule}, {alike}, {where}: wrong up to {high:.4f}")
                claims.check(unsure == 0, f"{rule}, {alike}: {unsure} runs did not end")
    claims.report()


def linkages_that_matter(rule: str) -> dict[str, str]:
    """The linkages to run, with the names of those alike: a rule that does not look at prices asks the same of all.

    What it is told then are as many coins of the same means, so one of them stands for all.
    """
    policy = RULES[rule](np.array([0.5, 0.3, 0.2, 0.1]), 0.1)
    if any(field.name == "price" for field in fields(policy)):
        return {name: name for name in LINKAGES}
    return {"ordered": ", ".join(LINKAGES)}


def of_instance(piece: tuple[str, str, int]) -> tuple[int, int]:
    """How many runs were wrong, and how many did not end; (-1, 0) where the rule makes no sense."""
    rule, linkage, place = piece
    _, means = list(instances())[place]
    policy = RULES[rule](means, 0.1)
    if policy is None:
        return -1, 0
    runs = lb.simulate(means, policy, linkage=LINKAGES[linkage], trials=TRIALS, seed=7)
    return int((~runs.correct).sum()), int((~runs.confident).sum())


def _far_enough(means: list[float], told: dict[str, float]) -> list[float]:
    """The same with the best arm just as far ahead as is told: there errors are likeliest."""
    second = sorted(means)[-2]
    if "gap" in told:
        best = second + told["gap"]
    else:
        odds = second / (1 - second) * (told.get("odds_ratio") or 1 + told["lift"])
        best = odds / (1 + odds)
    return [best if mean == max(means) else mean for mean in means]


def report_beyond() -> None:
    print(f"the k best, tolerances, linkages and parallel plays: error rate and upper 99.9 % limit, {TRIALS:,} trials")
    for delta in (0.1, 0.01):
        for name, means, make, linkage, parallel in beyond_one_best_arm():
            runs = lb.simulate(means, make(delta), linkage=linkage, trials=TRIALS, seed=6, parallel=parallel)
            wrong = int((~runs.correct).sum())
            _, high = share_interval(wrong, TRIALS, confidence=0.998)
            verdict = "holds" if high <= delta and runs.confident.all() else "VIOLATED"
            print(f"  delta {delta:<5g} {wrong / TRIALS:.4f} (limit {high:.4f}) {verdict}: {name}", flush=True)


def main() -> None:
    print(f"largest error rate over all instances, with the upper 99.9 % limit, {TRIALS:,} trials each")
    for delta in (0.1, 0.01):
        for title, make in ONE_BEST.items():
            worst, where, count = -1.0, "", 0
            for name, means in instances():
                second, first = np.sort(means)[-2:].tolist()
                runs = lb.simulate(means, make(delta, (first - second) * (1 - 1e-12)), trials=TRIALS, seed=5)
                wrong = int((~runs.correct).sum())
                _, high = share_interval(wrong, TRIALS, confidence=0.998)
                count += 1
                if not runs.confident.all() or high > delta:
                    print(f"  VIOLATED by {title} on {name}: {wrong} wrong, limit {high:.4f}")
                if wrong > worst:
                    worst, where, limit = wrong, name, high
            rate = worst / TRIALS
            print(
                f"  {title:22} delta {delta:<5g} {rate:.4f} (limit {limit:.4f}) on {where}; {count} instances; "
                f"{1 - rate / delta:.0%} of delta left",
                flush=True,
            )
