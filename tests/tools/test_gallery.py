"""The scripts of the gallery run, print what its page says, and make the pictures that it shows."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tools.gallery import HEAD, PAGE, SCRIPTS, TITLES, picture_of, run, section


def size_of(picture: Path) -> tuple[int, int]:
    """Width and height, from the head of a PNG."""
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    return struct.unpack(">II", head[16:24])


@pytest.mark.slow
@pytest.mark.parametrize("name", TITLES)
def test_a_script_prints_what_the_page_says_and_makes_its_picture(name, tmp_path):
    """If it does not, and should be as it is now: python -m tools.gallery"""
    printed = run(name, tmp_path / "picture.png")
    assert section(name, printed) in PAGE.read_text(encoding="utf-8")
    assert size_of(tmp_path / "picture.png") == size_of(picture_of(name))


def test_the_page_has_every_script_and_nothing_else():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == set(TITLES)
    text = PAGE.read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    assert text.count("\n## ") == len(TITLES)


def test_scripts_are_short():
    for path in SCRIPTS.glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 60, path.name
