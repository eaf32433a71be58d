"""``linkedbandits prune``."""

from __future__ import annotations

import time
from contextlib import closing

from linkedbandits.service.audit import SERVICE, new_entry
from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.command_line import refusal, run, run_json
from tests.support.service_parts import ManualClock, create
from tools.waiting import SECONDS

DAY = 86_400.0


def test_what_was_archived_long_ago_is_deleted_when_it_is_said_twice(tmp_path):
    store = str(tmp_path / "experiments.sqlite3")
    clock = ManualClock(time.time() - 100 * DAY)
    with closing(open_store(store)) as opened, Desk(opened, clock=clock) as desk:
        old, lately, running = (create(desk) for _ in range(3))
        desk.set_status(old, "archived").result(SECONDS)
        clock.now += 50 * DAY
        desk.set_status(lately, "archived").result(SECONDS)
    asked = run_json("prune", "--archived-before", "90d", "--store", store)
    assert ([one["id"] for one in asked["experiments"]], asked["done"]) == ([old], False)
    said = run("prune", "--archived-before", "90d", "--store", store)
    assert old in said.stdout
    assert "1 experiments would be deleted; nothing was. Add --yes" in said.stdout
    done = run("prune", "--archived-before", "90d", "--store", store, "--yes")
    assert "Deleted 1 experiments" in done.stdout
    with closing(open_store(store)) as opened, opened.reading() as reading:
        assert {record.id for record in reading.records()} == {lately, running}


def test_tags_that_come_later_do_not_make_it_archived_later(tmp_path):
    store = str(tmp_path / "experiments.sqlite3")
    clock = ManualClock(time.time() - 100 * DAY)
    with closing(open_store(store)) as opened, Desk(opened, clock=clock) as desk:
        experiment = create(desk)
        desk.set_status(experiment, "archived").result(SECONDS)
        archived_at = clock.now
        clock.now += 50 * DAY
        desk.set_tags(experiment, ["late"]).result(SECONDS)
    (found,) = run_json("prune", "--archived-before", "90d", "--store", store)["experiments"]
    assert (found["id"], found["archived_at"]) == (experiment, archived_at)


def test_the_audit_has_an_end_too(tmp_path):
    store = str(tmp_path / "experiments.sqlite3")
    with closing(open_store(store)) as opened, opened.writing() as writing:
        for days in (500, 10):
            writing.add_audit(new_entry("create", SERVICE, time.time() - days * DAY, f"{days}"))
    assert "and the audit from before" in run("prune", "--audit-before", "400d", "--store", store).stdout
    assert run_json("prune", "--audit-before", "400d", "--store", store, "--yes")["audit_entries"] == 1
    left = run_json("audit", "--store", store)
    assert [entry["action"] for entry in left] == ["prune-audit", "create"]


def test_refusals_name_the_remedy(tmp_path):
    store = str(tmp_path / "experiments.sqlite3")
    open_store(store).close()
    assert "--archived-before 90d" in refusal("prune", "--store", store)
    assert "90d, 12h" in refusal("prune", "--archived-before", "old", "--store", store)
