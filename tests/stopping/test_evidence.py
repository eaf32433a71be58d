"""The evidence rule: its mean under the null by exact enumeration, and what an invalid variant would look like."""

from __future__ import annotations

import copy
from decimal import Decimal, localcontext
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from linkedbandits.bounds.divergence import kl
from linkedbandits.model import Counts
from linkedbandits.policies.linked_elimination import LinkedElimination, _log_factors, shares_of_capital
from linkedbandits.stopping.evidence import grow, place_bets, reserve

ROUNDING = 1e-9


def outcomes(n_i: int, n_c: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of success counts of a block."""
    return np.meshgrid(np.arange(n_i + 1.0), np.arange(n_c + 1.0), indexing="ij")


def log_factor(bets, x_i, x_c) -> np.ndarray:
    """What the bets bring, by the very lines that settle them in a run: a lane an outcome, with one pair in it."""
    own, rival, sure = (part.reshape(-1, 1, 1, 1) for part in (bets.own, bets.rival, bets.sure))
    entries, brought = _log_factors(own, rival, sure, x_i.reshape(-1, 1), x_c.reshape(-1, 1))
    value = np.zeros(own.size)  # where nothing is bet, nothing is won or lost
    value[entries] = brought[:, 0]
    return value.reshape(bets.own.shape)


def mean_factor(n_i, n_c, mu_i, mu_c, p_i, p_c, shift=0.0, slope=1.0) -> float:
    """The factor's mean over all outcomes of a block; ``p_i`` and ``p_c`` may depend on the outcome."""
    x_i, x_c = outcomes(n_i, n_c)
    p_i, p_c = (p(x_i, x_c) if callable(p) else np.full(x_i.shape, p) for p in (p_i, p_c))
    slopes = None if slope == 1 else np.full(x_i.shape, slope)
    bets = place_bets(p_i, p_c, np.full(x_i.shape, float(n_i)), np.full(x_i.shape, float(n_c)), shift, slopes)
    factor = np.where(p_i < slope * p_c + shift, np.exp(log_factor(bets, x_i, x_c)), 1.0)
    return float((binom.pmf(x_i, n_i, mu_i) * binom.pmf(x_c, n_c, mu_c) * factor).sum())


GRID = (0.0, 0.02, 0.1, 0.3, 0.5, 0.8, 0.97, 1.0)


@pytest.mark.parametrize(("n_i", "n_c"), [(1, 1), (3, 1), (1, 4), (4, 4), (2, 7)])
def test_the_mean_is_at_most_one_for_every_null_and_every_prediction(n_i, n_c):
    predictions = [p for p in GRID if 0 < p < 1]
    for (p_i, p_c), (mu_c, mu_i) in product(product(predictions, repeat=2), product(GRID, repeat=2)):
        if p_i < p_c and mu_c <= mu_i:
            assert mean_factor(n_i, n_c, mu_i, mu_c, p_i, p_c) <= 1 + ROUNDING


chance = st.floats(0.001, 0.999)


@given(st.integers(1, 6), st.integers(1, 6), chance, chance, chance, chance, st.sampled_from([0.0, 0.01, 0.1, 0.4]))
def test_the_mean_is_at_most_one_with_a_shift_too(n_i, n_c, one, other, p_i, p_c, shift):
    mu_c = min(one, other) * (1 - shift)
    mu_i = min(1.0, mu_c + shift + abs(one - other) * (1 - mu_c - shift))
    if p_i < p_c + shift:
        assert mean_factor(n_i, n_c, mu_i, mu_c, p_i, p_c, shift) <= 1 + ROUNDING


@pytest.mark.parametrize("slope", [0.01, 0.4, 1.3, 3.0, 50.0])
def test_the_mean_is_at_most_one_beyond_a_line_of_any_slope(slope):
    """On the line, to its end where one of the means is 1, and beyond it; and it is nearly 1 somewhere on the line."""
    predictions = (0.004, 0.1, 0.5, 0.97)
    end = min(1.0, 1 / slope)
    for (n_i, n_c), (p_i, p_c) in product([(1, 1), (3, 1), (2, 5)], product(predictions, repeat=2)):
        if p_i >= slope * p_c:
            continue
        on_the_line = [
            mean_factor(n_i, n_c, min(slope * mu_c, 1.0), mu_c, p_i, p_c, slope=slope)
            for mu_c in end * np.linspace(0, 1, 21)
        ]
        assert max(on_the_line) <= 1 + ROUNDING
        assert max(on_the_line) > 0.98
        beyond = [(min(slope * mu_c, 1.0), mu_c) for mu_c in end * np.array([0.0, 0.3, 0.9])]
        for mu_i, mu_c in beyond:
            higher = (mu_i + 1) / 2
            assert mean_factor(n_i, n_c, higher, mu_c, p_i, p_c, slope=slope) <= 1 + ROUNDING


@given(st.integers(1, 6), st.integers(1, 6), chance, chance, chance, chance, st.floats(-3, 3), st.floats(0, 0.9))
def test_the_mean_is_at_most_one_with_any_slope_and_shift(n_i, n_c, one, other, p_i, p_c, log_slope, shift):
    slope = 10**log_slope
    mu_c = one * min(1.0, (1 - shift) / slope)
    least = min(slope * mu_c + shift, 1.0)
    for mu_i in (least, least + other * (1 - least)):
        assert mean_factor(n_i, n_c, mu_i, mu_c, p_i, p_c, shift, slope) <= 1 + ROUNDING


def test_a_slope_of_one_is_the_same_bet_as_none():
    pair = np.array([0.2, 0.001]), np.array([0.6, 0.4]), np.array([3.0, 500.0]), np.array([7.0, 20.0])
    plain, sloped = place_bets(*pair), place_bets(*pair, slope=np.ones(2))
    for part in ("own", "rival", "sure"):
        assert getattr(sloped, part) == pytest.approx(getattr(plain, part), rel=1e-9)


@pytest.mark.parametrize("slope", [0.01, 0.4, 3.0, 50.0])
def test_right_predictions_grow_as_far_as_the_closest_point_of_the_line_is_away(slope):
    """The growth is the divergence from the closest point of the line, found here by looking at very many of them."""
    n_i, n_c = 20.0, 30.0
    place = min(1.0, 1 / slope) * np.linspace(0, 1, 20_001)[1:-1]
    for p_i, p_c in product((0.004, 0.1, 0.5, 0.97), repeat=2):
        if p_i < slope * p_c:
            bets = place_bets(*(np.array([x]) for x in (p_i, p_c, n_i, n_c)), slope=np.array([slope]))
            growth = float((bets.own * n_i * p_i + bets.rival * n_c * p_c + bets.sure)[0])
            away = n_i * kl(p_i, slope * place) + n_c * kl(p_c, place)
            assert growth == pytest.approx(away.min(), rel=1e-3)


def exact_log_factor(n_i: int, n_c: int, p_i: float, p_c: float, x_i: int, x_c: int) -> float:
    """The logarithm of the factor, with sixty digits."""
    with localcontext() as context:
        context.prec = 60
        p, c = Decimal(p_i), Decimal(p_c)
        q = (n_i * p + n_c * c) / (n_i + n_c)
        return float(
            x_c * (c / q).ln()
            + (n_c - x_c) * ((1 - c) / (1 - q)).ln()
            + x_i * (p / q).ln()
            + (n_i - x_i) * ((1 - p) / (1 - q)).ln()
        )


@given(
    st.floats(1, 18),
    st.floats(0.1, 10),
    st.floats(0.01, 0.9),
    st.floats(-3, 3),
    st.floats(-4, 4),
    st.floats(-4, 4),
)
def test_rounding_never_adds_to_the_evidence(digits, ratio, p_i, logs, high_i, high_c):
    """From ten samples to as many as a counter holds, with predictions as close as that many samples can tell."""
    n_i = int(10**digits)
    n_c = max(1, int(ratio * n_i))
    p_c = min(p_i + 10**logs / n_i**0.5, 0.99)
    if not p_i < p_c:
        return
    spread_i, spread_c = ((n * p_i * (1 - p_i)) ** 0.5 for n in (n_i, n_c))
    # Counts of more than 2**53 are floats here as they are in a run.
    x_i, x_c = (
        float(min(max(round(n * p_i + high * spread), 0), n))
        for n, high, spread in ((n_i, high_i, spread_i), (n_c, high_c, spread_c))
    )
    bets = place_bets(np.array([p_i]), np.array([p_c]), np.array([float(n_i)]), np.array([float(n_c)]))
    value = float(log_factor(bets, np.array([x_i]), np.array([x_c]))[0])
    exact = exact_log_factor(int(float(n_i)), int(float(n_c)), p_i, p_c, int(x_i), int(x_c))
    assert value <= exact + 1e-12 * (1 + abs(exact))
    assert value == pytest.approx(exact, rel=1e-4, abs=1e-4)


def test_the_mean_grows_where_the_challenger_is_better():
    assert mean_factor(4, 4, 0.2, 0.6, 0.2, 0.6) > 1.5


def mean_log_growth(p_i: float, p_c: float, n: int, shift: float) -> float:
    """Of a bet whose predictions are right."""
    bets = place_bets(np.array([p_i]), np.array([p_c]), np.array([float(n)]), np.array([float(n)]), shift)
    return float(log_factor(bets, np.array([n * p_i]), np.array([n * p_c]))[0])


@pytest.mark.parametrize("shift", [0.0, 0.03, 0.2, 0.6])
def test_right_predictions_never_lose_on_average_not_even_near_one(shift):
    for p_i, p_c in product((0.02, 0.3, 0.5, 0.9, 0.97, 0.999), repeat=2):
        if p_i < p_c + shift - 1e-9:
            assert mean_log_growth(p_i, p_c, 100, shift) > 0


def test_predictions_that_peek_at_the_block_break_the_guarantee():
    """The check above has power: estimates that use the current block push the mean far above 1."""

    def peek_own(x_i, _):
        return (x_i + 0.5) / 5

    def peek_challenger(_, x_c):
        return (x_c + 0.5) / 5

    assert mean_factor(4, 4, 0.4, 0.4, peek_own, peek_challenger) > 1.3


def test_capital_and_reserve_together_keep_their_mean():
    """Put the reserve's part in, settle the bets: over all outcomes, W = capital + reserve does not grow."""
    capital, n, mu = 0.7, 3, 0.35
    x_i, x_c = outcomes(n, n)
    ones = np.ones_like(x_i)
    bets = place_bets(0.2 * ones, 0.5 * ones, n * ones, n * ones)
    for block in (1, 2, 10):
        before = capital + reserve(block - 1)
        put_in = capital + reserve(block - 1) - reserve(block)
        after = grow(put_in * ones, log_factor(bets, x_i, x_c)) + reserve(block)
        mean = float((binom.pmf(x_i, n, mu) * binom.pmf(x_c, n, mu) * after).sum())
        assert mean <= before + ROUNDING


def test_huge_factors_do_not_overflow():
    with np.errstate(all="raise"):
        assert np.isfinite(grow(np.array([1e300]), np.array([1e4])))


def observe(policy, state, successes):
    policy.observe(state, Counts(state.needs, np.array([successes])))


def test_the_policy_bets_with_what_it_knew_before_the_block():
    """What a block brings changes predictions and bets only after the capital of that block is settled."""
    policy = LinkedElimination(delta=0.1)
    state = policy.start(1, 3, np.zeros(1, dtype=np.uint64))
    observe(policy, state, [0, 1, 0])
    placed = (state.own.copy(), state.rival.copy(), state.sure.copy())
    capital = state.capital.copy()
    brought = np.array([0, int(state.needs[0, 1]), 0])
    observe(policy, state, brought)
    expected = capital + (reserve(0) - reserve(1)) * shares_of_capital(3)
    own, rival, sure = placed
    expected = expected * np.exp(own * brought[:, np.newaxis] + rival * brought[1] + sure)
    assert state.capital[0, 0, [0, 2]] == pytest.approx(expected[0, 0, [0, 2]])
    assert not np.array_equal(placed[0], state.own)


class Peeking(LinkedElimination):
    """The invalid variant: it predicts and bets after it has seen the block."""

    def observe(self, state, counts):
        seen = copy.deepcopy(state)
        seen.samples = seen.samples + counts.samples
        seen.successes = seen.successes + counts.successes
        self._plan(seen)
        state.prediction, state.leaders = seen.prediction, seen.leaders
        self._place(state, np.take_along_axis(state.prediction, state.leaders, axis=1))
        super().observe(state, counts)


def share_of_best_arms_dropped(policy, lanes: int) -> float:
    """The share of runs that drop the first of three equal arms within 60 blocks; each of them is a best arm."""
    rng = np.random.default_rng(3)
    state = policy.start(lanes, 3, np.zeros(lanes, dtype=np.uint64))
    for _ in range(60):
        policy.observe(state, Counts(state.needs, rng.binomial(state.needs, 0.3)))
    return float((~state.still_in[:, 0]).mean())


@pytest.mark.statistical
def test_capital_against_a_best_arm_reaches_one_over_delta_at_most_delta_of_the_time():
    """By Ville's inequality, at any time. The limit allows five standard errors (false alarm below 1e-6).

    On ties the policy's careful predictions leave most of delta unused, so peeking does not show in the limit itself;
    it shows in how much more often a best arm is dropped.
    """
    delta, lanes = 0.2, 4000
    honest = share_of_best_arms_dropped(LinkedElimination(delta=delta), lanes)
    assert 0.005 < honest < delta + 5 * np.sqrt(delta * (1 - delta) / lanes)
    assert share_of_best_arms_dropped(Peeking(delta=delta), lanes) > 3 * honest


def test_a_null_point_stays_below_the_end_of_the_line():
    """A sure and much sampled challenger pulls it beyond: there the rival's null mean would be more than 1."""
    for mu_c in (0.0, 0.3, 0.6):
        assert mean_factor(1, 6, 1.5 * mu_c + 0.1, mu_c, 0.5, 0.99, shift=0.1, slope=1.5) <= 1 + ROUNDING
    bets = place_bets(*(np.array([x]) for x in (0.5, 0.99, 1.0, 60.0)), 0.1, np.array([1.5]))
    assert np.isfinite([bets.own, bets.rival, bets.sure]).all()


def exact_log_mean(bets, which: int, counts, means) -> Decimal:
    """The logarithm of a factor's mean, with many digits, from the numbers that settle it in a run."""
    own, rival, sure = (Decimal(float(part[which])) for part in (bets.own, bets.rival, bets.sure))
    (n_i, n_c), (mu_i, mu_c) = counts, means
    of_each = 1 - mu_i + mu_i * own.exp(), 1 - mu_c + mu_c * rival.exp()
    return n_i * of_each[0].ln() + n_c * of_each[1].ln() + sure


EXTREMES = (1e-15, 3e-7, 0.2, 0.7, 1 - 3e-7, 1 - 1e-14)
JUST_BELOW_1 = float(np.nextafter(1, 0))


@pytest.mark.parametrize(
    ("shift", "slope"),
    [(shift, 1.0) for shift in (0.0, 1e-12, 1e-6, 0.3, 1 - 1e-6, 1 - 3e-9, 1 - 1e-9, 1 - 1e-12, JUST_BELOW_1)]
    + [(0.0, slope) for slope in (1e-9, 1e-6, 0.3, 1 + 1e-12, 3.0, 1e6, 1e9)]
    + [(1e-3, 1e9), (1e-3, 1e-9), (0.5, 2.0)],
)
@pytest.mark.parametrize(("n_i", "n_c"), [(1, 1), (7, 2), (2**53, 2**50)])
def test_at_the_ends_of_all_ranges_bets_are_finite_and_their_mean_at_most_one(n_i, n_c, shift, slope):
    """Without a warning, and without any room for rounding: with 45 digits, at many points of the line."""
    pairs = [(p, c) for p, c in product(EXTREMES, repeat=2) if p < slope * c + shift]
    p_i, p_c = np.array(pairs).T.copy()
    many = np.ones(len(pairs))
    slopes = None if slope == 1 else slope * many
    with np.errstate(all="raise"):
        bets = place_bets(p_i, p_c, n_i * many, n_c * many, shift, slopes)
    assert np.isfinite([bets.own, bets.rival, bets.sure]).all()
    assert ((bets.own <= 0) & (bets.rival >= 0)).all()
    with localcontext() as context:
        context.prec = 45
        e, r = Decimal(shift), Decimal(slope)
        end = min(Decimal(1), (1 - e) / r)
        places = [end * Decimal(share) for share in (0, 1e-3, 0.3, 0.9, 1)]
        for which in range(len(pairs)):
            for mu_c in [*places, *(Decimal(x) for x in (p_c[which], p_c[which] / 2) if x < end)]:
                means = r * mu_c + e, mu_c
                assert exact_log_mean(bets, which, (n_i, n_c), means) <= 0


number = st.one_of(st.floats(-15, -0.1).map(lambda log: 10**log), st.floats(-14, -0.1).map(lambda log: 1 - 10**log))
line = st.one_of(
    st.tuples(st.sampled_from([0.0, 1e-12, 1e-6, 0.3, 0.999, 1 - 1e-6]), st.just(1.0)),
    st.tuples(st.just(0.0), st.floats(-9, 9).map(lambda log: 10**log)),
)


@given(number, number, line, st.floats(0, 53), st.floats(-1, 1))
def test_not_even_where_it_is_largest_is_the_mean_more_than_one(p_i, p_c, line, log_n, log_ratio):
    """It is concave along the line, so its largest value is found by cutting off thirds."""
    shift, slope = line
    n_i = int(2**log_n)
    n_c = max(1, int(n_i * 10**log_ratio))
    if not p_i < slope * p_c + shift:
        return
    slopes = None if slope == 1 else np.array([slope])
    bets = place_bets(*(np.array([float(x)]) for x in (p_i, p_c, n_i, n_c)), shift, slopes)
    with localcontext() as context:
        context.prec = 45
        e, r = Decimal(shift), Decimal(slope)
        low, high = Decimal(0), min(Decimal(1), (1 - e) / r)

        def at(mu_c: Decimal) -> Decimal:
            return exact_log_mean(bets, 0, (n_i, n_c), (r * mu_c + e, mu_c))

        for _ in range(40):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            if at(left) < at(right):
                low = left
            else:
                high = right
        assert at((low + high) / 2) <= 0


@pytest.mark.parametrize(
    ("p_i", "p_c", "shift", "slope"),
    [
        (1 - 1e-9, 0.36, 0.0, 3.0),
        (1 - 1e-9, 1 - 1e-9, 1e-4, 1.0),
        (1e-9, 1e-9, 1e-4, 1.0),
        (1e-9, 1e-9, 1e-8, 1.0),
        (0.5, 0.5, 1e-10, 1.0),
        (0.2, 0.2, 1 - 1e-12, 1.0),
        (1 - 1e-12, 0.4, 1 - 1e-12, 1.0),
    ],
)
def test_right_predictions_grow_as_near_as_they_may_be_to_zero_and_one(p_i, p_c, shift, slope):
    """Or runs with such arms would not end."""
    n = 1e15
    slopes = None if slope == 1 else np.array([slope])
    bets = place_bets(*(np.array([x]) for x in (p_i, p_c, n, n)), shift, slopes)
    growth = float((bets.own * n * p_i + bets.rival * n * p_c + bets.sure)[0])
    low = min(1.0, 1 / slope) if shift == 0 else 1 - shift
    line = low * np.concatenate([np.geomspace(1e-12, 0.5, 20_001), 1 - np.geomspace(1e-12, 0.5, 20_001)])
    away = n * (kl(p_i, np.minimum(slope * line + shift, 1 - 1e-16)) + kl(p_c, line))
    assert growth > 0.02 * away.min()
