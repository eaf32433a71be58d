"""``python -m tools.pythons [PYTHON ...]``: does the wheel work with every supported Python that is here?

Each gets an empty environment with the wheel and the extra ``cli`` in it, where the examples of the README and the
demonstration have to run. Without arguments Pythons are looked for on the PATH and among those of pyenv.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.release_check import ROOT, TIMEOUT, examples

SUPPORTED = ((3, 11), (3, 12), (3, 13), (3, 14))
DEMO = "compare --scenario one-sparse --arms 10 --delta 0.1 --trials 1000 --seed 7"
"""As ``make demo`` runs it."""

Version = tuple[int, int]


def candidates(version: Version) -> Iterator[str]:
    """Where a Python of this version may be."""
    name = "python{}.{}".format(*version)
    on_path = shutil.which(name)
    if on_path is not None:
        yield on_path
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted((pyenv / "versions").glob(f"{name[6:]}.*/bin/python")))


def version_of(python: str) -> Version | None:
    """What version it is; None if it cannot be started, or cannot make environments."""
    asked = [python, "-c", "import ensurepip, sys, venv; print(*sys.version_info[:2])"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def found(given: Iterable[str] = ()) -> dict[Version, str]:
    """The first Python of every supported version, of those given or else of those that are here."""
    given = list(given)
    there: dict[Version, str] = {}
    for python in given or (python for version in SUPPORTED for python in candidates(version)):
        version = version_of(python)
        if version in SUPPORTED:
            there.setdefault(version, python)
        elif given:
            sys.exit(f"{python} is no Python from 3.11 to 3.14 with its venv module; name others with PYTHONS=")
    return there


def _run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)


def _pip(python: str | Path, *arguments: str | Path, cwd: Path) -> None:
    _run(python, "-m", "pip", "--disable-pip-version-check", *arguments, cwd=cwd)


def try_wheel(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment and use it; RuntimeError with what was printed if that fails."""
    _run(python, "-m", "venv", folder / "venv", cwd=folder)
    programs = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    _pip(programs / "python", "install", f"{wheel}[cli]", cwd=folder)
    _run(programs / "python", "-c", examples((ROOT / "README.md").read_text(encoding="utf-8")), cwd=folder)
    _run(programs / "linkedbandits", *DEMO.split(), cwd=folder)


def main() -> int:
    """Try all of them; the status is that of a command."""
    there = found(sys.argv[1:])
    if not there:
        sys.exit("no Python from 3.11 to 3.14 is here; name one with PYTHONS=/path/to/python")
    failed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        newest = there[max(there)]
        _run(newest, "-m", "venv", folder / "building", cwd=folder)
        builder = folder / "building" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
        _pip(builder, "wheel", "--no-deps", "--wheel-dir", folder / "dist", ROOT, cwd=folder)
        (wheel,) = (folder / "dist").glob("*.whl")
        for version in SUPPORTED:
            label = "Python {}.{}".format(*version)
            if version not in there:
                print(f"{label}: {'not among those named' if sys.argv[1:] else 'not found'}", flush=True)
                continue
            here = folder / label.split()[1]
            here.mkdir()
            try:
                try_wheel(there[version], wheel, here)
            except RuntimeError as error:
                failed = True
                print(f"{label}: failed, with {there[version]}\n{error}", flush=True)
            else:
                print(f"{label}: the examples of the README and the demonstration run", flush=True)
            shutil.rmtree(here)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
