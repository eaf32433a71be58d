"""What docs/live-service.md, docs/webhooks.md and the pages with details show is run; and the example."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import typer

from linkedbandits.cli import application
from linkedbandits.service.audit import SERVICE
from linkedbandits.service.http.service import Settings
from linkedbandits.service.webhook_keeping import keep
from linkedbandits.service.webhooks import make_webhook, signed_headers
from tests.support.command_line import environment
from tests.support.running_service import running_service
from tools.waiting import SECONDS, killed_in_the_end, until

ROOT = Path(__file__).parents[3]
PAGES = ("live-service.md", "service-reference.md", "webhooks.md", "monitoring.md", "service-guarantees.md")
PAGE = "\n".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in PAGES)
WRITTEN = "http://127.0.0.1:8000"
RECEIVER = (ROOT / "examples" / "webhook_receiver.py").read_text(encoding="utf-8").split('"""\n\n', 1)[1]


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
    create, ask_and_tell, look, states, many = blocks("sh")
    experiment = json.loads(shell(create, service, tmp_path))["id"]
    told = shell(ask_and_tell, service, tmp_path, ID=experiment)
    assert told.endswith('{"receipts":["counted","counted"],"done":false}')
    assert '"plays":2' in shell(look, service, tmp_path, ID=experiment)
    assert (tmp_path / "journal.parquet").read_bytes()[:4] == b"PAR1"
    assert f'"id":"{experiment}"' in shell(states, service, tmp_path, ID=experiment).rpartition('{"experiments":')[2]
    assert '"tags":["cards","eu"]' in shell(many, service, tmp_path, ID=experiment)


def test_the_python_of_the_page_finds_the_arm(service, capsys):
    names: dict[str, object] = {}
    for block in (one for one in blocks("python") if one != RECEIVER):
        if "import linkedbandits as lb" in block:
            names = {}
        exec(block.replace(WRITTEN, service.url), names)
        for client in (names.get("patient"), names.get("hasty")):
            if client is not None:
                client.close()
        if "exp =" not in block:
            continue
        assert names["exp"].recommend().arm == "east"
        names["client"].close()
    assert "arm='east', status='confident'" in capsys.readouterr().out


def test_the_loops_of_the_page_end_in_four_threads(service):
    """As a reader would take them: what stands before the loop once, the loop in every thread."""
    loops = [block for block in blocks("python") if "until_decided" in block]
    assert len(loops) == 2
    for block in loops:
        before, loop, after = re.fullmatch(r"(.*?)(^for .*?)(^print.*)", block, flags=re.DOTALL | re.MULTILINE).groups()
        names: dict[str, object] = {}
        exec(before.replace(WRITTEN, service.url), names)
        with ThreadPoolExecutor(4) as pool:
            for worker in [pool.submit(exec, loop, dict(names)) for _ in range(4)]:
                worker.result(SECONDS)
        exec(after, names)
        assert names["exp"].done
        names["client"].close()


def test_the_commands_of_the_page_exist():
    named = set(re.findall(r"(?:^|`)linkedbandits ((?:token |webhook )?[a-z-]+)", PAGE, flags=re.MULTILINE)) - {"serve"}
    webhook = {f"webhook {name}" for name in ("create", "list", "test", "delete")}
    assert named == {"token create", "token list", "token revoke", "demo-traffic", "verdict"} | webhook
    group = typer.main.get_command(application())
    commands = [group.commands[name] for name in ("serve", "demo-traffic", "verdict")] + [
        *group.commands["token"].commands.values(),
        *group.commands["webhook"].commands.values(),
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
    until(
        lambda: {("linkedbandits_store_bytes",), ("linkedbandits_plays_in_flight",)} <= service.figures().keys(), "all"
    )
    text = service.http.get("/metrics").text
    assert [name for name in named if f"# TYPE {name.removesuffix('_info')}" not in text] == []
    families = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE linkedbandits_")}
    assert {name for name in families if not name.endswith("_created")} <= named


def test_every_event_of_the_log_is_on_the_page_and_no_other():
    table = PAGE.partition("\n## Logs")[2].partition("\n# ")[0]
    named = {
        word for row in re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE) for word in re.findall(r"`(.*?)`", row)
    }
    kinds = {"experiment-verdict", "experiment-alarm"}  # written by their kind
    known = set(kinds)
    call = re.compile(
        r"(?:log_event|log_failure|_on_news|_on_trouble|_logger\.\w+|partial)\((?:\s*log_failure,)?([^=]*?)[,)]"
    )
    for path in (ROOT / "src" / "linkedbandits" / "service").rglob("*.py"):
        for given in call.findall(path.read_text(encoding="utf-8")):
            known |= set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', given))
    assert named == known


def test_the_receiver_of_the_page_takes_what_is_genuine_and_nothing_else(tmp_path):
    assert RECEIVER in blocks("python")
    webhook = make_webhook("https://example.org/", clock=time.time)
    receiver = subprocess.Popen(
        [sys.executable, str(ROOT / "examples" / "webhook_receiver.py"), "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"WEBHOOK_SECRET": webhook.secret},
    )
    with killed_in_the_end(receiver), receiver.stdout:
        address = receiver.stdout.readline().split()[-1]
        path = str(tmp_path / "experiments.sqlite3")
        with running_service(path, Settings(webhooks_to_private=True)) as service:
            keep(service.store, replace(webhook, url=address), SERVICE)
            experiment = service.create(max_plays=1)
            play = service.post(experiment, "ask", {}).json()["plays"][0]
            service.post(experiment, "tell", {"answers": [{"play": play["id"], "hit": "east"}]})
            assert receiver.stdout.readline() == "experiment.verdict directions east\n"
        body = b'{"type": "forged", "data": {}}'
        headers = signed_headers(webhook.secret, "msg_2", int(time.time()), body)
        old = signed_headers(webhook.secret, "msg_2", int(time.time()) - 400, body)
        forged = {**headers, "webhook-signature": "v1,AAAA"}
        for given, status in ((forged, 401), (old, 401), ({}, 401), (headers, 204), (headers, 204)):
            assert httpx.post(address, content=body, headers=given, timeout=SECONDS).status_code == status
        assert receiver.stdout.readline() == "forged  \n"


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
