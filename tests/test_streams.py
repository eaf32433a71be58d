"""Randomness by blocks of lanes: what a lane draws never depends on how lanes are grouped."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.streams import LaneStreams, block_lanes
from linkedbandits.world import CoinFlips

ARMS = 4
BLOCK = block_lanes(ARMS)


def draw(streams: LaneStreams, lanes: int) -> np.ndarray:
    return streams.binomial(np.full((lanes, ARMS), 1000), np.full((lanes, ARMS), 0.3))


@pytest.mark.parametrize(("arms", "lanes"), [(2, 1024), (32, 1024), (33, 512), (100, 256), (2**15, 1), (10**6, 1)])
def test_a_block_is_a_power_of_two_of_lanes_and_at_most_32768_cells(arms, lanes):
    assert block_lanes(arms) == lanes


def test_blocks_draw_the_same_alone_as_side_by_side():
    together = draw(LaneStreams(7, ARMS, range(3 * BLOCK)), 3 * BLOCK)
    for start in range(0, 3 * BLOCK, BLOCK):
        alone = draw(LaneStreams(7, ARMS, range(start, start + BLOCK)), BLOCK)
        assert np.array_equal(alone, together[start : start + BLOCK])


def test_blocks_do_not_share_their_draws():
    drawn = draw(LaneStreams(7, ARMS, range(2 * BLOCK)), 2 * BLOCK)
    assert not np.array_equal(drawn[:BLOCK], drawn[BLOCK:])
    assert not np.array_equal(drawn, draw(LaneStreams(8, ARMS, range(2 * BLOCK)), 2 * BLOCK))


@pytest.mark.parametrize("as_mask", [True, False], ids=["mask", "positions"])
def test_thinning_one_block_leaves_the_draws_of_the_others_alone(as_mask):
    streams = LaneStreams(7, ARMS, range(2 * BLOCK))
    untouched = LaneStreams(7, ARMS, range(BLOCK, 2 * BLOCK))
    kept = np.ones(2 * BLOCK, dtype=np.bool_)
    kept[3:BLOCK] = False  # three lanes of the first block go on
    streams.keep(kept if as_mask else np.flatnonzero(kept))
    assert np.array_equal(draw(streams, 3 + BLOCK)[3:], draw(untouched, BLOCK))


def test_a_block_with_no_lanes_left_is_passed_over():
    streams = LaneStreams(7, ARMS, range(2 * BLOCK))
    streams.keep(np.arange(BLOCK, 2 * BLOCK))
    assert np.array_equal(draw(streams, BLOCK), draw(LaneStreams(7, ARMS, range(BLOCK, 2 * BLOCK)), BLOCK))


def test_hits_of_tuples_belong_to_blocks_too():
    """Also where the lanes of another block are ended early, and a tuple is drawn in pieces for their sake."""
    means = np.full((2 * BLOCK, ARMS), 0.3)
    means[:BLOCK] = 0.999
    order, times = np.tile(np.arange(ARMS), (2 * BLOCK, 1)), np.full(2 * BLOCK, 100)
    together = CoinFlips(means, LaneStreams(7, ARMS, range(2 * BLOCK))).hits(order, times)
    alone = CoinFlips(means[BLOCK:], LaneStreams(7, ARMS, range(BLOCK, 2 * BLOCK))).hits(order[BLOCK:], times[BLOCK:])
    assert np.array_equal(together[BLOCK:], alone)


def test_policy_seeds_are_fixed_by_block_and_differ_between_lanes():
    seeds = LaneStreams(7, ARMS, range(2 * BLOCK)).policy_seeds()
    assert seeds.dtype == np.uint64
    assert np.unique(seeds).size == 2 * BLOCK
    assert np.array_equal(seeds[BLOCK:], LaneStreams(7, ARMS, range(BLOCK, 2 * BLOCK)).policy_seeds())


def test_opening_policy_seeds_does_not_move_the_answers():
    seeded, plain = LaneStreams(7, ARMS, range(5)), LaneStreams(7, ARMS, range(5))
    seeded.policy_seeds()
    assert np.array_equal(draw(seeded, 5), draw(plain, 5))


def test_a_seed_sequence_stands_for_itself_and_its_children_are_other_seeds():
    root = np.random.SeedSequence(7)
    drawn = draw(LaneStreams(root, ARMS, range(5)), 5)
    assert np.array_equal(drawn, draw(LaneStreams(7, ARMS, range(5)), 5))
    assert not np.array_equal(drawn, draw(LaneStreams(root.spawn(1)[0], ARMS, range(5)), 5))


def test_streams_start_at_a_whole_block():
    with pytest.raises(AssertionError, match=f"lane 1 is not the first of a block of {BLOCK}"):
        LaneStreams(7, ARMS, range(1, 10))


def test_runs_cut_by_max_plays_do_not_depend_on_the_memory_limit():
    wide, narrow = (
        lb.simulate(
            [0.1, 0.2, 0.05], lb.LilUCB(delta=0.1), trials=2 * 1024, seed=1, max_plays=1000, memory_limit=bytes_
        )
        for bytes_ in (2**26, 1)
    )
    assert np.array_equal(wide.samples, narrow.samples)
