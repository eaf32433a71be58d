"""Every command that prints a table, in terminals of 40 to 200 columns and in a pipe: all of it is there whole."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from linkedbandits.cli import tables
from linkedbandits.service.audit import SERVICE, new_entry
from linkedbandits.service.desk import Desk
from linkedbandits.service.store import open_store
from tests.support.command_line import ROOT, run
from tests.support.photon_files import histogram
from tests.support.service_parts import ManualClock, create
from tests.support.terminals import WIDTHS, ReadyCommands, in_a_pipe, in_a_terminal
from tools.waiting import SECONDS

pytestmark = pytest.mark.slow

LONG = "a-provider-with-quite-a-long-name/v2"
STUDY = f"""
trials = 20
[[instances]]
scenario = "one-sparse"
arms = [2, 3]
[[instances]]
name = "{LONG}"
means = [0.2, 0.6, 0.3]
[[policies]]
policy = "linked-elimination"
[[policies]]
policy = "uniform-sampling"
label = "forty-of-each-option-and-then-the-best"
parameters = {{ samples = 40 }}
"""


NAMES_OF_ROWS = {"policy", "option", "id", "when", "scenario", "linkage", "instance", "bound"}
"""Headings above what rows are called, which a block of its own does not need."""


@dataclass(frozen=True)
class Case:
    """A command, and what has to be prepared for it. ``until`` ends what is the same each time it is run."""

    arguments: str
    until: str | None = None
    grouped: bool = False
    """Has it a form in which some cells are said once for several rows?"""
    names: tuple[str, ...] = field(default=())
    """That have to be there whatever the width."""
    status: int = 0
    """With which it ends; a verdict with alarms has one of its own."""


CASES = {
    "compare": Case(
        "compare --scenario increasing --arms 30 --trials 20 --seed 1",
        names=("maximal-sampling", "uniform-sampling", "linked-ege", "linked-elimination"),
    ),
    "compare of a tie": Case("compare --means 0.3,0.3,0.1 --trials 10"),
    "compare with a table": Case("compare --table gateways.csv --trials 20 --max-plays 300", names=("linked-duels",)),
    "simulate": Case("simulate --arms 4 --trials 20"),
    "simulate with a table": Case("simulate --table gateways.csv --trials 20 --max-plays 300", names=(LONG, "east")),
    "bounds": Case("bounds", names=("MaximalSampling", "UniformSampling", "LinkedEGE")),
    "bounds of a table": Case("bounds --table gateways.csv --options east,south", names=("east", "south")),
    "policies": Case("policies", names=("linked-track-and-stop", "deterministic-shifting", "whole-sequence-ege")),
    "verdict": Case("verdict attempts.csv", names=(LONG,), status=4),
    "study": Case("study --show study-results --no-figures", names=(LONG,)),
    "study --plan": Case("study study.toml --plan --out elsewhere", until=" cells, ", names=(LONG,)),
    "reproduce": Case("reproduce --quick --workers 1 --out reproduction", names=("one-sparse", "increasing")),
    "lidar": Case("lidar --scene ramp --size 4 --cycles 50 --workers 1", names=("synchronous", "free-running")),
    "lidar --photons": Case("lidar --photons slope.npy --cycles 200 --bin-width 1ns --fwhm 2"),
    "token list": Case("token list --store store.sqlite3", names=("payments-team", "checkout-service-of-the-north*")),
    "audit": Case("audit --store store.sqlite3", names=("token-create", "webhook-create")),
    "webhook list": Case("webhook list --store store.sqlite3", names=("https://example.org/hook",)),
    "prune": Case("prune --archived-before 90d --store store.sqlite3"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that the commands read."""
    folder = tmp_path_factory.mktemp("terminals")
    (folder / "gateways.csv").write_text(f"count,{LONG},east,south\n48,1,1,0\n2,1,0,0\n12,0,1,1\n38,0,0,0\n")
    tried = [(LONG, "ok" if number % 10 else "failed") for number in range(0, 600, 2)]
    tried += [("east", "failed" if number % 5 else "ok") for number in range(1, 600, 2)]
    rows = [f"{number},{option},{outcome}" for number, (option, outcome) in enumerate(tried)]
    (folder / "attempts.csv").write_text("\n".join(["request,option,outcome", *rows]))
    (folder / "study.toml").write_text(STUDY)
    np.save(folder / "slope.npy", histogram()[0])
    in_a_pipe("study", "study.toml", "--no-figures", "--workers", "1", folder=folder)
    in_a_pipe("reproduce", "--quick", "--workers", "1", "--out", "reproduction", folder=folder)
    store = str(folder / "store.sqlite3")
    clock = ManualClock(time.time() - 100 * 86_400)
    with closing(open_store(store)) as opened, Desk(opened, clock=clock) as desk:
        archived = create(desk)
        desk.set_status(archived, "archived").result(SECONDS)
        with opened.writing() as writing:
            writing.add_audit(new_entry("create", SERVICE, 1.0, "0123456789abcdef", name="a name " * 9))
    run("token", "create", "--name", "payments-team", "--store", store)
    run("token", "create", "--name", "b", "--name-prefix", "checkout-service-of-the-north", "--store", store)
    run("webhook", "create", "--url", "https://example.org/hook", "--store", store)
    return folder


@pytest.fixture(scope="module")
def ready() -> Iterator[ReadyCommands]:
    """Commands that begin at once, for those that are run at many widths."""
    with ReadyCommands() as ready:
        yield ready


def words(text: str, until: str | None) -> Counter[str]:
    """What stands there, but for rules, and marks of where a line ends or goes on."""
    said = text if until is None else text[: text.index(until)]
    return Counter(word.rstrip(",") for word in said.split() if set(word) - set("─-"))


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_cut_or_broken_or_missing_at_any_width(name, folder, ready):
    case = CASES[name]
    arguments = case.arguments.split()
    piped = in_a_pipe(*arguments, folder=folder, status=case.status)
    wanted = words(piped, case.until)
    assert wanted
    for columns in WIDTHS:
        shown = ready.in_a_terminal(columns, *arguments, folder=folder, status=case.status)
        assert "…" not in shown
        for line in shown.splitlines():
            alone = " " not in line.strip().removeprefix("- ")  # a word that is longer than the line stays whole
            assert len(line) <= columns or alone, f"{columns}: {line!r}"
        found = words(shown, case.until)
        missing = (set(wanted) - set(found) if case.grouped else set(wanted - found)) - NAMES_OF_ROWS
        assert not missing, f"{columns} columns lack {missing}"
        for whole in case.names:
            assert whole in found, f"{columns} columns lack {whole}"


def test_no_command_with_a_table_is_left_out():
    """Of those whose modules print one."""
    printing = {
        path.stem for path in (ROOT / "src/linkedbandits/cli").glob("*.py") if ".table(" in path.read_text("utf-8")
    } - {"tables", "verdict_text"}
    assert printing <= {case.arguments.split()[0] for case in CASES.values()}


def test_in_a_pipe_a_policy_has_one_line_with_all_its_figures(folder):
    arguments = CASES["compare"].arguments.split()
    shown, data = in_a_pipe(*arguments, folder=folder), json.loads(in_a_pipe(*arguments, "--json", folder=folder))
    assert len(data["policies"]) == 4
    for policy in data["policies"]:
        (line,) = [line for line in shown.splitlines() if line.split()[:1] == [policy["name"]] and "(0 to" in line]
        for figure in ("plays_mean", "plays_median", "plays_90"):
            assert tables.count(policy[figure]) in line.split()


@pytest.mark.parametrize("columns", [40, 60])
def test_upright_every_figure_of_the_json_stands_beside_its_name(folder, ready, columns):
    arguments = CASES["compare"].arguments.split()
    shown = ready.in_a_terminal(columns, *arguments, folder=folder)
    data = json.loads(in_a_pipe(*arguments, "--json", folder=folder))
    for policy in data["policies"]:
        told = " *" if policy["told"] else ""
        block = shown.split(f"\n{policy['name']}{told}\n")[1].split("\n\n")[0].splitlines()
        cells = dict(line.strip().rsplit("  ", 1) for line in block if "interval" not in line)
        shown_figures = {name.strip(): value for name, value in cells.items()}
        assert shown_figures["plays"] == tables.count(policy["plays_mean"])
        assert shown_figures["median"] == tables.count(policy["plays_median"])
        assert shown_figures["90 %"] == tables.count(policy["plays_90"])
        assert shown_figures["wrong"] == tables.percent(policy["error_rate"])


def test_a_terminal_that_is_called_dumb_is_as_wide_as_it_is():
    shown = in_a_terminal(40, "bounds", TERM="dumb")
    assert max(map(len, shown.splitlines())) <= 40


@pytest.mark.parametrize("columns", WIDTHS)
def test_help_in_a_terminal_loses_no_option(folder, ready, columns):
    shown = ready.in_a_terminal(columns, "serve", "-h", folder=folder)
    assert "…" not in shown
    for option in ("--requests-per-second", "--no-require-tokens", "--webhooks-to-private", "--policy", "--help"):
        assert option in shown
