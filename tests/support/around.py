"""What pixels around may have said, made up."""

from __future__ import annotations

import numpy as np

from linkedbandits.lidar.borrowing import Around


def said_around(depth, *, seed=1, signal=0.5, background=0.05):
    """Four depths near that of each pixel, some trusted more than others; the rest of the weight is anywhere."""
    rng = np.random.default_rng(seed)
    pixels = len(depth)
    return Around(
        depth=depth[:, np.newaxis] + rng.normal(0, 1, (pixels, 4)),
        trust=rng.uniform(0, 0.2, (pixels, 4)),
        signal=np.full(pixels, signal),
        background=np.full(pixels, background),
        group=rng.integers(0, 2, pixels),
        shares=rng.dirichlet(np.ones(2), (2, 4)),
        widths=np.array([1.5, 3.0]),
    )
