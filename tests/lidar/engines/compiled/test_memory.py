"""Working memory: what it is said to be, and enough of it, as machine code does not ask where an array ends."""

import numpy as np
import pytest

pytest.importorskip("numba")

import numba

from linkedbandits.lidar.engines.compiled.memory import _MEMORY, NEVER
from linkedbandits.lidar.engines.compiled.tables import BLOCK, FOUR, model_tables
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import return_model
from tests.support.in_python import memory_of
from tests.support.kernel_pixels import MEASURED

PULSES = pytest.mark.parametrize("pulse", [Pulse(0.4), Pulse(1.0), Pulse(3.0), Pulse(9.0), MEASURED], ids=repr)


def tables_of(pulse, bins=50):
    return model_tables(return_model(pulse, 0.02, 0.05, 5.0), bins)


def test_every_array_is_of_the_kind_it_is_said_to_be():
    made = vars(memory_of(tables_of(Pulse(3.0))))
    assert {name: numba.typeof(array) for name, array in made.items()} == dict(_MEMORY.field_dict)


@PULSES
def test_what_photons_add_stays_within_their_own_row_and_the_margin_of_the_next(pulse):
    model = tables_of(pulse)
    memory, rows = memory_of(model), model.fire.shape[1]
    stride = memory.fire.size // rows
    assert memory.fire.size == memory.fine.size == memory.weight.size == rows * stride
    assert stride % 16 == memory.fire.ctypes.data % 64 == memory.weight.ctypes.data % 64 == 0
    for row, skip in enumerate(model.skip):
        end = row * stride + (model.bins - 1) + skip + model.fire.shape[2]
        assert end <= (row + 1) * stride + model.margin * (row + 1 < rows)


@PULSES
def test_what_is_folded_is_there(pulse):
    model = tables_of(pulse)
    memory = memory_of(model)
    last = int(model.skip_share.max()) + model.share.shape[1] - FOUR + 3 + (model.bins - 1)
    assert last < memory.padded.size == memory.fine_padded.size


def test_bins_have_a_block_and_gates_are_open():
    model = tables_of(Pulse(3.0))
    memory = memory_of(model)
    assert memory.hits.size == model.bins <= model.room == memory.of_bin.size == BLOCK * memory.has_weight.size
    assert np.all(memory.log_prior[model.bins :] == NEVER)
    assert memory.upto.size == model.bins * model.share.shape[0] + 1
    assert np.all(memory.gate)
    assert np.all(memory.counted)
