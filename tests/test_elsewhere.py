"""Every module can be imported on Windows and macOS, as far as that can be seen from here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import linkedbandits as lb
from tools.waiting import SECONDS

# What Linux has and others have not is taken away before the library is read. What needs a package that is not
# installed here may say so; the error of a module of Python's that is missing has the name of that module.
IMPORT_ALL = """
import importlib, json, os, signal, sys
importlib.import_module("multiprocessing.context")  # Python's own are made for the system that they are on
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for place, name in ((os, "sched_getaffinity"), (os, "fork"), (signal, "SIGKILL"), (signal, "SIGHUP")):
    if hasattr(place, name):
        delattr(place, name)
from linkedbandits.errors import MissingExtra
failed = {}
for name in json.loads(sys.argv[1]):
    try:
        importlib.import_module(name)
    except MissingExtra:
        pass
    except Exception as error:  # whatever a module fails with, the others are tried as well, and all are named
        if not (isinstance(error, ModuleNotFoundError) and error.name in ("cupy", "numba")):
            failed[name] = repr(error)
print(json.dumps(failed))
"""


def all_modules() -> list[str]:
    """Those in folders without an ``__init__``, into which pkgutil does not look, are among them."""
    source = Path(lb.__file__).parent
    paths = sorted(path for path in source.rglob("*.py") if path.stem not in {"__init__", "__main__"})
    return [".".join(path.relative_to(source.parent).with_suffix("").parts) for path in paths]


def test_every_module_can_be_imported_without_what_only_linux_has():
    names = all_modules()
    assert len(names) > 300
    asked = [sys.executable, "-c", IMPORT_ALL, json.dumps(names)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == {}
