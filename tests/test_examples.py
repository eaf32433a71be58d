"""Every example runs as it is written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import linkedbandits as lb
from tests.support.command_line import environment
from tools.waiting import SECONDS

EXAMPLES = Path(__file__).parent.parent / "examples"


def run_example(name: str, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        env=environment(),
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_from_means_to_a_figure(tmp_path):
    said = run_example("from_means_to_a_figure.py", str(tmp_path / "mirrors"))
    assert said.count("times the lower bound") == 8
    pictures = [Path(line.removeprefix("look at ")) for line in said.splitlines() if line.startswith("look at ")]
    assert pictures
    assert all(picture.stat().st_size > 1000 for picture in pictures)


def test_a_policy_for_one_run_keeps_the_contract_and_is_run_in_every_way():
    said = run_example("plain_policy.py")
    assert said.startswith("LeadByFive(lead=5) keeps the contract: 19 checks, under ordered, free.\n")
    assert re.search(r"^simulated: [0-9.]+ plays, wrong in [0-9.]+ %$", said, re.MULTILINE)
    assert re.search(r"^live: (north|east|south) after \d+ plays$", said, re.MULTILINE)


def test_a_log_of_an_outcome_table_has_all_its_outcomes(tmp_path):
    """Tried until one works, by attempts and by requests alike; the same seed gives the same log."""
    table = tmp_path / "table.csv"
    table.write_text("count,north,east\n30,1,0\n20,0,1\n10,0,0\n5,1,1\n", encoding="utf-8")
    made = {}
    for name, arguments in {
        "attempts": (),
        "again": (),
        "requests": ("--by-request",),
        "fixed": ("--fixed",),
        "few": ("--requests", "7", "--seed", "3"),
    }.items():
        run_example("replay_log.py", str(table), str(tmp_path / name), *arguments)
        made[name] = lb.read_attempts(tmp_path / name)
    assert (tmp_path / "attempts").read_bytes() == (tmp_path / "again").read_bytes()
    assert {name: log.requests for name, log in made.items()} == {
        "attempts": 65,
        "again": 65,
        "requests": 65,
        "fixed": 65,
        "few": 7,
    }
    assert made["attempts"].set_aside == ()
    assert made["attempts"].success.sum() == made["requests"].success.sum() == made["fixed"].success.sum() == 55
    assert len(made["attempts"]) == len(made["requests"])
    assert made["fixed"].in_one_order
    assert not made["attempts"].in_one_order
    assert made["fixed"].options[made["fixed"].option[0]] == "north"


@pytest.mark.slow
def test_servers_that_fail_leave_a_log(tmp_path):
    """How often each fails on a busy machine is another matter: who is late has failed."""
    said = run_example("faulty_servers.py", str(tmp_path / "attempts.csv"), "--requests", "40")
    assert said == f"40 requests in {tmp_path / 'attempts.csv'}\n"
    log = lb.read_attempts(tmp_path / "attempts.csv")
    assert (log.requests, set(log.options), log.set_aside) == (40, {"amber", "basalt", "cedar"}, ())
    assert dict(log.columns) == {
        "request": "request",
        "time": "time",
        "option": "server",
        "outcome": "status",
        "seconds": "ms",
    }
    assert not log.in_one_order


@pytest.mark.slow
def test_a_chain_in_front_of_servers_that_fail_answers_all_and_goes_on_after_a_restart(tmp_path):
    """How often each server fails on a busy machine is another matter."""
    state = tmp_path / "chain.json"
    for _ in range(2):
        said = run_example("chain_of_servers.py", "--requests", "60", "--state", str(state))
        assert "60 calls, " in said
        assert "order now: " in said
    assert [path.name for path in tmp_path.iterdir() if "answers" in path.name] == []


@pytest.mark.slow
@pytest.mark.parametrize("way", [(), ("--tasks", "4")], ids=["threads", "tasks"])
def test_an_httpx_client_in_front_of_mirrors(way):
    said = run_example("mirrors_with_httpx.py", "--requests", "40", *way)
    assert "what clients got: {'200': " in said
    assert "40 calls, " in said


@pytest.mark.slow
def test_a_litellm_router_in_front_of_models():
    said = run_example("chain_of_models.py", "--requests", "12")
    answers = re.findall(r"says hello': (\d+)", said)
    assert sum(map(int, answers)) == 12
    assert "12 calls, " in said


@pytest.mark.slow
def test_a_traced_chain_prints_its_spans():
    said = run_example("traced_chain.py", "--requests", "30")
    assert re.search(r"^mirrors +[\d.]+ ms  (worked|failed)\n  mirrors \w+ +[\d.]+ ms  \w+\n    GET ", said)
    assert re.search(r"^\d+ spans in 3[01] traces$", said, flags=re.MULTILINE)
