"""Shifted windows: every bin is first in its turn, and a round costs one cycle more."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.lidar import ShiftedGates


def requests(policy, arms):
    state = policy.start(1, arms, np.zeros(1, dtype=np.uint64))
    while not state.stopped.any():
        request = policy.request(state)
        yield request
        samples = np.broadcast_to(request.times[:, np.newaxis], (1, arms))
        policy.observe(state, lb.model.Counts(samples, np.zeros_like(samples), request.times))


def test_windows_begin_at_every_shift_in_turn_and_wrap():
    asked = list(requests(ShiftedGates(plays=8, shifts=4), arms=4))
    assert [request.order[0].tolist() for request in asked] == [[0, 1, 2, 3], [1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2]]
    assert [int(request.times[0]) for request in asked] == [2, 2, 2, 2]


@pytest.mark.parametrize("plays", [1, 3, 19, 20, 21, 1000])
def test_every_window_is_used_whatever_their_number(plays):
    asked = list(requests(ShiftedGates(plays=plays, shifts=20), arms=50))
    assert sum(int(request.times[0]) for request in asked) == plays


def test_a_round_takes_one_laser_cycle_more_than_it_has_windows():
    assert 20 * ShiftedGates(plays=20, shifts=20).cost == pytest.approx(21)


def test_fewer_windows_than_shifts_are_one_round():
    assert 8 * ShiftedGates(plays=8, shifts=20).cost == pytest.approx(9)
    starts = [int(request.order[0, 0]) for request in requests(ShiftedGates(plays=4, shifts=100), arms=40)]
    assert np.allclose(np.diff(starts), 10, atol=1)


@pytest.mark.parametrize(("ambient", "most"), [(1.0, 1.2), (20.0, 1.3)])
def test_bins_are_sampled_alike_where_whole_windows_would_starve_the_last(ambient, most):
    means = np.full(200, -np.expm1(-ambient / 200))
    shifted = lb.simulate(means, ShiftedGates(plays=4000), linkage="free", trials=20, seed=1).samples.mean(axis=0)
    whole = lb.simulate(means, lb.MaximalSampling(plays=4000), trials=20, seed=1).samples.mean(axis=0)
    assert shifted.max() < most * shifted.min()
    assert whole.max() > 2 * whole.min()


def test_it_takes_the_free_linkage():
    with pytest.raises(lb.InvalidParameter, match="free"):
        lb.simulate([0.1, 0.2], ShiftedGates(plays=5), linkage="ordered", trials=1)
