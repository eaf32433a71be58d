"""What a pixel may expect from those around it: the weights of bins, as ``borrowing.Around.expected`` has them."""

from __future__ import annotations

from typing import Any

from linkedbandits.lidar.engines.compiled.arithmetic import exp, logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code, summing


@machine_code
def _add_around(weight: Any, depth: float, trust: float, width: float) -> None:
    height = trust / (2 * width)
    for i in range(weight.size):
        weight[i] += height * exp(-abs(i + 0.5 - depth) / width)


@summing
def _total(numbers: Any) -> float:
    total = 0.0
    for i in range(numbers.size):
        total += numbers[i]
    return total


@machine_code
def put_log_prior(log_prior: Any, depths: Any, trusts: Any, shares: Any, widths: Any) -> None:
    """The logarithms of the weights of all bins, from depths around and how far to trust each.

    ``shares`` has those of the widths around each depth, (depths, widths).
    """
    bins = log_prior.size
    anywhere = 1.0
    for place in range(depths.size):
        anywhere -= trusts[place]
    log_prior[:] = anywhere / bins
    for place in range(depths.size):
        for which in range(widths.size):
            trust = trusts[place] * shares[place, which]
            if trust > 0:
                _add_around(log_prior, depths[place], trust, widths[which])
    total = _total(log_prior)
    for i in range(bins):
        log_prior[i] = logarithm(log_prior[i] / total)
