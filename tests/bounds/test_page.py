"""The numbers on the page "What a play is worth" are those of the library."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "what-a-play-is-worth.md"


def test_the_page_shows_what_the_library_computes():
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert tried >= 15
    assert failed == 0


def test_the_page_and_its_figure_are_there():
    assert "(figures/ordered-against-free.png)" in PAGE.read_text(encoding="utf-8")
    assert (PAGE.parent / "figures" / "ordered-against-free.png").is_file()
