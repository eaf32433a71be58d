"""``linkedbandits delete``."""

from __future__ import annotations

from contextlib import closing

import pytest

from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal, run, run_json
from tests.support.service_parts import create
from tools.waiting import SECONDS


@pytest.fixture
def store(tmp_path):
    return str(tmp_path / "experiments.sqlite3")


@pytest.fixture
def experiments(store):
    """Two that are archived and one that runs."""
    with closing(open_store(store)) as opened, Desk(opened) as desk:
        made = [create(desk) for _ in range(3)]
        for experiment in made[:2]:
            desk.ask(experiment, 5).result(SECONDS)
            desk.set_status(experiment, "archived").result(SECONDS)
    return made


def left_in(store):
    with closing(open_store(store)) as opened, opened.reading() as reading:
        return {record.id for record in reading.records()}, reading._rows("SELECT COUNT(*) FROM journal")[0][0]


def test_those_named_are_deleted_or_none(store, experiments):
    first, second, running = experiments
    assert "archive it first" in refusal("delete", first, running, "--store", store)
    assert left_in(store) == (set(experiments), 4)
    said = run("delete", first, first, "--store", store)
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith(f"Deleted {first}: ")
    assert left_in(store) == ({second, running}, 2)
    assert run_json("delete", second, running, "--force", "--store", store)["deleted"] == [second, running]
    assert left_in(store) == (set(), 0)
    entries = run_json("audit", "--store", store, "--action", "delete")
    assert {entry["subject"] for entry in entries} == set(experiments)
    assert {entry["by"]["kind"] for entry in entries} == {"command-line"}


def test_what_is_not_there_is_refused_and_no_store_is_made(store, experiments, tmp_path):
    assert "there is no experiment 'x'" in refusal("delete", "x", "--store", store)
    assert "with --store" in refusal("delete", "x", "--store", str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()
