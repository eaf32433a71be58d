"""Estimates of arms as tables and frames."""

from __future__ import annotations

import pickle

import pytest

import linkedbandits as lb
from linkedbandits.figures.options import Known
from linkedbandits.intervals import anytime_interval
from linkedbandits.live.estimates import Estimate, Estimates

THIRD = Estimate("<script>", 3, 1, 1 / 3, True)
NEW = Estimate("new", 0, 0, None, True)


def test_one_is_shown_rounded_and_keeps_its_digits():
    assert repr(THIRD) == "Estimate(arm='<script>', samples=3, successes=1, mean=0.3333, still_in=True)"
    assert THIRD.mean == 1 / 3


def test_limits_hold_at_all_times():
    assert THIRD.interval == anytime_interval(1, 3)
    assert NEW.interval == (0.0, 1.0)


def test_they_are_a_list_that_prints_as_a_table():
    estimates = Estimates([THIRD, NEW])
    assert estimates == [THIRD, NEW]
    assert pickle.loads(pickle.dumps(estimates)) == estimates
    assert repr(estimates).splitlines()[1:] == [
        "<script>   0.3333   0.0042 - 0.933         3           1        yes",
        "new             -            0 - 1         0           0        yes",
    ]


def test_a_part_of_them_is_a_table_too():
    assert type(Estimates([THIRD, NEW])[:1]) is Estimates
    assert Estimates([THIRD, NEW])[1] is NEW


def test_many_do_not_flood_the_screen():
    lines = repr(Estimates([THIRD] * 1000)).splitlines()
    assert len(lines) == 22
    assert lines[-1] == "and 980 more"


def test_labels_are_text_in_a_notebook():
    html = Estimates([THIRD])._repr_html_()
    assert "Estimates of 1 arm<" in html
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_for_a_picture_they_have_limits():
    assert Estimates([NEW]).known() == [Known("new", None, 0.0, 1.0, True)]


def test_as_a_frame_they_have_a_row_for_each_arm():
    pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")
    out = Estimate(7, 10, 0, 0.0, False)
    low, high = anytime_interval(1, 3)
    rows = Estimates([THIRD, NEW, out]).to_polars().rows()
    assert rows[0] == ("<script>", 3, 1, 1 / 3, low, high, True)
    assert rows[1] == ("new", 0, 0, None, 0.0, 1.0, True)
    assert rows[2][0] == "7"
    assert rows[2][-1] is False


def test_an_experiment_has_them():
    assert isinstance(lb.Experiment("ab").estimates(), Estimates)
