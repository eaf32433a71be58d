"""What a pixel may expect from those around it: the weights of bins, as ``borrowing.Around.expected`` has them."""

from __future__ import annotations

from typing import Any

from linkedbandits.lidar.borrowing import FAR, NEAR, SHARE_FAR
from linkedbandits.lidar.engines.compiled.arithmetic import exp, logarithm
from linkedbandits.lidar.engines.compiled.compiling import machine_code, summing


@machine_code
def _add_around(weight: Any, depth: float, trust: float) -> None:
    near, far = trust * (1 - SHARE_FAR) / (2 * NEAR), trust * SHARE_FAR / (2 * FAR)
    for i in range(weight.size):
        away = abs(i + 0.5 - depth)
        weight[i] += near * exp(-away / NEAR) + far * exp(-away / FAR)


@summing
def _total(numbers: Any) -> float:
    total = 0.0
    for i in range(numbers.size):
        total += numbers[i]
    return total


@machine_code
def put_log_prior(log_prior: Any, depths: Any, trusts: Any, anywhere: float) -> None:
    """The logarithms of the weights of all bins, from depths around and how far to trust each."""
    bins = log_prior.size
    log_prior[:] = 0.0
    found = 0.0
    for place in range(depths.size):
        if trusts[place] > 0:
            _add_around(log_prior, depths[place], trusts[place])
        found += trusts[place]
    spread, rest = anywhere / bins, 1 - anywhere
    for i in range(bins):
        log_prior[i] = spread + rest * (log_prior[i] if found > 0 else 1 / bins)
    total = _total(log_prior)
    for i in range(bins):
        log_prior[i] = logarithm(log_prior[i] / total)
