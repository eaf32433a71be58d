"""Where no trial ends, the commands that simulate say so, and what would end them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from linkedbandits.cli.without_end import PATIENCE, WithoutEnd
from tests.support.command_line import COMMAND, environment
from tools.waiting import SECONDS, killed_in_the_end

PLAYS = np.array([12_345, 20])


def said_at(times, capsys, **settings):
    now = [0.0]
    looked_at = WithoutEnd("mine", settings.get("max_plays"), clock=lambda: now[0])
    for now[0] in times:
        looked_at.watch(PLAYS, PLAYS, PLAYS)
    return capsys.readouterr().err.splitlines()


def test_it_is_said_after_some_seconds_and_then_ever_more_rarely(capsys):
    line = "mine: no trial has ended after 12,345 plays; --max-plays ends them"
    assert said_at([PATIENCE - 0.1], capsys) == []
    assert said_at([PATIENCE, PATIENCE + 0.1, 2 * PATIENCE - 0.1], capsys) == [line]
    assert said_at([PATIENCE, 2 * PATIENCE, 3 * PATIENCE], capsys) == [line, line]


def test_a_trial_that_has_ended_makes_it_silent(capsys):
    advanced = []
    looked_at = WithoutEnd("mine", None, clock=iter([0.0, 100.0, 200.0]).__next__)
    watch = looked_at.watch
    looked_at.counting(lambda *call: advanced.append(call))(3)
    watch(PLAYS, PLAYS, PLAYS)
    assert looked_at.watch is None
    assert advanced == [("mine", 3)]
    assert capsys.readouterr().err == ""


def test_who_has_said_how_many_plays_is_told_nothing():
    assert WithoutEnd("mine", 1000).watch is None


MODULE = """
from dataclasses import dataclass
import linkedbandits as lb

@dataclass
class NeverDone(lb.PlainPolicy):
    def begin(self, arms, seed): pass
    def ask(self): return (0,)
    def tell(self, arms, hit): pass
    @property
    def done(self): return False
    def best(self): return 0
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compare", "simulate"])
def test_a_policy_that_never_stops_is_noticed(command, tmp_path: Path):
    (tmp_path / "mine.py").write_text(MODULE, encoding="utf-8")
    words = [command, "--means", "0.2,0.6", "--policy", "mine:NeverDone", "--trials", "2"]
    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.DEVNULL, "text": True}
    running = subprocess.Popen([*COMMAND, *words], cwd=tmp_path, env=environment(), **pipes)
    with running, killed_in_the_end(running, SECONDS):
        assert running.stderr.readline().startswith("mine:NeverDone: no trial has ended after ")
