"""What docs/live-service.md shows is run, so that it stays true; and the example."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from linkedbandits.cli import application
from tests.support.command_line import environment
from tools.waiting import SECONDS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "live-service.md").read_text(encoding="utf-8")
WRITTEN = "http://127.0.0.1:8000"


def blocks(language):
    """Those that stand by themselves; what is inside of a list goes with the text around it, and is tested apart."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)


def shell(script, service, folder, **variables):
    """Run a block as a reader would."""
    result = subprocess.run(
        ["bash", "-e", "-c", script.replace(WRITTEN, service.url)],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
        cwd=folder,
        env=os.environ | variables,
    )
    return result.stdout


def test_the_requests_of_the_page_are_answered(service, tmp_path):
    create, ask_and_tell, look, states = blocks("sh")
    experiment = json.loads(shell(create, service, tmp_path))["id"]
    told = shell(ask_and_tell, service, tmp_path, ID=experiment)
    assert told.endswith('{"receipts":["counted","counted"],"done":false}')
    assert '"plays":2' in shell(look, service, tmp_path, ID=experiment)
    assert (tmp_path / "journal.parquet").read_bytes()[:4] == b"PAR1"
    assert f'"id":"{experiment}"' in shell(states, service, tmp_path, ID=experiment).rpartition('{"experiments":')[2]


def test_the_python_of_the_page_finds_the_arm(service, capsys):
    for block in blocks("python"):
        names: dict[str, object] = {}
        exec(block.replace(WRITTEN, service.url), names)
        assert names["exp"].recommend().arm == "east"
        names["client"].close()
    assert "arm='east', status='confident'" in capsys.readouterr().out


def test_the_commands_of_the_page_exist():
    named = set(re.findall(r"(?:^|`)linkedbandits ((?:token )?[a-z-]+)", PAGE, flags=re.MULTILINE)) - {"serve"}
    assert named == {"token create", "token list", "token revoke", "demo-traffic", "verdict"}
    group = typer.main.get_command(application())
    commands = [group.commands[name] for name in ("serve", "demo-traffic", "verdict")] + [
        *group.commands["token"].commands.values()
    ]
    there = {
        option
        for command in commands
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(re.findall(r"(--[a-z][a-z-]+)", PAGE)) <= there


def test_the_metrics_of_the_page_are_there(service):
    named = set(re.findall(r"`(linkedbandits_[a-z_]+)`", PAGE))
    text = service.http.get("/metrics").text
    assert len(named) == 8
    assert [name for name in named if name not in text] == []


@pytest.mark.slow
def test_the_example_runs(service):
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "fallback_chain.py"), service.url],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env=environment(),
    )
    assert "Verdict(arm='Cedar', status='confident'" in result.stdout
