"""The real command line, from its entry point on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from linkedbandits import cli
from tools.waiting import SECONDS

COMMAND = [sys.executable, "-m", "linkedbandits"]
ROOT = Path(__file__).parents[2]


def environment(**extra: str) -> dict[str, str]:
    """This environment, without what would change how text is laid out."""
    shape = {"FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
    return {name: value for name, value in os.environ.items() if name not in shape} | {"COLUMNS": "200"} | extra


def environment_of_scripts() -> dict[str, str]:
    """The same for a script that imports tests by their names, and for the processes that it begins."""
    already = [path for path in [os.environ.get("PYTHONPATH")] if path]
    return environment(PYTHONPATH=os.pathsep.join([str(ROOT), *already]))


def run_in_its_own_process(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run ``linkedbandits`` in pipes, with this and that in its environment."""
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False, env=environment(**extra)
    )


def run(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """The same from the entry point on, in this process: half of what a short command takes is to begin a process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["linkedbandits", *arguments])
        wanted = environment(**extra)
        for name in os.environ.keys() - wanted.keys():
            patch.delenv(name)
        for name, value in wanted.items():
            patch.setenv(name, value)
        try:
            cli.run()
        except SystemExit as ending:
            status = ending.code or 0
        else:
            status = 0
    assert isinstance(status, int)
    return subprocess.CompletedProcess(["linkedbandits", *arguments], status, out.getvalue(), err.getvalue())


def run_json(*arguments: str) -> Any:
    """The JSON that a command prints; nothing else may come out of it."""
    result = run(*arguments, "--json")
    assert (result.returncode, result.stderr) == (0, "")
    return json.loads(result.stdout)


def refusal(*arguments: str) -> str:
    """The one line with which a command refuses its arguments."""
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    line, end = result.stderr.removeprefix("linkedbandits: ").split("\n")
    assert end == ""
    return line
