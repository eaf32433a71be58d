"""What has to know of forks is told of them, as long as it lives."""

from __future__ import annotations

import gc
import os

import pytest

from linkedbandits.chain import forks


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    def before_fork(self) -> None:
        self.heard.append("before")

    def after_fork_in_parent(self) -> None:
        self.heard.append("in parent")

    def after_fork_in_child(self) -> None:
        self.heard.append("in child")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_both_processes_hear_of_it_and_who_is_forgotten_does_not():
    listener, forgotten = Listener(), Listener()
    forks.register(listener)
    forks.register(forgotten)
    forks.forget(forgotten)
    other = Listener()
    forks.call_in_child(other.after_fork_in_child)
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(writing, " ".join(listener.heard + other.heard).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(reading, 100) == b"before in child in child"
    os.close(reading)
    os.close(writing)
    assert listener.heard == ["before", "in parent"]
    assert forgotten.heard == other.heard == []


def test_nothing_is_kept_alive():
    forks.register(Listener())
    forks.call_in_child(Listener().before_fork)
    gc.collect()
    assert not [known for known in forks._in_children if known() and isinstance(known().__self__, Listener)]
    assert not [one for one in forks._known if isinstance(one, Listener)]
