"""Has an option changed? Quickly seen, and rarely believed for nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from linkedbandits.attempts.alarms import level_of
from linkedbandits.chain import drift
from linkedbandits.chain.drift import BLOCK, Coin, Drift, Fall, weight_of
from linkedbandits.intervals import anytime_limits


def blocks(mean: float, count: int, seed: int) -> list[int]:
    return np.random.default_rng(seed).binomial(BLOCK, mean, count).tolist()


def fed(coin: Coin, worked: list[int]) -> int | None:
    """After how many blocks there is an alarm of any kind."""
    for number, won in enumerate(worked, start=1):
        coin.add(won, BLOCK - won)
        if coin.alarm("falls") or coin.alarm("rises"):
            return number
    return None


def test_weights_and_levels_add_up():
    assert sum(weight_of(block) for block in range(1, 10_000)) == pytest.approx(1 - 1 / math.log2(10_001))
    assert sum(level_of(0.01, number, 1.0) for number in range(10_000)) == pytest.approx(0.01, rel=1e-3)
    assert level_of(0.01, 3, 0.5) == level_of(0.01, 3, 1.0) / 2


@pytest.mark.parametrize("limit", [0.1, 0.5, 0.9])
def test_the_evidence_of_a_fall_is_a_supermartingale_where_the_limit_holds(limit):
    """The mean of the evidence after a block, over all that can come, is at most that before with the new weight."""
    for mean in (limit, limit + 0.05):
        evidence = Fall()
        evidence.bet_against(limit)
        for block, worked in enumerate((9, 3, 12, 7), start=1):
            expected = 0.0
            for won in range(BLOCK + 1):
                branch = Fall()
                branch.bet_against(limit)
                branch._wealth = list(evidence._wealth)
                branch.add(won, BLOCK - won, weight_of(block))
                chance = math.comb(BLOCK, won) * mean**won * (1 - mean) ** (BLOCK - won)
                expected += chance * branch.evidence
            most = evidence.evidence + weight_of(block)
            assert expected <= most * (1 + 1e-9)
            if mean == limit:
                assert expected == pytest.approx(most)  # nothing is given away
            evidence.add(worked, BLOCK - worked, weight_of(block))


def false_alarms(weight=weight_of) -> int:
    """Of 200 coins whose mean is just at the limit, those whose evidence ever reaches 20."""
    found = 0
    for seed in range(200):
        mean = 0.1 + 0.8 * (seed % 9) / 8
        evidence = Fall()
        evidence.bet_against(mean)
        for number, won in enumerate(blocks(mean, 150, seed), start=1):
            evidence.add(won, BLOCK - won, weight(number))
            if evidence.evidence >= 20:
                found += 1
                break
    return found


@pytest.mark.statistical
def test_coins_that_stay_are_rarely_believed_to_have_changed():
    """In each of 200 with probability at most 1/20: more than 24 come with less than 10^-4."""
    assert false_alarms() <= 24
    assert false_alarms(weight=lambda _: 1.0) > 100  # what is tested has power: weights have to add up to 1


@pytest.mark.statistical
@pytest.mark.parametrize(("before", "after"), [(0.8, 0.6), (0.95, 0.75), (0.5, 0.3), (0.3, 0.5)])
def test_a_change_by_a_fifth_is_seen_within_some_hundred_attempts(before, after):
    """However long it was before. Of 5 seeds each took less than 400 attempts; 800 are a margin of two."""
    for served in (250, 5000):
        coin = Coin("a", level_of(0.01, 0, 1.0) / 3)
        assert fed(coin, blocks(before, served, seed=1)) is None
        took = fed(coin, blocks(after, 100, seed=2))
        assert took is not None
        assert took * BLOCK <= 800
        alarm = coin.alarm("falls" if after < before else "rises")
        assert alarm.before.mean == pytest.approx(before, abs=0.05)
        assert alarm.after.mean == pytest.approx(after, abs=0.12)
        assert alarm.log10_evidence >= math.log10(alarm.level)


def test_limits_are_not_loosened_by_what_comes_after():
    coin = Coin("a", 1e-30)
    fed(coin, [13] * 200)
    limits = coin._low, coin._high
    fed(coin, [8] * 50)
    assert coin._low >= limits[0] > anytime_limits(coin.worked, coin.tried, 0.5e-30)[0]
    assert coin._high <= limits[1]


def test_what_is_known_from_before_is_where_a_change_is_seen_from():
    knowing, fresh = Coin("a", 0.001), Coin("a", 0.001)
    knowing.know(8000, 10_000)
    assert fed(knowing, [8] * 30) is not None
    assert fed(fresh, [8] * 30) is None


def test_evidence_without_end_stays_a_number():
    coin = Coin("a", 0.001)
    fed(coin, [16] * 400)
    for _ in range(2000):
        coin.add(0, BLOCK)
    assert coin.alarm("falls").log10_evidence <= math.log10(len(drift.ODDS_RATIOS) * drift.MOST) + 1


def feed(watch: Drift, option: str, share: tuple[int, int], times: int) -> None:
    for _ in range(times):
        for number in range(BLOCK):
            full = watch.add(option, number % share[1] < share[0])
            assert full == (number == BLOCK - 1)


def test_only_what_speaks_against_a_verdict_counts():
    fallen, risen = Drift("abc", 0.01), Drift("abc", 0.01)
    feed(fallen, "a", (3, 4), 300)
    feed(fallen, "a", (1, 4), 40)
    feed(risen, "a", (1, 4), 300)
    feed(risen, "a", (3, 4), 40)
    assert fallen.alarm(()).how == fallen.alarm(("a",)).how == fallen.alarm(("b", "a")).how == "falls"
    assert fallen.alarm(("b",)) is None
    assert risen.alarm(()).how == risen.alarm(("b",)).how == risen.alarm(("b", "a")).how == "rises"
    assert risen.alarm(("a",)) is None
    assert fallen.means(fallen.alarm(("a",)))["a"] == pytest.approx(0.25, abs=0.02)
    assert fallen.means()["a"] > 0.6
