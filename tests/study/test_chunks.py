"""Chunks: whole blocks, nothing twice, and trials that do not depend on how they were cut."""

from __future__ import annotations

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.streams import block_lanes
from linkedbandits.study import read_study
from linkedbandits.study.chunks import cut, missing_ranges, run_chunk
from tests.support.small_study import small_study


@given(
    arms=st.sampled_from([10, 100, 1000, 100_000]),
    blocks=st.integers(1, 40),
    part=st.floats(0.01, 1),
    chunk_blocks=st.integers(1, 7),
    data=st.data(),
)
def test_what_is_there_and_what_is_missing_make_the_whole_once(arms, blocks, part, chunk_blocks, data):
    size = block_lanes(arms)
    trials = (blocks - 1) * size + max(1, int(part * size))
    every = missing_ranges(arms, trials, [], data.draw(st.integers(1, 7)))
    present = data.draw(st.lists(st.sampled_from(every), unique=True))
    missing = missing_ranges(arms, trials, present, chunk_blocks)
    lanes = sorted(lane for lanes in [*present, *missing] for lane in (lanes.start, lanes.stop))
    # Every end is another's start: no gap, no overlap, from 0 to the last trial.
    assert lanes[0] == 0
    assert lanes[-1] == trials
    assert all(lanes[i] == lanes[i + 1] for i in range(1, len(lanes) - 1, 2))
    assert all(chunk.start % size == 0 and len(chunk) <= chunk_blocks * size for chunk in missing)


def test_a_cell_is_the_same_however_it_is_cut():
    cell = next(cell for cell in small_study(600).cells if cell.instance.means.size == 100)
    whole, pieces = (
        [run_chunk(chunk) for chunk in cut(cell, 5, missing_ranges(100, 600, [], blocks))] for blocks in (10, 1)
    )
    assert (len(whole), len(pieces)) == (2, 3)
    for name in ("top", "plays", "samples", "confident", "correct"):
        one, other = (np.concatenate([getattr(piece, name) for piece in parts]) for parts in (whole, pieces))
        assert np.array_equal(one, other)
    assert whole[0].traces == pieces[0].traces
    assert not pieces[1].traces


def test_a_chunk_is_what_simulate_gives_with_the_cells_seed():
    cell = small_study().cells[0]
    (finished,) = (run_chunk(chunk) for chunk in cut(cell, 5, [range(300)]))
    runs = lb.simulate(cell.instance.means, cell.policy, linkage=cell.linkage, trials=300, seed=cell.seed(5))
    assert np.array_equal(finished.plays, runs.plays)
    assert np.array_equal(finished.correct, runs.correct)


def test_traces_end_where_the_trials_do():
    cell = small_study().cells[0]
    (finished,) = (run_chunk(chunk) for chunk in cut(cell, 5, [range(300)]))
    assert sorted(finished.traces) == list(range(64))
    for trial, (plays, arms_in) in finished.traces.items():
        assert plays[-1] == finished.plays[trial]
        assert arms_in[-1] == 1
        assert plays == sorted(plays)


def test_chunks_of_dependent_requests_end_as_simulate_does_however_they_are_cut():
    text = """
deltas = [0.1]
trials = 1100
max_plays = 90
[[instances]]
means = [0.6, 0.3, 0.5]
correlation = 0.8
[[policies]]
policy = "linked-duels"
linkages = ["free"]
[[policies]]
policy = "linked-elimination"
"""
    for cell in read_study(text).cells:
        runs = lb.simulate(
            cell.instance.means,
            cell.policy,
            linkage=cell.linkage,
            world=lb.SharedDifficulty([0.6, 0.3, 0.5], 0.8),
            trials=1100,
            seed=cell.seed(5),
            max_plays=90,
        )
        for ranges in ([range(1100)], [range(1024), range(1024, 1100)]):
            finished = [run_chunk(pickle.loads(pickle.dumps(chunk))) for chunk in cut(cell, 5, ranges)]
            assert np.array_equal(np.concatenate([part.samples for part in finished]), runs.samples)
            assert np.array_equal(np.concatenate([part.correct for part in finished]), runs.correct)
