"""Rebuilding an experiment: snapshot, segments and the tail of the journal, all checked."""

from __future__ import annotations

import zlib

import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.live import HANDS_OUT_BY
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Writer
from tests.support.busy_experiment import busy_experiment, reopened
from tests.support.coin_flips import CoinFlipper
from tests.support.service_parts import SETUP, held_up
from tools.uninterrupted import uninterrupted
from tools.waiting import SECONDS


@pytest.mark.parametrize("linkage", list(LINKAGES))
@pytest.mark.parametrize("snapshot_every", [1, 40, 10_000])
def test_opened_again_it_is_the_same(store, monkeypatch, snapshot_every, linkage):
    monkeypatch.setattr("linkedbandits.live.answer_log.SEGMENT", 16)
    monkeypatch.setattr("linkedbandits.service.journal_tail.SEGMENT", 16)
    experiment = busy_experiment(store, snapshot_every, linkage)
    hosted = reopened(store, experiment)
    assert hosted.experiment.to_json() == uninterrupted(store, experiment).to_json()
    assert hosted.abandoned == 40
    assert list(hosted.leases) == [195]
    assert hosted.experiment.in_flight == 1
    with store.reading() as tables:
        snapshot = tables.snapshot(experiment)
        assert snapshot.seq == hosted.head  # a desk that stops writes one
        assert len(tables.answers(experiment)) == 13


def test_it_goes_on_with_tuples_of_its_own(store):
    """New tuples after a restart must not take the numbers of those before."""
    experiment = busy_experiment(store, snapshot_every=1)
    coins = CoinFlipper([0.2, 0.5, 0.4, 0.3], 4)
    with Desk(store) as desk:
        for _ in range(40):
            play = desk.ask(experiment).result().plays[0]
            desk.tell(experiment, [(play.id, coins.answer(play))]).result()
    assert reopened(store, experiment).experiment.to_json() == uninterrupted(store, experiment).to_json()


@pytest.mark.parametrize("decided", [False, True])
def test_a_snapshot_that_does_not_count_first_tries_has_them_from_the_journal(store, decided):
    """With a verdict or without; what was told late is among them."""
    duels = {"name": "linked-duels", "parameters": {"delta": 1e-9}}
    experiment = busy_experiment(store, snapshot_every=40, policy=duels, max_plays=250)
    with Desk(store) as desk:
        if decided:
            desk.tell(experiment, [(195, None)]).result(SECONDS)  # the one that is out
        while decided and not desk.read(experiment, lambda hosted: hosted.experiment.done).result(SECONDS):
            plays = desk.ask(experiment, 50).result(SECONDS).plays
            desk.tell(experiment, [(play.id, play.arms[0] if play.id % 3 else None) for play in plays]).result(SECONDS)
    whole = reopened(store, experiment)
    with store.writing() as tables:
        snapshot = tables.snapshot(experiment)
        del snapshot.body["experiment"]["first_tries"]
        tables.save_snapshot(experiment, snapshot, {})
    again = reopened(store, experiment)
    assert again.experiment.done == decided
    assert again.experiment.late > 10
    assert sum(estimate.samples for estimate in again.experiment.estimates()) == again.experiment.plays
    assert again.experiment.to_json() == whole.experiment.to_json()
    assert (list(again.leases), again.abandoned, again.head) == (list(whole.leases), whole.abandoned, whole.head)


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("tell", 'replace(body, \'"receipts":"c\', \'"receipts":"l\')', "is 'late' in it, and 'counted' now"),
        ("ask", "replace(body, '\"first\":0', '\"first\":1')", "the replay other ones"),
        ("ask", "replace(body, '\"runs\":[[0', '\"runs\":[[77')", "cannot be replayed"),
        ("tell", "replace(body, '\"plays\":[0', '\"plays\":[9')", r"cannot be replayed \(UnknownPlay"),
    ],
)
def test_a_journal_that_does_not_fit_is_refused(store, kind, change, said):
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        desk.ask(experiment, 2).result()
        desk.tell(experiment, [(0, None)]).result()
    with store.writing() as tables:
        before = tables.entries(experiment, 0)
        tables._run(f"UPDATE journal SET body = {change} WHERE kind = ? AND experiment = ?", kind, experiment)
        changed = [entry for entry, was in zip(tables.entries(experiment, 0), before, strict=True) if entry != was]
        assert [entry.kind for entry in changed] == [kind]
        tables._run("DELETE FROM snapshots")  # as if the desk had been killed
        tables._run("DELETE FROM answers")
    with pytest.raises(lb.JournalMismatch, match=said):
        reopened(store, experiment)
    with Desk(store) as desk:  # the other experiments do not suffer
        other = desk.create(SETUP, "y").result().id
        futures = [desk.ask(experiment), desk.ask(other)]
        assert isinstance(futures[0].exception(), lb.JournalMismatch)
        assert futures[1].result().plays


def test_plays_handed_out_by_an_earlier_rule_are_a_log(store):
    """The same version of the library, and the same policy, would have handed out others by now."""
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        desk.ask(experiment, 2).result()
        desk.tell(experiment, [(0, None), (1, None)]).result()
    with store.writing() as tables:
        asked = Writer.read(tables.record(experiment).written_by)
        assert asked.plays == HANDS_OUT_BY
        tables._run("UPDATE experiments SET written_by = ?", f"{asked.version} {asked.asks}")
        other = """replace(body, '"receipts":"c', '"receipts":"s')"""
        tables._run(f"UPDATE journal SET body = {other} WHERE kind = 'tell'")
        tables._run("DELETE FROM snapshots")
        tables._run("DELETE FROM answers")
    again = reopened(store, experiment)
    assert (again.experiment.plays, again.experiment.upgrade.plays) == (2, 2)
    with Desk(store) as desk:
        desk.ask(experiment).result()
    with store.reading() as tables:
        assert Writer.read(tables.record(experiment).written_by).plays == HANDS_OUT_BY


def test_an_experiment_that_cannot_be_opened_spoils_no_other(store):
    experiment = busy_experiment(store, snapshot_every=1)
    with store.writing() as tables:
        tables._run("UPDATE snapshots SET body = ? WHERE experiment = ?", b"no snapshot at all", experiment)
    with Desk(store) as desk:
        other = desk.create(SETUP, "y").result().id
        with held_up(desk, other):
            futures = [desk.ask(experiment), desk.ask(other)]
        assert isinstance(futures[0].exception(), zlib.error)
        assert futures[1].result().plays
        assert isinstance(desk.read(experiment, lambda hosted: hosted).exception(), zlib.error)
