"""What the documents show is run, so that it stays true."""

from __future__ import annotations

import importlib
import random
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import linkedbandits as lb
from linkedbandits.attempts.concerning import objections
from linkedbandits.policies import POLICIES
from linkedbandits.study import read_study
from tools.release_check import WITH_PLACEHOLDERS
from tools.shown import Shell, as_it_is
from tools.waiting import SECONDS

ROOT = Path(__file__).parent.parent


def python_blocks(document: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readme_examples_run_and_find_the_best_arm():
    """With coins that are fixed, though any would do."""
    names: dict[str, object] = {}
    random.seed(1)
    for block in python_blocks("README.md"):
        exec(block, names)
    assert names["chain"].order == ("adyen", "stripe")
    assert names["exp"].recommend().arm == "east"
    assert names["exp"].recommend().error_bound == 0.05
    assert names["runs"].arm.shape == (1000,)


def test_the_first_examples_are_short():
    ask_and_tell, chain, study = (
        [line for line in block.splitlines() if line.strip()] for block in python_blocks("README.md")
    )
    assert "exp.ask()" in "".join(ask_and_tell)
    assert len(ask_and_tell) <= 10
    assert "lb.Chain(" in "".join(chain)
    assert len(chain) <= 15
    assert len(study) <= 10


def test_the_readme_is_read_in_a_few_minutes():
    """Words outside of code, tables, pictures and links, up to where it says how to install more."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code_tables_pictures_links = r"```.*?```|^\|.*?$|!\[.*?\]\(.*?\)|\]\(.*?\)"
    words = re.sub(code_tables_pictures_links, " ", text[: text.index("## Install")], flags=re.S | re.M).split()
    assert 300 < len(words) < 600


def test_installing_comes_before_the_first_example():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.index("pip install linkedbandits\n") < text.index("```python")
    assert "`make demo`" in text or "make demo " in text
    assert "make test " in text


RUN_ELSEWHERE = {
    "chains-with-httpx.md": "tests/adapters/test_httpx.py",
    "chains-with-litellm.md": "tests/adapters/test_litellm.py",
    "tracing-chains.md": "tests/adapters/test_opentelemetry.py",
    "fallback-chains.md": "tests/chain/test_fallback_chains_page.py",
    "live-service.md": "tests/service/http/test_live_service_page.py",
    "own-policy.md": "tests/testing/test_own_policy_page.py",
    "studies.md": "tests/study/test_results.py",
    "own-sensor.md": "tests/lidar/test_own_sensor_page.py",
    "what-a-play-is-worth.md": "tests/bounds/test_page.py",
    "webhooks.md": "tests/service/http/test_live_service_page.py",
    "gallery.md": "tests/tools/test_gallery.py",
}
"""Documents whose examples need more than Python, and the tests that run them."""
WITH_PYTHON = [path.name for path in sorted((ROOT / "docs").glob("*.md")) if python_blocks(f"docs/{path.name}")]


@pytest.mark.parametrize("document", [name for name in WITH_PYTHON if name not in RUN_ELSEWHERE])
def test_the_examples_of_a_document_run_one_after_the_other(document, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    random.seed(1)
    if document == "attempts.md":
        Shell(tmp_path).output("python examples/replay_log.py benchmarks/data/face-apis.csv attempts.csv")
    names: dict[str, object] = {}
    for block in python_blocks(f"docs/{document}"):
        # Machine code comes with an extra of its own, and tests of its own.
        exec(block.replace('engine="compiled"', 'engine="numpy"'), names)
    promised = len(re.findall(r"print\(.*# True( True)?$", "\n".join(python_blocks(f"docs/{document}")), re.MULTILINE))
    printed = capsys.readouterr().out.splitlines()
    assert sum(line in {"True", "True True"} for line in printed) == promised


@pytest.mark.parametrize("document", RUN_ELSEWHERE)
def test_a_document_that_is_run_elsewhere_is_run_there(document):
    assert document in WITH_PYTHON
    text = (ROOT / RUN_ELSEWHERE[document]).read_text(encoding="utf-8")
    assert document in text or "tools.gallery" in text


def test_the_commands_that_simulate_run():
    text = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    commands = re.findall(r"^linkedbandits ((?:compare|simulate|bounds) .*)$", text, flags=re.MULTILINE)
    assert len(commands) >= 3
    for command in commands:
        few = [] if command.startswith("bounds") else ["--trials", "20"]
        subprocess.run(
            [sys.executable, "-m", "linkedbandits", *command.split(), *few],
            check=True,
            capture_output=True,
            timeout=SECONDS,
        )


def test_the_first_steps_go_from_a_log_to_a_verdict_and_a_page_with_an_alarm(tmp_path):
    text = (ROOT / "docs" / "start-chains.md").read_text(encoding="utf-8")
    section = text[text.index("## From a log\n") : text.index("## From a loop\n")]
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


DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
DOCUMENTS = [path for path in DOCUMENTS if "_build" not in path.parts]


def without_code(text: str) -> str:
    """A document without its blocks of code, in which a # is no heading and brackets are no link."""
    return re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """The names of a document's headings in addresses, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", without_code(path.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", [str(path.relative_to(ROOT)) for path in DOCUMENTS])
def test_every_link_between_documents_leads_somewhere(document):
    path = ROOT / document
    for target, anchor in re.findall(
        r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", without_code(path.read_text(encoding="utf-8"))
    ):
        if "://" in target or target.startswith("mailto:"):
            continue
        there = path.parent / target if target else path
        assert there.exists(), f"{document} links to {target}"
        if anchor and there.suffix == ".md":  # of a page that includes another, GitHub shows no heading
            assert anchor in anchors(there), f"{document} links to {target}#{anchor}"


@pytest.mark.parametrize("word", ["told gap", "lane", "calibration", "characteristic time", "`map`"])
def test_the_glossary_has_the_words_that_commands_print(word):
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    assert re.search(rf"^(### .*{word}|.*{word} is)", text, flags=re.MULTILINE)


def test_every_picture_of_the_readme_is_there():
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert len(pictures) >= 2
    for words, target in pictures:
        assert len(words) > 20, f"{target} says nothing to those who do not see it"
        assert (ROOT / target).is_file()


def test_every_extra_is_explained():
    text = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    table = text[text.index("| extra |") : text.index("Which Python and NumPy")]
    rows = [line for line in table.splitlines()[2:] if line.startswith("|")]
    explained = {name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert explained == set(project["optional-dependencies"])


def test_the_figures_of_the_readme_are_those_of_the_documents():
    """Each row of what it buys, and the rows of the document that it names in which its two figures stand."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text[text.index("## What it buys") : text.index("## Install")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")]
    places = [
        (
            "field.md",
            "2: .3 .21 .2 .19 .18; single",
            "| KL-LUCB",
            "2: .3 .21 .2 .19 .18; ordered",
            "| LinkedElimination |",
        ),
        (
            "field.md",
            "2: .3 .21 .2 .19 .18; single",
            "| top-two, usual",
            "2: .3 .21 .2 .19 .18; ordered",
            "| LinkedElimination |",
        ),
        (
            "field.md",
            "2: .3 .21 .2 .19 .18; single",
            "| Levin-Robbins",
            "2: .3 .21 .2 .19 .18; ordered",
            "| LinkedLead, odds ratio",
        ),
        ("economy.md", "| instance", "| one-sparse, n=10 | 0.1 |", "| instance", "| one-sparse, n=10 | 0.1 |"),
        (
            "real-options.md",
            "**coding agents**",
            "| linked-elimination | single",
            "**coding agents**",
            "| linked-duels",
        ),
        (
            "depth-sensing.md",
            "| | motorcycle, 10 ns",
            "| free-running, neighbours",
            "| | motorcycle, 10 ns",
            "| pulse, neighbours",
        ),
    ]
    assert len(rows) == len(places) + 1
    for row, (document, *where) in zip(rows[1:], places, strict=True):
        page = (ROOT / "docs" / document).read_text(encoding="utf-8")
        assert f"(docs/{document})" in row[4]
        for figure, part, line in ((row[2], *where[:2]), (row[3], *where[2:])):
            behind = page[page.index(part) :]
            found = behind[behind.index(f"\n{line}") + 1 :].split("\n", 1)[0]
            assert re.search(rf"\| {re.escape(figure.split()[0])}[ |]", found), (
                f"README has {figure}, {document} {found}"
            )


@pytest.mark.parametrize("module", ["", ".attempts", ".bounds", ".chain", ".lidar", ".study", ".testing"])
def test_the_reference_has_every_public_name(module):
    reference = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    there = set(re.findall(r"^\.\. (?:auto|py:)\w+:: linkedbandits\.([\w.]+)$", reference, flags=re.MULTILINE))
    public = importlib.import_module(f"linkedbandits{module}").__all__
    names = {f"{module}.{name}".lstrip(".") for name in public if name != "__version__"}
    assert {name for name in names - there if name.rpartition(".")[2] not in lb.__all__} == set()
    if not module:
        assert names <= there


def test_the_citation_has_what_its_format_asks_for():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == lb.__version__
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["repository-code"] == project["urls"]["Source"]
    assert citation["license"] == project["license"]


def test_the_command_that_fills_in_the_owner_reaches_all_placeholders():
    text = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    (files,) = re.findall(r"^sed -i 's/OWNER/your-name/g' (.*)$", text, flags=re.MULTILINE)
    assert {*files.split(), "SECURITY.md"} == set(WITH_PLACEHOLDERS)
    with_owner = [
        path.relative_to(ROOT).as_posix()
        for path in [*DOCUMENTS, ROOT / "pyproject.toml", ROOT / "CITATION.cff"]
        if re.search(r"OWNER[./]", path.read_text(encoding="utf-8")) and path.name != "releasing.md"
    ]
    assert sorted(with_owner) == sorted(WITH_PLACEHOLDERS)


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
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert f"## Which policy do I need?\n\n{question}" in index
    policies = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
    assert policies.index("which-policy.md") < policies.index("| policy |")
    assert set(re.findall(r"^\| `(\w+)\(", policies, flags=re.MULTILINE)) == {
        policy.__name__ for policy in POLICIES.values()
    }


LINKED = "LinkedElimination|LinkedTrackAndStop|LinkedHalving|LinkedEGE|linked-elimination|UniformSampling"


@pytest.mark.parametrize(
    "document",
    [
        str(path.relative_to(ROOT))
        for path in [
            ROOT / "README.md",
            *sorted((ROOT / "docs").glob("*.md")),
            *sorted((ROOT / "examples").rglob("*.py")),
        ]
        if path.name != "which-policy.md" and re.search(LINKED, path.read_text(encoding="utf-8"))
    ],
)
def test_every_document_with_a_linked_policy_says_that_it_assumes_independent_options(document):
    paragraphs = (ROOT / document).read_text(encoding="utf-8").split("\n\n")
    wanted = "linked policies assume" if document == "docs/depth-sensing.md" else "which-policy.md|LinkedDuels"
    assert any("independent" in paragraph and re.search(wanted, paragraph) for paragraph in paragraphs)
