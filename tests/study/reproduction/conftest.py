"""The paper's experiment on a few arms, run once, and its table."""

from __future__ import annotations

import pytest

from linkedbandits.study import Study, run_study
from linkedbandits.study.reproduction.grid import paper_study
from linkedbandits.study.reproduction.measures import measured_table
from tests.support.small_study import in_this_process

pl = pytest.importorskip("polars", reason="polars is missing; pip install 'linkedbandits[study]'")


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    whole = paper_study(seed=7, quick=True)
    small = Study(whole.name, whole.seed, tuple(cell for cell in whole.cells if cell.instance.means.size <= 5))
    return run_study(small, tmp_path_factory.mktemp("results"), engine=in_this_process)


@pytest.fixture(scope="session")
def table(results):
    return measured_table(results)


@pytest.fixture
def row():
    """A function that finds the row of a scenario, a number of arms and a policy."""

    def find(table, family, arms, policy):
        (found,) = table.filter(
            (pl.col("family") == family) & (pl.col("arms") == arms) & (pl.col("policy") == policy)
        ).to_dicts()
        return found

    return find
