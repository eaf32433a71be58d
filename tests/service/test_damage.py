"""Damage to what is on record of one experiment: it is shown as damaged, with what to do, and hides no other."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store import open_store
from linkedbandits.service.store_errors import DamagedRecord
from tests.support.event_streams import rows_of_list
from tests.support.problem_documents import check_problem
from tests.support.running_service import running_service
from tests.support.service_parts import create

DAMAGED = "urn:linkedbandits:damaged-record"
POLICIES = (
    "{}",
    '{"name": "linked-elimination"}',
    "null",
    '{"name": [], "parameters": {}}',
    '{"name": "x", "parameters": 5}',
)
DAMAGES = {
    "no JSON": "UPDATE experiments SET setup = '{\"arms\": [' WHERE id = ?",
    "another JSON": "UPDATE experiments SET setup = '[]' WHERE id = ?",
    "an unknown policy": "UPDATE experiments SET setup = replace(setup, 'linked-elimination', 'guessing') WHERE id = ?",
    "no policy": """UPDATE experiments SET setup = replace(setup, '"policy": {', '"policy": 5, "x": {') WHERE id = ?""",
    **{
        f"policy {policy}": f"""UPDATE experiments SET setup = '{{"arms": ["a"], "policy": {policy}}}' WHERE id = ?"""
        for policy in POLICIES
    },
    "a parameter of another type": "UPDATE experiments SET setup = replace(setup, '0.05', '[1]') WHERE id = ?",
    "a linkage of another type": """UPDATE experiments SET setup = replace(setup, '"ordered"', '{}') WHERE id = ?""",
    "parameters of no policy": "UPDATE experiments SET setup = replace(setup, 'delta', 'delto') WHERE id = ?",
    "an unknown status": "UPDATE experiments SET status = 'sleeping' WHERE id = ?",
    "a journal that is no JSON": "UPDATE journal SET body = 'x' WHERE experiment = ?",
}
IN_THE_RECORD = {"no JSON", "another JSON", "no policy", "an unknown status", "a linkage of another type"} | {
    f"policy {policy}" for policy in POLICIES
}
"""What is seen without opening the experiment."""


def test_damaged_records_hide_no_other(store_url):
    """In the list, its stream, the metrics, when leases are looked at, and when the service is started."""
    with closing(open_store(store_url)) as store:
        with Desk(store) as desk:
            sound, *damaged = (create(desk) for _ in range(1 + len(DAMAGES)))
            for experiment in (sound, *damaged):
                desk.ask(experiment).result()
        with store.writing() as tables:
            tables._run("DELETE FROM snapshots")
            tables._run("DELETE FROM answers")
            for experiment, statement in zip(damaged, DAMAGES.values(), strict=True):
                tables._run(statement, experiment)
    with running_service(store_url) as service:
        listed = service.http.get("/v1/experiments").json()
        shown = {one["id"]: one["detail"] for one in listed["damaged"]}
        assert {one["id"] for one in listed["experiments"]} | set(shown) == {sound, *damaged}
        named = set(shown)
        assert {list(DAMAGES)[damaged.index(one)] for one in named} == IN_THE_RECORD
        assert all("restore the store from a backup" in detail for detail in shown.values())
        rows = rows_of_list(service)
        shown = {name: row["status"] for name, row in rows.items()}
        assert shown == {sound: "running"} | dict.fromkeys(damaged, "damaged")
        assert all("restore the store from a backup" in rows[name]["detail"] for name in damaged)
        for one in damaged:
            read = service.http.get(f"/v1/experiments/{one}")
            if one in named:
                check_problem(read, 500, DAMAGED)
            else:
                assert read.status_code == 200
            for verb, body in (("ask", {}), ("tell", {"answers": [{"play": 0, "hit": None}]})):
                problem = check_problem(service.post(one, verb, body), 500, DAMAGED)
                assert one in problem["detail"]
                assert "restore the store from a backup" in problem["detail"]
            check_problem(service.http.get(f"/v1/experiments/{one}/view"), 500, DAMAGED)
        assert service.post(sound, "ask", {}).status_code == 200
        assert service.server.service.desk.expire().result() == 0
        for path in ("/metrics", "/readyz", f"/v1/experiments/{sound}/view"):
            assert service.http.get(path).status_code == 200


def zero_pages(path, table, key, experiment, others):
    """Zero the pages of a table that have rows of this experiment and of no others, as a disk might; how many?"""
    with closing(sqlite3.connect(path)) as file:
        (size,) = file.execute("PRAGMA page_size").fetchone()
        (root,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        (pages,) = file.execute("PRAGMA page_count").fetchone()
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    zeroed = 0
    with path.open("r+b") as raw:
        for page in range(1, pages):
            raw.seek(page * size)
            content = raw.read(size)
            # Leaves of tables begin with 13, those of tables without row numbers with 10.
            if page + 1 == root or content[0] not in (13, 10) or key not in content:
                continue
            if experiment.encode() in content and not any(other.encode() in content for other in others):
                raw.seek(page * size)
                raw.write(bytes(size))
                zeroed += 1
    return zeroed


def fill(path, experiments=12):
    """Experiments in the order of their identifiers; the first and the last have journals of some pages."""
    with closing(SqliteStore(path)) as store, Desk(store, snapshot_every=10**9) as desk:
        arms = tuple(f"arm {number} {'x' * 90}" for number in range(30))
        names = sorted(create(desk, arms=arms) for _ in range(experiments))
        for experiment in (names[0], names[-1]):
            for _ in range(150):
                desk.ask(experiment).result()
        return names


def test_zeroed_pages_of_a_journal_are_damage_and_not_a_reason_to_try_again(tmp_path):
    path = tmp_path / "a.sqlite"
    names = fill(path, experiments=6)
    sound, damaged = names[0], names[-1]
    with closing(SqliteStore(path)) as store, store.writing() as tables:
        tables._run("DELETE FROM snapshots")
    assert zero_pages(path, "journal", b'"first":', damaged, names[:-1]) > 1
    with running_service(str(path)) as service:
        problem = check_problem(service.post(damaged, "ask", {}), 500, DAMAGED)
        assert "restore the store from a backup" in problem["detail"]
        assert service.post(sound, "ask", {}).json()["plays"][0]["id"] == 150
        listed = service.http.get("/v1/experiments").json()
        assert {one["id"] for one in listed["experiments"]} == set(names)
        shown = {name: row["status"] for name, row in rows_of_list(service).items()}  # who is beside it may be hit, too
        assert (shown[sound], shown[damaged]) == ("running", "damaged")


def test_zeroed_pages_of_the_experiments_hide_those_on_them_alone(tmp_path):
    path = tmp_path / "a.sqlite"
    names = fill(path)
    assert zero_pages(path, "experiments", b"linked-elimination", names[5], names[-1:]) == 1
    with running_service(str(path)) as service:
        listed = service.http.get("/v1/experiments").json()
        lost = {one["id"] for one in listed["damaged"]}
        assert names[5] in lost
        assert names[-1] not in lost
        assert lost | {one["id"] for one in listed["experiments"]} == set(names)
        rows = rows_of_list(service)
        assert rows.keys() == set(names)
        assert {name for name, row in rows.items() if row["status"] == "damaged"} == lost
        check_problem(service.post(names[5], "ask", {}), 500, DAMAGED)
        assert service.post(names[-1], "ask", {}).status_code == 200


def test_damage_that_is_met_while_writing_costs_the_others_of_a_group_nothing(store, monkeypatch):
    from linkedbandits.service.hosted import HostedExperiment
    from tests.support.service_parts import held_up

    write = HostedExperiment.write
    with Desk(store) as desk:
        damaged, sound = create(desk), create(desk)

        def fail(self, tables, snapshot_every):
            if self.record.id == damaged:
                raise DamagedRecord("a bad page")
            write(self, tables, snapshot_every)

        monkeypatch.setattr(HostedExperiment, "write", fail)
        with held_up(desk, sound):
            futures = [desk.ask(damaged), desk.ask(sound)]
        assert isinstance(futures[0].exception(), lb.DamagedSave)
        assert futures[1].result().plays


def test_a_time_that_is_a_text_keeps_nobody_from_reading_the_others_where_pages_are_damaged(tmp_path):
    path = tmp_path / "a.sqlite"
    names = fill(path)
    with closing(SqliteStore(path)) as store, store.writing() as tables:
        tables._run("UPDATE experiments SET created_at = 'yesterday' WHERE id = ?", names[-1])
    assert zero_pages(path, "experiments", b"linked-elimination", names[5], names[-1:]) == 1
    with closing(SqliteStore(path)) as store, store.reading() as tables:
        heads, listed = tables.heads(), tables.listed()
        assert {head.id for head in heads} == {row.id for row in listed} == set(names)
        whole = [head.id for head in heads if head.head >= 0]
        assert whole[-1] == names[-1]
