"""``linkedbandits restore``."""

from __future__ import annotations

from contextlib import closing

from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal, run, run_json
from tests.support.service_parts import create


def test_a_backup_is_brought_back_and_a_store_that_is_not_empty_is_kept(tmp_path):
    store, file = str(tmp_path / "experiments.sqlite3"), str(tmp_path / "backup.sqlite3")
    with closing(open_store(store)) as opened, Desk(opened) as desk:
        experiment = create(desk)
    assert run("backup", file, "--store", store).returncode == 0
    said = run("restore", file, "--store", str(tmp_path / "new.sqlite3"))
    assert said.stdout == (
        f"{tmp_path / 'new.sqlite3'}: 1 experiments (1 running), 0 journal entries, 0 tokens.\n"
        "Experiments that were deleted since the backup are there again.\n"
    )
    assert "--replace" in refusal("restore", file, "--store", store)
    found = run_json("restore", file, "--store", store, "--replace")
    assert found["kept"] == f"{store}.before-restore"
    (entry,) = run_json("audit", "--store", store, "--action", "restore")
    assert (entry["by"]["kind"], entry["details"]) == ("command-line", {"backup": "backup.sqlite3"})
    with closing(open_store(store)) as opened, opened.reading() as reading:
        assert reading.record(experiment).name == "test"


def test_it_says_that_revoked_tokens_count_again_and_can_leave_them_out(tmp_path):
    store, file = str(tmp_path / "experiments.sqlite3"), str(tmp_path / "backup.sqlite3")
    made = run_json("token", "create", "--name", "web1", "--store", store)
    run("backup", file, "--store", store)
    run("token", "revoke", made["id"], "--store", store)
    said = run("restore", file, "--store", store, "--replace").stdout
    assert "Its 1 tokens count, also those that were revoked since: 'linkedbandits token list'" in said
    assert [one["id"] for one in run_json("token", "list", "--store", store)] == [made["id"]]
    found = run_json("restore", file, "--store", store, "--replace", "--without-tokens")
    assert (found["tokens"], found["kept"]) == (0, f"{store}.before-restore-2")
    assert run_json("token", "list", "--store", store) == []


def test_what_is_no_backup_is_refused(tmp_path):
    assert "there is no file" in refusal("restore", str(tmp_path / "x"), "--store", str(tmp_path / "y"))
    assert not (tmp_path / "y").exists()
