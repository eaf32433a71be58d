import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.lidar.borrowing import Around
from linkedbandits.lidar.engines.compiled.expecting import put_log_prior
from linkedbandits.lidar.trusting import WIDTHS
from tests.support.in_python import in_python

BINS, PIXELS = 40, 6


def test_weights_are_those_of_the_reference():
    generator = np.random.default_rng(1)
    trust = generator.dirichlet(np.ones(4), PIXELS)[:, :3]
    trust[0], trust[1, 1] = 0.0, 0.0
    these = Around(
        depth=generator.uniform(-2, BINS + 2, (PIXELS, 3)),
        trust=trust,
        signal=np.ones(PIXELS),
        background=np.ones(PIXELS),
        group=np.arange(PIXELS) % 2,
        shares=generator.dirichlet(np.ones(WIDTHS.size), (2, 3)),
        widths=WIDTHS,
    )
    right = these.expected(BINS).log_prior
    found = np.full(BINS, np.nan)
    for pixel in range(PIXELS):
        shares = these.shares[these.group[pixel]]
        in_python(put_log_prior)(found, these.depth[pixel], trust[pixel], shares, WIDTHS)
        np.testing.assert_allclose(found, right[pixel], atol=1e-12)
    assert np.ptp(right[0]) == pytest.approx(0, abs=1e-12)
    assert np.ptp(right[1]) > 1
