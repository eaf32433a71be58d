"""The desk: durable answers, leases, keys, groups, and nobody spoils anybody else's work."""

from __future__ import annotations

import threading
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import replace

import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.records import HistoryPoint, Setup
from linkedbandits.service.replies import Refused
from linkedbandits.service.sqlite_store import SqliteStore
from linkedbandits.service.store import open_store
from linkedbandits.service.tables import Tables
from tests.support.coin_flips import CoinFlipper
from tests.support.service_parts import SETUP, ManualClock
from tools.uninterrupted import plain_experiment, uninterrupted
from tools.waiting import SECONDS, join


@pytest.fixture
def store(tmp_path):
    store = SqliteStore(tmp_path / "a.sqlite")
    yield store
    store.close()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def desk(store, clock):
    with Desk(store, clock=clock) as desk:
        yield desk


def create(desk: Desk, **changes) -> str:
    return desk.create(replace(SETUP, **changes), "test").result().id


def state_of(desk: Desk, experiment: str) -> str:
    return desk.read(experiment, lambda hosted: hosted.experiment.to_json()).result()


def test_ask_tell_and_read(desk, store):
    experiment = create(desk)
    asked = desk.ask(experiment, 2).result()
    assert [play.id for play in asked.plays] == [0, 1]
    assert asked.expires_at == 1_060.0
    told = desk.tell(experiment, [(0, "east"), (1, None)]).result()
    assert told.receipts == ("counted", "spare")
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
        lb.UnknownPlay,
        lb.HitNotInPlay,
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


def test_time_in_a_journal_does_not_run_backwards(desk, clock, store):
    experiment = create(desk)
    desk.ask(experiment).result()
    clock.now -= 500
    assert desk.ask(experiment).result().expires_at == 1_060.0
    with store.reading() as tables:
        assert [entry.at for entry in tables.entries(experiment, 0)] == [1_000.0, 1_000.0]


def test_plays_given_back(desk):
    experiment = create(desk)
    desk.ask(experiment, 3).result()
    desk.tell(experiment, [(0, None)]).result()
    assert desk.abandon(experiment, [0, 1, 1]).result() == 1
    assert desk.abandon(experiment, [1]).result() == 0
    with pytest.raises(lb.UnknownPlay, match="no play 3 was asked; 3 were so far"):
        desk.abandon(experiment, [2, 3]).result()
    assert desk.read(experiment, lambda hosted: list(hosted.leases)).result() == [2]


def test_the_same_key_gives_the_same_plays_in_one_group_and_after_a_restart(store, clock):
    with Desk(store, clock=clock) as desk:
        experiment = create(desk)
        held = threading.Event()
        desk.read(experiment, lambda _: held.wait(SECONDS))  # what follows is served as one group
        futures = [desk.ask(experiment, 3, key="order 7") for _ in range(2)]
        held.set()
        first, again = (future.result() for future in futures)
        assert again == replace(first, repeated=True)
        other = desk.ask(experiment, 3, key="order 8").result()
        assert not {play.id for play in other.plays} & {play.id for play in first.plays}
        with pytest.raises(lb.KeyReused, match="key 'order 7' came with count=3 before and now count=2"):
            desk.ask(experiment, 2, key="order 7").result()
    with Desk(store, clock=clock) as desk:
        assert desk.ask(experiment, 3, key="order 7").result() == replace(first, repeated=True)


@pytest.mark.parametrize("key", ["a\0b", "x" * 201, "\ud800", 7])
def test_a_key_that_not_every_store_could_keep_is_refused(desk, key):
    experiment = create(desk)
    with pytest.raises(lb.InvalidParameter, match="is no text of at most 200 characters"):
        desk.ask(experiment, key=key).result()


def test_paused_takes_answers_and_archived_takes_nothing(desk, store):
    experiment = create(desk)
    desk.ask(experiment, 2).result()
    assert desk.set_status(experiment, "paused").result().status == "paused"
    with pytest.raises(lb.ExperimentPaused, match="resume it"):
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
        with pytest.raises(lb.ExperimentArchived):
            refused.result()
    receipts = desk.tell(experiment, [(0, None), (1, None), (0, "east"), (9, None)]).result().receipts
    assert [type(receipt.error) if isinstance(receipt, Refused) else receipt for receipt in receipts] == [
        "repeated",
        lb.ExperimentArchived,
        lb.ConflictingTell,
        lb.ExperimentArchived,
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
    held = threading.Event()
    busy = desk.read(experiment, lambda _: held.wait(SECONDS))
    assert desk.records().result(SECONDS / 2) == [desk.record(experiment).result(SECONDS / 2)]
    assert not busy.done()
    held.set()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"arms": ("a",)}, lb.InvalidLabels),
        ({"policy": {"name": "magic", "parameters": {}}}, lb.UnknownName),
        ({"policy": {"name": "linked-elimination", "parameters": {"delta": 2}}}, lb.InvalidParameter),
        ({"policy": {"name": "suffix-ucb", "parameters": {"delta": 0.1}}, "linkage": "single"}, lb.LinkageMismatch),
        ({"lease_seconds": 0.0}, lb.InvalidParameter),
        ({"lease_seconds": float("inf")}, lb.InvalidParameter),
        ({"seed": -1}, lb.InvalidParameter),
        ({"max_plays": 0}, lb.InvalidParameter),
    ],
)
def test_a_set_up_that_makes_no_sense_is_not_stored(desk, changes, error):
    with pytest.raises(error):
        create(desk, **changes)
    assert desk.records().result() == []


def test_an_unknown_experiment_is_said_to_be_unknown(desk):
    for refused in (desk.ask("nobody"), desk.read("nobody", lambda hosted: hosted), desk.record("nobody")):
        with pytest.raises(lb.UnknownExperiment, match="there is no experiment 'nobody'"):
            refused.result()


def test_a_look_that_fails_fails_alone(desk):
    experiment = create(desk)
    with pytest.raises(ZeroDivisionError):
        desk.read(experiment, lambda hosted: 1 / 0).result()
    assert desk.ask(experiment).result().plays


def test_the_desk_outlives_a_store_that_fails_in_an_unforeseen_way(desk, store, monkeypatch):
    experiment = create(desk)

    @contextmanager
    def fail():
        raise ZeroDivisionError
        yield

    with monkeypatch.context() as broken:
        broken.setattr(store, "reading", fail)
        with pytest.raises(ZeroDivisionError):
            desk.read(experiment, lambda hosted: hosted.head).result()
    assert desk.read(experiment, lambda hosted: hosted.head).result() == 0


def test_what_was_cancelled_in_time_does_not_happen(desk):
    experiment = create(desk)
    held = threading.Event()
    desk.read(experiment, lambda _: held.wait(SECONDS))
    cancelled = desk.ask(experiment)
    kept = desk.ask(experiment)
    assert cancelled.cancel()
    held.set()
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


@pytest.fixture
def locked(monkeypatch):
    """The experiments that were locked, in order."""
    order: list[str] = []
    lock = Tables.lock

    def note(self, experiment, wait=True):
        order.append(experiment)
        return lock(self, experiment, wait)

    monkeypatch.setattr(Tables, "lock", note)
    return order


def in_one_group(desk, experiment, submit):
    """Hold the desk up until all has been submitted."""
    held = threading.Event()
    desk.read(experiment, lambda _: held.wait(SECONDS))
    futures = submit()
    held.set()
    return [future.result() for future in futures]


def test_every_desk_locks_the_experiments_of_a_group_in_the_same_order(store_url, locked, clock):
    """Two that lock the same experiments in different orders would wait for each other in PostgreSQL.

    Twelve experiments are in the right order by chance once in 479,001,600 times.
    """
    store, other_store = open_store(store_url), open_store(store_url)
    with Desk(store, clock=clock) as desk, Desk(other_store, clock=clock) as other:
        experiments = sorted(create(desk, lease_seconds=10.0) for _ in range(12))
        for one, order in ((desk, experiments), (other, experiments[::-1]), (desk, experiments[5:] + experiments[:5])):
            locked.clear()
            in_one_group(one, experiments[0], lambda one=one, order=order: [one.ask(name) for name in order])
            assert locked == experiments

        clock.now += 11
        locked.clear()  # those whose leases are looked at are found in the order in which they were opened
        asked = experiments[3]
        swept, _ = in_one_group(other, asked, lambda: [other.expire(), other.ask(asked)])
        assert swept == 36
        assert locked == experiments
    store.close()
    other_store.close()


def test_an_unforeseen_error_in_one_job_leaves_the_others_of_its_group_whole(desk, store, monkeypatch):
    experiment = create(desk)
    whole = HostedExperiment.tell

    def tell(self, answers, now):
        told = whole(self, answers, now)
        if answers[0][0] == 1:
            raise RuntimeError("half-way")
        return told

    monkeypatch.setattr(HostedExperiment, "tell", tell)
    held = threading.Event()
    desk.ask(experiment, 3).result()
    desk.read(experiment, lambda _: held.wait(SECONDS))
    futures = [desk.tell(experiment, [(play, None)]) for play in range(3)]
    held.set()
    wait(futures, SECONDS)
    assert [future.exception() and str(future.exception()) for future in futures] == [None, "half-way", None]
    assert state_of(desk, experiment) == uninterrupted(store, experiment).to_json()
    assert desk.read(experiment, lambda hosted: list(hosted.leases)).result() == [1]


def test_a_commit_that_fails_is_said_to_have_failed_and_has_left_nothing(store):
    class Failing:
        broken = False
        reading, close = store.reading, store.close

        @contextmanager
        def writing(self):
            with store.writing() as tables:
                yield tables
                if self.broken:
                    raise lb.StoreUnavailable("the disk is full")

    failing = Failing()
    with Desk(failing) as desk:
        experiment = create(desk)
        desk.ask(experiment, 2).result()
        failing.broken = True
        with pytest.raises(lb.StoreUnavailable, match="full"):
            desk.tell(experiment, [(0, None)]).result()
        failing.broken = False
        assert desk.read(experiment, lambda hosted: hosted.experiment.plays).result() == 0
        assert desk.tell(experiment, [(0, None)]).result().receipts == ("counted",)


def test_many_experiments_do_not_all_stay_in_memory(desk, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.groups.MOST_OPEN", 2)
    experiments = [create(desk) for _ in range(4)]
    for _ in range(3):
        for experiment in experiments:
            desk.tell(experiment, [(desk.ask(experiment).result().plays[0].id, None)]).result()
    assert len(desk._groups._open) == 2
    assert [desk.read(experiment, lambda hosted: hosted.experiment.plays).result() for experiment in experiments] == [
        3
    ] * 4


def test_the_history_is_sparse_and_has_the_verdict(desk, clock, store):
    experiment = create(desk, policy={"name": "uniform-sampling", "parameters": {"samples": 10}})
    for step in range(10):
        clock.now += 0.3
        desk.tell(experiment, [(desk.ask(experiment).result().plays[0].id, None)]).result()
        assert desk.read(experiment, lambda hosted: hosted.experiment.done).result() == (step == 9)
    with store.reading() as tables:
        points = tables.history(experiment)
        assert tables.history(experiment, after=points[0].seq) == points[1:]
    assert points == [
        HistoryPoint(8, pytest.approx(1001.2), 4),
        HistoryPoint(16, pytest.approx(1002.4), 8),
        HistoryPoint(20, pytest.approx(1003.0), 10),
    ]


def test_a_long_history_stays_readable(desk, clock, store):
    experiment = create(desk, lease_seconds=1e6)
    clock.now += 1e5
    for _ in range(5):
        clock.now += 30
        desk.tell(experiment, [(desk.ask(experiment).result().plays[0].id, None)]).result()
    with store.reading() as tables:
        assert [point.plays for point in tables.history(experiment)] == [1, 3, 5]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["linked-elimination", "linked-track-and-stop"])
def test_fifty_thousand_plays_in_batches_decide_as_a_plain_experiment_does(store, policy):
    """The same plays, and the same verdict; the desk is closed and opened again on the way."""
    setup = Setup(
        tuple(range(10)), {"name": policy, "parameters": {"delta": 1e-9}}, parallel=400, max_plays=50_000, seed=5
    )
    plain, coins = plain_experiment(setup), CoinFlipper([0.3] * 9 + [0.31], 7)
    desk = Desk(store, snapshot_every=7_000)
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
        if plain.plays % 12_000 < 400:
            desk.stop()
            desk = Desk(store, snapshot_every=7_000)
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
