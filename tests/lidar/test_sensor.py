"""Rates, detection probabilities and time."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import linkedbandits as lb
from linkedbandits.lidar import Pulse, Sensor
from linkedbandits.lidar.gates import AnySubset, Suffixes, Windows
from linkedbandits.lidar.pulse import MeasuredPulse


def test_a_bin_fires_with_the_chance_of_at_least_one_photon():
    sensor = Sensor(bins=40, fwhm=3.0, ambient=4.0, dark=0.01)
    depth, signal = np.array([20.3, 7.0]), np.array([0.5, 2.0])
    rates = signal[:, np.newaxis] * sensor.pulse.shares(depth, 40) + 4.0 / 40 + 0.01
    assert sensor.chances(depth, signal) == pytest.approx(1 - np.exp(-rates))


def test_without_a_return_every_bin_is_background():
    sensor = Sensor(bins=10, ambient=1.0)
    assert sensor.chances(np.array([np.nan]), np.array([5.0])) == pytest.approx(1 - np.exp(-0.1))


def test_without_any_light_nothing_fires():
    assert not Sensor(bins=10, ambient=0.0).chances(np.array([np.inf]), np.array([0.0])).any()


def test_time_counts_the_periods_in_which_the_detector_is_blind():
    """A period of 100.07 ns: two or three of them begin in 250 ns, depending on when the photon came."""
    sensor = Sensor(bins=4, reach=15.0, dead_time=250e-9)
    assert sensor.period == pytest.approx(100.07e-9, rel=1e-4)
    photons = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 4, 0, 4]])
    lost = np.array([2, 2, 3, 3, 4 * 2 + 4 * 3])
    assert sensor.elapsed(np.full(5, 10.0), photons) == pytest.approx((10 + lost) * sensor.period)
    quick = Sensor(bins=4, reach=15.0, dead_time=0.0)
    assert quick.elapsed(np.full(5, 10.0), photons) == pytest.approx(10 * quick.period)
    far = Sensor(bins=4, reach=60.0, dead_time=99e-9)  # a quarter of a period: only late photons reach the next one
    assert far.elapsed(np.full(5, 10.0), photons) == pytest.approx((10 + np.array([0, 0, 0, 1, 4])) * far.period)


@pytest.mark.parametrize(
    ("blind", "lost"),
    [
        (0.6, [0, 0, 1, 1]),  # from 0.125, 0.375, 0.625 and 0.875 on; the end of the second bin would lose a period
        (0.45, [0, 0, 1, 1]),  # and the beginning of the third would not
        (0.1, [0, 0, 0, 0]),  # nor does any bin here, though the last ends at 1
        (1.3, [1, 1, 1, 2]),
    ],
)
def test_a_photon_counts_from_the_middle_of_its_bin(blind, lost):
    period = Sensor(reach=15.0).period
    sensor = Sensor(bins=4, reach=15.0, dead_time=blind * period)
    assert sensor.elapsed(np.zeros(4), np.eye(4, dtype=np.int64)) / period == pytest.approx(lost)


def lost_on_average(sensor, chances, shifts, cost):
    """Periods lost a window, over every bin in which its first photon may come."""
    total = 0.0
    for start in np.arange(shifts) * sensor.bins // shifts:
        dark = 1.0
        for place, chance in enumerate(np.roll(chances, -start)):
            sees_again = (place + 0.5) / sensor.bins + sensor.dead_time / sensor.period
            total += dark * chance * max(0, np.ceil(sees_again - cost))
            dark *= 1 - chance
    return total / shifts


@pytest.mark.parametrize("blind", [0.0, 0.12, 0.27, 0.47, 0.62, 0.97, 1.32, 2.52])
@pytest.mark.parametrize("bins", [4, 10])
def test_shifted_windows_lose_what_every_first_photon_loses_on_average(bins, blind):
    period = Sensor(reach=15.0).period
    sensor = Sensor(bins=bins, reach=15.0, dead_time=blind * period)
    chances = np.linspace(0.1, 0.4, bins)
    taken = sensor.elapsed_shifted(np.array([7]), 4, 1.05, chances[np.newaxis])[0] / period
    assert taken == pytest.approx(7 * (1.05 + lost_on_average(sensor, chances, 4, 1.05)))


def seconds_event_by_event(sensor, chances, windows, shifts, rng):
    """One window after the other, at the moments when it can begin."""
    now = 0.0  # in periods
    for window in range(windows):
        start = window % shifts * sensor.bins // shifts
        fired = np.flatnonzero(rng.random(sensor.bins) < np.roll(chances, -start))
        following = now + 1 + 1 / shifts
        if fired.size:
            sees_again = now + (fired[0] + 0.5) / sensor.bins + sensor.dead_time / sensor.period
            while following < sees_again:
                following += 1
        now = following
    return now * sensor.period


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("reach", "dead_time", "ambient"),
    [(6.0, 100e-9, 10.0), (6.0, 20e-9, 10.0), (15.0, 50e-9, 10.0), (15.0, 50e-9, 1.0), (6.0, 0.0, 5.0)],
)
def test_shifted_windows_take_as_long_as_event_by_event(reach, dead_time, ambient):
    """2,000 windows; the time is off by more than 2 % with probability below 1e-6."""
    sensor = Sensor(bins=100, reach=reach, dead_time=dead_time, ambient=ambient)
    chances = sensor.chances(np.array([60.0]), np.array([0.5]))
    expected = sensor.elapsed_shifted(np.array([2000]), 20, 1.05, chances)[0]
    seen = seconds_event_by_event(sensor, chances[0], 2000, 20, np.random.default_rng(3))
    assert seen == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("bins", 1),
        ("ambient", -1.0),
        ("ambient", "5"),
        ("ambient", np.nan),
        ("dark", -0.1),
        ("dead_time", np.inf),
        ("reach", 0.0),
        ("reach", np.inf),
        ("fwhm", 0),
        ("jitter", -1e-12),
        ("afterpulsing", 1.0),
        ("afterpulsing", -0.1),
        ("afterpulsing", 0.1),  # without a time
        ("afterpulse_time", np.inf),
        ("rise", -1e-9),
        ("rise", 1.0),
        ("response", [1, 2, 3]),
        ("response", Pulse(3.0)),
        ("modes", ()),
        ("modes", "gated"),
        ("modes", ("gated", "sometimes")),
        ("gates", "suffix"),
        ("gates", Suffixes),
    ],
)
def test_what_makes_no_sensor_is_refused_by_name(name, value):
    with pytest.raises(lb.InvalidParameter, match=name):
        Sensor(**{name: value})


@pytest.mark.parametrize("number", [5, 5.0, np.int64(5), np.float32(5.0)])
def test_numbers_of_any_kind_make_a_sensor(number):
    assert Sensor(ambient=number, dark=number).background == 5 / 200 + 5


def test_one_depth_has_one_row_of_chances():
    sensor = Sensor(bins=30)
    assert (sensor.chances(12.3, 0.5) == sensor.chances([12.3], [0.5])[0]).all()


def test_every_pixel_may_have_a_background_of_its_own():
    sensor = Sensor(bins=30, ambient=3.0, dark=0.01)
    depth, signal, background = np.array([5.2, 20.0]), np.array([0.5, 2.0]), np.array([0.01, 0.3])
    rates = sensor.rates(depth, signal, background)
    assert rates == pytest.approx(signal[:, np.newaxis] * sensor.pulse.shares(depth, 30) + background[:, np.newaxis])
    assert sensor.chances(depth, signal, background) == pytest.approx(1 - np.exp(-rates))
    assert sensor.rates(depth, signal, 0.2) == pytest.approx(rates - background[:, np.newaxis] + 0.2)
    assert (sensor.rates(depth, signal) == sensor.rates(depth, signal, sensor.background)).all()


def test_jitter_widens_the_pulse():
    sensor = Sensor(bins=200, fwhm=3.0, jitter=100e-12)
    assert sensor.pulse.sigma == pytest.approx(np.hypot(Pulse(3.0).sigma, 100e-12 / sensor.bin_seconds))
    response = MeasuredPulse.from_samples([0, 2, 5, 3, 2, 1, 1], 0.7)
    assert Sensor(response=response).pulse is response
    wider = Sensor(response=response, jitter=300e-12)
    assert wider.pulse.fwhm > response.fwhm
    assert wider.pulse is wider.pulse  # it keys caches


def test_a_sensor_keys_caches_and_travels():
    sensor = Sensor(response=MeasuredPulse.from_samples([0, 2, 1], 1.0), gates=Windows(2e-9, 1e-9), modes=["gated"])
    again = pickle.loads(pickle.dumps(sensor))
    assert again == sensor
    assert hash(again) == hash(sensor)
    assert sensor != Sensor()
    assert sensor.modes == ("gated",)


@pytest.mark.parametrize("rise", [0.0, 0.3, 1.0, 2.0, 2.6])
def test_a_gate_rises_evenly(rise):
    """The mean of min(t / rise, 1) over each bin, t in bins."""
    unit = Sensor(bins=20).bin_seconds
    sensor = Sensor(bins=20, rise=rise * unit)
    assert sensor.rise_bins == int(np.ceil(rise))
    means = [quad(lambda t: min(t / rise, 1.0), k, k + 1, points=[rise])[0] for k in range(sensor.rise_bins)]
    assert sensor.rising == pytest.approx(means)


def test_bins_are_seconds_too():
    sensor = Sensor(bins=200, reach=6.0, dead_time=100e-9)
    assert sensor.bin_seconds * 200 == pytest.approx(sensor.period)
    assert sensor.dead_bins == pytest.approx(100e-9 / sensor.bin_seconds)


def test_afterpulses_are_harmless_where_the_dead_time_covers_them():
    assert Sensor().certifiable
    assert Sensor(dead_time=100e-9, afterpulsing=0.05, afterpulse_time=20e-9).certifiable
    assert not Sensor(dead_time=99e-9, afterpulsing=0.05, afterpulse_time=20e-9).certifiable
    assert Sensor(dead_time=0.0, afterpulsing=0.0, afterpulse_time=20e-9).certifiable


@given(fired=st.integers(0, 9), opens=st.integers(0, 9), blind=st.floats(0, 4))
def test_the_next_cycle_is_the_first_that_opens_when_the_detector_sees_again(fired, opens, blind):
    """Period by period, in exact fractions of the floating-point numbers."""
    sensor = Sensor(bins=10, dead_time=blind * Sensor().period)
    blind = sensor.dead_time / sensor.period
    since = (fired + 0.5 - opens) / 10 + blind
    periods = 1
    while periods < since:
        periods += 1
    assert sensor.lost_periods(fired, opens) == periods - 1


def test_what_a_gate_may_be_has_to_fit_the_sensor():
    with pytest.raises(lb.InvalidParameter, match="30 positions of a gate in 20 bins"):
        Sensor(bins=20, gates=Suffixes(30))
    with pytest.raises(lb.InvalidParameter, match="longer than a period"):
        Sensor(gates=Windows(2.0, 1.0))
    assert Sensor(bins=20, gates=AnySubset()).gates.words == "any subset"
