"""A chain whose options change, or come and go: in memory, in a file and in the service."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.attempts.alarms import Alarm, Rate
from linkedbandits.chain import in_service
from linkedbandits.chain.expenses import Spent
from linkedbandits.chain.history import Move
from linkedbandits.chain.in_file import VERSION
from tests.support.remotes import Remote, home_of
from tests.support.service_parts import ManualClock
from tools.waiting import SECONDS, until

MEANS = {"a": 0.55, "b": 0.9, "c": 0.3}


class World:
    """Options whose means can be changed."""

    def __init__(self, means=MEANS, seed: int = 1) -> None:
        self.means = dict(means)
        self._luck = random.Random(seed)

    def option(self, label: str) -> Callable[[], str]:
        def attempt() -> str:
            if self._luck.random() >= self.means[label]:
                raise ConnectionError(label)
            return label

        return attempt

    def chain(self, **changes) -> lb.Chain:
        return lb.Chain({label: self.option(label) for label in self.means}, **changes)


def call(chain: lb.Chain, times: int = 1) -> None:
    for _ in range(times):
        with suppress(lb.ChainFailed):
            chain()


@contextmanager
def nobody_writing(path: Path) -> Iterator[None]:
    """Hold the lock of a chain's file."""
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def until_verdict(chain: lb.Chain, most: int = 20_000) -> lb.Verdict:
    for _ in range(most):
        if chain.verdict() is not None:
            return chain.verdict()
        call(chain)
    raise AssertionError(f"no verdict in {most} calls")


# ------------------------------------------------------------------------------------------------------- in memory


@pytest.mark.statistical
def test_a_verdict_is_reopened_when_the_best_falls_and_a_new_one_comes():
    """From 0.9 to 0.35: it is not noticed within 600 calls with less than 10^-6."""
    verdicts, ended, heard = [], [], []
    world = World()
    chain = world.chain(on_verdict=verdicts.append, on_reopen=ended.append, on_alarm=heard.append)
    assert until_verdict(chain).arm == "b"
    call(chain, 1000)
    assert (ended, chain.status().reopened, len(chain.history)) == ([], 0, 1)
    first = chain.status().since
    world.means["b"] = 0.35
    calls = chain.status().calls
    for _ in range(600):
        call(chain)
        if ended:
            break
    assert chain.verdict() is None or len(verdicts) == 2
    assert chain.order[0] == "a"  # what seems best by now is served first, until there is a verdict
    assert until_verdict(chain).arm == "a"
    assert chain.status().calls - calls < 2000
    call(chain)
    assert [verdict.arm for verdict in verdicts] == ["b", "a"]
    (era,) = ended
    assert (era.reason, era.verdict.arm, era.arms) == ("drift", "b", ("a", "b", "c"))
    assert era.why.startswith("drift: 'b' works less often than before: 0.")
    assert era.began <= era.decided <= era.ended
    assert chain.history[0] == era
    assert (chain.history[1].verdict, chain.history[1].ended) == (chain.verdict(), None)
    status = chain.status()
    assert (status.reopened, status.since >= first) == (1, True)
    drifts = [alarm for alarm in heard if isinstance(alarm, lb.chain.drift.DriftAlarm)]
    assert [alarm.sentence for alarm in drifts] == [era.why.removeprefix("drift: ")]
    # The new experiment has nothing of what was seen before.
    assert chain.experiment.from_log is None
    assert chain.experiment.before.kept == 0


@pytest.mark.statistical
def test_another_option_that_rises_is_seen_in_watched_calls():
    """From 0.3 to 0.99, with a share of 0.2 watched: not noticed within 4,000 calls with less than 10^-6."""
    world = World()
    chain = world.chain(watch=0.2)
    until_verdict(chain)
    call(chain, 3000)
    world.means["c"] = 0.995
    call(chain, 4000)
    assert [era.reason for era in chain.history] == ["drift", None]
    assert "'c' works more often than before" in chain.history[0].why


@pytest.mark.statistical
def test_a_change_before_the_verdict_begins_anew():
    """Two options that tie, so that there is no verdict; one falls from 0.8 to 0.2."""
    world = World({"a": 0.8, "b": 0.8})
    chain = world.chain(delta=1e-9)
    call(chain, 1000)
    assert len(chain.history) == 1
    world.means["b"] = 0.2
    assert until_verdict(chain).arm == "a"
    assert [(era.reason, era.verdict is None) for era in chain.history] == [("drift", True), (None, False)]


def test_what_does_not_speak_against_the_verdict_does_not_reopen_it():
    world = World()
    chain = world.chain(watch=0.3)
    until_verdict(chain)
    call(chain, 1000)
    world.means.update(a=0.05, b=1.0)  # the best gets better, and another one worse
    call(chain, 3000)
    assert len(chain.history) == 1


def test_without_reopening_nothing_is_watched_for_it():
    world = World()
    chain = world.chain(reopen=None)
    until_verdict(chain)
    world.means["b"] = 0.1
    call(chain, 2000)
    assert (len(chain.history), chain.order[0], chain.status().reopened) == (1, "b", 0)
    with pytest.raises(lb.InvalidParameter, match="reopen"):
        world.chain(reopen=1.5)


def test_an_option_is_added_and_what_was_told_is_kept():
    world, ended = World(), []
    chain = world.chain(on_reopen=ended.append)
    until_verdict(chain)
    told = chain.experiment.plays
    world.means["d"] = 0.99
    chain.add("d", world.option("d"), timeout=30.0)
    assert chain.options == ("a", "b", "c", "d")
    assert chain.experiment.from_log.requests == told
    assert (chain.verdict(), chain.status().reopened) == (None, 0)
    assert until_verdict(chain).arm == "d"
    (era,) = ended
    assert (era.reason, era.why, era.verdict.arm) == ("options", "options: added 'd'", "b")
    assert chain.status().errors == 0


def test_an_option_is_removed_and_the_verdict_on_the_others_comes_from_the_log():
    world = World()
    chain = world.chain()
    until_verdict(chain)
    chain.remove("b")
    assert until_verdict(chain).arm == "a"
    assert chain.history[0].why == "options: removed 'b'"
    tried = set()
    for _ in range(50):
        with suppress(lb.ChainFailed):
            tried.update(chain().tried)
    assert tried <= {"a", "c"}


def test_what_was_chosen_by_its_outcomes_is_removed_without_a_log():
    world = World()
    chain = world.chain()
    until_verdict(chain)
    chain.remove("c", keep=False)
    assert chain.experiment.from_log is None
    assert until_verdict(chain).arm == "b"


def test_what_cannot_be_added_or_removed_is_said():
    chain = World({"a": 0.5, "b": 0.5}).chain()
    with pytest.raises(lb.InvalidParameter, match="'a' is an option already"):
        chain.add("a", print)
    with pytest.raises(lb.InvalidParameter, match="'x' is no option; the options are 'a', 'b'"):
        chain.remove("x")
    with pytest.raises(lb.InvalidParameter, match="without 'b' one option is left"):
        chain.remove("b")
    with pytest.raises(lb.InvalidParameter, match="cannot be called"):
        chain.add("c", 3)
    with pytest.raises(lb.InvalidParameter, match="timeout"):
        chain.add("c", print, timeout=-1.0)
    assert (chain.options, len(chain.history)) == (("a", "b"), 1)


def test_a_call_in_flight_ends_as_it_began():
    go_on, began = threading.Event(), threading.Event()

    def slow() -> str:
        began.set()
        assert go_on.wait(SECONDS)
        return "slow"

    def fails() -> None:
        raise ConnectionError

    chain = lb.Chain({"a": fails, "slow": slow, "c": fails}, linkage="ordered", policy=lb.UniformSampling(samples=500))
    with ThreadPoolExecutor(1) as pool:
        call_in_flight = pool.submit(chain)
        try:
            assert began.wait(SECONDS)
            chain.remove("slow")
            assert chain.options == ("a", "c")
        finally:
            go_on.set()
        result = call_in_flight.result(SECONDS)
    assert (result.value, result.option) == ("slow", "slow")
    assert (chain.status().errors, chain.status().in_flight) == (0, 0)
    with pytest.raises(lb.ChainFailed) as caught:
        chain()
    assert sorted(caught.value.tried) == ["a", "c"]


@pytest.mark.slow
def test_options_come_and_go_while_threads_call():
    world = World({"a": 0.5, "b": 0.5, "c": 0.5})
    chain = world.chain(delta=1e-9)
    stop = threading.Event()

    def work(_: int) -> int:
        calls = 0
        while not stop.is_set():
            call(chain)
            calls += 1
        return calls

    with ThreadPoolExecutor(6) as pool:
        working = [pool.submit(work, number) for number in range(6)]
        try:
            for number in range(3):
                world.means[f"new {number}"] = 0.5
                chain.add(f"new {number}", world.option(f"new {number}"))
                chain.remove(chain.options[0])
        finally:
            stop.set()
        calls = sum(done.result(SECONDS) for done in working)
    status = chain.status()
    assert (status.calls, status.in_flight, status.lost, status.errors) == (calls, 0, 0, 0)
    assert len(chain.history) == 7


def test_experiments_of_a_chain_share_one_level_of_alarms():
    """Losses of one option in each of three experiments: each has a smaller part, and all of them add up."""

    def lost() -> None:
        raise KeyError("the caller is gone")

    def fails() -> None:
        raise ConnectionError

    chain, levels = lb.Chain({"a": lost, "b": fails, "c": fails}, failures=OSError, delta=1e-9), []
    for number in range(3):
        for _ in range(200):
            with suppress(lb.ChainFailed, KeyError):
                chain()
        levels += {alarm.level for alarm in chain.alarms(0.01) if alarm.kind == "losses"}
        chain.add(f"new {number}", fails, keep=False)
    assert levels == pytest.approx([options * part / 0.005 for options, part in ((3, 2), (4, 6), (5, 12))])


# -------------------------------------------------------------------------------------------------------- in a file


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "chain.json"


def settled(chain: lb.Chain) -> bool:
    """After some calls and a round."""
    call(chain, 20)
    chain.settle()
    return False


@pytest.mark.statistical
def test_all_processes_follow_and_so_does_a_chain_that_is_opened_later(path):
    world = World()
    with world.chain(state=path) as one, world.chain(state=path) as other:
        until(lambda: settled(one) or settled(other) or (one.verdict() and other.verdict()), "a verdict")
        call(one, 1500)
        world.means["b"] = 0.2
        until(lambda: call(one, 20) or one.status().reopened, "the chain to be reopened")
        until(lambda: call(other) or other.status().reopened, "the other process to follow")
        until(lambda: settled(one) or settled(other) or (one.verdict() and other.verdict()), "another verdict")
        assert one.verdict().arm == other.verdict().arm == "a"
        assert [era.arms for era in one.history] == [era.arms for era in other.history]
        assert one.status().errors == other.status().errors == 0
        history = one.history
    assert sorted(each.name for each in path.parent.iterdir() if each.suffix != ".lock") == [
        "chain.json",
        "chain.json.1",
    ]
    with world.chain(state=path) as again:
        assert again.history == history
        assert (again.status().reopened, again.verdict(), again.order[0]) == (1, history[1].verdict, "a")
        assert again.history[0].why.startswith("drift: 'b' works less often")


def test_a_restarted_process_knows_what_the_verdict_was_based_on(path):
    """It has seen nothing itself, and still notices that the best is not what it was."""
    world = World()
    with world.chain(state=path, delta=1e-30) as chain:
        until(lambda: settled(chain) or chain.status().calls > 1500, "calls")
    world.means["b"] = 0.02
    with world.chain(state=path, delta=1e-30) as chain:
        until(lambda: settled(chain) or chain.status().reopened, "the change to be noticed")


def test_each_process_has_a_smaller_part_of_the_level(path):
    world = World()
    shares = []
    for _ in range(4):
        with world.chain(state=path) as chain:
            shares.append(chain._home.share)
    assert shares == [1 / 2, 1 / 6, 1 / 12, 1 / 20]


def test_options_change_in_a_file_and_others_follow_if_they_can(path, caplog):
    world = World({"a": 0.5, "b": 0.6, "c": 0.4, "d": 0.9})
    three = {label: world.option(label) for label in "abc"}
    with lb.Chain(three, state=path) as one, lb.Chain(three, state=path) as other:
        one.remove("c")
        until(lambda: call(other) or other.options == ("a", "b"), "the other process to follow")
        one.add("d", world.option("d"))
        until(lambda: call(other) or "others went on with 'd'" in caplog.text, "the other process to say so")
        assert other.options == ("a", "b")
        call(other, 50)
        assert other.status().in_flight == 0
        other.add("d", world.option("d"))
        assert other.options == one.options == ("a", "b", "d")
        assert [era.why for era in other.history] == ["options: removed 'c'", "options: added 'd'", ""]


def test_a_chain_with_other_options_than_its_file_says_what_to_do(path):
    world = World({"a": 0.5, "b": 0.6, "c": 0.4})
    two = {label: world.option(label) for label in "ab"}
    three = {label: world.option(label) for label in "abc"}
    with lb.Chain(two, state=path) as chain:
        until(lambda: settled(chain) or chain.status().plays > 30, "plays")
        plays = chain.status().plays
    with pytest.raises(
        lb.InvalidParameter, match=r"the options in the file are 'a', 'b', and not 'a', 'b', 'c'.*change_o"
    ):
        lb.Chain(three, state=path)
    with lb.Chain(three, state=path, change_options=True) as chain:
        assert chain.options == ("a", "b", "c")
        assert chain._home._experiment.from_log.requests >= plays - 1
        assert chain.history[0].why == "options: added 'c'"
    with lb.Chain(three, state=path) as chain:
        assert len(chain.history) == 2


def test_a_file_of_the_first_version_is_read(path):
    world = World()
    with world.chain(state=path) as chain:
        until(lambda: settled(chain) or chain.status().plays > 30, "plays")
    head, text = path.read_text().split("\n", 1)
    content = json.loads(head)
    assert content["version"] == VERSION == 2
    old = {name: content[name] for name in ("format", "order", "out", "read")} | {"version": 1}
    path.write_text(json.dumps(old) + "\n" + text)
    with world.chain(state=path) as chain:
        assert (len(chain.history), chain._home._experiment.plays > 30) == (1, True)
        chain.remove("c")
    assert json.loads(path.read_text().split("\n", 1)[0])["followed_by"] == "chain.json.1"


def test_a_successor_that_was_not_announced_is_made_again(path):
    """A process was killed when the file of the successor was there, and that of the one before not yet written."""
    world = World()
    with world.chain(state=path):
        pass
    path.with_name("chain.json.1").write_text("half of a file")
    with world.chain(state=path) as chain:
        chain.remove("c")
        assert chain.options == ("a", "b")
    with world.chain(state=path) as chain:  # with the options that it began with
        assert (chain.options, len(chain.history)) == (("a", "b"), 2)
        call(chain, 20)
        assert chain.status().errors == 0
    with world.chain(state=path, change_options=True) as chain:
        assert (chain.options, len(chain.history)) == (("a", "b", "c"), 3)


@pytest.mark.parametrize("ends", ["fails", "hangs"])
@pytest.mark.parametrize("where", ["memory", "file"])
def test_a_play_that_is_out_when_options_change_is_in_the_log_of_the_successor(path, where, ends):
    """A slow failure is not left out because it is slow; one that hangs is, when its lease has expired."""
    go_on, began, clock = threading.Event(), threading.Event(), ManualClock()
    slow = [True]

    def option() -> str:
        if slow.pop() if slow else False:
            began.set()
            assert go_on.wait(SECONDS)
            raise ConnectionError
        return "done"

    def told(chain: lb.Chain) -> int:
        chain.settle()
        experiment = chain.experiment if where == "memory" else chain._home._experiment
        return 0 if experiment.from_log is None else experiment.from_log.requests

    options = dict.fromkeys("abc", option)
    state = path if where == "file" else None
    with (
        lb.Chain(options, state=state, clock=clock, reopen=None) as chain,
        ThreadPoolExecutor(1) as pool,
    ):
        in_flight = pool.submit(chain)
        assert began.wait(SECONDS)
        for _ in range(5):
            chain.settle()
            assert chain().role == "play"
        chain.remove("c")  # at once, though a call is running
        assert chain.options == ("a", "b")
        for _ in range(5):
            chain.settle()
            assert chain().role == "plain"  # served, and not learned from before the log is complete
        assert told(chain) == 0
        if ends == "hangs":
            clock.now += 61.0
            until(lambda: chain().role == "play" or told(chain), "plays")
            assert told(chain) == 0  # the log ends before what was given up
        go_on.set()
        in_flight.result(SECONDS)
        until(lambda: chain().role == "play" or chain.verdict(), "plays")
        assert told(chain) == (0 if ends == "hangs" else 1)
    assert chain.status().errors == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_watches_with_a_part_of_the_level_of_its_own(path):
    world = World()
    with world.chain(state=path) as chain:
        call(chain, 50)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            said = b"failed"
            try:
                with_parents = chain._chapter.watching is not None
                chain.settle()
                until(lambda: call(chain) or chain._chapter.watching is not None, "the child to watch")
                said = b"%d %.4f %d" % (with_parents, chain._home.share, chain._chapter.watching is not None)
            finally:
                os.write(writing, said)
                os._exit(0)
        os.waitpid(pid, 0)
        assert os.read(reading, 100) == b"0 %.4f 1" % (1 / 6)
        os.close(reading)
        os.close(writing)


# ----------------------------------------------------------------------------------------------------- in the service


@pytest.fixture
def remote() -> Remote:
    return Remote()


def test_in_the_service_each_process_has_a_smaller_part_of_the_level(remote):
    homes = [home_of(remote) for _ in range(3)]
    assert [home.share for home in homes] == [0.0] * 3
    for home in homes:
        home._round()
    assert [home.share for home in homes] == [1 / 2, 1 / 6, 1 / 12]
    homes[0].spend(Spent("a", True, 0.1, None))
    homes[0]._last_round()
    assert homes[0].share == 1 / 2


def test_in_the_service_alarms_are_those_of_the_service_and_not_a_second_set(remote, monkeypatch):
    def lost() -> None:
        raise KeyError("the caller is gone")

    said = Alarm("losses", "b", 3.0, 800.0, 0, 90, Rate(0, 60), Rate(9, 30), "Plays that begin with 'b'.", "Mend it.")
    monkeypatch.setattr(remote, "alarms", lambda: (said,))
    with lb.Chain({"a": lost, "b": int, "c": int}, state=remote, failures=OSError) as chain:
        for number in range(200):
            if number % 20 == 0:
                chain.settle()
            with suppress(KeyError):
                chain()
        assert chain.status().lost > 10
        assert chain.alarms() == (said,)


def test_in_the_service_there_is_one_successor_whoever_asks_for_it(remote):
    homes = [home_of(remote), home_of(remote)]
    for home in homes:
        home._round()
        home.go_on(Move(("b", "a", "c"), False, "drift", "drift: b"))
    for home in homes:
        home._round()
    assert remote.requests.count("successor") == 2
    assert homes[0].successor._remote is homes[1].successor._remote is remote.following
    assert [home.successor.eras[-1].why for home in homes] == ["drift: b"] * 2
    assert homes[0].take() is None  # what was asked ahead was given back
    assert remote.experiment.in_flight == 0


def test_a_service_that_allows_no_successor_hinders_nothing_else(remote, monkeypatch, caplog):
    home = home_of(remote)
    home._round()

    def refuse(*_, **__):
        raise lb.AccessDenied("not with this token")

    monkeypatch.setattr(remote, "successor", refuse)
    play = home.take()
    home.go_on(Move(("b", "a", "c"), False, "drift", "drift: b"))
    home.tell(play, None)
    home._round()
    assert "not with this token" in home._troubles.last
    assert (home.successor, remote.experiment.plays, home.take() is not None) == (None, 1, True)


def test_a_chain_with_the_first_experiment_comes_to_the_last(remote):
    second = remote.successor(["a", "b"], why="options: removed 'c'")
    second.successor(["b", "a"], keep=False, why="drift: b")
    home = home_of(remote)
    for _ in range(3):
        home._round()
    home.successor._round()
    last = home.successor.successor
    assert [(era.reason, era.why) for era in last.eras] == [("options", "options: removed 'c'"), ("drift", "drift: b")]
    last._round()
    assert (last.arms, last.take() is not None) == (("b", "a"), True)


def test_options_that_no_experiment_had_are_those_of_the_last_one_or_refused(remote, caplog):
    remote.successor(["a", "b"], why="options: removed 'c'")
    refused, changed = (home_of(remote, labels=("a", "b", "d"), change_options=change) for change in (False, True))
    for home in (refused, changed):
        home._round()
        home.successor._round()
    assert "'a', 'b', and not 'a', 'b', 'd'" in refused._troubles.last
    assert refused.successor.take() is None
    last = remote.following.following
    assert (last.experiment.arms, last.before.why) == (("a", "b", "d"), "options: added 'd'")
    assert [era.why for era in changed.successor.successor.eras] == ["options: removed 'c'", "options: added 'd'"]


def test_options_of_the_service_change_if_that_is_wanted(remote):
    home = home_of(remote, labels=("a", "b", "d"), change_options=True)
    home._round()
    assert remote.following.experiment.arms == ("a", "b", "d")
    assert home.successor.eras[-1].why == "options: added 'd'; removed 'c'"


@pytest.mark.slow
def test_a_chain_in_the_service_goes_on_with_a_successor_that_others_follow(tmp_path, monkeypatch):
    from linkedbandits.service.client import Client
    from tests.support.running_service import running_service

    monkeypatch.setattr(in_service, "LOOK_AFTER", 0.2)
    world = World()
    with running_service(str(tmp_path / "experiments.sqlite3")) as service, Client(service.url) as client:
        made = client.create("payments", list(MEANS), lb.LinkedDuels(0.3), linkage="free", whole_chains=True)
        with world.chain(state=made) as one, world.chain(state=client.experiment(made.id)) as other:
            until(
                lambda: call(one, 20) or call(other) or (one.verdict() and other.verdict()), "a verdict", seconds=60.0
            )
            call(one, 600)
            world.means["b"] = 0.05
            until(lambda: call(one, 20) or one.status().reopened, "the chain to be reopened", seconds=60.0)
            following = made.following
            assert following.before.why == one.history[0].why
            assert following.previous.id == made.id
            until(lambda: call(other) or other.status().reopened, "the other process to follow", seconds=60.0)
            one.remove("c")
            assert one.options == ("a", "b")
            assert following.following.before.why == "options: removed 'c'"
        with world.chain(state=made) as again:  # with the first experiment, as configured long ago
            until(lambda: call(again) or len(again.history) == 3, "a new process to follow", seconds=60.0)
            assert [era.reason for era in again.history] == ["drift", "options", None]
            assert again.options == ("a", "b")


def test_since_is_a_time_of_the_clock_on_the_wall():
    before = time.time()
    assert before - 1 <= World().chain().status().since <= time.time() + 1


# ------------------------------------------------------------------------------------------ with costs and deadlines


def test_measured_costs_go_on_with_the_options_that_there_are():
    world = World({"a": 0.9, "b": 0.6, "c": 0.5, "d": 1.0})
    dear = {"a": 3.0, "b": 1.0, "c": 0.3, "d": 0.1}
    chain = lb.Chain(
        {label: world.option(label) for label in "abc"}, costs=lambda attempt, value: dear[attempt.option], watch=0.5
    )
    until_verdict(chain)
    assert chain.order == ("c", "b", "a")
    chain.remove("c")
    chain.add("d", world.option("d"))
    call(chain, 2000)
    assert chain.order == ("d", "b", "a")
    assert [estimate.option for estimate in chain.estimates()] == ["a", "b", "d"]
    assert chain.status().errors == 0


def test_estimates_begin_anew_after_a_drift_and_the_price_of_learning_does_not():
    world = World({"a": 0.95, "b": 0.7, "c": 0.3})
    chain = world.chain(costs={"a": 1.0, "b": 1.0, "c": 1.0})
    until_verdict(chain)
    call(chain, 2000)
    before = chain.status().cost_above_best
    world.means["a"] = 0.2
    for _ in range(20_000):
        if chain.status().reopened:
            break
        call(chain)
    assert chain.status().reopened == 1
    assert chain.estimates()[0].tries < 100
    assert chain.status().cost_above_best > 0.5 * before


@pytest.mark.parametrize(
    ("given", "said"), [({"deadline": 3.0}, "shared out"), ({"costs": {"a": 1.0, "b": 2.0, "c": 1.0}}, "costs are of")]
)
def test_options_do_not_change_where_what_was_told_would_be_of_something_else(given, said):
    world = World()
    chain = world.chain(**given)
    with pytest.raises(lb.InvalidParameter, match=said):
        chain.remove("a")
    with pytest.raises(lb.InvalidParameter, match=said):
        chain.add("d", int)
    assert chain.options == ("a", "b", "c")


def test_a_file_is_not_gone_on_from_with_other_options_under_a_deadline(tmp_path):
    world = World()
    with world.chain(state=tmp_path / "chain.json", deadline=3.0) as chain:
        call(chain, 3)
    world.means["d"] = 0.5
    with pytest.raises(lb.InvalidParameter, match="shared out"):
        world.chain(state=tmp_path / "chain.json", deadline=3.0, change_options=True)


def test_options_that_threads_add_at_the_same_time_are_all_there():
    world = World()
    chain = world.chain()
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda number: chain.add(f"new {number}", int), range(3)))
    assert set(chain.options) == {"a", "b", "c", "new 0", "new 1", "new 2"}


def test_a_fall_of_what_is_served_first_by_measured_cost_reopens_though_the_verdict_names_another():
    world = World({"a": 0.95, "b": 0.9})
    chain = world.chain(costs=lambda attempt, value: {"a": 3.0, "b": 1.0}[attempt.option], delta=0.2)
    until_verdict(chain)
    call(chain, 2000)
    assert (chain.verdict().arm, chain.order[0]) == ("a", "b")
    world.means["b"] = 0.1
    for _ in range(20_000):
        if chain.status().reopened:
            break
        call(chain)
    assert chain.status().reopened == 1


def test_labels_of_an_enumeration_are_known_again(tmp_path):
    class Gateway(StrEnum):
        STRIPE = "stripe"
        ADYEN = "adyen"

    for _ in range(2):
        with lb.Chain({Gateway.STRIPE: str, Gateway.ADYEN: str}, state=tmp_path / "chain.json") as chain:
            call(chain, 3)
            assert chain.status().errors == 0


def test_a_file_that_is_replaced_by_one_of_other_options_breaks_no_call(tmp_path):
    world = World()
    with lb.Chain({"x": str, "y": str}, state=tmp_path / "other.json") as other:
        call(other, 3)
    with world.chain(state=tmp_path / "chain.json") as chain:
        call(chain, 20)
        with nobody_writing(tmp_path / "chain.json"):
            (tmp_path / "other.json").replace(tmp_path / "chain.json")
        until(lambda: (call(chain), chain.status().errors)[1], "the file to be noticed")
        call(chain, 50)
        assert chain.options == ("a", "b", "c")
        assert "other options" in chain.status().last_error


def test_a_copy_that_is_put_back_in_the_middle_of_a_round_is_read_and_not_overwritten(tmp_path, monkeypatch):
    path, copy = tmp_path / "chain.json", tmp_path / "copy.json"
    chain = lb.Chain({"x": str, "y": str}, state=path)
    home = chain._home
    home._rounds.stop()  # so that rounds are made here alone
    write_new = home._write_new

    def put_the_copy_back(*of_the_file):
        version = write_new(*of_the_file)
        if copy.exists():
            copy.replace(path)
        return version

    monkeypatch.setattr(home, "_write_new", put_the_copy_back)
    for _ in range(3):
        home.tell(home.take(), "x")
    home.settle()
    at_the_copy = home._experiment.plays
    shutil.copy(path, copy)
    home.tell(home.take(), "x")
    with pytest.raises(lb.CannotWrite, match="read again"):
        home.settle()
    home.settle()
    # The answer that came after the copy was made is in the file of answers still.
    assert home._experiment.plays == at_the_copy + 1
    chain.close()


def test_an_option_that_is_added_is_learned_of_at_once_if_no_call_is_running():
    """Plays that were asked ahead for other threads, and that no call has begun, are not waited for."""
    chain = lb.Chain({"a": lambda: None, "b": lambda: None}, lease=3600.0)
    together = threading.Barrier(8)

    def call_many() -> None:
        together.wait(SECONDS)
        for _ in range(40):
            chain()

    with ThreadPoolExecutor(8) as pool:
        for working in [pool.submit(call_many) for _ in range(8)]:
            working.result(SECONDS)
    chain.add("c", lambda: None)
    before = chain.status().plays
    for _ in range(20):
        chain()
    assert chain.status().plays == before + 20


def test_a_verdict_that_giving_up_a_hanging_play_leads_to_is_served_at_once():
    clock, go_on = ManualClock(), threading.Event()

    def works(hangs=False):
        assert not hangs or go_on.wait(SECONDS)

    def fails(hangs=False):
        raise ConnectionError

    chain = lb.Chain({"a": works, "b": fails}, lease=10.0, clock=clock)
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(chain, True)
        until(lambda: chain.status().in_flight == 1, "the call to hang")
        for _ in range(60):
            chain()
        clock.now += 11.0
        plays = chain.status().plays
        chain()  # gives the hanging play up, or has the thread in the background do so
        until(chain.verdict, "a verdict")
        status = chain.status()
        go_on.set()
        hanging.result(SECONDS)
    assert (status.verdict.arm, status.errors) == ("a", 0)
    assert status.plays <= plays + 1  # the one call may have had a play that was asked ahead
