"""The real command in a process of its own, in front of a terminal of so many columns, or of a pipe."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from tests.support import ready_commands
from tests.support.command_line import COMMAND, environment, environment_of_scripts
from tools.waiting import SECONDS

WIDTHS = (40, 60, 80, 200)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def in_a_terminal(columns: int, *arguments: str, folder: Path | None = None, status: int = 0, **extra: str) -> str:
    """What a terminal shows, without colours; its lines as they were sent, not as it would break them."""
    with _terminal(columns) as (ours, theirs):
        process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=_environment(**{"TERM": "xterm", **extra}),
        )
        os.close(theirs)
        try:
            shown = _all_of(ours)
            _, said = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
            process.wait(SECONDS)
    assert process.returncode == status, said.decode()
    return _as_text(shown)


class ReadyCommands:
    """The same without what it takes to begin Python and to import: every command is forked from a process that did.

    No figures are drawn.
    """

    def __enter__(self) -> Self:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", ready_commands.__name__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=environment_of_scripts(),
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()
        try:
            self._process.wait(SECONDS)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def in_a_terminal(self, columns: int, *arguments: str, folder: Path, status: int = 0) -> str:
        """What a terminal shows, as the function of that name has it."""
        wanted = {"arguments": arguments, "folder": str(folder), "environment": _environment(TERM="xterm")}
        message = json.dumps(wanted).encode()
        assert len(message) <= ready_commands.MOST_BYTES
        with _terminal(columns) as (ours, theirs), tempfile.TemporaryFile() as errors:
            socket.send_fds(self._channel, [message], [theirs, errors.fileno()])
            os.close(theirs)
            shown = _all_of(ours)
            ended = json.loads(self._channel.recv(ready_commands.MOST_BYTES))
            errors.seek(0)
            assert ended == status, errors.read().decode()
        return _as_text(shown)


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


@contextmanager
def _terminal(columns: int) -> Iterator[tuple[int, int]]:
    """Our end, which is closed at last, and that of a command."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        yield ours, theirs
    finally:
        os.close(ours)


def _all_of(terminal: int) -> bytes:
    """What comes until the command has let go of its terminal, which Linux says by an error."""
    parts = []
    with suppress(OSError):
        while part := os.read(terminal, 65536):
            parts.append(part)
    return b"".join(parts)


def _as_text(shown: bytes) -> str:
    return _ESCAPES.sub("", shown.decode()).replace("\r\n", "\n")
