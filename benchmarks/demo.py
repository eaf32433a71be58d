"""How long the first look takes, from a fresh clone, and how much it leaves on the disk.

    make bench SECTION=demo

This commit's ``make demo`` is held against an earlier commit, in clones side by side. That one had a small environment
for the demonstration already, so what stands for it is its ``make setup`` and then ``make demo``, as for who follows
its documents from the top; its ``make demo`` alone is printed beside it. Everything is set up once before, so that what
installers keep is there for all, and then again, measured.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

ROOT = Path(__file__).parents[1]
BEFORE = "b6dce71"
SHARE_OF_TIME = 1 / 2
SHARE_OF_SPACE = 1 / 3
SECONDS_FOR_A_SETUP = 1800.0
NOT_INHERITED = {"PYTHONPATH", "VIRTUAL_ENV", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "REV", "ONLY", "SECTION"}


@dataclass(frozen=True)
class Look:
    """What somebody types in a fresh clone of a commit."""

    said: str
    commit: str
    targets: tuple[str, ...]


NOW = Look("make demo, this commit", "HEAD", ("demo",))
THEN = Look(f"make setup && make demo, {BEFORE}", BEFORE, ("setup", "demo"))
SMALL_THEN = Look(f"make demo alone, {BEFORE}", BEFORE, ("demo",))


def main() -> None:
    """Print times and sizes, with verdicts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clones = {look: cloned(look.commit, folder / str(at)) for at, look in enumerate((NOW, SMALL_THEN, THEN))}
        for look in (NOW, THEN):  # what the small one needs is among this
            seconds_of(look, clones[look])
            rmtree(clones[look] / ".venv")
        measured = {}
        print(f"  {'in a fresh clone':40} {'seconds':>8} {'MiB of .venv':>13}", flush=True)
        for look, clone in clones.items():
            measured[look] = seconds_of(look, clone), mebibytes_of(clone / ".venv")
            print(f"  {look.said:40} {measured[look][0]:8.1f} {measured[look][1]:13.0f}", flush=True)
    for at, (what, share, words) in enumerate((("time", SHARE_OF_TIME, "half"), ("space", SHARE_OF_SPACE, "a third"))):
        ratio = measured[NOW][at] / measured[THEN][at]
        verdict = "at most" if ratio <= share else "more than"
        small = measured[NOW][at] / measured[SMALL_THEN][at]
        print(f"  {what}: {ratio:.2f} of it, {verdict} {words}; {small:.2f} of that of its make demo alone")


def cloned(commit: str, folder: Path) -> Path:
    """A clone of what is committed here, at that commit."""
    exactly = ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"]
    found = subprocess.run(exactly, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    subprocess.run(["git", "clone", "--quiet", "--no-checkout", str(ROOT), str(folder)], check=True, timeout=600)
    subprocess.run(["git", "checkout", "--quiet", found], cwd=folder, check=True, timeout=600)
    return folder


def seconds_of(look: Look, clone: Path) -> float:
    """How long all of it takes."""
    inherited = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    python = str(getattr(sys, "_base_executable", sys.executable))  # environments are not made from an environment
    began = time.perf_counter()
    for target in look.targets:
        command = ["make", target, f"PYTHON={python}"]
        done = subprocess.run(
            command,
            cwd=clone,
            env=inherited,
            capture_output=True,
            text=True,
            timeout=SECONDS_FOR_A_SETUP,
            check=False,
        )
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} at {look.commit} failed:\n{done.stdout}{done.stderr}")
    return time.perf_counter() - began


def mebibytes_of(folder: Path) -> float:
    """As the disk has it."""
    done = subprocess.run(["du", "-sk", str(folder)], check=True, capture_output=True, text=True, timeout=60)
    return int(done.stdout.split()[0]) / 1024
