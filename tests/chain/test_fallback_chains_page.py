"""What docs/fallback-chains.md shows runs."""

from __future__ import annotations

import random
import re
from pathlib import Path

import linkedbandits as lb

PAGE = Path(__file__).parents[2] / "docs" / "fallback-chains.md"


def test_the_code_of_the_page_runs_and_finds_the_best():
    random.seed(1)  # of the options there
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    for block in blocks[:2]:
        exec(block, names)
    chain = names["chain"]
    assert chain.verdict().arm == "adyen"
    assert chain.order == ("adyen", "stripe")
    for block in blocks[2:]:
        exec(block, names)
        assert names["chain"]("order 1").value == "paid order 1"
    assert len(blocks) == 6


def test_the_chance_of_false_alarms_is_what_the_page_says():
    text = PAGE.read_text(encoding="utf-8")
    assert lb.chain.chain.ALPHA == 0.01
    assert "with probability at most 0.005" in text
    assert "probability at most 0.01," in text
