"""Where samples went: the figures about them that claims are decided by."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.bounds import characteristic_time, load
from linkedbandits.study import Cell, Instance, Study, run_study
from linkedbandits.study.chunks import run_chunk
from linkedbandits.study.reproduction.grid import EGE_FRESH, MAXIMAL, UNIFORM
from linkedbandits.study.reproduction.measures import allocation_price, measured_table
from tests.support.instances import no_tie


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


@pytest.fixture
def measures(tmp_path):
    """A function that gives the measures of one cell in which every trial has these samples and plays."""

    def of(means, samples, plays):
        cell = Cell(Instance("mine", np.array(means)), "p", lb.UniformSampling(samples=1), "ordered", trials=2)

        def made_up(chunks):
            for chunk in chunks:
                ran = run_chunk(chunk)
                uneven = np.array([[-1], [1]]) * (np.array(samples) > 0)  # of two trials; their mean is what is given
                yield chunk, replace(ran, samples=np.array(samples) + uneven, plays=np.array([plays - 5, plays + 5]))

        (row,) = measured_table(run_study(Study("s", 0, (cell,)), tmp_path, engine=made_up)).to_dicts()
        return row

    return of


def test_spreads_are_ratios_of_mean_samples(measures):
    means, samples = np.array([0.5, 0.9, 0.8]), np.array([100, 300, 400])
    row = measures(means, samples, plays=1000)
    assert row["samples_spread"] == pytest.approx(4)
    assert row["near_over_far"] == pytest.approx(400 / 100)  # of the arms with 0.8 and with 0.5
    assert row["gap_law_spread"] == pytest.approx((100 * 0.4**2) / (400 * 0.1**2))
    assert row["allocation_price"] == pytest.approx(allocation_price(means, samples / 1000))


def test_where_an_arm_was_never_sampled_nothing_is_said(measures):
    row = measures([0.5, 0.9, 0.8], samples=[0, 300, 400], plays=1000)
    names = ("samples_spread", "near_over_far", "gap_law_spread", "allocation_price")
    assert [row[name] for name in names] == [None] * 4


@given(no_tie.filter(lambda means: means.max() < 1 and means.min() > 0), st.integers(0, 2**32))
@settings(max_examples=20)
def test_no_rates_that_plays_can_bring_are_cheaper_than_the_best(means, seed):
    """Of rates at which a play brings all it can; a tenth of them need ten times the plays."""
    rates = np.random.default_rng(seed).exponential(size=means.size)
    rates = rates / load(rates, means)
    assert allocation_price(means, rates) >= 1 - 1e-6
    best = characteristic_time(means).proportions
    assert allocation_price(means, best) == pytest.approx(1, rel=1e-6)
    assert allocation_price(means, best / 10) == pytest.approx(10, rel=1e-6)
