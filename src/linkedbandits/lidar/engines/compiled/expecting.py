"""What a pixel may expect from those around it: the weights of bins, as ``borrowing.Around.expected`` has them."""

from __future__ import annotations

from typing import Any

from linkedbandits.lidar.engines.compiled.arithmetic import exp, logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code, summing


@machine_code
def _add_around(weight: Any, depth: float, trust: float, shares: Any, widths: Any) -> None:
    """Each width is twice the one before, so what falls within one is the square of what falls within the next."""
    for i in range(weight.size):
        fall = exp(-abs(i + 0.5 - depth) / widths[-1])
        more = 0.0
        for which in range(widths.size - 1, -1, -1):
            more += shares[which] / (2 * widths[which]) * fall
            fall *= fall
        weight[i] += trust * more


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
        if trusts[place] > 0:
            _add_around(log_prior, depths[place], trusts[place], shares[place], widths)
    total = _total(log_prior)
    for i in range(bins):
        log_prior[i] = logarithm(log_prior[i] / total)
