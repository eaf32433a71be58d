"""All figures of a study's results."""

from __future__ import annotations

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.bounds import characteristic_time
from linkedbandits.figures.style import COLOURS
from linkedbandits.study import read_study, run_study
from linkedbandits.study.chunks import run_chunk
from linkedbandits.study.figures import (
    SamplesPanel,
    draw_all,
    errors_by_delta,
    everything,
    plays_by_arms,
    plays_by_delta,
    samples_by_arm,
)

HEAD = "seed = 3\ntrials = 20\n"
POLICIES = '[[policies]]\npolicy = "linked-elimination"\n[[policies]]\npolicy = "uniform-sampling"\n'
SIZES = '[[instances]]\nscenario = "one-sparse"\narms = [2, 4]\n'
MEANS = '[[instances]]\nname = "mine"\nmeans = [0.3, 0.6]\n'


def results_of(text, path):
    return run_study(read_study(text), path, engine=lambda chunks: ((chunk, run_chunk(chunk)) for chunk in chunks))


@pytest.fixture
def without_files(monkeypatch):
    """Figures are made and not rendered, which takes much longer; that all can be is seen once."""
    monkeypatch.setattr(everything, "save", lambda figure, path: None)


def kinds(files):
    assert {path.suffix for path in files} == {".png", ".svg", ".pdf"}
    return {path.stem for path in files}


@pytest.mark.slow
def test_a_study_with_sizes_and_deltas_has_every_figure(tmp_path, monkeypatch):
    monkeypatch.setattr(everything, "PANELS_A_PAGE", 1)
    monkeypatch.setattr(everything, "MOST_PAGES", 1)
    results = results_of(f"{HEAD}deltas = [0.2, 0.05]\n{SIZES}{POLICIES}", tmp_path / "results")
    files = draw_all(results, tmp_path / "new" / "figures")
    assert kinds(files) == {"plays-by-arms", "plays-by-delta", "errors-by-delta", "samples-by-arm", "arms-still-in"}
    assert all(path.stat().st_size > 1000 for path in files)


def test_figures_without_data_are_not_drawn(tmp_path, without_files):
    effort = '[[policies]]\npolicy = "uniform-sampling"\nparameters = { samples = 5 }\n'
    results = results_of(f"{HEAD}{MEANS}{effort}", tmp_path / "results")
    assert kinds(draw_all(results, tmp_path)) == {"samples-by-arm"}
    one_size_one_delta = results_of(f"{HEAD}{MEANS}{POLICIES}", tmp_path / "one")
    assert kinds(draw_all(one_size_one_delta, tmp_path)) == {"samples-by-arm", "arms-still-in"}
    tied = results_of(f"{HEAD}[[instances]]\nmeans = [0.5, 0.5]\n{effort}", tmp_path / "tied")
    assert draw_all(tied, tmp_path) == []


def test_many_panels_go_on_pages_and_what_is_left_out_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(everything, "PANELS_A_PAGE", 1)
    monkeypatch.setattr(everything, "MOST_PAGES", 2)
    drawn = []
    monkeypatch.setattr(everything, "save", lambda figure, path: drawn.append((path.name, figure._supxlabel)))
    panels = [(number,) for number in range(3)]

    class Page:
        _supxlabel = None

        def __init__(self, page):
            self.page = page

        def supxlabel(self, text, **_):
            self._supxlabel = text

    stale = tmp_path / "x-2.png"
    files = everything._pages(tmp_path, "x", panels, Page)
    assert [path.name for path in files] == ["x.png", "x.svg", "x.pdf", "x-2.png", "x-2.svg", "x-2.pdf"]
    assert {note for _, note in drawn} == {"the first 2 of 3 panels are drawn"}
    stale.touch()
    everything._pages(tmp_path, "x", panels[:1], Page)
    assert not stale.exists()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    results = results_of(f"{HEAD}{MEANS}{POLICIES}", tmp_path / "results")
    (tmp_path / "file").touch()
    with pytest.raises(lb.CannotWrite, match=r"the folder .*file/figures cannot be made: .*; name another"):
        draw_all(results, tmp_path / "file" / "figures")


def test_what_would_be_best_is_not_drawn_where_arms_depend_on_each_other(tmp_path, without_files):
    deltas = "deltas = [0.2, 0.05]\n"
    policy = '[[policies]]\npolicy = "linked-elimination"\n'
    together, apart = (
        results_of(f"{HEAD}{deltas}{MEANS}correlation = {correlation}\n{policy}", tmp_path / f"results-{correlation}")
        for correlation in (0.5, 0)
    )
    assert kinds(draw_all(together, tmp_path / "together")) == {"plays-by-delta", "errors-by-delta", "arms-still-in"}
    assert "samples-by-arm" in kinds(draw_all(apart, tmp_path / "apart"))


def test_policies_that_look_for_most_successes_per_cost_have_a_panel_of_their_own(tmp_path):
    costs = '[[policies]]\npolicy = "linked-elimination"\nparameters = { costs = [1, 9] }\n'
    results = results_of(f"{HEAD}{MEANS}{POLICIES}{costs}", tmp_path / "results")
    panels = list(everything._samples(results, results.cells))
    assert [panel.title for panel in panels] == [
        "mine (ordered, delta 0.1)",
        "mine, most successes per cost 1/9 (ordered, delta 0.1)",
    ]
    assert [panel.time.best for panel in panels] == [(1,), (0,)]


def colours_of(figure, label):
    return {line.get_color() for axes in figure.axes for line in axes.get_lines() if line.get_label() == label}


def test_a_policy_has_one_colour_in_all_figures(tmp_path, monkeypatch):
    """The first policy of the study has no place in some figures, and the second keeps its colour there."""
    drawn = {}
    monkeypatch.setattr(everything, "save", lambda figure, path: drawn.setdefault(path.stem, figure))
    first = '[[policies]]\npolicy = "uniform-sampling"\nlabel = "effort"\nparameters = { samples = 5 }\n'
    second = '[[policies]]\npolicy = "linked-elimination"\nlabel = "mine"\n'
    results = results_of(f"{HEAD}deltas = [0.2, 0.05]\n{SIZES}{first}{second}", tmp_path / "results")
    monkeypatch.setattr(everything, "PANELS_A_PAGE", 1)
    draw_all(results, tmp_path)
    with_it = {name: colours for name, figure in drawn.items() if (colours := colours_of(figure, "mine"))}
    assert {name.removesuffix("-2").removesuffix("-3") for name in with_it} >= {
        *("plays-by-arms", "plays-by-delta", "errors-by-delta", "samples-by-arm", "arms-still-in")
    }
    assert all(colours == {COLOURS[1]} for colours in with_it.values())
    table = results.table().filter(results.table()["policy"] == "mine")
    panel = SamplesPanel("alone", characteristic_time([0.1, 0.2]), {"mine": np.array([0.5, 0.5])})
    for alone in (
        plays_by_arms(table, ["effort", "mine"]),
        plays_by_delta(table, ["effort", "mine"]),
        errors_by_delta(table, ["effort", "mine"]),
        samples_by_arm([panel], ["effort", "mine"]),
    ):
        assert colours_of(alone, "mine") == {COLOURS[1]}


def test_a_policy_without_a_delta_is_in_the_figures_over_delta(tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(everything, "save", lambda figure, path: drawn.setdefault(path.stem, figure))
    effort = '[[policies]]\npolicy = "uniform-sampling"\nlabel = "fixed"\nparameters = { samples = 5 }\n'
    draw_all(results_of(f"{HEAD}deltas = [0.2, 0.05]\n{MEANS}{POLICIES}{effort}", tmp_path / "results"), tmp_path)
    for name in ("plays-by-delta", "errors-by-delta"):
        assert any("fixed" in text.get_text() for text in drawn[name].legends[0].get_texts())


def test_the_figure_of_arms_still_in_names_policies_that_take_none_out(tmp_path, monkeypatch):
    said = {}

    def kept(figure, path):
        said[path.name] = [text.get_text() for legend in figure.legends for text in legend.get_texts()]

    monkeypatch.setattr(everything, "save", kept)
    results = results_of(HEAD + MEANS + POLICIES, tmp_path)
    draw_all(results, tmp_path / "figures")
    assert "uniform-sampling: takes no arm out" in said["arms-still-in.png"]
    assert "linked-elimination" in said["arms-still-in.png"]
