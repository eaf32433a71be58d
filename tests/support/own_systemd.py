"""A systemd of one's own, as the first process of namespaces in which nothing outside is touched.

It starts the units of ``deploy`` as they are, the service enabled: as the user that they name, on the port that they
name, from where they say that the programme is. That takes root's rights, and control groups.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tools.waiting import SECONDS, killed_in_the_end, until

ROOT = Path(__file__).parents[2]
USER = 47_110
"""The number of the user linkedbandits there."""
TARGETS = ("sysinit", "basic", "shutdown", "network", "multi-user", "timers")
"""What other units may want; these are empty, so that nothing but the units of ``deploy`` is started."""
GROUPS = Path("/sys/fs/cgroup")


class OwnSystemd:
    """One that runs."""

    def __init__(self, first_process: int) -> None:
        self._enter = ["nsenter", "--target", str(first_process), "--mount", "--pid", "--cgroup", "--net"]

    def run(self, *command: str, user: int = 0) -> subprocess.CompletedProcess[str]:
        """A command beside it."""
        who = ["--setuid", str(user), "--setgid", str(user)] if user else []
        return subprocess.run(
            [*self._enter, *who, *command], capture_output=True, text=True, timeout=SECONDS, check=False
        )

    def say(self, *words: str) -> str:
        """What systemctl answers."""
        return self.run("systemctl", *words).stdout.strip()

    def show(self, unit: str, what: str) -> str:
        """A property of a unit."""
        return self.say("show", "--value", "--property", what, unit)


def _script(folder: Path, groups: Path) -> str:
    """What makes the namespaces look like a machine with linkedbandits on it, and then becomes systemd."""
    with_python = ":".join(["/opt/linkedbandits/src", "/opt/linkedbandits/packages"])
    binary = f"/opt/linkedbandits/python/bin/{Path(sys.executable).resolve().name}"
    libraries = "LD_LIBRARY_PATH=/opt/linkedbandits/python/lib"  # of a Python that would look for them at home
    program = f'#!/bin/sh\n{libraries} PYTHONPATH={with_python} exec {binary} -m linkedbandits "$@"\n'
    (folder / "program").write_text(program, encoding="utf-8")
    (folder / "program").chmod(0o755)
    for name in ("passwd", "group"):
        known = Path("/etc", name).read_text(encoding="utf-8")
        more = f"linkedbandits:x:{USER}:" if name == "group" else f"linkedbandits:x:{USER}:{USER}::/:/bin/false"
        (folder / name).write_text(f"{known.rstrip()}\n{more}\n", encoding="utf-8")
    (folder / "units").mkdir()
    (folder / "empty").mkdir()
    for name in TARGETS:
        (folder / "units" / f"{name}.target").write_text("[Unit]\nDefaultDependencies=no\n", encoding="utf-8")
    (folder / "units" / "default.target").symlink_to("multi-user.target")
    for unit in (*ROOT.glob("deploy/*.service"), *ROOT.glob("deploy/*.timer")):
        shutil.copy(unit, folder / "units" / unit.name)
    wanted = folder / "units" / "multi-user.target.wants"  # what 'systemctl enable' does
    wanted.mkdir()
    (wanted / "linkedbandits.service").symlink_to("../linkedbandits.service")
    legacy = (groups / "systemd").is_dir()
    kinds = [("cgroup -o none,name=systemd", "/systemd"), ("cgroup2", "/unified")] if legacy else [("cgroup2", "")]
    lines = [
        "set -e",
        "ip link set lo up",
        "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system /run/lock",
        "mount -t tmpfs tmpfs /var/lib",
        f"for one in passwd group; do mount --bind {folder}/$one /etc/$one; done",
        f"umount -R {groups}",
        f"mount -t tmpfs tmpfs {groups}" if legacy else "true",
        *(f"mkdir -p {groups}{place} && mount -t {kind} cgroup {groups}{place}" for kind, place in kinds),
        # Last, for the programmes above may be there.
        f"mkdir -p {folder}/opt/bin {folder}/opt/python {folder}/opt/packages {folder}/opt/src",
        f"cp {folder}/program {folder}/opt/bin/linkedbandits",
        f"mount --bind {sys.base_prefix} {folder}/opt/python",
        f"mount --bind {sysconfig.get_path('purelib')} {folder}/opt/packages",
        f"mount --bind {ROOT / 'src'} {folder}/opt/src",
        "mkdir -p /opt && mount -t tmpfs tmpfs /opt && mkdir /opt/linkedbandits",
        f"mount --rbind {folder}/opt /opt/linkedbandits",
        f"exec env -i container=tests PATH={shlex.quote(os.environ['PATH'])} SYSTEMD_UNIT_PATH={folder}/units "
        f"SYSTEMD_GENERATOR_PATH={folder}/empty SYSTEMD_ENVIRONMENT_GENERATOR_PATH={folder}/empty "
        "/usr/lib/systemd/systemd --system --log-target=console --show-status=no --default-standard-output=null "
        "--default-standard-error=null",
    ]
    return "\n".join(lines)


def _removed(group: Path) -> bool:
    """Not as long as there are processes in it, which end a moment after the first."""
    try:
        for folder, _, _ in os.walk(group, topdown=False):
            Path(folder).rmdir()
    except OSError:
        return False
    return True


@contextmanager
def own_systemd(folder: Path) -> Iterator[OwnSystemd]:
    """A systemd that runs; the test is skipped where there can be none."""
    missing = [name for name in ("systemctl", "unshare", "nsenter", "ip") if shutil.which(name) is None]
    if missing or not Path("/usr/lib/systemd/systemd").exists():
        pytest.skip(f"systemd is not installed, or a tool to run it apart: {', '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("to start a systemd of one's own takes root's rights")
    tops = [GROUPS / name for name in ("systemd", "unified")] if (GROUPS / "systemd").is_dir() else [GROUPS]
    places = [top / f"linkedbandits-{os.getpid()}" for top in tops if top.is_dir()]
    try:
        for place in places:
            place.mkdir()
    except OSError as error:
        pytest.skip(f"systemd needs a control group, and none can be made here ({error})")
    folder.chmod(0o755)
    (folder / "begin").write_text(_script(folder, GROUPS), encoding="utf-8")
    joined = "".join(f"echo $$ > {place}/cgroup.procs; " for place in places)
    apart = "exec unshare --mount --pid --fork --kill-child --mount-proc --uts --ipc --net --cgroup"
    with (folder / "said").open("w") as said:
        process = subprocess.Popen(
            ["sh", "-c", f"{joined} {apart} sh {folder}/begin"], stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
    try:
        with killed_in_the_end(process, 4 * SECONDS):
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            until(lambda: process.poll() is not None or children.read_text().strip(), "a first process")
            if process.poll() is not None:
                pytest.skip(f"no namespaces can be made here: {(folder / 'said').read_text()}")
            found = OwnSystemd(int(children.read_text()))
            until(
                lambda: process.poll() is not None or found.say("is-system-running") in ("running", "degraded"),
                "systemd to run",
            )
            assert process.poll() is None, (folder / "said").read_text()
            yield found
    finally:
        for place in places:
            until(lambda group=place: _removed(group), "all processes to be gone")
