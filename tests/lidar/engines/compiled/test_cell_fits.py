"""One depth cell: what fits best there and what bounds it, against the reference; proofs are in test_certifying."""

from math import inf

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.certificate import CELLS, Certificate, _Counts
from linkedbandits.lidar.engines.compiled.cell_fits import above, box_of, fit, take_cell, value_at
from linkedbandits.lidar.engines.compiled.certifying import count_up
from linkedbandits.lidar.engines.compiled.tables import cell_tables
from linkedbandits.lidar.pulse import Pulse
from tests.support.in_python import in_python
from tests.support.kernel_pixels import MEASURED, make_pixels

PER_BIN = CELLS[1]


@pytest.fixture(params=[(Pulse(3.0), False), (Pulse(1.0), True), (MEASURED, False)], ids=str)
def cells(request):
    """Cells of some pixels: what the reference has of them, and what machine code is given."""
    pulse, told = request.param
    pixels = make_pixels(pulse, count=30, told=told, bins=40)
    counts = _Counts(pulse, pixels.samples, pixels.fired, pixels.expected, told)
    lane = np.repeat(np.arange(pixels.count), 3)
    phase = np.random.default_rng(1).integers(0, PER_BIN * 40, lane.size)
    its = counts.cells(lane, (phase + 0.5) / PER_BIN, PER_BIN)
    tables = cell_tables(pulse)
    rows = tables.first[CELLS.index(PER_BIN)] + phase % PER_BIN
    expected = pixels.expected
    mine = []
    for i, row, place in zip(lane, rows, phase // PER_BIN, strict=True):
        counted = in_python(count_up)(
            tables, pixels.samples[i], pixels.fired[i], told, expected.signal[i], expected.background[i]
        )
        elsewhere = in_python(take_cell)(counted, tables.half, place)
        mine.append((counted, elsewhere, tables.share[row], tables.slope[row], tables.curve[row]))
    return counts, its, mine


def test_the_counts_of_a_cell_and_of_all_others(cells):
    _, its, mine = cells
    width = its.fired.shape[1]
    for i, (counted, elsewhere, share, *_) in enumerate(mine):
        np.testing.assert_array_equal(counted.near_fired[:width], its.fired[i])
        np.testing.assert_array_equal(counted.near_missed[:width], its.missed[i])
        np.testing.assert_array_equal(share[:width], its.share[i])
        assert elsewhere == (its.fired_elsewhere[i], its.missed_elsewhere[i])


def test_what_fits_best_its_likelihood_and_its_box(cells):
    counts, its, mine = cells
    signal, background = counts.fit(its)
    values, boxes = its.value(signal, background), np.transpose(counts._box(its, signal, background))
    for i, (counted, elsewhere, share, *_) in enumerate(mine):
        found = in_python(fit)(counted, elsewhere, share)
        assert found == pytest.approx((signal[i], background[i]), rel=1e-6)
        value = in_python(value_at)(counted, elsewhere, share, signal[i], background[i])
        assert value == pytest.approx(values[i], rel=1e-9, abs=1e-9)
        box = in_python(box_of)(counted, elsewhere, share, signal[i], background[i])
        assert box == pytest.approx(tuple(boxes[i]), rel=1e-9)


@pytest.mark.parametrize("strongest", [inf, 1.0])
def test_the_bound_is_above_the_levels_that_the_reference_has_below_it(cells, strongest):
    counts, its, mine = cells
    signal, background = counts.fit(its)
    value = its.value(np.minimum(signal, strongest), background)
    certificate = Certificate(counts.pulse, 1.0, strongest, counts.told)
    both = np.zeros(2, dtype=int)
    for more in (-0.5, 0.02, 0.5, 5.0):  # the bound is a little above the value, how much depends on the cell
        possible, likely = certificate._above(counts, its, value + more)
        for i, (counted, elsewhere, *tables) in enumerate(mine):
            found = in_python(above)(counted, elsewhere, *tables, its.width, strongest, value[i] + more)
            assert found == (possible[i], likely[i])
        both += (possible & ~likely).sum(), (~possible).sum()
    assert (both > 0).all()
