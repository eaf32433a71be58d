"""``linkedbandits study`` as people run it."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
from contextlib import contextmanager

import pytest

import linkedbandits as lb
from linkedbandits.cli import study as command
from linkedbandits.cli.options import read_engine
from linkedbandits.study import read_study
from linkedbandits.study.figures import everything
from tests.support.command_line import COMMAND, environment, refusal, run, run_json
from tests.support.small_study import in_this_process
from tools.waiting import SECONDS

TEXT = """
seed = 5
trials = {trials}
[[instances]]
scenario = "one-sparse"
arms = [2, 5]
[[policies]]
policy = "linked-elimination"
[[policies]]
policy = "uniform-sampling"
parameters = {{ samples = 50 }}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.toml"
    path.write_text(TEXT.format(trials=100), encoding="utf-8")
    return path


@pytest.fixture
def drawn(monkeypatch):
    """The names of all pictures, which are not rendered: that takes longer than the study."""
    names = []
    monkeypatch.setattr(everything, "save", lambda figure, path: names.append(path.name))
    return names


def test_a_study_runs_and_is_shown_again(file, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(everything, "save", lambda figure, path: None)  # pictures are seen below
        ran = run_json("study", str(file))
    assert ran["missing_trials"] == 0
    assert [(cell["instance"], cell["policy"], cell["trials"]) for cell in ran["cells"]] == [
        ("one-sparse, 2 arms", "linked-elimination", 100),
        ("one-sparse, 2 arms", "uniform-sampling (samples=50)", 100),
        ("one-sparse, 5 arms", "linked-elimination", 100),
        ("one-sparse, 5 arms", "uniform-sampling (samples=50)", 100),
    ]
    folder = tmp_path / "mine-results"
    assert (folder / "study.json").exists()
    shown = run_json("study", "--show", "mine-results")
    assert shown == ran
    figures = [value for cell in ran["cells"] for value in cell.values() if isinstance(value, float)]
    assert figures
    assert all(value == float(f"{value:.12g}") for value in figures)  # no tails of rounding
    assert all((tmp_path / figure).stat().st_size > 1000 for figure in shown["figures"])
    assert shown["figures"]


def test_the_table_is_for_people(file, drawn):
    result = run("study", str(file), "--workers", "1")
    assert (result.returncode, result.stderr) == (0, "")
    assert "one-sparse, 5 arms" in result.stdout
    assert "over bound" in result.stdout
    assert "Over bound is plays over what no policy can beat." in result.stdout
    assert re.search(r"\(0 to [\d.]+ %\)", result.stdout)
    assert "mine-results/figures" in result.stdout
    assert drawn


def test_the_plan_says_what_would_run_and_runs_nothing(file, tmp_path):
    plan = run_json("study", str(file), "--plan")
    assert len(plan["cells"]) == 4
    assert plan["seconds"] > 0
    assert plan["memory_bytes"] > 1e8
    text = run("study", str(file), "--plan").stdout
    assert "4 cells, 400 trials, seed 5, in mine-results" in text
    assert not (tmp_path / "mine-results").exists()


def test_the_plan_knows_what_is_there(file):
    run_json("study", str(file), "--no-figures")
    assert run_json("study", str(file), "--plan")["missing_trials"] == 0
    file.write_text(TEXT.format(trials=2000), encoding="utf-8")
    assert "pass --merge" in refusal("study", str(file), "--plan")
    plan = run_json("study", str(file), "--plan", "--merge")
    assert plan["missing_trials"] == 8000  # the hundred that are there end inside a block


def test_what_is_wrong_is_one_line(file, tmp_path):
    assert "no study was named" in refusal("study")
    assert "leave one out" in refusal("study", str(file), "--show", "x")
    assert "choose processes or dask" in refusal("study", str(file), "--engine", "gpu")
    assert "goes with --engine dask" in refusal("study", str(file), "--scheduler", "tcp://x:1")
    assert "no folder of a study's results" in refusal("study", "--show", str(tmp_path))
    (tmp_path / "a-file").touch()
    assert "choose a folder you may write to with --out" in refusal("study", str(file), "--out", "a-file/x")
    file.write_text("trials = 3\n[[instances]]\nmeans = [2]\n", encoding="utf-8")
    assert "mine.toml: instances[1].means" in refusal("study", str(file))


def test_a_full_disk_is_said_and_what_was_finished_stays(file, tmp_path):
    """The limit on a file's size makes the system refuse a real write in the middle of a chunk."""
    file.write_text(TEXT.format(trials=1000).replace("[2, 5]", "[2, 3, 30]"), encoding="utf-8")

    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (24_000, 24_000))  # two arms fit, thirty do not

    command = [*COMMAND, "study", str(file), "--workers", "1"]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment(), preexec_fn=small_files
    )
    assert result.returncode == 2
    assert "cannot be written: file too large; every" in result.stderr
    assert "every finished chunk is kept: make room" in result.stderr
    assert not list((tmp_path / "mine-results").rglob("*.unfinished"))
    assert run_json("study", str(file), "--no-figures")["missing_trials"] == 0


WITH_A_TABLE = """
trials = 200
linkages = ["free"]
[[instances]]
table = "gateways.csv"
[[instances]]
means = [0.5, 0.7]
correlation = 0.5
[[policies]]
policy = "linked-duels"
"""


@pytest.fixture
def with_a_table(tmp_path, monkeypatch):
    """A study in a folder of its own, beside its table; the command runs elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "gateways.csv").write_text("count,north,east\n52,1,0\n30,0,1\n18,0,0\n", encoding="utf-8")
    (tmp_path / "studies" / "mine.toml").write_text(WITH_A_TABLE, encoding="utf-8")
    return "studies/mine.toml"


def test_a_study_of_a_table_runs_and_is_shown_without_the_table(with_a_table, tmp_path):
    plan = run_json("study", with_a_table, "--plan")
    assert plan["cells"][0]["requests"]["options"] == ["north", "east"]
    assert plan["cells"][1]["requests"] == {"correlation": 0.5}
    assert plan["missing_trials"] == 400
    ran = run_json("study", with_a_table, "--no-figures")
    assert [(cell["instance"], cell["trials"], cell["lower_bound"]) for cell in ran["cells"]] == [
        ("gateways", 200, None),
        ("2 arms, correlation 0.5", 200, None),
    ]
    (tmp_path / "studies" / "gateways.csv").unlink()
    assert run_json("study", "--show", "mine-results", "--no-figures") == ran
    text = run("study", "--show", "mine-results", "--no-figures").stdout
    assert "Where options depend on each other no bound is shown: it is for independent ones." in text
    assert "over bound" not in text


def test_a_changed_table_makes_other_cells(with_a_table, tmp_path):
    before = run_json("study", with_a_table, "--no-figures")
    table = tmp_path / "studies" / "gateways.csv"
    table.write_text("north,east,count\n0,1,30\n0,0,18\n1,0,52\n", encoding="utf-8")  # the same requests
    assert run_json("study", with_a_table, "--plan")["missing_trials"] == 0
    table.write_text("north,east,count\n0,1,30\n0,0,18\n1,0,51\n1,1,1\n", encoding="utf-8")
    assert "1 cells are new, 1 are gone" in refusal("study", with_a_table)
    (tmp_path / "studies" / "mine.toml").write_text(
        WITH_A_TABLE.replace('"gateways.csv"', '"gateways.csv"\nname = "after"'), encoding="utf-8"
    )
    merged = run_json("study", with_a_table, "--merge", "--no-figures")
    assert [cell["instance"] for cell in merged["cells"]] == ["gateways", "2 arms, correlation 0.5", "after"]
    assert merged["cells"][:2] == before["cells"]


WITH_A_TOLD_GAP = """
trials = 20
[[instances]]
means = [0.2, 0.6]
[[instances]]
means = [0.2, 0.4]
[[instances]]
means = [0.2, 0.3]
[[policies]]
policy = "linked-lead"
parameters = { gap = 0.4 }
[[policies]]
policy = "linked-elimination"
[[policies]]
policy = "linked-elimination"
parameters = { epsilon = 0.05 }
"""


def test_plays_are_over_the_bound_for_what_a_policy_was_told(file):
    text = WITH_A_TOLD_GAP
    for name in ("wide", "near", "close"):
        text = text.replace("[[instances]]\nmeans", f"[[instances]]\nname = '{name}'\nmeans", 1)
    file.write_text(text, encoding="utf-8")
    cells = run_json("study", str(file), "--no-figures")["cells"]
    by_name = {(cell["instance"], cell["policy"]): cell for cell in cells}
    lead = by_name["wide", "linked-lead (gap=0.4)"]
    told, least = lb.bounds.lower([0.2, 0.6], 0.1, gap=0.4), lb.bounds.lower([0.2, 0.6], 0.1)
    assert (lead["lower_bound"], lead["bound_as_told"]) == pytest.approx((least, told))
    assert lead["told"] == "a gap of 0.4"
    assert by_name["wide", "linked-elimination"]["bound_as_told"] == pytest.approx(least)
    assert by_name["near", "linked-lead (gap=0.4)"]["bound_as_told"] is None
    assert by_name["wide", "linked-elimination (epsilon=0.05)"]["bound_as_told"] is None
    shown = run("study", str(file), "--no-figures", COLUMNS="160").stdout
    rows = {tuple(line.split()[:2]): line for line in shown.splitlines() if line.strip()}
    assert f" {lead['plays_mean'] / told:.1f} " in rows["wide", "linked-lead"]
    assert " - " in rows["near", "linked-lead"]
    said = " ".join(shown.split())
    assert "Over bound is plays over what no policy that is told as much can beat (* is told a gap of 0.4)." in said
    assert rows["wide", "linked-lead"].split()[3] == "*"
    assert "*" not in rows["wide", "linked-elimination"]
    assert (
        "There is no bound for linked-lead (gap=0.4) on near: the best arm is ahead by 0.2, less than gap=0.4, "
        "which it is told."
    ) in said
    assert (
        "There is no bound for linked-elimination (epsilon=0.05) on wide, linked-elimination (epsilon=0.05) on near "
        "and linked-elimination (epsilon=0.05) on close: less than the best is enough for it."
    ) in said


@pytest.mark.parametrize(
    ("options", "called"),
    [
        (("processes", 3, None), ("processes", 3)),
        (("dask", 2, None), ("dask", None, 2)),
        (("dask", None, "tcp://x:1"), ("dask", "tcp://x:1", None)),
    ],
)
def test_options_find_their_engine(monkeypatch, options, called):
    for name in ("processes", "dask"):
        monkeypatch.setattr(f"linkedbandits.study.on_{name}", lambda *given, name=name: (name, *given))
    assert read_engine(*options) == called


SMALL = read_study(
    "trials = 20\n[[instances]]\nmeans = [0.2, 0.7]\n[[instances]]\nmeans = [0.2, 0.7, 0.1]\n"
    '[[policies]]\npolicy = "uniform-sampling"\nparameters = { samples = 5 }\nlabel = "[red]five[/nope]"\n'
)


def test_the_bar_counts_every_chunk_from_what_is_there_and_names_damaged_ones(monkeypatch, tmp_path, capsys):
    told = []

    @contextmanager
    def noted(total):
        told.append(total)
        yield lambda description, amount: told.append((description, amount))

    monkeypatch.setattr(command.tables, "progress_bar", noted)
    folder = tmp_path / "[red]mine["  # no markup
    whole, first, second = 20 * 2 + 20 * 3, ("[red]five[/nope]", 60), ("[red]five[/nope]", 40)  # trials times arms

    def first_only(chunks):
        yield next(in_this_process(chunks))

    command.run_with_bar(SMALL, folder, first_only)
    assert told == [whole, ("", 0), first]
    told.clear()
    assert command.run_with_bar(SMALL, folder, in_this_process).missing_trials() == 0
    assert told == [whole, ("", 60), second]
    damaged = min(folder.rglob("*.parquet"))
    damaged.write_bytes(b"x")
    command.run_with_bar(SMALL, folder, in_this_process)
    aside = damaged.with_suffix(".damaged")
    assert capsys.readouterr() == ("", f"{aside} was damaged and is set aside; its trials are run again.\n")
