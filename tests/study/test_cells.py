"""Cells: keys and seeds that depend on what decides a trial, and on nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.study import Cell, Instance, Study
from linkedbandits.study.cells import DependentRequests

CELL = Cell(Instance("pair", np.array([0.1, 0.4])), "mine", lb.LinkedElimination(delta=0.1), "ordered", trials=100)

TABLE = lb.OutcomeTable([[1, 0], [0, 1], [0, 1], [0, 0]])


def with_requests(**identity):
    return Instance("pair", np.array([0.1, 0.4]), requests=DependentRequests(TABLE, identity))


CHANGES = {
    "means": {"instance": Instance("pair", np.array([0.1, 0.5]))},
    "name": {"instance": Instance("couple", np.array([0.1, 0.4]))},
    "label": {"label": "yours"},
    "policy": {"policy": lb.LinkedTrackAndStop(delta=0.1)},
    "parameter": {"policy": lb.LinkedElimination(delta=0.2)},
    "linkage": {"linkage": "free"},
    "max_plays": {"max_plays": 10},
    "requests": {"instance": with_requests(correlation=0.5)},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_decides_a_trial_is_in_the_key_and_the_seed(change):
    other = replace(CELL, **change)
    assert other.key != CELL.key
    assert other.seed(1).generate_state(4).tolist() != CELL.seed(1).generate_state(4).tolist()


def test_more_trials_are_more_of_the_same_cell():
    longer = replace(CELL, trials=1000)
    assert longer.key == CELL.key
    assert longer.seed(1).generate_state(4).tolist() == CELL.seed(1).generate_state(4).tolist()


def test_another_seed_of_the_study_is_another_seed_of_the_cell():
    assert CELL.seed(1).generate_state(4).tolist() != CELL.seed(2).generate_state(4).tolist()


def test_keys_are_safe_as_names_of_folders():
    cell = replace(CELL, instance=Instance("../x y/é", CELL.instance.means), label="a" * 300)
    assert "/" not in cell.key
    assert len(cell.key) < 150


def test_a_study_has_every_cell_once_and_at_least_one():
    with pytest.raises(lb.InvalidStudy, match=r"'mine' on 'pair' .* is there 2 times; leave one out, or give"):
        Study("s", 0, (CELL, replace(CELL)))
    with pytest.raises(lb.InvalidStudy, match="nothing to run"):
        Study("s", 0, ())


@pytest.mark.parametrize(
    "other", [{"instance": Instance("pair", np.array([0.2, 0.3, 0.4]))}, {"max_plays": 10}], ids=["means", "budget"]
)
def test_two_cells_that_a_figure_could_not_tell_apart_are_refused(other):
    with pytest.raises(lb.InvalidStudy, match="another name or the policy another label"):
        Study("s", 0, (CELL, replace(CELL, **other)))


def test_a_cell_that_could_not_be_run_is_refused():
    with pytest.raises(lb.InvalidParameter, match="k"):
        replace(CELL, policy=lb.LinkedElimination(delta=0.1, k=7))
    with pytest.raises(lb.InvalidParameter, match="max_plays"):
        replace(CELL, max_plays=0)


def test_a_policy_that_cannot_be_played_under_the_linkage_is_refused():
    with pytest.raises(lb.InvalidParameter):
        replace(CELL, policy=lb.SuffixUCB(delta=0.1), linkage="single")


def test_other_requests_are_another_cell():
    one, other = (replace(CELL, instance=with_requests(table=digest, options=["a", "b"])) for digest in ("x", "y"))
    assert one.key != other.key
    assert one.to_json()["requests"] == {"table": "x", "options": ["a", "b"]}


def test_cells_of_independent_arms_keep_the_keys_and_seeds_that_they_had():
    """Written down before cells could have requests of their own: finished trials are found by these."""
    assert CELL.key == "pair_mine_ordered_0.1_d91dd8324e"
    assert CELL.seed(1).generate_state(2).tolist() == [282726918, 2077674604]
    assert "requests" not in CELL.to_json()


def test_studies_cells_and_instances_print_what_they_are_of():
    assert repr(CELL.instance) == "Instance('pair', 2 arms)"
    assert repr(with_requests(table="x")) == "Instance('pair', 2 arms, which depend on each other)"
    assert repr(CELL) == "Cell('mine' on 'pair', ordered, delta 0.1, 100 trials)"
    other = replace(CELL, policy=lb.UniformSampling(samples=3), label="three")
    assert repr(other) == "Cell('three' on 'pair', ordered, 100 trials)"
    assert repr(Study("both", 7, (CELL, other))) == (
        "Study('both': 2 cells of 1 instance, 2 policies, 200 trials in all, seed 7)"
    )
