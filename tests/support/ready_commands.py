"""A process that has imported all that commands need, and has a child be the command whenever it is asked to.

Most of what a short command takes is to begin Python and to import; here that is done once. It is asked through a
socket, with a message of JSON and the places where output and errors go, and answers with the status at the end.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import sys
from pathlib import Path
from typing import Any
from unittest import mock

MOST_BYTES = 100_000
_MODULES = ("matplotlib.pyplot", "scipy.optimize", "scipy.stats", "linkedbandits.lidar", "linkedbandits.study")


def serve(channel: socket.socket) -> None:
    """Until nobody asks any more. In the child it comes back when the command is over."""
    _import()
    gc.collect()
    gc.freeze()  # a child that looked through all that for garbage, at its end, would have to copy it
    while True:
        message, places, _, _ = socket.recv_fds(channel, MOST_BYTES, 2)
        if not message:
            return
        child = os.fork()
        if child == 0:
            channel.close()
            _be(json.loads(message), *places)
            return
        for place in places:
            os.close(place)
        channel.send(json.dumps(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _import() -> None:
    from matplotlib.figure import Figure

    from linkedbandits import cli

    for module in pkgutil.iter_modules(cli.__path__):
        importlib.import_module(f"{cli.__name__}.{module.name}")
    for name in _MODULES:
        importlib.import_module(name)
    # What is in figures is nothing that a terminal shows, and to draw them takes seconds.
    mock.patch.object(Figure, "savefig", lambda figure, place, **options: Path(place).touch()).start()


def _be(asked: dict[str, Any], out: int, errors: int) -> None:
    """As ``python -m linkedbandits`` would, in this process, which ends as that would."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, place in enumerate((nothing, out, errors)):
        os.dup2(place, number)
        os.close(place)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.argv = ["linkedbandits", *asked["arguments"]]
    runpy.run_module("linkedbandits", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
