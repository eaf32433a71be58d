"""Limits for a share that are never too narrow."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from linkedbandits.intervals import (
    LATE_ENOUGH,
    LEANS,
    LOG_SHARES,
    RunningMean,
    anytime_interval,
    anytime_intervals,
    asymptotic_mean_interval,
    bounded_mean_interval,
    share_interval,
)


@pytest.mark.parametrize(("count", "total"), [(0, 10), (1, 10), (5, 10), (10, 10), (3, 1000), (999, 1000)])
@pytest.mark.parametrize("confidence", [0.95, 0.999])
def test_limits_are_those_of_clopper_and_pearson(count, total, confidence):
    reference = binomtest(count, total).proportion_ci(confidence, method="exact")
    assert share_interval(count, total, confidence) == pytest.approx((reference.low, reference.high), abs=1e-12)


def test_limits_include_the_ends_where_nothing_or_everything_counted():
    assert share_interval(0, 50)[0] == 0.0
    assert share_interval(50, 50)[1] == 1.0


@pytest.mark.parametrize("total", [1, 7, 40])
def test_limits_cover_every_true_share_at_least_as_often_as_they_say(total):
    counts = np.arange(total + 1)
    low, high = np.array([share_interval(int(count), total) for count in counts]).T
    for share in np.linspace(0, 1, 201):
        covered = (low <= share) & (share <= high)
        assert binom.pmf(counts, total, share)[covered].sum() >= 0.95


@pytest.mark.statistical
def test_limits_hold_at_all_times_together():
    """500 rows of 400 coins: at some time outside in at most 5 %; five standard errors more are allowed."""
    rng = np.random.default_rng(7)
    outside = 0
    for _ in range(500):
        successes = 0
        sums = np.cumsum(rng.random(400) < 0.3)
        looks = np.unique(np.geomspace(1, 400, 15).astype(int))
        for samples in looks:
            successes = int(sums[samples - 1])
            low, high = anytime_interval(successes, int(samples))
            if not low <= 0.3 <= high:
                outside += 1
                break
    assert 0 < outside / 500 <= 0.05 + 5 * np.sqrt(0.05 * 0.95 / 500)


@pytest.mark.parametrize(("successes", "samples"), [(0, 5), (5, 5), (1, 10**6), (10**6 - 1, 10**6), (3, 9)])
def test_limits_are_where_the_likelihood_is_a_twentieth_of_its_average(successes, samples):
    from scipy.special import betaln, xlog1py, xlogy

    low, high = anytime_interval(successes, samples)
    for limit in (low, high):
        if 0 < limit < 1:
            likelihood = xlogy(successes, limit) + xlog1py(samples - successes, -limit)
            average = betaln(successes + 1, samples - successes + 1)
            assert average - likelihood == pytest.approx(math.log(20), rel=2e-3)
    assert low <= successes / samples <= high


def test_many_limits_at_once_are_those_of_each():
    samples = np.array([0, 1, 7, 7, 7, 10**9, 10**9])
    successes = np.array([0, 1, 0, 3, 7, 1, 10**9 - 1])
    low, high = anytime_intervals(successes, samples)
    each = [anytime_interval(int(won), int(seen)) for won, seen in zip(successes, samples, strict=True)]
    for limits, alone in zip(zip(low.tolist(), high.tolist(), strict=True), each, strict=True):
        assert limits == pytest.approx(alone, rel=1e-6)
    assert low[5] == pytest.approx(1 - high[6], rel=1e-6)
    assert (low <= high).all()


def test_the_inequality_behind_the_limits_of_bounded_means():
    away = np.linspace(-1, 1, 2001)[:, np.newaxis]
    assert (np.exp(LEANS * away + (np.log1p(-LEANS) + LEANS) * away**2) <= 1 + LEANS * away + 1e-12).all()
    assert np.exp(LOG_SHARES).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("numbers", [[0.0, 1.0], [0.2, 0.9], [0.0, 0.0, 0.0, 1.0], [0.5, 0.5]])
@pytest.mark.parametrize("above", [True, False])
def test_on_all_paths_the_capital_against_the_true_mean_does_not_grow(numbers, above):
    """Exactly: all rows of up to six numbers, with the predictions and the sums that run."""
    mean = float(np.mean(numbers))

    def capital(kept: RunningMean) -> float:
        off = kept.total - kept.count * mean
        return float(
            np.exp(LOG_SHARES + LEANS * (off if above else -off) + (np.log1p(-LEANS) + LEANS) * kept.squares).sum()
        )

    def follow(kept: RunningMean, left: int) -> None:
        if left == 0:
            return
        expected = 0.0
        for number in numbers:
            after = RunningMean(1.0, kept.count, kept.total, kept.squares)
            after.add(number)
            expected += capital(after) / len(numbers)
            follow(after, left - 1)
        assert expected <= capital(kept) * (1 + 1e-12)

    follow(RunningMean(most=1.0), 6 if len(numbers) == 2 else 4)


def test_limits_of_a_bounded_mean_are_where_the_capital_is_enough():
    low, high = bounded_mean_interval(1000, 300.0, 40.0, confidence=0.9)
    for limit, sign in ((low, 1), (high, -1)):
        lean = sign * LEANS * (300.0 - 1000 * limit)
        capital = np.exp(LOG_SHARES + lean + (np.log1p(-LEANS) + LEANS) * 40.0).sum()
        assert capital == pytest.approx(20.0)


def row_of_limits(drawn: np.ndarray, looks: np.ndarray, most: float | None):
    kept = RunningMean(most)
    for number, value in enumerate(drawn, start=1):
        kept.add(float(value))
        if number in looks:
            yield kept.interval()


LOOKS = {int(look) for look in np.geomspace(5, 2000, 12)}


@pytest.mark.statistical
@pytest.mark.parametrize("shape", [(0.2, 0.8), (2.0, 6.0)])
def test_limits_of_a_bounded_mean_hold_at_all_times_together(shape):
    """150 rows of 2,000: outside at some time in at most 5 %. Correct code has more than 12 % with probability 0.001.

    Limits of two sevenths of the width would be outside in more than a fifth of them.
    """
    rng = np.random.default_rng(11)
    mean = shape[0] / sum(shape)
    outside, outside_half, widths = 0, 0, []
    for _ in range(150):
        rows = list(row_of_limits(3.0 * rng.beta(*shape, 2000), LOOKS, most=3.0))
        outside += any(not low <= 3.0 * mean <= high for low, high in rows)
        outside_half += any(abs((low + high) / 2 - 3.0 * mean) > (high - low) / 7 for low, high in rows)
        widths.append(rows[-1][1] - rows[-1][0])
    deviation = 3.0 * np.sqrt(shape[0] * shape[1] / sum(shape) ** 2 / (sum(shape) + 1))
    assert outside / 150 <= 0.12
    assert outside_half / 150 > 0.2
    assert np.mean(widths) < 2 * 4.5 * deviation / np.sqrt(2000)  # and they are no wider than they have to be


@pytest.mark.statistical
def test_limits_without_a_bound_hold_for_those_who_begin_late_enough():
    """200 rows of skewed numbers, looked at from the 100th on: outside in at most 5 % or so; 12 % are allowed."""
    rng = np.random.default_rng(13)
    outside = outside_third = 0
    for _ in range(200):
        drawn = rng.exponential(2.0, 3000)
        limits = [
            asymptotic_mean_interval(n, float(drawn[:n].sum()), float(((drawn[:n] - drawn[:n].mean()) ** 2).sum()))
            for n in np.geomspace(100, 3000, 12).astype(int)
        ]
        outside += any(not low <= 2.0 <= high for low, high in limits)
        outside_third += any(abs((low + high) / 2 - 2.0) > (high - low) / 6 for low, high in limits)
    assert outside / 200 <= 0.12
    assert outside_third / 200 > 0.2


def test_a_running_mean_keeps_sums_alone():
    rng = np.random.default_rng(5)
    drawn = 1e6 + rng.random(500)  # far from 0, where sums of squares would lose digits
    kept, bounded = RunningMean(), RunningMean(most=1e6 + 0.5)
    for number in drawn.tolist():
        kept.add(number)
        bounded.add(number)
    assert kept.mean == pytest.approx(drawn.mean())
    assert kept.squares == pytest.approx(((drawn - drawn.mean()) ** 2).sum(), rel=1e-6)
    assert bounded.mean == pytest.approx(np.minimum(drawn, 1e6 + 0.5).mean())


numbers_from_0_to_2 = st.lists(st.floats(0.0, 2.0), max_size=30)


def kept_of(numbers: Iterable[float], most: float | None) -> RunningMean:
    kept = RunningMean(most)
    for number in numbers:
        kept.add(number)
    return kept


@given(numbers_from_0_to_2, st.integers(0, 30))
def test_any_two_parts_without_a_bound_come_to_what_all_come_to(numbers, cut):
    merged = kept_of(numbers[:cut], None).merged(kept_of(numbers[cut:], None))
    whole = kept_of(numbers, None)
    assert (merged.most, merged.count) == (None, len(numbers))
    assert merged.total == pytest.approx(whole.total, abs=1e-9)
    assert merged.squares == pytest.approx(whole.squares, abs=1e-9)


@given(numbers_from_0_to_2, st.integers(0, 30), st.sampled_from([(2.0, 2.0), (2.0, 5.0), (5.0, 2.0)]))
def test_parts_with_a_bound_add_up_and_their_squares_are_those_of_their_own_predictions(numbers, cut, most):
    one, other = kept_of(numbers[:cut], most[0]), kept_of(numbers[cut:], most[1])
    merged = one.merged(other)
    assert merged == other.merged(one) or not numbers
    assert merged.count == len(numbers)
    assert merged.total == pytest.approx(sum(numbers), abs=1e-9)
    assert merged.squares == one.squares + other.squares
    if one.count and other.count:
        assert merged.most == max(most)
        low, high = merged.interval()
        assert low <= merged.mean <= high


@given(numbers_from_0_to_2.filter(bool), numbers_from_0_to_2.filter(bool))
def test_where_one_part_has_no_bound_the_squares_are_never_less_than_those_to_the_mean(bounded, unbounded):
    merged = kept_of(bounded, 2.0).merged(kept_of(unbounded, None))
    assert merged.most is None
    assert merged.squares >= kept_of([*bounded, *unbounded], None).squares - 1e-9
    assert merged.total == pytest.approx(sum(bounded) + sum(unbounded), abs=1e-9)


@given(numbers_from_0_to_2, st.sampled_from([None, 2.0]), st.sampled_from([None, 3.0]))
def test_a_part_with_nothing_in_it_changes_nothing(numbers, most, most_of_nothing):
    kept, nothing = kept_of(numbers, most), RunningMean(most_of_nothing)
    for merged in (kept.merged(nothing), nothing.merged(kept)):
        assert merged is not kept
        if numbers:
            assert merged == kept


def merged_limits(rng: np.random.Generator, most: float | None, looks: int) -> list[tuple[float, float]]:
    """Three sources of 3 Beta(0.5, 1.5) come in rounds, of other sizes each, and are looked at after each round."""
    sources = [RunningMean(most) for _ in range(3)]
    rows = []
    for look in range(looks):
        for source, size in zip(sources, (1, 7, 20), strict=True):
            for number in 3.0 * rng.beta(0.5, 1.5, size * (look + 1)):
                source.add(float(number))
        rows.append(sources[0].merged(sources[1]).merged(sources[2]).interval())
    return rows


@pytest.mark.statistical
@pytest.mark.parametrize("most", [3.0, None])
def test_limits_of_what_several_sources_keep_hold_at_all_times_together(most):
    """120 rows of three sources: outside at some look in at most 5 %. Correct code has more than 12.5 % of them outside
    with probability 0.0004, were it as often as 5 %; asymptotic limits are looked at from the 168th number on.

    Squares that forget one source in three would make limits so narrow that more are outside; so would totals that do.
    """
    rng = np.random.default_rng(17)
    outside = third = 0
    for _ in range(120):
        rows = merged_limits(rng, most, 8)[2 if most is None else 0 :]
        outside += any(not low <= 0.75 <= high for low, high in rows)
        third += any(abs((low + high) / 2 - 0.75) > (high - low) / 6 for low, high in rows)
    assert outside / 120 <= 0.125
    assert third / 120 > 0.1


def test_limits_say_nothing_where_there_is_nothing_to_go_by():
    assert RunningMean().mean is None
    assert RunningMean().interval() is None
    assert RunningMean(most=2.0).interval() == (0.0, 2.0)
    alone = RunningMean()
    alone.add(1.0)
    assert alone.interval() is None
    for _ in range(LATE_ENOUGH - 1):
        alone.add(1.0)
    assert alone.interval() == (1.0, 1.0)
