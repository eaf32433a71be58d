"""What pixels expect from those around them, spread over all bins on a card, which is made of NumPy here."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar.engines.gpu.device import Program, Shape, on_host
from linkedbandits.lidar.engines.gpu.priors import spread_prior
from tests.support.around import said_around
from tests.support.kernels_on_cpu import needs_compiler

pytestmark = needs_compiler


@pytest.mark.parametrize("pixels", [1, 4, 9])
def test_it_is_what_the_reference_spreads_and_never_more(card_on_cpu, pixels):
    around = said_around(np.linspace(3.0, 55.0, pixels), seed=pixels)
    kernels = Program(Shape(bins=60, half=3, signals=6, phases=4, digits=1, likely=False, certain=False))
    found = on_host(spread_prior(kernels, around, 60))
    assert found.dtype == np.float32
    its = around.expected(60).log_prior
    np.testing.assert_allclose(found, its, rtol=1e-6)
    assert (found <= its).all()
    assert (np.exp(found.astype(np.float64)).sum(axis=1) <= 1).all()
