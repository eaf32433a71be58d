"""Where samples went: the figures about them that claims are decided by."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.study.reproduction.grid import EGE_FRESH, MAXIMAL, UNIFORM
from linkedbandits.study.reproduction.measures import allocation_price


def test_where_samples_went_is_measured(table, row):
    uniform = row(table, "one-sparse", 5, UNIFORM)
    assert uniform["samples_spread"] == 1
    assert uniform["near_over_far"] == 1
    # Equal samples at the rate that plays can bring: 1 + 0.1 + 3 * 0.05 plays for a sample of each.
    price = allocation_price(lb.scenarios.one_sparse(5), np.full(5, 1 / 1.25))
    assert uniform["allocation_price"] == pytest.approx(price, rel=0.01)
    # The chance to reach arm i falls as 0.95^i, and so does the gap squared of one arm after the other.
    assert row(table, "decreasing", 5, MAXIMAL)["gap_law_spread"] < 1.05
    assert row(table, "decreasing", 5, MAXIMAL)["allocation_price"] < 1.05
    assert row(table, "increasing", 5, EGE_FRESH)["near_over_far"] > 2


def test_the_table_has_every_cell_and_the_answers_that_were_wrong(results, table):
    assert table["cell"].to_list() == list(results.cells)
    assert set(table["sure_and_wrong"]) <= {share / 50 for share in range(51)}
    for cell, share, error in table.select("cell", "sure_and_wrong", "error_rate").iter_rows():
        assert share == pytest.approx(error), cell  # all runs finish on so few arms
