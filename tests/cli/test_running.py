"""What the commands that run studies share: the engine by its options, and a bar that ends at its total."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

import linkedbandits as lb
from linkedbandits.cli import running
from linkedbandits.cli.running import find_engine, kept_in, run_with_bar
from linkedbandits.signals import Interrupted, farewell
from linkedbandits.study import read_study
from tests.support.small_study import in_this_process

STUDY = read_study(
    "trials = 20\n[[instances]]\nmeans = [0.2, 0.7]\n[[instances]]\nmeans = [0.2, 0.7, 0.1]\n"
    '[[policies]]\npolicy = "uniform-sampling"\nparameters = { samples = 5 }\nlabel = "[red]five[/nope]"\n'
)
WHOLE = 20 * 2 + 20 * 3
"""Trials times arms, over both cells."""


@pytest.mark.parametrize(
    ("options", "called"),
    [
        (("processes", 3, None), ("processes", 3)),
        (("processes", None, None), ("processes", None)),
        (("dask", 2, None), ("dask", None, 2)),
        (("dask", None, "tcp://x:1"), ("dask", "tcp://x:1", None)),
    ],
)
def test_options_find_their_engine(monkeypatch, options, called):
    for name in ("processes", "dask"):
        monkeypatch.setattr(f"linkedbandits.study.on_{name}", lambda *given, name=name: (name, *given))
    assert find_engine(*options) == called


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("gpu", None, None), "--engine 'gpu' is unknown; choose processes or dask"),
        (("processes", None, "tcp://x:1"), "--scheduler tcp://x:1 goes with --engine dask; add it"),
    ],
)
def test_options_that_make_no_sense_are_refused_with_the_remedy(options, said):
    with pytest.raises(lb.InvalidParameter) as caught:
        find_engine(*options)
    assert str(caught.value) == said


@pytest.fixture
def bar(monkeypatch):
    """What the bar is told: its total, and then every description and amount."""
    told = []

    @contextmanager
    def noted(total):
        told.append(total)
        yield lambda description, amount: told.append((description, amount))

    monkeypatch.setattr(running, "progress_bar", noted)
    return told


def test_the_bar_counts_every_chunk_and_ends_at_its_total(bar, tmp_path):
    results = run_with_bar(STUDY, tmp_path, in_this_process)
    assert results.missing_trials() == 0
    assert bar == [WHOLE, ("", 0), ("[red]five[/nope]", 60), ("[red]five[/nope]", 40)]


def test_what_is_there_already_counts_from_the_beginning(bar, tmp_path):
    def first_only(chunks):
        yield next(in_this_process(chunks))

    run_with_bar(STUDY, tmp_path, first_only)
    bar.clear()
    run_with_bar(STUDY, tmp_path, in_this_process)
    assert bar == [WHOLE, ("", 60), ("[red]five[/nope]", 40)]


def test_a_damaged_chunk_is_said_by_its_name_and_run_again(bar, tmp_path, capsys, monkeypatch):
    folder = tmp_path / "[red]mine["  # no markup
    monkeypatch.setenv("COLUMNS", "400")
    run_with_bar(STUDY, folder, in_this_process)
    damaged = min(folder.rglob("*.parquet"))
    damaged.write_bytes(b"x")
    capsys.readouterr()
    run_with_bar(STUDY, folder, in_this_process)
    out, said = capsys.readouterr()
    aside = damaged.with_suffix(".damaged")
    assert said == f"{aside} was damaged and is set aside; its trials are run again.\n"
    assert out == ""
    assert bar[-1] == ("[red]five[/nope]", 40)


def test_a_changed_study_is_merged_only_if_that_is_asked_for(bar, tmp_path):
    run_with_bar(STUDY, tmp_path, in_this_process)
    less = type(STUDY)(STUDY.name, STUDY.seed, STUDY.cells[:1])
    with pytest.raises(lb.InvalidStudy):
        run_with_bar(less, tmp_path, in_this_process)
    assert run_with_bar(less, tmp_path, in_this_process, merge=True).missing_trials() == 0


def test_an_interruption_says_where_what_is_finished_is_kept():
    with pytest.raises(Interrupted) as caught, kept_in(Path("mine-results")):
        raise Interrupted(2)
    assert farewell(caught.value) == (
        "linkedbandits: interrupted; what is finished is kept in mine-results, and the same command goes on from there"
    )
