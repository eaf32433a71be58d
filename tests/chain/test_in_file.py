"""An experiment in a file: shared by processes, and nothing lost when they are killed."""

from __future__ import annotations

import errno
import gc
import json
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits import durable_files
from linkedbandits.chain import ahead, in_file
from linkedbandits.chain.home import Condition
from linkedbandits.chain.in_file import InFile
from linkedbandits.chain.troubles import Troubles
from linkedbandits.live.answers import WAITING
from tests.support.chains import coins
from tests.support.service_parts import ManualClock
from tools.chain_kills import check, rounds_of_kills, several_at_once, start
from tools.chain_worker import open_chain
from tools.waiting import SECONDS, join, killed_in_the_end, until

LABELS = ["a", "b", "c"]


def begin() -> lb.Experiment:
    return lb.Experiment(LABELS, lb.LinkedDuels(0.05), linkage="free", whole_chains=True)


class Still(InFile):
    """A home without a thread: rounds are made by the test."""

    def _be_a_new_process(self) -> None:
        super()._be_a_new_process()
        self._rounds.wake = lambda: None


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "chain [1].json"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def homes(path, clock):
    """Make homes with one file; they are let go in the end, as those of dead processes are."""
    made = []

    def home(kind=Still, lease: float = 60.0) -> InFile:
        made.append(kind(path, begin, lb.Experiment.from_json, lease, Troubles(), clock))
        return made[-1]

    yield home
    for one in made:
        die(one)


def die(home: InFile) -> None:
    """As if its process was killed: the system closes its files, and nothing else happens."""
    home._rounds.stop()
    if home._answers is not None:
        os.close(home._answers)
        home._answers = None


def files(path: Path) -> list[str]:
    return sorted(each.name.removeprefix(path.name) for each in path.parent.iterdir())


def test_plays_are_asked_ahead_and_answers_are_applied_in_the_next_round(homes):
    home = homes()
    plays = [home.take() for _ in range(ahead.LEAST)]
    assert [play.id for play in plays] == [0, 1, 2, 3]
    assert home.take() is None
    home.tell(plays[0], plays[0].arms[0])
    home.tell(plays[1], None)
    home.lose(plays[2])
    assert home.condition() == Condition(told=0, out=4, waiting=3)
    home.settle()
    assert home.condition().waiting == 0
    assert home._experiment.answers.of(1) == -1
    assert (home._experiment.plays, home.condition().told) == (2, 2)
    assert home._experiment.in_flight == home.condition().out
    assert home.take().id == 4


def test_answers_that_another_process_applied_do_not_wait(homes):
    one, other = homes(), homes()
    one.tell(one.take(), "a")
    one.tell(one.take(), None)
    other.settle()
    assert (other._experiment.plays, one.condition().waiting) == (2, 2)
    one.settle()
    assert one.condition().waiting == 0
    one.tell(one.take(), "a")
    assert one.condition().waiting == 1


def own_file(home: InFile) -> Path:
    return home._path_of(home._name)


def test_a_file_of_answers_that_is_removed_loses_none_and_is_made_again(homes):
    home = homes()
    told = [home.take() for _ in range(3)]
    home.tell(told[0], None)
    home.settle()
    home.tell(told[1], None)
    own_file(home).unlink()
    home.tell(told[2], None)
    home.settle()
    assert (home._experiment.plays, home.condition().waiting) == (3, 0)
    assert "was removed" in home._troubles.last
    play = home.take()
    home.tell(play, None)
    assert own_file(home).read_bytes() == f"{play.id} -3 {play.id}\n{play.id} -1 {play.id}\n".encode()
    home.settle()
    assert (home._experiment.plays, home.condition().waiting, home._troubles.count) == (4, 0, 1)


@pytest.mark.parametrize("other_writes", [False, True])
def test_nor_does_it_if_what_is_on_record_is_of_the_removed_one(homes, monkeypatch, other_writes):
    """Another process writes meanwhile, or this one cannot."""
    home, other = homes(), homes()
    told = [home.take() for _ in range(4)]
    home.tell(told[0], None)
    home.tell(told[1], None)
    home.settle()
    own_file(home).unlink()
    home.tell(told[2], None)
    if other_writes:
        home.settle()
        other.tell(other.take(), None)
        other.settle()
    else:
        with monkeypatch.context() as patched:
            patched.setattr(InFile, "_write_new", lambda *_: (_ for _ in ()).throw(lb.CannotWrite("no space left")))
            with pytest.raises(lb.CannotWrite):
                home.settle()
    home.tell(told[3], None)
    home.settle()
    assert home._experiment.plays == 4 + other_writes
    assert (home._experiment.late, home.condition().waiting) == (0, 0)


def test_what_a_call_was_about_to_write_to_a_removed_file_is_read(homes):
    home = homes()
    first, second = home.take(), home.take()
    removed = home._answers
    own_file(home).unlink()
    home.tell(first, None)
    home.settle()
    os.write(removed, f"{second.id} -1 {second.id}\n".encode())  # by a call that had found the file before
    home.settle()
    assert home._experiment.plays == 2


def test_plays_asked_since_a_copy_was_made_are_not_taken_for_those_with_their_numbers_when_it_is_put_back(homes, path):
    home = homes()
    before = [home.take() for _ in range(2)]
    home.settle()
    copy = path.read_bytes()
    home.tell(before[0], "a")
    told = {before[0].id}
    for _ in range(5):
        home.settle()
        since = home.take()
        while (next_one := home.take()) is not None:
            home.tell(since, "a")
            told.add(since.id)
            since = next_one
    path.with_name("copy").write_bytes(copy)
    path.with_name("copy").replace(path)
    home.settle()
    out_at_copy = {int(play) for play in json.loads(copy.partition(b"\n")[0])["out"]}
    assert "put back" in home._troubles.last
    assert home._experiment.plays == len(told & out_at_copy) < len(told)  # what was out then is answered, and no other
    home.tell(since, "a")  # of a play that is not there any more
    again = home.take()
    while again.id < since.id:
        home.tell(again, None)
        home.settle()
        again = home.take()
    home.settle()
    assert home._experiment.answers.of(since.id) == WAITING  # the new play of that number is out
    home.tell(again, None)
    home.tell(before[1], "b")
    home.settle()
    assert home._experiment.answers.of(before[1].id) == LABELS.index("b")
    assert home._experiment.answers.of(again.id) == -1


def test_nor_are_plays_of_a_file_that_was_removed_taken_for_those_of_the_one_begun_anew(homes, path):
    one, other = homes(), homes()
    other.settle()
    of_before = [one.take(), other.take()]
    path.unlink()
    one.settle()
    other.settle()
    for home, play in zip((one, other), of_before, strict=True):
        home.tell(play, "c")
        home.settle()
    assert (one._experiment.plays, other._experiment.plays) == (0, 0)
    for home in (one, other):
        home.tell(home.take(), None)
        home.settle()
    assert other._experiment.plays == 2


def test_a_line_of_a_dead_process_is_no_answer_to_a_play_that_another_has_out(homes, path):
    """As when its play was asked after a copy was made, the copy put back, and the number given out again."""
    home = homes()
    play = home.take()
    path.with_name(f"{path.name}.answers-of-a-dead-one").write_text(f"{play.id} 2 {play.id}\n")
    home.settle()
    assert home._experiment.answers.of(play.id) == WAITING
    assert "another process's" in home._troubles.last
    home.tell(play, None)
    home.settle()
    assert home._experiment.answers.of(play.id) == -1


def test_on_a_full_disk_a_new_process_serves_in_the_order_on_record(homes, monkeypatch):
    first = homes()
    while first.verdict is None:
        first.tell(first.take(), "c")
        first.settle()

    def full(*_):
        raise lb.CannotWrite("no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(InFile, "_write_new", full)
        late = homes()
        assert (late.order, late.verdict.arm, late.take()) == (first.order, "c", None)
        assert "no space" in late._troubles.last
        assert late.share == 0
    late.settle()
    assert late.share == 1 / 6  # it is counted in, now that it can be written


def test_without_anything_on_record_a_full_disk_is_an_error(homes, monkeypatch):
    monkeypatch.setattr(InFile, "_write_new", lambda *_: (_ for _ in ()).throw(lb.CannotWrite("no space left")))
    with pytest.raises(lb.CannotWrite, match="no space left"):
        homes()


def test_a_chain_that_is_dropped_without_being_closed_leaves_no_thread(path):
    chain = lb.Chain(coins({"a": 1.0, "b": 0.5}, 1), state=path)
    chain(1)
    thread = chain._home._rounds._thread
    assert thread.is_alive()
    del chain
    gc.collect()
    until(lambda: gc.collect() is not None and not thread.is_alive(), "its thread to end")
    with lb.Chain(coins({"a": 1.0, "b": 0.5}, 1), state=path) as again:  # what it had written down is there
        again.settle()
        assert again._home._experiment.plays == 1


def test_more_are_asked_ahead_where_more_are_taken(homes):
    home = homes()
    for _ in range(100):
        home.take()
    home.settle()
    assert sum(home.take() is not None for _ in range(300)) == 200
    for _ in range(60):
        home.settle()
    assert len(home._ahead) >= ahead.LEAST


def test_an_answer_is_on_record_before_the_call_returns(homes, path):
    home = homes()
    play = home.take()
    home.tell(play, play.arms[1])
    name = f"{path.name}.answers-{home._name}"
    number = LABELS.index(play.arms[1])
    assert path.with_name(name).read_bytes() == f"{play.id} -3 {play.id}\n{play.id} {number} {play.id}\n".encode()


def test_what_a_dead_process_has_answered_is_applied_and_what_it_had_out_is_given_up(homes, path):
    first = homes()
    plays = [first.take() for _ in range(3)]
    first.tell(plays[0], plays[0].arms[0])
    other = homes()
    assert other._experiment.plays == 1
    assert other._experiment.answers.of(0) >= 0
    first.tell(plays[1], None)
    other.settle()
    assert other._experiment.plays == 2
    assert files(path) == ["", f".answers-{min(first._name, other._name)}", f".answers-{max(first._name, other._name)}",
                           ".lock"]  # fmt: skip
    out = other.condition().out
    first.tell(plays[2], None)
    die(first)
    other.settle()
    assert other._experiment.plays == 3
    assert other.condition().out == out - 2
    assert files(path) == ["", f".answers-{other._name}", ".lock"]


def test_two_homes_never_have_the_same_play(homes):
    one, other = homes(), homes()
    taken = []
    for _ in range(4):
        for home in (one, other):
            while (play := home.take()) is not None:
                taken.append(play.id)
                home.tell(play, play.arms[0])
            home.settle()
    assert len(taken) == len(set(taken)) > 50
    one.settle()
    assert one._experiment.plays == len(taken)


def test_the_order_and_the_verdict_are_the_same_after_a_restart(homes):
    home = homes()
    while home.verdict is None:
        while (play := home.take()) is not None:
            home.tell(play, "c" if play.id % 10 else None)
        home.settle()
    assert home.order[0] == home.verdict.arm == "c"
    die(home)
    again = homes()
    assert (again.order, again.verdict, again.take()) == (home.order, home.verdict, None)
    assert again.learning() == home.learning()
    assert again.attempts().plays() == home.attempts().plays()


def test_a_state_that_was_not_written_is_made_up_for(homes, path, monkeypatch):
    """The process dies after answers were applied in memory: the file is the one before, and they are applied again."""
    home = homes()
    play = home.take()
    home.tell(play, play.arms[0])
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "no space left")))
        at_hand = len(home._ahead)
        with pytest.raises(lb.CannotWrite, match="no space left"):
            home.settle()
        assert len(home._ahead) == at_hand  # what was asked is not on record, and not used
    assert home.condition().waiting == 1
    home.settle()
    assert home.condition().waiting == 0
    assert home._experiment.plays == 1
    die(home)
    assert homes()._experiment.plays == 1


def test_half_a_line_is_not_taken_for_the_beginning_of_the_next(homes, monkeypatch):
    home = homes()
    plays = [home.take(), home.take(), home.take()]
    with monkeypatch.context() as patched:
        real = os.write
        patched.setattr(in_file.os, "write", lambda file, line: real(file, line[:3]))
        home.tell(plays[0], None)
    home.tell(plays[1], None)
    home.tell(plays[2], None)
    home.settle()
    assert home._experiment.plays == 3
    assert home.condition().waiting == 0


def test_answers_that_cannot_be_written_are_kept_in_memory(homes, monkeypatch, caplog):
    home = homes()
    plays = [home.take(), home.take()]
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "no space left")))
        home.tell(plays[0], None)
    with monkeypatch.context() as patched:
        real = os.write
        patched.setattr(os, "write", lambda file, line: real(file, line[:2]))
        home.tell(plays[1], None)
    assert (home.condition().waiting, home._troubles.count) == (2, 2)
    home.tell(home.take(), None)  # behind what was torn
    home.settle()
    assert home._experiment.answers.of(plays[0].id) == home._experiment.answers.of(plays[1].id) == -1


def test_lines_that_are_torn_or_damaged_are_no_answers(homes, path, caplog):
    home = homes()
    play = home.take()
    file = path.with_name(f"{path.name}.answers-{home._name}")
    file.write_bytes(b"1\n0 0 7\nnonsense\n\xff\xfe\n0 -1")
    home.settle()
    assert home._experiment.plays == 0
    assert home._troubles.count == 4
    with file.open("ab") as more:
        more.write(b" 0\n")
    home.settle()
    assert home._experiment.answers.of(play.id) == -1


def test_plays_that_are_out_for_longer_than_the_lease_are_given_up(homes, clock):
    home = homes(lease=10.0)
    slow = home.take()
    clock.now += 10.5
    home.settle()
    assert home.condition().expired == ahead.LEAST
    home.tell(slow, None)
    home.settle()
    assert home._experiment.late == 1


def test_without_calls_all_plays_but_one_are_given_back_and_that_is_a_fresh_one(homes, clock):
    home = homes()
    assert len(home._ahead) == ahead.LEAST
    clock.now += ahead.IDLE_AFTER + 0.1
    home.settle()
    assert (len(home._ahead), home.condition().out) == (1, 1)
    clock.now += 31.0
    home.settle()
    assert (len(home._ahead), home.condition().out) == (0, 0)  # others may have what was given back
    home.settle()
    assert (len(home._ahead), home.condition().out, home.condition().expired) == (1, 1, 0)
    assert home.take() is not None
    home.settle()
    assert len(home._ahead) == ahead.LEAST


def test_closing_applies_what_is_left_and_removes_the_file_of_answers(homes, path):
    home = homes()
    plays = [home.take(), home.take()]
    home.tell(plays[0], None)
    home.close()
    assert files(path) == ["", ".lock"]
    assert (home._experiment.plays, home._experiment.in_flight) == (1, 0)
    home.tell(plays[1], None)  # too late
    assert (home.condition().dropped, home.condition().waiting, home.take()) == (1, 0, None)
    home.close()
    home.settle()
    assert homes()._experiment.plays == 1


def test_a_lock_that_is_held_for_long_costs_plays_and_no_call(homes, path, monkeypatch, caplog):
    home = homes()
    monkeypatch.setattr(in_file, "LONGEST_WAIT", 0.02)
    with home._locked():
        late = homes()
        assert late._troubles.last.startswith("the file of the chain: StoreUnavailable")
        assert late.take() is None
        with pytest.raises(lb.StoreUnavailable, match=r"\.lock was held by another process for 0\.02 s"):
            home.settle()
        assert home.take() is not None
    late.settle()
    assert late.take() is not None


def test_a_file_that_is_something_else_is_refused(homes, path):
    for content, error, message in [
        ("not JSON", lb.DamagedSave, "is no state of a chain, or damaged"),
        ('{"format": "another"}\n{}', lb.DamagedSave, "is no state of a chain; give another file"),
        ('{"format": "linkedbandits.chain", "version": 99}\n{}', lb.DamagedSave, "a later version of the library"),
        (b"\xff\xfe\x00", lb.CannotRead, "cannot be read as the state of a chain"),
    ]:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(error, match=message):
            homes()


def test_a_chain_with_a_file_says_what_does_not_fit(tmp_path):
    path = tmp_path / "chain.json"
    lb.Chain(coins({"a": 0.5, "b": 0.6}, 1), state=path).close()
    with pytest.raises(lb.InvalidParameter, match=r"'delta': 0\.05.*and not .*'delta': 0\.1.*give the chain the same"):
        lb.Chain(coins({"a": 0.5, "b": 0.6}, 1), state=path, delta=0.1)
    with pytest.raises(lb.InvalidParameter, match="the options in the file are 'a', 'b', and not 'a', 'c'"):
        lb.Chain(coins({"a": 0.5, "c": 0.6}, 1), state=path)
    with pytest.raises(lb.CannotWrite, match=r"there is no folder .*for the state of the chain; make it first"):
        lb.Chain(coins({"a": 0.5, "c": 0.6}, 1), state=tmp_path / "nowhere" / "chain.json")
    with pytest.raises(lb.InvalidParameter, match="state=3 is neither a path nor an experiment of a client"):
        lb.Chain(coins({"a": 0.5, "c": 0.6}, 1), state=3)
    text = path.read_text()
    path.write_text(text.replace('"successes"', '"successe"', 1))
    with pytest.raises(lb.DamagedSave):
        lb.Chain(coins({"a": 0.5, "b": 0.6}, 1), state=path)
    other_order = dict(reversed(coins({"a": 0.5, "b": 0.6}, 1).items()))
    path.write_text(text)
    lb.Chain(other_order, state=path).close()


def test_without_flock_it_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(durable_files, "_unix", None)
    with pytest.raises(lb.InvalidParameter, match="has no flock; use the service"):
        lb.Chain(coins({"a": 0.5, "c": 0.6}, 1), state=tmp_path / "chain.json")


def test_a_chain_goes_on_in_the_background_and_after_a_restart(tmp_path):
    path = tmp_path / "chain.json"
    numbers = iter(range(10**9))

    def some_calls(chain: lb.Chain) -> bool:
        for _ in range(20):
            with suppress(lb.ChainFailed):
                chain(next(numbers))
        return chain.verdict() is not None

    means = {"a": 0.2, "b": 0.9}
    with lb.Chain(coins(means, 1), state=path, delta=0.2) as chain:
        until(lambda: some_calls(chain) or chain.status().plays > 20, "plays")
    with lb.Chain(coins(means, 1), state=path, delta=0.2) as chain:
        assert chain.experiment is None
        until(lambda: some_calls(chain), "a verdict")
        assert chain.order[0] == "b"
        assert chain.status().errors == 0
    head = json.loads(path.read_text().splitlines()[0])
    assert (head["out"], head["read"], head["order"][0]) == ({}, {}, "b")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_has_plays_and_answers_of_its_own(homes, path):
    home = homes()
    mine = [home.take(), home.take()]
    home.tell(mine[0], None)
    of_parent = home._answers
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        said = "failed"
        try:
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(of_parent)  # else the parent would seem to be alive as long as the child is
            nothing = (len(home._ahead), home.condition().waiting, home._rounds._thread)
            home.settle()
            play = home.take()
            home.tell(play, None)
            said = json.dumps([*nothing, play.id])
        finally:
            os.write(writing, said.encode())
            os._exit(0)
    os.waitpid(pid, 0)
    at_hand, waiting, thread, its = json.loads(os.read(reading, 1000))
    os.close(reading)
    os.close(writing)
    assert (at_hand, waiting, thread) == (0, 0, None)
    home.tell(mine[1], None)
    home.settle()
    assert its >= ahead.LEAST
    assert [home._experiment.answers.of(play) for play in (mine[0].id, mine[1].id, its)] == [-1, -1, -1]
    assert files(path) == ["", f".answers-{home._name}", ".lock"]


def test_rounds_wait_for_a_fork_and_forks_for_rounds(homes):
    home = homes()
    home.before_fork()
    done = threading.Event()
    thread = threading.Thread(target=lambda: (home.settle(), done.set()))
    thread.start()
    assert not done.wait(0.05)
    home.after_fork_in_parent()
    join(thread)
    assert done.is_set()


@pytest.mark.slow
def test_processes_share_a_file_and_lose_nothing_when_some_are_killed(tmp_path):
    path = tmp_path / "chain.json"
    told = several_at_once(path, processes=3, calls=200, seed=1, killed=1)
    with open_chain(str(path)) as chain:
        check(chain, told)
        assert chain._home._experiment.plays >= len(told) > 20
        assert chain.status().errors == 0
    assert files(path) == ["", ".lock"]


@pytest.mark.slow
def test_a_process_that_is_killed_loses_nothing_that_it_acknowledged(tmp_path):
    path = tmp_path / "chain.json"
    found = list(rounds_of_kills(path, rounds=3, seed=3))
    assert len(found) == 3
    assert found[-1].answers > 5
    assert files(path) == ["", ".lock"]


def test_a_worker_ends_by_itself(tmp_path):
    process = start(tmp_path / "chain.json", 1, 5)
    with killed_in_the_end(process):
        with process.stdout:
            lines = process.stdout.read().splitlines()
        assert process.wait(SECONDS) == 0
    assert lines[0] == "order a b c d"
    assert lines[-1] == "done"


def test_every_chain_on_a_decided_experiment_announces_its_verdict_with_the_same_since(path):
    heard, since = [], set()
    for _ in range(3):  # the first one decides, the others come to it as after a restart
        with lb.Chain(coins({"a": 0.9, "b": 0.1}, seed=1), state=path, on_verdict=heard.append) as chain:
            for number in range(400):
                with suppress(lb.ChainFailed):
                    chain(number)
                chain.settle()
                if chain.verdict() is not None:
                    break
            since.add(chain.status().since)
    assert [verdict.arm for verdict in heard] == ["a", "a", "a"]
    assert len(since) == 1
