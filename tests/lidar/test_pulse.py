"""The pulse on its grid of bins."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.integrate import quad
from scipy.special import ndtr

import linkedbandits as lb
from linkedbandits.lidar import Pulse
from linkedbandits.lidar.pulse import CUT, MeasuredPulse, read_pulse

WIDTHS = st.floats(0.5, 20)
MEASURED = st.builds(
    MeasuredPulse.from_samples,
    hnp.arrays(np.float64, st.integers(3, 30), elements=st.floats(-1, 9)).filter(lambda values: values.max() > 1),
    st.floats(0.05, 3),
)
PULSES = st.one_of(st.builds(Pulse, WIDTHS), MEASURED)


@given(pulse=PULSES, depth=st.floats(100, 101, exclude_max=True))
def test_the_whole_pulse_falls_into_the_bins_around_its_depth(pulse, depth):
    shares = pulse.shares(np.array([depth]), bins=200)[0]
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    lit = np.flatnonzero(shares > 1e-15)
    assert lit.min() >= int(depth) - pulse.half
    assert lit.max() <= int(depth) + pulse.half


@example(fwhm=1.0, low=0.0, width=4.8828125)  # where quad, not told of the corner, is off by more than it says
@given(fwhm=WIDTHS, low=st.floats(-60, 60), width=st.floats(0, 5))
def test_the_cumulative_pulse_is_the_integral_of_its_density(fwhm, low, width):
    pulse = Pulse(fwhm)
    corners = [time for time in (-CUT * pulse.sigma, 0.0, CUT * pulse.sigma) if low < time < low + width]
    area, error = quad(lambda time: float(pulse.density(time)), low, low + width, limit=200, points=corners or None)
    assert pulse.cumulative(low + width) - pulse.cumulative(low) == pytest.approx(area, abs=max(1e-7, 2 * error))


def test_half_the_maximum_is_reached_at_half_the_width():
    pulse = Pulse(7.0)
    assert pulse.density(3.5) / pulse.density(0.0) == pytest.approx(0.5, abs=1e-3)  # lowered by 0.03 % of its height


@given(fwhm=WIDTHS, time=st.floats(-60, 60), width=st.floats(0.001, 3))
def test_no_slope_within_the_width_is_steeper_than_the_steepest(fwhm, time, width):
    pulse = Pulse(fwhm)
    places = np.linspace(time - width, time + width, 400)
    slopes = np.abs(np.diff(pulse.density(places))) / np.diff(places)
    steepest = float(pulse.steepest(time, width))
    assert slopes.max() <= steepest * (1 + 1e-9) + 1e-12
    # Nor is the bound idle: it is nearly reached, but for the step to zero where the pulse ends.
    assert slopes.max() >= 0.95 * steepest - 1e-4


def test_a_depth_that_is_missing_has_no_pulse():
    assert not Pulse(3.0).shares(np.array([np.nan, np.inf]), bins=10).any()


@pytest.mark.parametrize("fwhm", [0, -1.0, np.nan])
def test_a_pulse_without_a_width_is_refused(fwhm):
    with pytest.raises(lb.InvalidParameter, match="fwhm"):
        Pulse(fwhm)


@given(pulse=MEASURED, low=st.floats(-60, 60), width=st.floats(0, 90))
def test_a_measured_pulse_is_the_integral_of_its_density(pulse, low, width):
    """Exactly: by trapezia over its knots."""
    knots = np.array([time for time in pulse.times if low < time < low + width])
    places = np.concatenate([[low], knots, [low + width]])
    area = np.trapezoid(pulse.density(places), places)
    assert pulse.cumulative(low + width) - pulse.cumulative(low) == pytest.approx(area, abs=1e-12)
    assert pulse.cumulative([-1e9, 1e9]) == pytest.approx([0, 1], abs=1e-12)


@given(pulse=MEASURED, time=st.floats(-60, 60), width=st.floats(0, 30))
def test_no_slope_of_a_measured_pulse_is_steeper_than_the_steepest(pulse, time, width):
    steepest = float(pulse.steepest(time, width))
    times, heights = np.array(pulse.times), np.array(pulse.heights)
    slopes = np.abs(np.diff(heights) / np.diff(times))
    within = (times[1:] > time - width) & (times[:-1] < time + width)
    assert slopes[within].max(initial=0.0) <= steepest
    touches = (times[1:] >= time - width - 1e-6) & (times[:-1] <= time + width + 1e-6)
    assert steepest <= slopes[touches].max(initial=0.0)  # and it is the slope of a piece that is there
    if width > 0:
        places = np.linspace(time - width, time + width, 50)
        rises = np.abs(np.diff(pulse.density(places)))
        assert (rises <= steepest * np.diff(places) * (1 + 1e-9) + 1e-12).all()


@given(pulse=MEASURED)
def test_time_zero_is_the_centroid_and_the_density_ends_at_zero(pulse):
    times, heights = np.array(pulse.times), np.array(pulse.heights)
    fine = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in pairwise(times)]))
    mean = np.trapezoid(fine * pulse.density(fine), fine)
    assert mean == pytest.approx(0, abs=2e-2 * (times[-1] - times[0]))
    assert heights[0] == heights[-1] == 0
    assert (pulse.density([times[0] - 1e-9, times[-1] + 1e-9]) == 0).all()


def test_a_pulse_sampled_finely_is_the_pulse():
    gauss = Pulse(3.0)
    times = np.arange(-6, 6, 0.05)
    measured = MeasuredPulse.from_samples(7 * gauss.density(times) + 2, 0.05, baseline=2.0)
    assert measured.fwhm == pytest.approx(3.0, abs=0.01)
    assert measured.sigma == pytest.approx(gauss.sigma, abs=0.01)
    assert measured.half == 5  # what is below a thousandth of the peak is cut off
    places = np.linspace(-7, 7, 100)
    assert measured.cumulative(places) == pytest.approx(gauss.cumulative(places), abs=2e-3)
    by_median = MeasuredPulse.from_samples(np.concatenate([np.full(300, 2.0), 7 * gauss.density(times) + 2]), 0.05)
    assert by_median.fwhm > 6  # a baseline that nobody subtracted
    by_median = MeasuredPulse.from_samples(
        np.concatenate([np.full(300, 2.0), 7 * gauss.density(times) + 2]), 0.05, baseline="median"
    )
    assert by_median.cumulative(places) == pytest.approx(gauss.cumulative(places), abs=2e-3)


def test_time_zero_can_be_told():
    pulse = MeasuredPulse.from_samples([0, 1, 3, 1, 0, 0], 0.5, zero=0.5)
    assert pulse.times == (-0.5, 0.0, 0.5, 1.0, 1.5)
    with pytest.raises(lb.InvalidParameter, match="time zero is not within the pulse"):
        MeasuredPulse.from_samples([0, 1, 3, 1, 0, 0], 0.5, zero=5.0)


@given(pulse=MEASURED, sigma=st.floats(0.05, 3), time=st.floats(-40, 40))
def test_jitter_is_a_convolution(pulse, sigma, time):
    """The mean of the cumulative pulse over the error, piece by piece of its density."""
    jittered = pulse.jittered(sigma)
    places = np.linspace(pulse.times[0], pulse.times[-1], 4001)
    weights = np.diff(pulse.cumulative(places))
    expected = (weights * ndtr((time - (places[1:] + places[:-1]) / 2) / sigma)).sum()
    assert float(jittered.cumulative(time)) == pytest.approx(expected, abs=5e-3)
    assert pulse.jittered(0.0) is pulse


def test_jitter_adds_to_the_variance_of_a_gaussian():
    assert Pulse(3.0).jittered(2.0).sigma ** 2 == pytest.approx(Pulse(3.0).sigma ** 2 + 4)
    assert Pulse(3.0).jittered(0.0) == Pulse(3.0)
    for pulse in (Pulse(3.0), MeasuredPulse.from_samples([1, 2, 1], 1.0)):
        with pytest.raises(lb.InvalidParameter, match="jitter"):
            pulse.jittered(-1.0)


@given(pulse=MEASURED)
def test_a_measured_pulse_keys_caches_and_travels(pulse):
    again = pickle.loads(pickle.dumps(pulse))
    assert again == pulse
    assert hash(again) == hash(pulse)
    assert len({again, pulse, Pulse(3.0)}) == 2


def test_the_repr_of_a_measured_pulse_is_short():
    assert len(repr(MeasuredPulse.from_samples(np.hanning(500), 0.1))) < 80


@pytest.mark.parametrize(
    ("values", "step", "message"),
    [
        ([0.0, 0.0, 0.0], 1.0, "without a sample above its baseline"),
        ([1.0, np.nan, 1.0], 1.0, "finite"),
        ([[1.0, 2.0]], 1.0, "one list"),
        (["a", "b"], 1.0, "no numbers"),
        ([1.0], 1.0, "two or more"),
        ([1.0, 2.0], 0.0, "step"),
        ([1.0, 2.0], -1.0, "step"),
    ],
)
def test_what_is_no_pulse_is_refused(values, step, message):
    with pytest.raises(lb.InvalidParameter, match=message):
        MeasuredPulse.from_samples(values, step)


def test_knots_that_are_no_density_are_refused():
    for times, heights in [((-1, 0, 1), (0, 2, 0)), ((-1, 0, 1), (0.5, 0.5, 0.5)), ((0, -1, 1), (0, 1, 0))]:
        with pytest.raises(lb.InvalidParameter, match="pulse"):
            MeasuredPulse(times, heights)
    assert MeasuredPulse((-1, 0, 1), (0, 1, 0)).fwhm == pytest.approx(1.0)
    with pytest.raises(lb.InvalidParameter, match="sort them"):
        MeasuredPulse.from_curve([0, 2, 1], [0, 1, 0])
    with pytest.raises(lb.InvalidParameter, match="median"):
        MeasuredPulse.from_samples([0, 2, 1], 1.0, baseline="mean")


SHAPE = np.array([0.0, 2.0, 5.0, 3.0, 1.0, 0.0])
"""Sampled every 0.1 ns."""


@pytest.fixture
def expected():
    return MeasuredPulse.from_samples(SHAPE, 0.5)


def same(pulse, expected):
    return np.allclose(pulse.times, expected.times) and np.allclose(pulse.heights, expected.heights)


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("a.csv", "0\n2\n5\n3\n1\n0\n", {"step": 1e-10}),
        ("a.txt", "# counts\n0\n2\n\n5\n3\n1\n0\n", {"step": 1e-10}),
        ("a.csv", "time_ns,counts\n0,0\n0.1,2\n0.2,5\n0.3,3\n0.4,1\n0.5,0\n", {}),
        ("a.csv", "Time (ps);counts per s\n0;0\n100;2\n200;5\n300;3\n400;1\n500;0\n", {}),
        ("a.txt", "# made by hand\n# time_s  value\n0 0\n1e-10 2\n2e-10 5\n3e-10 3\n4e-10 1\n5e-10 0\n", {}),
        ("a.csv", "0,0\n.1,2\n.2,5\n.3,3\n.4,1\n.5,0\n", {"unit": "ns"}),
        ("a.csv", "\ufefft [µs]\tvalue\n0\t0\n.0001\t2\n.0002\t5\n.0003\t3\n.0004\t1\n.0005\t0\n", {}),
    ],
)
def test_text_files_are_read(tmp_path, expected, name, text, options):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert same(read_pulse(path, 0.2e-9, **options), expected)


def test_numpy_files_are_read(tmp_path, expected):
    times = np.arange(6) * 0.1
    np.save(tmp_path / "one.npy", SHAPE)
    np.save(tmp_path / "two.npy", np.stack([times, SHAPE], axis=1))
    np.savez(tmp_path / "a.npz", values=SHAPE.astype(int), time_ns=times)
    np.savez(tmp_path / "b.npz", values=SHAPE)
    for name, options in [
        ("one.npy", {"step": 1e-10}),
        ("two.npy", {"unit": "ns"}),
        ("a.npz", {}),
        ("b.npz", {"step": 1e-10}),
    ]:
        assert same(read_pulse(tmp_path / name, 0.2e-9, **options), expected)
    shifted = read_pulse(tmp_path / "a.npz", 0.2e-9, zero=0.2e-9)
    assert shifted.times[2] == pytest.approx(0)


@pytest.mark.parametrize(
    ("name", "text", "options", "message"),
    [
        ("a.csv", "0\n2\n1\n", {}, r"step=50e-12 \(--pulse-step 50ps\)"),
        ("a.csv", "0,0\n1,2\n2,0\n", {}, r"unit='ns' \(--pulse-unit ns\)"),
        ("a.csv", "laser's time,value\n0,0\n1,2\n2,0\n", {}, "unit="),
        ("a.csv", "time_ns,v\n0,0\n1,2\n2,0\n", {"unit": "ps"}, "says 'ns', not ps"),
        ("a.csv", "time_ns,v\n0,0\n1,2\n2,0\n", {"step": 1e-9}, "leave out step="),
        ("a.csv", "time_s,v\n0,0\n1,2\n2,0\n", {}, "check the unit"),
        ("a.csv", "0\n2\n1\n", {"step": 1e-15}, "check the unit of its times, or the step"),
        ("a.csv", "", {}, "no numbers"),
        ("a.csv", "1\nx\n", {}, "line 2 is no row of numbers"),
        ("a.csv", "1\n1,2\n", {}, "line 2 has 2 columns"),
        ("a.csv", "1,2,3\n1,2,3\n", {}, "two: times and values"),
        ("a.csv", "0\n0\n0\n", {"step": 1e-10}, "above its baseline"),
        ("a.csv", "0\nnan\n0\n", {"step": 1e-10}, "finite"),
        ("a.csv", "time_ns,v\n0,0\n2,2\n1,0\n", {}, "sort them"),
        ("a.wav", "0", {}, ".csv"),
    ],
)
def test_files_that_are_no_pulse_are_refused_by_name(tmp_path, name, text, options, message):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(lb.CannotRead, match=message) as refused:
        read_pulse(path, 0.2e-9, **options)
    assert str(path) in str(refused.value)


def test_other_files_that_are_no_pulse_are_refused(tmp_path):
    (tmp_path / "broken.npy").write_bytes(b"no numbers")
    (tmp_path / "broken.npz").write_bytes(b"PK no archive")
    np.savez(tmp_path / "other.npz", depth=SHAPE)
    np.savez(tmp_path / "odd.npy", values=SHAPE)
    (tmp_path / "odd.npy.npz").rename(tmp_path / "odd.npy")
    np.save(tmp_path / "words.npy", np.array(["a"]))
    np.save(tmp_path / "cube.npy", np.zeros((2, 2, 2)))
    for name in ("broken.npy", "broken.npz", "other.npz", "odd.npy", "words.npy", "cube.npy", "missing.csv"):
        with pytest.raises(lb.CannotRead, match=name):
            read_pulse(tmp_path / name, 0.2e-9, step=1e-10)
    with pytest.raises(lb.InvalidParameter, match="unit"):
        read_pulse(tmp_path / "words.npy", 0.2e-9, unit="hours")
