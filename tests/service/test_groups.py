"""Groups of jobs: one commit, one order of locks, and no job spoils the work of another."""

from __future__ import annotations

import sqlite3
from concurrent.futures import wait
from contextlib import contextmanager
from dataclasses import replace
from queue import SimpleQueue

import pytest

import linkedbandits as lb
from linkedbandits.service.background import Background
from linkedbandits.service.desk import Desk
from linkedbandits.service.groups import Groups
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.jobs import Change, Errand, ReadOne
from linkedbandits.service.store import open_store
from linkedbandits.service.tables import Tables
from linkedbandits.version import __version__
from tests.support.service_parts import SETUP, create, held_up, in_one_group, state_of
from tests.support.store_contract import FIRST
from tools.uninterrupted import uninterrupted
from tools.waiting import SECONDS


def test_a_look_that_fails_fails_alone(desk):
    experiment = create(desk)
    with pytest.raises(ZeroDivisionError):
        desk.read(experiment, lambda hosted: 1 / 0).result()
    assert desk.ask(experiment).result().plays


def test_the_desk_outlives_a_store_that_fails_in_an_unforeseen_way(desk, store, monkeypatch):
    experiment = create(desk)

    @contextmanager
    def fail(at_the_desk=False):
        raise ZeroDivisionError
        yield

    with monkeypatch.context() as broken:
        broken.setattr(store, "reading", fail)
        with pytest.raises(ZeroDivisionError):
            desk.read(experiment, lambda hosted: hosted.head).result()
    assert desk.read(experiment, lambda hosted: hosted.head).result() == 0


@pytest.fixture
def locked(monkeypatch):
    """The experiments that were locked, in order."""
    order: list[str] = []
    lock = Tables.try_lock

    def note(self, experiment, for_a_moment):
        order.append(experiment)
        return lock(self, experiment, for_a_moment)

    monkeypatch.setattr(Tables, "try_lock", note)
    return order


def test_every_desk_locks_the_experiments_of_a_group_in_the_same_order(store_url, locked, clock):
    """Two that lock the same experiments in different orders would wait for each other in PostgreSQL.

    Twelve experiments are in the right order by chance once in 479,001,600 times.
    """
    store, other_store = open_store(store_url), open_store(store_url)
    with Desk(store, clock=clock) as desk, Desk(other_store, clock=clock) as other:
        experiments = sorted(create(desk, lease_seconds=10.0) for _ in range(12))
        for name in experiments:  # an experiment is locked when it is open
            for one in (desk, other):
                one.read(name, lambda hosted: None).result(SECONDS)
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
    desk.ask(experiment, 3).result()
    with held_up(desk, experiment):
        futures = [desk.tell(experiment, [(play, None)]) for play in range(3)]
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
    for out, experiment in enumerate(experiments, start=1):
        desk.ask(experiment, out).result()
    assert desk.figures().plays_in_flight == 3 + 4  # of the last two, which are in memory
    assert desk.figures().experiments_in_memory == 2
    assert [desk.read(experiment, lambda hosted: hosted.experiment.plays).result() for experiment in experiments] == [
        3
    ] * 4


def play_some(desk, experiment):
    plays = desk.ask(experiment, 20).result().plays
    desk.tell(experiment, [(play.id, None) for play in plays]).result()


def test_a_desk_that_stops_writes_a_snapshot_of_what_has_news(each_store):
    store = each_store
    with Desk(store) as desk:
        played, idle = (desk.create(SETUP, name).result().id for name in "xy")
        play_some(desk, played)
        desk.read(idle, lambda hosted: hosted.head).result()
        with store.reading() as tables:
            assert tables.snapshot(played) is None
    with store.reading() as tables:
        snapshot = tables.snapshot(played)
        assert (snapshot.seq, tables.snapshot(idle)) == (tables.head(played), None)
        assert snapshot.body["experiment"]["written_by"]["version"] == __version__
    with Desk(store) as desk:
        desk.read(played, lambda hosted: hosted.head).result()
    with store.reading() as tables:
        assert tables.snapshot(played) == snapshot


def test_a_store_that_is_gone_keeps_no_desk_from_stopping(each_store):
    with Desk(each_store) as desk:
        experiment = desk.create(SETUP, "x").result().id
        play_some(desk, experiment)
        each_store.close()


def asking(experiment, key=None):
    return Change(experiment, lambda hosted, store, now: hosted.ask(store, 1, key, now).plays[0].id)


def created(groups):
    job = Errand(lambda store, now: store.create(replace(FIRST, setup=SETUP)))
    groups.change([job], 0.0)
    assert job.future.done()
    return FIRST.id


def test_who_waits_hears_nothing_before_the_transaction_has_ended(store):
    heard = []

    class Watched:
        reading = store.reading

        @contextmanager
        def writing(self):
            with store.writing() as tables:
                yield tables
            heard.append(job.future.done())

    groups = Groups(Watched(), snapshot_every=100)
    job = Errand(lambda tables, now: now)
    groups.change([job], 7.0)
    assert (heard, job.future.result()) == ([False], 7.0)


def test_a_refusal_costs_the_others_of_its_group_nothing(store, monkeypatch):
    """After an error that is no refusal all others are run again, on an experiment that is opened anew."""
    opened = []
    whole = HostedExperiment.open
    monkeypatch.setattr(HostedExperiment, "open", lambda *of: opened.append(1) or whole(*of))
    groups = Groups(store, snapshot_every=100)
    experiment = created(groups)
    jobs = [asking(experiment), asking(experiment, key="x" * 201), asking(experiment)]
    groups.change(jobs, 1.0)
    assert [jobs[0].future.result(), jobs[2].future.result()] == [0, 1]
    assert isinstance(jobs[1].future.exception(), lb.InvalidParameter)
    assert opened == [1]


def test_what_is_in_memory_is_what_was_committed(store):
    """A change that could not be written is forgotten, and what another process wrote is caught up with."""
    groups, other = Groups(store, snapshot_every=100), Groups(store, snapshot_every=100)
    experiment = created(groups)
    breaking = Change(experiment, lambda hosted, tables, now: hosted.ask(tables, 1, None, now) and tables.create(FIRST))
    job = asking(experiment)
    groups.change([breaking, job], 1.0)
    assert isinstance(breaking.future.exception(), sqlite3.IntegrityError)
    assert job.future.result() == 0
    elsewhere, here = asking(experiment), asking(experiment)
    other.change([elsewhere], 1.0)
    groups.change([here], 1.0)
    assert (elsewhere.future.result(), here.future.result()) == (1, 2)


def test_all_who_look_share_one_view_of_the_store_and_without_them_it_is_left_alone(store):
    views = []

    class Counted:
        def reading(self, at_the_desk=False):
            views.append(1)
            return store.reading()

    groups = Groups(Counted(), snapshot_every=100)
    groups.look([])
    assert views == []
    looks = [ReadOne(name, lambda hosted: hosted) for name in ("nobody", "somebody")]
    groups.look(looks)
    assert views == [1]
    assert all(isinstance(look.future.exception(), lb.UnknownName) for look in looks)


def change(experiment):
    return Change(experiment, lambda hosted, store, now: "done")


def test_a_group_may_have_more_experiments_than_stay_in_memory(store, monkeypatch):
    monkeypatch.setattr("linkedbandits.service.groups.MOST_OPEN", 1)
    groups = Groups(store, snapshot_every=100, background=Background(lambda _: None))
    names = ["a", "b", "c"]
    for name in names:
        groups.change([Errand(lambda tables, now, name=name: tables.create(replace(FIRST, id=name, setup=SETUP)))], 0.0)
    jobs = [change(name) for name in names]
    groups.change(jobs, 1.0)
    assert not any(job.future.done() for job in jobs)
    groups.change(groups.close(), 1.0)
    assert [job.future.result(0) for job in jobs] == ["done"] * 3


def test_what_is_committed_is_acknowledged_whatever_becomes_of_the_news(store):
    def fail(news):
        raise ZeroDivisionError

    groups = Groups(store, snapshot_every=100, on_news=fail)
    job = Change(created(groups), lambda hosted, tables, now: hosted.set_status("paused", now).status)
    groups.change([job], 1.0)
    assert job.future.result(0) == "paused"


def test_jobs_are_told_apart_by_what_they_are_however_many_there_are(store):
    """A job is looked up in a set: with ten thousand of them, a list would be gone through fifty million times."""

    class Watched(Change):
        compared = 0

        def __eq__(self, other):
            Watched.compared += 1
            return self is other

        def __hash__(self):
            return id(self)

    class Holding:
        """All but one experiment are held by somebody else."""

        @contextmanager
        def writing(self):
            with store.writing() as tables:
                tables.try_lock = lambda experiment, for_a_moment: None
                yield tables

    groups = Groups(Holding(), snapshot_every=100)
    jobs = [Watched("x", lambda *_: None) for _ in range(300)]
    assert len(groups.change(jobs, 1.0)) == 300
    assert Watched.compared < 1_000


def test_the_desk_outlives_whatever_happens_to_a_group_and_answers_its_jobs(desk, monkeypatch):
    experiment = create(desk)
    whole = Groups.change

    def fail(self, jobs, now):
        whole(self, jobs, now)
        raise ZeroDivisionError("between two groups")

    with monkeypatch.context() as broken:
        broken.setattr(Groups, "change", fail)
        broken.setattr("linkedbandits.service.groups._resolve", lambda outcomes: None)
        with pytest.raises(ZeroDivisionError):
            desk.ask(experiment).result(SECONDS)
        with pytest.raises(ZeroDivisionError):
            desk.expire().result(SECONDS)
    assert desk.ask(experiment).result(SECONDS).plays


def test_an_experiment_for_which_there_is_no_thread_is_opened_all_the_same(store):
    ready = SimpleQueue()
    background = Background(ready.put)
    background._workers.shutdown()  # it takes no more, as where no thread can be started
    groups = Groups(store, snapshot_every=100, background=background)
    job = Change(created(groups), lambda hosted, tables, now: hosted.head)
    groups.change([job], 1.0)
    groups.change(groups.go_on(ready.get(timeout=SECONDS)), 1.0)
    assert job.future.result(0) == 0
