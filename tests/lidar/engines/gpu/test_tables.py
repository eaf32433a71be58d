"""The tables of kernels, and the numbers written into their sources."""

from __future__ import annotations

import re

import numpy as np
import pytest

from linkedbandits.lidar import certificate, expected, gates, pulse_gating, returns, sensor, two_returns
from linkedbandits.lidar.engines.gpu import tables
from linkedbandits.lidar.engines.gpu.tables import KERNELS, make_tables
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.returns import return_model


def test_kernels_have_the_numbers_of_the_modules():
    text = "".join(path.read_text() for path in (KERNELS / "constants.cuh", KERNELS / "best_windows.cu"))
    written = {name: float(value) for name, value in re.findall(r"constexpr \w+ (\w+) = ([-\d.e]+);", text)}
    from_modules = {
        "LEAST_BACKGROUND": sensor.LEAST_BACKGROUND,
        "LEAST_SIGNAL": expected.LEAST_SIGNAL,
        "LEVEL_RATIO": returns.LEVEL_RATIO,
        "PHOTONS_BEFORE": returns.PHOTONS_BEFORE,
        "ROUNDS": returns.ROUNDS,
        "LEAST_EVIDENCE": returns.LEAST_EVIDENCE,
        "BETWEEN": returns._BETWEEN,
        "NODES": certificate.NODES,
        "BOX": certificate.BOX,
        "STRONGER": certificate.STRONGER,
        "MOST_BACKGROUND": certificate.MOST_BACKGROUND,
        "FALLS": certificate.FALLS,
        "STEPS": certificate.STEPS,
        "SETTLED": certificate.SETTLED,
        "NARROW": certificate.SPREADS[0],
        "WIDE": certificate.SPREADS[1],
        "DIVISIONS": len(certificate.CELLS),
        "MORE": two_returns.MORE,
        "TWO_STEPS": two_returns.STEPS,
        "SOONEST": pulse_gating.SOONEST,
        "LATEST": pulse_gating.LATEST,
        "STEPS_A_BIN": tables.STEPS_A_BIN,
        "TINY": np.finfo(np.float64).tiny,
        "SMALLEST": np.finfo(np.float64).tiny,
        "CLOSE": gates.CLOSE,
    }
    assert {name: written[name] for name in from_modules} == from_modules
    assert set(written) - set(from_modules) == {"MOST_INTERVALS"}
    assert tuple(2 * 4**division for division in range(4)) == certificate.CELLS  # Place counts on that


@pytest.mark.parametrize("told", [False, True])
def test_tables_are_those_of_the_model(told):
    pulse = Pulse(1.7)
    model = return_model(pulse, 0.02, 0.05, 5.0, told)
    made = make_tables(pulse, model)
    rows = made.fire.transpose(0, 3, 1, 2).reshape(model.fire.shape)
    assert np.array_equal(rows, model.fire)
    np.testing.assert_allclose(made.signals[:, None, None] * made.share, model.miss.reshape(-1, *made.share.shape))
    assert made.told == told
    per_bin, window = 8, 2 * pulse.half + 1
    slope = made.cells[3 * 2 * window :][per_bin * window : 2 * per_bin * window].reshape(per_bin, window)
    assert np.array_equal(slope, certificate.cell_tables(pulse, per_bin).slope)
    assert made.cumulative[[0, -1]].tolist() == [0.0, 1.0]
    assert all(array.flags.c_contiguous for array in vars(made).values() if isinstance(array, np.ndarray))


def test_shared_memory_of_a_usual_sensor_lets_blocks_share_a_processor():
    made = make_tables(Pulse(3.0), return_model(Pulse(3.0), 0.005, 0.05, 5.0))
    assert made.shared_bytes(1.0, 1000) == 8 * 3 * (1000 + 4 * 6)
    assert made.macros(1000) == ("-DBINS=1000", "-DHALF=6", "-DSIGNALS=7", "-DPHASES=2")
