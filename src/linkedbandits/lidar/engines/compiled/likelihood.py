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
    return model.bins + 2 * model.half + 16


@rough
def _add_folded(out: Any, length: Any, counts: Any, first: Any, one: Any, two: Any, three: Any, four: Any) -> None:
    """Add to so many numbers the ones of ``counts`` there and at the next three places, times four factors."""
    second, third, fourth = first + np.uint64(1), first + np.uint64(2), first + np.uint64(3)
    for i in range(length):
        out[i] += (
            one * counts[first + i] + two * counts[second + i] + three * counts[third + i] + four * counts[fourth + i]
        )


@rough
def fold(out: Any, counts: Any, factors: Any, skip: int) -> None:
    """For every bin the sum of the counts around it times the factors.

    ``counts`` begins ``half`` places before the first bin, and the factors ``skip`` places later.
    """
    length = np.uint64(out.size)
    for i in range(length):
        out[i] = 0
    for column in range(0, factors.size, 4):
        first = np.uint64(skip + column)
        _add_folded(
            out, length, counts, first, factors[column], factors[column + 1], factors[column + 2], factors[column + 3]
        )


@rough
def add_photons(fire: Any, stride: int, table: Any, skip: Any, place: int, times: Any) -> None:
    """Add what photons in a bin bring: a column of the table for each row, which begins so many places later."""
    columns = np.uint64(table.shape[1])
    for row in range(table.shape[0]):
        begin = np.uint64(row * stride + place + skip[row])
        for column in range(columns):
            fire[begin + column] += times * table[row, column]


@rough
def _put_row(out: Any, at: Any, missed: Any, signal: Any, log_prior: Any) -> None:
    for i in range(np.uint64(missed.size)):
        out[at + i] += log_prior[i] - signal * missed[i]


@machine_code
def in_double_precision(model: Any, memory: Any, samples: Any, successes: Any, level: int, log_prior: Any) -> None:
    """The log-likelihood of these counts, plus the logarithms of weights of bins, into ``memory.fine``."""
    bins, half, stride = model.bins, model.half, stride_of(model)
    phases = model.share.shape[0]
    memory.fine[:] = 0.0
    table = model.fire[level]
    for i in range(bins):
        memory.fine_padded[half + i] = samples[i] - successes[i]
        if successes[i] > 0:
            add_photons(memory.fine, stride, table, model.skip, i, np.float64(successes[i]))
    for phase in range(phases):
        fold(memory.fine_missed[phase], memory.fine_padded, model.share[phase], model.skip_share[phase])
        for signal in range(model.signals.size):
            at = np.uint64((signal * phases + phase) * stride + half)
            _put_row(memory.fine, at, memory.fine_missed[phase], model.signals[signal], log_prior)
