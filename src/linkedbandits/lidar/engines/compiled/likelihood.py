"""The log-likelihood of every depth and signal, kept up to date photon by photon.

A sample without a photon takes ``signal * share`` from it. That is one sum over the bins around for each phase, which
signals only scale. A photon adds a column of a table that goes with the level of the background. There are far fewer
bins with photons than bins, so these columns are added one by one, and all anew where the level has changed.

Arrays with a row for each pair of signal and phase are flat, with ``stride`` numbers a row: ``half`` before the first
bin, so that nothing has to be asked at the ends of the range. Positions are unsigned: then nothing is asked about
negative ones, and loops are done several bins at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.compiling import machine_code, rough


@machine_code
def stride_of(model: Any) -> int:
    """Numbers of a row: all bins, those that a return reaches beyond them, and some more for tables that are wider."""
    return model.bins + 2 * model.half + 8


@rough
def add_folded(out: Any, at: Any, length: Any, counts: Any, first: Any, one: Any, two: Any, three: Any, four: Any) -> None:
    """Add to so many numbers the ones of ``counts`` there and at the next three places, times four factors."""
    second, third, fourth = first + np.uint64(1), first + np.uint64(2), first + np.uint64(3)
    for i in range(length):
        out[at + i] += (
            one * counts[first + i] + two * counts[second + i] + three * counts[third + i] + four * counts[fourth + i]
        )


@rough
def fold(out: Any, counts: Any, factors: Any, bins: int) -> None:
    """For every bin the sum of the counts around it times the factors; ``counts`` has ``half`` places before."""
    length = np.uint64(bins)
    for i in range(length):
        out[i] = 0
    for column in range(0, factors.size, 4):
        add_folded(
            out, np.uint64(0), length, counts, np.uint64(column),
            factors[column], factors[column + 1], factors[column + 2], factors[column + 3],
        )  # fmt: skip


@rough
def add_photons(fire: Any, stride: int, table: Any, place: int, times: Any) -> None:
    """Add what photons in a bin bring: a column of the table for each row."""
    columns = np.uint64(table.shape[1])
    for row in range(table.shape[0]):
        begin = np.uint64(row * stride + place)
        for column in range(columns):
            fire[begin + column] += times * table[row, column]


@rough
def _put_row(out: Any, at: Any, fire: Any, missed: Any, signal: Any, log_prior: Any, length: Any) -> None:
    for i in range(length):
        out[at + i] = fire[at + i] - signal * missed[i] + log_prior[i]


@rough
def put_together(out: Any, stride: int, half: int, fire: Any, missed: Any, signals: Any, log_prior: Any) -> None:
    """The log-likelihood of all rows, plus the logarithms of the weights that bins had; ``missed`` is by phase."""
    phases, bins = missed.shape
    for signal in range(signals.size):
        for phase in range(phases):
            at = np.uint64((signal * phases + phase) * stride + half)
            _put_row(out, at, fire, missed[phase], signals[signal], log_prior, np.uint64(bins))


@machine_code
def in_double_precision(model: Any, samples: Any, successes: Any, level: int, log_prior: Any, fire: Any, padded: Any, missed: Any) -> None:
    """The log-likelihood of these counts, plus the weights, into ``fire``: rows of ``stride_of`` numbers."""
    bins, half = model.bins, model.half
    stride = stride_of(model)
    fire[:] = 0.0
    table = model.fire[level]
    for i in range(bins):
        padded[half + i] = samples[i] - successes[i]
        if successes[i] > 0:
            add_photons(fire, stride, table, i, np.float64(successes[i]))
    for phase in range(model.share.shape[0]):
        fold(missed[phase], padded, model.share[phase], bins)
    put_together(fire, stride, half, fire, missed, model.signals, log_prior)
