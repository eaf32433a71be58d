"""Files survive a power cut under their name, and have one holder of their lock at a time."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits import durable_files
from linkedbandits.durable_files import has_flock, put_in_place, try_lock
from linkedbandits.study.folder import ResultsFolder


@pytest.fixture
def seen(monkeypatch, tmp_path) -> list[tuple[str, str]]:
    """What is brought to the disk and renamed, in order: folders by the descriptor that fsync is given."""
    seen: list[tuple[str, str]] = []
    fsync, replace, rename = os.fsync, Path.replace, Path.rename
    names = {}

    def synced(file: int) -> None:
        found = os.fstat(file)
        names.update({path.stat().st_ino: path.name for path in [tmp_path, *tmp_path.rglob("*")] if path.exists()})
        kind = "folder" if stat.S_ISDIR(found.st_mode) else "file"
        seen.append((f"fsync {kind}", names[found.st_ino]))
        fsync(file)

    def replaced(path: Path, target: Path) -> Path:
        seen.append(("rename", Path(target).name))
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    monkeypatch.setattr(Path, "rename", lambda path, target: seen.append(("bare rename", "")) or rename(path, target))
    return seen


def test_content_first_then_the_name_then_the_folder(seen, tmp_path):
    (tmp_path / "new").write_text("later")
    (tmp_path / "kept").write_text("before")
    put_in_place(tmp_path / "new", tmp_path / "kept")
    assert seen == [("fsync file", "new"), ("rename", "kept"), ("fsync folder", tmp_path.name)]
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept").read_text() == "later"


def durable(seen: list[tuple[str, str]], folder: str) -> list[str]:
    """What was renamed; each of it was brought to the disk before, and its folder afterwards."""
    renames = [place for place, (what, _) in enumerate(seen) if what == "rename"]
    for number, place in enumerate(renames, 1):
        assert [what for what, _ in seen[:place]].count("fsync file") >= number
        assert seen[place + 1 :].count(("fsync folder", folder)) >= len(renames) - number + 1
    assert ("bare rename", "") not in seen
    return [seen[place][1] for place in renames]


def test_the_file_of_a_chain_and_that_of_its_successor(seen, tmp_path):
    def fails() -> None:
        raise ConnectionError

    with lb.Chain({"a": int, "b": fails, "c": fails}, state=tmp_path / "chain.json") as chain:
        chain()
        chain.remove("c")
    renamed = durable(seen, tmp_path.name)
    assert set(renamed) == {"chain.json", "chain.json.1"}
    # The file of the one before names the successor, which has to be there by then.
    first = renamed.index("chain.json.1")
    assert "chain.json" in renamed[first:]


def test_the_chunks_of_a_study(seen, tmp_path):
    ResultsFolder(tmp_path).write_chunk("cell", range(0, 8), pl.DataFrame({"plays": [1]}))
    (name,) = durable(seen, "cell")
    assert name.startswith("0-8.")


def locked_twice(path) -> list[bool]:
    with path.open("a") as one, path.open("a") as other:
        return [try_lock(one.fileno()), try_lock(other.fileno())]


@pytest.mark.skipif(not has_flock(), reason="this system has other locks")
def test_one_holder_at_a_time_until_the_file_is_closed(tmp_path):
    assert locked_twice(tmp_path / "lock") == [True, False]
    assert locked_twice(tmp_path / "lock") == [True, False]


def test_windows_has_locks_of_its_own_and_other_systems_are_refused(monkeypatch, tmp_path):
    held = []

    def locking(file: int, mode: int, size: int) -> None:
        """``msvcrt.locking`` as far as it is used."""
        assert (mode, size) == (2, 1)
        if held:
            raise PermissionError(13, "Permission denied")
        held.append(file)

    monkeypatch.setattr(durable_files, "_unix", None)
    monkeypatch.setattr(durable_files, "_windows", SimpleNamespace(LK_NBLCK=2, locking=locking))
    assert not has_flock()
    assert locked_twice(tmp_path / "lock") == [True, False]
    monkeypatch.setattr(durable_files, "_windows", None)
    with pytest.raises(lb.CannotWrite, match="run this on Linux, macOS or Windows"):
        locked_twice(tmp_path / "lock")
