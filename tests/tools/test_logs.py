"""Logs for tests and benchmarks: chains end at the first success, and adaptive orders see only attempts."""

from __future__ import annotations

import numpy as np

from linkedbandits.joint_worlds import SharedDifficulty
from tools import logs


def test_chains_end_at_the_first_success_and_name_the_second():
    would = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    orders = np.array([[0, 2, 1], [2, 1, 0], [0, 1, 2]], dtype=np.int16)
    log = logs.log_of(would, orders)
    assert log.request.tolist() == [0, 0, 1, 1, 1, 2]
    assert log.option.tolist() == [0, 2, 2, 1, 0, 0]
    assert log.success.tolist() == [False, True, False, False, False, True]
    assert log.second.tolist() == [2, 1, 1]


def test_one_option_is_never_second():
    log = logs.log_of(np.ones((3, 1), dtype=bool), logs.fixed(3, 1))
    assert log.second.tolist() == [-1, -1, -1]


def test_outcomes_have_the_means_of_their_law():
    """Of 40,000 requests; six standard errors are at most 0.015."""
    rng = np.random.default_rng(1)
    means = [0.1, 0.5, 0.9]
    assert np.allclose(logs.outcomes(means, 40_000, rng).mean(axis=0), means, atol=0.015)
    together = logs.outcomes(SharedDifficulty(means, 0.5), 40_000, rng)
    assert np.allclose(together.mean(axis=0), means, atol=0.015)
    assert np.corrcoef(together.T)[0, 1] > 0.1
    column = logs.with_memory(0.8, 0.3, 40_000, rng)[:, 0]
    assert abs(column[1:][~column[:-1]].mean() - 0.3) < 0.03
    assert abs(column[1:][column[:-1]].mean() - 0.8) < 0.03


def test_orders_have_every_option_once():
    rng = np.random.default_rng(1)
    for orders in (logs.fixed(50, 4), logs.shuffled(50, 4, rng), logs.mostly_fixed(50, 4, 0.5, rng)):
        assert (np.sort(orders, axis=1) == np.arange(4)).all()
    some = logs.mostly_fixed(4000, 4, 0.2, rng)
    assert 0.12 < (some[:, 0] != 0).mean() < 0.18  # a fifth begin at random, of those a quarter with the usual one


def test_win_stay_stays_with_what_worked():
    would = np.array([[[0, 1, 0], [0, 1, 0], [0, 0, 0], [1, 1, 1]]], dtype=bool)
    orders = logs.adaptive(would, logs.win_stay, np.random.default_rng(1))
    assert orders[0].tolist() == [[0, 1, 2], [1, 2, 0], [1, 2, 0], [2, 0, 1]]


def test_adaptive_orders_do_not_know_what_was_not_tried():
    rng = np.random.default_rng(2)
    would = np.stack([logs.outcomes([0.5, 0.3, 0.6], 200, rng) for _ in range(10)])
    for choose in (logs.win_stay, logs.epsilon_greedy):
        orders = logs.adaptive(would, choose, np.random.default_rng(3))
        # Whatever stands behind the first success of a request may be otherwise.
        in_order = np.take_along_axis(would, orders.astype(np.int64), axis=2)
        unseen = np.cumsum(in_order, axis=2) - in_order > 0
        hidden = np.zeros_like(would)
        np.put_along_axis(hidden, orders.astype(np.int64), unseen, axis=2)
        assert (logs.adaptive(would ^ hidden, choose, np.random.default_rng(3)) == orders).all()


def test_greedy_orders_begin_with_what_works_best():
    rng = np.random.default_rng(4)
    would = np.stack([logs.outcomes([0.2, 0.9, 0.5], 400, rng) for _ in range(5)])
    orders = logs.adaptive(would, logs.epsilon_greedy, rng)
    assert (orders[:, 200:, 0] == 1).mean() > 0.85
    assert (orders[:, 200:, 0] != 1).mean() > 0.02
