"""``linkedbandits backup``."""

from __future__ import annotations

import os
from contextlib import closing, contextmanager

import pytest

from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal, run, run_json
from tests.support.service_parts import create
from tools.waiting import SECONDS


@pytest.fixture
def store(tmp_path):
    path = str(tmp_path / "experiments.sqlite3")
    with closing(open_store(path)) as opened, Desk(opened) as desk:
        experiment = create(desk)
        desk.ask(experiment, 5).result(SECONDS)
    return path


def test_it_says_what_is_in_the_file(store, tmp_path):
    file = str(tmp_path / "backup.sqlite3")
    result = run("backup", file, "--store", store)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith(f"{file}: 1 experiments (1 running), 1 journal entries, up to 20")
    assert result.stdout.endswith("bytes, checked.\n")
    again = run_json("backup", file, "--store", store, "--overwrite")
    assert (again["backup"], again["experiments"], again["removed"]) == (file, {"running": 1}, [])


def test_a_folder_gets_files_named_by_the_time_and_the_oldest_go(store, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    for name in ("linkedbandits-20200101T000000Z.sqlite3", "linkedbandits-20210101T000000Z.sqlite3", "mine.sqlite3"):
        (folder / name).touch()
    made = run_json("backup", str(folder), "--store", store, "--keep", "2")
    assert made["removed"] == [str(folder / "linkedbandits-20200101T000000Z.sqlite3")]
    left = sorted(path.name for path in folder.iterdir())
    assert left[0] == "linkedbandits-20210101T000000Z.sqlite3"
    assert made["backup"] == str(folder / left[1])
    assert left[2:] == ["mine.sqlite3"]


def test_refusals_name_the_remedy(store, tmp_path):
    file = str(tmp_path / "there.sqlite3")
    run("backup", file, "--store", store)
    assert "--overwrite" in refusal("backup", file, "--store", store)
    assert "name one instead of a file" in refusal("backup", str(tmp_path / "new"), "--store", store, "--keep", "3")
    nowhere = tmp_path / "nowhere.sqlite3"
    assert "there is no file" in refusal("backup", str(tmp_path / "new"), "--store", str(nowhere))
    assert not nowhere.exists()
    assert not (tmp_path / "new").exists()


@contextmanager
def without_privileges():
    """As a user whom permissions are for, also where tests run as root."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65_534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
@pytest.mark.parametrize("rights", [0o000, 0o500], ids=["closed", "read-only"])
def test_a_folder_without_permission_is_refused_with_the_remedy(store, tmp_path, rights):
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(rights)
    for name in ("", "backup.sqlite3"):
        with without_privileges():
            refused = refusal("backup", str(folder / name), "--store", store)
        assert "cannot be written to: you have no permission for it; name a file elsewhere" in refused
    folder.chmod(0o700)
    assert list(folder.iterdir()) == []


def test_a_place_behind_a_file_is_refused_with_the_remedy(store):
    refused = refusal("backup", f"{store}/backup.sqlite3", "--store", store)
    assert "a part of its path is no folder; name a file elsewhere" in refused
