"""Experiments survive an upgrade: of the store's schema, and of the policy that they were played with."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack, closing, suppress
from dataclasses import replace

import numpy as np
import pytest

import linkedbandits as lb
from linkedbandits.live import saving
from linkedbandits.service.alarms import Record
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import journal_lines
from linkedbandits.service.migrations import SCHEMA_VERSION
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.records import Writer
from linkedbandits.service.store import open_store
from linkedbandits.service.view import read_standing, view_of
from linkedbandits.version import __version__
from tests.support.coin_flips import CoinFlipper
from tests.support.old_store import EXPECTED, make_old_store
from tests.support.service_parts import SETUP, ManualClock
from tools.uninterrupted import uninterrupted
from tools.waiting import SECONDS, killed_in_the_end

RACES = ["no snapshot", "a snapshot and a tail"]


@pytest.fixture
def store(store_url):
    with closing(open_store(store_url)) as store:
        yield store


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch):
    """What a policy asks is found out anew, though it is the same object: its constants change in these tests."""
    monkeypatch.setattr("linkedbandits.live.saving._remembered", saving._lead_through)


@pytest.fixture
def release(monkeypatch):
    """Call it to have another version of the library, in which the evidence race looks less often."""

    def change() -> None:
        monkeypatch.setattr("linkedbandits.policies.linked_elimination.GROWTH", 0.04)

    return change


@pytest.fixture
def as_version(monkeypatch):
    """Call it to be another version of the library."""

    def change(version: str) -> None:
        for module in ("live.run", "service.hosted", "service.creation"):
            monkeypatch.setattr(f"linkedbandits.{module}.__version__", version)

    return change


def standing(hosted) -> dict[str, object]:
    exp = hosted.experiment
    verdict = exp.recommend()
    return {
        "plays": exp.plays,
        "late": exp.late,
        "in_flight": exp.in_flight,
        "abandoned": hosted.abandoned,
        "status": hosted.status,
        "head": hosted.head,
        "counts": [list(row) for row in counts(hosted)],
        "verdict": [exp.done, verdict.arm, verdict.status, verdict.plays, verdict.error_bound, list(verdict.top)],
        "leases": list(hosted.leases),
    }


def counts(hosted) -> list[tuple[int, int]]:
    """Of all plays told, whatever is still out before them."""
    return [tuple(row) for row in np.transpose(hosted.experiment.samples_of_means()).tolist()]


def read(desk, experiment, function):
    return desk.read(experiment, function).result()


def play(desk, experiment: str, plays: int, means=(0.2, 0.5, 0.4), seed: int = 1) -> None:
    """In batches of ten, of which one play is given up and one stays out for a while."""
    coins, slow = CoinFlipper(means, seed), []
    arms = read(desk, experiment, lambda hosted: hosted.experiment.arms)
    while plays > 0:
        first, *others, lost = desk.ask(experiment, 10).result().plays
        desk.abandon(experiment, [lost.id]).result()
        told = [(each, coins.answer(lb.Play(each.id, tuple(map(arms.index, each.arms))))) for each in others + slow]
        desk.tell(experiment, [(each.id, None if hit is None else arms[hit]) for each, hit in told]).result()
        slow, plays = [first], plays - 10


def play_to_a_verdict(desk, experiment: str, best: str = "south") -> lb.Verdict:
    """Only the best works; what is out is told as well."""
    for out in read(desk, experiment, lambda hosted: list(hosted.leases)):
        desk.tell(experiment, [(out, None)]).result()
    with suppress(lb.ExperimentFinished):
        while True:
            plays = desk.ask(experiment, 50).result().plays
            desk.tell(experiment, [(each.id, best if best in each.arms else None) for each in plays]).result()
    return read(desk, experiment, lambda hosted: hosted.experiment.recommend())


@pytest.mark.parametrize("linkage", ["ordered", "single"])
@pytest.mark.parametrize("stopped", ["cleanly", "by a crash"])
def test_a_change_that_the_digest_does_not_see_is_found_in_the_journal(
    store, release, as_version, monkeypatch, stopped, linkage
):
    """The digest is of the first request alone here, and that is the same."""
    monkeypatch.setattr("linkedbandits.live.saving.REQUESTS_COMPARED", 1)
    with Desk(store) as desk:
        experiment = desk.create(replace(SETUP, linkage=linkage), "x").result().id
        play(desk, experiment, 300)
        before = read(desk, experiment, standing)
        old_state = read(desk, experiment, lambda hosted: hosted.experiment.state_as_json())
        asked = read(desk, experiment, lambda hosted: hosted.writer.asks)
        evidence = read(desk, experiment, lambda hosted: hosted.experiment.evidence())
    spent = 0.0
    if stopped == "by a crash":  # before the first snapshot
        forget_snapshots(store)
        evidence, spent = None, 0.05
    release()
    as_version("9.0.0")
    with Desk(store) as desk:
        hosted = read(desk, experiment, lambda hosted: hosted)
        assert hosted.writer[:2] == ("9.0.0", asked)
        assert counts(hosted) == [tuple(row[:2]) for row in before["counts"]]
        assert hosted.experiment.state_as_json() != old_state
        plays = before["plays"] - before["late"]
        assert hosted.experiment.upgrade == ("9.0.0", __version__, plays, evidence and tuple(evidence), spent)
        assert play_to_a_verdict(desk, experiment).status == "confident"


def test_an_upgrade_that_was_noted_is_not_noted_again_by_a_version_that_asks_the_same(store, release, as_version):
    """Though that replays the journal: without a policy up to the note, and play by play behind it."""
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 200)
    release()
    with Desk(store) as desk:
        play(desk, experiment, 100)
        upgrade = read(desk, experiment, lambda hosted: hosted.experiment.upgrade)
        seen = read(desk, experiment, standing)
        state = read(desk, experiment, lambda hosted: hosted.experiment.state_as_json())
    as_version("9.0.0")
    with Desk(store) as desk:
        assert read(desk, experiment, lambda hosted: hosted.experiment.upgrade) == upgrade is not None
        assert read(desk, experiment, standing) == seen
        assert read(desk, experiment, lambda hosted: hosted.experiment.state_as_json()) == state
        assert play_to_a_verdict(desk, experiment).status == "confident"
    with store.reading() as tables:
        assert [entry.kind for entry in tables.entries(experiment, 0)].count("upgrade") == 1


@pytest.mark.parametrize("requests_compared", [1, 60])
def test_looking_alone_notes_no_upgrade_and_hides_none(store, release, as_version, monkeypatch, requests_compared):
    """A desk that only looked writes no snapshot of what the journal does not say, whatever the digest says."""
    monkeypatch.setattr("linkedbandits.live.saving.REQUESTS_COMPARED", requests_compared)
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 200)
    release()
    as_version("9.0.0")
    for _ in range(2):
        with Desk(store) as desk:
            assert read(desk, experiment, lambda hosted: hosted.experiment.upgrade) is not None
    with Desk(store) as desk:
        play(desk, experiment, 10)
    with store.reading() as tables:
        assert [entry.kind for entry in tables.entries(experiment, 0)].count("upgrade") == 1


@pytest.mark.parametrize("stopped", ["cleanly", "by a crash"])
def test_a_policy_that_asks_otherwise_begins_anew_with_the_evidence_of_the_last_snapshot(store, release, stopped):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 300)
        before = read(desk, experiment, counts)
        plays = read(desk, experiment, lambda hosted: hosted.experiment.plays)
        evidence = read(desk, experiment, lambda hosted: hosted.experiment.evidence())
        [out] = read(desk, experiment, lambda hosted: list(hosted.leases))
    spent = 0.0
    if stopped == "by a crash":  # before the first snapshot
        forget_snapshots(store)
        evidence, spent = None, 0.05
    release()
    with Desk(store) as desk:
        hosted = read(desk, experiment, lambda hosted: hosted)
        assert counts(hosted) == before
        assert hosted.experiment.upgrade == (__version__, __version__, plays, evidence and tuple(evidence), spent)
        nothing = [0.0] * len(before)
        assert read(desk, experiment, lambda hosted: hosted.experiment.evidence()) == pytest.approx(evidence or nothing)
        head = hosted.head
        with store.reading() as tables:
            assert tables.head(experiment) == head  # looking writes nothing
        assert list(hosted.leases) == []  # which plays are still out may depend on how they go
        assert desk.tell(experiment, [(out, None)]).result().receipts[0] == "late"
        with store.reading() as tables:
            [noted, told] = tables.entries(experiment, head)
            assert tables.snapshot(experiment).seq == told.seq
        assert (noted.kind, told.kind) == ("upgrade", "tell")
        assert noted.body == {
            "version": __version__,
            "before": __version__,
            "plays": plays,
            "evidence": evidence,
            "spent": spent,
        }
        view = view_of(read(desk, experiment, read_standing), Outlook())
        assert json.loads(json.dumps(view["upgrade"])) == noted.body
        kept = read(desk, experiment, lambda hosted: hosted.experiment.to_json())
    record = Record()
    record.read(store, experiment)
    assert record.first_out is None  # alarms do not wait for what was given up
    lines = [json.loads(line) for text in journal_lines(store, experiment) for line in text.splitlines()]
    [sentence] = [line["status"] for line in lines if line["kind"] == "upgrade"]
    assert sentence.startswith(f"goes on with version {__version__}")
    assert ("with the evidence of" in sentence) == (stopped == "cleanly")
    for forget in (False, True):
        if forget:
            forget_snapshots(store)
        with Desk(store) as desk:
            assert read(desk, experiment, lambda hosted: hosted.experiment.to_json()) == kept
    with Desk(store) as desk:
        verdict = play_to_a_verdict(desk, experiment)
        assert (verdict.arm, verdict.status, verdict.error_bound) == ("south", "confident", 0.05 + spent)


def forget_snapshots(store) -> None:
    with store.writing() as tables:
        tables._run("DELETE FROM snapshots")
        tables._run("DELETE FROM answers")


def test_a_version_that_asks_the_same_goes_on_exactly(store, monkeypatch):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 100)
    monkeypatch.setattr("linkedbandits.service.hosted.__version__", "9.0.0")
    with Desk(store) as desk:
        play(desk, experiment, 50)
        assert read(desk, experiment, lambda hosted: hosted.experiment.upgrade) is None
        kept = read(desk, experiment, lambda hosted: hosted.experiment.to_json())
    with store.reading() as tables:
        assert Writer.read(tables.record(experiment).written_by).version == "9.0.0"
        assert "upgrade" not in {entry.kind for entry in tables.entries(experiment, 0)}
    assert uninterrupted(store, experiment).to_json() == kept


@pytest.mark.parametrize("readable", [True, False])
def test_a_verdict_stands_whatever_a_later_version_would_have_said(store, release, monkeypatch, readable):
    """Even where the desk was killed, and where the policy's state has another form by now."""
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        verdict = play_to_a_verdict(desk, experiment)
        seen = read(desk, experiment, standing)
        with store.reading() as tables:
            assert tables.snapshot(experiment).body["experiment"]["verdict"] is not None
    release()
    if not readable:
        monkeypatch.setattr(
            "linkedbandits.policies.linked_elimination.RaceState.from_json", lambda data: data["another"]
        )
    with Desk(store) as desk:
        assert read(desk, experiment, lambda hosted: hosted.experiment.recommend()) == verdict
        assert read(desk, experiment, standing) == seen
        assert read(desk, experiment, lambda hosted: hosted.experiment.upgrade) is None


def test_another_service_hears_of_the_upgrade(store, store_url, release):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 300)
    release()
    with closing(open_store(store_url)) as second, Desk(store) as desk, Desk(second) as other:
        first_look = [read(each, experiment, lambda hosted: hosted.experiment.upgrade) for each in (desk, other)]
        play(desk, experiment, 20)
        play(other, experiment, 20)
        play(desk, experiment, 20)
        both = [read(each, experiment, lambda hosted: hosted.experiment.to_json()) for each in (desk, other)]
    assert first_look[0] == first_look[1] is not None
    assert both[0] == both[1]
    with store.reading() as tables:
        assert [entry.kind for entry in tables.entries(experiment, 0)].count("upgrade") == 1


def test_a_second_upgrade_goes_on_from_the_evidence_of_the_first(store, release, monkeypatch):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 200)
    release()
    with Desk(store) as desk:
        play(desk, experiment, 100)
        plays = read(desk, experiment, lambda hosted: hosted.experiment.plays)
        evidence = read(desk, experiment, lambda hosted: hosted.experiment.evidence())
    monkeypatch.setattr("linkedbandits.policies.linked_elimination.GROWTH", 0.06)
    with Desk(store) as desk:
        upgrade = read(desk, experiment, lambda hosted: hosted.experiment.upgrade)
        late = read(desk, experiment, lambda hosted: hosted.experiment.late)
    assert upgrade == (__version__, __version__, plays - late, tuple(evidence), 0.0)


def test_a_journal_that_is_damaged_stays_so(store, release):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 100)
    with store.writing() as tables:
        tables._run("UPDATE journal SET body = replace(body, '\"plays\":[3', '\"plays\":[9993') WHERE kind = 'tell'")
    release()
    with Desk(store) as desk:
        error = desk.read(experiment, counts).exception()
        assert isinstance(error, lb.DamagedSave)
        assert isinstance(error.__cause__, lb.DamagedSave)
        assert "does not fit: it cannot be read" in str(error.__cause__)


STOPS_HALFWAY = """
import sys, time
from linkedbandits.service import tables
run = tables.Tables._run
def stop_halfway(self, statement, *parameters):
    run(self, statement, *parameters)
    if "ADD COLUMN library" in statement:
        print("halfway", flush=True)
        time.sleep(60)
tables.Tables._run = stop_halfway
from linkedbandits.service.store import open_store
open_store(sys.argv[1])
"""
OPENS = """
import sys
from linkedbandits.service.store import open_store
store = open_store(sys.argv[1])
with store.reading() as tables:
    print(len(tables.records()), flush=True)
store.close()
"""


def start(script: str, store_url: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, store_url], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_process_that_is_killed_in_a_migration_leaves_the_store_as_it_was(store_url):
    make_old_store(store_url)
    process = start(STOPS_HALFWAY, store_url)
    with killed_in_the_end(process), process.stdout as said:
        assert said.readline() == "halfway\n"
    with closing(open_store(store_url)) as store, Desk(store, clock=ManualClock(1_020.0)) as desk:
        with store.reading() as tables:
            assert tables._rows("SELECT version, library FROM schema_version") == [(SCHEMA_VERSION, __version__)]
        for name in RACES:
            assert read(desk, EXPECTED[name]["id"], counts) == [tuple(row[:2]) for row in EXPECTED[name]["estimates"]]


@pytest.mark.slow
def test_processes_that_start_at_once_on_an_old_store_migrate_it_once(store_url):
    make_old_store(store_url)
    processes = [start(OPENS, store_url) for _ in range(3)]
    with ExitStack() as stack:
        for process in processes:
            stack.enter_context(killed_in_the_end(process))
        assert [process.communicate(timeout=SECONDS)[0] for process in processes] == [f"{len(EXPECTED)}\n"] * 3
    with closing(open_store(store_url)) as store, store.reading() as tables:
        assert tables._rows("SELECT version, library FROM schema_version") == [(SCHEMA_VERSION, __version__)]
