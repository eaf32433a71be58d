"""Two returns or one: against the reference, for counts of one and of two; more of them are in test_certifying."""

import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.engines.compiled.doubting import cumulative, gain_of_two
from linkedbandits.lidar.engines.compiled.tables import pulse_shape
from linkedbandits.lidar.pulse import Pulse
from linkedbandits.lidar.two_returns import MORE
from linkedbandits.lidar.two_returns import gain_of_two as gain_by_numpy
from tests.support.in_python import in_python
from tests.support.kernel_pixels import MEASURED

BINS = 30
PULSES = pytest.mark.parametrize("pulse", [Pulse(0.7), Pulse(3.0), MEASURED], ids=repr)


@PULSES
def test_the_share_of_a_pulse_before_a_time(pulse):
    times = np.linspace(-pulse.half - 1, pulse.half + 1, 101)
    found = [in_python(cumulative)(pulse_shape(pulse), time) for time in times]
    np.testing.assert_allclose(found, pulse.cumulative(times), atol=1e-12)
    assert found[0] == pytest.approx(0, abs=1e-15)
    assert found[-1] == pytest.approx(1)


@PULSES
def test_it_doubts_where_the_reference_does(pulse):
    centre, signal, background = np.array([12.4, 0.3, 17.5]), np.full(3, 0.8), np.full(3, 0.02)
    one, left, right = (pulse.shares(centre + away, BINS) for away in (0.0, -1.3, 1.3))
    two = np.array([[False], [True], [True]])
    shares = np.where(two, (left + right) / 2, one)
    samples = np.full((3, BINS), 3000)
    successes = np.random.default_rng(1).binomial(samples, -np.expm1(-(0.8 * shares + 0.02)))
    right = gain_by_numpy(pulse, samples, successes, centre, 1.0, signal, background)
    found = [
        in_python(gain_of_two)(pulse_shape(pulse), *each, 1.0, 0.8, 0.02)
        for each in zip(samples, successes, centre, strict=True)
    ]
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)
    assert found[0] < MORE < found[2]
