"""Ctrl-C and SIGTERM at real commands: they end with a line that says what is kept, and nothing is left running."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.command_line import COMMAND, environment, run_json
from tests.support.processes import catches, descendants, parent_of
from tools.waiting import SECONDS, killed_in_the_end, until

STUDY = """
seed = 5
trials = 400_000
[[instances]]
scenario = "one-sparse"
arms = [20, 50]
[[policies]]
policy = "linked-elimination"
"""
ANEW = "nothing is kept, and the same command begins anew"
KEPT = "what is finished is kept in {}, and the same command goes on from there"
LONG = {
    "compare": (("compare", "--trials", "1000000", "--arms", "50"), ANEW),
    "simulate": (("simulate", "--trials", "1000000", "--arms", "50"), ANEW),
    "study": (("study", "long.toml"), KEPT.format("long-results")),
    "reproduce": (("reproduce",), KEPT.format("reproduction")),
    "lidar": (("lidar", "--size", "300", "--cycles", "5000"), ANEW),
}
"""Commands that run for minutes, and what they say when they are interrupted."""
WITH_TIME = f"from linkedbandits import signals; signals.SECONDS_TO_END = {SECONDS}; "
PATIENT = [sys.executable, "-c", WITH_TIME + "from linkedbandits.__main__ import main; main()"]
"""The command, with more time to end in order than it takes on any machine, however busy with other things."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "long.toml").write_text(STUDY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@contextmanager
def started(*command: str):
    """A process in a group of its own, as a shell makes one, that already listens to signals."""
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(PYTHONUNBUFFERED="1"),
        start_new_session=True,
    )
    with process, killed_in_the_end(process):
        until(lambda: catches(process.pid, signal.SIGTERM), "the command to listen")
        yield process


def all_gone(processes: list[int]) -> bool:
    return all(parent_of(process) is None for process in processes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("simulate", signal.SIGTERM),
        ("study", signal.SIGINT),
        ("reproduce", signal.SIGTERM),
        ("lidar", signal.SIGINT),
    ],
)
def test_one_signal_ends_it_with_a_line_and_without_workers(name, number, folder):
    """After a random time: while modules are read, workers begin, chunks run or tables are written."""
    arguments, kept = LONG[name]
    with started(*PATIENT, *arguments) as process:
        time.sleep(random.Random(f"{name} {number}").uniform(0.0, 2.5))
        begun = descendants(process.pid)
        process.send_signal(number)
        said, complained = process.communicate(timeout=SECONDS)
    assert (process.returncode, said) == (128 + number, "")
    # Where it was still reading modules no command had begun, and there is nothing to keep.
    assert complained in {f"linkedbandits: interrupted; {text}\n" for text in (kept, ANEW)}
    until(lambda: all_gone(begun), "its workers to be gone")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seconds"), [("study", 0.3), ("lidar", 0.8)])
def test_ctrl_c_at_a_terminal_goes_to_the_workers_too_and_they_say_nothing(name, seconds, folder):
    """A terminal sends the signal to the whole group, at whatever point of their beginning the workers are."""
    arguments, _ = LONG[name]
    with started(*PATIENT, *arguments) as process:
        until(lambda: descendants(process.pid), "the first process that it begins")
        time.sleep(seconds)
        begun = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)
        _, complained = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert complained.startswith("linkedbandits: interrupted; ")
    assert complained.count("\n") == 1
    until(lambda: all_gone(begun), "its workers to be gone")


@pytest.mark.slow
def test_a_second_signal_ends_a_command_at_once(folder):
    with started(*COMMAND, "lidar", "--size", "300", "--cycles", "5000") as process:
        begun = until(lambda: workers_of(process.pid), "a worker")
        os.kill(process.pid, signal.SIGINT)
        os.kill(process.pid, signal.SIGTERM)
        _, complained = process.communicate(timeout=SECONDS)
    # The first may have done its work before the second came; which of the two is heard first is up to the system. And
    # in its last moments the interpreter handles none any more: then the system ends it, 143 to a shell as well.
    assert process.returncode in {130, 143, -signal.SIGTERM}
    heard = ("linkedbandits: interrupted; ", "linkedbandits: ended at once")
    assert complained.startswith(heard[0] if process.returncode < 0 else heard)
    until(lambda: all_gone(begun), "its workers to be gone")


@pytest.mark.slow
def test_what_runs_in_the_background_of_a_script_hears_no_ctrl_c(folder):
    """A shell without job control has such commands ignore it; they are meant to go on."""
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *COMMAND, *LONG["simulate"][0]]
    with started(*command) as process:
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.communicate(timeout=1.5)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS)
    assert process.returncode == 143


@pytest.mark.slow
def test_an_interrupted_study_goes_on_from_there(folder):
    file = folder / "long.toml"
    file.write_text(STUDY.replace("400_000", "30_000").replace("[20, 50]", "2"), encoding="utf-8")
    with started(*PATIENT, "study", str(file)) as process:
        until(lambda: list(folder.rglob("*.parquet")), "a chunk on the disk")
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert "what is finished is kept in long-results, and the same command goes on from there" in complained
    kept = set(folder.rglob("*.parquet"))
    assert kept
    assert run_json("study", str(file))["missing_trials"] == 0
    assert kept < set(folder.rglob("*.parquet"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "word"), [("study", "the chunk with trials"), ("lidar", "pixels")])
def test_a_worker_that_is_killed_is_said_and_replaced(name, word, folder):
    """From outside, as the system does when memory runs out."""
    small = ("lidar", "--size", "30", "--method", "pulse", "--cycles", "200", "--json")
    arguments = small if name == "lidar" else LONG[name][0]
    with started(*COMMAND, *arguments) as process:
        worker = until(lambda: workers_of(process.pid), "a worker")[0]
        time.sleep(0.3)
        os.kill(worker, signal.SIGKILL)
        said = process.stderr.readline()
        if name == "lidar":
            _, complained = process.communicate(timeout=SECONDS)
            assert (process.returncode, complained) == (0, "")
    assert said.startswith(f"a worker died over {word}")
    assert "which is run again: killed by SIGKILL" in said


def workers_of(process: int) -> list[int]:
    """Those that a server forked for it: descendants of the second generation."""
    return [child for child in descendants(process) if parent_of(child) not in {process, None}]


@pytest.fixture(params=["uvloop", "asyncio"])
def serving(folder, request):
    """With the loop that the extra brings, and with that of systems which do not have it."""
    with a_service(request.param) as process_and_url:
        yield process_and_url


@contextmanager
def a_service(loop: str, changes: str = ""):
    """The process of a service, which begins with some changes, and where it is."""
    without = "" if loop == "uvloop" else "import sys; sys.modules['uvloop'] = None; "
    code = without + WITH_TIME + changes + "from linkedbandits.__main__ import main; main()"
    with started(sys.executable, "-c", code, "serve", "--port", "0", "--store", "experiments.sqlite3") as process:
        yield process, process.stdout.readline().split()[2].rstrip("/")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("serving", "number"), [("uvloop", signal.SIGINT), ("asyncio", signal.SIGTERM)], indirect=["serving"]
)
def test_a_service_says_where_everything_is(serving, number):
    process, url = serving
    httpx.post(f"{url}/v1/experiments", json={"name": "directions", "arms": ["north", "east"]}, timeout=SECONDS)
    process.send_signal(number)
    said, complained = process.communicate(timeout=SECONDS)
    assert (process.returncode, "Traceback" in complained) == (0, False)
    assert said.endswith(
        "Stopped; all that was acknowledged is in experiments.sqlite3, and the same command goes on.\n"
    )


@pytest.mark.slow
def test_a_service_does_not_wait_for_a_request_that_never_comes_in_whole(serving):
    process, url = serving
    with half_a_request(url):
        process.send_signal(signal.SIGTERM)
        said, complained = process.communicate(timeout=SECONDS)
    assert process.returncode == 0
    assert said.endswith("and the same command goes on.\n")
    assert "graceful shutdown exceeded" not in complained  # the time that requests under way have was not used up


NEVER_READY = f"""
import time
from linkedbandits.service.http.service import Service
Service.ping = lambda self: time.sleep({SECONDS})
"""


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_a_second_signal_ends_a_service_at_once(folder, loop):
    """While it waits for a request that is being answered, which takes its time."""
    number = signal.SIGINT
    with a_service(loop, NEVER_READY) as (process, url), connected(url) as connection:
        connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        has_arrived(url)
        process.send_signal(number)
        until(lambda: not accepts(url), "the service to stop listening")
        process.send_signal(number)
        _, complained = process.communicate(timeout=SECONDS)
    assert process.returncode == 128 + number
    *_, last = complained.splitlines()
    assert last.startswith("linkedbandits: ended at once; all that was acknowledged is in ")


@contextmanager
def half_a_request(url: str):
    """A connection on which the rest of a body is still to come."""
    with connected(url) as connection:
        head = b"POST /v1/experiments HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
        connection.sendall(head + b"Content-Type: application/json\r\n\r\n{")
        has_arrived(url)
        yield


def connected(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=SECONDS)


def has_arrived(url: str) -> None:
    """Another request goes the same way behind those before it: when it is answered, they are there."""
    assert httpx.get(f"{url}/healthz", timeout=SECONDS).status_code == 200


def accepts(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), timeout=SECONDS).close()
    except (ConnectionRefusedError, ConnectionResetError):  # or it closes in this moment
        return False
    return True


@pytest.mark.slow
@pytest.mark.parametrize("section", ["studies"])
def test_benchmarks_end_in_the_same_way(section):
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks", section],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=root,
        start_new_session=True,
    )
    with process, killed_in_the_end(process):
        assert process.stdout.readline() == "\n"
        assert process.stdout.readline() == f"== {section} ==\n"
        begun = until(lambda: workers_of(process.pid), "its workers") if section == "studies" else []
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert complained.endswith(f"figures printed so far stand; go on with: make bench SECTION={section}\n")
    assert "Traceback" not in complained
    until(lambda: all_gone(begun), "its workers to be gone")
