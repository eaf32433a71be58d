"""What a pixel expects from those around it: passes, priors, and what a prior must not depend on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkedbandits.errors import InvalidParameter
from linkedbandits.lidar import borrowing, trusting
from linkedbandits.lidar.borrowing import COARSEST, Around, Known, Pass, around, learn_from, passes
from linkedbandits.lidar.trusting import AGREE, BETWEEN, DIFFER, LEAST_ANYWHERE, SINGLE, USUAL_ANYWHERE, WIDTHS, Trust
from tests.support.around import said_around

SHAPES = st.tuples(st.integers(1, 11), st.integers(1, 11))
BINS = 40


def random_known(shape, seed):
    """Found of every pixel: some surely, some hardly, some not at all."""
    rng = np.random.default_rng(seed)
    count = shape[0] * shape[1]
    sure = rng.choice([0.0, 0.3, 1.0], count)
    depth, signal, background = (rng.uniform(*ends, count) for ends in ((0, BINS), (0.1, 3), (0.01, 0.2)))
    return Known(shape, depth, sure, signal, background, 0.9 * sure, np.ones(count, dtype=bool))


def expected_of(known, some, signal=0.5, background=0.05):
    return around(known, some, signal, background, BINS).expected(BINS)


def found_in(known, pixels):
    """What is known after just these pixels were measured."""
    measured = np.isin(np.arange(known.depth.size), pixels)
    alone = np.where(measured, known.alone, 0.0)
    return replace(known, sure=np.where(measured, known.sure, 0.0), alone=alone, measured=measured)


@given(SHAPES, st.sampled_from([1, 2, 4, 8]))
def test_every_pixel_is_in_one_pass(shape, coarsest):
    found = passes(shape, coarsest)
    assert sorted(np.concatenate([each.pixels for each in found]).tolist()) == list(range(shape[0] * shape[1]))
    assert found[0].spacing == coarsest
    assert [each.spacing for each in found] == sorted((each.spacing for each in found), reverse=True)
    for each in found:
        row, column = np.divmod(each.pixels, shape[1])
        assert (row % each.spacing == 0).all()
        assert (column % each.spacing == 0).all()


def test_the_first_pass_is_coarse_and_the_last_has_most_pixels():
    found = passes((64, 64))
    assert [each.spacing for each in found] == [4, 2, 1]
    assert [each.pixels.size for each in found] == [256, 768, 3072]
    assert COARSEST == 4


@given(SHAPES, st.integers(0, 1000))
def test_what_is_expected_of_a_pixel_does_not_depend_on_its_own_pass_nor_on_later_ones(shape, seed):
    """Change what was found of any of them, itself included, and nothing changes: the guarantee rests on it.

    A frame makes what is expected of a pass before it acquires any pixel of it; so they are not sure of anything yet.
    """
    known, other = random_known(shape, seed), random_known(shape, seed + 1)
    order = passes(shape)
    before = np.empty(0, dtype=np.int64)
    for some in order:
        changed = Known(
            shape,
            *(
                np.where(np.isin(np.arange(known.depth.size), before), one, another)
                for one, another in zip(
                    (known.depth, known.sure, known.signal, known.background, known.alone, known.measured),
                    (other.depth, other.sure, other.signal, other.background, other.alone, other.measured),
                    strict=True,
                )
            ),
        )
        one, another = (expected_of(found_in(each, before), some) for each in (known, changed))
        assert np.array_equal(one.log_prior, another.log_prior)
        assert np.array_equal(one.signal, another.signal)
        assert np.array_equal(one.background, another.background)
        before = np.concatenate([before, some.pixels])


@given(SHAPES, st.integers(0, 1000))
def test_weights_add_up_to_one_and_every_depth_keeps_some(shape, seed):
    known = random_known(shape, seed)
    for some in passes(shape):
        expected = expected_of(known, some)
        weight = np.exp(expected.log_prior)
        assert weight.sum(axis=1) == pytest.approx(1)
        # What is spread around a depth may lie beyond the range in part; that is shared out again.
        assert weight.min() >= 0.99 * LEAST_ANYWHERE / BINS
        assert (expected.signal > 0).all()
        assert (expected.background > 0).all()


def test_without_anything_found_all_depths_are_alike_and_the_rest_is_as_given():
    expected = expected_of(Known.nothing((4, 4)), Pass(1, np.arange(16)))
    assert expected.log_prior == pytest.approx(-np.log(BINS))
    assert expected.signal.tolist() == [0.5] * 16
    assert expected.background.tolist() == [0.05] * 16


def plane(shape, depth, sure=1.0):
    count = shape[0] * shape[1]
    row, column = np.indices(shape)
    return Known(
        shape,
        depth(row, column).reshape(-1).astype(float),
        np.full(count, sure),
        np.full(count, 2.0),
        np.full(count, 0.1),
        np.full(count, sure),
        np.ones(count, dtype=bool),
    )


def test_on_a_surface_the_depth_around_is_expected():
    known = plane((9, 9), lambda row, column: np.full(row.shape, 17.4))
    for some in passes((9, 9))[1:]:
        expected = expected_of(known, some)
        weight = np.exp(expected.log_prior)
        assert (weight.argmax(axis=1) == 17).all()
        assert weight[:, 15:20].sum(axis=1).min() > 0.4
        assert expected.signal == pytest.approx(2.0, rel=1e-6)
        assert expected.background == pytest.approx(0.1, rel=1e-6)


def test_on_a_slant_the_depth_between_two_that_face_each_other_is_expected():
    """Three bins a pixel, so that no neighbour itself has the depth between them."""
    known = plane((9, 9), lambda row, column: 3.0 * column + 5.5)
    (last,) = (each for each in passes((9, 9)) if each.spacing == 1)
    between = [pixel for pixel in last.pixels if pixel % 9 % 2 == 1 and pixel // 9 % 2 == 0]
    some = Pass(1, np.array(between))
    even = np.isin(np.arange(81) % 9 % 2, [0]) & np.isin(np.arange(81) // 9 % 2, [0])
    expected = expected_of(replace(known, sure=known.sure * even), some)
    truth = np.floor(known.depth[some.pixels]).astype(np.int64)
    assert (expected.log_prior.argmax(axis=1) == truth).all()


def test_across_an_edge_both_sides_are_expected_and_the_nearer_one_more():
    known = plane((9, 9), lambda row, column: np.where(column < 4, 8.5, 30.5))
    (pixel,) = expected_of(known, Pass(1, np.array([4 * 9 + 3]))).log_prior
    weight = np.exp(pixel)
    assert weight[8] > weight[30] > 5 * LEAST_ANYWHERE / BINS


def test_a_pixel_in_the_corner_has_neighbours_on_two_sides_only():
    known = plane((5, 5), lambda row, column: 4.0 * row + column + 0.5)
    weight = np.exp(expected_of(known, Pass(1, np.array([0]))).log_prior[0])
    assert {int(weight.argmax())} <= {1, 4, 5}
    wrapped = np.exp(expected_of(known, Pass(1, np.array([4]))).log_prior[0])  # no neighbour of the next row's first
    assert {int(wrapped.argmax())} <= {3, 7, 8}


def test_who_is_surer_counts_for_more():
    depth = np.array([10.5, 0.0, 30.5])
    sure, measured = np.array([1.0, 0.0, 0.3]), np.array([True, False, True])
    known = Known((1, 3), depth, sure, np.array([1.0, 9.0, 4.0]), np.array([0.1, 9.0, 0.4]), sure, measured)
    expected = expected_of(known, Pass(1, np.array([1])))
    weight = np.exp(expected.log_prior[0])
    assert weight[10] > 2 * weight[30]
    # The mean of logarithms, with the square of how sure each is.
    trust = np.array([1.0, 0.09]) / 1.09
    assert expected.signal[0] == pytest.approx(np.exp(trust @ np.log([1.0, 4.0])), rel=1e-6)
    assert expected.background[0] == pytest.approx(np.exp(trust @ np.log([0.1, 0.4])), rel=1e-6)
    swapped = expected_of(replace(known, sure=known.sure[::-1]), Pass(1, np.array([1])))
    assert np.exp(swapped.log_prior[0])[30] > 2 * np.exp(swapped.log_prior[0])[10]


def test_a_wrong_neighbour_costs_no_more_evidence_than_the_share_that_is_spread_evenly():
    """A surface that ends: the prior of the true depth is at least that share of what it would be otherwise."""
    known = plane((5, 5), lambda row, column: np.full(row.shape, 3.0))
    log_prior = expected_of(known, Pass(1, np.array([12]))).log_prior[0]
    assert -np.log(BINS) - log_prior[35] < np.log(1 / LEAST_ANYWHERE) + 0.01


SHAPE = (24, 24)


def before_the_last_pass(depth, **more):
    """Every other pixel of every other row is found, at these depths of a whole image."""
    row, column = np.indices(depth.shape)
    done = ((row % 2 == 0) & (column % 2 == 0)).reshape(-1)
    known = replace(plane(depth.shape, lambda row, column: depth), **more)
    return found_in(known, np.flatnonzero(done)), passes(depth.shape)[-1]


def rough(seed=0, scale=0.3):
    return np.random.default_rng(seed).normal(0, scale, SHAPE)


def test_on_a_wall_nearly_all_weight_is_close_to_those_around():
    known, last = before_the_last_pass(20.0 + rough())
    for trust in learn_from(known, last, BINS):
        assert trust.anywhere < 0.06
    assert learn_from(known, last, BINS)[0].shares[:, WIDTHS <= 1.5].sum() > 0.9


def test_where_what_is_around_says_nothing_most_weight_is_spread():
    known, last = before_the_last_pass(np.random.default_rng(1).uniform(0, 200, SHAPE))
    of_those_that_differ = learn_from(known, last, 200)[1]
    assert of_those_that_differ.anywhere > 0.7
    differ = around(known, last, 0.5, 0.05, 200)
    assert differ.trust[differ.group == 1].sum(axis=1).max() < 0.3


def test_beside_a_wall_where_nothing_agrees_little_is_trusted_and_on_the_wall_much():
    """Those around a pixel of the wall agree with each other, and learn apart from the others."""
    column = np.indices(SHAPE)[1]
    anything = np.random.default_rng(2).uniform(0, 200, SHAPE)
    known, last = before_the_last_pass(np.where(column < 12, 50.0 + rough(), anything))
    wall, others = (trust.anywhere for trust in learn_from(known, last, 200))
    assert wall < 0.1
    assert others > 0.4


def test_on_a_slant_what_lies_half_way_is_trusted_most():
    column = np.indices(SHAPE)[1]
    known, last = before_the_last_pass(5.0 + 3.0 * column + rough(2))
    slant = learn_from(known, last, 200)[DIFFER].shares.sum(axis=1)
    assert slant[BETWEEN] > 0.6 > slant[SINGLE]


def test_where_all_depths_crowd_together_neighbours_have_to_do_better_than_any_other_pixels():
    """Thirty bins of two hundred, in any order: a wide spread around a neighbour would fit better than all depths."""
    known, last = before_the_last_pass(np.random.default_rng(6).uniform(80, 110, (48, 48)))
    assert learn_from(known, last, 200)[DIFFER].anywhere > 0.35


def test_who_needs_it_counts_for_more(monkeypatch):
    """Sure pixels lie on a wall; those that are not so sure lie elsewhere, and are of any shade."""
    generator = np.random.default_rng(7)
    unsure = generator.random(SHAPE) < 0.2
    depth = np.where(unsure, generator.uniform(0, 200, SHAPE), 50.0 + rough())
    alone = np.where(unsure, 0.8, 1.0).reshape(-1)
    signal = np.where(unsure, np.exp(generator.normal(0, 2, SHAPE)), 2.0).reshape(-1)
    known, last = before_the_last_pass(depth, sure=alone, alone=alone, signal=signal)
    by_need = learn_from(known, last, 200)[AGREE].anywhere
    monkeypatch.setattr(trusting, "LEAST_NEED", 1.0)
    assert by_need > learn_from(known, last, 200)[AGREE].anywhere + 0.1


def test_however_smooth_a_wall_is_some_weight_is_spread():
    known, last = before_the_last_pass(np.full((48, 48), 20.3))
    assert [trust.anywhere for trust in learn_from(known, last, 200)][AGREE] == LEAST_ANYWHERE


def test_who_is_less_sure_is_trusted_less_also_where_nobody_is_surer():
    known, last = before_the_last_pass(20.0 + rough())
    half = replace(known, sure=0.5 * known.sure)
    one, other = (around(each, last, 0.5, 0.05, BINS).trust.sum(axis=1) for each in (known, half))
    assert (other < 0.55 * one).all()


def test_an_image_of_a_few_pixels_has_what_is_usual():
    for some in passes((3, 2))[1:]:
        for trust in learn_from(found_in(random_known((3, 2), 0), [0]), some, BINS):
            assert trust.anywhere == pytest.approx(USUAL_ANYWHERE)
            assert trust.shares == pytest.approx(Trust.usual().shares)


def test_where_signals_tell_things_apart_what_is_too_dim_to_be_found_is_not_what_was_found_next_to_it():
    """Twigs before a wall, some too dim to be found; and the wall is of one shade, or of all.

    In the first case who is dimmer than the wall is no wall, as the brighter twigs show, and must not be told so.
    """
    column = np.indices((48, 48))[1] // 2
    twig, dim = column % 8 == 3, column % 8 == 6
    depth = np.where(twig | dim, 120.0, 50.0)
    sure = np.where(dim, 0.0, 1.0).reshape(-1)

    def anywhere(wall):
        signal = np.where(twig, 0.3, wall).reshape(-1) * sure
        known, last = before_the_last_pass(depth, sure=sure, alone=sure, signal=signal)
        return learn_from(known, last, 200)[AGREE].anywhere

    shades = 2.0 * np.exp(np.random.default_rng(3).uniform(-2, 2, depth.shape))
    assert anywhere(np.full(depth.shape, 2.0)) > anywhere(shades) + 0.1


def test_what_those_around_said_is_taken_out_again():
    """By Bayes's rule: with the weights of Around for a prior, and with all bins alike."""
    known, last = before_the_last_pass(20.0 + rough())
    these = around(known, last, 0.5, 0.05, BINS).take(slice(0, 40))
    prior = np.exp(these.expected(BINS).log_prior)
    place = np.random.default_rng(5).choice([20, 30], 40)
    near = np.abs(np.arange(BINS) - place[:, np.newaxis]) <= 1
    likelihood = np.where(near, 60.0, 1.0)

    def share(prior):
        return (prior * likelihood * near).sum(axis=1) / (prior * likelihood).sum(axis=1)

    alone = these.taken_out(place + 0.5, share(prior), 1.0, BINS)
    assert alone == pytest.approx(share(np.full((40, BINS), 1 / BINS)), abs=0.05)
    assert (np.abs(share(prior) - alone) > 0.1).all()  # it makes a difference, both ways
    told = these.taken_out(place + 0.5, np.ones(40), 1.0, BINS)
    assert told == pytest.approx(1.0, abs=1e-3)


def test_what_is_known_of_a_pass_is_written_down_and_nothing_else():
    known = Known.nothing((1, 4))
    some = Pass(1, np.array([1, 3]))
    known.put(some, None, np.array([7.0, np.nan]), np.array([0.8, 0.9]), np.ones(2), np.ones(2), 1.0, BINS)
    assert known.measured.tolist() == [False, True, False, True]
    assert known.sure.tolist() == known.alone.tolist() == [0.0, 0.8, 0.0, 0.0]
    assert known.depth.tolist() == [0.0, 7.0, 0.0, 0.0]


def test_a_pixel_takes_what_its_group_has_learnt():
    shares = np.zeros((2, 1, WIDTHS.size))
    shares[0, 0, 0] = shares[1, 0, -1] = 1.0
    depth, trust = np.full((2, 1), 20.5), np.full((2, 1), 0.9)
    these = Around(depth, trust, np.ones(2), np.ones(2), np.array([0, 1]), shares, WIDTHS)
    close, wide = np.exp(these.expected(BINS).log_prior)
    assert close[20] > 5 * wide[20]
    assert np.array_equal(np.exp(these.take(np.array([1])).expected(BINS).log_prior[0]), wide)


def test_examples_lie_in_rows_and_columns_and_amid_corners(monkeypatch):
    """Of the pixel amid nine that are two apart, whose depths tell which is which: 0 to 8."""
    taken = []
    monkeypatch.setattr(borrowing, "learn", lambda examples, *_: taken.append(examples) or [Trust.usual()] * 2)
    known = Known.nothing((5, 5))
    nine = Pass(2, np.flatnonzero(np.add.outer(np.arange(5) % 2, np.arange(5) % 2) == 0))
    ones = np.ones(9)
    known.put(nine, None, np.arange(9.0), ones, ones, ones, tolerance=1.0, bins=20)
    learn_from(known, Pass(1, np.arange(0)), 20)
    (examples,) = taken
    amid = examples.target == 4
    seen = {kind: examples.depth[amid][:, examples.kind == kind].tolist() for kind in (SINGLE, BETWEEN)}
    assert sorted(map(sorted, map(set, seen[SINGLE]))) == [[0, 2, 6, 8], [1, 7], [3, 5]]
    assert seen[BETWEEN] == [[4, 4]] * 3
    assert (examples.weight[amid] > 0).all()
    for row in seen[SINGLE]:
        assert len({row.count(depth) for depth in row}) == 1  # none counts for more than the others


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"depth": np.full((3, 4), np.nan)}, "no number"),
        ({"background": np.array([0.1, np.nan, 0.1])}, "no number"),
        ({"trust": np.full((3, 4), 0.3)}, "more than one"),
        ({"trust": np.full((3, 4), -0.1)}, "less than none"),
        ({"group": np.array([0, 1, 2])}, "not among the 2"),
        ({"signal": np.ones(4)}, "for every pixel"),
        ({"shares": np.full((2, 3, 2), 0.5)}, "for every width"),
    ],
)
def test_what_a_guarantee_cannot_rest_on_is_refused(wrong, said):
    right = said_around(np.array([5.0, 20.0, 30.0]))
    right.check()
    with pytest.raises(InvalidParameter, match=said):
        replace(right, **wrong).check()
