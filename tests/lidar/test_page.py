"""The page on depth sensing shows code that runs and a picture that is there."""

from __future__ import annotations

import json
import re
from math import isfinite
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "depth-sensing.md").read_text(encoding="utf-8")
NON_ADAPTIVE = ("synchronous", "suffix", "free", "shifted")


def test_its_example_finds_the_slope():
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block, names)
    assert names["frame"].summary().within_tolerance > 0.95


def test_its_pictures_are_there():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", PAGE)
    assert pictures
    assert all((DOCS / picture).is_file() for picture in pictures)


def test_its_grid_is_from_the_file():
    """Every row, and the ranges that the page names for them. The file may have more: it grows for hours."""
    lines = (DOCS.parent / "benchmarks" / "lidar-grid.jsonl").read_text(encoding="utf-8").splitlines()
    measured = {}
    for cell, cycles in (json.loads(line).values() for line in lines):
        settings = [f"{cell[name]:g}" for name in ("bins", "fwhm", "ambient", "signal")]
        found = {name: by_estimator["map"] for name, by_estimator in cycles.items()}
        figures = [f"{value:,.0f}" if isfinite(value) else "-" for value in found.values()]
        measured["| " + " | ".join(settings + figures) + " |"] = settings[2], found
    rows = [line for line in PAGE.split("## 7.")[1].splitlines() if re.match(r"\| \d", line)]
    assert f"So far {len(rows)} of the 108 cells" in PAGE
    shares: dict[str, list[float]] = {"10 and 20": [], "5": [], "1": []}
    for row in rows:
        ambient, found = measured[row]
        group = next(name for name in shares if ambient in name.split(" and "))
        shares[group].append(found["pulse"] / min(found[name] for name in NON_ADAPTIVE))
    text = " ".join(PAGE.split())
    for group, values in shares.items():
        range_of = rf"{min(values):.2f} to {max(values):.2f} (of the cycles of the best non-adaptive acquisition )?"
        assert re.search(range_of + rf"at ambient {group}\b", text)
