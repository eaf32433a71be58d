"""The pulse on its grid of bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.integrate import quad

import linkedbandits as lb
from linkedbandits.lidar import Pulse
from linkedbandits.lidar.pulse import CUT

WIDTHS = st.floats(0.5, 20)


@given(fwhm=WIDTHS, depth=st.floats(100, 101))
def test_the_whole_pulse_falls_into_the_bins_around_its_depth(fwhm, depth):
    pulse = Pulse(fwhm)
    shares = pulse.shares(np.array([depth]), bins=200)[0]
    assert shares.sum() == pytest.approx(1)
    assert (shares >= 0).all()
    lit = np.flatnonzero(shares)
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
