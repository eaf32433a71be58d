"""The page on depth sensing shows code that runs and a picture that is there."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "depth-sensing.md").read_text(encoding="utf-8")


def test_its_example_finds_the_slope():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block, names)
    assert names["frame"].summary().within_tolerance > 0.95


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", PAGE)
    assert pictures
    assert all((DOCS / picture).is_file() for picture in pictures)
