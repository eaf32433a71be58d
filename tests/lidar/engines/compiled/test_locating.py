import numpy as np
import pytest

pytest.importorskip("numba")

from linkedbandits.errors import UnknownName
from linkedbandits.lidar import Sensor
from linkedbandits.lidar.expected import Expected
from linkedbandits.lidar.locating import locate


@pytest.mark.parametrize("strongest", [None, 8.0])
@pytest.mark.parametrize("fwhm", [1.0, 3.0])
def test_machine_code_locates_what_the_reference_does(fwhm, strongest):
    generator = np.random.default_rng(4)
    sensor, pixels = Sensor(bins=50, fwhm=fwhm, ambient=2.0), 60
    signal = generator.choice([0.0, 0.05, 0.5, 3.0], pixels)
    chances = sensor.chances(generator.uniform(-1, 51, pixels), signal)
    samples = np.tile(generator.integers(0, 1500, (pixels, 1)), (1, 50))
    detections = generator.binomial(samples, chances)
    prior = np.log(generator.dirichlet(np.ones(50), pixels))
    expected = Expected(prior, np.full(pixels, 0.3), np.full(pixels, 0.03))
    done = []
    one, other = (
        locate(samples, detections, sensor, expected=expected, strongest=strongest, engine=engine, progress=done.append)
        for engine in ("numpy", "compiled")
    )
    assert sum(done) == 2 * pixels
    np.testing.assert_array_equal(one.confident, other.confident)
    assert 0 < one.confident.sum() < pixels
    for name in ("depth", "low", "high", "signal", "background", "probable"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-4, atol=1e-5, err_msg=name)


def test_an_unknown_engine_is_refused():
    counts = np.ones((1, 50), dtype=np.int64)
    with pytest.raises(UnknownName, match="compiled"):
        locate(counts, counts, Sensor(bins=50), engine="fast")
