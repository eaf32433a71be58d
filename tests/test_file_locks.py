"""One holder at a time, on every system; systems that are not at hand are stood in for by what Python has there."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import linkedbandits as lb
from linkedbandits import file_locks
from linkedbandits.file_locks import has_flock, try_lock


class Windows:
    """``msvcrt`` as far as it is used: a lock on bytes from where the file stands, which only its holder gives back."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[int] = set()

    def locking(self, file: int, mode: int, size: int) -> None:
        assert (mode, size) == (self.LK_NBLCK, 1)
        if self.held:
            raise PermissionError(13, "Permission denied")
        self.held.add(file)


@pytest.fixture
def on_windows(monkeypatch):
    monkeypatch.setattr(file_locks, "_unix", None)
    monkeypatch.setattr(file_locks, "_windows", Windows())


def locked_twice(path) -> list[bool]:
    with path.open("a") as one, path.open("a") as other:
        return [try_lock(one.fileno()), try_lock(other.fileno())]


@pytest.mark.skipif(not has_flock(), reason="this system has other locks")
def test_one_holder_at_a_time_until_the_file_is_closed(tmp_path):
    assert locked_twice(tmp_path / "lock") == [True, False]
    assert locked_twice(tmp_path / "lock") == [True, False]


def test_windows_has_locks_of_its_own(on_windows, tmp_path):
    assert not has_flock()
    assert locked_twice(tmp_path / "lock") == [True, False]


def test_an_error_that_is_not_about_a_holder_is_raised(monkeypatch, tmp_path):
    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(file_locks, "_unix", SimpleNamespace(LOCK_EX=2, LOCK_NB=4, flock=fails))
    with pytest.raises(OSError, match="Input/output"):
        locked_twice(tmp_path / "lock")


def test_a_system_without_locks_is_refused_with_those_that_have_them(monkeypatch, tmp_path):
    monkeypatch.setattr(file_locks, "_unix", None)
    monkeypatch.setattr(file_locks, "_windows", None)
    with pytest.raises(lb.CannotWrite, match="run this on Linux, macOS or Windows"):
        locked_twice(tmp_path / "lock")
