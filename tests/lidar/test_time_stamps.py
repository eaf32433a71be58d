"""Time stamps: which photons count, and how often each bin was looked at, against a detector run tick by tick."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.lidar.time_stamps import Schedule, TimeStamps, check_stamps

TICK = 1e-10


def stamps(cycle, tick, *, cycles=(10,), ticks=8, period=None, schedule=None):
    schedule = schedule or Schedule.one_after_another(np.array(cycles))
    return TimeStamps(
        np.array(cycle, dtype=np.int64),
        np.array(tick, dtype=np.int64),
        schedule,
        (1, len(cycles)),
        TICK,
        ticks,
        period or ticks * TICK,
        "stamps",
    )


def by_hand(arrivals, ticks, gap, dead, merge, cycles):
    """A free-running detector: (cycle, tick) of its photons, and per bin how often it surely saw, and fired then."""
    seen = []
    blind_until = -1.0
    for cycle, tick in arrivals:
        at = cycle * (ticks + gap) + tick
        if at >= blind_until:
            seen.append((cycle, tick))
            blind_until = at + 1 + dead
    bins = ticks // merge
    samples, detections = np.zeros(bins, dtype=int), np.zeros(bins, dtype=int)
    for cycle in range(cycles):
        for place in range(bins):
            begin = cycle * (ticks + gap) + place * merge
            before = [c * (ticks + gap) + t for c, t in seen if c * (ticks + gap) + t < begin]
            if before and before[-1] + 1 + dead > begin:
                continue
            samples[place] += 1
            detections[place] += any(c == cycle and t // merge == place for c, t in seen)
    return seen, samples, detections


@settings(max_examples=60, deadline=None)
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 7)), min_size=1, max_size=30, unique=True),
    dead=st.integers(0, 40),
    merge=st.integers(1, 3),
    gap=st.integers(0, 3),
)
def test_free_running_samples_are_those_of_a_detector_run_by_hand(arrivals, dead, merge, gap):
    seen, samples, detections = by_hand(sorted(arrivals), 8, gap, dead, merge, 10)
    if not detections.any():
        return
    cycle, tick = zip(*seen, strict=True)
    found = stamps(cycle, tick, period=(8 + gap) * TICK).count(mode="free-running", dead_time=dead * TICK, merge=merge)
    assert found.samples[0, 0].tolist() == samples.tolist()
    assert found.detections[0, 0].tolist() == detections.tolist()
    assert found.exact


@pytest.mark.statistical
def test_free_running_rates_are_right_where_the_histogram_alone_is_far_off():
    """A bright bin hides those behind it. Fails on correct code with probability below 1e-6 (5 standard errors)."""
    rng = np.random.default_rng(3)
    chances = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1])
    arrivals = np.argwhere(rng.random((20_000, 8)) < chances)
    kept, last = [], -np.inf
    for cycle, tick in arrivals:
        if (at := cycle * 8 + tick) >= last + 1 + 3:
            kept.append((cycle, tick))
            last = at
    found = stamps(*zip(*kept, strict=True), cycles=(20_000,)).count(mode="free-running", dead_time=3 * TICK)
    share = found.detections[0, 0] / found.samples[0, 0]
    assert (np.abs(share - chances) < 5 * np.sqrt(chances * (1 - chances) / found.samples[0, 0])).all()
    assert found.detections[0, 0, 1] / 20_000 < 0.07  # without the correction


def test_photons_behind_the_first_of_a_cycle_are_left_out():
    found = stamps([0, 0, 3, 3], [2, 5, 7, 1]).count(mode="synchronous")
    assert found.detections[0, 0].tolist() == [0, 1, 1, 0, 0, 0, 0, 0]
    assert found.samples[0, 0].tolist() == [10, 10, 9, 8, 8, 8, 8, 8]
    assert found.notes == (
        "2 photons behind the first of their cycle were left out. A synchronous sensor has none, so no depth is called "
        "sure: give another --mode.",
    )
    assert not found.exact


def test_a_bin_counts_once_a_cycle():
    found = stamps([0, 0, 0, 1], [2, 3, 5, 2]).count(mode="every", merge=2)
    assert found.detections[0, 0].tolist() == [0, 2, 1, 0]
    assert (found.samples == 10).all()
    assert found.notes == ("1 photons behind the first of their bin were left out.",)
    assert found.exact


def test_what_a_photon_hides_may_be_of_another_pixel():
    """A scanner goes on to the next pixel while the detector is blind."""
    scan = Schedule(np.array([0, 2, 6]), np.array([2, 2, 2]), np.array([0, 1, 0]))
    found = stamps([1, 4, 6], [7, 0, 1], cycles=(0, 0), schedule=scan).count(mode="free-running", dead_time=9 * TICK)
    assert found.cycles.tolist() == [[4, 2]]
    assert found.detections.sum(axis=2).tolist() == [[2, 0]]  # cycle 4 is of no pixel
    assert found.samples[0, 1].tolist() == [0, 1, 1, 1, 1, 1, 1, 1]  # cycle 2, and the first bin of cycle 3
    assert found.samples[0, 0].tolist() == [3, 3, 2, 3, 3, 3, 3, 3]  # from cycle 6 on into cycle 7


def test_a_window_that_opens_later_takes_what_is_before_it_into_the_window_before():
    found = stamps([1, 1, 2], [6, 3, 1]).opened(4).count(mode="synchronous")
    assert found.detections[0, 0].tolist() == [0, 0, 1, 0, 0, 0, 0, 1]


def test_a_dead_time_that_the_stamps_contradict_is_refused():
    with pytest.raises(lb.InvalidParameter, match=r"0.4 ns apart, within the dead time of 1 ns.*--dead-time 0.4"):
        stamps([0, 0], [1, 5]).count(mode="free-running", dead_time=1e-9)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: stamps([0], [1]).count(mode="free-running"), "--dead-time"),
        (lambda: stamps([0], [1]).count(mode="every", merge=5), "merge fewer"),
        (lambda: stamps([0], [1], cycles=(1, 0)).count(mode="every"), "1 of 2 pixels have no laser cycle"),
        (lambda: stamps([0], [1]).opened(8), "opens=8 is no bin"),
        (lambda: check_stamps(np.array([0]), np.array([9]), 8, 10, "file"), r"beyond the 8 bins.*--bins"),
        (lambda: check_stamps(np.array([10]), np.array([1]), 8, 10, "file"), r"beyond the 10 cycles.*--cycles"),
        (lambda: check_stamps(np.array([-1]), np.array([1]), 8, 10, "file"), "negative"),
        (lambda: check_stamps(np.array([], dtype=int), np.array([], dtype=int), 8, 10, "file"), "not one photon"),
    ],
)
def test_stamps_without_a_meaning_are_refused(call, said):
    with pytest.raises(lb.InvalidParameter, match=said):
        call()
