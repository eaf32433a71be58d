"""What the documents show is run, so that it stays true."""

from __future__ import annotations

import importlib
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.attempts.concerning import objections
from linkedbandits.study import read_study
from linkedbandits.testing import check_policy
from tools.shown import Shell, as_it_is
from tools.waiting import SECONDS

ROOT = Path(__file__).parent.parent


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readme_examples_run_and_find_the_best_arm():
    """With coins that are fixed: the first call of its chain fails one time in fifty, and says so."""
    names: dict[str, object] = {}
    random.seed(1)
    for block in python_blocks("README.md"):
        exec(block, names)
    assert names["chain"].order == ("adyen", "stripe")
    assert names["exp"].recommend().arm == "east"
    assert names["exp"].recommend().error_bound == 0.05


def test_the_first_examples_are_short():
    chain, ask_and_tell = (
        [line for line in block.splitlines() if line.strip()] for block in python_blocks("README.md")[:2]
    )
    assert "lb.Chain(" in "".join(chain)
    assert len(chain) <= 20
    assert len(ask_and_tell) <= 15


def test_the_skeleton_to_copy_is_a_sound_policy(tmp_path, monkeypatch):
    (tmp_path / "every_other.py").write_text(python_blocks("CONTRIBUTING.md")[0], encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    check_policy(importlib.import_module("every_other").EveryOther(delta=0.1))


def test_the_commands_of_the_readme_run():
    commands = re.findall(r"^linkedbandits (.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    simulated = [command for command in commands if not command.startswith("verdict")]
    assert len(simulated) >= 2
    for command in simulated:
        subprocess.run(
            [sys.executable, "-m", "linkedbandits", *command.split(), "--trials", "20"],
            check=True,
            capture_output=True,
            timeout=SECONDS,
        )


def test_the_readme_goes_from_a_log_to_a_verdict_and_a_page_with_an_alarm(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text[text.index("## From a log\n") : text.index("## Live, with")]
    (block,) = re.findall(r"```sh\n(.*?)```", section, flags=re.DOTALL)
    shell = Shell(tmp_path)
    replay, verdict, with_alarm = block.splitlines()
    assert (shell.output(replay), shell.status) == ("6,358 requests in attempts.csv\n", 0)
    assert "Microsoft works most often" in shell.output(verdict)
    assert shell.status == 0
    assert "The page is in attempts.html." in shell.output(with_alarm)
    assert shell.status == 4
    assert (tmp_path / "attempts.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_what_the_commands_of_documents_print_is_what_is_shown(tmp_path):
    """If it is not, and should be as it is now: python -m tools.shown docs/attempts.md"""
    text = (ROOT / "docs" / "attempts.md").read_text(encoding="utf-8")
    assert as_it_is(text, tmp_path) == text
    (block, *_) = python_blocks("docs/attempts.md")
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=SECONDS
    )
    assert done.stdout.startswith("Microsoft works most often, wrong with probability at most 0.05")


@pytest.mark.slow
def test_the_table_of_logs_is_true(tmp_path):
    """All but the long one: what is shown of each table is what its replay comes to."""
    text = (ROOT / "docs" / "attempts.md").read_text(encoding="utf-8")
    files = {
        "face APIs": "face-apis",
        "coding agents": "coding-agents",
        "SMT solvers, NRA": "smt-solvers-nra",
        "SMT solvers, IDL": "smt-solvers-idl",
        "SAT solvers": "sat-solvers",
    }
    rows = {cells[1]: cells[2:-1] for line in text.splitlines() if len(cells := re.split(r" *\| *", line)) == 8}
    for name, file in files.items():
        Shell(tmp_path).output(f"python examples/replay_log.py benchmarks/data/{file}.csv {file} --by-request")
        table, log = (
            lb.OutcomeTable.read(ROOT / "benchmarks" / "data" / f"{file}.csv"),
            lb.read_attempts(tmp_path / file),
        )
        best, second = sorted(table.means, reverse=True)[:2]
        found = [f"{log.requests:,}", f"{best:.3f}, {second:.3f}"]
        for which in ("first", "duels", "all"):
            report = log.verdict(attempts=which)
            if report.verdict is not None:
                assert table.means[table.options.index(report.verdict.arm)] == best
            said = "not yet" if report.verdict is None else f"{report.verdict.plays:,}"
            found.append(f"{said}, alarm" if objections(report) else said)
        assert rows[name] == found


@pytest.mark.parametrize("document", ["README.md", "docs/studies.md"])
def test_the_studies_that_are_shown_can_be_run(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    studies = re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)
    assert studies
    for study in studies:
        assert len(read_study(study, folder=ROOT).cells) >= 4


def test_every_link_between_documents_leads_somewhere():
    for document in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_every_file_that_the_table_of_changes_names_is_there():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text[text.index("## To change X") : text.index("## Layers")]
    named = set(re.findall(r"`([\w./-]+(?:\.\w+|/))`", table)) - {
        "a/b.py",
        "tests/a/test_b.py",
        "every_policy.py",
        "lb.Name",
    }
    assert len(named) > 40
    package = ROOT / "src" / "linkedbandits"
    assert [name for name in sorted(named) if not (ROOT / name).exists() and not (package / name).exists()] == []


def test_the_example_of_options_that_fail_together_is_confident_and_wrong():
    names: dict[str, object] = {}
    (block,) = python_blocks("docs/which-policy.md")
    exec(block, names)
    linked, alone = names["linked"], names["alone"]
    assert (linked.arm, linked.status, linked.assumes) == ("A", "confident", ("independent options",))
    assert (alone.arm, alone.status, alone.assumes) == ("B", "confident", ())
    duels = names["duels"]
    assert (duels.arm, duels.status, duels.assumes) == ("B", "confident", ())
    assert duels.plays < alone.plays


def test_which_policy_begins_with_the_question_whether_options_fail_together():
    question = "**Can one request make several options fail together?**"
    own = (ROOT / "docs" / "which-policy.md").read_text(encoding="utf-8")
    assert own.startswith(f"# Which policy do I need?\n\n{question}")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"## Which policy do I need?\n\n{question}" in readme
    assert readme.index(question) < readme.index("## Policies\n")


LINKED = "LinkedElimination|LinkedTrackAndStop|LinkedHalving|LinkedEGE|linked-elimination|UniformSampling"


@pytest.mark.parametrize(
    "document",
    [
        str(path.relative_to(ROOT))
        for path in [
            ROOT / "README.md",
            *sorted((ROOT / "docs").glob("*.md")),
            *sorted((ROOT / "examples").glob("*.py")),
        ]
        if path.name != "which-policy.md" and re.search(LINKED, path.read_text(encoding="utf-8"))
    ],
)
def test_every_document_with_a_linked_policy_says_that_it_assumes_independent_options(document):
    paragraphs = (ROOT / document).read_text(encoding="utf-8").split("\n\n")
    wanted = "linked policies assume" if document == "docs/depth-sensing.md" else "which-policy.md|LinkedDuels"
    assert any("independent" in paragraph and re.search(wanted, paragraph) for paragraph in paragraphs)
