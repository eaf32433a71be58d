"""Mixtures of signals bring what the whole tables bring, and little is left out at the ends of pulses."""

import numpy as np
import pytest

from linkedbandits.lidar.engines.compiled.mixtures import ENDS, WITHIN, find_mixtures
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import binary_entropy, return_model
from tests.support.kernel_pixels import MEASURED

PULSES = [Pulse(0.6), Pulse(3.0), Pulse(20.0), MEASURED]


def whole_tables(model):
    """(levels, phases, signals, window) of chances and of gains, the last bin of the window first."""
    chance = -np.expm1(-(model.miss + model.backgrounds[:, np.newaxis, np.newaxis]))
    alone = -np.expm1(-model.backgrounds)[:, np.newaxis, np.newaxis]
    cross = -chance * np.log(alone) + (1 - chance) * model.backgrounds[:, np.newaxis, np.newaxis]
    apart = cross - binary_entropy(chance)  # of a bin with a return from one without: Kullback and Leibler's
    shape = (len(alone), model.signals.size, model.phases.size, -1)
    return [table.reshape(shape).swapaxes(1, 2)[..., ::-1] for table in (chance - alone, apart)]


@pytest.mark.parametrize("strongest", [5.0, 100.0])
@pytest.mark.parametrize("pulse", PULSES, ids=repr)
def test_mixtures_bring_what_signals_bring(pulse, strongest):
    model = return_model(pulse, 0.02, 0.05, strongest)
    made = find_mixtures(model, 4)
    assert made.chance.shape[-1] % 4 == 0
    for table, mixed in zip(whole_tables(model), (made.chance, made.gain), strict=True):
        found = made.factors.swapaxes(-1, -2) @ mixed
        for phase, skip in enumerate(made.skip):
            right = table[:, phase]
            kept = right[..., skip : skip + found.shape[-1]]
            top = right.max(axis=-1, keepdims=True)
            assert np.all(np.abs(found[:, phase, :, : kept.shape[-1]] - kept) <= WITHIN * top + 1e-15)
            assert not np.any(np.abs(found[:, phase, :, kept.shape[-1] :]) > WITHIN * top)
            left_out = right.sum(axis=-1) - kept.sum(axis=-1)
            assert np.all(left_out <= ENDS * right.sum(axis=-1) + 1e-15)


def test_there_are_fewer_mixtures_than_signals_and_fewer_columns_than_bins_that_a_return_reaches():
    model = return_model(Pulse(3.0), 0.02, 0.05, 5.0)
    made = find_mixtures(model, 4)
    assert made.factors.shape[2] < model.signals.size
    assert made.chance.shape[3] < 2 * model.pulse.half + 1


def test_one_signal_is_its_own_mixture():
    model = return_model(Pulse(3.0), 0.02, 0.5, 0.5001)
    made = find_mixtures(model, 1)
    assert made.factors.shape[2] <= model.signals.size
