"""Commands that a document shows, with what they print: run again, so that it stays true.

A block of a document that is marked ``console`` has lines that begin with ``$``, and behind each what it prints. All
blocks of a document are run one after the other in one empty folder, with eighty columns. ``python -m tools.shown
docs/attempts.md`` writes what they print now into the document.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.waiting import SECONDS

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"(?<=```console\n)(.*?)(?=```)", flags=re.DOTALL)
SHAPE = {"FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}


class Shell:
    """Runs commands in a folder. It knows a few programs, and the status of the last one as ``echo $?``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.status = 0

    def output(self, command: str) -> str:
        """What a command prints, without the blanks at the ends of lines."""
        if command == "echo $?":
            return f"{self.status}\n"
        program, *arguments = shlex.split(command)
        if program == "linkedbandits":
            words = [sys.executable, "-m", "linkedbandits", *arguments]
        elif program == "python":
            words = [sys.executable, *(str(ROOT / word) if (ROOT / word).is_file() else word for word in arguments)]
        elif program == "head":
            words = [program, *arguments]
        else:
            raise ValueError(f"{program} is no program that documents show; add it here")
        environment = {name: value for name, value in os.environ.items() if name not in SHAPE} | {"COLUMNS": "80"}
        done = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            timeout=SECONDS,
            check=False,
            cwd=self.folder,
            env=environment | {"PYTHONIOENCODING": "utf-8"},
        )
        self.status = done.returncode
        return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())


def commands(block: str) -> list[str]:
    """The commands of a block."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]


def as_it_is(document: str, folder: Path) -> str:
    """The document with what its commands print now."""
    shell = Shell(folder)
    return BLOCK.sub(
        lambda block: "".join(f"$ {command}\n{shell.output(command)}" for command in commands(block.group())), document
    )


def main() -> None:
    """Rewrite the documents that are named."""
    for name in sys.argv[1:]:
        path = Path(name)
        with tempfile.TemporaryDirectory() as folder:
            path.write_text(as_it_is(path.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
