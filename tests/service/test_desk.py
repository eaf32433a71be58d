"""The desk: durable answers, leases, keys, groups, and no caller spoils the work of another."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.replies import Refused
from linkedbandits.service.store import open_store
from tests.support.coin_flips import CoinFlipper
from tests.support.service_parts import SETUP, create, held_up, state_of
from tools.uninterrupted import plain_experiment, uninterrupted
from tools.waiting import SECONDS, join


def test_ask_tell_and_read(desk, store):
    experiment = create(desk)
    asked = desk.ask(experiment, 2).result()
    assert [play.id for play in asked.plays] == [0, 1]
    assert asked.expires_at == 1_060.0
    told = desk.tell(experiment, [(0, "east"), (1, None)]).result()
    assert told.receipts == ("counted", "counted")  # the first left south to the second
    assert not told.done
    assert desk.tell(experiment, [(0, "east")]).result().receipts == ("repeated",)
    assert state_of(desk, experiment) == uninterrupted(store, experiment).to_json()
    with store.reading() as tables:
        assert tables.record(experiment).head == 2  # a repeated answer is no news


def test_one_bad_answer_does_not_spoil_the_others(desk):
    experiment = create(desk)
    desk.ask(experiment, 4).result()
    desk.tell(experiment, [(3, "north")]).result()
    told = desk.tell(experiment, [(0, None), (9, None), (1, "up"), (3, None), (2, "south")]).result()
    assert [type(receipt.error) if isinstance(receipt, Refused) else receipt for receipt in told.receipts] == [
        "counted",
        lb.UnknownName,
        lb.InvalidParameter,
        lb.ConflictingTell,
        "spare",
    ]


def test_the_verdict_closes_the_questions_but_not_the_answers(desk):
    experiment = create(desk, policy={"name": "uniform-sampling", "parameters": {"samples": 1}})
    desk.ask(experiment, 2).result()
    assert desk.tell(experiment, [(0, None)]).result().done
    with pytest.raises(lb.ExperimentFinished):
        desk.ask(experiment).result()
    assert desk.tell(experiment, [(1, "south")]).result().receipts == ("late",)


def test_fewer_plays_than_asked_where_there_is_no_room(desk):
    experiment = create(desk, parallel=3)
    assert len(desk.ask(experiment, 5).result().plays) == 3
    with pytest.raises(lb.TooManyInFlight):
        desk.ask(experiment).result()


def test_no_more_plays_are_out_than_a_snapshot_can_carry(desk, clock, store, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.hosted.MOST_IN_FLIGHT", 5)
    experiment = create(desk)
    assert len(desk.ask(experiment, 3).result().plays) == 3
    assert len(desk.ask(experiment, 3).result().plays) == 2
    with pytest.raises(lb.TooManyInFlight, match="5 plays are out, and more than 5 may not be; tell or abandon some"):
        desk.ask(experiment).result()
    desk.tell(experiment, [(2, None)]).result()
    assert len(desk.ask(experiment, 3).result().plays) == 1
    monkeypatch.setattr("linkedbandits.service.hosted.MOST_IN_FLIGHT", 2)
    with Desk(store, clock=clock) as other:  # what is out is out, and can be told
        assert other.tell(experiment, [(0, None)]).result().receipts == ("counted",)
        with pytest.raises(lb.TooManyInFlight):
            other.ask(experiment).result()


def test_a_finished_experiment_says_so_however_many_plays_are_out(desk, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.hosted.MOST_IN_FLIGHT", 2)
    experiment = create(desk, policy={"name": "uniform-sampling", "parameters": {"samples": 1}})
    desk.ask(experiment, 2).result()
    monkeypatch.setattr("linkedbandits.service.hosted.MOST_IN_FLIGHT", 1)
    assert desk.tell(experiment, [(0, None)]).result().done
    with pytest.raises(lb.ExperimentFinished):
        desk.ask(experiment).result()


def test_a_play_whose_lease_ran_out_is_given_up_and_late_if_told(desk, clock, store):
    experiment = create(desk, lease_seconds=10.0)
    desk.ask(experiment, 2).result()
    clock.now += 9.999
    assert desk.expire().result() == 0
    desk.tell(experiment, [(0, None)]).result()
    clock.now += 0.001
    assert desk.expire().result() == 1
    assert desk.expire().result() == 0
    assert desk.tell(experiment, [(1, "east")]).result().receipts == ("late",)
    seen = desk.read(experiment, lambda hosted: (hosted.abandoned, hosted.experiment.late, hosted.leases)).result()
    assert seen == (1, 1, {})
    assert state_of(desk, experiment) == uninterrupted(store, experiment).to_json()


def test_an_answer_after_its_lease_is_late_though_nobody_looked_at_the_leases(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(desk, lease_seconds=10.0)
        desk.ask(experiment, 3).result()
        clock.now += 9.0
        assert desk.tell(experiment, [(0, None)]).result().receipts == ("counted",)
    with Desk(store, clock=clock) as desk:  # one that does not have the experiment in memory
        clock.now += 1.0
        assert desk.tell(experiment, [(1, None), (0, None)]).result().receipts == ("late", "repeated")
        desk.ask(experiment).result()
        clock.now += 9.9
        assert desk.tell(experiment, [(3, None)]).result().receipts[0] in ("counted", "spare")
        assert state_of(desk, experiment) == uninterrupted(store, experiment).to_json()
    with store.reading() as tables:
        kinds = [entry.kind for entry in tables.entries(experiment, 0)]
    assert kinds == ["ask", "tell", "abandon", "tell", "ask", "tell"]


def test_asking_makes_room_by_itself(desk, clock):
    experiment = create(desk, parallel=1)
    first = desk.ask(experiment).result().plays[0]
    clock.now += 60
    assert desk.ask(experiment).result().plays[0].arms == first.arms


def test_plays_given_back(desk):
    experiment = create(desk)
    desk.ask(experiment, 3).result()
    desk.tell(experiment, [(0, None)]).result()
    assert desk.abandon(experiment, [0, 1, 1]).result() == 1
    assert desk.abandon(experiment, [1]).result() == 0
    with pytest.raises(lb.UnknownName, match="no play 3 was asked; 3 were so far"):
        desk.abandon(experiment, [2, 3]).result()
    assert desk.read(experiment, lambda hosted: list(hosted.leases)).result() == [2]


def test_the_same_key_gives_the_same_plays_in_one_group_and_after_a_restart(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(desk)
        with held_up(desk, experiment):
            futures = [desk.ask(experiment, 3, key="order 7") for _ in range(2)]
        first, again = (future.result() for future in futures)
        assert again == replace(first, repeated=True)
        other = desk.ask(experiment, 3, key="order 8").result()
        assert not {play.id for play in other.plays} & {play.id for play in first.plays}
        with pytest.raises(lb.InvalidParameter, match="key 'order 7' came with count=3 before and now count=2"):
            desk.ask(experiment, 2, key="order 7").result()
    with Desk(store, clock=clock) as desk:
        assert desk.ask(experiment, 3, key="order 7").result() == replace(first, repeated=True)


def test_paused_takes_answers_and_archived_takes_nothing(desk, store):
    experiment = create(desk)
    desk.ask(experiment, 2).result()
    assert desk.set_status(experiment, "paused").result().status == "paused"
    with pytest.raises(lb.WrongState, match="resume it"):
        desk.ask(experiment).result()
    assert desk.tell(experiment, [(0, None)]).result().receipts == ("counted",)
    assert desk.set_status(experiment, "running").result() == desk.record(experiment).result()
    desk.ask(experiment).result()
    assert desk.set_status(experiment, "archived").result().status == "archived"
    for refused in (
        desk.ask(experiment),
        desk.abandon(experiment, [1]),
        desk.set_status(experiment, "running"),
    ):
        with pytest.raises(lb.WrongState):
            refused.result()
    receipts = desk.tell(experiment, [(0, None), (1, None), (0, "east"), (9, None)]).result().receipts
    assert [type(receipt.error) if isinstance(receipt, Refused) else receipt for receipt in receipts] == [
        "repeated",
        lb.WrongState,
        lb.ConflictingTell,
        lb.WrongState,
    ]
    assert desk.records().result()[0].status == "archived"
    with Desk(store) as other:
        assert other.read(experiment, lambda hosted: hosted.status).result() == "archived"


def test_nothing_runs_out_in_an_archived_experiment(desk, clock, store):
    experiment = create(desk, lease_seconds=10.0)
    desk.ask(experiment, 2).result()
    head = desk.set_status(experiment, "archived").result().head
    clock.now += 11
    assert desk.expire().result() == 0
    desk.tell(experiment, [(0, None)]).result()
    with store.reading() as tables:
        assert tables.head(experiment) == head


def test_who_looks_at_the_store_does_not_wait_for_those_who_change(desk):
    experiment = create(desk)
    with held_up(desk, experiment):
        asked = desk.ask(experiment)
        assert desk.records().result(SECONDS / 2) == [desk.record(experiment).result(SECONDS / 2)]
        assert not asked.done()


def test_an_unknown_experiment_is_said_to_be_unknown(desk):
    for refused in (desk.ask("nobody"), desk.read("nobody", lambda hosted: hosted), desk.record("nobody")):
        with pytest.raises(lb.UnknownName, match="there is no experiment 'nobody'"):
            refused.result()


def test_what_was_cancelled_in_time_does_not_happen(desk):
    experiment = create(desk)
    with held_up(desk, experiment):
        cancelled = desk.ask(experiment)
        kept = desk.ask(experiment)
        assert cancelled.cancel()
    assert kept.result().plays[0].id == 0


def test_a_stopped_desk_finishes_what_it_took_and_takes_no_more(store):
    desk = Desk(store)
    with pytest.raises(lb.StoreUnavailable, match=r"start\(\) it"):
        desk.records().result()
    desk.start()
    experiment = create(desk)
    futures = [desk.ask(experiment) for _ in range(50)]
    desk.stop()
    desk.stop()
    assert len({future.result().plays[0].id for future in futures}) == 50
    with pytest.raises(lb.StoreUnavailable):
        desk.ask(experiment).result()
    with pytest.raises(RuntimeError, match="once"):
        desk.start()


def test_a_desk_that_its_store_lets_wait_says_so_instead_of_waiting_for_ever(store, monkeypatch):
    answers = threading.Event()

    class Stuck:
        reading, close = store.reading, store.close

        @contextmanager
        def writing(self):
            assert answers.wait(SECONDS)
            with store.writing() as tables:
                yield tables

    desk = Desk(Stuck())
    desk.start()
    asked = desk.create(SETUP, "slow")
    with monkeypatch.context() as impatient:
        impatient.setattr("linkedbandits.service.desk.SECONDS_TO_FINISH", 0.01)
        with pytest.raises(lb.StoreUnavailable, match=r"within 0\.01 s; does the store answer"):
            desk.stop()
    answers.set()
    desk.stop()
    assert asked.result().name == "slow"


@pytest.mark.slow
def test_eight_thousand_plays_in_batches_decide_as_a_plain_experiment_does(store):
    """The same plays, and the same verdict; the desk is closed and opened again on the way."""
    setup = Setup(
        tuple(range(10)),
        {"name": "linked-elimination", "parameters": {"delta": 1e-9}},
        parallel=400,
        max_plays=8_000,
        seed=5,
    )
    plain, coins = plain_experiment(setup), CoinFlipper([0.3] * 9 + [0.31], 7)
    desk = Desk(store, snapshot_every=1_500)
    desk.start()
    experiment = desk.create(setup, "many").result().id
    done = False
    while not done:
        futures = [desk.ask(experiment, 100) for _ in range(4)]
        asked = [future.result().plays for future in futures]
        assert [play for plays in asked for play in plays] == [plain.ask() for plays in asked for _ in plays]
        batches = [[(play.id, coins.answer(play)) for play in plays] for plays in reversed(asked)]
        for told, answers in [(desk.tell(experiment, answers), answers) for answers in batches]:
            assert list(told.result().receipts) == [plain.tell(*answer) for answer in answers]
            done = told.result().done
        if plain.plays % 2_500 < 400:
            desk.stop()
            desk = Desk(store, snapshot_every=1_500)
            desk.start()
    verdict = desk.read(experiment, lambda hosted: hosted.experiment.recommend()).result()
    assert verdict == plain.recommend()
    assert state_of(desk, experiment) == plain.to_json()
    desk.stop()


def test_threads_at_one_desk_get_plays_of_their_own(store_url):
    store = open_store(store_url)
    seen: list[int] = []
    with Desk(store, snapshot_every=50) as desk:
        experiment = create(desk, policy={"name": "linked-elimination", "parameters": {"delta": 1e-50}})

        def work():
            for _ in range(15):
                play = desk.ask(experiment).result().plays[0]
                seen.append(play.id)
                assert desk.tell(experiment, [(play.id, None)]).result().receipts[0] in ("counted", "spare")

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        join(*threads)
        assert sorted(seen) == list(range(120))
        assert state_of(desk, experiment) == uninterrupted(store, experiment).to_json()
    store.close()


def test_a_verdict_is_news_once_whether_an_answer_or_a_lapsed_lease_brought_it(store, clock):
    news = []
    with Desk(store, clock=clock, on_news=news.extend) as desk:
        experiment = create(desk, lease_seconds=5.0)
        while not news:
            missing, *plays = desk.ask(experiment, 20).result().plays
            told = [(play.id, "east" if "east" in play.arms else None) for play in plays]
            assert not desk.tell(experiment, told).result().done
            clock.now += 6
            desk.expire().result()
        desk.tell(experiment, [(missing.id, None)]).result()
        desk.set_status(experiment, "archived").result()
    assert [(one.kind, one.experiment, one.at) for one in news] == [
        ("verdict", experiment, clock.now),
        ("archived", experiment, clock.now),
    ]
    assert news[0].data["arm"] == "east"
