"""The weights that the kernel spreads around depths are those of a plain formula, and add up to one at most."""

from __future__ import annotations

import numpy as np
import pytest

from linkedbandits.lidar.borrowing import Around
from tests.support.kernels_on_cpu import compiled, needs_compiler, run

pytestmark = needs_compiler

WARPS = 2


def spread_prior(bins, depth, trust, group, shares, widths):
    pixels, places = depth.shape
    log_prior = np.full((pixels, bins), 7.0, dtype=np.float32)
    run(
        compiled("prior.cu", (f"-DBINS={bins}",)),
        "spread_prior",
        -(-pixels // WARPS) + 1,
        pixels,
        places,
        widths.size,
        depth,
        trust,
        group,
        shares,
        widths,
        log_prior,
        threads=32 * WARPS,
    )
    return log_prior


def by_formula(bins, depth, trust, group, shares, widths):
    """What is not trusted is spread evenly; each width has its share of the trust in each depth."""
    away = np.abs(np.arange(bins) + 0.5 - depth[:, :, np.newaxis])[..., np.newaxis]
    spread = (shares[group][:, :, np.newaxis] * np.exp(-away / widths) / (2 * widths)).sum(axis=3)
    weight = (trust[:, :, np.newaxis] * spread).sum(axis=1) + (1 - trust.sum(axis=1, keepdims=True)) / bins
    return np.log(weight / weight.sum(axis=1, keepdims=True))


def made_up(bins, pixels, places, groups, widths, seed=1):
    rng = np.random.default_rng(seed)
    depth = rng.uniform(-3, bins + 3, (pixels, places))
    trust = rng.dirichlet(np.ones(places + 1), pixels)[:, :places].copy()
    trust[0] = 0.0
    trust[1, 1:] = 0.0
    shares = rng.dirichlet(np.ones(widths), (groups, places))
    shares[0, 0, 0] = 0.0
    return depth, trust, rng.integers(0, groups, pixels), shares, rng.uniform(0.3, 2.0) * 2.0 ** np.arange(widths)


@pytest.mark.parametrize(("bins", "places", "groups", "widths"), [(75, 12, 3, 4), (40, 1, 1, 1), (31, 5, 6, 2)])
def test_weights_are_those_of_the_formula(bins, places, groups, widths):
    given = made_up(bins, 21, places, groups, widths)
    found, its = spread_prior(bins, *given), by_formula(bins, *given)
    assert (found <= its).all()
    assert (its - found <= 4e-7 * np.maximum(np.abs(its), 1.0)).all()
    assert (np.exp(found.astype(np.float64)).sum(axis=1) <= 1.0).all()
    assert (found[0] == found[0, 0]).all()


def test_they_are_those_that_the_reference_expects():
    bins = 60
    depth, trust, group, shares, widths = given = made_up(bins, 10, 4, 2, 3, seed=2)
    around = Around(depth, trust, np.ones(10), np.ones(10), group, shares, widths)
    np.testing.assert_allclose(spread_prior(bins, *given), around.expected(bins).log_prior, rtol=1e-6)
