"""Results read back agree with simulate, trial by trial and in sum."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.assumptions import ToldDifference
from linkedbandits.bounds import BoundAsTold
from linkedbandits.study import Cell, Instance, Study, load_study, open_results, read_study, run_study
from linkedbandits.study import results as results_module
from linkedbandits.study.results import bound_as_told, lower_bound
from tests.support.small_study import in_this_process, small_study

STUDY = small_study()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_study(STUDY, tmp_path_factory.mktemp("results"), engine=in_this_process)


def test_every_cell_has_the_figures_of_simulate(results):
    table = {row["cell"]: row for row in results.table().to_dicts()}
    assert table.keys() == {cell.key for cell in STUDY.cells}
    for cell in STUDY.cells:
        runs = lb.simulate(
            cell.instance.means,
            cell.policy,
            linkage=cell.linkage,
            world=cell.instance.law,
            trials=cell.trials,
            seed=cell.seed(STUDY.seed),
        )
        summary, row, trials = runs.summary(), table[cell.key], results.trials(cell.key)
        assert trials["plays"].to_list() == runs.plays.tolist()
        assert trials["samples"].to_list() == runs.samples.tolist()
        assert trials["trial"].to_list() == list(range(cell.trials))
        assert row["plays_mean"] == pytest.approx(summary.plays_mean, rel=1e-12)
        assert row["plays_high"] - row["plays_mean"] == pytest.approx(1.96 * summary.plays_standard_error, rel=2e-3)
        assert (row["plays_median"], row["plays_90"]) == (summary.plays_median, summary.plays_90)
        assert (row["error_rate"], row["confident"]) == (pytest.approx(summary.error_rate), summary.confident)
        assert (row["error_low"], row["error_high"]) == summary.error_interval
        assert row["sure_and_wrong"] == pytest.approx(float((runs.confident & ~runs.correct).mean()))
        assert (row["instance"], row["arms"], row["trials"]) == (cell.instance.name, cell.instance.means.size, 300)
        if cell.delta is None or cell.instance.law is not None:  # the bound is for independent arms
            assert row["lower_bound"] is None
        else:
            assert row["lower_bound"] == pytest.approx(lb.bounds.lower(cell.instance.means, cell.delta, cell.linkage))


def test_traces_say_when_arms_left(results):
    cell = STUDY.cells[0]
    trace = results.trace(cell.key)
    assert trace.columns == ["trial", "plays", "arms_in"]
    assert trace["trial"].n_unique() == 64
    last = trace.group_by("trial", maintain_order=True).last()
    assert last["plays"].to_list() == results.trials(cell.key)["plays"][:64].to_list()
    assert set(last["arms_in"]) == {1}


def test_what_is_missing_is_counted_and_the_rest_is_shown(results, tmp_path):
    def first_only(chunks):
        yield next(iter(in_this_process(chunks)))

    partial = run_study(STUDY, tmp_path, engine=first_only)
    assert partial.table().height == 1
    (done,) = partial.table()["trials"]
    assert partial.missing_trials() == sum(cell.trials for cell in STUDY.cells) - done
    assert results.missing_trials() == 0
    with pytest.raises(lb.DamagedSave, match="no finished trials"):
        partial.trials(STUDY.cells[0].key)


def test_ties_have_no_lower_bound(tmp_path):
    text = (
        'trials = 5\nmax_plays = 100\n[[instances]]\nmeans = [0.5, 0.5]\n[[policies]]\npolicy = "linked-elimination"\n'
    )
    tied = run_study(small_study(text=text.replace("{", "{{")), tmp_path, engine=in_this_process)
    assert tied.table()["lower_bound"].to_list() == [None]


def test_a_table_with_late_families_and_one_trial_has_the_same_columns(tmp_path):
    alone = [
        Cell(Instance(f"pair {n}", np.array([0.1, 0.4])), "halving", lb.LinkedHalving(plays=9), "ordered", 1)
        for n in range(120)
    ]
    family = Cell(Instance("last", np.array([0.1, 0.4]), "late"), "mine", lb.LinkedElimination(delta=0.1), "ordered", 2)
    table = run_study(Study("s", 0, (*alone, family)), tmp_path, engine=in_this_process).table()
    assert table["family"].to_list() == [None] * 120 + ["late"]
    assert table["plays_high"].to_list()[:120] == [None] * 120
    assert table["delta"].to_list()[-1] == 0.1


def test_a_trial_that_is_there_twice_counts_once(tmp_path):
    """In chunks of two blocks and in chunks of one."""
    cell = next(cell for cell in small_study(600).cells if cell.instance.means.size == 100 and cell.delta is None)
    long, short = (
        run_study(Study("s", 5, (cell,)), tmp_path / str(blocks), engine=in_this_process, chunk_blocks=blocks)
        for blocks in (2, 1)
    )
    folder = long.path / "chunks" / cell.key
    for chunk in (short.path / "chunks" / cell.key).iterdir():
        shutil.copy(chunk, folder)
    names = sorted(chunk.name.split(".")[0] for chunk in folder.iterdir())
    assert names == ["0-256", "0-512", "256-512", "512-600"]
    assert open_results(long.path).table().equals(short.table())
    assert long.missing_trials() == 0


def test_a_damaged_file_is_named_and_not_used(results, tmp_path):
    copy = shutil.copytree(results.path, tmp_path / "copy")
    path = next(copy.rglob("*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(lb.DamagedSave, match=f"{path.name} is damaged; run the study again"):
        open_results(copy).table()
    again = run_study(STUDY, copy, engine=in_this_process)
    assert again.table().equals(results.table())
    assert open_results(copy).table().equals(results.table())


def test_a_correlation_of_zero_is_independence():
    cell = {"delta": 0.1, "means": [0.3, 0.6], "linkage": "free", "policy": {"parameters": {}}}
    bound = lower_bound(cell)
    assert bound == pytest.approx(lb.bounds.lower([0.3, 0.6], 0.1, "free"))
    assert lower_bound({**cell, "requests": {"correlation": 0.0}}) == bound
    assert lower_bound({**cell, "requests": {"correlation": 0.1}}) is None
    assert lower_bound({**cell, "requests": {"table": "0f", "options": ["a", "b"]}}) is None


def test_with_costs_the_lower_bound_is_that_of_most_successes_per_cost():
    text = """
    trials = 30
    [[instances]]
    means = [0.3, 0.8, 0.5]
    [[policies]]
    policy = "linked-elimination"
    parameters = { costs = [1, 9, 1] }
    """
    (cell,) = read_study(text).cells
    assert cell.policy == lb.LinkedElimination(0.1, costs=[1, 9, 1])
    assert lower_bound(cell.to_json()) == pytest.approx(lb.bounds.lower([0.3, 0.8, 0.5], 0.1, costs=[1, 9, 1]))


def test_a_policy_of_ones_own_is_measured_by_the_bound_for_those_who_are_told_nothing():
    cell = {
        "delta": 0.1,
        "means": [0.3, 0.6],
        "linkage": "free",
        "policy": {"name": "of-my-own", "parameters": {"delta": 0.1, "gap": 0.2}},
    }
    assert bound_as_told(cell) == BoundAsTold(lower_bound(cell))
    lead = {**cell, "policy": {"name": "linked-lead", "parameters": {"delta": 0.1, "gap": 0.2}}}
    told = ToldDifference(gap=0.2)
    assert bound_as_told(lead) == BoundAsTold(lb.bounds.lower([0.3, 0.6], 0.1, "free", gap=0.2), told)
    dependent = {**lead, "requests": {"correlation": 0.5}}
    assert bound_as_told(dependent) == BoundAsTold(None, told, "it is for independent options")


def test_paths_may_be_text(results, tmp_path):
    assert open_results(str(results.path)).table().equals(results.table())
    file = tmp_path / "mine.toml"
    file.write_text('trials = 2\n[[instances]]\nmeans = [0.2, 0.9]\n[[policies]]\npolicy = "linked-elimination"\n')
    ran = run_study(load_study(str(file)), str(tmp_path / "ran"), engine=in_this_process)
    assert ran.path == tmp_path / "ran"
    assert ran.table()["trials"].to_list() == [2]


def test_a_cell_that_is_not_there_is_answered_with_those_that_are(results):
    with pytest.raises(lb.LinkedBanditError, match="there is no cell 'mirrors'") as refused:
        results.trials("mirrors")
    of_it = [key for key, cell in results.cells.items() if cell["instance"] == "mirrors"]
    assert of_it
    assert all(key in str(refused.value) for key in of_it)
    assert not any(key in str(refused.value) for key in results.cells if key not in of_it)
    with pytest.raises(KeyError, match="the cells are") as refused:
        results.trace("no such")
    assert next(iter(results.cells)) in str(refused.value)


def test_the_example_of_studies_md_runs(tmp_path, monkeypatch, capsys):
    page = Path(__file__).parents[2] / "docs" / "studies.md"
    (block,) = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    run_study(small_study(trials=20), "mirrors-results", engine=in_this_process)
    exec(block, {})
    assert capsys.readouterr().out.startswith("linked-elimination ")


def test_results_are_a_frame_and_a_picture_with_a_row_for_each_cell(results, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    table = results.table()
    assert results.to_polars()["plays_mean"].to_list() == table["plays_mean"].to_list()
    figure = results.plot()
    left, right = figure.axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert len(set(names)) == table.height == len(right.get_yticklabels())
    colour_of = {}
    for row, marked in zip(table.to_dicts(), left.get_lines()[3::4], strict=False):
        assert list(marked.get_xdata()) == [row["plays_mean"]]
        assert colour_of.setdefault(row["policy"], marked.get_color()) == marked.get_color()
    assert len(set(colour_of.values())) == len(colour_of) > 1
    assert results.plot(ax=left) is left
    figure.savefig(tmp_path / "cells.pdf")
    assert (tmp_path / "cells.pdf").stat().st_size > 1000


def test_a_picture_of_many_cells_says_how_many_are_drawn(results, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is missing; pip install 'linkedbandits[plot]'")
    monkeypatch.setattr(results_module, "MOST_DRAWN", 2)
    figure = results.plot()
    assert len(figure.axes[0].get_yticklabels()) == 2
    assert figure._supxlabel.get_text().startswith("the first 2 of ")


def test_in_a_notebook_names_are_listed_as_people_do(results, monkeypatch):
    assert "[&#x27;" not in results._repr_html_()
    monkeypatch.setattr(results_module, "MOST_SHOWN", 1)
    assert ", and " in results._repr_html_()
