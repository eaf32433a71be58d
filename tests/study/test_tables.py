"""The rows of a finished chunk: one a trial, the same whatever chunks the trials came in."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits.streams import block_lanes
from linkedbandits.study import Cell, Instance
from linkedbandits.study.chunks import TRACED_TRIALS, cut, run_chunk
from linkedbandits.study.tables import table_of

CELL = Cell(
    Instance("five", np.array([0.3, 0.8, 0.5, 0.1, 0.2])),
    "two best",
    lb.LinkedElimination(delta=0.2, k=2),
    "ordered",
    2 * block_lanes(5),
    max_plays=400,
)


def table(lanes):
    (chunk,) = cut(CELL, 5, [lanes])
    return table_of(chunk, run_chunk(chunk))


@pytest.fixture(scope="module")
def whole():
    return table(range(CELL.trials))


def test_it_has_a_row_a_trial_with_what_simulate_says_of_it(whole):
    runs = lb.simulate(
        CELL.instance.means, CELL.policy, trials=CELL.trials, seed=CELL.seed(5), max_plays=CELL.max_plays
    )
    assert whole["trial"].to_list() == list(range(CELL.trials))
    assert whole["plays"].to_list() == runs.plays.tolist()
    assert whole["top"].to_list() == runs.top.tolist()
    assert whole["arm"].to_list() == runs.arm.tolist()
    assert whole["samples"].to_list() == runs.samples.tolist()
    assert whole["confident"].to_list() == runs.confident.tolist()
    assert whole["correct"].to_list() == runs.correct.tolist()
    assert 0 < whole["confident"].sum() < whole.height  # or half of it would not be seen


def test_only_the_first_trials_have_a_trace_and_it_ends_with_the_trial(whole):
    watched, others = whole[:TRACED_TRIALS], whole[TRACED_TRIALS:]
    decided = watched.filter("confident")
    assert decided["trace_plays"].list.last().to_list() == decided["plays"].to_list()
    assert decided["trace_arms"].list.last().to_list() == [2] * decided.height  # the two best are left
    assert watched["trace_plays"].list.len().to_list() == watched["trace_arms"].list.len().to_list()
    assert others["trace_plays"].null_count() == others["trace_arms"].null_count() == others.height


def test_parts_make_the_same_whole(whole):
    """The second part, without a single trace, has the same types of columns."""
    block = block_lanes(5)
    assert pl.concat([table(range(block)), table(range(block, CELL.trials))]).equals(whole)
