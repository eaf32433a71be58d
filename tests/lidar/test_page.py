"""The pages on depth sensing show code that runs, pictures that are there, and the grid that was measured."""

from __future__ import annotations

import re
from pathlib import Path

from tools import lidar_grid, lidar_grid_page

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = "\n".join((DOCS / name).read_text(encoding="utf-8") for name in ("depth-sensing.md", "depth-measurements.md"))


def test_its_example_finds_the_slope():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block, names)
    assert names["frame"].summary().within_tolerance > 0.95


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", PAGE)
    assert pictures
    assert all((DOCS / picture).is_file() for picture in pictures)


def test_its_grid_is_whole_and_from_the_file():
    """The summary, the ranges that the text names, and the page with every figure."""
    done = lidar_grid.whole(lidar_grid.read())
    assert len(done) == len(lidar_grid.GRID) == 108
    assert lidar_grid_page.summary(done) in PAGE
    text = " ".join(PAGE.split())
    for claim in lidar_grid_page.claims(done):
        assert claim in text
    assert lidar_grid_page.PAGE.read_text(encoding="utf-8") == lidar_grid_page.page(done)


def test_a_cell_that_is_not_measured_whole_is_not_shown():
    done = lidar_grid.read()
    cell = lidar_grid.GRID[5]
    assert cell in lidar_grid.whole(done)
    del done[cell]["pulse"]
    assert cell not in lidar_grid.whole(done)
