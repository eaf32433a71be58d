"""The files of ``deploy``, run as they are but for addresses, ports and paths."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path

from tests.support.command_line import environment
from tools.waiting import SECONDS, killed_in_the_end, until

ROOT = Path(__file__).parents[2]
INSTALLED = "/opt/linkedbandits/bin/linkedbandits"


def read_unit(name: str) -> ConfigParser:
    """A unit file; of settings that come several times the last is seen."""
    unit = ConfigParser(strict=False, interpolation=None, delimiters=["="])
    unit.optionxform = str
    unit.read(ROOT / "deploy" / name, encoding="utf-8")
    return unit


class Backend:
    """The service as its unit starts it, on another port and with another store."""

    def __init__(self, store: str, port: int, *arguments: str) -> None:
        service = read_unit("linkedbandits.service")["Service"]
        program, *rest = shlex.split(service["ExecStart"])
        assert program == INSTALLED
        rest[rest.index("--port") + 1] = str(port)
        self.command = [sys.executable, "-m", "linkedbandits", *rest, *arguments]
        self.port = port
        self._environment = environment(LINKEDBANDITS_STORE=store, PYTHONUNBUFFERED="1")
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Returns when it answers."""
        self._process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=self._environment
        )
        said = self._process.stdout.readline()
        assert said.startswith("Live page: "), said

    def stop(self, number: int = signal.SIGTERM) -> int:
        """How it ended."""
        self._process.send_signal(number)
        status = self._process.wait(SECONDS)
        self._process.stdout.close()
        return status

    @contextmanager
    def running(self) -> Iterator[Backend]:
        self.start()
        try:
            yield self
        finally:
            self._process.kill()
            self._process.wait(SECONDS)
            self._process.stdout.close()


def _listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def running_nginx(folder: Path, site: str, port: int) -> Iterator[None]:
    """nginx with this site, on the ports that it names; ``port`` is one of them."""
    (folder / "site.conf").write_text(site, encoding="utf-8")
    user = "user root;" if os.geteuid() == 0 else ""
    places = "".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = f"daemon off; {user} pid {folder}/pid; events {{}} http {{ access_log off; {places} include site.conf; }}"
    (folder / "nginx.conf").write_text(main, encoding="utf-8")
    command = ["nginx", "-p", str(folder), "-c", "nginx.conf", "-e", str(folder / "errors")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    with killed_in_the_end(process, 4 * SECONDS):
        until(lambda: _listens(port), "nginx to listen")
        try:
            yield
        finally:
            process.terminate()
            process.wait(SECONDS)
