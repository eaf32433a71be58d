"""How far to trust the pixels around: the mixture, how well its parts fit, and what is learnt from examples.

What is learnt of whole images is in test_borrowing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from linkedbandits.lidar.trusting import (
    AGREE,
    BETWEEN,
    DIFFER,
    SINGLE,
    USUAL_ANYWHERE,
    USUAL_APART,
    USUAL_COUNTS,
    USUAL_SHARES,
    WIDTHS,
    Examples,
    Trust,
    learn,
)

BINS, MANY = 200, 600
KIND = np.array([SINGLE, SINGLE, BETWEEN])


def some_trust():
    shares = np.random.default_rng(1).random((2, WIDTHS.size))
    return Trust(0.3, 0.7 * shares / shares.sum())


def total(trust):
    return trust.anywhere + trust.shares.sum()


def examples_of(target, around, sure=1.0):
    """Pixels with two neighbours that face each other, at these depths; all as bright."""
    pixels = len(target)
    depth = np.concatenate([around, around.mean(axis=1, keepdims=True)], axis=1)
    return Examples(
        target=np.asarray(target, dtype=float),
        sure=np.full(pixels, sure),
        depth=depth,
        weight=np.ones(depth.shape),
        reliable=np.ones(depth.shape),
        brighter=np.zeros(depth.shape),
        kind=KIND,
    )


def test_before_anything_was_learnt_there_is_what_is_usual():
    usual = Trust.usual()
    assert usual.anywhere == USUAL_ANYWHERE
    assert total(usual) == pytest.approx(1)
    assert usual.shares[SINGLE] == pytest.approx(usual.shares[BETWEEN])
    assert usual.shares[SINGLE] / usual.shares[SINGLE].sum() == pytest.approx(USUAL_SHARES)


def test_at_another_spacing_widths_are_halved_or_doubled():
    trust = some_trust()
    nearer, farther = trust.at_half_the_spacing(), trust.at_twice_the_spacing()
    assert nearer.shares[:, 0] == pytest.approx(trust.shares[:, 0] + trust.shares[:, 1])
    assert nearer.shares[:, 1:-1] == pytest.approx(trust.shares[:, 2:])
    assert not nearer.shares[:, -1].any()
    assert farther.shares[:, -1] == pytest.approx(trust.shares[:, -1] + trust.shares[:, -2])
    assert farther.shares[:, 1:-1] == pytest.approx(trust.shares[:, :-2])
    assert not farther.shares[:, 0].any()
    for each in (nearer, farther):
        assert total(each) == pytest.approx(1)
        assert each.anywhere == trust.anywhere
    back = Trust.usual().at_twice_the_spacing().at_half_the_spacing()
    assert back.shares == pytest.approx(Trust.usual().shares)


def test_no_less_than_this_is_spread_over_all_depths():
    trust = some_trust()
    assert trust.at_least(0.3) is trust
    raised = trust.at_least(0.5)
    assert raised.anywhere == 0.5
    assert total(raised) == pytest.approx(1)
    assert raised.shares / trust.shares == pytest.approx(np.full(trust.shares.shape, 5 / 7))


def test_a_sure_pixel_fits_each_part_by_how_far_it_is_away():
    examples = examples_of([50.0], np.array([[48.0, 55.0]]))
    (fits,) = examples.fits(BINS, examples.of_all(BINS), USUAL_APART, USUAL_APART)

    def laplace(away):
        return BINS * np.exp(-away / WIDTHS) / (2 * WIDTHS)

    single, between = fits[1:].reshape(2, WIDTHS.size)
    assert fits[0] == pytest.approx(BINS * examples.of_all(BINS)[0])
    assert single == pytest.approx((laplace(2.0) + laplace(5.0)) / 2)
    assert between == pytest.approx(laplace(1.5))


def test_neighbours_that_are_not_reliable_speak_for_no_depth():
    examples = replace(examples_of([50.0], np.array([[50.0, 50.0]])), reliable=np.zeros((1, 3)))
    (fits,) = examples.fits(BINS, examples.of_all(BINS), USUAL_APART, USUAL_APART)
    assert fits[1:] == pytest.approx(np.ones(2 * WIDTHS.size))


def test_where_no_two_face_each_other_single_neighbours_stand_in():
    examples = replace(examples_of([50.0], np.array([[48.0, 90.0]])), weight=np.array([[1.0, 0.0, 0.0]]))
    single, between = examples.fits(BINS, examples.of_all(BINS), USUAL_APART, USUAL_APART)[0, 1:].reshape(
        2, WIDTHS.size
    )
    assert between == pytest.approx(single)


def test_a_pixel_that_knows_nothing_is_judged_by_its_signal():
    """How far apart signals are is likelier on one surface, or on two, by both laws."""
    examples = replace(examples_of([0.0], np.array([[48.0, 55.0]]), sure=0.0), brighter=np.full((1, 3), 2.0))
    (fits,) = examples.fits(BINS, examples.of_all(BINS), 0.5, 4.0)
    assert fits[0] == pytest.approx(np.exp(-2 / 4.0) / 8)
    assert fits[1:] == pytest.approx(np.full(2 * WIDTHS.size, np.exp(-2 / 0.5)))


def test_the_density_of_the_whole_image_is_high_where_pixels_crowd():
    target = np.concatenate([np.full(90, 60.5), np.full(10, 150.5)])
    density = examples_of(target, np.zeros((100, 2))).of_all(BINS)
    assert density[0] > 5 * density[-1] > 0
    every = np.arange(BINS) + 0.5
    flat = examples_of(every, np.zeros((BINS, 2))).of_all(BINS)
    assert flat.sum() == pytest.approx(1)
    unsure = examples_of(every, np.zeros((BINS, 2)), sure=0.0).of_all(BINS)
    assert unsure == pytest.approx(flat)  # what is usual, which is spread evenly
    assert examples_of([-3.0, 500.0], np.zeros((2, 2))).of_all(BINS) == pytest.approx(
        examples_of([0.0, BINS - 1.0], np.zeros((2, 2))).of_all(BINS)
    )


def test_how_far_apart_signals_are_on_one_surface_and_on_two():
    examples = examples_of(np.zeros(MANY), np.zeros((MANY, 2)))
    on_one = (np.arange(MANY) % 3 == 0) * 1.0
    apart = np.where(on_one, 0.2, 3.0)[:, np.newaxis] * np.array([1.0, -1.0, 50.0])  # what lies between says nothing
    same, other = replace(examples, brighter=apart).apart(on_one)
    count = MANY / 3
    assert same == pytest.approx((USUAL_COUNTS * USUAL_APART + 0.2 * count) / (USUAL_COUNTS + count))
    assert other == pytest.approx((USUAL_COUNTS * USUAL_APART + 3.0 * 2 * count) / (USUAL_COUNTS + 2 * count))
    nothing = replace(examples, brighter=apart, sure=np.zeros(MANY)).apart(on_one)
    assert nothing == pytest.approx((USUAL_APART, USUAL_APART))


def smooth(count=MANY, seed=2):
    generator = np.random.default_rng(seed)
    wall = generator.uniform(20, 180, count)
    return examples_of(wall, wall[:, np.newaxis] + generator.normal(0, 0.5, (count, 2)))


def shuffled(count=MANY, seed=3):
    generator = np.random.default_rng(seed)
    return examples_of(generator.uniform(0, BINS, count), generator.uniform(0, BINS, (count, 2)))


def test_on_smooth_examples_neighbours_are_trusted_closely():
    trust = learn(smooth(), BINS, np.full(MANY, AGREE))[AGREE]
    assert trust.anywhere < 0.03
    assert trust.shares[:, WIDTHS <= 1.5].sum() > 0.85
    assert total(trust) == pytest.approx(1)


def test_on_shuffled_examples_they_are_not():
    trust = learn(shuffled(), BINS, np.full(MANY, DIFFER))[DIFFER]
    assert trust.anywhere > 0.7
    assert total(trust) == pytest.approx(1)


def test_half_and_half_each_group_learns_for_itself_and_without_groups_the_mean():
    one, other = smooth(), shuffled()
    both = Examples(
        *(
            np.concatenate([getattr(one, name), getattr(other, name)])
            for name in ("target", "sure", "depth", "weight", "reliable", "brighter")
        ),
        kind=KIND,
    )
    groups = np.repeat([AGREE, DIFFER], MANY)
    agree, differ = (trust.anywhere for trust in learn(both, BINS, groups))
    assert agree < 0.05
    assert differ > 0.75
    mixed = learn(both, BINS, np.tile([AGREE, DIFFER], MANY))
    for trust in mixed:
        assert 0.3 < trust.anywhere < 0.6


def test_who_knows_nothing_is_told_apart_by_signals_if_those_of_sure_pixels_tell():
    """Sure pixels are as bright as those around them on a wall, and not elsewhere: so are those that are not sure."""
    parts = smooth(), shuffled(), examples_of(np.zeros(MANY), np.full((MANY, 2), 50.0), sure=0.0)
    whole = Examples(
        *(
            np.concatenate([getattr(each, name) for each in parts])
            for name in ("target", "sure", "depth", "weight", "reliable", "brighter")
        ),
        kind=KIND,
    )
    of_unsure = np.repeat([AGREE, AGREE, DIFFER], MANY)

    def anywhere(apart):
        brighter = np.repeat([0.0, 2.0, apart], MANY)[:, np.newaxis] * np.ones(3)
        return learn(replace(whole, brighter=brighter), BINS, of_unsure)[DIFFER].anywhere

    assert anywhere(2.0) > anywhere(0.0) + 0.3


def test_from_no_examples_what_is_usual_is_learnt():
    for trust in learn(smooth(0), BINS, np.zeros(0, dtype=np.int64)):
        assert trust.anywhere == pytest.approx(USUAL_ANYWHERE)
        assert trust.at_half_the_spacing().shares == pytest.approx(Trust.usual().shares)
