"""Every example runs as it is written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import environment
from tools.waiting import SECONDS

EXAMPLES = Path(__file__).parent.parent / "examples"


def run_example(name: str, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=environment(),
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_from_means_to_a_figure(tmp_path):
    said = run_example("from_means_to_a_figure.py", str(tmp_path / "mirrors"))
    assert said.count("times the lower bound") == 8
    pictures = [Path(line.removeprefix("look at ")) for line in said.splitlines() if line.startswith("look at ")]
    assert pictures
    assert all(picture.stat().st_size > 1000 for picture in pictures)
