"""Which Pythons are found; what is done with them takes minutes, and is what ``make pythons`` is for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.pythons import DEMO, ROOT, found, version_of


def make_python(path: Path, says: str, status: int = 0) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\nexit {status}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def places(monkeypatch, tmp_path):
    """A PATH and a home of pyenv with nothing in them."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setattr("tools.pythons.shutil.which", lambda name: str(tmp_path / "bin" / name))
    return tmp_path


def test_those_on_the_path_are_found_and_then_those_of_pyenv(places):
    on_path = make_python(places / "bin" / "python3.11", "3 11")
    make_python(places / "pyenv" / "versions" / "3.11.7" / "bin" / "python", "3 11")
    make_python(places / "bin" / "python3.12", "'not active'", 127)  # as pyenv leaves them on the PATH
    of_pyenv = make_python(places / "pyenv" / "versions" / "3.12.1" / "bin" / "python", "3 12")
    assert found() == {(3, 11): on_path, (3, 12): of_pyenv}


def test_those_named_are_taken_and_no_others(places):
    make_python(places / "bin" / "python3.11", "3 11")
    named = make_python(places / "mine", "3 13")
    assert found([named]) == {(3, 13): named}
    with pytest.raises(SystemExit, match=r"nowhere is no Python from 3\.11 to 3\.14"):
        found([named, "nowhere"])
    with pytest.raises(SystemExit, match="old is no Python"):
        found([make_python(places / "old", "3 9")])


def test_the_version_is_that_of_the_interpreter():
    assert version_of(sys.executable) == sys.version_info[:2]


def test_the_demonstration_is_that_of_the_makefile():
    assert f"linkedbandits {DEMO}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
