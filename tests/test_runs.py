"""The figures people ask of a set of runs, computed by hand."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.figures.style import COLOURS
from linkedbandits.intervals import share_interval

NEEDS_MATPLOTLIB = "matplotlib is missing; pip install 'linkedbandits[plot]'"
NEEDS_POLARS = "polars is missing; pip install 'linkedbandits[study]'"


@pytest.fixture
def runs():
    """Ten trials of three arms, two of which are equally good; one trial is wrong and two ran out."""
    return lb.Runs(
        means=np.array([0.5, 0.2, 0.5]),
        top=np.array([[0, 2, 0, 1, 0, 2, 0, 0, 2, 0]]).T,
        plays=np.arange(10, 110, 10),
        samples=np.tile([3, 2, 1], (10, 1)),
        confident=np.array([True] * 8 + [False] * 2),
    )


def test_status_tells_confidence_from_an_exhausted_budget(runs):
    assert runs.status.tolist() == ["confident"] * 8 + ["exhausted"] * 2


def test_any_of_several_best_arms_is_right(runs):
    assert np.flatnonzero(~runs.correct).tolist() == [3]
    assert runs.error_rate() == pytest.approx(0.1)


def test_so_is_an_arm_within_so_many_places_of_one():
    means = np.array([0.1, 0.2, 0.3, 0.1, 0.1, 0.3])
    top = np.arange(6)[:, np.newaxis]
    far = [
        np.flatnonzero(~lb.Runs(means, top, top, top, top > 0, neighbours=places).correct).tolist() for places in (0, 1)
    ]
    assert far == [[0, 1, 3, 4], [0]]


def test_the_summary_has_the_figures_of_the_runs(runs):
    summary = runs.summary()
    assert summary.trials == 10
    assert summary.plays_mean == 55
    assert summary.plays_standard_error == pytest.approx(np.sqrt(825 / 10))
    assert summary.plays_median == 55
    assert summary.plays_90 == pytest.approx(91)
    assert summary.samples_mean == 6
    assert summary.error_rate == pytest.approx(0.1)
    assert summary.error_interval == share_interval(1, 10)
    assert summary.confident == 0.8


def test_the_summary_becomes_plain_json(runs):
    data = json.loads(json.dumps(runs.summary().to_dict()))
    assert data["plays_mean"] == 55
    assert data["error_interval"] == list(share_interval(1, 10))


def test_plays_near_the_largest_count_do_not_overflow():
    many = np.full(100, 2**62)
    runs = lb.Runs(np.array([0.1, 0.1]), np.zeros((100, 1), int), many, np.tile(many[:, None], 2), many > 0)
    summary = runs.summary()
    assert summary.plays_mean == 2.0**62
    assert summary.samples_mean == 2.0**63


def test_the_k_best_are_right_as_a_set_in_any_order():
    means = np.array([0.9, 0.5, 0.5, 0.1])
    top = np.array([[0, 1], [2, 0], [1, 2], [0, 3]])
    runs = lb.Runs(means, top, np.ones(4, int), np.ones((4, 4), int), np.ones(4, bool))
    assert runs.correct.tolist() == [True, True, True, False]
    assert runs.arm.tolist() == [0, 2, 1, 0]


def test_within_the_tolerance_is_right():
    means = np.array([0.5, 0.4, 0.39])
    runs = lb.Runs(means, np.array([[0], [1], [2]]), np.ones(3, int), np.ones((3, 3), int), np.ones(3, bool), 0.1)
    assert runs.correct.tolist() == [True, True, False]


def test_with_costs_the_arm_with_most_successes_per_cost_is_right():
    means, top = np.array([0.5, 0.9, 0.3]), np.arange(3)[:, np.newaxis]
    right = [
        lb.Runs(means, top, top, top, top[:, 0] > 0, costs=costs).correct.tolist()
        for costs in ((), (1.0, 2.0, 1.0), (5.0, 9.0, 1.0))
    ]
    assert right == [[False, True, False], [True, False, False], [False, False, True]]


def test_of_arms_that_tie_per_cost_but_for_rounding_each_is_right():
    means, costs = np.array([0.3, 0.1, 0.2999]), (3.0, 1.0, 3.0)
    assert means[0] / costs[0] != means[1] / costs[1]
    top = np.arange(3)[:, np.newaxis]
    assert lb.Runs(means, top, top, top, top[:, 0] > 0, costs=costs).correct.tolist() == [True, True, False]


def test_a_thousand_trials_print_as_one_line_with_the_figures_people_ask_first():
    runs = lb.simulate([0.1, 0.6], lb.LinkedElimination(0.1), trials=1000, seed=1)
    assert re.fullmatch(
        r"Runs\(1,000 trials of linked-elimination on 2 arms, delta 0\.1: \d+ plays on average \(median \d+, nine "
        r"in ten within \d+\), [\d.]+ % wrong, 100 % confident\)",
        repr(runs),
    )
    assert f"{runs.plays.mean():.0f} plays on average" in repr(runs)


def test_runs_made_by_hand_say_what_is_known_of_them(runs):
    assert repr(runs) == (
        "Runs(10 trials on 3 arms: 55 plays on average (median 55, nine in ten within 91), 10 % wrong, 80 % confident)"
    )


def test_no_trials_have_no_figures():
    none = np.zeros(0, int)
    runs = lb.Runs(np.array([0.5, 0.2]), none[:, np.newaxis], none, np.zeros((0, 2), int), none > 0)
    assert repr(runs) == "Runs(0 trials on 2 arms)"
    assert "Runs: 0 trials on 2 arms" in runs._repr_html_()
    with pytest.raises(lb.InvalidParameter, match="no trial to draw"):
        runs.plot()


def test_a_simulation_says_whose_runs_they_are():
    runs = lb.simulate([0.1, 0.9], lb.LinkedHalving(20), trials=2)
    assert (runs.policy, runs.delta) == ("linked-halving", None)
    assert lb.simulate([0.1, 0.9], lb.LinkedElimination(0.2), trials=2).delta == 0.2


def test_a_summary_shows_rounded_numbers_and_keeps_the_others():
    summary = lb.Summary(
        1000, 1040.577, 14.12915, 971.5, 1646.0, 4889.3, 0.0010000000000000009, (2.5e-5, 0.00556), 1.0, 0.5
    )
    assert repr(summary) == (
        "Summary(trials=1000, plays_mean=1041.0, plays_standard_error=14.13, plays_median=971.5, plays_90=1646.0, "
        "samples_mean=4889.0, error_rate=0.001, error_interval=(2.5e-05, 0.00556), confident=1.0, proved=0.5)"
    )
    assert summary.error_rate == 0.0010000000000000009


def test_in_a_notebook_runs_and_summaries_are_tables(runs):
    for html in (runs._repr_html_(), runs.summary()._repr_html_()):
        assert "<td" in html
        assert "10 % (95 % interval: 0.25 % to 44.5 %)" in html
        assert "55 ± 9" in html
        assert ">80 %<" in html


def compared(runs, **names):
    return lb.Summaries({name: runs.summary() for name in names or {"one": 1, "<script>x": 2}}, delta=0.2)


def test_several_summaries_are_a_table_by_name(runs):
    table = compared(runs)
    assert list(table) == ["one", "<script>x"]
    assert len(table) == 2
    assert table["one"] == runs.summary()
    assert repr(table).splitlines() == [
        "policy      plays   median   90 %   wrong      (95 % interval)",
        "one            55       55     91    10 %   (0.25 % to 44.5 %)",
        "<script>x      55       55     91    10 %   (0.25 % to 44.5 %)",
    ]


def test_a_hostile_name_is_text_in_a_notebook(runs):
    html = compared(runs)._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;x" in html
    assert "2 policies, 10 trials each" in html


@pytest.mark.parametrize("wrong", [{}, {"one": 3}])
def test_what_is_no_summary_is_refused(wrong):
    with pytest.raises(lb.InvalidParameter, match=r"runs\.summary"):
        lb.Summaries(wrong)


def test_runs_as_a_frame_have_a_row_for_each_trial(runs):
    pytest.importorskip("polars", reason=NEEDS_POLARS)
    frame = runs.to_polars()
    assert frame.columns == [
        *["trial", "arm", "plays", "samples", "confident", "correct"],
        *["samples_0", "samples_1", "samples_2"],
    ]
    assert frame.row(3) == (3, 1, 40, 6, True, False, 3, 2, 1)
    assert frame.height == 10


def test_summaries_as_a_frame_have_a_row_for_each_policy(runs):
    pytest.importorskip("polars", reason=NEEDS_POLARS)
    frame = compared(runs).to_polars()
    summary = runs.summary()
    first = frame.to_dicts()[0]
    assert first["policy"] == "one"
    assert (first["error_low"], first["error_high"]) == summary.error_interval
    assert {name: first[name] for name in summary.to_dict() if name != "error_interval"} == {
        name: value for name, value in summary.to_dict().items() if name != "error_interval"
    }


def test_the_picture_of_runs_has_their_plays_and_the_share_that_is_wrong_against_delta(runs):
    pytest.importorskip("matplotlib", reason=NEEDS_MATPLOTLIB)
    told = lb.Runs(runs.means, runs.top, runs.plays, runs.samples, runs.confident, delta=0.2, policy="mine")
    plays, wrong = told.plot().axes
    assert plays.get_title(loc="left") == "10 trials of mine on 3 arms, delta 0.2"
    assert wrong.get_lines()[1].get_xdata()[0] == pytest.approx(0.1)
    assert [line.get_xdata()[0] for line in wrong.get_lines() if line.get_label().startswith("delta")] == [0.2]
    assert sum(bar.get_height() for container in plays.containers for bar in container) == 10


def test_the_picture_of_summaries_has_a_row_for_each_policy(runs):
    pytest.importorskip("matplotlib", reason=NEEDS_MATPLOTLIB)
    plays, wrong = compared(runs).plot().axes
    assert [label.get_text() for label in plays.get_yticklabels()] == ["one", "<script>x"]
    assert any(line.get_label() == "delta, 20 %" for line in wrong.get_lines())
    colours = {line.get_color() for line in plays.get_lines() if list(line.get_ydata())[:1] == [1]}
    assert colours == {COLOURS[1]}


@pytest.mark.parametrize("what", [lambda runs: runs, compared])
def test_pictures_can_go_into_axes_of_ones_own(runs, what):
    pytest.importorskip("matplotlib", reason=NEEDS_MATPLOTLIB)
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    assert what(runs).plot(ax=axes) is axes
    assert axes.get_xlabel() == "plays"


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_pictures_are_written_in_every_format(tmp_path, runs, ending):
    pytest.importorskip("matplotlib", reason=NEEDS_MATPLOTLIB)
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[ending]
    for name, figure in {"runs": runs.plot(), "several": compared(runs).plot()}.items():
        figure.savefig(tmp_path / f"{name}.{ending}")
        assert (tmp_path / f"{name}.{ending}").read_bytes().startswith(begins)


def test_without_matplotlib_the_extra_is_named(monkeypatch, runs):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(lb.MissingExtra, match=r"pip install 'linkedbandits\[plot\]'"):
        runs.plot()
