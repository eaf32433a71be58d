"""The folder of results: whole files, damage found out, studies never mixed, and clear messages."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits.study import Instance, Study, open_results, read_study, run_study
from linkedbandits.study.folder import ResultsFolder
from tests.support.small_study import small_study

STUDY = small_study()
TABLE = pl.DataFrame({"trial": [0, 1], "plays": [5, 7]})
CELL = STUDY.cells[0].key


@pytest.fixture
def folder(tmp_path):
    made = ResultsFolder(tmp_path / "results")
    made.adopt(STUDY, merge=False)
    return made


def test_a_chunk_is_read_back_as_it_was_written(folder):
    folder.write_chunk(CELL, range(2), TABLE)
    (chunk,) = folder.chunks(CELL)
    assert chunk.lanes == range(2)
    assert pl.read_parquet(chunk.content()).equals(TABLE)


def test_a_damaged_chunk_is_set_aside(folder):
    folder.write_chunk(CELL, range(1024), TABLE)
    (chunk,) = folder.chunks(CELL)
    content = bytearray(chunk.path.read_bytes())
    content[len(content) // 2] ^= 1
    chunk.path.write_bytes(content)
    with pytest.raises(lb.DamagedSave, match="run the study again"):
        chunk.content()
    sound, damaged = folder.sound_chunks(CELL, 2048, 1024)
    assert (sound, [path.suffix for path in damaged]) == ([], [".damaged"])
    assert folder.chunks(CELL) == []


def test_half_a_block_of_a_shorter_study_is_not_used_by_a_longer_one(folder):
    folder.write_chunk(CELL, range(1000), TABLE)
    assert folder.sound_chunks(CELL, 1000, 1024) == ([range(1000)], [])
    assert folder.sound_chunks(CELL, 2000, 1024) == ([], [])


@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EACCES, errno.EDQUOT], ids=errno.errorcode.get)
def test_a_failing_disk_leaves_no_half_file_and_a_clear_message(folder, monkeypatch, failure):
    folder.write_chunk(CELL, range(2), TABLE)

    def fail(_descriptor):
        raise OSError(failure, os.strerror(failure))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(
        lb.CannotWrite, match=f"(?i)({os.strerror(failure)}|no permission).*every finished chunk is kept.*run the study"
    ):
        folder.write_chunk(CELL, range(2, 4), TABLE)
    assert [chunk.lanes for chunk in folder.chunks(CELL)] == [range(2)]
    assert not list(folder.path.rglob("*.unfinished"))


def test_a_place_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(lb.CannotWrite, match=r"results cannot be kept in .*; choose a folder"),
        ResultsFolder(tmp_path / "file" / "results").held(),
    ):
        pass


def test_two_runs_cannot_have_the_same_folder(folder):
    other = ResultsFolder(folder.path)
    with folder.held(), pytest.raises(lb.InvalidStudy, match="another run"), other.held():
        pass
    with other.held():
        pass


def changed(**changes) -> Study:
    return replace(STUDY, **changes)


def test_the_same_study_is_welcome_again(folder):
    folder.adopt(small_study(), merge=False)
    assert folder.resolved()["seed"] == 5
    assert folder.resolved()["library"] == lb.__version__


@pytest.mark.parametrize(
    ("study", "said"),
    [
        (changed(cells=STUDY.cells[1:]), "1 are gone"),
        (changed(cells=(*STUDY.cells, replace(STUDY.cells[0], label="more"))), "1 cells are new"),
        (changed(cells=(replace(STUDY.cells[0], trials=900), *STUDY.cells[1:])), "1 have more trials; pass --merge"),
    ],
    ids=["less", "more", "longer"],
)
def test_a_changed_study_is_refused_or_merged_by_name(folder, study, said):
    with pytest.raises(lb.InvalidStudy, match=said):
        folder.adopt(study, merge=False)
    assert [cell["key"] for cell in folder.resolved()["cells"]] == [cell.key for cell in STUDY.cells]
    folder.adopt(study, merge=True)
    merged = {cell["key"]: cell["trials"] for cell in folder.resolved()["cells"]}
    assert merged == {cell.key: cell.trials for cell in STUDY.cells} | {cell.key: cell.trials for cell in study.cells}


@pytest.mark.parametrize("merge", [False, True])
def test_what_cannot_be_merged_is_refused(folder, merge, monkeypatch):
    with pytest.raises(lb.InvalidStudy, match="seed 5, and this run has 6; use another folder"):
        folder.adopt(changed(seed=6), merge=merge)
    with pytest.raises(lb.InvalidStudy, match="ask for at least 300"):
        folder.adopt(changed(cells=(replace(STUDY.cells[0], trials=10),)), merge=merge)
    monkeypatch.setattr("linkedbandits.study.folder.__version__", "99.0")
    with pytest.raises(lb.InvalidStudy, match=r"library .* and this run has 99\.0"):
        folder.adopt(STUDY, merge=merge)


def test_a_folder_of_something_else_is_no_results(tmp_path):
    with pytest.raises(lb.DamagedSave, match="no folder of a study"):
        ResultsFolder(tmp_path).resolved()
    for damaged in ("{}", "[]", "{", '{"name": "x", "seed": 1, "library": "0", "cells": [{"key": "x"}]}'):
        (tmp_path / "study.json").write_text(damaged, encoding="utf-8")
        with pytest.raises(lb.DamagedSave, match="restore it from a copy, or remove it and run the study again"):
            ResultsFolder(tmp_path).resolved()


def test_cells_of_one_name_are_not_merged(folder):
    other = replace(STUDY.cells[0], instance=Instance(STUDY.cells[0].instance.name, np.array([0.5, 0.6])))
    with pytest.raises(lb.InvalidStudy, match=r"cannot take this study in: .*another name"):
        folder.adopt(changed(cells=(other,)), merge=True)


def test_a_chunk_that_cannot_be_read_is_set_aside_too(folder):
    folder.write_chunk(CELL, range(1024), TABLE)
    (chunk,) = folder.chunks(CELL)
    chunk.path.unlink()
    chunk.path.mkdir()
    with pytest.raises(lb.DamagedSave, match="cannot be read"):
        chunk.content()
    sound, damaged = folder.sound_chunks(CELL, 2048, 1024)
    assert (sound, len(damaged)) == ([], 1)


DATA = Path(__file__).parent / "data"


@pytest.fixture
def of_0_1_0(tmp_path):
    """A folder that an earlier commit of version 0.1.0 left behind, with its study and what its table was then."""
    shutil.copytree(DATA / "results_of_0_1_0", tmp_path / "results")
    study = read_study((DATA / "study.toml").read_text(encoding="utf-8"), name="then")
    return tmp_path / "results", study, json.loads((DATA / "study_table.json").read_text(encoding="utf-8"))


def nothing_to_run(chunks):
    assert list(chunks) == []
    yield from ()


def test_a_folder_of_the_same_version_opens_with_equal_results_and_goes_on(of_0_1_0, monkeypatch):
    path, study, table = of_0_1_0
    monkeypatch.setattr("linkedbandits.study.folder.__version__", "0.1.0")
    for results in (open_results(path), run_study(study, path, engine=nothing_to_run)):
        assert results.missing_trials() == 0
        for row, then in zip(results.table().to_dicts(), table, strict=True):
            assert row.keys() - then.keys() == {"bound_as_told", "told"}  # which came later
            assert all(
                row[key] == (pytest.approx(then[key]) if type(then[key]) is float else then[key]) for key in then
            )


def test_a_folder_of_another_version_can_be_read_and_is_refused_for_more_results(of_0_1_0, monkeypatch):
    path, study, table = of_0_1_0
    monkeypatch.setattr("linkedbandits.study.folder.__version__", "0.2.0")
    assert [row["plays_mean"] for row in open_results(path).table().to_dicts()] == [row["plays_mean"] for row in table]
    kept = sorted((file.name, file.read_bytes()) for file in path.rglob("*") if file.is_file() and file.name != "lock")
    for merge in (False, True):
        with pytest.raises(lb.InvalidStudy, match=r"results with library 0\.1\.0, and this run has 0\.2\.0; use ano"):
            run_study(study, path, engine=nothing_to_run, merge=merge)
    assert kept == sorted(
        (file.name, file.read_bytes()) for file in path.rglob("*") if file.is_file() and file.name != "lock"
    )
