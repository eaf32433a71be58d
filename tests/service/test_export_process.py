"""The process that writes a journal."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

import linkedbandits as lb
from linkedbandits.service.desk import Desk
from linkedbandits.service.export_process import FAILED, carry_out
from linkedbandits.service.exporting import journal_lines
from tests.support.service_parts import create
from tools.waiting import SECONDS


def run(order):
    command = [sys.executable, "-m", "linkedbandits.service.export_process"]
    return subprocess.run(command, input=json.dumps(order).encode(), capture_output=True, timeout=SECONDS, check=False)


def test_it_writes_what_is_ordered_and_changes_nothing_in_the_store(each_store):
    with Desk(each_store) as desk:
        experiment = create(desk)
        desk.ask(experiment, 3).result()
    written = io.BytesIO()
    order = {"store": each_store.address, "experiment": experiment, "form": "jsonl"}
    with each_store.writing():  # a lock that it does not wait for
        carry_out(order, written)
    assert written.getvalue().decode() == "".join(journal_lines(each_store, experiment))
    assert written.getvalue().count(b"\n") == 3


def test_what_it_cannot_do_is_said_in_one_line(store):
    done = run({"store": store.address, "experiment": "nobody", "form": "jsonl"})
    assert (done.returncode, done.stdout) == (FAILED, b"")
    assert done.stderr.decode().startswith("UnknownExperiment: there is no experiment 'nobody'")


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(lb.InvalidParameter, match="there is no store"):
        carry_out({"store": str(tmp_path / "new.sqlite3"), "experiment": "x", "form": "jsonl"}, io.BytesIO())
    assert list(tmp_path.iterdir()) == []
