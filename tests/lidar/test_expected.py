"""What is expected of pixels."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar.expected import LEAST_SIGNAL, Expected
from linkedbandits.lidar.sensor import LEAST_BACKGROUND


def test_without_knowledge_no_depth_is_likelier_than_another():
    expected = Expected.alike(3, 8, 0.5, 0.02)
    assert np.exp(expected.log_prior) == pytest.approx(1 / 8)
    assert expected.log_prior.shape == (3, 8)
    assert expected.signal.tolist() == [0.5] * 3
    assert expected.background.tolist() == [0.02] * 3


def test_some_pixels_of_it_keep_what_is_theirs():
    expected = Expected(
        np.log([[0.5, 0.5], [0.2, 0.8], [0.9, 0.1]]), np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])
    )
    for some, rows in [(np.array([2, 0]), [2, 0]), (slice(1, 3), [1, 2])]:
        part = expected.take(some)
        assert part.log_prior.tolist() == expected.log_prior[rows].tolist()
        assert part.signal.tolist() == expected.signal[rows].tolist()
        assert part.background.tolist() == expected.background[rows].tolist()


@pytest.mark.parametrize(
    ("log_prior", "signal", "said"),
    [
        (np.zeros((2, 3)), np.ones(2), "add up to more than one"),
        (np.full((2, 3), np.nan), np.ones(2), "is no number"),
        (np.full((2, 3), -2.0), np.ones(3), "for every pixel"),
        (np.full(3, -2.0), np.ones(3), "for every pixel"),
        (np.full((2, 3), -2.0), np.array([1.0, np.nan]), "is no number"),
    ],
)
def test_weights_that_a_guarantee_cannot_rest_on_are_refused(log_prior, signal, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        Expected(log_prior, signal, np.ones(2)).check()


@pytest.mark.parametrize("weight", [-np.inf, np.nan])
def test_every_bin_has_some_weight(weight):
    """What has none could not be found, whatever comes back from there."""
    expected = Expected.alike(2, 8, 1.0, 0.1)
    expected.log_prior[1, 3] = weight
    with pytest.raises(lb.InvalidParameter, match="give every bin a little"):
        expected.check()


def test_nothing_is_expected_to_be_quite_dark():
    """Logarithms are taken of both, and one stray photon must not be impossible."""
    expected = Expected.alike(2, 8, 0.0, 0.0)
    assert expected.signal.tolist() == [LEAST_SIGNAL] * 2
    assert expected.background.tolist() == [LEAST_BACKGROUND] * 2
