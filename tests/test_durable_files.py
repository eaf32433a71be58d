"""A rename that must survive a power cut is followed by an fsync of the folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import polars as pl
import pytest

import linkedbandits as lb
from linkedbandits.durable_files import put_in_place
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
