"""The field's rules against sums that leave no room for mistakes; says nothing unless one is found."""

from __future__ import annotations

from itertools import product
from math import comb, log, sqrt

import numpy as np
from scipy.special import rel_entr

from benchmarks import field_rules as rules


def check_rules() -> None:
    mixture_is_that_of_krichevsky_and_trofimov()
    no_bet_on_the_mixture_pays_on_average()
    transport_is_the_likelihood_ratio()
    calibration_is_that_of_kaufmann_and_koolen()
    upper_bounds_are_close_and_never_too_low()
    exploration_rate_sums_to_delta()
    lead_is_just_large_enough()


def must_hold(holds: bool, otherwise: str) -> None:
    if not holds:
        raise SystemExit(f"a rule of the field is not what it should be: {otherwise}")


def mixture_of(samples: int, successes: int) -> float:
    return float(np.exp(rules.log_mixture(np.array(samples), np.array(successes))))


def mixture_is_that_of_krichevsky_and_trofimov() -> None:
    for coins in product((0, 1), repeat=6):
        one_by_one = 1.0
        for seen, coin in enumerate(coins):
            heads = sum(coins[:seen])
            one_by_one *= ((heads if coin else seen - heads) + 0.5) / (seen + 1)
        must_hold(abs(mixture_of(6, sum(coins)) / one_by_one - 1) < 1e-12, f"the KT mixture of {coins}")


def no_bet_on_the_mixture_pays_on_average() -> None:
    """Where a rival is as good as the leader or better, the mean of the ratio is at most 1: all outcomes are summed."""
    leading, trailing = 5, 3
    for mean, better in product((0.1, 0.3, 0.5), (0.0, 0.2)):
        average = 0.0
        for a, b in product(range(leading + 1), range(trailing + 1)):
            counts = np.array([[leading, trailing]]), np.array([[a, b]])
            together = rules.log_likelihood(*(count.sum(axis=1) for count in counts))[0]
            if a / leading < b / trailing:  # then the likeliest means, the leader no better, are the empirical ones
                together = rules.log_likelihood(*counts).sum()
            ratio = mixture_of(leading, a) * mixture_of(trailing, b) / np.exp(together)
            average += ratio * chance(leading, a, mean) * chance(trailing, b, mean + better)
        must_hold(average <= 1, f"the KT ratio has mean {average:.3f}")


def chance(samples: int, successes: int, mean: float) -> float:
    return comb(samples, successes) * mean**successes * (1 - mean) ** (samples - successes)


def transport_is_the_likelihood_ratio() -> None:
    samples, successes = np.array([[40, 30, 7]]), np.array([[25, 12, 0]])
    means = successes / samples
    common = np.linspace(0, 1, 20_001)[1:-1]
    found = rules.transport(samples, successes, np.array([0]))[0]
    for arm in (1, 2):
        exact = min(sum(samples[0, a] * divergence(means[0, a], common) for a in (0, arm)))
        must_hold(abs(found[arm] / exact - 1) < 1e-6, f"transport {found[arm]:.6f}, by search {exact:.6f}")


def divergence(p: float, q: np.ndarray) -> np.ndarray:
    return rel_entr(p, q) + rel_entr(1 - p, 1 - q)


def calibration_is_that_of_kaufmann_and_koolen() -> None:
    for y in (1.2, 3.0, 40.0):
        u = rules.inverse_h(y)
        must_hold(u >= 1 and abs(u - log(u) - y) < 1e-9, f"the inverse of u - log u at {y}")
    for x in (5.0, 10.0, 50.0):  # the approximation that the paper gives
        about = x + 4 * log(1 + x + sqrt(2 * x))
        must_hold(abs(rules.calibration(x) / about - 1) < 0.1, f"T({x}) = {rules.calibration(x):.2f}, not {about:.2f}")
    # It is put together of two pieces, which have to meet, at about 0.275.
    edge = np.array([rules.calibration(x) for x in np.linspace(0.2, 0.4, 2001).tolist()])
    must_hold(bool(np.all((np.diff(edge) > 0) & (np.diff(edge) < 0.001))), "T jumps")


def upper_bounds_are_close_and_never_too_low() -> None:
    for mean, most in product((0.0, 0.001, 0.05, 0.5, 0.95, 0.9999), (1e-7, 1e-4, 0.01, 0.3, 2.0, 10.0)):
        found = float(rules.upper_bound(np.array([mean]), np.array([most]))[0])
        reached = float(divergence(mean, np.array(found)))
        as_good_as_one = found >= 1 - 1e-11
        must_hold(as_good_as_one or -1e-6 < reached / most - 1 < 0.01, f"kl({mean}, {found}) = {reached}, not {most}")


def exploration_rate_sums_to_delta() -> None:
    """The chance that a bound of one of n arms ever fails is at most the sum of n e (rate log t + 1) exp(-rate)."""
    arms = 2
    logarithm = np.linspace(0, 400, 400_001)
    for delta in (0.1, 1e-6):
        rate = rules.KLLUCB(delta).rate(np.exp(logarithm), arms)
        summand = arms * np.e * (rate * logarithm + 1) * np.exp(-rate)
        total = summand[0] + np.trapezoid(summand * np.exp(logarithm), logarithm)
        must_hold(total <= delta, f"the bounds of KL-LUCB fail with probability {total:g} at delta {delta:g}")


def lead_is_just_large_enough() -> None:
    """Two arms: their difference is a walk between -lead and lead, whose chances solve a small system of equations."""
    better, worse, delta = 0.3, 0.2, 0.05
    odds_ratio = better * (1 - worse) / (worse * (1 - better))
    lead = rules.LevinRobbins(delta, odds_ratio).lead(2)
    wrong = [wrong_by_walk(better * (1 - worse), worse * (1 - better), size) for size in (lead, lead - 1)]
    must_hold(
        wrong[0] <= delta < wrong[1], f"a lead of {lead} is wrong with {wrong[0]:.4f}, of one less {wrong[1]:.4f}"
    )


def wrong_by_walk(up: float, down: float, lead: int) -> float:
    places = 2 * lead - 1
    walk = (up + down) * np.eye(places) - up * np.eye(places, k=1) - down * np.eye(places, k=-1)
    falls_out = np.zeros(places)
    falls_out[0] = down
    return float(np.linalg.solve(walk, falls_out)[lead - 1])
