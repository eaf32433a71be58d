"""Who answers, in time: against simulations of single photons, and what theory says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, chisquare

import linkedbandits as lb
from linkedbandits.lidar import Sensor
from linkedbandits.lidar.exposure import Exposure
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows

BINS = 12
PERIOD = Sensor(bins=BINS).period
BIN = PERIOD / BINS
RATES = np.array([0.02, 0.05, 0.3, 0.0, 0.4, 0.1, 0.05, 0.02, 0.6, 0.3, 0.1, 0.05])
FALSE_ALARM = 1e-6


def rows(*texts):
    return np.array([[letter == "#" for letter in text] for text in texts])


LATE = rows("...#########")
PARTS = rows("..####...###")
ODD = rows(".#.##..#.#.#")

GATES = [
    pytest.param(Suffixes(), LATE, id="suffix"),
    pytest.param(Suffixes(4), LATE, id="positions"),
    pytest.param(Windows(3 * BIN, 3 * BIN), PARTS, id="windows"),
    pytest.param(AnySubset(), ODD, id="any"),
]


def sensitivity_of(gate, sensor):
    """Bin by bin."""
    since, levels = 0, []
    for opened in gate:
        since = since + 1 if opened else 0
        rises = sensor.gates.rises and 0 < since <= sensor.rise_bins
        levels.append(sensor.rising[since - 1] if rises else float(opened))
    return np.array(levels)


def is_counted(gate, sensor):
    since, counts = 0, []
    for opened in gate:
        since = since + 1 if opened else 0
        counts.append(since > (sensor.rise_bins if sensor.gates.rises else 0))
    return np.array(counts)


@pytest.mark.statistical
@pytest.mark.parametrize(("kind", "gate"), GATES)
@pytest.mark.parametrize("rise", [0.0, 1.7])
def test_detections_come_as_often_as_theory_says(kind, gate, rise):
    """20,000 cycles, in calls of 1 to 400; chi-square over the bins and "none", false alarm 1e-6."""
    sensor = Sensor(bins=BINS, rise=rise * BIN, gates=kind)
    exposure = Exposure(sensor, np.tile(RATES, (40, 1)), np.random.default_rng(1))
    counts = [exposure.expose(np.repeat(gate, 40, axis=0), cycles) for cycles in (1, 9, 90, 400)]
    fires = -np.expm1(-RATES * sensitivity_of(gate[0], sensor))
    reached = np.concatenate([[1.0], np.cumprod(1 - fires)])
    counted = is_counted(gate[0], sensor)
    for part in counts:
        assert not part.samples[:, ~counted].any()
        assert not part.successes[:, ~counted].any()
    seen = sum(part.successes.sum(axis=0) for part in counts)
    expected = (reached[:-1] * fires)[counted & (RATES > 0)] * 20_000
    seen = seen[counted & (RATES > 0)]
    table = np.append(seen, 20_000 - seen.sum()), np.append(expected, 20_000 - expected.sum())
    assert chisquare(*table).pvalue > FALSE_ALARM
    samples = sum(part.samples.sum(axis=0) for part in counts)[counted]
    spread = np.sqrt(20_000 * reached[:-1] * (1 - reached[:-1]))[counted]
    assert (np.abs(samples - 20_000 * reached[:-1][counted]) <= 6 * spread).all()  # beyond 6 deviations: 1e-8
    assert (exposure.plays == 500).all()


@given(seed=st.integers(0, 1000), cycles=st.integers(1, 30))
def test_a_cycle_samples_all_open_bins_up_to_its_photon(seed, cycles):
    exposure = Exposure(Sensor(bins=BINS), RATES[np.newaxis], np.random.default_rng(seed))
    counts = exposure.expose(LATE, cycles)
    left = cycles
    for i in range(BINS):
        assert counts.samples[0, i] == (left if LATE[0, i] else 0)
        left -= counts.successes[0, i]
    assert counts.plays == [cycles]


@given(
    seed=st.integers(0, 1000),
    blind=st.floats(0, 3.5),
    opens=st.lists(st.integers(0, BINS - 1), min_size=2, max_size=12),
)
def test_the_clock_is_that_of_the_laser(seed, blind, opens):
    """Gate after gate, each of one cycle: the next is armed in the first period that opens when it sees again."""
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    exposure = Exposure(sensor, 3 * RATES[np.newaxis], np.random.default_rng(seed))
    period, sees_again = -1, -np.inf  # in periods
    for first in opens:
        counts = exposure.expose(np.arange(BINS)[np.newaxis] >= first, 1)
        period += 1
        while period + first / BINS < sees_again - 1e-9:
            period += 1
        if counts.successes.any():
            sees_again = period + (counts.successes[0].argmax() + 0.5) / BINS + sensor.dead_time / sensor.period
        assert exposure.periods[0] == period + 1
    assert exposure.seconds[0] == pytest.approx((period + 1) * sensor.period)


@pytest.mark.parametrize("blind", [0.0, 0.3, 0.9, 2.5])
def test_many_cycles_at_once_take_the_time_of_one_after_the_other(blind):
    """A light that always fires, so that nothing is left to chance; the last detection is charged to what follows."""
    rates = np.zeros((3, BINS))
    rates[[0, 1], [3, 9]] = 1e9
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    late, later = np.arange(BINS) >= np.array([[2], [5], [0]]), np.arange(BINS) >= np.array([[3], [8], [1]])
    at_once, single = (Exposure(sensor, rates, np.random.default_rng(0)) for _ in range(2))
    for gate in (late, later, late):
        at_once.expose(gate, np.array([5, 4, 0]))
        for cycle in range(5):
            single.expose(gate, np.array([1, int(cycle < 4), 0]))
    assert (at_once.periods == single.periods).all()
    assert (at_once.plays == [15, 12, 0]).all()
    own = sensor.lost_periods([3, 9], [2, 5]), sensor.lost_periods([3, 9], [3, 8])
    assert at_once.periods[0] == 15 + 9 * own[0][0] + 5 * own[1][0]  # 4, 1 before the other gate, 4, 1 and 4
    assert at_once.periods[2] == 0


def photon_by_photon(sensor, rates, gate, cycles, rng):
    """Hits of every bin and the periods gone by: bin by bin, with afterpulses that are waiting."""
    hits, period, sees_again, waiting = np.zeros(BINS, dtype=int), -1, -np.inf, []
    first, levels = int(gate.argmax()), sensitivity_of(gate, sensor)
    for _ in range(cycles):
        period += 1
        while period * BINS + first < sees_again:
            period += 1
        for i in range(first, BINS):
            now = period * BINS + i
            photon = rng.random() < -np.expm1(-rates[i] * levels[i])
            after = any(now <= moment < now + 1 and rng.random() < levels[i] for moment in waiting)
            if photon or after:
                hits[i] += 1
                sees_again = now + 0.5 + sensor.dead_time / BIN
                waiting = [moment for moment in waiting if moment > now]
                if rng.random() < sensor.afterpulsing:
                    delay = np.inf
                    while delay > 5:
                        delay = rng.exponential()
                    waiting.append(now + 0.5 + delay * sensor.afterpulse_time / BIN)
                break
    return hits, period + 1


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("kind", "gate", "blind", "mean", "rise"),
    [
        (Suffixes(), LATE, 0.4, 1.0, 0.0),
        (Suffixes(), LATE, 0.4, 1.0, 0.7),
        (Windows(3 * BIN, 2 * BIN), rows("####..######"), 1.1, 3.0, 0.0),
        (AnySubset(), rows("##.#####.###"), 0.0, 1.0, 0.0),
    ],
)
def test_afterpulses_fire_the_detector_as_they_do_one_by_one(kind, gate, blind, mean, rise):
    """6,000 cycles of each, chi-square of two samples over bins, false alarm 1e-6; times within 5 deviations."""
    sensor = Sensor(
        bins=BINS,
        dead_time=blind * PERIOD,
        rise=rise * BIN,
        gates=kind,
        afterpulsing=0.99,
        afterpulse_time=mean * PERIOD,
    )
    assert not sensor.certifiable
    rates = 0.1 * RATES
    exposure = Exposure(sensor, np.tile(rates, (60, 1)), np.random.default_rng(2))
    counts = [exposure.expose(np.repeat(gate, 60, axis=0), cycles) for cycles in (1, 29, 70)]
    rng = np.random.default_rng(3)
    slow = [photon_by_photon(sensor, rates, gate[0], 100, rng) for _ in range(60)]
    counted = is_counted(gate[0], sensor)
    seen = sum(part.successes.sum(axis=0) for part in counts)[counted]
    expected = sum(hits for hits, _ in slow)[counted]
    table = np.array([[*seen, 6000 - seen.sum()], [*expected, 6000 - expected.sum()]])
    assert chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > FALSE_ALARM
    periods = np.array([period for _, period in slow])
    spread = np.hypot(periods.std(), exposure.periods.std()) / np.sqrt(60)
    assert abs(periods.mean() - exposure.periods.mean()) <= 5 * spread + 1e-9
    # And they are seen: without them, it would fire less often by 6 deviations or more.
    alone = Exposure(Sensor(bins=BINS, rise=rise * BIN, gates=kind), np.tile(rates, (60, 1)), rng)
    without = alone.expose(np.repeat(gate, 60, axis=0), 100).successes.sum()
    assert seen.sum() - without > 6 * np.sqrt(seen.sum() + without)


def test_afterpulses_that_the_dead_time_covers_are_never_seen():
    quiet = Sensor(bins=BINS, dead_time=2 * PERIOD)
    covered = Sensor(bins=BINS, dead_time=2 * PERIOD, afterpulsing=0.9, afterpulse_time=0.4 * PERIOD)
    one, other = (Exposure(sensor, RATES[np.newaxis], np.random.default_rng(5)) for sensor in (quiet, covered))
    for make in (lambda pixel: pixel.expose(LATE, 50), lambda pixel: pixel.free_running(50)):
        assert (make(one).successes == make(other).successes).all()
    assert (one.periods == other.periods).all()


def free_running_photon_by_photon(sensor, rates, periods, rng):
    """All photons of all periods first; then those that a detector sees. Samples and successes of every bin."""
    bins = rates.size
    photons = np.sort(np.repeat(np.arange(bins * periods), rng.poisson(np.tile(rates, periods))) * 1.0)
    photons = np.sort(photons + rng.random(photons.size))
    samples, successes = np.zeros(bins, dtype=int), np.zeros(bins, dtype=int)
    armed = 0.0
    while armed < bins * periods:
        at = int(np.searchsorted(photons, armed, side="right"))
        came = photons[at] if at < photons.size else np.inf
        last = min(int(came) if came < np.inf else bins * periods, bins * periods - 1)
        for now in range(int(np.ceil(armed)), last + 1):
            samples[now % bins] += 1
            successes[now % bins] += int(came < np.inf) and now == int(came)
        armed = came + sensor.dead_bins
    return samples, successes


@pytest.mark.statistical
@pytest.mark.parametrize("blind", [0.0, 0.13, 0.9, 2.37])
def test_free_running_counts_what_single_photons_give(blind):
    """60 lanes of 40 periods each; per bin, samples and successes within 5.5 deviations: false alarm below 1e-5."""
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    exposure = Exposure(sensor, np.tile(RATES, (60, 1)), np.random.default_rng(4))
    first, second = exposure.free_running(15), exposure.free_running(25)  # the second goes on where the first ended
    fast = first.samples + second.samples, first.successes + second.successes
    rng = np.random.default_rng(6)
    slow = [free_running_photon_by_photon(sensor, RATES, 40, rng) for _ in range(60)]
    for own, others in zip(fast, np.swapaxes(slow, 0, 1), strict=True):
        spread = np.sqrt((own.var(axis=0) + others.var(axis=0)) / 60)
        assert (np.abs(own.mean(axis=0) - others.mean(axis=0)) <= 5.5 * spread + 1e-9).all()
    assert (exposure.periods == 40).all()
    assert (exposure.plays == 40).all()


@pytest.mark.statistical
@pytest.mark.parametrize("blind", [0.0, 0.13, 0.9, 2.37])
def test_a_bin_that_free_running_sees_fires_with_its_chance(blind):
    """Given how often it was seen, however that came about: chi-square over bins, false alarm 1e-6."""
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    exposure = Exposure(sensor, np.tile(RATES, (100, 1)), np.random.default_rng(7))
    counts = exposure.free_running(60)
    samples, successes = counts.samples.sum(axis=0), counts.successes.sum(axis=0)
    chance = -np.expm1(-RATES)
    lit = RATES > 0
    assert not successes[~lit].any()
    off = (successes - samples * chance)[lit] ** 2 / (samples * chance * (1 - chance))[lit]
    assert chi2.sf(off.sum(), lit.sum()) > FALSE_ALARM


@pytest.mark.statistical
@pytest.mark.parametrize("nanoseconds", [0.0, 10.0, 50.0, 100.0])
def test_free_running_detects_as_often_as_a_renewal_process(nanoseconds):
    """Even light, ambient 10 in 40 ns: a detection every dead time and mean wait. Within 5 deviations of 100 lanes."""
    sensor = Sensor(bins=200, ambient=10.0, dead_time=1e-9 * nanoseconds)
    exposure = Exposure(sensor, np.full((100, 200), sensor.background), np.random.default_rng(8))
    exposure.free_running(10)  # until it has forgotten how it began
    counts = exposure.free_running(60)
    wait = sensor.period / 10
    rate = sensor.period / (wait + sensor.dead_time)
    seen = counts.successes.sum(axis=1) / 60
    spread = seen.std() / 10
    # Not counted is what comes in the rest, half of it on average, of the bin in which the detector sees again.
    assert abs(seen.mean() - rate * (1 - sensor.background / 2)) <= 5 * spread + rate * sensor.background**2


@pytest.mark.statistical
def test_free_running_afterpulses_come_as_often_as_theory_says():
    """No light but for a flash in one bin: what else fires is afterpulses. 6,000 flashes, within 5 deviations."""
    rates = np.zeros((100, 400))
    rates[:, 10] = 60.0
    sensor = Sensor(bins=400, dead_time=0.25 * PERIOD, afterpulsing=0.3, afterpulse_time=0.1 * PERIOD)
    exposure = Exposure(sensor, rates, np.random.default_rng(9))
    counts = exposure.free_running(60)
    # It is seen if it comes a dead time after the flash or later; its own afterpulses likewise.
    seen = 0.3 * (np.exp(-2.5) - np.exp(-5)) / (1 - np.exp(-5))
    flashes, others = counts.successes[:, 10].sum(), counts.successes.sum() - counts.successes[:, 10].sum()
    assert flashes >= 5990  # an afterpulse of an afterpulse may make it miss one
    assert abs(others - 6000 * seen / (1 - seen)) <= 5 * np.sqrt(6000 * seen) + 10


@pytest.mark.statistical
@pytest.mark.parametrize(("reach", "dead_time"), [(6.0, 100e-9), (6.0, 20e-9), (15.0, 50e-9), (6.0, 0.0)])
def test_shifted_windows_see_every_bin_alike_and_take_their_time(reach, dead_time):
    """40 lanes of 200 windows: successes by chi-square (1e-6), time within 5 deviations of what the sensor expects."""
    sensor = Sensor(bins=100, reach=reach, dead_time=dead_time, ambient=5.0)
    rates = sensor.rates(np.full(40, 60.0), np.full(40, 0.5))
    exposure = Exposure(sensor, rates, np.random.default_rng(10))
    parts = [exposure.shifted(windows, shifts=20) for windows in (1, 79, 120)]
    samples, successes = (sum(getattr(part, name) for part in parts).sum(axis=0) for name in ("samples", "successes"))
    chance = -np.expm1(-rates[0])
    assert chi2.sf(((successes - samples * chance) ** 2 / (samples * chance * (1 - chance))).sum(), 100) > FALSE_ALARM
    dark = np.concatenate([[0.0], np.cumsum(np.tile(rates[0], 2))])
    reached = np.zeros(100)
    for start in range(0, 100, 5):
        for place in range(100):
            reached[(start + place) % 100] += np.exp(dark[start] - dark[start + place]) / 20
    assert np.abs(samples / (40 * 200 * reached) - 1).max() < 5 * np.sqrt(1 / (40 * 200 * reached.min()))
    expected = sensor.elapsed_shifted(np.array([200]), 20, 1.05, sensor.chances([60.0], [0.5]))[0]
    spread = exposure.seconds.std() / np.sqrt(40)
    assert abs(exposure.seconds.mean() - expected) <= 5 * spread + 4 * sensor.period  # the ends are not charged
    assert (exposure.plays == 200).all()


@given(seed=st.integers(0, 1000), blind=st.floats(0, 3.5), shifts=st.integers(1, 15), windows=st.integers(2, 12))
def test_the_clock_of_shifted_windows_is_that_of_the_laser(seed, blind, shifts, windows):
    """Window after window: each begins at its own place of a period, the first time that it sees again there."""
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    exposure = Exposure(sensor, 3 * RATES[np.newaxis], np.random.default_rng(seed))
    end, sees_again = 0, -np.inf  # in bins
    for window in range(windows):
        counts = exposure.shifted(1, shifts)
        start = window % shifts * BINS // shifts
        while start < end or start < sees_again - 1e-6:
            start += BINS
        end = start + BINS
        assert exposure.periods[0] * BINS == pytest.approx(end)
        if counts.successes.any():
            place = (counts.successes[0].argmax() - start) % BINS
            assert counts.samples.sum() == place + 1
            sees_again = start + place + 0.5 + sensor.dead_time / BIN


@pytest.mark.parametrize("blind", [0.0, 0.3, 0.62, 1.9])
@pytest.mark.parametrize("shifts", [1, 5, 12])
def test_many_shifted_windows_take_the_time_of_one_after_the_other(blind, shifts):
    """A light that always fires, so that nothing is left to chance."""
    rates = np.zeros((2, BINS))
    rates[[0, 1, 1], [3, 9, 2]] = 1e9
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    at_once, single = (Exposure(sensor, rates, np.random.default_rng(0)) for _ in range(2))
    counts = [at_once.shifted(windows, shifts) for windows in (7, 13)]
    ones = [single.shifted(1, shifts) for _ in range(20)]
    assert (at_once.periods == single.periods).all()
    for name in ("samples", "successes"):
        assert (sum(getattr(part, name) for part in counts) == sum(getattr(part, name) for part in ones)).all()


@given(
    seed=st.integers(0, 1000),
    blind=st.floats(0, 3.5),
    opens=st.lists(st.integers(0, BINS - 1), min_size=2, max_size=12),
)
def test_a_window_that_wraps_begins_when_its_bin_comes_and_the_detector_sees(seed, blind, opens):
    """Window after window, moment by moment: also within the period in which a photon ended the last one."""
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    exposure = Exposure(sensor, 3 * RATES[np.newaxis], np.random.default_rng(seed))
    now, sees_again = 0, -np.inf  # in bins
    for first in opens:
        while now % BINS != first or now < sees_again - 1e-6:
            now += 1
        assert exposure.wrapped_until(sensor.bin_seconds * (now + BINS - 1), np.array([first])) == [0]
        assert exposure.wrapped_until(sensor.bin_seconds * (now + BINS), np.array([first])) == [1]
        counts = exposure.wrapped(np.array([first]), 1)
        fired = np.flatnonzero(np.roll(counts.successes[0], -first))
        seen = int(fired[0]) + 1 if fired.size else BINS
        assert np.roll(counts.samples[0], -first).tolist() == [1] * seen + [0] * (BINS - seen)
        sees_again = now + fired[0] + 0.5 + sensor.dead_bins if fired.size else sees_again
        now += seen
        assert exposure.seconds[0] == pytest.approx(now * sensor.bin_seconds)


@pytest.mark.statistical
@pytest.mark.parametrize("rise", [0.0, 1.7])
def test_windows_that_wrap_see_what_photons_one_by_one_show(rise):
    """Three lanes that open at 0, 5 and 11, 6,000 windows each; chi-square, false alarm 1e-6 of each lane."""
    sensor = Sensor(bins=BINS, rise=rise * BIN, dead_time=0.3 * PERIOD)
    exposure = Exposure(sensor, np.tile(RATES, (3, 1)), np.random.default_rng(14))
    opens = np.array([0, 5, 11])
    parts = [exposure.wrapped(opens, windows) for windows in (1, 0, np.array([2999, 5999, 4999]), [3000, 0, 1000])]
    assert exposure.plays.tolist() == [6000] * 3
    level = sensitivity_of(np.ones(BINS, dtype=bool), sensor)
    for lane, first in enumerate(opens):
        samples, successes = (sum(getattr(part, name)[lane] for part in parts) for name in ("samples", "successes"))
        fires = -np.expm1(-np.roll(RATES, -first) * level)
        hits = np.concatenate([[1.0], np.cumprod(1 - fires)[:-1]]) * fires * 6000
        counted = (np.arange(BINS) >= sensor.rise_bins) & (hits > 0)
        assert not np.roll(samples, -first)[: sensor.rise_bins].any()
        seen, expected = np.roll(successes, -first)[counted], hits[counted]
        table = np.append(seen, 6000 - seen.sum()), np.append(expected, 6000 - expected.sum())
        assert chisquare(*table).pvalue > FALSE_ALARM


@given(seed=st.integers(0, 1000), blind=st.floats(0, 3.5), first=st.integers(0, BINS - 1), room=st.floats(1, 40))
def test_cycles_that_are_said_to_fit_do_whatever_comes(seed, blind, first, room):
    """In very bright light, too; and what is left when none fits is less than the longest cycle."""
    sensor = Sensor(bins=BINS, dead_time=blind * PERIOD)
    until = room * PERIOD
    opens = np.array([first, BINS - 1 - first])
    rates = np.stack([20 * RATES, np.where(np.arange(BINS) == BINS - 1, 60.0, 0.0)])
    for fit, use in (("cycles_until", "expose"), ("wrapped_until", "wrapped"), ("shifted_until", "shifted")):
        exposure = Exposure(sensor, rates, np.random.default_rng(seed))
        argument = {"expose": np.arange(BINS) >= opens[:, np.newaxis], "wrapped": opens, "shifted": 5}[use]
        while True:
            fitting = getattr(exposure, fit)(until, 5 if use == "shifted" else opens)
            going_on = fitting > 0
            assert (exposure.seconds <= until + 1e-15).all()
            if not going_on.all():
                break
            if use == "shifted":
                exposure.shifted(fitting, 5)
            else:
                getattr(exposure, use)(argument, fitting)
        assert (until - exposure.seconds)[~going_on].max() < (3 + np.ceil(blind)) * PERIOD


def test_modes_may_follow_each_other():
    """Every mode begins when the detector is free, and the clock never runs back."""
    sensor = Sensor(bins=BINS, dead_time=1.4 * PERIOD)
    exposure = Exposure(sensor, np.tile(RATES, (4, 1)), np.random.default_rng(11))
    gone = exposure.periods
    for step in range(12):
        match step % 3:
            case 0:
                exposure.expose(np.repeat(LATE, 4, axis=0), 3)
                assert (exposure.periods % 1 == 0).all()
            case 1:
                exposure.shifted(5, shifts=4)
            case 2:
                exposure.free_running(2)
                assert (exposure.periods % 1 == 0).all()
        assert (exposure.periods >= gone + 2).all()
        gone = exposure.periods


def test_a_dark_lane_never_fires_and_is_sampled_all_the_time():
    exposure = Exposure(Sensor(bins=BINS), np.zeros((2, BINS)), np.random.default_rng(0))
    for counts, each in (
        (exposure.expose(np.repeat(LATE, 2, axis=0), 7), 7 * LATE[0]),
        (exposure.free_running(6), np.full(BINS, 6)),
        (exposure.shifted(9), np.full(BINS, 9)),
    ):
        assert (counts.samples == each).all()
        assert not counts.successes.any()


def test_lanes_that_are_kept_go_on_with_their_clocks():
    rates = np.stack([RATES, 0 * RATES, 50 * RATES])
    exposure = Exposure(Sensor(bins=BINS, dead_time=2.2 * PERIOD), rates, np.random.default_rng(12))
    exposure.expose(np.repeat(LATE, 3, axis=0), np.array([4, 5, 6]))
    periods = exposure.periods
    exposure.keep(np.array([False, True, True]))
    assert (exposure.periods == periods[1:]).all()
    assert (exposure.plays == [5, 6]).all()
    counts = exposure.expose(np.repeat(LATE, 2, axis=0), 10)
    assert counts.successes.sum(axis=1)[0] == 0
    assert counts.successes.sum(axis=1)[1] == 10
    exposure.keep(np.array([1]))
    assert exposure.free_running(1).samples.shape == (1, BINS)
    exposure.keep(np.array([], dtype=np.int64))
    assert exposure.expose(np.zeros((0, BINS), dtype=bool), 3).samples.shape == (0, BINS)
    assert exposure.free_running(3).samples.shape == (0, BINS)


def test_the_same_generator_gives_the_same_counts():
    pair = [Exposure(Sensor(bins=BINS), np.tile(RATES, (5, 1)), np.random.default_rng(13)) for _ in range(2)]
    one, other = (pixel.expose(np.repeat(LATE, 5, axis=0), 20) for pixel in pair)
    assert (one.successes == other.successes).all()


def test_a_gate_that_the_sensor_cannot_do_is_refused():
    exposure = Exposure(Sensor(bins=BINS), RATES[np.newaxis], np.random.default_rng(0))
    with pytest.raises(lb.InvalidParameter, match="shuts again"):
        exposure.expose(ODD, 1)
    with pytest.raises(lb.InvalidParameter, match="lanes for 1"):
        exposure.expose(np.repeat(LATE, 2, axis=0), 1)
    everything = np.ones((1, BINS), dtype=bool)
    for modes, possible in [
        (("synchronous",), {"all"}),
        (("gated",), {"all", "late"}),
        (("free-running",), {"free"}),
        (("shifted",), {"shifted"}),
    ]:
        exposure = Exposure(Sensor(bins=BINS, modes=modes), RATES[np.newaxis], np.random.default_rng(0))
        for name, use in {
            "all": lambda pixel: pixel.expose(everything, 1),
            "late": lambda pixel: pixel.expose(LATE, 1),
            "free": lambda pixel: pixel.free_running(1),
            "shifted": lambda pixel: pixel.shifted(1),
        }.items():
            if name in possible:
                use(exposure)
            else:
                with pytest.raises(lb.InvalidParameter, match="this sensor's modes are"):
                    use(exposure)


def test_what_is_no_light_and_no_count_is_refused():
    sensor = Sensor(bins=BINS)
    for rates in (RATES, np.ones((2, 5)), np.full((1, BINS), np.nan), np.full((1, BINS), -1.0)):
        with pytest.raises(lb.InvalidParameter, match="rates"):
            Exposure(sensor, rates, np.random.default_rng(0))
    exposure = Exposure(sensor, RATES[np.newaxis], np.random.default_rng(0))
    for cycles in (-1, 1.5, [1, 2], "3"):
        with pytest.raises(lb.InvalidParameter, match="cycles"):
            exposure.expose(LATE, cycles)
    for use in (exposure.free_running, exposure.shifted):
        with pytest.raises(lb.InvalidParameter, match="whole number"):
            use(0)
    blinking = Sensor(bins=BINS, dead_time=0.0, afterpulsing=0.1, afterpulse_time=1e-9)
    with pytest.raises(lb.InvalidParameter, match="five times"):
        Exposure(blinking, RATES[np.newaxis], np.random.default_rng(0)).shifted(3)
