"""Tables for machine code: the reference's own, in another order, and with zeros where they end."""

from math import inf, log

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar import Sensor, certificate
from linkedbandits.lidar.engines.compiled import tables
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import binary_entropy, return_model
from tests.support.kernel_pixels import MEASURED

BINS = 50


def whole(table, skip, width):
    """A row as it was: zeros before the columns that were kept, and behind them."""
    row = np.zeros(skip + table.size + width)
    row[skip : skip + table.size] = table
    assert not row[width:].any()
    return row[:width]


@pytest.mark.parametrize("pulse", [Pulse(0.6), Pulse(3.0), MEASURED], ids=repr)
def test_no_column_is_lost_that_a_return_reaches(pulse):
    model = return_model(pulse, 0.02, 0.05, 5.0)
    made = tables.model_tables(model, BINS)
    phases, width = model.phases.size, 2 * pulse.half + 1
    shift = made.margin - pulse.half
    for row in range(model.cells_per_bin):
        reached = model.miss[row] > 0
        for level in (0, made.backgrounds.size - 1):
            background = model.backgrounds[level]
            chance = -np.expm1(-(model.miss[row] + background))
            cross = -chance * np.log(-np.expm1(-background)) + (1 - chance) * background
            right = {"fire": model.fire[level, row], "chance": model.chance[level, row]}
            right["gain"] = cross - binary_entropy(chance)  # Kullback and Leibler's divergence
            for name, table in right.items():
                mine = whole(getattr(made, name)[level, row], made.skip[row] - shift, width)[::-1]
                np.testing.assert_allclose(mine, np.where(reached, table, 0.0), rtol=1e-6, atol=1e-12)
        share = whole(made.share[row % phases], made.skip_share[row % phases] - shift, width)
        np.testing.assert_allclose(share * model.signals[row // phases], model.miss[row], rtol=1e-12, atol=1e-15)
    assert made.share.shape[1] % tables.FOUR == made.chance.shape[2] % tables.FOUR == 0
    assert made.margin % 16 == made.room % tables.BLOCK == 0
    assert shift >= 0
    assert made.room >= BINS
    assert made.fire.shape[2] % tables.SIXTEEN == 0
    np.testing.assert_allclose(made.alone, -np.expm1(-model.backgrounds))


def test_cells_come_one_division_after_the_other():
    pulse = Pulse(3.0)
    made = tables.cell_tables(pulse)
    assert made.per_bin.tolist() == [*certificate.CELLS, certificate.NODES]
    for first, per_bin in zip(made.first, made.per_bin, strict=True):
        its = certificate.cell_tables(pulse, int(per_bin))
        for name in ("share", "slope", "curve"):
            rows = getattr(made, name)[first : first + per_bin]
            np.testing.assert_array_equal(rows[:, : 2 * pulse.half + 1], getattr(its, name))
            assert not rows[:, 2 * pulse.half + 1 :].any()
    assert made.share.shape[1] % tables.EIGHT == 0


@pytest.mark.parametrize("dead_time", [0.0, 30e-9, 55e-9, 200e-9])
def test_what_a_detection_loses(dead_time):
    sensor = Sensor(bins=BINS, reach=6.0, dead_time=dead_time)
    timing = tables.timing_of(sensor)
    place = np.arange(BINS)
    np.testing.assert_array_equal(timing.base + (place >= timing.late), sensor.lost_periods(place))


def test_what_a_gate_may_be():
    bin_seconds = Sensor(bins=BINS, reach=6.0).bin_seconds
    some = {
        tables.SUFFIX: Suffixes(7),
        tables.SUBSET: AnySubset(),
        tables.WINDOWS: Windows(2.5 * bin_seconds, 4 * bin_seconds),
    }
    made = {
        kind: tables.timing_of(Sensor(bins=BINS, reach=6.0, rise=1.5e-9, gates=gates)) for kind, gates in some.items()
    }
    assert {kind: timing.kind for kind, timing in made.items()} == {kind: kind for kind in some}
    assert np.flatnonzero(made[tables.SUFFIX].allowed).tolist() == Suffixes(7).starts(BINS).tolist()
    assert (made[tables.WINDOWS].shortest, made[tables.WINDOWS].gap) == (3, 4)
    assert [made[kind].rising.size > 0 for kind in some] == [gates.rises for gates in some.values()]


def test_what_is_not_given_plays_no_part():
    model = return_model(Pulse(3.0), 0.02, 0.05, 5.0)
    free = tables.rules(growth=0.1, tolerance=1.0, told=False, model=model, bins=BINS)
    assert (free.needed, free.strongest, free.seconds) == (inf, inf, inf)
    assert free.likely > 1
    bound = tables.rules(
        growth=0.1, tolerance=1.5, told=True, model=model, bins=BINS, delta=0.05, likely=0.9, strongest=4.0, seconds=1.0
    )
    assert (bound.needed, bound.likely, bound.strongest, bound.seconds) == (log(20), 0.9, 4.0, 1.0)
    assert bound.wide == 3 * model.phases.size
