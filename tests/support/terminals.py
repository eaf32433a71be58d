"""The real command in a process of its own, in front of a terminal of so many columns, or of a pipe."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from tests.support.command_line import COMMAND, environment
from tools.waiting import SECONDS

WIDTHS = (40, 60, 80, 200)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def in_a_terminal(columns: int, *arguments: str, folder: Path | None = None, status: int = 0, **extra: str) -> str:
    """What a terminal shows, without colours; its lines as they were sent, not as it would break them."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=_environment(**{"TERM": "xterm", **extra}),
    )
    os.close(theirs)
    parts = []
    try:
        while part := _read(ours):
            parts.append(part)
        _, said = process.communicate(timeout=SECONDS)
    finally:
        os.close(ours)
        process.kill()
        process.wait(SECONDS)
    assert process.returncode == status, said.decode()
    return _ESCAPES.sub("", b"".join(parts).decode()).replace("\r\n", "\n")


def in_a_pipe(*arguments: str, folder: Path | None = None, status: int = 0, **extra: str) -> str:
    """What a program reads."""
    result = subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=folder,
        env=_environment(**extra),
    )
    assert result.returncode == status, result.stderr
    return result.stdout


def _environment(**extra: str) -> dict[str, str]:
    return {name: value for name, value in environment(**extra).items() if name != "COLUMNS"}


def _read(terminal: int) -> bytes:
    """The next part; nothing when the command has let go of its terminal, which Linux says by an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
