"""The log-likelihood of every depth and signal, kept up to date photon by photon.

A sample without a photon takes ``signal * share`` from it. That is one sum over the bins around for each phase, which
signals only scale. A photon adds a column of a table that goes with the level of the background. There are far fewer
bins with photons than bins, so these columns are added one by one, and all anew where the level has changed.

Arrays with a row for each pair of signal and phase are flat, with ``stride`` numbers a row: a margin before the first
bin, so that nothing has to be asked at the ends of the range, and room for as many bins as are done together. Positions
are unsigned: then nothing is asked about negative ones, and loops are done several bins at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linkedbandits.lidar.engines.compiled.compiling import in_place, machine_code, rough
from linkedbandits.lidar.engines.compiled.tables import FOUR, SIXTEEN


@in_place
def stride_of(model: Any) -> int:
    """Numbers of a row: all bins, a margin on both sides, and some more for tables that are wider."""
    return model.room + 2 * model.margin + SIXTEEN


@rough
def fold(out: Any, counts: Any, factors: Any, skip: int) -> None:
    """For every bin the sum of the counts around it times the factors, of which four are taken at a time.

    ``counts`` begins some places before the first bin, and the factors ``skip`` places later.
    """
    length = np.uint64(out.size)
    for i in range(length):
        out[i] = 0
    for column in range(0, factors.size, FOUR):
        one, two, three, four = factors[column], factors[column + 1], factors[column + 2], factors[column + 3]
        first = np.uint64(skip + column)
        second, third, fourth = first + np.uint64(1), first + np.uint64(2), first + np.uint64(3)
        for i in range(length):
            out[i] += (
                one * counts[first + i]
                + two * counts[second + i]
                + three * counts[third + i]
                + four * counts[fourth + i]
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
def _put_rows(
    out: Any, stride: int, margin: int, missed: Any, signals: Any, log_prior: Any, first: Any, length: Any
) -> None:
    """Add what samples without a photon take, and the weights of bins."""
    at = np.uint64(margin) + first
    for number in range(signals.size):
        signal = signals[number]
        for phase in range(missed.shape[0]):
            for i in range(length):
                out[at + i] += log_prior[first + i] - signal * missed[phase, first + i]
            at += np.uint64(stride)


@machine_code
def in_double_precision(
    model: Any, memory: Any, samples: Any, successes: Any, level: int, log_prior: Any, first: int, last: int
) -> None:
    """The log-likelihood of these counts, plus the logarithms of weights of bins, into ``memory.fine``.

    Of depths from the bin ``first`` to before ``last``.
    """
    half, margin, stride = model.half, model.margin, stride_of(model)
    from_bin, to_bin = max(first - half, 0), min(last + half, model.bins)
    for row in range(model.fire.shape[1]):
        memory.fine[row * stride + from_bin : row * stride + min(to_bin + 2 * margin + SIXTEEN, stride)] = 0.0
    table = model.fire[level]
    for i in range(from_bin, to_bin):
        memory.fine_padded[margin + i] = samples[i] - successes[i]
        if successes[i] > 0:
            add_photons(memory.fine, stride, table, model.skip, i, np.float64(successes[i]))
    for phase in range(model.share.shape[0]):
        missed = memory.fine_missed[phase, first:last]
        fold(missed, memory.fine_padded[first:], model.share[phase], model.skip_share[phase])
    _put_rows(
        memory.fine, stride, margin, memory.fine_missed, model.signals, log_prior, np.uint64(first),
        np.uint64(last - first),
    )  # fmt: skip
