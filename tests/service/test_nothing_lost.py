"""Processes that are killed, and processes that share an experiment; `make bench SECTION=nothing-lost` kills 400."""

from __future__ import annotations

from contextlib import closing

import pytest

from linkedbandits.service.store import open_store
from tools.kill_rounds import Nursery, Reported, Worker, check, create, rounds_of_kills


@pytest.mark.slow
def test_what_was_acknowledged_survives_a_kill(store_url):
    answers = list(rounds_of_kills(store_url, rounds=8, seed=1, rounds_each=4))[-1]
    assert answers > 100


@pytest.mark.slow
def test_two_processes_share_an_experiment_and_one_of_them_is_killed(store_url):
    with closing(open_store(store_url)) as store:
        experiment, reported = create(store), Reported()
        with Nursery() as nursery:
            nursery.run(store_url, [Worker(experiment, 1, killed_after=100), Worker(experiment, 2)], reported)
        assert check(store, experiment, reported) > 100
