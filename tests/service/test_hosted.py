"""Rebuilding an experiment: snapshot, segments and the tail of the journal, all checked."""

from __future__ import annotations

import pytest

import linkedbandits as lb
from linkedbandits.linkage import LINKAGES
from linkedbandits.live import HANDS_OUT_BY
from linkedbandits.live.requests import SampleQueue
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Writer
from tests.support.busy_experiment import busy_experiment, reopened
from tests.support.coin_flips import CoinFlipper
from tests.support.service_parts import SETUP, create, held_up, state_of
from tools.uninterrupted import uninterrupted


@pytest.mark.parametrize("linkage", list(LINKAGES))
@pytest.mark.parametrize("snapshot_every", [1, 40, 10_000])
def test_opened_again_it_is_the_same(store, monkeypatch, snapshot_every, linkage):
    monkeypatch.setattr("linkedbandits.live.answers.SEGMENT", 16)
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


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("tell", 'replace(body, \'"receipts":"c\', \'"receipts":"l\')', "is 'late' in it, and 'counted' now"),
        ("ask", "replace(body, '\"first\":0', '\"first\":1')", "the replay other ones"),
        ("ask", "replace(body, '\"runs\":[[0', '\"runs\":[[77')", "cannot be replayed"),
        ("tell", "replace(body, '\"plays\":[0', '\"plays\":[9')", r"cannot be replayed \(UnknownName"),
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
    with pytest.raises(lb.DamagedSave, match=said):
        reopened(store, experiment)
    with Desk(store) as desk:  # the other experiments do not suffer
        other = desk.create(SETUP, "y").result().id
        futures = [desk.ask(experiment), desk.ask(other)]
        assert isinstance(futures[0].exception(), lb.DamagedSave)
        assert isinstance(futures[0].exception().__cause__, lb.DamagedSave)
        assert futures[1].result().plays


@pytest.mark.parametrize("lost", [2, 3])
@pytest.mark.parametrize("earlier_version", [False, True])
def test_a_journal_with_an_entry_lost_is_damaged(store, lost, earlier_version):
    """Else an answer that was acknowledged would be asked for, and counted, again."""
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        desk.ask(experiment, 2).result()
        desk.tell(experiment, [(0, None)]).result()
        desk.tell(experiment, [(1, "north")]).result()
    with store.writing() as tables:
        tables._run("DELETE FROM journal WHERE seq = ?", lost)
        tables._run("DELETE FROM snapshots")  # as if the desk had been killed
        tables._run("DELETE FROM answers")
        if earlier_version:  # its policy asks otherwise
            tables._run("UPDATE experiments SET written_by = ?", "0.0.1 other")
    with pytest.raises(lb.DamagedSave, match="lost"):
        reopened(store, experiment)
    with Desk(store) as desk:
        assert isinstance(desk.tell(experiment, [(1, "east")]).exception(), lb.DamagedSave)


@pytest.mark.parametrize("lost", [2, 3])
def test_what_others_wrote_is_not_caught_up_with_where_some_of_it_is_lost(store, lost):
    with Desk(store) as desk, Desk(store) as other:
        experiment = desk.create(SETUP, "x").result().id
        desk.ask(experiment, 2).result()
        other.tell(experiment, [(0, None)]).result()
        other.tell(experiment, [(1, "north")]).result()
        with store.writing() as tables:
            tables._run("DELETE FROM journal WHERE seq = ?", lost)
        assert isinstance(desk.tell(experiment, [(1, "east")]).exception(), lb.DamagedSave)


def test_a_store_that_is_an_earlier_one_is_believed(store):
    """As where a backup was put in its place: what is in memory is nothing that anybody else knows."""
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        desk.ask(experiment, 2).result()
        desk.tell(experiment, [(0, None)]).result()
        with store.writing() as tables:
            tables._run("DELETE FROM journal WHERE seq = 2")
            tables._run("UPDATE experiments SET head = 1")
        assert desk.tell(experiment, [(0, None)]).result().receipts == ("counted",)


def test_plays_handed_out_by_another_rule_are_an_upgrade(store):
    """The same version of the library, and the same policy, would have handed out others by now."""
    with Desk(store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        desk.ask(experiment, 2).result()
        desk.tell(experiment, [(0, None), (1, None)]).result()
    with store.writing() as tables:
        asked = Writer.read(tables.record(experiment).written_by)
        assert asked.plays == HANDS_OUT_BY
        tables._run("UPDATE experiments SET written_by = ?", f"{asked.version} {asked.asks} plays:0")
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
        tables._run("UPDATE snapshots SET seq = seq + 1 WHERE experiment = ?", experiment)
    with Desk(store) as desk:
        other = desk.create(SETUP, "y").result().id
        with held_up(desk, other):
            futures = [desk.ask(experiment), desk.ask(other)]
        assert futures[1].result().plays
        for refused in (futures[0], desk.read(experiment, lambda hosted: hosted)):
            assert isinstance(refused.exception(), lb.DamagedSave)
            assert isinstance(refused.exception().__cause__, lb.DamagedSave)


@pytest.mark.parametrize("given_back", [False, True], ids=["lapsed", "given back"])
def test_many_plays_that_are_given_up_are_not_replaced_one_by_the_other(desk, clock, monkeypatch, given_back):
    """With 1,000 arms each took 75 ms of the desk: 1,000 lapsed leases held up everybody for a minute."""
    experiment, claims = create(desk, lease_seconds=5.0), []
    take = SampleQueue._take_back
    plays = desk.ask(experiment, 200).result().plays
    monkeypatch.setattr(SampleQueue, "_take_back", lambda *of: claims.append(1) or take(*of))
    clock.now += 0.0 if given_back else 10.0
    gone = desk.abandon(experiment, [play.id for play in plays]) if given_back else desk.expire()
    assert gone.result() == 200
    assert len(claims) <= 5
    state = state_of(desk, experiment)
    assert len(desk.ask(experiment, 3).result().plays) == 3
    assert state_of(desk, experiment) != state


def test_with_many_arms_fewer_plays_may_be_out(desk, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.hosted.MOST_ARMS_IN_FLIGHT", 30)
    experiment = create(desk)
    assert len(desk.ask(experiment, 50).result().plays) == 10
    with pytest.raises(lb.TooManyInFlight, match="more than 10 may not be"):
        desk.ask(experiment).result()
