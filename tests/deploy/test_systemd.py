"""The units: what systemd says of them, and that what they start does what they say."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import closing

import httpx
import pytest
from prometheus_client import ProcessCollector

from linkedbandits.service.store import open_store
from tests.support.command_line import run
from tests.support.deployed import INSTALLED, ROOT, Backend, read_unit
from tests.support.own_systemd import USER, own_systemd
from tools.ports import free_port
from tools.waiting import SECONDS, until

UNITS = ("linkedbandits.service", "linkedbandits-backup.service", "linkedbandits-backup.timer")


@pytest.fixture
def analyze(tmp_path):
    """systemd-analyze on the units, with a programme in the place of the installed one that is there."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed: no systemd-analyze on the path")
    for name in UNITS:
        text = (ROOT / "deploy" / name).read_text(encoding="utf-8").replace(INSTALLED, sys.executable)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def ask(verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        asked = ["systemd-analyze", verb, *arguments]
        return subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)

    return ask


def test_systemd_understands_every_line(analyze, tmp_path):
    found = analyze("verify", "--man=no", "--recursive-errors=no", *(str(tmp_path / name) for name in UNITS))
    said = [line for line in found.stderr.splitlines() if str(tmp_path) in line or "linkedbandits" in line]
    assert (found.returncode, said) == (0, [])


@pytest.mark.parametrize("name", UNITS[:2])
def test_a_service_may_do_little(analyze, tmp_path, name):
    """Exposure goes from 0 to 10; a unit that says nothing has 9.6."""
    found = analyze("security", "--offline=true", "--threshold=25", "--json=short", str(tmp_path / name))
    assert found.returncode == 0, found.stdout + found.stderr
    assert json.loads(found.stdout)


def test_the_units_have_the_same_store_user_and_limits():
    service, backup = (dict(read_unit(name)["Service"]) for name in UNITS[:2])
    own = {"Type", "ExecStart", "StateDirectory", "Nice", "IOSchedulingClass", "ProcSubset"}
    only_of_servers = {"TimeoutStopSec", "Restart", "RestartSec", "LimitNOFILE"}
    assert {name: service[name] for name in service.keys() - own - only_of_servers} == {
        name: backup[name] for name in backup.keys() - own
    }


def test_the_unit_does_not_hide_what_the_metrics_of_the_process_are_read_from(tmp_path):
    """Without /proc/stat there are none of them, though /proc/self is there."""
    (tmp_path / "self").symlink_to("/proc/self")
    hidden = ProcessCollector(proc=str(tmp_path), registry=None)
    (tmp_path / "stat").symlink_to("/proc/stat")
    shown = ProcessCollector(proc=str(tmp_path), registry=None)
    assert (list(hidden.collect()), bool(shown.collect())) == ([], True)
    assert read_unit("linkedbandits.service")["Service"].get("ProcSubset", "all") == "all"


@pytest.mark.slow
def test_what_the_unit_starts_wants_tokens_and_stops_when_systemd_says_so(tmp_path):
    store = str(tmp_path / "experiments.sqlite3")
    with Backend(store, free_port()).running() as backend:
        url = f"http://127.0.0.1:{backend.port}"
        assert httpx.get(f"{url}/readyz", timeout=SECONDS).status_code == 200
        assert httpx.get(f"{url}/v1/experiments", timeout=SECONDS).status_code == 401
        guess = {"Authorization": "Bearer lb_guess", "X-Forwarded-For": "9.9.9.9", "X-Forwarded-User": "boss"}
        assert httpx.get(f"{url}/v1/experiments", headers=guess, timeout=SECONDS).status_code == 401
        assert backend.stop() == 0
    with closing(open_store(store)) as opened, opened.reading() as reading:
        (entry,) = reading.audit(9, action="sign-in-refused")
    assert entry.details["addresses"] == {"9.9.9.9": 1}  # as nginx says it, which is on this machine


ASK = """
import socket, sys, time
path, token, seconds = sys.argv[1:]
end = time.monotonic() + float(seconds)
while True:
    try:
        caller = socket.create_connection(("127.0.0.1", 8000), float(seconds))
        break
    except ConnectionRefusedError:
        assert time.monotonic() < end
        time.sleep(0.05)
caller.sendall(f"GET {path} HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\nAuthorization: Bearer {token}\\r\\n\\r\\n".encode())
print(caller.makefile().read())
"""


def answer(systemd, path, token="none"):
    """Status and text of what the service answers, where systemd runs, as soon as it listens."""
    asked = systemd.run(sys.executable, "-S", "-c", ASK, path, token, str(SECONDS))
    assert asked.returncode == 0, asked.stderr
    _, status, text = asked.stdout.split(" ", 2)
    return int(status), text


@pytest.mark.slow
def test_systemd_runs_the_units_as_they_are(tmp_path):
    with own_systemd(tmp_path) as systemd:
        assert answer(systemd, "/readyz")[0] == 200
        assert answer(systemd, "/v1/experiments")[0] == 401
        process = systemd.show("linkedbandits", "MainPID")
        rights = dict(
            line.split(":\t", 1) for line in systemd.run("cat", f"/proc/{process}/status").stdout.splitlines()
        )
        assert rights["Uid"].split() == [str(USER)] * 4
        assert (rights["NoNewPrivs"], rights["Seccomp"], int(rights["CapBnd"], 16)) == ("1", "2", 0)

        store = "LINKEDBANDITS_STORE=/var/lib/linkedbandits/experiments.sqlite3"
        made = systemd.run("env", store, INSTALLED, "token", "create", "--role", "viewer", "--name", "ops", user=USER)
        assert made.returncode == 0, made.stderr
        until(lambda: answer(systemd, "/v1/experiments", made.stdout.strip())[0] == 200, "the token to be known")
        metrics = answer(systemd, "/metrics", made.stdout.strip())[1]
        assert {"process_resident_memory_bytes", "process_open_fds", "process_cpu_seconds_total"} <= set(
            metrics.split()
        )

        systemd.run("kill", "-9", process)
        until(lambda: systemd.show("linkedbandits", "NRestarts") == "1", "systemd to start it again")
        assert answer(systemd, "/readyz")[0] == 200

        assert systemd.run("systemctl", "start", "linkedbandits-backup.service").returncode == 0
        kept = systemd.run("stat", "--format", "%u %a", *backups_in(systemd)).stdout
        assert kept == f"{USER} 600\n"
        systemd.run("systemctl", "start", "linkedbandits-backup.timer")
        assert systemd.say("is-active", "linkedbandits-backup.timer") == "active"

        assert systemd.run("systemctl", "stop", "linkedbandits").returncode == 0
        ended = [systemd.show("linkedbandits", what) for what in ("Result", "ExecMainCode", "ExecMainStatus")]
        assert ended == ["success", "1", "0"]  # it has exited, by itself, with 0


def backups_in(systemd):
    return systemd.run("find", "/var/lib/linkedbandits-backups", "-name", "*.sqlite3").stdout.split()


def test_what_the_backup_unit_starts_writes_a_backup(tmp_path):
    store = str(tmp_path / "experiments.sqlite3")
    open_store(store).close()
    program, verb, folder, *rest = read_unit("linkedbandits-backup.service")["Service"]["ExecStart"].split()
    assert (program, verb, folder) == (INSTALLED, "backup", "/var/lib/linkedbandits-backups")
    (tmp_path / "backups").mkdir()
    done = run(verb, str(tmp_path / "backups"), *rest, LINKEDBANDITS_STORE=store)
    assert done.returncode == 0, done.stderr
    (made,) = (tmp_path / "backups").iterdir()
    with closing(open_store(str(made))) as opened, opened.reading() as reading:
        assert reading.records() == []
