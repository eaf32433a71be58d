"""Pictures of a report: what is drawn is where the figures say, measured in the SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.attempts import Attempts, pictures
from linkedbandits.attempts.pictures import (
    LEFT,
    RIGHT,
    alarm_picture,
    estimates_picture,
    evidence_picture,
    order_picture,
    rates_over_time,
    served_by_place,
)
from linkedbandits.attempts.wording import by_mean
from linkedbandits.intervals import anytime_interval
from tests.support.logs import HOSTILE, log_of

SVG = "{http://www.w3.org/2000/svg}"


def drawn(markup, shape, class_):
    """The shapes of a class, in the order they are drawn in."""
    found = ElementTree.fromstring(markup).iter(f"{SVG}{shape}")
    return [each for each in found if set(class_.split()) <= set(each.attrib.get("class", "").split())]


def at(element, name):
    return float(element.attrib[name])


def words(markup):
    return [each.text for each in ElementTree.fromstring(markup).iter(f"{SVG}text")]


def scale_of(markup):
    """Where a value is along the bottom, as the ticks say."""
    ticks = drawn(markup, "text", "tick")
    lines = drawn(markup, "line", "grid")
    (low, low_at), (high, high_at) = [
        (float(tick.text), at(line, "x1")) for tick, line in ((ticks[0], lines[0]), (ticks[-1], lines[-1]))
    ]
    return lambda value: low_at + (value - low) / (high - low) * (high_at - low_at)


@pytest.mark.parametrize("means", [[0.9, 0.5, 0.2], [0.52, 0.5, 0.48], [0.999, 0.998]])
def test_estimates_are_to_scale(means):
    report = log_of(means, 4000).verdict()
    picture = estimates_picture(report)
    place = scale_of(picture)
    bars, points = drawn(picture, "rect", "interval"), drawn(picture, "circle", "mean")
    for each, bar, point in zip(by_mean(report.estimates), bars, points, strict=True):
        assert at(point, "cx") == pytest.approx(place(each.mean), abs=0.05)
        assert at(bar, "x") == pytest.approx(place(each.low), abs=0.05)
        assert at(bar, "x") + at(bar, "width") == pytest.approx(place(each.high), abs=0.05)
        assert LEFT <= at(bar, "x") <= RIGHT


def test_an_option_that_was_not_tried_has_no_mark():
    log = Attempts.from_plays([(("a", "b"), "a")] * 50)
    picture = estimates_picture(log.verdict())
    assert len(drawn(picture, "circle", "mean")) == 1
    assert "never tried first" in words(picture)
    (_, whole) = drawn(picture, "rect", "interval")
    place = scale_of(picture)
    assert (at(whole, "x"), at(whole, "x") + at(whole, "width")) == pytest.approx((place(0), place(1)))
    assert "not tried" in words(estimates_picture(log.verdict(attempts="all")))


def test_the_best_option_is_marked_and_stands_first():
    picture = estimates_picture(log_of([0.2, 0.9, 0.5], 900).verdict())
    assert [each.attrib["class"] for each in drawn(picture, "circle", "mean")] == ["mean best", "mean out", "mean out"]


def test_evidence_ends_at_the_line_where_an_option_is_out():
    report = log_of([0.9, 0.5, 0.3], 900).verdict(delta=0.01)
    picture = evidence_picture(report)
    (line,) = drawn(picture, "line", "threshold")
    courses, ends = drawn(picture, "polyline", "course"), drawn(picture, "circle", "end")
    assert (len(courses), len(ends)) == (3, 2)
    for course in courses:
        points = [tuple(map(float, point.split(","))) for point in course.attrib["points"].split()]
        crossed = [y <= at(line, "y1") + 0.05 for _, y in points]
        assert not any(crossed[:-1])
        assert sorted(x for x, _ in points) == [x for x, _ in points]
    assert sum(at(end, "cy") <= at(line, "y1") for end in ends) == 2
    assert any(word.startswith("out at 100, which is 1/delta") for word in words(picture))


def test_evidence_is_to_scale():
    report = log_of([0.9, 0.5], 300).verdict(delta=0.01)
    picture = evidence_picture(report)
    (line,) = drawn(picture, "line", "threshold")
    powers = dict(zip(("0.1", "1", "10", "100"), drawn(picture, "line", "grid"), strict=True))
    one, ten = at(powers["1"], "y1"), at(powers["10"], "y1")
    assert at(line, "y1") == pytest.approx(one + 2 * (ten - one), abs=0.05)
    option = report.log.number_of("b")
    course = (
        next(each for each in drawn(picture, "polyline", "course") if "c1" in each.attrib["class"])
        .attrib["points"]
        .split()
    )
    for (_, evidence), point in list(zip(report.course, course, strict=False))[:-1]:
        assert float(point.split(",")[1]) == pytest.approx(one + evidence[option] * (ten - one), abs=0.05)


def test_there_is_no_picture_of_evidence_that_is_not_kept():
    log = log_of([0.9, 0.5], 300)
    assert evidence_picture(log.verdict(lb.UniformSampling(samples=50))) is None


def test_of_many_options_the_first_lines_have_names():
    means = np.linspace(0.2, 0.9, 12)
    picture = evidence_picture(log_of(means.tolist(), 800).verdict())
    assert len(drawn(picture, "polyline", "course")) == 12
    assert "7 others" in words(picture)


def test_drift_is_marked_where_it_begins_and_is_to_scale():
    log = log_of([0.9, 0.5], 4000, since=3000, then=[0.6, 0.5])
    (alarm,) = [alarm for alarm in log.verdict().alarms if alarm.kind == "drift"]
    picture = alarm_picture(log, alarm)
    (mark,) = drawn(picture, "line", "threshold")
    points = [
        tuple(map(float, each.split(","))) for each in drawn(picture, "polyline", "rate")[0].attrib["points"].split()
    ]
    left, right = LEFT + 34, RIGHT - 4
    assert at(mark, "x1") == pytest.approx(left + alarm.since / 4000 * (right - left), abs=0.05)
    rates = rates_over_time(log, log.number_of("a"))
    assert len(points) == len(rates)
    grid = [at(each, "y1") for each in drawn(picture, "line", "grid")]
    values = [float(word) for word in words(picture)[: len(grid)]]
    slope = (grid[-1] - grid[0]) / (values[-1] - values[0])
    for (x, y), (begin, end, rate) in zip(points, rates, strict=True):
        assert x == pytest.approx(left + (begin + end) / 2 / 4000 * (right - left), abs=0.05)
        assert y == pytest.approx(grid[0] + (rate.mean - values[0]) * slope, abs=0.05)


def test_rates_over_time_count_every_first_attempt_once():
    log = log_of([0.9, 0.5, 0.2], 500)
    for option in range(3):
        found = rates_over_time(log, option)
        first = log.first[log.option[log.first] == option]
        assert sum(rate.attempts for *_, rate in found) == first.size
        assert sum(rate.successes for *_, rate in found) == log.success[first].sum()
        assert [end for _, end, _ in found][:-1] == [begin for begin, *_ in found][1:]
    assert rates_over_time(Attempts.from_plays([(("a", "b"), "b")] * 3), 1) == []


def test_two_rates_have_bars_and_limits_to_scale():
    log = log_of([0.9, 0.8, 0.6], 3000, difficulty=0.3)
    alarm = log.verdict().alarms[0]
    picture = alarm_picture(log, alarm)
    place = scale_of(picture)
    bars, limits = drawn(picture, "rect", "bar"), drawn(picture, "line", "limits")
    for number, rate in enumerate((alarm.before, alarm.after)):
        low, high = anytime_interval(rate.successes, rate.attempts)
        assert at(bars[number], "width") == pytest.approx(place(rate.mean) - place(0), abs=0.05)
        assert at(limits[3 * number], "x1") == pytest.approx(place(low), abs=0.05)
        assert at(limits[3 * number], "x2") == pytest.approx(place(high), abs=0.05)
    assert "as the first tried" in words(picture)


def test_the_order_shows_where_requests_end():
    log = log_of([0.9, 0.5, 0.4], 2000)
    order = log.verdict().order
    picture = order_picture(log, order)
    bars = [each for each in drawn(picture, "rect", "place") if at(each, "height") == 20]
    assert sum(at(each, "width") for each in bars) == pytest.approx(2 * (RIGHT - LEFT), abs=0.1)
    served = served_by_place(log)
    assert [at(each, "width") for each in bars[:3]] == pytest.approx(served * (RIGHT - LEFT), abs=0.05)
    best = [each for each in bars if at(each, "y") > 60][:-1]
    assert sum(at(each, "width") for each in best) == pytest.approx(order.success * (RIGHT - LEFT), abs=0.1)


def test_names_are_text_whatever_they_are():
    log = log_of([0.9, 0.5, 0.4, 0.3], 900, labels=HOSTILE, since=600, then=[0.5, 0.5, 0.4, 0.3])
    report = log.verdict()
    markups = [estimates_picture(report), evidence_picture(report), order_picture(log, report.order)]
    markups += [alarm_picture(log, alarm) for alarm in report.alarms]
    for markup in markups:
        allowed = {"svg", "text", "title", "line", "rect", "circle", "polyline"}
        assert {each.tag.removeprefix(SVG) for each in ElementTree.fromstring(markup).iter()} <= allowed
    assert HOSTILE[0] in words(markups[0])


def test_long_names_are_shortened_and_whole_in_a_title():
    long = "x" * 200
    picture = estimates_picture(log_of([0.9, 0.5], 100, labels=[long, "b"]).verdict())
    assert max(len(word) for word in words(picture)) < pictures.LETTERS
    assert long in [each.text for each in ElementTree.fromstring(picture).iter(f"{SVG}title")]
