"""What a log lacks for a verdict."""

from __future__ import annotations

import math

import numpy as np
import pytest

import linkedbandits as lb
from tools.logs import fixed, log_of, outcomes, shuffled


def made(means, requests, seed, orders=None):
    rng = np.random.default_rng(seed)
    would = outcomes(means, requests, rng)
    return log_of(would, shuffled(requests, len(means), rng) if orders is None else orders)


@pytest.mark.statistical
@pytest.mark.parametrize("attempts", ["first", "all"])
def test_the_forecast_is_about_what_it_takes(attempts):
    """Logs of 300 requests that are not decided: the median of what they forecast, against what longer ones take."""
    means = [0.6, 0.45, 0.4]
    forecast, taken = [], []
    for seed in range(12):
        report = made(means, 300, seed).verdict(delta=0.05, attempts=attempts)
        if report.verdict is None:
            forecast.append(300 + max(each.requests for each in report.missing))
        taken.append(made(means, 12_000, seed + 100).verdict(delta=0.05, attempts=attempts).verdict.plays)
    assert len(forecast) >= 3
    assert 0.2 <= np.median(forecast) / np.median(taken) <= 5


def test_options_that_are_never_first_are_said_to_be_missing_for_ever():
    report = made([0.7, 0.5], 400, 1, fixed(400, 2)).verdict()
    missing = {each.option: each for each in report.missing}
    assert math.isinf(missing["b"].requests)
    assert missing["b"].samples < 10_000
    assert "no first attempts of b" in report.sentence


def test_where_options_tie_no_end_may_be_in_sight():
    log = lb.Attempts.from_plays([((option,), option) for option in "ab"] * 30)
    report = log.verdict()
    assert all(each.samples is None and math.isinf(each.requests) for each in report.missing)
    assert "No end is in sight" in report.sentence


def test_options_that_always_work_tie_however_many_samples_each_has():
    plays = [((option,), option) for option, times in (("a", 982), ("b", 1019), ("c", 999)) for _ in range(times)]
    report = lb.Attempts.from_plays(plays).verdict()
    assert [(each.option, each.samples) for each in report.missing] == [("a", None), ("b", None), ("c", None)]
    assert report.sentence.endswith(
        "a, b and c lead together. No end is in sight: the best options are too close together."
    )


def test_where_no_end_is_in_sight_the_options_that_tie_are_missing():
    plays = [((option,), option) for option in "ab"] * 200 + [(("c",), "c"), (("c",), None)] * 100 + [(("d",), None)]
    report = lb.Attempts.from_plays(plays).verdict()
    assert [(each.option, each.samples) for each in report.missing] == [("a", None), ("b", None)]


def test_times_of_the_log_say_how_long_it_takes():
    log = made([0.5, 0.45], 100, 3)
    timed = lb.Attempts(log.options, log.request, log.option, log.success, log.second, np.arange(100) * 60.0)
    report = timed.verdict()
    for each in report.missing:
        assert each.seconds == pytest.approx(60 * each.requests)
    assert " at its rate." in report.sentence
