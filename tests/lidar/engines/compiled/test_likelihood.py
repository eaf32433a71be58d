"""The log-likelihood of every depth and signal, against ``ReturnModel.log_likelihood``."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.likelihood import add_photons, fold, in_double_precision, stride_of
from linkedbandits.lidar.engines.compiled.tables import model_tables
from linkedbandits.lidar.pulse import Pulse
from tests.support.in_python import in_python, memory_of
from tests.support.kernel_pixels import MEASURED, make_pixels


def by_rows(flat, model):
    """(signals, phases, bins) of a flat array of rows."""
    rows = flat.reshape(model.fire.shape[1], -1)[:, model.margin : model.margin + model.bins]
    return rows.reshape(model.signals.size, -1, model.bins)


@pytest.mark.parametrize("pulse", [Pulse(0.8), Pulse(5.0), MEASURED], ids=repr)
def test_counts_are_as_likely_as_by_the_reference(pulse):
    pixels = make_pixels(pulse, bins=24, count=14)
    model = model_tables(pixels.model, pixels.bins)
    level = pixels.model.level_of(pixels.expected.background)
    prior = pixels.expected.log_prior
    right = pixels.model.log_likelihood(pixels.samples, pixels.fired, level) + prior[:, np.newaxis, np.newaxis]
    memory = memory_of(model)
    for i in (13, 2, 5, 8, 11):  # nothing of one pixel is left to the next
        in_python(in_double_precision)(model, memory, pixels.samples[i], pixels.fired[i], level[i], prior[i], 0, 24)
        np.testing.assert_allclose(by_rows(memory.fine, model), right[i], rtol=1e-9, atol=1e-8)


def test_some_bins_alone_are_as_likely_as_among_all():
    pixels = make_pixels(Pulse(3.0), bins=24, count=14)
    model = model_tables(pixels.model, pixels.bins)
    prior, whole, some = pixels.expected.log_prior, memory_of(model), memory_of(model)
    some.fine[:] = some.fine_padded[model.margin : model.margin + 24] = 7.0  # of another pixel
    for first, last in ((0, 5), (9, 14), (20, 24), (0, 24)):
        in_python(in_double_precision)(model, whole, pixels.samples[2], pixels.fired[2], 3, prior[2], 0, 24)
        in_python(in_double_precision)(model, some, pixels.samples[2], pixels.fired[2], 3, prior[2], first, last)
        found, right = by_rows(some.fine, model), by_rows(whole.fine, model)
        np.testing.assert_allclose(found[:, :, first:last], right[:, :, first:last], rtol=1e-12)


def test_counts_are_folded_with_factors_from_some_places_later():
    counts, factors, out = np.arange(20.0) ** 2, np.array([1.0, 0.5, 0.25, 2.0, 3.0, 0.0, 0.0, 0.0]), np.full(9, 7.0)
    in_python(fold)(out, counts, factors, 2)
    np.testing.assert_allclose(out, [factors @ counts[i + 2 : i + 10] for i in range(9)])


def test_photons_add_their_column_to_every_row():
    table, skip, fire = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0, 1]), np.zeros(20)
    in_python(add_photons)(fire, 10, table, skip, 5, 3.0)
    assert {i: fire[i] for i in np.flatnonzero(fire)} == {5: 3.0, 6: 6.0, 16: 9.0, 17: 12.0}


def test_rows_have_room_on_both_sides():
    model = model_tables(make_pixels(Pulse(3.0), bins=24, count=14).model, 24)
    assert in_python(stride_of)(model) >= 24 + 2 * model.half
    assert model.margin >= model.half
    assert model.room >= 24
