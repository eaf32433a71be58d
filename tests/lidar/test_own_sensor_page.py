"""The page on one's own sensor shows code and a command that run, and errors that there are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import linkedbandits.lidar
from linkedbandits.lidar import read_depth
from tests.support.command_line import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-sensor.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_its_examples_find_the_wall_and_the_return(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(block, names)
    assert np.abs(names["found"].depth - names["depth"] * 0.03).max() < 0.03
    verdict = names["experiment"].recommend()
    assert (verdict.status, abs(verdict.arm - 64) <= 1) == ("confident", True)
    assert re.search(r"bin 6[345], 1\.9\d\d m, after \d+ cycles", capsys.readouterr().out)
    (command,) = re.findall(r"```sh\nlinkedbandits (.*?)\n```", PAGE, flags=re.DOTALL)
    result = run(*shlex.split(command))
    assert (result.returncode, result.stderr) == (0, "")
    assert read_depth("depth.npz").depth.shape == (4, 6)


def test_its_loops_are_short():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    for block in blocks[1:]:
        loop = block[block.index("while ") :].splitlines()
        assert len([line for line in loop if line.strip()]) <= 10


def test_every_error_that_it_lists_is_one_that_the_readers_raise():
    folder = Path(linkedbandits.lidar.__file__).parent
    sources = " ".join(
        path.read_text(encoding="utf-8") for path in [*folder.glob("*.py"), *folder.parent.glob("cli/*.py")]
    )
    source = " ".join(re.sub(r'"\s*\n\s*f?"', "", sources).split())
    rows = [line for line in PAGE[PAGE.index("## Error messages") :].splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 15
    for row in rows:
        for said in row.split(" | ")[0].removeprefix("| ").split("; "):
            assert all(part.strip() in source for part in said.split("…")), said
