"""Which bins are worth opening."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linkedbandits.lidar import Sensor
from linkedbandits.lidar.gating import best_gate, binary_entropy, outlook
from linkedbandits.lidar.returns import return_model

ROWS = hnp.arrays(np.float64, 7, elements=st.floats(0.001, 0.999))


def expected_worth(gate, worth, chance):
    reached, total = 1.0, 0.0
    for opened, value, fires in zip(gate, worth, chance, strict=True):
        if opened:
            total += reached * value
            reached *= 1 - fires
    return total


@given(worth=ROWS, chance=ROWS)
def test_no_other_gate_is_worth_more(worth, chance):
    """Against all 2^7 of them."""
    found = best_gate(worth[np.newaxis], chance[np.newaxis])[0]
    most = max(expected_worth(gate, worth, chance) for gate in product([False, True], repeat=7))
    assert expected_worth(found, worth, chance) == pytest.approx(most)


def test_where_every_bin_is_worth_the_same_all_are_opened():
    assert best_gate(np.full((1, 50), 0.01), np.full((1, 50), 0.2)).all()


@given(seed=st.integers(0, 100))
def test_worth_is_the_information_that_a_sample_gives(seed):
    """The mutual information of "does it fire" and (depth, signal), summed over the grid by its definition."""
    sensor = Sensor(bins=12, fwhm=2.0, ambient=3.0)
    model = return_model(2.0, sensor.background, 0.2, 2.0)
    rng = np.random.default_rng(seed)
    samples = rng.integers(0, 20, (1, 12))
    likelihood = model.log_likelihood(samples, rng.binomial(samples, 0.3))
    worth, chance = outlook(model, likelihood, likelihood.max(axis=1))

    weight = np.exp(0.6 * (likelihood - likelihood.max()))[0]
    weight /= weight.sum()
    mean, known = np.zeros(12), np.zeros(12)
    for (s, q, j), share in np.ndenumerate(weight):
        fires = sensor.chances(np.array([j + model.phases[q]]), model.signals[s : s + 1])[0]
        mean += share * fires
        known += share * binary_entropy(fires)
    assert chance[0] == pytest.approx(mean)
    assert worth[0] == pytest.approx(binary_entropy(mean) - known, abs=1e-10)
    assert (worth > 0).all()
