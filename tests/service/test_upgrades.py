"""Experiments survive an upgrade: of the store's schema, and of the policy that they were played with."""

from __future__ import annotations

import json
from contextlib import closing, suppress

import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.exporting import journal_lines
from linkedbandits.service.outlook import Outlook
from linkedbandits.service.records import Writer
from linkedbandits.service.store import open_store
from linkedbandits.service.view import read_standing, view_of
from linkedbandits.version import __version__
from tests.support.coin_flips import CoinFlipper
from tests.support.old_store import EXPECTED, make_old_store
from tests.support.service_parts import SETUP, ManualClock
from tools.uninterrupted import uninterrupted

RUNNING = ["no snapshot", "a snapshot and a tail", "tuples", "not begun"]
RACES = ["no snapshot", "a snapshot and a tail"]


@pytest.fixture
def store(store_url):
    with closing(open_store(store_url)) as store:
        yield store


@pytest.fixture
def old_store(store_url):
    make_old_store(store_url)
    with closing(open_store(store_url)) as store:
        yield store


@pytest.fixture
def release(monkeypatch):
    """Call it to have another version of the library, in which the evidence race looks less often."""

    def change() -> None:
        monkeypatch.setattr("linkedbandits.policies.evidence_race.GROWTH", 0.04)

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
        "estimates": [[e.samples, e.successes, e.still_in] for e in exp.estimates()],
        "verdict": [exp.done, verdict.arm, verdict.status, verdict.plays, verdict.error_bound, list(verdict.top)],
        "leases": list(hosted.leases),
    }


def counts(hosted) -> list[tuple[int, int]]:
    return [(estimate.samples, estimate.successes) for estimate in hosted.experiment.estimates()]


def read(desk, experiment, function):
    return desk.read(experiment, function).result()


def play(desk, experiment: str, plays: int, means=(0.2, 0.5, 0.4), seed: int = 1) -> None:
    """In batches of ten, of which one play is given up and one stays out for a while."""
    coins, slow = CoinFlipper(means, seed), []
    arms = read(desk, experiment, lambda hosted: hosted.experiment.arms)
    while plays > 0:
        lost, first, *others = desk.ask(experiment, 10).result().plays
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


@pytest.mark.parametrize("name", EXPECTED)
def test_an_experiment_in_a_store_of_schema_1_is_as_it_was(old_store, name):
    expected = EXPECTED[name]
    with Desk(old_store, clock=ManualClock(2_000.0)) as desk:
        assert read(desk, expected["id"], standing) == {key: expected[key] for key in expected if key != "id"}
        assert read(desk, expected["id"], lambda hosted: hosted.experiment.upgrade) is None
        if name in RUNNING:
            assert play_to_a_verdict(desk, expected["id"]).status == "confident"
            with old_store.reading() as tables:
                assert tables.record(expected["id"]).written_by.split()[0] == __version__
    if name in RACES:
        with Desk(old_store) as desk:
            kept = read(desk, expected["id"], lambda hosted: hosted.experiment.to_json())
            assert kept == uninterrupted(old_store, expected["id"]).to_json()


@pytest.mark.parametrize("name", RACES)
def test_it_goes_on_as_well_where_the_policy_has_changed_since(old_store, release, name):
    """Without a snapshot the journal does not fit. With one, the little behind it does."""
    release()
    expected = EXPECTED[name]
    with Desk(old_store, clock=ManualClock(2_000.0)) as desk:
        seen = read(desk, expected["id"], standing)
        assert [row[:2] for row in seen["estimates"]] == [row[:2] for row in expected["estimates"]]
        assert [seen[key] for key in ("plays", "late", "in_flight", "leases", "head")] == [
            expected[key] for key in ("plays", "late", "in_flight", "leases", "head")
        ]
        upgrade = read(desk, expected["id"], lambda hosted: hosted.experiment.upgrade)
        as_log = (__version__, None, expected["plays"] - expected["late"], 0)
        assert upgrade == (as_log if name == "no snapshot" else None)
        verdict = play_to_a_verdict(desk, expected["id"])
        assert (verdict.arm, verdict.status, verdict.error_bound) == ("south", "confident", 1e-6)


@pytest.mark.parametrize("stopped", ["cleanly", "by a crash"])
def test_what_was_played_is_a_log_for_a_policy_that_asks_otherwise(store, release, stopped):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 300)
        before = read(desk, experiment, counts)
        plays = read(desk, experiment, lambda hosted: hosted.experiment.plays)
    if stopped == "by a crash":
        forget_snapshots(store)
    release()
    with Desk(store) as desk:
        hosted = read(desk, experiment, lambda hosted: hosted)
        assert counts(hosted) == before
        assert hosted.experiment.upgrade == (__version__, __version__, plays, 0)
        head = hosted.head
        with store.reading() as tables:
            assert tables.head(experiment) == head  # whoever only looks writes nothing
        [out] = hosted.leases
        assert desk.tell(experiment, [(out, None)]).result().receipts[0] in ("counted", "spare")
        with store.reading() as tables:
            [noted, told] = tables.entries(experiment, head)
            assert tables.snapshot(experiment).seq == told.seq
        assert (noted.kind, told.kind) == ("upgrade", "tell")
        assert noted.body == {"version": __version__, "before": __version__, "plays": plays, "others": 0}
        view = view_of(read(desk, experiment, read_standing), Outlook())
        assert view["upgrade"] == noted.body
        kept = read(desk, experiment, lambda hosted: hosted.experiment.to_json())
    sentence = f"goes on with version {__version__}; {plays} plays before that are used as a log"
    lines = [json.loads(line) for text in journal_lines(store, experiment) for line in text.splitlines()]
    assert [line["status"] for line in lines if line["kind"] == "upgrade"] == [sentence]
    with Desk(store) as desk:
        assert read(desk, experiment, lambda hosted: hosted.experiment.to_json()) == kept
        verdict = play_to_a_verdict(desk, experiment)
        assert (verdict.arm, verdict.status, verdict.error_bound) == ("south", "confident", 0.05)


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
        monkeypatch.setattr("linkedbandits.policies.evidence_race.RaceState.from_json", lambda data: data["another"])
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


def test_a_second_upgrade_takes_all_as_a_log_again(store, release, monkeypatch):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 200)
    release()
    with Desk(store) as desk:
        play(desk, experiment, 100)
        plays = read(desk, experiment, lambda hosted: hosted.experiment.plays)
    monkeypatch.setattr("linkedbandits.policies.evidence_race.GROWTH", 0.06)
    with Desk(store) as desk:
        upgrade = read(desk, experiment, lambda hosted: hosted.experiment.upgrade)
        late = read(desk, experiment, lambda hosted: hosted.experiment.late)
    assert upgrade == (__version__, __version__, plays - late, 0)


def test_a_journal_that_is_damaged_is_no_log_either(store, release):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play(desk, experiment, 100)
    with store.writing() as tables:
        tables._run("UPDATE journal SET body = replace(body, '\"plays\":[3', '\"plays\":[9993') WHERE kind = 'tell'")
    release()
    with Desk(store) as desk:
        error = desk.read(experiment, counts).exception()
        assert isinstance(error, lb.JournalMismatch)
        assert "does not fit: it cannot be read" in str(error)
