"""The stand-in: depths of the estimator ``map``, sure of nothing."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar import Photons, Sensor
from linkedbandits.lidar.locating import locate
from tests.support.photon_files import histogram


def test_it_finds_the_slope_and_says_so_pixel_by_pixel():
    counts, depth = histogram()
    photons = Photons.from_histogram(counts, cycles=200, bin_seconds=1e-10)
    done = []
    found = locate(
        photons.samples.reshape(12, -1),
        photons.detections.reshape(12, -1),
        Sensor(bins=20, fwhm=2.0, ambient=0.04),
        progress=done.append,
    )
    assert np.abs(found.depth - depth.reshape(-1)).max() < 0.5
    assert ((found.low < found.depth) & (found.depth < found.high)).all()
    assert not found.confident.any()
    assert sum(done) == 12
