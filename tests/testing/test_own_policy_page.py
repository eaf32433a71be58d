"""What docs/own-policy.md shows is run: the policy to copy, as a file of one's own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from linkedbandits.study import read_study
from tests.support.command_line import environment
from tools.waiting import SECONDS

PAGE = (Path(__file__).parents[2] / "docs" / "own-policy.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def test_the_skeleton_to_copy_is_sound_and_runs_where_the_page_says(tmp_path, monkeypatch):
    check, skeleton = blocks("python")
    (tmp_path / "mine.py").write_text(skeleton, encoding="utf-8")

    def output(*command: str) -> str:
        return subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
            timeout=SECONDS,
        ).stdout

    assert "EveryOther(delta=0.1) keeps the contract: 33 checks" in output("-c", check)
    (command,) = blocks("sh")
    assert "mine:EveryOther:delta=0.1" in output("-m", *command.split(), "--trials", "20")
    (study,) = blocks("toml")
    (tmp_path / "mine.toml").write_text(study, encoding="utf-8")
    assert "2 cells, 200 trials" in output("-m", "linkedbandits", "study", "mine.toml", "--plan")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [cell.label for cell in read_study(study).cells] == ["mine:EveryOther", "linked-elimination"]
