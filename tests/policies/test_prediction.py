"""Predictions shrink towards the pooled mean, as far as the arms warrant it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.policies.linked_elimination import PRIOR, predict


def settled(samples, successes, rounds=30):
    """The prediction after the mixture has learnt from the same counts for a while."""
    mixture = PRIOR[np.newaxis]
    for _ in range(rounds):
        counts = np.array([samples], float), np.array([successes], float)
        _, prediction, mixture = predict(*counts, mixture, np.ones_like(counts[0], dtype=bool))
    return prediction[0], mixture[0]


@given(st.lists(st.tuples(st.integers(0, 10**6), st.floats(0, 1)), min_size=2, max_size=8))
def test_predictions_are_probabilities_and_weights_a_mixture(arms):
    samples = [n for n, _ in arms]
    successes = [round(n * share) for n, share in arms]
    prediction, mixture = settled(samples, successes, rounds=3)
    assert ((prediction > 0) & (prediction < 1)).all()
    assert np.isclose(mixture.sum(), 1)
    assert (mixture > 0).all()


def test_noise_around_one_mean_is_shrunk_and_the_spike_is_learnt():
    rng = np.random.default_rng(0)
    successes = rng.binomial(100, 0.1, 60)
    prediction, mixture = settled([100] * 60, successes)
    assert np.abs(prediction - 0.1).mean() < 0.5 * np.abs(successes / 100 - 0.1).mean()
    assert mixture[0] > 0.6


def test_an_arm_that_stands_out_keeps_its_mean():
    prediction, _ = settled([1000] * 10, [50] * 9 + [300])
    assert abs(prediction[-1] - 0.3) < 0.01
    assert abs(prediction[0] - 0.05) < 0.03


def test_many_samples_outweigh_any_shrinkage():
    successes = np.array([100_000, 101_000, 150_000, 400_000])
    prediction, _ = settled([1_000_000] * 4, successes)
    assert np.allclose(prediction, successes / 1_000_000, atol=0.002)


def test_lanes_do_not_share_what_they_learn():
    samples = np.array([[100.0, 100.0], [50.0, 10.0]])
    successes = np.array([[10.0, 60.0], [5.0, 1.0]])
    everyone = np.ones((2, 2), dtype=bool)
    _, both, _ = predict(samples, successes, np.tile(PRIOR, (2, 1)), everyone)
    _, alone, _ = predict(samples[1:], successes[1:], PRIOR[np.newaxis], everyone[1:])
    assert np.array_equal(both[1:], alone)


def test_predictions_are_drawn_to_the_arms_that_are_pooled():
    samples, successes = np.full((1, 4), 30.0), np.array([[3.0, 3.0, 4.0, 20.0]])
    low = np.array([[True, True, True, False]])
    plain, prediction, _ = predict(samples, successes, PRIOR[np.newaxis], low)
    _, drawn_to_all, _ = predict(samples, successes, PRIOR[np.newaxis], np.ones_like(low))
    assert (prediction[0, :3] < drawn_to_all[0, :3] - 0.01).all()
    assert np.allclose(plain[0], (successes[0] + 10.5 / 91) / 31)


def test_means_of_a_ten_billionth_are_told_from_twice_that():
    samples, successes = np.full((1, 2), 1e12), np.array([[100.0, 200.0]])
    pooled = np.ones((1, 2), dtype=bool)
    plain, shrunken, _ = predict(samples, successes, PRIOR[np.newaxis], pooled)
    for means in (plain, shrunken):
        assert 0 < means[0, 0] < means[0, 1] < 1e-9
    _, high, _ = predict(samples, samples - successes, PRIOR[np.newaxis], pooled)
    assert high[0, 1] < high[0, 0] < 1


def test_how_arms_lie_is_learnt_from_those_that_are_pooled_alone():
    samples, successes = np.full((1, 5), 30.0), np.array([[3.0, 3.0, 4.0, 20.0, 25.0]])
    low = np.array([[True, True, True, False, False]])
    _, _, mixture = predict(samples, successes, PRIOR[np.newaxis], low)
    _, _, of_these = predict(samples[:, :3], successes[:, :3], PRIOR[np.newaxis], low[:, :3])
    assert np.allclose(mixture, of_these, rtol=1e-12)
    assert np.isclose(mixture.sum(), 1)
