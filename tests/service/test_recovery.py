"""An experiment that is opened again, from its snapshot and few entries, is what its whole journal says it is."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import linkedbandits as lb
from linkedbandits.live import WarmStart
from linkedbandits.policies import describe_policy
from linkedbandits.service.clocks import Clocks
from linkedbandits.service.desk import Desk
from linkedbandits.service.hosted import HostedExperiment
from linkedbandits.service.records import Setup
from linkedbandits.service.sqlite_store import SqliteStore
from tests.support.busy_experiment import busy_experiment, reopened
from tests.support.every_policy import EVERY_POLICY, playable
from tests.support.running_service import running_service
from tests.support.service_parts import ManualClock, create
from tools.uninterrupted import uninterrupted
from tools.waiting import SECONDS, until

IN_MEMORY = Path("/dev/shm")
ARMS = tuple("abcd")
OPENED = "linkedbandits_experiments_opened_total"
REPLAYED = "linkedbandits_entries_replayed_total"


# ---- The same as a replay of the whole journal

KINDS = {"ask": 30, "tell": 60, "late": 8, "abandon": 6, "wait": 4, "pause": 1, "resume": 2, "tag": 1, "give way": 0.1}


def some_commands(seed, length):
    """Far longer than what hypothesis draws by itself: a policy takes tens of plays to come to anything."""
    chance = random.Random(seed)
    kinds = chance.choices(list(KINDS), list(KINDS.values()), k=length)
    return [(kind, chance.randrange(1_000), chance.randint(-1, 3)) for kind in kinds]


commands = st.builds(some_commands, st.integers(0, 2**32), st.integers(0, 250))
setups = st.builds(
    lambda played, parallel, whole_chains, most: Setup(
        ARMS,
        describe_policy(played[0]),
        linkage=played[1],
        parallel=parallel,
        max_plays=most,
        lease_seconds=10.0,
        whole_chains=whole_chains,
    ),
    st.sampled_from(playable(EVERY_POLICY)),
    st.sampled_from([None, 6]),
    st.booleans(),
    st.sampled_from([None, 40]),
)
logs = st.lists(st.tuples(st.permutations(ARMS), st.sampled_from([None, *ARMS])), min_size=1, max_size=30)


class Player:
    """Leads an experiment through commands, and through the next ones once it was opened again."""

    def __init__(self, clock):
        self.clock, self.out, self.given_up = clock, [], []

    def play(self, command, ask, tell, abandon, others):
        """Carry a command out, by these functions."""
        kind, number, place = command
        if kind == "ask":
            asked = ask(1 + number % 12)
            self.out += [] if asked is None else asked.plays
        elif kind in ("tell", "late", "abandon"):
            plays = self.given_up if kind == "late" else self.out
            if plays:
                play = plays.pop(number % len(plays))
                if kind == "abandon":
                    self.given_up.append(play)
                    abandon(play)
                else:
                    tell(play, play.arms[place] if 0 <= place < len(play.arms) else None)
        elif kind == "wait":
            self.clock.now += (1, 4, 11)[number % 3]
        else:
            others(kind)


class WithoutSnapshots:
    """A store whose journal is all there is."""

    def __init__(self, tables):
        self._tables = tables

    def __getattr__(self, name):
        return getattr(self._tables, name)

    def snapshot(self, experiment):
        return None


def summary(hosted):
    """All that an experiment is, as far as the store can know."""
    return {
        **json.loads(hosted.experiment.to_json())["content"],
        "leases": list(hosted.leases.items()),
        "due": hosted.due(),
        "head": hosted.head,
        **{name: getattr(hosted, name) for name in ("status", "abandoned", "successor", "tags", "record")},
    }


def refusable(function):
    """A function that gives None where an experiment says no."""

    def call(*of):
        try:
            return function(*of)
        except (lb.ExperimentFinished, lb.WrongState, lb.TooManyInFlight):
            return None

    return call


@given(setup=setups, log=st.none() | logs, every=st.integers(1, 40), before=commands, after=commands)
@settings(max_examples=60, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_snapshot_and_tail_are_what_the_whole_journal_is(setup, log, every, before, after):
    clock = ManualClock()
    player = Player(clock)
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as folder:
        store = SqliteStore(Path(folder) / "a.sqlite")
        with Desk(store, clock=clock, snapshot_every=every) as desk:
            experiment = begun(desk, setup, log)

            def others(kind):
                if kind in ("pause", "resume"):
                    desk.set_status(experiment, "paused" if kind == "pause" else "running").result(SECONDS)
                elif kind == "tag":
                    desk.set_tags(experiment, [f"t{len(player.out)}"]).result(SECONDS)
                else:
                    desk.give_way(experiment, "successor", "why").result(SECONDS)

            for command in before:
                player.play(
                    command,
                    refusable(lambda count: desk.ask(experiment, count).result(SECONDS)),
                    lambda play, hit: desk.tell(experiment, [(play.id, hit)]).result(SECONDS),
                    lambda play: desk.abandon(experiment, [play.id]).result(SECONDS),
                    others,
                )
            with store.reading() as tables:  # as after a kill: a desk that stops would write a snapshot
                check_same_opened(tables, experiment, clock, player, after)
        with store.reading() as tables:
            snapshot = tables.snapshot(experiment)
            behind = tables.entries(experiment, 0 if snapshot is None else snapshot.seq)
            assert {entry.kind for entry in behind} <= {"status"}  # it was stopped in order
        store.close()


def test_an_answer_that_is_overdue_is_looked_ahead_for_after_a_restart_as_before(store, clock):
    """Play 0 is never told: from some play on what to play is found by looking ahead."""
    with Desk(store, clock=clock, snapshot_every=1) as desk:
        experiment = create(desk, lease_seconds=1e6)
        player = Player(clock)
        player.out += desk.ask(experiment).result(SECONDS).plays[1:]
        for _ in range(40):
            (play,) = desk.ask(experiment).result(SECONDS).plays
            desk.tell(experiment, [(play.id, play.arms[0])]).result(SECONDS)
        with store.reading() as tables:
            check_same_opened(tables, experiment, clock, player, [("ask", 0, 0), ("tell", 0, 0)] * 40)


def begun(desk, setup, log):
    """A new experiment, with the log if its policy takes one."""
    if log is not None:
        attempts = lb.Attempts.from_plays([(order, hit) for order, hit in log], options=ARMS)
        try:
            return desk.create(setup, "x", WarmStart.of(attempts, ARMS, "first", "refuse")).result(SECONDS).id
        except lb.LinkedBanditError:  # one that asks for whole sequences, say
            pass
    return desk.create(setup, "x").result(SECONDS).id


def check_same_opened(tables, experiment, clock, player, commands):
    """From the snapshot and from the journal, now and as both go on."""
    record, clocks = tables.record(experiment), Clocks(clock, clock)
    quick = HostedExperiment.open(tables, record, clocks)
    whole = HostedExperiment.open(WithoutSnapshots(tables), record, clocks)
    snapshot = tables.snapshot(experiment)
    assert whole.replayed == record.head
    assert quick.replayed == record.head - (0 if snapshot is None else snapshot.seq)
    assert summary(quick) == summary(whole)

    def both(act):
        def call(*of):
            found = [refusable(act)(hosted, *of) for hosted in (quick, whole)]
            assert found[0] == found[1] or str(found[0]) == str(found[1])
            return found[0]

        return call

    for command in commands:
        player.play(
            command,
            both(lambda hosted, count: _plays(hosted.ask(tables, count, None, clock.now))),
            both(lambda hosted, play, hit: hosted.tell([(play.id, hit)], clock.now)),
            both(lambda hosted, play: hosted.abandon([play.id], clock.now)),
            lambda kind: None,
        )
        assert summary(quick) == summary(whole)


def _plays(asked):
    """Without the numbers of their tuples: a tuple may have got a new one."""
    return replace(asked, runs=())


# ---- Through HTTP: what a start replays, and who waits for it


@pytest.fixture
def killed(tmp_path):
    """The file of a store whose process was killed, with a busy experiment of entries of one play; and its tail."""
    store = SqliteStore(tmp_path / "first.sqlite")
    with Desk(store, snapshot_every=100) as desk:
        experiment = create(desk)
        for _ in range(130):
            (play,) = desk.ask(experiment).result(SECONDS).plays
            desk.tell(experiment, [(play.id, None)]).result(SECONDS)
        with store.reading() as tables:
            tail = tables.head(experiment) - tables.snapshot(experiment).seq
        for end in ("", "-wal"):
            shutil.copy(f"{tmp_path / 'first.sqlite'}{end}", f"{tmp_path / 'killed.sqlite'}{end}")
    store.close()
    return str(tmp_path / "killed.sqlite"), experiment, tail


def test_a_service_replays_what_is_behind_the_snapshot_and_after_an_orderly_stop_nothing(killed):
    path, experiment, tail = killed
    assert 0 < tail <= 100
    with running_service(path) as service:
        assert service.figures()[REPLAYED,] == 0
        (play,) = service.post(experiment, "ask", {"count": 1}).json()["plays"]
        assert play["id"] == 130
        assert (service.figures()[OPENED,], service.figures()[REPLAYED,]) == (1, tail)
    with running_service(path) as service:
        told = service.post(experiment, "tell", {"answers": [{"play": 130, "hit": None}]}).json()
        assert told["receipts"] == ["counted"]
        assert (service.figures()[OPENED,], service.figures()[REPLAYED,]) == (1, 0)


class SlowToOpen:
    """An experiment that takes until it is let go on to be opened."""

    def __init__(self, monkeypatch, experiment):
        self.begun, self.go_on = threading.Event(), threading.Event()
        whole = HostedExperiment.open.__func__

        def slow(cls, store, record, *of):
            if record.id == experiment:
                self.begun.set()
                assert self.go_on.wait(SECONDS)
            return whole(cls, store, record, *of)

        monkeypatch.setattr(HostedExperiment, "open", classmethod(slow))


def test_while_one_experiment_is_opened_others_are_asked_and_told(killed, monkeypatch):
    path, experiment, _ = killed
    slow = SlowToOpen(monkeypatch, experiment)
    answers = {}
    with running_service(path) as service:

        def wait_for(name, request):
            thread = threading.Thread(target=lambda: answers.setdefault(name, request()))
            thread.start()
            return thread

        waiting = [
            wait_for("asked", lambda: service.post(experiment, "ask", {"count": 1})),
            wait_for("seen", lambda: service.http.get(f"/v1/experiments/{experiment}/verdict")),
        ]
        try:
            assert slow.begun.wait(SECONDS)
            other = service.create()
            for _ in range(3):
                service.play(other, 2)
            assert service.http.get(f"/v1/experiments/{other}/verdict").status_code == 200
            assert answers == {}
        finally:
            slow.go_on.set()
            for thread in waiting:
                thread.join(SECONDS)
        assert {name: answer.status_code for name, answer in answers.items()} == {"asked": 200, "seen": 200}
        assert answers["asked"].json()["plays"][0]["id"] == 130


def test_requests_under_way_when_the_service_stops_are_told_to_come_back(killed, monkeypatch):
    path, experiment, _ = killed
    monkeypatch.setattr("linkedbandits.service.http.server.SECONDS_TO_FINISH", 0)
    slow = SlowToOpen(monkeypatch, experiment)
    with running_service(path) as service:
        told = {"answers": [{"play": 0, "hit": None}]}
        urls = {"ask": ("POST", {"count": 1}), "tell": ("POST", told), "verdict": ("GET", None)}
        with ThreadPoolExecutor(len(urls)) as pool:
            waiting = {
                verb: pool.submit(service.http.request, method, f"/v1/experiments/{experiment}/{verb}", json=body)
                for verb, (method, body) in urls.items()
            }
            until(lambda: len(service.server.server_state.tasks) == len(urls) and slow.begun.is_set(), "all to wait")
            service.server.should_exit = True
            try:
                for answer in (future.result(SECONDS) for future in waiting.values()):
                    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
                    assert answer.headers["Content-Type"] == "application/problem+json"
                    assert answer.json()["type"] == "urn:linkedbandits:service-unavailable"
                    assert "being stopped" in answer.json()["detail"]
            finally:
                slow.go_on.set()


def test_one_that_is_far_behind_what_another_process_wrote_is_opened_anew(tmp_path, monkeypatch):
    """Not caught up with entry by entry: a snapshot is nearer."""
    monkeypatch.setattr("linkedbandits.service.groups.PAGE", 10)
    replayed = []
    stores = [SqliteStore(tmp_path / "a.sqlite") for _ in range(2)]
    with Desk(stores[0], snapshot_every=20) as busy, Desk(stores[1], on_open=replayed.append) as late:
        experiment = create(busy)
        assert late.ask(experiment).result().plays[0].id == 0
        for _ in range(50):
            (play,) = busy.ask(experiment).result().plays
            busy.tell(experiment, [(play.id, None)]).result()
        seen = late.read(experiment, lambda hosted: hosted.experiment.plays).result()
        assert seen == 50
        assert late.ask(experiment).result().plays[0].id == 51
    assert len(replayed) == 2
    assert replayed[0] == 0
    assert replayed[1] < 20
    for store in stores:
        store.close()


# ---- Snapshots that cannot be used

DAMAGE = {
    "no snapshot at all": "UPDATE snapshots SET body = x'00'",
    "answers that are lost": "DELETE FROM answers WHERE segment = 2",
    "answers that cannot be read": "UPDATE answers SET hits = x'00' WHERE segment = 2",
    "all answers lost": "DELETE FROM answers",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_an_experiment_outlives_damage_to_its_snapshot(store, monkeypatch, caplog, damage):
    monkeypatch.setattr("linkedbandits.live.answers.SEGMENT", 50)
    monkeypatch.setattr("linkedbandits.service.journal_tail.SEGMENT", 50)
    experiment = busy_experiment(store, snapshot_every=40)
    with store.writing() as tables:
        tables._run(damage)
    hosted = reopened(store, experiment)
    assert "snapshot-damaged" in caplog.messages
    assert hosted.replayed == hosted.head
    assert hosted.experiment.to_json() == uninterrupted(store, experiment).to_json()


def test_one_of_another_version_is_not_believed_and_the_next_one_is(store):
    experiment = busy_experiment(store, snapshot_every=40)
    with store.writing() as tables:
        snapshot = tables.snapshot(experiment)
        snapshot.body["written_by"] = snapshot.body["written_by"].replace(lb.__version__, "0.0.1")
        tables.save_snapshot(experiment, snapshot, {})
    hosted = reopened(store, experiment)
    assert hosted.replayed == hosted.head
    assert hosted.experiment.to_json() == uninterrupted(store, experiment).to_json()
    with Desk(store, snapshot_every=40) as desk:
        desk.ask(experiment).result(SECONDS)
    assert reopened(store, experiment).replayed == 0


@pytest.mark.parametrize("written_by", [None, "0.0.1 otherwise"])
def test_one_that_is_ahead_of_the_journal_is_no_reason_to_forget_what_was_acknowledged(store, written_by):
    experiment = busy_experiment(store, snapshot_every=40)
    with store.writing() as tables:
        head = tables.head(experiment)
        tables._run("DELETE FROM journal WHERE seq > ?", head - 3)
        tables._run("UPDATE experiments SET head = ?", head - 3)
        if written_by is not None:
            tables._run("UPDATE experiments SET written_by = ?", written_by)
    with Desk(store) as desk:
        for refused in (desk.ask(experiment), desk.read(experiment, lambda hosted: hosted.head)):
            assert isinstance(refused.exception().__cause__, lb.DamagedSave)
