"""The page "The paper's experiment, run again" speaks of every claim."""

from __future__ import annotations

import re
from pathlib import Path

from linkedbandits.study.reproduction.claims import CLAIMS
from linkedbandits.study.reproduction.grid import ARMS

PAGE = Path(__file__).parents[3] / "docs" / "reproducing-the-paper.md"


def test_every_claim_has_a_verdict_on_the_page():
    rows = re.findall(
        r"^\| ([\w-]+) \| \u201c(.*?)\u201d \| \*\*(.*?)\*\*", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [(scenario, quotation) for scenario, quotation, _ in rows] == [
        (claim.scenario, claim.quotation) for claim in CLAIMS
    ]
    for *_, verdict in rows:
        size = re.fullmatch(r"holds(?: (?:from|up to) n = (\d+))?|does not hold|cannot be decided", verdict)
        assert size, verdict
        assert size[1] is None or int(size[1]) in ARMS


def test_its_figure_is_there():
    assert "(figures/reproduction.png)" in PAGE.read_text(encoding="utf-8")
    assert (PAGE.parent / "figures" / "reproduction.png").is_file()
