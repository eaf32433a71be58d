"""Two desks on one store, with leases that run out and restarts at any moment, against a plain Experiment."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.records import Setup
from linkedbandits.service.sqlite_store import SqliteStore
from tests.support.service_parts import ManualClock
from tools.uninterrupted import plain_experiment, uninterrupted

IN_MEMORY = Path("/dev/shm")
POLICIES = [
    {"name": "linked-elimination", "parameters": {"delta": 0.2}},
    {"name": "uniform-sampling", "parameters": {"samples": 6}},
    {"name": "lil-ucb", "parameters": {"delta": 0.3}},
    {"name": "suffix-ucb", "parameters": {"delta": 0.3}},
]
desks = st.integers(0, 1)


class SharedDesks(RuleBasedStateMachine):
    """Whichever desk does it, and whatever happened to it before, the outcome is that of one plain experiment."""

    @initialize(
        policy=st.sampled_from(POLICIES),
        linkage=st.sampled_from(["ordered", "free", "suffix"]),
        parallel=st.sampled_from([None, 6]),
        whole_chains=st.booleans(),
        snapshot_every=st.sampled_from([1, 7, 1000]),
    )
    def begin(self, policy, linkage, parallel, whole_chains, snapshot_every):
        self.folder = tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None)
        self.path = Path(self.folder.name) / "a.sqlite"
        self.clock, self.snapshot_every = ManualClock(), snapshot_every
        self.stores: list[SqliteStore] = []
        self.desks: list[Desk] = []
        for _ in range(2):
            self.open_one()
        setup = Setup(
            tuple("abcd"),
            policy,
            linkage=linkage,
            parallel=parallel,
            lease_seconds=10.0,
            whole_chains=whole_chains,
        )
        self.id = self.desks[0].create(setup, "machine").result().id
        self.plain = plain_experiment(setup)
        self.leases: dict[int, float] = {}
        self.plays: list[lb.Play] = []
        self.keys: dict[str, tuple[tuple[lb.Play, ...], int]] = {}
        self.paused = False

    def open_one(self):
        self.stores.append(SqliteStore(self.path))
        self.desks.append(Desk(self.stores[-1], clock=self.clock, snapshot_every=self.snapshot_every))
        self.desks[-1].start()

    def expire_plain(self):
        due = [play for play, expiry in self.leases.items() if expiry <= self.clock.now]
        for play in due:
            self.plain.abandon(play)
            del self.leases[play]
        return len(due)

    @rule(desk=desks, count=st.integers(1, 5), key=st.sampled_from([None, "k1", "k2", "k3"]))
    def ask(self, desk, count, key):
        asked = self.desks[desk].ask(self.id, count, key)
        if key in self.keys:
            before, asked_for = self.keys[key]
            if asked_for != count:
                assert isinstance(asked.exception(), lb.InvalidParameter)
            else:
                assert asked.result().plays == before
                assert asked.result().repeated
            return
        if self.paused:
            assert isinstance(asked.exception(), lb.WrongState)
            return
        self.expire_plain()
        plays, refusal = [], None
        for _ in range(count):
            try:
                plays.append(self.plain.ask())
            except (lb.ExperimentFinished, lb.TooManyInFlight) as error:
                refusal = error
        if not plays:
            assert type(asked.exception()) is type(refusal)
            return
        assert asked.result().plays == tuple(plays)
        self.plays += plays
        self.leases.update((play.id, self.clock.now + 10.0) for play in plays)
        if key is not None:
            self.keys[key] = (tuple(plays), count)

    @precondition(lambda self: self.plays)
    @rule(desk=desks, picks=st.lists(st.tuples(st.integers(0, 30), st.integers(-1, 3)), min_size=1, max_size=4))
    def tell(self, desk, picks):
        """The latest plays mostly; some for the second time, some with an arm that was not tried."""
        self.expire_plain()
        answers, expected = [], []
        for back, position in picks:
            play = self.plays[-1 - back % len(self.plays)]
            hit = "abcd"[position] if position >= 0 else None
            answers.append((play.id, hit))
            try:
                expected.append(self.plain.tell(play.id, hit))
                self.leases.pop(play.id, None)
            except (lb.ConflictingTell, lb.InvalidParameter) as error:
                expected.append(str(error))
        told = self.desks[desk].tell(self.id, answers).result()
        assert [r if isinstance(r, str) else str(r.error) for r in told.receipts] == expected
        assert told.done == self.plain.done

    @precondition(lambda self: self.plays)
    @rule(desk=desks, back=st.integers(0, 30))
    def give_back(self, desk, back):
        play = self.plays[-1 - back % len(self.plays)].id
        assert self.desks[desk].abandon(self.id, [play]).result() == (play in self.leases)
        self.plain.abandon(play)
        self.leases.pop(play, None)

    @rule(seconds=st.sampled_from([0.5, 4.0, 11.0]))
    def time_passes(self, seconds):
        self.clock.now += seconds

    @rule(desk=desks)
    def leases_run_out(self, desk):
        self.desks[desk].read(self.id, lambda hosted: hosted.head).result()  # a desk sweeps what it has open
        assert self.desks[desk].expire().result() == self.expire_plain()

    @rule(desk=desks)
    def restart(self, desk):
        self.desks.pop(desk).stop()
        self.stores.pop(desk).close()
        self.open_one()

    @rule(desk=desks)
    def pause_or_resume(self, desk):
        self.paused = not self.paused
        self.desks[desk].set_status(self.id, "paused" if self.paused else "running").result()

    @invariant()
    def both_desks_agree_with_the_plain_experiment(self):
        if not hasattr(self, "plain"):
            return
        text = self.plain.to_json()
        for desk in self.desks:
            state, leases = desk.read(self.id, lambda h: (h.experiment.to_json(), dict(h.leases))).result()
            assert state == text
            assert leases == pytest.approx(self.leases)

    def teardown(self):
        if not hasattr(self, "plain"):
            return
        for desk in self.desks:
            desk.stop()
        assert uninterrupted(self.stores[0], self.id).to_json() == self.plain.to_json()
        for store in self.stores:
            store.close()
        self.folder.cleanup()


TestSharedDesks = SharedDesks.TestCase
TestSharedDesks.settings = settings(max_examples=25, stateful_step_count=30)
TestSharedDesks.pytestmark = [pytest.mark.slow]
